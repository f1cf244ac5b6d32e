"""NumPy's functions on Tensors stay on the graph, or say that they cannot."""

import numpy as np
import pytest

from tinygrad_like import Tensor, no_grad

A = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
V = np.array([1.0, 2.0, 3.0])

FUNCTIONS = {
    "sin": lambda x: np.sin(x), "abs": lambda x: np.abs(x), "negative": lambda x: np.negative(x),
    "add": lambda x: np.add(x, V), "subtract": lambda x: np.subtract(V, x), "power": lambda x: np.power(np.abs(x), 3),
    "maximum": lambda x: np.maximum(np.zeros((2, 3)), x), "arctan": lambda x: np.arctan(x),
    "matmul": lambda x: np.matmul(x, V), "array on the left": lambda x: A * x - V,
    "a number": lambda x: np.float64(2) * x,
    "array @": lambda x: A.T @ x, "positive": lambda x: np.positive(x),
    "sum": lambda x: np.sum(x, axis=1), "mean": lambda x: np.mean(x), "clip": lambda x: np.clip(x, -1, 1),
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


LOSING = {"cbrt": lambda x: np.cbrt(x), "reduce": lambda x: np.add.reduce(x), "modf": lambda x: np.modf(x),
          "median": lambda x: np.median(x), "concatenate": lambda x: np.concatenate([A, x])}


@pytest.mark.parametrize("name", LOSING)
def test_what_would_lose_the_gradient_says_so(name):
    x = Tensor(A, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^NumPy: this Tensor requires grad.*x.detach\(\)"):
        LOSING[name](x)
    np.testing.assert_array_equal(LOSING[name](x.detach()), LOSING[name](A))


def test_writing_into_an_array():
    x, total = Tensor(A, requires_grad=True), np.zeros((2, 3))
    with pytest.raises(RuntimeError, match="requires grad"):
        total += x
    assert not total.any()
    total += x.detach()
    with no_grad():
        total += x
    np.testing.assert_array_equal(total, 2 * A)
