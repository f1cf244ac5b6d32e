"""Elementwise kernels as loops, which can be fused; see `lower.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..dtypes import BOOL, FLOAT32, SUPPORTED
from ..kernels.copies import across
from ..kernels.loops import KINDS, Loop, Value
from .instructions import Step


class Body:
    """A builder of a loop."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self.operands, self.values = shape, [], []  # type: ignore[var-annotated]

    def take(self, x: Any, dtype: np.dtype) -> int:
        """The index of an array's value, or of a number, at each place."""
        if not isinstance(x, np.ndarray):
            return self.make("number", x, dtype=dtype)
        self.operands.append(np.broadcast_to(x, self.shape))
        value = self.make("load", len(self.operands) - 1, dtype=SUPPORTED[x.dtype])
        return value if x.dtype == dtype else self.make("cast", value, dtype=dtype)

    def make(self, name: str, *arguments: Any, dtype: np.dtype) -> int:
        if dtype not in KINDS:
            raise KeyError(dtype)
        self.values.append(Value(name, arguments, SUPPORTED[dtype]))
        return len(self.values) - 1

    def to(self, value: int, out: np.ndarray) -> Loop:
        if not isinstance(out, np.ndarray):  # except a number, array[1], which is not part of the array
            raise TypeError("a loop writes to arrays")
        return Loop(self.shape, tuple(self.operands), tuple(self.values), ((value, out),))


def copied(x: Any, out: np.ndarray) -> Loop:
    body = Body(out.shape)
    return body.to(body.take(x, out.dtype), out)


def _arithmetic(name: str, operands: int) -> Callable[..., Loop]:
    def loop(a: np.ndarray, b: np.ndarray, c: np.ndarray, p: float, q: float, out: np.ndarray) -> Loop:
        body = Body(out.shape)
        taken = [body.take(x, FLOAT32) for x in (a, b)[:operands]]
        return body.to(body.make(name, *taken, dtype=FLOAT32), out)

    return loop


def accumulated(total: np.ndarray, b: np.ndarray) -> Loop:
    body, dtype = Body(total.shape), total.dtype
    return body.to(body.make("add", body.take(total, dtype), body.take(b, dtype), dtype=dtype), total)


def _of_formula(key: str, arrays: int, numbers: int, *arguments: Any) -> Loop:
    *operands, p, q, out = arguments
    body = Body(out.shape)
    taken = [body.take(x, FLOAT32) for x in [*operands[:arrays], *(p, q)[:numbers]]]
    return body.to(body.make(key, *taken, dtype=FLOAT32), out)


def _rectified(sign: str, chosen: Callable) -> Callable[..., Loop]:
    """where(x <sign> 0, ...) for a kernel's arrays g and x, or x alone, and a number."""
    def loop(a: np.ndarray, b: np.ndarray, c: np.ndarray, number: float, q: float, out: np.ndarray) -> Loop:
        body = Body(out.shape)
        g, x, zero = body.take(a, FLOAT32), body.take(b, FLOAT32), body.make("number", 0.0, dtype=FLOAT32)
        met = body.make(sign, x, zero, dtype=BOOL)
        return body.to(body.make("where", met, *chosen(body, g, zero, number), dtype=FLOAT32), out)

    return loop


def _or_zero(body: Body, g: int, zero: int, number: float) -> tuple[int, int]:
    return zero, g


def _or_less(body: Body, g: int, zero: int, number: float) -> tuple[int, int]:
    return g, body.make("mul", g, body.take(number, FLOAT32), dtype=FLOAT32)


# Elementwise kernels by name, with the same bits.
OF_KERNELS: dict[str, Callable[..., Loop]] = {
    **{name: _arithmetic(name, 2) for name in ("add", "sub", "mul", "div")},
    **{name: _arithmetic(name, 1) for name in ("neg", "square", "reciprocal", "sqrt", "rsqrt", "abs", "sign")},
    "copy to": copied, "accumulate": accumulated,
    **dict.fromkeys(("relu", "relu vjp", "keep positive"), _rectified("le", _or_zero)),
    **dict.fromkeys(("leaky relu", "leaky relu vjp"), _rectified("gt", _or_less)),
}


def as_loop(step: Step, following: Step, kernels: bool = True) -> Step:
    """A kernel call in the table as a loop, which can be fused; if kernels may replace NumPy, a formula's call too,
    though its last bits may differ where two share a subexpression. Concurrent calls stay as they are."""
    of = OF_KERNELS.get(step.call.kernel.name)
    if of is None and kernels and step.call.kernel.formula is not None:
        of = partial(_of_formula, *step.call.kernel.formula)
    if of is copied and across(step.call.arguments[0]):  # a loop would touch a cache line for each number
        return step
    if of is None or step.function is not None or (
            step.call.beside or getattr(following.call, "beside", False)):
        return step
    loop = Step(step.name, call=of(*step.call.arguments))
    loop.alone = step.call
    return loop
