"""Compile elementwise kernels from formulas, as `ops/pointwise.py` declares them.

A formula is a Python function written in ops. Here the same function is compiled for float32 numbers: its ops become
functions of `vectormath`, a helper that it calls becomes a formula, and its constants become float32, since one double
would widen the whole expression. A loop over the result vectorises.
"""

import hashlib
import inspect
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import BOOL, FLOAT32
from ..transforms.codegen import define
from .copies import across, copied
from .kinds import READ, REAL, STRIDED, STRIDED_WRITE, WRITE
from .late import Function, njit, types
from .loops import FORMULAS
from .matrix import length_of, step_of
from .program import Kernel, kernel
from .simd import inner
from .vectormath import ARITHMETIC, FUNCTIONS, SCALAR, F, where
from .views import count_of, data_of, floats_at, is_contiguous, ndim_of

_NONE = 0.0, 0.0
_MANY = 4096  # elements that are worth a copy
_PIECE = 1024  # elements of a row that are copied at a time


class Formula:
    """A formula, and `scalar`, its code for single float32 arguments."""

    def __init__(self, formula: Callable, name: str):
        self.name = name
        self.parts: list[Any] = []  # names of vectormath's functions, bytecode, constants
        self.scalar = self._compiled(formula)
        self.digest = hashlib.sha256(repr(self.parts).encode()).hexdigest()[:12]
        self.cost = 0.18 if any(type(part) is str and part not in ARITHMETIC for part in self.parts) else 0.06
        self.key = f"{name} {self.digest}"
        FORMULAS[self.key] = self

    @cached_property
    def code(self) -> tuple[str, str]:
        """The name of the compiled function, and the LLVM assembly that defines it."""
        kind = (types.float32,) * len(inspect.signature(self.scalar.py_func).parameters)
        self.scalar.compile(kind)
        compiled = self.scalar.overloads[kind]
        return compiled.fndesc.llvm_func_name, compiled.library.get_llvm_str()

    def _compiled(self, value: Any) -> Any:
        """An op, a helper, a constant or the formula itself, in its compiled form."""
        if isinstance(value, int | float):
            self.parts.append(value)
            return F(value)
        name, formula = value.__name__, inspect.unwrap(value)
        if name in FUNCTIONS or isinstance(value, Function):
            self.parts.append(name)
            return value if isinstance(value, Function) else FUNCTIONS[name]
        code = formula.__code__
        self.parts.append((code.co_code, code.co_consts, code.co_names))
        names = {n: self._compiled(formula.__globals__[n]) for n in code.co_names if n in formula.__globals__}
        return Function(formula, {"names": names, **SCALAR})

    def named(self, function: Callable) -> Callable:
        """The function, with a hash of the parts in its name: names must be unique on disk, and among the code of all
        kernels."""
        function.__name__ = function.__qualname__ = f"{self.name}_{function.__name__}_{self.digest}"
        return function

    def kernel(self, body: Callable, work: Callable, **kinds: Any) -> Kernel:
        made = kernel(work=inner(self.named(work)), **kinds)(self.named(body))
        made.name = self.name.replace("_", " ")
        return made


# --- Loops over arrays of any strides, which broadcast to the result --------------------------------------------------


@inner
def broadcasts(x, y):
    for axis in range(1, ndim_of(x) + 1):
        if length_of(x, axis) != length_of(y, axis) and length_of(x, axis) != 1:
            return False
    return ndim_of(x) <= ndim_of(y)


class _Run(NamedTuple):
    """Adjacent axes of y that each array traverses with one stride. axes: how many of y's last axes end with them; n:
    their number of elements; a, b, c: the arrays' strides in bytes, 0 where a number repeats."""

    axes: int
    n: int
    a: int
    b: int
    c: int


