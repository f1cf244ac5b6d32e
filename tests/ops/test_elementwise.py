"""Bits and booleans, and gradients near the limits of float32."""

import numpy as np
import pytest

from tinygrad_like import Tensor, capture, ops
from tinygrad_like.ops import cos
from tinygrad_like.ops.pointwise import ufunc


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "bool"])
@pytest.mark.parametrize("name", ["and", "or", "xor", "invert"])
def test_bitwise_operators_equal_numpys(name, dtype):
    a, b = np.array([12, 0, 1, 1]).astype(dtype), np.array([10, 0, 0, 1]).astype(dtype)
    x, y = Tensor(a), Tensor(b)
    ours, theirs = {"and": (x & y, a & b), "or": (x | y, a | b), "xor": (x ^ y, a ^ b), "invert": (~x, ~a)}[name]
    assert ours.dtype == theirs.dtype == dtype and ours.tolist() == theirs.tolist()


def test_bitwise_operators_take_integers_and_refuse_floats():
    x = Tensor([12, 5])
    assert (x ^ 10).tolist() == (10 ^ x).tolist() == [6, 15]
    assert (x & 4).tolist() == [4, 4] and (2 | x).tolist() == [14, 7]
    with pytest.raises(TypeError, match="^logical_xor: not defined for float32 and float32"):
        Tensor([1.0]) ^ Tensor([2.0])


FAR = np.concatenate([np.linspace(-80, 80, 641), np.logspace(-36, 36, 400), -np.logspace(-36, 36, 400)])
ACCURATE = {  # relative error of float32 gradients, where they are neither infinite nor denormal
    "exp": 1e-6, "expm1": 1e-6, "log": 1e-6, "log2": 1e-6, "log1p": 1e-6, "sqrt": 1e-6, "rsqrt": 1e-6,
    "reciprocal": 1e-6, "atan": 1e-6, "sinh": 1e-6, "cosh": 1e-6, "softplus": 2e-5, "logsigmoid": 2e-5, "elu": 2e-5,
}


@pytest.mark.parametrize("name", ACCURATE)
def test_gradients_keep_their_digits_far_out(name):
    found = []
    for dtype in ("float32", "float64"):
        x = Tensor(FAR.astype("float32").astype(dtype), requires_grad=True)
        with np.errstate(all="ignore"):
            y = getattr(ops, name)(x)
            y.backward(np.ones(y.shape))
        found.append(x.grad.numpy().astype("float64"))
    got, right = found
    kept = (np.abs(right) > 1e-36) & (np.abs(right) < 3e38)
    assert kept.sum() > 100
    np.testing.assert_allclose(got[kept], right[kept], rtol=ACCURATE[name])


def test_gelu_is_linear_far_out():
    for copies in (1, 600):
        x = Tensor(np.tile(np.float32([1e30, -1e30, 30]), copies), requires_grad=True)
        ops.gelu(x).backward(np.ones(x.shape))
        assert x.grad.tolist() == [1, 0, 1] * copies
    x = Tensor(np.tile(np.float32([3e38, -3e38]), 600), requires_grad=True)
    ops.gelu(x, approximate="tanh").backward(np.ones(x.shape))
    assert x.grad.tolist() == [1, 0] * 600


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64"])
def test_an_exponent_may_be_an_integer(dtype):
    assert (Tensor([2, 3]) ** Tensor(np.array([1, 0], dtype))).tolist() == [2, 1]
    x = Tensor([2.0, 3.0], requires_grad=True)
    (x ** Tensor(np.array([1, 0], dtype))).sum().backward()
    assert x.grad.dtype == "float32" and x.grad.tolist() == [1, 0]


@pytest.mark.parametrize(("name", "function", "rules"), [
    ("sin", lambda x: np.sin(x), {"x": lambda g, x: g * cos(x)}),
    ("mul", lambda a, b: np.multiply(a, b), {"a": lambda g, b: g * b, "b": lambda g, a: g * a}),
    ("sub", lambda a, b: np.subtract(a, b), {"a": lambda g: g, "b": lambda g: -g})])
def test_a_numpy_function_may_be_declared_again(name, function, rules):
    op, first = ufunc(name, "Again.", function), getattr(ops, name)
    op.vjp(**rules)
    assert (op.name, op.__doc__, op.fresh) == (name, "Again.", first.fresh)
    assert op.large[0] == first.large[0] and op.large[1].keys() == first.large[1].keys()
    for n in 3, 10**5:
        xs = [Tensor(x, requires_grad=True) for x in np.random.default_rng(0).random((len(op.inputs), n), np.float32)]
        y, expected = op(*xs), first(*xs)
        assert y.tolist() == expected.tolist()
        for found, dx in zip(y.sum().gradient(*xs), expected.sum().gradient(*xs), strict=True):
            assert np.array_equal(found.numpy(), dx.numpy())


DRAWN = np.random.default_rng(0).standard_normal(2000) * 10.0 ** np.random.default_rng(1).integers(-40, 38, 2000)
REMAINDERS = np.concatenate([DRAWN, [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 3, -3, 6, -6, 7.5, -7.5]])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("b", [3, 0.1, 7.5, 1e-40, 1e30, 1e39, True, -3, -2.5, 0.0, np.inf], ids=str)
def test_a_remainder_equals_numpys_to_the_bit(dtype, b):
    x = REMAINDERS.astype(dtype)
    captured = capture(lambda t: t % b)
    with np.errstate(all="ignore"):
        expected, eager = np.mod(x, b), (Tensor(x) % b).numpy()
        replayed = [captured(Tensor(x)).numpy() for _ in range(4)][-1]
    for found in (eager, replayed):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[found == 0]))
