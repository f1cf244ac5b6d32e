"""Steps of optimizers on float32 or float64 parameters, in place and in one pass over memory.

Each kernel is generated from the formula of its optimizer, the method `update` in `optim`. That is written in NumPy,
where every operation makes a pass over memory. So `update` runs once on names in place of arrays and numbers, and its
arithmetic is recorded as a loop; terms of numbers alone are computed before it, in float64. One call updates all
parameters: starting threads for each would often take longer than its update, and an interrupt could come in between.

A row of a `Table` has the arrays of a parameter: x, its gradient, its state in the order of the optimizer's
`state_names`, its count of steps or None, and the numbers of its group: lr, then the options in order, a pair as two
numbers, False as 0.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from textwrap import indent
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..dtypes import FLOAT32, FLOAT64
from ..transforms.codegen import define
from .kinds import WRITE, Rows, Table
from .program import Kernel, kernel, run
from .registry import makers
from .simd import inner
from .vectormath import maximum
from .views import count_of, data_of, floats_at, integer_at, integers_at, real_at, reals_at

_COST = 0.18  # nanoseconds per element
_TEXTS = {np.add: "{} + {}", np.subtract: "{} - {}", np.multiply: "{} * {}", np.divide: "{} / {}",
          np.power: "{} ** {}", np.negative: "-{}", np.sqrt: "np.sqrt({})", np.abs: "abs({})",
          np.maximum: "maximum({}, {})"}
_NAMES = {"np": np, "maximum": maximum, "data_of": data_of, "integer_at": integer_at, "real_at": real_at}


@inner
def _work(table):
    """Nanoseconds of an update."""
    count = 0
    for row in table:
        count += count_of(row[0])
    return int(count * _COST)


def _share(at: Callable, size: int) -> Callable:
    """The function for a task's part of the array at an address; empty if there is none. size: of a number, in bytes"""

    @inner
    def share(array, task, tasks):
        n = count_of(array) if array else 0
        first, last = task * n // tasks, (task + 1) * n // tasks
        return at((data_of(array) if array else 0) + size * first, last - first)

    return share


_OF_DTYPE: dict[np.dtype, dict[str, Any]] = {
    FLOAT32: {"F": np.float32, "share": _share(floats_at, 4)},
    FLOAT64: {"F": np.float64, "share": _share(reals_at, 8)},
}


def _counter(dtype: np.dtype) -> Kernel:
    """The kernel that counts a step: the optimizer's count, and that of each row."""

    def count(table, count, task, tasks):
        count[0] += 1
        for row in table:
            if row[-2]:
                step = integers_at(data_of(row[-2]), 1)
                step[0] += 1

    count.__name__ = f"count_{dtype}"
    return kernel(table=Rows(dtype), count=WRITE.of(np.int64), cost=0, tasks=1)(count)


_COUNTERS = {dtype: _counter(dtype) for dtype in _OF_DTYPE}


class _Undecided(Exception):
    """A formula asks whether a number is 0."""


class _Name(NDArrayOperatorsMixin):
    """A number or an array's element, by its name in generated code; arithmetic with it adds to that code."""

    def __init__(self, code: _Code, text: str, element: bool = False):
        self.code, self.text, self.element = code, text, element

    def __bool__(self) -> bool:
        if self.element:
            raise TypeError("a kernel does the same to all elements")
        if self.text not in self.code.known:
            raise _Undecided(self.text)
        return self.code.known[self.text]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (None,)) -> _Name:
        made = self.code.apply(ufunc, inputs)
        if out[0] is None:
            return made
        out[0].text = made.text
        return out[0]


class _Code:
    """The loop of an optimizer's formula, given which numbers are 0.

    numbers: names of the values computed before the loop, shared by all of a formula's loops.
    """

    def __init__(self, kind: Any, options: dict[str, list[str]], numbers: dict[str, str], known: dict[str, bool]):
        self.known, self.numbers, self.elements = known, numbers, dict[str, str]()
        given: dict[str, Any] = {name: [_Name(self, part) for part in parts] if len(parts) > 1 else _Name(self, name)
                                 for name, parts in options.items()}
        x, g = _Name(self, "x[i]", True), _Name(self, "g[i]", True)
        if given.pop("maximize", None) is not None:
            g = _Name(self, "sign") * g
        arrays = {name: _Name(self, name if name == "step" else f"{name}[i]", name != "step")
                  for name in kind.state_names}
        state = dict(arrays)
        kind.__new__(kind).update(x, g, state, **given)
        self.stores = {"x[i]": x.text, **{f"{name}[i]": state[name].text for name in arrays if name != "step"}}

    def apply(self, ufunc: Any, inputs: tuple) -> _Name:
        """A name for the result of a NumPy function."""
        of_elements = [type(x) is _Name and x.element for x in inputs]
        if ufunc is np.divide and of_elements == [True, False]:  # a product takes less time than a quotient
            ufunc, inputs = np.multiply, (inputs[0], 1 / inputs[1])
        texts = [x.text if type(x) is _Name else repr(float(x)) for x in inputs]
        if not any(of_elements):
            return _Name(self, f"({_TEXTS[ufunc].format(*texts)})")
        texts = [text if one else self.numbers.setdefault(f"F({text})", f"n{len(self.numbers)}")
                 for text, one in zip(texts, of_elements, strict=True)]
        return _Name(self, self.elements.setdefault(_TEXTS[ufunc].format(*texts), f"e{len(self.elements)}"), True)

    def __str__(self) -> str:
        lines = [f"{name} = {text}\n" for text, name in self.elements.items()]
        lines += [f"{to} = {text}\n" for to, text in self.stores.items() if to != text]
        return "for i in range(x.size):\n" + indent("".join(lines), "    ")


