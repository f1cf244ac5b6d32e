"""The dtypes of results: Tensors without axes, and Python's numbers, give way to Tensors with axes."""

import itertools

import numpy as np
import pytest

import tinygrad_like as ours
from tinygrad_like import Tensor, capture, ops

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"]
OPS = {
    "add": lambda m, a, b: a + b, "sub": lambda m, a, b: a - b, "mul": lambda m, a, b: a * b,
    "div": lambda m, a, b: a / b, "floordiv": lambda m, a, b: a // b, "mod": lambda m, a, b: a % b,
    "pow": lambda m, a, b: a**b, "and": lambda m, a, b: a & b, "or": lambda m, a, b: a | b,
    "xor": lambda m, a, b: a ^ b,
    "lshift": lambda m, a, b: a << b, "rshift": lambda m, a, b: a >> b,
    "where": lambda m, a, b: m.where(m.tensor([True, False]), a, b), "where of one": lambda m, a, b: m.where(
        m.tensor(True), a, b), "clamp": lambda m, a, b: m.clamp(a, min=b),
    **{name: lambda m, a, b, name=name: getattr(m, name)(a, b) for name in (
        "maximum", "minimum", "fmod", "remainder", "hypot")},
    "truncdiv": lambda m, a, b: m.div(a, b, rounding_mode="trunc"), "add with alpha": lambda m, a, b: m.add(
        a, b, alpha=2), "addcmul": lambda m, a, b: m.addcmul(a, a, b),
    "eq": lambda m, a, b: a == b,
    "add_": lambda m, a, b: a.clone().add_(b), "mul_": lambda m, a, b: a.clone().mul_(b),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", OPS)
def test_promotion_equals_pytorchs(name):
    torch, f = pytest.importorskip("torch"), OPS[name]
    for a, b in itertools.product(DTYPES, DTYPES):
        for rows in itertools.product((False, True), repeat=2):
            if name == "add with alpha" and a == b == "bool":
                continue  # True times 2 is 2 in ours
            given = [[3, 2] if rows[0] else 3, [2, 1] if rows[1] else 2]
            try:
                theirs = f(torch, torch.tensor(given[0], dtype=getattr(torch, a)),
                           torch.tensor(given[1], dtype=getattr(torch, b)))
            except (RuntimeError, ZeroDivisionError):
                continue
            y = f(ours, Tensor(given[0], dtype=a), Tensor(given[1], dtype=b))
            assert (str(y.dtype), y.shape) == (str(theirs.dtype).replace("torch.", ""), theirs.shape), (a, b, rows)
            np.testing.assert_allclose(y.numpy(), theirs.numpy(), rtol=1e-6, err_msg=f"{a} {b} {rows}")


def test_0d_integers_take_the_dtype_of_tensors_with_axes():
    x, two = Tensor([200, 3], dtype="uint8"), Tensor(2)
    for y, numbers in ((x * two, [144, 6]), (two * x, [144, 6]), (x + two, [202, 5]), (x - Tensor(4), [196, 255]),
                       (ops.maximum(x, two), [200, 3]), (x // two, [100, 1]), (x**two, [64, 9]), (x & two, [0, 2]),
                       (ops.where(Tensor([True, False]), x, two), [200, 2]), (x.clamp(None, Tensor(100)), [100, 3]),
                       (x.masked_fill(Tensor([True, False]), two), [2, 3])):
        assert (y.dtype, y.tolist()) == ("uint8", numbers)
    assert (x.int() + two).dtype == "int32" and (x.long() + two.int()).dtype == "int64"
    assert (x + Tensor([2])).dtype == "int64" and (two.int() + Tensor(2, dtype="uint8")).dtype == "int32"
    assert (x + Tensor(2.0)).dtype == "float32" and (Tensor([True]) + two.int()).dtype == "int32"
    x += two
    assert (x.dtype, x.tolist()) == ("uint8", [202, 5])


def test_python_integers_wrap_around():
    x = Tensor([1, 250], dtype="uint8")
    for y, numbers in ((x + 256, [1, 250]), (256 + x, [1, 250]), (x - 256, [1, 250]), (x + 257, [2, 251]),
                       (x * -1, [255, 6]), (x + 255, [0, 249]), (x * 256, [0, 0]),
                       (Tensor([1], dtype="int8") + 128, [-127]), (Tensor([1], dtype="int8") - 129, [-128])):
        assert (y.dtype.itemsize, y.tolist()) == (1, numbers)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_stay_beside_a_number_without_axes(dtype):
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x.cast(dtype) * Tensor(3.0)
    assert y.dtype == x.cast(dtype).dtype and (x.cast(dtype) * Tensor([3.0])).dtype == "float32"
    assert (Tensor(3.0) * Tensor(2.0).cast(dtype)).dtype == "float32"
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_a_captured_function_promotes_as_eager_code_does():
    f = capture(lambda x, k: x * k + k)
    for k in (2, 3, 4, 5):
        y = f(Tensor([200, 3], dtype="uint8"), Tensor(k))
        assert (y.dtype, y.tolist()) == ("uint8", [201 * k % 256, 4 * k])
