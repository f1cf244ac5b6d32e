"""NumPy's functions of Tensors are recorded, or raise an error if they cannot be."""

import numpy as np
import pytest

from tinygrad_like import Tensor, no_grad
from tinygrad_like.compat.numpy_functions import _METHODS

A = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
V = np.array([1.0, 2.0, 3.0])

FUNCTIONS = {
    "sin": lambda x: np.sin(x), "abs": lambda x: np.abs(x), "negative": lambda x: np.negative(x),
    "add": lambda x: np.add(x, V), "subtract": lambda x: np.subtract(V, x), "power": lambda x: np.power(np.abs(x), 3),
    "maximum": lambda x: np.maximum(np.zeros((2, 3)), x), "arctan": lambda x: np.arctan(x),
    "matmul": lambda x: np.matmul(x, V), "array on the left": lambda x: A * x - V,
    "a number": lambda x: np.float64(2) * x,
    "array @": lambda x: A.T @ x, "positive": lambda x: np.positive(x),
    "sum": lambda x: np.sum(x, axis=1, keepdims=True), "mean": lambda x: np.mean(x),
    "max": lambda x: np.max(x, axis=1), "amin": lambda x: np.amin(x), "prod": lambda x: np.prod(x, axis=0),
    "reshape": lambda x: np.reshape(x, (3, 2)), "ravel": lambda x: np.ravel(x),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1), "clip": lambda x: np.clip(x, -1, 1), "flip": lambda x: np.flip(x, 0),
    "roll": lambda x: np.roll(x, 1, axis=1), "tile": lambda x: np.tile(x, (2, 1)),
    "outer": lambda x: np.outer(x[0], V), "diagonal": lambda x: np.diagonal(x[:, :2]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_functions_have_right_values_and_gradients(name):
    f, x = FUNCTIONS[name], Tensor(A, requires_grad=True)
    y, expected = f(x), f(A)
    assert isinstance(y, Tensor) and y.requires_grad and y.shape == np.shape(expected)
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-12)
    g = np.random.default_rng(0).standard_normal(y.shape)
    (found,) = y.gradient(x, gradient=g)
    d, eps = np.random.default_rng(1).standard_normal(A.shape), 1e-6
    slope = np.sum(g * (f(A + eps * d) - f(A - eps * d)) / (2 * eps))
    np.testing.assert_allclose(np.sum(found.numpy() * d), slope, rtol=1e-6, atol=1e-8)


def test_numpy_functions_without_gradients_work():
    x = Tensor(A, requires_grad=True)
    assert np.argmax(x) == A.argmax() and np.argsort(x, axis=1).tolist() == A.argsort(axis=1).tolist()
    assert np.any(x > 2) and not np.all(x > 2) and np.shape(x) == (2, 3) and np.ndim(x) == 2 and np.size(x) == 6
    assert np.allclose(x, A) and np.array_equal(x, A) and np.isfinite(x).all()
    assert np.zeros_like(x).tolist() == np.zeros((2, 3)).tolist() and isinstance(np.ones_like(x), Tensor)


LOSING = {"median": lambda x: np.median(x), "concatenate": lambda x: np.concatenate([A, x]),
          "cbrt": lambda x: np.cbrt(x), "reduce": lambda x: np.add.reduce(x), "modf": lambda x: np.modf(x),
          "percentile": lambda x: np.percentile(x, 3, method="hazen"), "norm": lambda x: np.linalg.norm(x)}


@pytest.mark.parametrize("name", LOSING)
def test_functions_that_would_lose_the_gradient_raise(name):
    x = Tensor(A, requires_grad=True)
    with pytest.raises(TypeError, match=r"^np\.\w+: NumPy computes it off the graph, .*x.detach\(\)"):
        LOSING[name](x)
    np.testing.assert_array_equal(LOSING[name](x.detach()), LOSING[name](A))
    with no_grad():
        np.testing.assert_array_equal(LOSING[name](x), LOSING[name](A))


def test_adding_a_tensor_that_requires_grad_to_an_array_raises():
    x, total = Tensor(A, requires_grad=True), np.zeros((2, 3))
    with pytest.raises(TypeError, match="off the graph"):
        total += x
    assert not total.any()
    total += x.detach()
    np.testing.assert_array_equal(total, A)


def test_every_method_in_the_table_exists():
    assert all(hasattr(np, name) and hasattr(Tensor, name) for name in _METHODS)