@inner
def run_of(a, b, c, y, axes):
    """The longest run of axes that starts after the last `axes` axes."""
    n, i, j, k = 1, 0, 0, 0
    for axis in range(axes + 1, ndim_of(y) + 1):
        size = length_of(y, axis)
        if n == 1:
            i, j, k = step_of(a, axis), step_of(b, axis), step_of(c, axis)
        elif size > 1 and not (step_of(a, axis) == n * i and step_of(b, axis) == n * j and step_of(c, axis) == n * k):
            break
        axes, n = axis, n * size
    return _Run(axes, n, i, j, k)


@inner
def start_of(x, y, axes, index):
    """The address in x of part number `index` of y, a part being y's last `axes` axes."""
    address = data_of(x)
    for axis in range(axes + 1, ndim_of(y) + 1):
        address += index % length_of(y, axis) * step_of(x, axis)
        index //= length_of(y, axis)
    return address


@inner
def _contiguous(address, step, n, buffer, again):
    """The address of n contiguous elements: those `step` bytes apart if they are, or copies in a buffer. again: the
    buffer already holds at least as many of the same row."""
    if step == 4:
        return address
    if step == 0 and again:
        return buffer
    copies = floats_at(buffer, n)
    if step == 0:
        copies[:] = floats_at(address, 1)[0]
    else:
        for i in range(n):
            copies[i] = floats_at(address + i * step, 1)[0]
    return buffer


def _filled(f: Formula, scalar: Callable) -> Callable:
    """out[i] = scalar(a[i], b[i], c[i], p, q), for all i."""

    @inner
    @f.named
    def fill(a, b, c, p, q, out):
        for i in range(out.size):
            out[i] = scalar(a[i], b[i], c[i], p, q)

    return fill


def _loop(f: Formula, fill: Callable, arrays: int) -> Kernel:
    """y = formula(a, b, c, p, q), element by element; only the first `arrays` of a, b and c count."""
    cost = f.cost

    def each(a, b, c, p, q, y, task, tasks):
        p, q, run = F(p), F(q), run_of(a, b, c, y, 0)
        rows, left, right = run_of(a, b, c, y, run.axes), 0, run.n
        row, end = 0, count_of(y) // max(run.n, 1)
        if end >= tasks:
            row, end = task * end // tasks, (task + 1) * end // tasks
        else:
            left, right = task * right // tasks, (task + 1) * right // tasks
        even = run.a == run.b == run.c == 4
        length = max(right - left, 1) if even else _PIECE
        copies = np.empty(0 if even else arrays * _PIECE, np.float32)
        while row < end:
            index, first = row // rows.n, row % rows.n
            at_a, at_b = start_of(a, y, rows.axes, index), start_of(b, y, rows.axes, index)
            at_c = start_of(c, y, rows.axes, index)
            for k in range(first, min(rows.n, first + end - row)):
                for i in range(left, right, length):
                    n, at, again = min(length, right - i), copies.ctypes.data, i > left
                    x0 = x1 = x2 = floats_at(_contiguous(at_a + k * rows.a + i * run.a, run.a, n, at, again), n)
                    if arrays > 1:
                        at_x1 = _contiguous(at_b + k * rows.b + i * run.b, run.b, n, at + 4 * _PIECE, again)
                        x1 = floats_at(at_x1, n)
                    if arrays > 2:
                        at_x2 = _contiguous(at_c + k * rows.c + i * run.c, run.c, n, at + 8 * _PIECE, again)
                        x2 = floats_at(at_x2, n)
                    out = floats_at(data_of(y) + 4 * (row * run.n + i), n)
                    fill(x0, x1, x2, p, q, out)
                row += 1

    def work(a, b, c, p, q, y):
        fit = broadcasts(a, y) and broadcasts(b, y) and broadcasts(c, y) and is_contiguous(y)
        return int(count_of(y) * cost) if fit else -1

    return f.kernel(each, work, a=STRIDED, b=STRIDED, c=STRIDED, p=REAL, q=REAL, y=STRIDED_WRITE)


