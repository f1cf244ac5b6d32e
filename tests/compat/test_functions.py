"""Functions and methods that PyTorch has: the same values, and gradients of first and second order."""

import numpy as np
import pytest

import tinygrad_like
from tinygrad_like import gradcheck, gradgradcheck

rng = np.random.default_rng(11)
A, B, C = rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), rng.standard_normal((2, 3, 4))
V, P, U = rng.standard_normal(5), rng.uniform(0.3, 2.0, (3, 4)), rng.uniform(0.1, 0.9, (3, 4))
S, T3 = rng.standard_normal((4, 4)) + 3 * np.eye(4), rng.standard_normal((2, 3))
N = np.where(rng.random((3, 4)) < 0.3, np.nan, A)
I = np.array([[2, 0, 1, 1], [0, 3, 3, 2]])  # noqa: E741

# A call on (lib, its Tensors); the arrays; whether it is smooth there.
SMOOTH = {
    "frac": (lambda t, x: t.frac(x), A), "deg2rad": (lambda t, x: t.deg2rad(x), A),
    "rad2deg": (lambda t, x: x.rad2deg(), A),
    "logit": (lambda t, x: t.logit(x), U), "logit eps": (lambda t, x: x.logit(0.2), U),
    "xlogy": (lambda t, x, y: t.xlogy(x, y), A, P),
    "nan_to_num": (lambda t, x: t.nan_to_num(x), A), "clamp_min": (lambda t, x: t.clamp_min(x, 0.1), A),
    "clamp_max": (lambda t, x: x.clamp_max(0.1), A),
    "remainder": (lambda t, x, y: t.remainder(x, y), A, P), "true_divide": (lambda t, x, y: x.true_divide(y), A, P),
    "floor_divide": (lambda t, x, y: t.floor_divide(x, y), A, P), "fix": (lambda t, x: x.fix(), A),
    "hstack": (lambda t, x, y: t.hstack([x, y]), A, B), "vstack": (lambda t, x, y: t.vstack((x, y)), A, B),
    "diag_embed": (lambda t, x: t.diag_embed(x), C),
    "diag_embed dims": (lambda t, x: t.diag_embed(x, offset=-1, dim1=0, dim2=2), C),
    "movedim": (lambda t, x: t.movedim(x, 0, -1), C), "movedim two": (lambda t, x: t.moveaxis(x, (0, 1), (2, 0)), C),
    "tensor_split": (lambda t, x: t.tensor_split(x, 3, dim=1)[1], C),
    "tensor_split at": (lambda t, x: x.tensor_split((1, 3), dim=2)[2], C),
    "atleast": (lambda t, x: t.atleast_3d(x), A),
    "atleast_2d": (lambda t, x: t.atleast_2d(x), V),
    "broadcast": (lambda t, x, y: t.broadcast_tensors(x, y)[0], T3[:, :1], V),
    "take_along_dim": (lambda t, x: t.take_along_dim(x, t.tensor(I[:1]), dim=1), A),
    "take_along_dim flat": (lambda t, x: x.take_along_dim(t.tensor(I)), A),
    "take": (lambda t, x: t.take(x, t.tensor(I)), A),
    "median": (lambda t, x: t.median(x), A), "median dim": (lambda t, x: t.median(x, 1, keepdim=True)[0], A),
    "sort": (lambda t, x: x.sort(dim=0).values, A), "topk": (lambda t, x: x.topk(2).values, A),
    "max of dim": (lambda t, x: t.max(x, 1)[0], A), "min of dim": (lambda t, x: x.min(dim=0, keepdim=True).values, A),
    "tensordot": (lambda t, x, y: t.tensordot(x, y, dims=1), C, S), "inner": (lambda t, x, y: t.inner(x, y), C, A),
    "tensordot dims": (lambda t, x, y: t.tensordot(x, y, dims=([1, 2], [0, 1])), C, A),
    "kron": (lambda t, x, y: t.kron(x, y), T3, A), "kron rank": (lambda t, x, y: t.kron(x, y), V, T3),
    "cross": (lambda t, x, y: t.linalg.cross(x, y), T3, T3[::-1].copy()),
    "cross dim": (lambda t, x, y: x.cross(y, dim=1), C, C[::-1].copy()),
    "vecdot": (lambda t, x, y: t.linalg.vecdot(x, y, dim=0), A, B),
    "pinv": (lambda t, x: t.linalg.pinv(x), A),
    "solve_triangular": (lambda t, x, y: t.linalg.solve_triangular(x, y, upper=False), np.tril(S), A.T.copy()),
    "solve_triangular left": (lambda t, x, y: t.linalg.solve_triangular(x, y, upper=True, left=False), np.triu(S), A),
    "lstsq": (lambda t, x, y: t.linalg.lstsq(x, y).solution, A.T.copy(), S),
}
OTHER = {
    "isneginf": (lambda t, x: t.isneginf(x / 0), A),
    "isposinf": (lambda t, x: t.isposinf(x / 0), A), "nan": (lambda t, x: t.nan_to_num(x / 0, 1.0, 2.0, 3.0), A),
    "median of nan": (lambda t, x: t.median(x, 1)[0], N),
    "xlogy 0": (lambda t, x: t.xlogy(x * 0, x), A),
    "median index": (lambda t, x: x.median(dim=0).indices, A),
    "max index": (lambda t, x: t.max(x, dim=1).indices, A), "argwhere": (lambda t, x: t.argwhere(x > 0), A),
    "split_with_sizes": (lambda t, x: x.split_with_sizes([1, 3], dim=1)[1], A),
}


def tensors(lib, arrays, grad):
    return [lib.tensor(a, requires_grad=True) if grad and a.dtype.kind == "f" else lib.tensor(a) for a in arrays]


@pytest.mark.torch
@pytest.mark.parametrize("name", [*SMOOTH, *OTHER])
def test_values_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    f, *arrays = {**SMOOTH, **OTHER}[name]
    with np.errstate(all="ignore"):
        ours, theirs = (f(lib, *tensors(lib, arrays, False)) for lib in (tinygrad_like, torch))
    assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype).removeprefix("torch.")
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-9)


STEPS = "floor_divide", "fix", "remainder"  # whose gradient is 0 there and none here, or not defined


@pytest.mark.torch
@pytest.mark.parametrize("name", [n for n in SMOOTH if n not in STEPS])
def test_gradients_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    f, *arrays = SMOOTH[name]
    found = []
    for lib in (tinygrad_like, torch):
        xs = tensors(lib, arrays, True)
        y = f(lib, *xs)
        (y * y).sum().backward()
        found.append([x.grad for x in xs if x.grad is not None])
    assert len(found[0]) == len(found[1])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", [n for n in SMOOTH if n not in STEPS])
def test_gradients_of_both_orders(name):
    f, *arrays = SMOOTH[name]
    assert gradcheck(lambda *xs: f(tinygrad_like, *xs), *arrays)
    assert gradgradcheck(lambda *xs: f(tinygrad_like, *xs), *arrays)
