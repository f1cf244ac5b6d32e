"""Values and gradients against PyTorch of what its own samples, in test_opinfo.py, leave out: `pytest -m torch`."""


import numpy as np
import pytest

from tinygrad_like import Tensor, ops

torch = pytest.importorskip("torch")
F = torch.nn.functional
pytestmark = pytest.mark.torch

rng = np.random.default_rng(3)
INF = float("inf")


def some(*shape):
    return rng.standard_normal(shape)


def compare(ours, theirs, *inputs, dtype="float64", orders=2):
    """Same value, same gradients for a random cotangent, and same gradients of the squared gradients."""
    exact = dtype == "float64"
    how = {"rtol": 1e-9, "atol": 1e-10} if exact else {"rtol": 2e-5, "atol": 2e-6}
    xs = [Tensor(x, requires_grad=True, dtype=dtype) for x in inputs]
    ts = [torch.tensor(x, dtype=getattr(torch, dtype), requires_grad=True) for x in inputs]
    y, t = ours(*xs), theirs(*ts)
    assert y.shape == tuple(t.shape) and y.dtype == dtype
    np.testing.assert_allclose(y.detach().numpy(), t.detach().numpy(), **how)
    g = np.random.default_rng(9).standard_normal(y.shape)
    expected = torch.autograd.grad(t, ts, torch.tensor(g, dtype=t.dtype), create_graph=orders > 1, allow_unused=True)
    for create_graph in (False, True):
        found = y.gradient(*xs, gradient=g, create_graph=create_graph, retain_graph=True, materialize_grads=True)
        for ours_, theirs_ in zip(found, expected, strict=True):
            theirs_ = np.zeros(ours_.shape) if theirs_ is None else theirs_.detach().numpy()
            np.testing.assert_allclose(ours_.detach().numpy(), theirs_, **how)
    if orders > 1 and exact:
        penalty, wanted = sum((d * d).sum() for d in found), sum((d * d).sum() for d in expected if d is not None)
        zeros = [x.zeros_like() for x in xs]
        second = penalty.gradient(*xs, materialize_grads=True) if penalty.requires_grad else zeros
        expected = torch.autograd.grad(wanted, ts, allow_unused=True) if wanted.requires_grad else [None] * len(ts)
        for ours_, theirs_ in zip(second, expected, strict=True):
            theirs_ = np.zeros(ours_.shape) if theirs_ is None else theirs_.numpy(force=True)
            np.testing.assert_allclose(ours_.numpy(), theirs_, rtol=1e-7, atol=1e-8)


def test_singular_points():
    """Where our conventions are PyTorch's: ties of max, min, maximum, relu, abs and clip at their kinks."""
    ties = np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    compare(ops.maximum, torch.maximum, ties, np.full((2, 3), 2.0))
    compare(ops.minimum, torch.minimum, ties, np.zeros((2, 3)))
    compare(lambda x: x.max(), lambda x: x.max(), ties)
    compare(lambda x: x.max(axis=1), lambda x: x.amax(1), ties)
    compare(lambda x: x.min(axis=(0, 1)), lambda x: x.amin((0, 1)), ties)
    compare(ops.relu, F.relu, ties)
    compare(ops.abs, torch.abs, ties)
    compare(lambda x: x.clip(0, 1), lambda x: x.clamp(0, 1), ties)
    compare(lambda x: x.norm(), lambda x: x.norm(), np.zeros(3), orders=1)




def test_dlpack():
    a = torch.arange(6.0).reshape(2, 3)
    x = Tensor.from_dlpack(a)
    a[0, 0] = 10
    assert x.numpy()[0, 0] == 10 and x.dtype == "float32"
    y = Tensor([1.0, 2.0])
    b = torch.from_dlpack(y)
    y.assign([3.0, 4.0])
    assert b.tolist() == [3, 4]
    assert Tensor(torch.ones(2, dtype=torch.float64)).dtype == "float64"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_batch_norm_with_relu(dtype):
    compare(lambda x, w, b, s: ops.batch_norm_relu(x, w, b, None, None, s),
            lambda x, w, b, s: F.relu(F.batch_norm(x, None, None, w, b, True) + s),
            some(3, 4, 5, 6), some(4), some(4), some(3, 4, 5, 6), dtype=dtype)


def test_windows_where_several_tie():
    x = rng.integers(0, 3, (2, 3, 9, 9)).astype(float)
    x[rng.random(x.shape) < 0.5] = -INF
    for args in ((2,), (3, 2, 1), (3, 1, 1), (4, 3, 2)):
        for dtype in ("float64", "float32"):
            compare(lambda x, args=args: ops.max_pool2d(x, *args), lambda x, args=args: F.max_pool2d(x, *args), x,
                    dtype=dtype, orders=1)


# Dropout draws other masks than PyTorch's, but scales in the same way -------------------------------------------------
