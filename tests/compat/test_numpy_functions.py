"""NumPy's functions on Tensors stay on the graph, or say that they cannot."""

import numpy as np
import pytest

from tinygrad_like import Tensor, no_grad
from tinygrad_like.compat.numpy_functions import _LINALG, _NUMPY, _SAME_IN_NUMPY

A = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
V = np.array([1.0, 2.0, 3.0])

FUNCTIONS = {
    "sin": lambda x: np.sin(x), "exp": lambda x: np.exp(x), "abs": lambda x: np.abs(x),
    "negative": lambda x: np.negative(x),
    "add": lambda x: np.add(x, V), "subtract": lambda x: np.subtract(V, x), "power": lambda x: np.power(np.abs(x), 3),
    "maximum": lambda x: np.maximum(np.zeros((2, 3)), x), "arctan": lambda x: np.arctan(x),
    "square": lambda x: np.square(x),
    "matmul": lambda x: np.matmul(x, V), "array on the left": lambda x: A * x - V,
    "a number": lambda x: np.float64(2) * x,
    "array @": lambda x: A.T @ x, "positive": lambda x: np.positive(x),
    "sum": lambda x: np.sum(x, axis=1, keepdims=True), "mean": lambda x: np.mean(x),
    "mean over axis": lambda x: np.mean(x, 0),
    "var": lambda x: np.var(x, axis=1), "std": lambda x: np.std(x, ddof=1), "max": lambda x: np.max(x, axis=1),
    "amin": lambda x: np.amin(x), "prod": lambda x: np.prod(x, axis=0), "cumsum": lambda x: np.cumsum(x),
    "cumsum over axis": lambda x: np.cumsum(x, axis=1), "dot": lambda x: np.dot(x, V),
    "dot of matrices": lambda x: np.dot(x, A.T),
    "reshape": lambda x: np.reshape(x, (3, 2)), "reshape flat": lambda x: np.reshape(x, -1),
    "ravel": lambda x: np.ravel(x),
    "transpose": lambda x: np.transpose(x), "permuted": lambda x: np.transpose(x, (1, 0)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1), "expand_dims": lambda x: np.expand_dims(x, 1),
    "squeeze": lambda x: np.squeeze(np.expand_dims(x, 0)), "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "concatenate": lambda x: np.concatenate([x, A], axis=1), "stack": lambda x: np.stack([x, 2 * x]),
    "where": lambda x: np.where(x > 0, x, 0.0), "clip": lambda x: np.clip(x, -1, 1), "flip": lambda x: np.flip(x, 0),
    "roll": lambda x: np.roll(x, 1, axis=1), "tile": lambda x: np.tile(x, (2, 1)), "tril": lambda x: np.tril(x),
    "triu": lambda x: np.triu(x), "outer": lambda x: np.outer(x[0], V),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, A),
    "sort": lambda x: np.sort(x, axis=1), "norm": lambda x: np.linalg.norm(x, axis=1),
    "norm of all": lambda x: np.linalg.norm(x),
    "norm 1": lambda x: np.linalg.norm(x[0], 1), "round": lambda x: np.round(x + 0.1),
    "diagonal": lambda x: np.diagonal(x[:, :2]),
    "vstack": lambda x: np.vstack([x, V, x[0]]), "hstack": lambda x: np.hstack([x, A]),
    "hstack of vectors": lambda x: np.hstack((V, x[0], x[1])),
    "split": lambda x: np.split(x, 3, axis=1)[1], "split at": lambda x: np.split(x, [1, 2], 1)[2],
    "array_split": lambda x: np.array_split(x, 2, axis=1)[0],
    "pad": lambda x: np.pad(x, 2), "pad one axis": lambda x: np.pad(x, ((0, 0), (1, 2)), constant_values=0.5),
    "pad edge": lambda x: np.pad(x, (2, 1), mode="edge"), "pad reflect": lambda x: np.pad(x, ((1,), (2,)), "reflect"),
    "pad wrap": lambda x: np.pad(x, 1, "wrap"),
    "repeat": lambda x: np.repeat(x, 2), "repeat rows": lambda x: np.repeat(x, [2, 3], axis=0),
    "tensordot": lambda x: np.tensordot(x, A, axes=2), "tensordot of axes": lambda x: np.tensordot(A, x, ([0], [0])),
    "kron": lambda x: np.kron(x, A), "kron from the right": lambda x: np.kron(A, x), "inner": lambda x: np.inner(x, V),
    "cross": lambda x: np.cross(x, V),
    "cumprod": lambda x: np.cumprod(x),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "solve": lambda x: np.linalg.solve(x @ A.T, A), "solve for a vector": lambda x: np.linalg.solve(x @ A.T, A[:, 0]),
    "solve of constants": lambda x: np.linalg.solve(A @ A.T, x),
    "solve for a list": lambda x: np.linalg.solve(x @ A.T, [1, 2]),
    "inv": lambda x: np.linalg.inv(x @ A.T), "det": lambda x: np.linalg.det(x[:, 1:]),
    "slogdet": lambda x: np.linalg.slogdet(x[:, :2])[1], "cholesky": lambda x: np.linalg.cholesky(x @ x.T),
    "linalg.outer": lambda x: np.linalg.outer(x[0], V),
    "linalg.tensordot": lambda x: np.linalg.tensordot(x, A), "linalg.cross": lambda x: np.linalg.cross(x, V),
    "linalg.matmul": lambda x: np.linalg.matmul(A.T, x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name):
    f, x = FUNCTIONS[name], Tensor(A, requires_grad=True)
    y, expected = f(x), f(A)
    assert isinstance(y, Tensor) and y.requires_grad and y.shape == np.shape(expected)
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-12)
    g = np.random.default_rng(0).standard_normal(y.shape)
    (found,) = y.gradient(x, gradient=g)
    d, eps = np.random.default_rng(1).standard_normal(A.shape), 1e-6
    slope = np.sum(g * (f(A + eps * d) - f(A - eps * d)) / (2 * eps))
    np.testing.assert_allclose(np.sum(found.numpy() * d), slope, rtol=1e-6, atol=1e-8)


