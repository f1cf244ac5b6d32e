"""Triangles, medians, windows and distances against NumPy, and calls that are refused."""

import numpy as np
import pytest

from tinygrad_like import Tensor, ops

rng = np.random.default_rng(5)


def normal(*sizes):
    return rng.standard_normal(sizes)


def same(ours, wanted):
    ours, wanted = ([y] if not isinstance(y, tuple | list) else list(y) for y in (ours, wanted))
    assert len(ours) == len(wanted)
    for y, z in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(y.numpy(), z, rtol=1e-12, atol=1e-12, strict=True)


def test_many_distances_come_from_one_product(monkeypatch):
    from tinygrad_like.ops import products

    made = []
    monkeypatch.setattr(products, "matmul", lambda a, b: made.append(a.shape) or ops.matmul(a, b))
    a, b = (np.random.default_rng(i).standard_normal((n, 64)).astype(np.float32) for i, n in enumerate((300, 1000)))
    b[:3] = a[:3]
    for count in 54, 1000:
        found = ops.cdist(Tensor(a), Tensor(b[:count])).numpy()
        wanted = np.sqrt(np.maximum((a**2).sum(1)[:, None] + (b[:count] ** 2).sum(1) - 2 * a @ b[:count].T, 0))
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-2)
    batch = ops.cdist(Tensor(np.stack([a, -a])), Tensor(np.stack([b, b]))).numpy()
    np.testing.assert_allclose(batch[0], found, rtol=1e-6, atol=1e-2)
    np.testing.assert_allclose(batch[1], ops.cdist(Tensor(-a), Tensor(b)).numpy(), rtol=1e-6, atol=1e-2)
    assert made == [(300, 64), (2, 300, 64), (300, 64)]


def test_sliding_windows_equal_numpys():
    x = np.arange(28.0).reshape(2, 7, 2)
    for axis in (0, 1, 2):
        np.testing.assert_array_equal(Tensor(x).unfold(axis, 2, 1).numpy(),
                                      np.lib.stride_tricks.sliding_window_view(x, 2, axis))


def test_a_count_of_differences_has_gradient_0():
    x = Tensor(np.array([[1.0, 2.0], [0.0, 2.0]]), requires_grad=True)
    y = ops.cdist(x, Tensor(np.array([[1.0, 3.0]])), 0.0)
    assert y.tolist() == [[1], [2]] and y.sum().gradient(x)[0].tolist() == [[0, 0], [0, 0]]


X, V, I = Tensor(np.ones((2, 3))), Tensor(np.ones(3)), Tensor([0, 1])  # noqa: E741


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ops.movedim(X, (0, 1), 0), "movedim: .* name different numbers of axes"),
    (lambda: ops.broadcast_tensors(X, I), "broadcast_tensors: shapes .* do not broadcast"),
    (lambda: ops.median(X[:0], 0), r"median: no median along the empty axis 0 of shape \(0, 3\)"),
    (lambda: ops.tensordot(X, X, 1), r"tensordot: axes \(1,\) of shape \(2, 3\) and \(0,\)"),
    (lambda: ops.cross(X, X, 0), "cross: axis -2 of shapes"),
])
def test_wrong_axes_and_shapes_are_refused(call, message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        call()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("diagonal", [-9, -2, 0, 1, 7])
@pytest.mark.parametrize("shape", [(4, 6), (5, 3), (1, 1), (0, 3), (2, 3, 4, 4), (130, 130)])
def test_triangles_equal_numpys(shape, diagonal, dtype):
    """To the bit: NaN, infinity and -0 stay in the triangle, and are 0 outside it."""
    x = rng.standard_normal(shape).astype(dtype)
    if dtype != "int64" and x.size > 12:
        x.reshape(-1)[:12:3] = np.nan, np.inf, -np.inf, -0.0
    for a in (x, x.swapaxes(-1, -2), x[..., ::-1]):
        for ours, theirs in (ops.tril, np.tril), (ops.triu, np.triu):
            found = ours(Tensor.from_numpy(a), diagonal=diagonal)
            assert found.dtype == a.dtype and found.numpy().tobytes() == theirs(a, diagonal).tobytes()


@pytest.mark.parametrize("shape, axis", [((7,), 0), ((3, 8), 1), ((3, 8), 0), ((2, 1, 5), -1)])
def test_a_median_with_nan_is_nan(shape, axis):
    x = rng.integers(0, 4, shape).astype("float32")
    x[rng.random(shape) < 0.3] = np.nan
    for keepdim in False, True:
        values, index = ops.median(Tensor(x), axis, keepdim)
        np.testing.assert_array_equal(np.take_along_axis(x, index.numpy() if keepdim else np.expand_dims(
            index.numpy(), axis), axis), values.numpy() if keepdim else np.expand_dims(values.numpy(), axis))
        np.testing.assert_array_equal(np.isnan(values.numpy()), np.isnan(x).any(axis, keepdims=keepdim))
