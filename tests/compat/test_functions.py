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
    "rad2deg": (lambda t, x: x.rad2deg(), A), "fmax": (lambda t, x, y: t.fmax(x, y), A, B),
    "fmin": (lambda t, x, y: x.fmin(y), A, B), "logaddexp2": (lambda t, x, y: t.logaddexp2(x, y), A, B),
    "logit": (lambda t, x: t.logit(x), U), "logit eps": (lambda t, x: x.logit(0.2), U),
    "sinc": (lambda t, x: t.sinc(x), A), "xlogy": (lambda t, x, y: t.xlogy(x, y), A, P),
    "nan_to_num": (lambda t, x: t.nan_to_num(x), A), "clamp_min": (lambda t, x: t.clamp_min(x, 0.1), A),
    "clamp_max": (lambda t, x: x.clamp_max(0.1), A), "ldexp": (lambda t, x: t.ldexp(x, t.tensor([1, 2, 3, 4])), A),
    "erfc": (lambda t, x: t.erfc(x), A), "float_power": (lambda t, x: t.float_power(x, 3), A),
    "remainder": (lambda t, x, y: t.remainder(x, y), A, P), "true_divide": (lambda t, x, y: x.true_divide(y), A, P),
    "floor_divide": (lambda t, x, y: t.floor_divide(x, y), A, P), "fix": (lambda t, x: x.fix(), A),
    "hstack": (lambda t, x, y: t.hstack([x, y]), A, B), "vstack": (lambda t, x, y: t.vstack((x, y)), A, B),
    "dstack": (lambda t, x, y: t.dstack((x, y)), A, B), "column_stack": (lambda t, x, y: t.column_stack((x, y)), V, V),
    "block_diag": (lambda t, x, y: t.block_diag(x, y), A, V), "diag_embed": (lambda t, x: t.diag_embed(x), C),
    "diag_embed dims": (lambda t, x: t.diag_embed(x, offset=-1, dim1=0, dim2=2), C),
    "diagflat": (lambda t, x: t.diagflat(x, 1), T3), "fliplr": (lambda t, x: t.fliplr(x), A),
    "flipud": (lambda t, x: x.flipud(), A), "rot90": (lambda t, x: t.rot90(x), C),
    "rot90 back": (lambda t, x: t.rot90(x, -1, (1, 2)), C), "rot90 twice": (lambda t, x: t.rot90(x, 2, [0, 2]), C),
    "movedim": (lambda t, x: t.movedim(x, 0, -1), C), "movedim two": (lambda t, x: t.moveaxis(x, (0, 1), (2, 0)), C),
    "tensor_split": (lambda t, x: t.tensor_split(x, 3, dim=1)[1], C),
    "tensor_split at": (lambda t, x: x.tensor_split((1, 3), dim=2)[2], C),
    "hsplit": (lambda t, x: t.hsplit(x, 2)[1], A), "vsplit": (lambda t, x: t.vsplit(x, [1])[1], A),
    "dsplit": (lambda t, x: t.dsplit(x, 2)[0], C), "atleast": (lambda t, x: t.atleast_3d(x), A),
    "atleast_2d": (lambda t, x: t.atleast_2d(x), V),
    "broadcast": (lambda t, x, y: t.broadcast_tensors(x, y)[0], T3[:, :1], V),
    "cartesian_prod": (lambda t, x, y: t.cartesian_prod(x, y), V, T3[0]),
    "combinations": (lambda t, x: t.combinations(x, 3), V),
    "take_along_dim": (lambda t, x: t.take_along_dim(x, t.tensor(I[:1]), dim=1), A),
    "take_along_dim flat": (lambda t, x: x.take_along_dim(t.tensor(I)), A),
    "take": (lambda t, x: t.take(x, t.tensor(I)), A),
    "index_fill": (lambda t, x: x.index_fill(1, t.tensor([0, 2]), -1.0), A),
    "index_copy": (lambda t, x, y: x.index_copy(0, t.tensor([2, 0]), y), A, B[:2]),
    "select_scatter": (lambda t, x, y: t.select_scatter(x, y, 1, 2), A, T3[0]),
    "slice_scatter": (lambda t, x, y: t.slice_scatter(x, y, 1, 1, 4, 2), A, B[:, :2]),
    "masked_scatter": (lambda t, x, y: x.masked_scatter(t.tensor(A > 0), y), A, rng.standard_normal(12)),
    "median": (lambda t, x: t.median(x), A), "median dim": (lambda t, x: t.median(x, 1, keepdim=True)[0], A),
    "nanmedian": (lambda t, x: t.nanmedian(x, dim=0).values, A), "nansum": (lambda t, x: t.nansum(x, 0), A),
    "nanmean": (lambda t, x: x.nanmean(dim=1), A), "quantile": (lambda t, x: t.quantile(x, 0.3), A),
    "quantiles": (lambda t, x: t.quantile(x, t.tensor([0.1, 0.5, 1.0], dtype=x.dtype), dim=1, keepdim=True), A),
    "quantile midpoint": (lambda t, x: x.quantile(0.4, dim=0, interpolation="midpoint"), A),
    "kthvalue": (lambda t, x: t.kthvalue(x, 2, dim=0)[0], A), "mode": (lambda t, x: t.mode(x).values, A),
    "sort": (lambda t, x: x.sort(dim=0).values, A), "topk": (lambda t, x: x.topk(2).values, A),
    "max of dim": (lambda t, x: t.max(x, 1)[0], A), "min of dim": (lambda t, x: x.min(dim=0, keepdim=True).values, A),
    "tensordot": (lambda t, x, y: t.tensordot(x, y, dims=1), C, S), "inner": (lambda t, x, y: t.inner(x, y), C, A),
    "tensordot dims": (lambda t, x, y: t.tensordot(x, y, dims=([1, 2], [0, 1])), C, A),
    "kron": (lambda t, x, y: t.kron(x, y), T3, A), "kron rank": (lambda t, x, y: t.kron(x, y), V, T3),
    "cross": (lambda t, x, y: t.linalg.cross(x, y), T3, T3[::-1].copy()),
    "cross dim": (lambda t, x, y: x.cross(y, dim=1), C, C[::-1].copy()),
    "vecdot": (lambda t, x, y: t.linalg.vecdot(x, y, dim=0), A, B), "ger": (lambda t, x, y: t.ger(x, y), V, V),
    "multi_dot": (lambda t, x, y, z: t.linalg.multi_dot([x, y, z]), T3, A, S),
    "chain_matmul": (lambda t, x, y, z: t.chain_matmul(x, y, z), T3, A, S),
    "baddbmm": (lambda t, x, y, z: t.baddbmm(x, y, z, beta=0.5, alpha=2), C @ S, C, np.stack([S, S])),
    "addbmm": (lambda t, x, y, z: x.addbmm(y, z, beta=0.5), A, C, np.stack([S, S])),
    "addmv": (lambda t, x, y, z: t.addmv(x, y, z, alpha=3), T3[0], A, S[0]),
    "addr": (lambda t, x, y, z: x.addr(y, z), A, T3[0], S[0]),
    "cdist": (lambda t, x, y: t.cdist(x, y), A, S),
    "cdist 1": (lambda t, x, y: t.cdist(x, y, p=1.0), C, C[:, :2] + 0.3),
    "dist": (lambda t, x, y: t.dist(x, y, 3), A, B), "renorm": (lambda t, x: t.renorm(x, 2, 0, 1.0), A),
    "diff": (lambda t, x: t.diff(x), A), "diff twice": (lambda t, x, y: x.diff(n=2, dim=0, prepend=y), A, B),
    "trapezoid": (lambda t, x: t.trapezoid(x, dx=0.5), A), "trapz": (lambda t, x, y: t.trapz(x, y), A, S[0]),
    "cumulative_trapezoid": (lambda t, x, y: t.cumulative_trapezoid(x, y, dim=0), A, B),
    "cov": (lambda t, x: t.cov(x), A), "corrcoef": (lambda t, x: x.corrcoef(), A),
    "cov of one": (lambda t, x: t.cov(x), V),
    "vander": (lambda t, x: t.vander(x, 3, increasing=True), V),
    "pinv": (lambda t, x: t.linalg.pinv(x), A), "pinv tall": (lambda t, x: t.pinverse(x), A.T.copy()),
    "solve_triangular": (lambda t, x, y: t.linalg.solve_triangular(x, y, upper=False), np.tril(S), A.T.copy()),
    "solve_triangular left": (lambda t, x, y: t.linalg.solve_triangular(x, y, upper=True, left=False), np.triu(S), A),
    "lstsq": (lambda t, x, y: t.linalg.lstsq(x, y).solution, A.T.copy(), S),
    "matrix_exp": (lambda t, x: t.linalg.matrix_exp(x), S),
    "matrix_exps": (lambda t, x: t.matrix_exp(x), np.stack([S / 9, S])),
}
OTHER = {
    "heaviside": (lambda t, x: t.heaviside(x.round(), t.tensor(0.5, dtype=x.dtype)), A),
    "isneginf": (lambda t, x: t.isneginf(x / 0), A),
    "isposinf": (lambda t, x: t.isposinf(x / 0), A), "nan": (lambda t, x: t.nan_to_num(x / 0, 1.0, 2.0, 3.0), A),
    "entr": (lambda t, x: t.special.entr(x), U), "ndtr": (lambda t, x: t.special.ndtr(x), A),
    "xlog1py": (lambda t, x: t.special.xlog1py(x, x.abs()), A), "nans": (lambda t, x: t.nansum(x), N),
    "nan mean": (lambda t, x: t.nanmean(x, 1), N), "nan median": (lambda t, x: t.nanmedian(x), N),
    "median of nan": (lambda t, x: t.median(x, 1)[0], N), "nanquantile": (lambda t, x: t.nanquantile(x, 0.4, dim=0), N),
    "quantile of nan": (lambda t, x: t.quantile(x, 0.4, dim=0), N), "fmax nan": (lambda t, x, y: t.fmax(x, y), N, B),
    "xlogy 0": (lambda t, x: t.xlogy(x * 0, x), A), "sinc 0": (lambda t, x: t.sinc(x * 0), A),
    "kth index": (lambda t, x: t.kthvalue(x, 3)[1], A), "median index": (lambda t, x: x.median(dim=0).indices, A),
    "max index": (lambda t, x: t.max(x, dim=1).indices, A), "argwhere": (lambda t, x: t.argwhere(x > 0), A),
    "mode index": (lambda t, x: t.mode((x * 2).round(), 1)[0], A),
    "bincount": (lambda t, x: t.bincount(x), I[0]), "bincount weighted": (lambda t, x, w: x.bincount(w, 6), I[0], S[0]),
    "count_nonzero": (lambda t, x: t.count_nonzero(x > 0, dim=1), A), "histc": (lambda t, x: t.histc(x, 4, -1, 1), A),
    "histc all": (lambda t, x: x.histc(5), A), "isin": (lambda t, x: t.isin(x, t.tensor([0, 3])), I),
    "unique": (lambda t, x: t.unique(x), I),
    "bucketize": (lambda t, x: t.bucketize(x, t.tensor(np.sort(V)), right=True), A),
    "unique inverse": (lambda t, x: t.unique(x, return_inverse=True, return_counts=True)[1], I),
    "unique rows": (lambda t, x: t.unique(x, dim=1), I),
    "consecutive": (lambda t, x: t.unique_consecutive(x, return_counts=True)[1], I),
    "consecutive columns": (lambda t, x: x.unique_consecutive(dim=1), I),
    "rank": (lambda t, x: t.linalg.matrix_rank(x), A),
    "split_with_sizes": (lambda t, x: x.split_with_sizes([1, 3], dim=1)[1], A),
}


def tensors(lib, arrays, grad):
    return [lib.tensor(a, requires_grad=True) if grad and a.dtype.kind == "f" else lib.tensor(a) for a in arrays]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:torch.chain_matmul")
@pytest.mark.parametrize("name", [*SMOOTH, *OTHER])
def test_values_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    f, *arrays = {**SMOOTH, **OTHER}[name]
    with np.errstate(all="ignore"):
        ours, theirs = (f(lib, *tensors(lib, arrays, False)) for lib in (tinygrad_like, torch))
    assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype) == str(theirs.dtype).removeprefix("torch.")
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6 if name != "matrix_exp" else 1e-5, atol=1e-9)


STEPS = "floor_divide", "fix", "remainder"  # whose gradient is 0 there and none here, or not defined


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:torch.chain_matmul")
@pytest.mark.parametrize("name", [n for n in SMOOTH if n not in (*STEPS, "vander")])  # which fails in PyTorch
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
