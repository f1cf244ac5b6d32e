"""Elementwise kernels against their plain reading in NumPy, in one task and in several."""

import math

import numpy as np
import pytest

from tinygrad_like.kernels import elementwise as k

SMALL, LARGE = (7, 13), (300, 401)  # one task, several; of odd lengths, so that loops have rests


def random(*shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def erf(x):
    return np.vectorize(math.erf)(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def tanh_form(x):
    return np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


def gelu_tanh_slope(x):
    t, du = tanh_form(x), np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return (1 + t) / 2 + x / 2 * (1 - t**2) * du


# op, parameter, the function and its slope, in terms of x
FUNCTIONS = {
    "leaky_relu": (k.LEAKY_RELU, 0.1, lambda x: np.where(x > 0, x, 0.1 * x), lambda x: np.where(x > 0, 1, 0.1)),
    "gelu": (k.GELU, 0.0, lambda x: x / 2 * (1 + erf(x / np.sqrt(2))),
             lambda x: (1 + erf(x / np.sqrt(2))) / 2 + x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)),
    "gelu_tanh": (k.GELU_TANH, 0.0, lambda x: x / 2 * (1 + tanh_form(x)), gelu_tanh_slope),
    "silu": (k.SILU, 0.0, lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x)))),
    "sigmoid": (k.SIGMOID, 0.0, sigmoid, lambda x: sigmoid(x) * (1 - sigmoid(x))),
    "tanh": (k.TANH, 0.0, np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "softplus": (k.SOFTPLUS, 1.5, lambda x: np.log1p(np.exp(1.5 * x)) / 1.5, lambda x: sigmoid(1.5 * x)),
    "elu": (k.ELU, 0.7, lambda x: np.where(x > 0, x, 0.7 * np.expm1(x)), lambda x: np.where(x > 0, 1, 0.7 * np.exp(x))),
    "exp": (k.EXP, 0.0, np.exp, np.exp),
}
SAVES_OUTPUT = {"sigmoid", "tanh", "exp"}