def test_without_a_slope():
    x = Tensor(A, requires_grad=True)
    assert np.argmax(x) == A.argmax() and np.argsort(x, axis=1).tolist() == A.argsort(axis=1).tolist()
    assert np.any(x > 2) and not np.all(x > 2) and np.shape(x) == (2, 3) and np.ndim(x) == 2 and np.size(x) == 6
    assert np.allclose(x, A) and np.array_equal(x, A) and np.isfinite(x).all()
    assert np.zeros_like(x).tolist() == np.zeros((2, 3)).tolist() and isinstance(np.ones_like(x), Tensor)


def test_numpys_float64_meets_float32_as_in_arithmetic():
    x = Tensor(A[:, :2], dtype="float32", requires_grad=True)
    for f in (lambda x: np.linalg.solve(x, A), lambda x: np.vstack([x, A[:, 1:]]), lambda x: np.kron(x, A)):
        assert f(x).dtype == (x * np.ones(2)).dtype == np.float64 and f(x).sum().gradient(x)[0].dtype == np.float32
    for f in (lambda x: np.pad(x, 1), lambda x: np.kron(x, x)):
        assert f(x).dtype == np.float32


LOSING = {"median": lambda x: np.median(x), "diff": lambda x: np.diff(x), "rot90": lambda x: np.rot90(x),
          "cbrt": lambda x: np.cbrt(x),
          "gradient": lambda x: np.gradient(x, axis=1),
          "interp": lambda x: np.interp(x, V, V), "reduce": lambda x: np.add.reduce(x),
          "percentile": lambda x: np.percentile(x, 3, method="hazen"), "pad": lambda x: np.pad(x, 1, "symmetric"),
          "max": lambda x: np.max(x, initial=0.0), "var": lambda x: np.var(x, 0, np.float64),
          "linalg.trace": lambda x: np.linalg.trace(np.reshape(x, (1, 2, 3))),
          "modf": lambda x: np.modf(x), "round": lambda x: np.round(x, 1),
          "norm": lambda x: np.linalg.norm(x, "nuc")}


@pytest.mark.parametrize("name", LOSING)
def test_what_would_lose_the_gradient_says_so(name):
    x = Tensor(A, requires_grad=True)
    with pytest.raises(TypeError, match=r"^np\.\w+: NumPy computes it off the graph, .*x.detach\(\)"):
        LOSING[name](x)
    np.testing.assert_array_equal(LOSING[name](x.detach()), LOSING[name](A))
    with no_grad():
        np.testing.assert_array_equal(LOSING[name](x), LOSING[name](A))


def test_writing_into_an_array():
    x, total = Tensor(A, requires_grad=True), np.zeros((2, 3))
    with pytest.raises(TypeError, match="off the graph"):
        total += x
    assert not total.any()
    total += x.detach()
    np.testing.assert_array_equal(total, A)


def test_every_function_of_the_tables_is_numpys():
    assert all(hasattr(np, name) for name in (*_NUMPY, *_SAME_IN_NUMPY))
    assert all(hasattr(np.linalg, name) for name in _LINALG)


@pytest.mark.parametrize("f, what", [
    (lambda x: np.split(x, 2, axis=1), "equal division"),
    (lambda x: np.linalg.inv(x), "square"), (lambda x: np.linalg.solve(x @ x.T, V), "do not fit"),
    (lambda x: np.pad(x, ((1, 2), (1, 2), (1, 2))), "shape"),
])
def test_what_does_not_fit_is_an_error(f, what):
    with pytest.raises((ValueError, IndexError), match=what):
        f(Tensor(A, requires_grad=True))
