"""Copies and pickles of Tensors, ops, modules and optimizers."""

import copy
import pickle

import numpy as np
import pytest

import nn
import optim
from demos.networks import Seq2Seq
from nn import models
from tinygrad_like import Tensor, manual_seed, no_grad, ops
from tinygrad_like.core.dispatch import declared

WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x)),
        "old pickle": lambda x: pickle.loads(pickle.dumps(x, 2))}
again = pytest.mark.parametrize("again", WAYS.values(), ids=WAYS)
whole = pytest.mark.parametrize("again", [WAYS["deepcopy"], WAYS["pickle"]], ids=["deepcopy", "pickle"])

TENSORS = {
    "float32": lambda: Tensor([1.0, 2.0]), "leaf": lambda: Tensor([1.0, 2.0], requires_grad=True),
    "parameter": lambda: nn.Parameter([[1.0]]), "int64": lambda: Tensor([1, 2]), "bool": lambda: Tensor([True]),
    "float64": lambda: Tensor(np.ones((2, 2))), "0-dimensional": lambda: Tensor(3.0),
    "empty": lambda: Tensor.zeros(0, 3), "view": lambda: Tensor(np.arange(6.0).reshape(2, 3)).T,
}


@again
@pytest.mark.parametrize("make", TENSORS.values(), ids=TENSORS)
def test_copied_tensors_are_equal_and_independent(make, again):
    x = make()
    if x.requires_grad:
        (x * x).sum().backward()
    y = again(x)
    assert type(y) is type(x) and y.dtype is x.dtype and y.requires_grad is x.requires_grad
    assert np.array_equal(y.detach().numpy(), x.detach().numpy()) and y.shape == x.shape
    if x.requires_grad:
        assert np.array_equal(y.grad.numpy(), x.grad.numpy())
        (y * 3).sum().backward()  # it is a leaf of its own graphs
        assert np.array_equal(y.grad.numpy(), 2 * x._data + 3) and x.grad.numpy().max() == 2 * x._data.max()


@again
def test_computed_tensors_refuse_to_be_copied(again):
    y = Tensor([1.0], requires_grad=True) * 2
    with pytest.raises(RuntimeError, match=r"computed by mul, and a graph cannot be copied or pickled; use .*detach"):
        again(y)
    assert again(y.detach()).tolist() == [2.0]


@again
def test_a_copied_op_is_the_op_itself(again):
    public = [f for name, f in vars(ops).items() if callable(f) and not name.startswith("_")]
    for op in [*public, *(op for op in declared if op.__wrapped__.__module__.startswith(ops.__name__))]:
        assert again(op) is op


def tokens():
    return [Tensor(np.random.default_rng(0).integers(1, 7, (2, 5)))]


MODELS = {
    "mlp": (lambda: nn.MLP([4, 8, 3], nn.GELU), lambda: [Tensor.randn(2, 4)]),
    "resnet_s": (lambda: nn.ResNetS(6, 8, 2, 3), lambda: [Tensor.randn(2, 6)]),
    "resnet8": (models.resnet8, lambda: [Tensor.randn(2, 3, 8, 8)]),
    "language model": (lambda: nn.LanguageModel(9, 16, 2, 2, activation="gelu_tanh"), tokens),
    "rotary": (lambda: nn.LanguageModel(9, 16, 2, 2, positions="rotary", activation="swiglu", norm=nn.RMSNorm), tokens),
    "seq2seq": (lambda: Seq2Seq(9, 9, 16, 2, 1, 32), lambda: tokens() * 2),
    "vit": (lambda: nn.ViT(8, 4, 3, 16, 1, 2), lambda: [Tensor.randn(2, 3, 8, 8)]),
    "lstm": (lambda: nn.LSTM(3, 4), lambda: [Tensor.randn(5, 2, 3)]),
}


@whole
@pytest.mark.parametrize("make, inputs", MODELS.values(), ids=MODELS)
def test_copied_modules_are_equal_and_independent(make, inputs, again):
    """Also after a training step."""
    manual_seed(0)
    model, xs = make(), inputs()
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    loss = _sum(model(*xs))
    loss.backward()
    optimizer.step()
    twin = again(model)
    assert type(twin) is type(model) and twin.training and repr(twin) == repr(model)
    for (name, a), (other, b) in zip(model.state_dict().items(), twin.state_dict().items(), strict=True):
        assert name == other and np.array_equal(a.numpy(), b.numpy()) and not np.shares_memory(a.numpy(), b.numpy())
    with no_grad():
        y, z = _sum(model.eval()(*xs)), _sum(twin.eval()(*xs))
    assert y.item() == z.item()


def _sum(output):
    return output[0].sum() if isinstance(output, tuple) else output.sum()


@whole
def test_a_model_and_its_optimizer_stay_together(again):
    """In one copy, the optimizer has the parameters of the model."""
    manual_seed(0)
    model = nn.MLP([4, 8, 3])
    optimizer = optim.AdamW(model.parameters(), lr=0.1)
    x = Tensor.randn(5, 4)
    runs = []
    for m, o in ((model, optimizer), again((model, optimizer))):
        for _ in range(3):
            o.zero_grad()
            m(x).square().mean().backward()
            o.step()
        runs.append(np.concatenate([p.detach().numpy().ravel() for p in m.parameters()]))
    assert np.array_equal(*runs)