def pointwise(formula: Callable, name: str, numbers: Collection[str] = ()) -> Any:
    """The function that computes y = formula(a), formula(a, b) or formula(a, b, c) elementwise, of float32 arrays or
    numbers, which broadcast; at most two more arguments, the `numbers`, are the same for all elements. Its attribute
    `each` is the kernel, which always takes three arrays and two numbers.

    The function returns NotImplemented for other arguments.
    """
    f, signature = Formula(formula, name), inspect.signature(formula).parameters
    named = [n for n in signature if n in numbers]
    arrays = len(signature) - len(named)
    given = ", ".join([*"abc"[:arrays], *"pq"[: len(named)]])
    text = f"def scalar(a, b, c, p, q): return f({given})"
    scalar = njit(**SCALAR)(define("scalar", text, "<scalar>", {"f": f.scalar, "__name__": __name__}))
    each = _loop(f, _filled(f, scalar), arrays)
    each.formula = f.key, arrays, len(named)

    def of_one(x, **options):
        y = np.empty(x.shape, FLOAT32)
        values = [float(options.get(n, signature[n].default)) for n in named] if named else _NONE
        each(x, x, x, values[0], values[-1], y)  # a second number counts only if there is one
        return y

    def of_two(a, b, p=0.0, q=0.0):
        if type(a) is np.ndarray is type(b) and a.dtype is FLOAT32 is b.dtype and a.shape == b.shape:
            y = np.empty(a.shape, FLOAT32)
            each(a, b, a, float(p), float(q), y)
            return y
        return of_several(a, b, a, p, q)

    def of_several(a, b, c, p=0.0, q=0.0):
        a, b, c = _operand(a), _operand(b), _operand(c)
        if a is None or b is None or c is None:
            return NotImplemented
        try:
            shape = np.broadcast(a, b, c).shape
        except ValueError:
            return NotImplemented
        y = np.empty(shape, FLOAT32)
        each(a, b, c, float(p), float(q), y)
        return y

    in_c_order = (of_one, of_two, of_several)[arrays - 1]

    def run(a, *others, **options):
        if (type(a) is not np.ndarray or a.flags.c_contiguous) and (not others or all(
                [type(x) is not np.ndarray or x.flags.c_contiguous for x in others])):
            return in_c_order(a, *others, **options)
        return in_c_order(_in_rows(a), *map(_in_rows, others), **options)

    run.each = each  # type: ignore[attr-defined]
    return run


def _in_rows(x: Any) -> Any:
    """x, or a copy with contiguous rows."""
    return copied(x) if type(x) is np.ndarray and x.size >= _MANY and x.dtype is FLOAT32 and across(x) else x


def _operand(x: Any) -> np.ndarray | None:
    if type(x) is np.ndarray:
        return x if x.dtype is FLOAT32 else None
    return np.array(x, FLOAT32) if type(x) in (float, int) else None


# --- Arithmetic, on all threads ---------------------------------------------------------------------------------------

add = pointwise(lambda a, b: a + b, "add")
sub = pointwise(lambda a, b: a - b, "sub")
mul = pointwise(lambda a, b: a * b, "mul")
div = pointwise(lambda a, b: a / b, "div")
logaddexp = pointwise(FUNCTIONS["logaddexp"], "logaddexp")
_where = pointwise(lambda condition, a, b: where(condition != 0, a, b), "where")


def select(like: np.ndarray, condition: np.ndarray, a, b) -> np.ndarray:
    """np.where(condition, a, b), for float32 numbers and arrays."""
    if type(condition) is not np.ndarray or condition.dtype is not BOOL:
        return NotImplemented
    return _where(condition.astype(FLOAT32), a, b)


@kernel(total=WRITE, b=READ, cost=0.06)
def _accumulate(total, b, task, tasks):
    first, last = task * total.size // tasks, (task + 1) * total.size // tasks
    total, b = total[first:last], b[first:last]
    for i in range(total.size):
        total[i] += b[i]


def accumulate(total: np.ndarray, b: np.ndarray) -> np.ndarray:
    """total += b, of one shape."""
    if type(b) is not np.ndarray or b.dtype is not FLOAT32 or b.shape != total.shape or not total.flags.c_contiguous:
        return NotImplemented
    _accumulate(total, b)
    return total
