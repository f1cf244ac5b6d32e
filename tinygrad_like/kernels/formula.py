"""Kernels made of formulas: of functions of each number by itself, as `ops/pointwise.py` declares them.

A formula is a Python function written in ops. Here the same function is compiled for float32 numbers: the ops that it
names are the functions of `vectormath`, a helper that it calls is a formula too, and its constants are float32, since
one double would widen the whole expression. A loop over that vectorises.
"""

import hashlib
import inspect
from collections.abc import Callable, Collection
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit

from ..dtypes import FLOAT32
from .program import READ, REAL, REALS, WRITE, Kernel, in_order, kernel, together
from .simd import inner
from .vectormath import ARITHMETIC, FUNCTIONS, INNER, SCALAR, F

_PIECE, _BLOCK = 1024, 4096  # numbers added up in float32, in many lanes; and in float64, by one task
_adding = njit(fastmath={"reassoc", "contract"}, **INNER)


class Formula:
    """A formula for one float32: `scalar`, compiled code of the same arguments."""

    def __init__(self, formula: Callable, name: str):
        self.name = name
        self.parts: list[Any] = []  # what the code is made of: names of vectormath's functions, bytecode, constants
        self.scalar = self._compiled(formula)
        functions = FUNCTIONS.keys() - ARITHMETIC
        self.digest = hashlib.sha256(repr(self.parts).encode()).hexdigest()[:12]
        self.cost = 0.18 if any(type(part) is str and part in functions for part in self.parts) else 0.06

    def _compiled(self, value: Any) -> Any:
        """An op, a helper, a constant or the formula itself, as compiled code has it."""
        if isinstance(value, int | float):
            self.parts.append(value)
            return F(value)
        name, formula = value.__name__, inspect.unwrap(value)
        if name in FUNCTIONS:
            self.parts.append(name)
            return FUNCTIONS[name]
        code = formula.__code__
        self.parts.append((code.co_code, code.co_consts, code.co_names))
        names = {n: self._compiled(formula.__globals__[n]) for n in code.co_names if n in formula.__globals__}
        constants = tuple([F(c) if type(c) in (int, float) else c for c in code.co_consts])
        return njit(**SCALAR)(FunctionType(code.replace(co_consts=constants), {"__name__": __name__, **names}, name))

    def named(self, function: Callable) -> Callable:
        """The function, under a name that says what it was made of: under it compiled code is kept on disk, and found
        among other kernels' code, where each name must mean one thing."""
        function.__name__ = function.__qualname__ = f"{self.name}_{function.__name__}_{self.digest}"
        return function

    def kernel(self, body: Callable, work: Callable, **kinds: Any) -> Kernel:
        made = kernel(work=inner(self.named(work)), **kinds)(self.named(body))
        made.name = self.name.replace("_", " ")
        return made


def pointwise(formula: Callable, name: str, numbers: Collection[str] = ()) -> Callable:
    """y[i] = formula(a[i]), or formula(a[i], b[i]), as a function of float32 arrays; after them there may be
    an argument that is the same for all i, which is one of `numbers`.

    It returns NotImplemented if b is not as a is.
    """
    f, signature = Formula(formula, name), inspect.signature(formula).parameters
    number = next((n for n in signature if n in numbers), "")
    binary, cost = len(signature) - bool(number) == 2, f.cost
    call = f"lambda a, b, p: f(a{', b' if binary else ''}{', p' if number else ''})"
    scalar = njit(**SCALAR)(eval(call, {"f": f.scalar, "__name__": __name__}))

    def each(a, b, p, y, task, tasks):
        first, last = task * y.size // tasks, (task + 1) * y.size // tasks
        a, b, p, y = a[first:last], b[first:last], F(p), y[first:last]
        for i in range(y.size):
            y[i] = scalar(a[i], b[i], p)

    def work(a, b, p, y):
        return int(y.size * cost) if a.size == b.size == y.size else -1

    each = f.kernel(each, work, a=READ, b=READ, p=REAL, y=WRITE)

    def of_one(x):
        y = np.empty(x.shape, FLOAT32)
        x = in_order(x)
        each(x, x, 0.0, y)
        return y

    def of_one_with_number(x, **options):
        y = np.empty(x.shape, FLOAT32)
        x = in_order(x)
        each(x, x, float(options.get(number, signature[number].default)), y)
        return y

    def of_two(a, b, p=0.0):
        if type(b) is not np.ndarray or b.dtype is not FLOAT32 or b.shape != a.shape:
            return NotImplemented
        y = np.empty(a.shape, FLOAT32)
        each(in_order(a), in_order(b), float(p), y)
        return y

    return of_two if binary else of_one_with_number if number else of_one