def _loops(kind: Any, options: dict[str, list[str]], numbers: dict[str, str], known: dict[str, bool]) -> str:
    """The loops of a formula, one for each case that it distinguishes."""
    try:
        return str(_Code(kind, options, numbers, known))
    except _Undecided as asked:
        name, = asked.args
        cases = [indent(_loops(kind, options, numbers, {**known, name: found}), "    ") for found in (True, False)]
        needed = [f" and {array}.size != 0" for array, option in kind.state_names.items() if option == name]
        return f"if {name} != 0{''.join(needed)}:\n{cases[0]}else:\n{cases[1]}"


def _kernel_of(kind: Any, dtype: np.dtype) -> Kernel:
    """The kernel of an optimizer for parameters of this dtype.

    Raises AttributeError or TypeError if the formula is not elementwise.
    """
    options = {name: [f"{name}_{i}" for i in range(len(p.default))] if type(p.default) is tuple else [name]
               for name, p in inspect.signature(kind.__init__).parameters.items() if name not in ("self", "params")}
    numbers: dict[str, str] = {}
    loops = _loops(kind, options, numbers, {})
    parts = [part for parts in options.values() for part in parts]
    arrays = ["x", "g", *[name for name in kind.state_names if name != "step"]]
    lines = ["numbers = data_of(row[-1])\n", *[f"{part} = real_at(numbers, {i})\n" for i, part in enumerate(parts)]]
    lines += [f"{array} = share(row[{i}], task, tasks)\n" for i, array in enumerate(arrays)]
    lines += ["sign = 1.0 if maximize == 0 else -1.0\n"] * ("maximize" in parts)
    lines += ["step = integer_at(data_of(row[-2]), 0) + 1\n"] * any("step" in text for text in numbers)
    lines += [f"{name} = {text}\n" for text, name in numbers.items()]
    text = "(table, task, tasks):\n    for row in table:\n" + indent("".join(lines) + loops, " " * 8)
    # The hash in its name ties compiled code on disk to this text.
    name = f"{kind.__name__.lower()}_{hashlib.sha256(text.encode()).hexdigest()[:12]}_{dtype}"
    body = define(name, f"def {name}{text}", __file__, {**_NAMES, **_OF_DTYPE[dtype], "__name__": __name__})
    made = kernel(table=Rows(dtype), work=_work, tasks=1, fastmath={"contract"})(body)
    made.name = kind.__name__.lower()
    return made


@lru_cache
def fused_update(formula: Callable, dtype: np.dtype) -> tuple[Callable, Callable] | None:
    """The function that makes tables of rows, and the function of such a table and the step count that applies a
    formula of `optim` to all rows and counts the step; None if there is no kernel."""
    name, _, method = formula.__qualname__.partition(".")
    if method != "update" or dtype not in _OF_DTYPE or formula.__module__.split(".")[-2:-1] != ["optim"]:
        return None
    try:
        update = _kernel_of(getattr(sys.modules[formula.__module__], name), dtype)
        return partial(Table, dtype=dtype), partial(step, update)
    except (AttributeError, TypeError):
        return None


def step(update: Kernel, table: Table, count: np.ndarray) -> None:
    """Update all rows of a table, and count the step.

    No interrupt comes between the two: threads are woken before, if necessary.
    """
    first, last, count_rows = (table,), (table, count), _COUNTERS[table.dtype]
    run([(update, update.pack(*first), first), (count_rows, count_rows.pack(*last), last)])


makers.append(lambda: [fused_update(kind.update, FLOAT32) for kind in vars(import_module("optim")).values()
                       if isinstance(kind, type) and hasattr(kind, "update")])