@pytest.mark.parametrize("shape", [SMALL, LARGE])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_slopes(name, shape):
    op, parameter, function, slope = FUNCTIONS[name]
    x, g = random(*shape, scale=3), random(*shape, seed=1)
    for _ in range(2):  # the first call of all is one task, whatever the size
        y = k.forward(op, x, parameter)
        dx = k.backward(op, g, y if name in SAVES_OUTPUT else x, parameter)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(y, function(exact), rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(dx, g * slope(exact), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_far_out(name):
    op, parameter, function, slope = FUNCTIONS[name]
    x = np.array([-80, -30, -10, 10, 30, 80], np.float32)
    with np.errstate(over="ignore"):
        exact, exact_slope = function(x.astype(np.float64)), slope(x.astype(np.float64))
    y = k.forward(op, x, parameter)
    dx = k.backward(op, np.ones_like(x), y if name in SAVES_OUTPUT else x, parameter)
    np.testing.assert_allclose(y, exact, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(dx, exact_slope, rtol=2e-6, atol=1e-6)
    x = np.array([-1e30, 1e30], np.float32)
    assert np.isfinite(k.backward(op, np.ones_like(x), k.forward(op, x, parameter) if name in SAVES_OUTPUT else x,
                                  parameter)).all() or name == "exp"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_stays_nan(name):
    x = np.array([np.nan, 1.0], np.float32)
    y = k.forward(FUNCTIONS[name][0], x, 1.0)
    assert np.isnan(y[0]) and np.isfinite(y[1])
    assert np.isnan(k.relu(x)[0])


def test_softplus_keeps_its_digits_where_it_is_small():
    x = np.array([-80, -40, -20, -5], np.float32)
    np.testing.assert_allclose(k.forward(k.SOFTPLUS, x, 1.0), np.log1p(np.exp(x.astype(np.float64))), rtol=2e-6)


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_relu_and_its_vjp(shape):
    x, g = random(*shape), random(*shape, seed=1)
    x[0, :3], g[0, 0] = [0.0, -0.0, -1.0], np.inf
    for _ in range(2):
        y, dx = k.relu(x), k.keep_positive(g, x)
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    np.testing.assert_array_equal(dx, np.where(x > 0, g, 0))
    np.testing.assert_array_equal(k.keep_positive(g, y), dx)


BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
SHAPES = {
    "same": (LARGE, LARGE),
    "row": (LARGE, (401,)),
    "row of two axes": ((64, 8, 100), (1, 8, 100)),
    "narrow row": ((20_001, 3), (3,)),
    "column": (LARGE, (300, 1)),
    "narrow column": ((20_001, 3), (20_001, 1)),
    "channels": ((8, 5, 33, 32), (5, 1, 1)),
    "number": (LARGE, (1,)),
    "no axes": (LARGE, ()),
    "ones in front": (LARGE, (1, 401)),
    "outer sum": ((300, 1), (1, 401)),
    "middle axis": ((40, 30, 40), (40, 1, 40)),
    "small": (SMALL, SMALL),
    "small row": (SMALL, (13,)),
}


@pytest.mark.parametrize("case", SHAPES)
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_broadcasts_as_numpy_does(name, case):
    a, b = (random(*shape, seed=i) + 3 for i, shape in enumerate(SHAPES[case]))
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    function = getattr(k, name)
    for x, y in ((a, b), (b, a), (a, b)):
        np.testing.assert_array_equal(function(x, y), BINARY[name](x, y))


@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_with_a_number_of_python(name):
    a, function = random(*LARGE) + np.float32(3), getattr(k, name)
    for number in 0.1, 3, -0.0:
        for x, y in ((a, number), (number, a)):
            with np.errstate(divide="ignore"):
                expected = BINARY[name](x, y)
            found = function(x, y)
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, expected)


def test_arithmetic_of_other_dtypes_and_layouts_is_numpys():
    a, b = random(*LARGE), random(*LARGE, seed=1)
    np.testing.assert_array_equal(k.add(a.astype(np.float64), b), a.astype(np.float64) + b)
    np.testing.assert_array_equal(k.add(a.T, b.T), (a + b).T)
    np.testing.assert_array_equal(k.multiply(a[:, ::2], b[:, ::2]), a[:, ::2] * b[:, ::2])
    with pytest.raises(ValueError, match="broadcast"):
        k.add(a, b[:, :7])


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_accumulate_adds_in_place(shape):
    a, b = random(*shape), random(*shape, seed=1)
    expected = a + b
    for _ in range(2):
        c = a.copy()
        assert k.accumulate(c, b) is c
        np.testing.assert_array_equal(c, expected)


def test_out_receives_the_result():
    x, out = random(*LARGE), np.empty(LARGE, np.float32)
    for function in (k.relu, lambda x, out: k.forward(k.GELU, x, out=out), lambda x, out: k.add(x, x, out),
                     lambda x, out: k.backward(k.TANH, x, x, out=out), lambda x, out: k.keep_positive(x, x, out)):
        expected = function(x, None)
        out[...] = np.nan
        assert function(x, out) is out
        np.testing.assert_array_equal(out, expected)


def test_inputs_may_be_strided_or_empty():
    x = random(*LARGE)
    np.testing.assert_array_equal(k.forward(k.GELU, x.T), k.forward(k.GELU, x).T)
    np.testing.assert_array_equal(k.relu(x[:, ::2]), np.maximum(x[:, ::2], 0))
    assert k.relu(np.empty((0, 3), np.float32)).shape == (0, 3)
    assert k.forward(k.SILU, np.empty(0, np.float32)).shape == (0,)


def test_a_cotangent_of_another_shape_is_refused():
    x = random(*SMALL)
    with pytest.raises(ValueError, match=r"g has shape \(13,\).*\(7, 13\)"):
        k.backward(k.GELU, x[0], x)
    with pytest.raises(ValueError, match=r"\(13,\).*\(7, 13\)"):
        k.keep_positive(x[0], x)