# --- Losses: the sum of a formula of two arrays, and its VJP ----------------------------------------------------------


@inner
def _write_sum(partial, scale, y):
    total = 0.0
    for part in partial:
        total += part
    y[0] = total * scale


@kernel(partial=REALS, scale=REAL, y=WRITE, tasks=1)
def _add_up(partial, scale, y, task, tasks):
    if task == 0:
        _write_sum(partial, scale, y)


def loss(formula: Callable, name: str) -> Callable:
    """sum_i formula(a[i], b[i]), or the mean, or, if reduction is "none", all of them, as a function of two arrays."""
    f, each = Formula(formula, name), pointwise(formula, name)
    scalar, cost = f.scalar, f.cost

    @_adding
    @f.named
    def add(a, b):
        total = F(0)
        for i in range(a.size):
            total += scalar(a[i], b[i])
        return total

    def sums(a, b, partial, scale, y, task, tasks):
        for block in range(task * partial.size // tasks, (task + 1) * partial.size // tasks):
            total, end = 0.0, min((block + 1) * _BLOCK, a.size)
            for first in range(block * _BLOCK, end, _PIECE):
                last = min(first + _PIECE, end)
                total += add(a[first:last], b[first:last])
            partial[block] = total
        if partial.size == 1 and task == tasks - 1:  # whose task it was
            _write_sum(partial, scale, y)

    def work(a, b, partial, scale, y):
        return int(a.size * cost) if a.size == b.size <= partial.size * _BLOCK else -1

    sums = f.kernel(sums, work, a=READ, b=READ, partial=REALS._replace(writes=True), scale=REAL, y=WRITE)

    def run(a, b, reduction):
        if type(b) is not np.ndarray or b.dtype is not FLOAT32:
            return NotImplemented
        if reduction == "none":
            return each(a, b)
        partial, y = np.empty(-(-a.size // _BLOCK)), np.empty((), FLOAT32)
        scale = 1 / a.size if reduction == "mean" else 1.0
        if partial.size == 1:
            sums(a, b, partial, scale, y)
        else:
            with together():
                sums(a, b, partial, scale, y)
                _add_up(partial, scale, y)
        return y

    return run


def loss_vjp(formula: Callable, name: str) -> Callable:
    """y[i] = formula(g[i], a[i], b[i]), as a function of a, b, g and the reduction: if there was one, g is one number,
    which for a mean is divided by how many there are of a."""
    f = Formula(formula, name)
    scalar, cost = f.scalar, f.cost

    def each(g, a, b, scale, y, task, tasks):
        first, last = task * y.size // tasks, (task + 1) * y.size // tasks
        a, b, y = a[first:last], b[first:last], y[first:last]
        if g.size == 1:
            factor = F(g[0] * scale)
            for i in range(y.size):
                y[i] = scalar(factor, a[i], b[i])
        else:
            g = g[first:last]
            for i in range(y.size):
                y[i] = scalar(g[i], a[i], b[i])

    def work(g, a, b, scale, y):
        return int(y.size * cost) if a.size == b.size == y.size and (g.size == 1 or g.size == y.size) else -1

    each = f.kernel(each, work, g=READ, a=READ, b=READ, scale=REAL, y=WRITE)

    def run(a, b, g, reduction):
        if type(b) is not np.ndarray or b.dtype is not FLOAT32 or g.dtype is not FLOAT32:
            return NotImplemented
        y = np.empty(a.shape, FLOAT32)
        each(np.asarray(g), a, b, 1 / a.size if reduction == "mean" else 1.0, y)
        return y

    return run
