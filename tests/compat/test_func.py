"""PyTorch's torch.func, and other names of PyTorch's: vmap, Jacobians, functional_call, constructors, settings."""

from typing import NamedTuple

import numpy as np
import pytest

import nn
import tinygrad_like as tg
from tinygrad_like import Tensor, func, gradcheck, gradgradcheck, manual_seed


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


rng = np.random.default_rng(4)
A, B = rng.standard_normal((5, 3)), rng.standard_normal((3, 4, 5))


def test_vmap_applies_the_function_to_each_element():
    dot = func.vmap(lambda a, b: (a * b).sum(), in_dims=(1, 0))
    x = dot(Tensor(A), Tensor(B[:, 0]))
    np.testing.assert_allclose(x.numpy(), [(A[:, i] * B[i, 0]).sum() for i in range(3)])
    y, z = func.vmap(lambda p, w: (p["a"] @ w, p["b"][0]), (0, None), (1, 0))({"a": Tensor(B), "b": [Tensor(A.T)]},
                                                                             Tensor(np.ones(5)))
    assert y.shape == (4, 3) and z.tolist() == A.T.tolist()
    assert tg.vmap(lambda x, n=None: x + n)(Tensor(A), n=Tensor(A)).shape == (5, 5, 3)  # by name: the same for all
    pair = func.vmap(lambda p: Pair(p.second, p.first))(Pair(Tensor(A), Tensor(-A)))
    assert isinstance(pair, Pair) and pair.first.tolist() == (-A).tolist()
    assert isinstance(func.vmap(lambda x: [x])(Tensor(A)), list)
    for randomness, rows in ("same", 1), ("different", 5):
        drawn = func.vmap(lambda x: x * 0 + Tensor.rand(3), randomness=randomness)(Tensor(A))
        assert len(np.unique(drawn.numpy(), axis=0)) == rows
    nested = func.vmap(func.vmap(lambda a, b: a * b, (None, 0)), (0, None))
    np.testing.assert_allclose(nested(Tensor(A[:, 0]), Tensor(A[:, 1])).numpy(), np.outer(A[:, 0], A[:, 1]))
    assert func.vmap(lambda x: (x.sum(), 3), out_dims=(0, None))(Tensor(A))[1] == 3
    f = func.vmap(lambda a: a.sin().sum() ** 2)
    assert gradcheck(f, A) and gradgradcheck(f, A)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch's own parts
def test_functions_of_functions_equal_pytorchs():
    torch = pytest.importorskip("torch")
    x, found = A[:, 0], []
    for lib, functions in (tg, func), (torch, torch.func):
        f = lambda x, y: (x * y).sin().cumsum(0)  # noqa: E731
        loss = lambda w, x: (w * x).sum().sin()  # noqa: E731
        a, b = lib.tensor(x), lib.tensor(A)
        found.append([functions.jacrev(f, 1)(a, a), functions.hessian(loss)(a, a),
                      functions.vmap(functions.grad(loss), in_dims=(None, 1))(a, b),
                      functions.jacrev(f, -1)(a, a), functions.hessian(f, 1)(a, a),
                      *functions.jacrev(f, (-1, 0))(a, a), *functions.hessian(loss, (0, 1))(a, a * a)[1],
                      functions.jacrev(lambda x: functions.grad(lambda y: loss(x, y))(a))(a)])  # noqa: B023
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10)


def test_functional_call_uses_other_tensors():
    manual_seed(0)
    x, (model, other) = Tensor(A.astype(np.float32)), [nn.Linear(3, 2) for _ in range(2)]
    weights = dict(other.named_parameters())
    assert func.functional_call(model, weights, x).tolist() == other(x).tolist()
    assert func.functional_call(model, weights, (x,)).tolist() == other(x).tolist()


