import re

import numpy as np
import pytest

import nn
from optim import SGD, decay_groups, l1_penalty, l2_penalty
from optim.penalty import UNDECAYED
from tinygrad_like import Tensor


def parameters():
    return [Tensor([[1.0, -2.0], [0.0, 3.0]], requires_grad=True), Tensor([-4.0], requires_grad=True)]


def test_penalties_have_their_values_and_gradients():
    for penalty, value, gradients in [
        (l1_penalty, 10, [[[1, -1], [0, 1]], [-1]]),
        (l2_penalty, 30, [[[2, -4], [0, 6]], [-8]]),
    ]:
        params = parameters()
        loss = penalty(iter(params))
        loss.backward()
        assert loss.item() == value
        assert [p.grad.tolist() for p in params] == gradients


def test_l2_is_the_weight_decay_of_sgd():
    decayed, penalised = parameters(), parameters()
    first, second = SGD(decayed, lr=0.1, weight_decay=0.02), SGD(penalised, lr=0.1)
    for _ in range(5):
        first.zero_grad()
        second.zero_grad()
        for p in decayed:
            p.grad = Tensor.zeros(p.shape)
        (0.01 * l2_penalty(penalised)).backward()
        first.step()
        second.step()
    for p, q in zip(decayed, penalised, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-6)


class MyNorm(nn.LayerNorm):
    """A subclass, with a scale of two axes."""


class Model(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(3, 2)
        self.frozen = nn.Linear(3, 2).requires_grad_(False)
        self.norm = MyNorm((2, 2), bias=False)
        self.position = nn.Parameter(np.ones((1, 4, 2), np.float32))


def test_decay_groups_spare_biases_norms_and_named_parameters():
    model = Model()
    names = {p: name for name, p in model.named_parameters()}

    def groups(*args):
        return [({names[p] for p in g["params"]}, g["weight_decay"]) for g in decay_groups(model, 0.1, *args)]

    assert groups(["posi"]) == [({"linear.weight"}, 0.1), ({"linear.bias", "norm.weight", "position"}, 0.0)]
    assert groups() == [({"linear.weight", "position"}, 0.1), ({"linear.bias", "norm.weight"}, 0.0)]
    assert len(decay_groups(nn.Linear(2, 2, bias=False), 0.1)) == 1


def test_every_norm_embedding_and_position_is_known():
    kinds = [kind for name, kind in vars(nn).items() if isinstance(kind, type) and issubclass(kind, nn.Module)
             and re.search("Norm|Embedding(?!Loss)|LearnedEncoding", name)]
    assert {nn.LayerNorm, nn.BatchNorm2d, nn.InstanceNorm3d} <= set(kinds)
    assert all(UNDECAYED & {base.__name__ for base in kind.__mro__} for kind in kinds)


@pytest.mark.parametrize("penalty", [l1_penalty, l2_penalty])
def test_an_exhausted_generator_raises(penalty):
    generator = nn.Linear(2, 2).parameters()
    list(generator)
    with pytest.raises(ValueError, match="can be read only once"):
        penalty(generator)
