"""Create Tensors from a shape, a range, random numbers or another array's memory."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import random
from ..core.graph import mode
from ..core.listener import pure
from ..core.tensor import Tensor, wrap
from ..dtypes import FLOATS, INT64, as_array, as_dtype, checked, get_default_dtype, wide
from ..errors import named
from ..ops.axes import plain_shape
from .of_ops import part_of_tensor


def from_dlpack(x: Any) -> Tensor:
    """A Tensor on the memory of another library's CPU tensor (PyTorch, JAX, NumPy ...), without a copy."""
    return from_numpy(np.from_dlpack(x))


def from_numpy(array: np.ndarray) -> Tensor:
    """A Tensor on the memory of `array`, without a copy: later writes to the array change the Tensor, and no check
    detects it.

    A Tensor on a read-only array cannot be changed in place. Raises TypeError unless it is a plain array.
    """
    return wrap(checked(array, "from_numpy"))


def empty(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    return _made("empty", np.zeros, shape, dtype, requires_grad, 0)


def zeros(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    return _made("zeros", np.zeros, shape, dtype, requires_grad, 0)


def ones(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    return _made("ones", np.ones, shape, dtype, requires_grad, 1)


def full(shape: int | Sequence[int], fill_value: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    _constant("full", fill_value)
    dtype = as_array(fill_value, None, "full").dtype if dtype is None else dtype
    if isinstance(fill_value, complex):
        raise TypeError(f"full: a Tensor holds real numbers, got {fill_value!r}")
    return _made("full", lambda s, d: np.full(s, fill_value, d), (shape,), dtype, requires_grad,
                 fill_value if isinstance(fill_value, int | float) else None)


def eye(n: int, m: int | None = None, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    return _made("eye", lambda s, d: np.eye(*s, dtype=d), (n, n if m is None else m), dtype, requires_grad)


def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None,
           requires_grad: bool = False) -> Tensor:
    """start, start + step, ... below stop; `arange(stop)` starts at 0. int64 if all are ints, else the default
    dtype."""
    _constant("arange", start, stop, step)
    start, stop = (0, start) if stop is None else (start, stop)
    if any(value is None for value in (start, stop, step)):  # which NumPy would take as missing
        raise TypeError(f"arange: start, stop and step must be numbers, got {start}, {stop}, {step}")
    if step == 0:
        raise ValueError("arange: step must not be 0")
    dtype = dtype or (INT64 if all(isinstance(v, int) for v in (start, stop, step)) else get_default_dtype())
    return _tensor(as_array(np.arange(start, stop, step), dtype, "arange"), requires_grad)


def linspace(start: float, stop: float, steps: int, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """`steps` values from start to stop, both included."""
    _constant("linspace", start, stop)
    if not isinstance(steps, int | np.integer) or isinstance(steps, bool) or steps < 0:
        raise ValueError(f"linspace: steps must be a non-negative integer, got {steps!r}")
    if any([isinstance(end, str) or np.ndim(end) for end in (start, stop)]):
        raise TypeError(f"linspace: start and stop must be numbers, got {start!r} and {stop!r}")
    dtype = as_dtype(dtype or get_default_dtype(), "linspace")
    if dtype.kind == "b":
        raise TypeError("linspace: dtype must be numeric, got bool")
    if dtype.kind in "iu" and not all([np.iinfo(dtype).min <= end <= np.iinfo(dtype).max for end in (start, stop)]):
        raise ValueError(f"linspace: {start} to {stop} does not fit into {dtype}")
    return _tensor(_evenly(start, stop, steps, dtype), requires_grad)


def rand(*shape: Any, dtype: Any = None, requires_grad: bool = False, generator: Any = None) -> Tensor:
    """Uniform on [0, 1)."""
    return _drawn("uniform", shape, dtype, requires_grad, generator, 0.0, 1.0)


def randn(*shape: Any, dtype: Any = None, requires_grad: bool = False, generator: Any = None) -> Tensor:
    """Standard normal."""
    return _drawn("normal", shape, dtype, requires_grad, generator, 0.0, 1.0)


def uniform(*shape: Any, low: float = 0.0, high: float = 1.0, dtype: Any = None,
            requires_grad: bool = False, generator: Any = None) -> Tensor:
    """Uniform on [low, high)."""
    _constant("uniform", low, high)
    return _drawn("uniform", shape, dtype, requires_grad, generator, low, high - low)


def normal(*shape: Any, mean: float = 0.0, std: float = 1.0, dtype: Any = None,
           requires_grad: bool = False, generator: Any = None) -> Tensor:
    """Normal with the given mean and standard deviation."""
    _constant("normal", mean, std)
    return _drawn("normal", shape, dtype, requires_grad, generator, mean, std)


def scaled_uniform(*shape: Any, **options: Any) -> Tensor:
    """Uniform on [-b, b) with b = 1 / sqrt(number of elements)."""
    return _within(math.prod(plain_shape(shape)), shape, options)


def glorot_uniform(*shape: Any, **options: Any) -> Tensor:
    """Uniform on [-b, b) with b = sqrt(6 / (fan_in + fan_out)), for shape (fan_out, *fan_in)."""
    outputs, *inputs = plain_shape(shape)
    return _within((outputs + math.prod(inputs)) / 6, shape, options)


def kaiming_uniform(*shape: Any, a: float = 0.01, **options: Any) -> Tensor:
    """Uniform on [-b, b) with b = sqrt(6 / (fan_in (1 + a^2))), for a leaky_relu of slope a to come."""
    return _within(math.prod(plain_shape(shape)[1:]) * (1 + a**2) / 6, shape, options)


def kaiming_normal(*shape: Any, a: float = 0.01, **options: Any) -> Tensor:
    """Normal with standard deviation sqrt(2 / (fan_in (1 + a^2))), for a leaky_relu of slope a to come."""
    fan_in = math.prod(plain_shape(shape)[1:])
    return normal(*shape, std=math.sqrt(2 / (fan_in * (1 + a**2) or 1)), **options)


def randint(*shape: Any, low: int = 0, high: int = 10, dtype: Any = None, generator: Any = None) -> Tensor:
    """Integers, uniform on low, ..., high - 1."""
    if low >= high:
        raise ValueError(f"randint: low={low} must be below high={high}")
    shape, dtype = _shape("randint", shape), as_dtype(dtype or INT64, "randint")
    if dtype.kind not in "iub":
        raise TypeError(f"randint: cannot draw {dtype}; draw another dtype and cast()")
    return wrap(random.sampled(
        "randint", lambda rng, low, high: rng.integers(low, high, shape, dtype), low, high, generator=generator))


def randperm(n: int, generator: Any = None) -> Tensor:
    """The numbers 0, ..., n - 1 in random order."""
    return wrap(random.sampled(
        "randperm", lambda rng, n: rng.permutation(n), operator.index(n), generator=generator))


@pure
def _evenly(start: float, stop: float, steps: int, dtype: np.dtype) -> np.ndarray:
    return as_array(np.linspace(float(start), float(stop), steps), dtype, "linspace")


def _within(inverse: float, shape: tuple, options: dict) -> Tensor:
    """Uniform on [-b, b) with b = 1 / sqrt(inverse); with inverse 0, there are no elements."""
    bound = 1 / math.sqrt(inverse or 1)
    return uniform(*shape, low=-bound, high=bound, **options)


def _like(name: str) -> Callable:
    def like(self, *values, **options):
        return getattr(Tensor, name)(self.shape, *values, **{"dtype": self.dtype, **options})

    like.__name__, like.__doc__ = f"{name}_like", f"`{name}` with the shape and dtype of this Tensor."
    return named(like)


def _constant(who: str, *values: Any) -> None:
    if any([getattr(v, "requires_grad", False) for v in values]):
        raise TypeError(f"{who}: its arguments get no gradient, but one is a Tensor that requires grad; "
                        "pass its .item(), or use operators, as in mean + std * Tensor.randn(3)")


def _shape(who: str, shape: tuple) -> tuple[int, ...]:
    shape = plain_shape(shape)
    for n in shape:
        if type(n) is not int and not isinstance(n, int | np.integer) or n < 0:
            raise ValueError(f"{who}: a shape must consist of non-negative integers, got {shape}")
    return shape


def _made(who: str, fill: Callable, shape: tuple, dtype: Any, requires_grad: bool,
          number: float | None = None) -> Tensor:
    """number: the value of all elements, if known. A captured function that writes to the array resets it to this value
    in every call."""
    shape = _shape(who, shape)
    dtype = get_default_dtype() if dtype is None else as_dtype(dtype, who)
    if mode.listener is not None and number is not None and not requires_grad:
        return wrap(mode.listener.compute("filled", np.full, [shape, number], {"dtype": dtype}))
    return _tensor(np.asarray(fill(shape, dtype), dtype), requires_grad)


def _drawn(who: str, shape: tuple, dtype: Any, requires_grad: bool, generator: Any, first: Any, second: Any) -> Tensor:
    """Noise named `who`; first, second: its parameters."""
    shape = _shape(who, shape)
    dtype = get_default_dtype() if dtype is None else as_dtype(dtype, who)
    if dtype.kind not in FLOATS:
        raise TypeError(f"{who}: cannot draw {dtype}; draw another dtype and cast()")
    if type(first) is type(second) is float:
        out = wrap(random.noise(who, shape, wide(dtype), generator, first, second))
    elif isinstance(first, Tensor) or isinstance(second, Tensor):
        out = first + second * _drawn(who, shape, dtype, False, generator, 0.0, 1.0)
    else:
        given = [float(x) if type(x) in (int, bool) or issubclass(type(x), np.generic) else x for x in (first, second)]
        out = wrap(random.noise(who, shape, wide(dtype), generator, *given))
    out = out if out.dtype is dtype else out.cast(dtype)
    return out.requires_grad_() if requires_grad else out


def _tensor(array: np.ndarray, requires_grad: bool) -> Tensor:
    out = wrap(array)
    return out.requires_grad_() if requires_grad else out


class Creation:
    """The part of Tensor that creates Tensors. Unless stated otherwise, dtype defaults to `get_default_dtype()`."""


for _make in (from_dlpack, from_numpy, random.manual_seed, empty, zeros, ones, full, eye, arange, linspace, rand, randn,
              uniform, normal, scaled_uniform, glorot_uniform, kaiming_uniform, kaiming_normal, randint, randperm):
    setattr(Creation, _make.__name__, staticmethod(_make))
for _name in "empty", "zeros", "ones", "rand", "randn", "full":
    setattr(Creation, f"{_name}_like", _like(_name))
part_of_tensor(Creation)
