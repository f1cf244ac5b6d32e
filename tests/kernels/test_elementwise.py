"""Elementwise kernels against their plain reading in NumPy, in one task and in several."""

import inspect
import math

import numpy as np
import pytest

from tinygrad_like import Tensor, ops
from tinygrad_like.kernels import composites, formula
from tinygrad_like.kernels import elementwise as k
from tinygrad_like.ops import activation

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


# op, options, the function and its slope, in terms of x
FUNCTIONS = {
    "leaky_relu": (ops.leaky_relu, [0.1], lambda x: np.where(x > 0, x, 0.1 * x), lambda x: np.where(x > 0, 1, 0.1)),
    "gelu": (activation._gelu, [], lambda x: x / 2 * (1 + erf(x / np.sqrt(2))),
             lambda x: (1 + erf(x / np.sqrt(2))) / 2 + x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)),
    "gelu_tanh": (activation.gelu_tanh, [], lambda x: x / 2 * (1 + tanh_form(x)), gelu_tanh_slope),
    "silu": (ops.silu, [], lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x)))),
    "sigmoid": (ops.sigmoid, [], sigmoid, lambda x: sigmoid(x) * (1 - sigmoid(x))),
    "tanh": (ops.tanh, [], np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "softplus": (activation._softplus, [1.5, np.inf], lambda x: np.log1p(np.exp(1.5 * x)) / 1.5,
                 lambda x: sigmoid(1.5 * x)),
    "elu": (ops.elu, [0.7], lambda x: np.where(x > 0, x, 0.7 * np.expm1(x)),
            lambda x: np.where(x > 0, 1, 0.7 * np.exp(x))),
    "erf": (ops.erf, [], erf, lambda x: 2 / np.sqrt(np.pi) * np.exp(-(x**2))),
}
SAVES_OUTPUT = {"sigmoid", "tanh"}


def kernels(op):
    """The kernels of an op's definition and of its rule, for arrays of any size."""
    rule, _ = op.rules[0]
    forward = formula.pointwise(inspect.unwrap(op.forward), op.name, op.options)
    backward = formula.pointwise(inspect.unwrap(rule), f"{op.name}_vjp", op.options)
    return lambda x, *values: forward(x, **dict(zip(op.options, values, strict=True))), backward


relu, relu_vjp = kernels(ops.relu)
keep_positive = formula.pointwise(inspect.unwrap(activation.keep_positive.forward), "keep_positive")