@pytest.mark.parametrize(("call", "message"), [
    (lambda: func.vmap(lambda: 3)(), "the batches have sizes of none"),
    (lambda: func.vmap(lambda x: x, None)(3.0), "the batches have sizes of none"),
    (lambda: func.vmap(lambda x, y: x)(Tensor(A), 3.0), "axis 0 in in_dims is not a Tensor, but float"),
    (lambda: func.vmap(lambda x: (x, x), 0, (0, 0, 1))(Tensor(A)), "out_dims has 3 entries for 2 results"),
    (lambda: func.vmap(lambda x: x, 0, 2)(Tensor(A)), "vmap: axis 2 is out of range"),
    (lambda: func.vmap(lambda x: x, 2)(Tensor(A)), "vmap: axis 2 is out of range"),
    (lambda: func.vmap(lambda x: 3.0)(Tensor(A)), "func must give Tensors, got float"),
    (lambda: func.vmap(lambda x: x, randomness="none"), "randomness='none'"),
    (lambda: func.jacrev(lambda x: x, 1)(Tensor(A)), "jacobian: argnums=1 must be numbers of arguments; there are 1"),
    (lambda: func.grad(lambda x: x, None)(Tensor(A)), "grad: argnums must be an argument's number"),
    (lambda: func.vmap(lambda x, y: x)(Tensor(A), Tensor(A.T)), r"sizes \[3, 5\]"),
    (lambda: func.vmap(lambda x: x, (0, 1))(Tensor(A)), "2 entries for 1 arguments"),
    (lambda: func.vmap(lambda x: x)(Tensor(A[:0])), r"sizes \[0\]; at least one argument must have one"),
])
def test_bad_arguments_raise(call, message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        call()


def test_results_may_be_trees():
    tree = func.vmap(lambda x: {"a": x, "n": x.sum()})(Tensor(A))
    assert tree["a"].shape == (5, 3) and tree["n"].shape == (5,)
    assert func.vmap(lambda x: {"a": x}, 0, 1)(Tensor(A[:1]))["a"].shape == (3, 1)  # of one element, too


def test_constructors_name_their_dtype():
    assert tg.FloatTensor([1, 2]).dtype == np.float32 and tg.LongTensor([[1]]).dtype == np.int64
    assert tg.FloatTensor(2, 3).shape == (2, 3) and tg.BoolTensor([0, 2]).tolist() == [False, True]
    assert tg.DoubleTensor(np.ones(2)).dtype == np.float64 and tg.ByteTensor([3]).dtype == np.uint8


def test_settings_without_effect_are_accepted():
    with tg.autocast("cuda"), tg.autocast("cpu", enabled=False), tg.cuda.amp.autocast("cuda"):
        assert tg.ones(2).dtype == np.float32
    with pytest.raises(NotImplementedError, match=r"pass enabled=False .* model.bfloat16\(\)"):
        tg.autocast(device_type="cpu", dtype=tg.bfloat16)
    tg.use_deterministic_algorithms(True)
    assert tg.get_default_dtype() == np.float32 and tg.broadcast_shapes((2, 1), (3,)) == (2, 3)
    x = Tensor([1.0, 2.0])
    assert tg.equal(x, x.clone()) and not tg.equal(x, x + 1) and not tg.equal(x, x[:1]) and tg.equal(x[:0], x[:0])
    assert tg.numel(x) == 2 and tg.is_floating_point(x) and not tg.is_floating_point(x > 1) and not tg.is_complex(x)


BY_WEIGHTS = {
    "grad": lambda f, net, x: f.grad(lambda a: net(a).sum())(x),
    "jacrev": lambda f, net, x: f.jacrev(net)(x),
    "hessian": lambda f, net, x: f.hessian(lambda a: net(a).sum())(x),
    "vjp": lambda f, net, x: f.vjp(net, x)[1](net(x).detach())[0],
    "jvp": lambda f, net, x: f.jvp(net, (x,), (x * x,))[1],
    "vmap of grad": lambda f, net, x: f.vmap(f.grad(lambda a: net(a).sum()))(x),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", BY_WEIGHTS)
def test_results_can_be_differentiated_with_respect_to_a_modules_weights(name):
    torch = pytest.importorskip("torch")
    found = []
    for lib, layers, functions in (tg, nn, func), (torch, torch.nn, torch.func):
        net = layers.Sequential(layers.Linear(3, 4), layers.Tanh(), layers.Linear(4, 2)).double()
        with lib.no_grad():
            for i, p in enumerate(net.parameters()):
                p.copy_(lib.tensor(np.random.default_rng(i).standard_normal(tuple(p.shape))))
        x = lib.tensor(A[:2])
        y = BY_WEIGHTS[name](functions, net, x)
        (y * y).sum().backward()
        found.append([0.0 if p.grad is None else p.grad.numpy() for p in net.parameters()])
        with lib.no_grad():
            assert not BY_WEIGHTS[name](functions, net, x).requires_grad
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
