"""Elementwise kernels against plain NumPy, in one task and in several."""

import inspect

import numpy as np
import pytest

from tinygrad_like import ops
from tinygrad_like.kernels import formula
from tinygrad_like.ops import activation

SMALL, LARGE = (7, 13), (300, 401)  # one task, several; odd lengths leave remainders in loops


def random(*shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def kernels(op):
    """The kernels of an op's definition and of its rule, for arrays of any size."""
    rule, _ = op.rules[0]
    forward = formula.pointwise(inspect.unwrap(op.forward), op.name, op.options)
    backward = formula.pointwise(inspect.unwrap(rule), f"{op.name}_vjp", op.options)
    return lambda x, *values: forward(x, **dict(zip(op.options, values, strict=True))), backward


relu, relu_vjp = kernels(ops.relu)


def test_small_values_of_softplus_keep_their_digits():
    x = np.array([-80, -40, -20, -5], np.float32)
    y = kernels(ops.softplus)[0](x, 1.0, np.inf)
    np.testing.assert_allclose(y, np.log1p(np.exp(x.astype(np.float64))), rtol=2e-6)


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
            found = getattr(formula, name)(x, y)
            assert found.flags.c_contiguous
            np.testing.assert_array_equal(found, BINARY[name](x, y))


@pytest.mark.parametrize("case", SHAPES)
def test_a_formula_of_three_arrays_broadcasts(case):
    f = formula.pointwise(lambda a, b, c: -a * b / c, "three")
    a, b = (np.asarray(random(*shape, seed=i) + 3, np.float32) for i, shape in enumerate(SHAPES[case]))
    for x, y, z in ((a, b, a), (b, a, b), (a, a, LAYOUTS["backwards"](b)), (LAYOUTS["F"](a), b, 2.5)):
        np.testing.assert_array_equal(f(x, y, z), -x * y / z)
    for wrong in a.astype(np.float64), np.ones((2, 17), np.float32), "2", None:
        assert f(a, b, wrong) is NotImplemented


@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_takes_python_numbers(name):
    a, function = random(*LARGE) + np.float32(3), getattr(ops, name)
    for number in 0.1, 3, -0.0:
        for x, y in ((a, number), (number, a)):
            with np.errstate(divide="ignore"):
                expected = BINARY[name](x, y)
            found = function(x, y)
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, expected)


def test_arithmetic_of_other_dtypes_is_left_to_numpy():
    a, b = random(*LARGE), random(*LARGE, seed=1)
    wide = a.astype(np.float64)
    for x, y in ((wide, b), (b, wide), (a, b[0, 3])):
        assert formula.add(x, y) is NotImplemented
        np.testing.assert_array_equal(ops.add(x, y), x + y)
    with pytest.raises(ValueError, match="broadcast"):
        ops.add(a, b[:, :7])


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_accumulate_adds_in_place(shape):
    a, b = random(*shape), random(*shape, seed=1)
    c = a.copy()
    assert formula.accumulate(c, b) is c
    np.testing.assert_array_equal(c, a + b)
    for other in b.astype(np.float64), b[:1]:
        assert formula.accumulate(c, other) is NotImplemented
    assert formula.accumulate(np.asfortranarray(c), b) is NotImplemented
    c = a.copy()
    np.testing.assert_array_equal(formula.accumulate(c, np.asfortranarray(b)), a + b)  # copied first


def test_inputs_may_be_strided_or_empty():
    x = random(*LARGE)
    gelu, silu = kernels(activation._gelu)[0], kernels(ops.silu)[0]
    np.testing.assert_array_equal(gelu(x.T), gelu(x).T)
    np.testing.assert_array_equal(relu(x[:, ::2]), np.maximum(x[:, ::2], 0))
    assert relu(np.empty((0, 3), np.float32)).shape == (0, 3)
    assert silu(np.empty(0, np.float32)).shape == (0,)


def test_a_cotangent_of_another_dtype_is_left_to_numpy():
    x = random(*SMALL)
    for g in x.astype(np.float64), np.float32(1):
        assert relu_vjp(g, x) is NotImplemented