@pytest.mark.parametrize("shape", [SMALL, LARGE])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_slopes(name, shape):
    op, values, function, slope = FUNCTIONS[name]
    forward, backward = kernels(op)
    x, g = random(*shape, scale=3), random(*shape, seed=1)
    y = forward(x, *values)
    dx = backward(g, y if name in SAVES_OUTPUT else x, *values)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(y, function(exact), rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(dx, g * slope(exact), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_far_out(name):
    op, values, function, slope = FUNCTIONS[name]
    forward, backward = kernels(op)
    x = np.array([-80, -30, -10, 10, 30, 80], np.float32)
    with np.errstate(over="ignore"):
        exact, exact_slope = function(x.astype(np.float64)), slope(x.astype(np.float64))
    y = forward(x, *values)
    dx = backward(np.ones_like(x), y if name in SAVES_OUTPUT else x, *values)
    np.testing.assert_allclose(y, exact, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(dx, exact_slope, rtol=2e-6, atol=1e-6)
    x = np.array([-1e30, 1e30], np.float32)
    assert np.isfinite(backward(np.ones_like(x), forward(x, *values) if name in SAVES_OUTPUT else x, *values)).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_stays_nan(name):
    x = np.array([np.nan, 1.0], np.float32)
    op, values, *_ = FUNCTIONS[name]
    y = kernels(op)[0](x, *values)
    assert np.isnan(y[0]) and np.isfinite(y[1])
    assert np.isnan(relu(x)[0])


def test_softplus_keeps_its_digits_where_it_is_small():
    x = np.array([-80, -40, -20, -5], np.float32)
    y = kernels(activation._softplus)[0](x, 1.0, np.inf)
    np.testing.assert_allclose(y, np.log1p(np.exp(x.astype(np.float64))), rtol=2e-6)


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_relu_and_its_vjp(shape):
    x, g = random(*shape), random(*shape, seed=1)
    x[0, :3], g[0, 0] = [0.0, -0.0, -1.0], np.inf
    y, dx = relu(x), keep_positive(g, x)
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    np.testing.assert_array_equal(dx, np.where(x > 0, g, 0))
    np.testing.assert_array_equal(relu_vjp(g, y), dx)


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
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
    "every other axis": ((7, 1, 9, 1, 11), (8, 1, 10, 1)),
    "small": (SMALL, SMALL),
    "small row": (SMALL, (13,)),
    "nothing": ((0, 13), (13,)),
    "nothing in the middle": ((5, 0, 13), (13,)),
}
LAYOUTS = {"C": lambda x: x, "F": np.asfortranarray, "backwards": lambda x: x[..., ::-1] if x.ndim else x,
           "apart": lambda x: np.repeat(x, 2, -1)[..., ::2] if x.ndim else x}


@pytest.mark.parametrize("case", SHAPES)
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_broadcasts_as_numpy_does(name, case):
    a, b = (np.asarray(random(*shape, seed=i) + 3, np.float32) for i, shape in enumerate(SHAPES[case]))
    for x, y in ((a, b), (b, a)):
        for layout, other in (("C", "C"), ("F", "C"), ("C", "backwards"), ("apart", "F")):
            x, y = LAYOUTS[layout](x), LAYOUTS[other](y)
            found = getattr(k, name)(x, y)
            assert found.flags.c_contiguous or found.strides == BINARY[name](x, y).strides
            np.testing.assert_array_equal(found, BINARY[name](x, y))


@pytest.mark.parametrize("case", SHAPES)
def test_a_formula_of_three_arrays_that_broadcast(case):
    f = formula.pointwise(lambda a, b, c: -a * b / c, "three")
    a, b = (np.asarray(random(*shape, seed=i) + 3, np.float32) for i, shape in enumerate(SHAPES[case]))
    for x, y, z in ((a, b, a), (b, a, b), (a, a, LAYOUTS["backwards"](b)), (LAYOUTS["F"](a), b, 2.5)):
        np.testing.assert_array_equal(f(x, y, z), -x * y / z)
    for wrong in a.astype(np.float64), np.ones((2, 17), np.float32), "2", None:
        assert f(a, b, wrong) is NotImplemented


LARGE_RULES = {"mul": 2, "div": 2, "sub": 2, "neg": 1, "square": 1, "reciprocal": 1, "exp": 1, "log": 1}


@pytest.mark.parametrize("name", LARGE_RULES)
def test_rules_for_large_arrays_are_those_for_small_ones(name):
    op, shapes = getattr(ops, name), ((300, 401), (300, 1), (1, 401))
    for first in shapes[:1] if LARGE_RULES[name] == 1 else shapes:
        xs = [Tensor(np.abs(random(*shape, seed=i)) + 0.5, requires_grad=True)
              for i, shape in enumerate([first, LARGE][: LARGE_RULES[name]])]
        y = op(*xs)
        g = LAYOUTS["F"](random(*y.shape, seed=2))
        assert y.shape == LARGE and op.large[0] <= y.size
        y.backward(Tensor(g))
        doubles = [Tensor(x.data.astype(np.float64), requires_grad=True) for x in xs]
        op(*doubles).backward(Tensor(g.astype(np.float64)))
        for x, exact in zip(xs, doubles, strict=True):
            scale = np.abs(exact.grad.numpy()).max()
            np.testing.assert_allclose(x.grad.numpy(), exact.grad.numpy(), rtol=2e-6, atol=1e-6 * scale)
            assert x.grad._data.flags.writeable and not any(np.shares_memory(x.grad._data, other) for other in (
                g, y._data, *[each._data for each in xs]))


@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_with_a_number_of_python(name):
    a, function = random(*LARGE) + np.float32(3), getattr(ops, name)
    for number in 0.1, 3, -0.0:
        for x, y in ((a, number), (number, a)):
            with np.errstate(divide="ignore"):
                expected = BINARY[name](x, y)
            found = function(x, y)
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, expected)


def test_arithmetic_of_other_dtypes_is_numpys():
    a, b = random(*LARGE), random(*LARGE, seed=1)
    wide = a.astype(np.float64)
    for x, y in ((wide, b), (b, wide), (a, b[0, 3])):
        assert k.add(x, y) is NotImplemented
        np.testing.assert_array_equal(ops.add(x, y), x + y)
    with pytest.raises(ValueError, match="broadcast"):
        ops.add(a, b[:, :7])


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_accumulate_adds_in_place(shape):
    a, b = random(*shape), random(*shape, seed=1)
    c = a.copy()
    assert k.accumulate(c, b) is c
    np.testing.assert_array_equal(c, a + b)
    for other in b.astype(np.float64), b[:1]:
        assert k.accumulate(c, other) is NotImplemented
    assert k.accumulate(np.asfortranarray(c), b) is NotImplemented
    c = a.copy()
    np.testing.assert_array_equal(k.accumulate(c, np.asfortranarray(b)), a + b)  # which is copied first


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_a_result_lies_as_its_inputs_do(order):
    x, y = (random(20, 30, 40, seed=i).transpose(order) for i in (0, 1))
    for b in y, 2.0, np.array(3, np.float32):
        found = k.mul(x, b)
        np.testing.assert_array_equal(found, x * b)
        assert found.strides == x.strides
    for b in np.ascontiguousarray(y), y[:, :1], np.ones(y.shape[-1], np.float32):
        np.testing.assert_array_equal(k.mul(x, b), x * b)


def test_inputs_may_be_strided_or_empty():
    x = random(*LARGE)
    gelu, silu = kernels(activation._gelu)[0], kernels(ops.silu)[0]
    np.testing.assert_array_equal(gelu(x.T), gelu(x).T)
    np.testing.assert_array_equal(relu(x[:, ::2]), np.maximum(x[:, ::2], 0))
    assert relu(np.empty((0, 3), np.float32)).shape == (0, 3)
    assert silu(np.empty(0, np.float32)).shape == (0,)


def test_a_cotangent_of_another_dtype_is_not_for_the_kernel():
    x = random(*SMALL)
    for g in x.astype(np.float64), np.float32(1):
        assert keep_positive(x, g) is NotImplemented


# --- Losses -----------------------------------------------------------------------------------------------------------

LOSSES = {
    "mse_loss": (lambda x, t: (x - t) ** 2, lambda x, t: 2 * (x - t)),
    "binary_cross_entropy_with_logits": (lambda x, t: np.logaddexp(0, x) - t * x, lambda x, t: sigmoid(x) - t),
}


@pytest.mark.parametrize("shape", [(1,), SMALL, LARGE, (4096,), (4097,), (8192, 3)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_slopes(name, reduction, shape):
    function, slope = LOSSES[name]
    forward, backward = composites.LOSSES[name]()
    x, t = random(*shape, scale=3), sigmoid(random(*shape, seed=1))
    losses, slopes = (f(x.astype(np.float64), t.astype(np.float64)) for f in (function, slope))
    g = random(*shape, seed=2) if reduction == "none" else np.array(1.5, np.float32)
    expected = losses if reduction == "none" else getattr(losses, reduction)()
    np.testing.assert_allclose(forward(x, t, reduction), expected, rtol=2e-6, atol=1e-6)
    expected = g * slopes / (x.size if reduction == "mean" else 1)
    np.testing.assert_allclose(backward(x, t, g, reduction), expected, rtol=2e-6, atol=1e-6)
    for other in t.astype(np.float64), 1.0:
        assert forward(x, other, reduction) is NotImplemented is backward(x, other, g, reduction)
