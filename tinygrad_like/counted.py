"""Numbers of Python's that are others in each call of a captured function, such as a count of its steps.

    self.t += 1
    p -= lr / (1 - 0.9**self.t) * m

While such a function is recorded, a place that was seen to change holds a `Number`. What is computed of it is noted,
and computed again before each play; where it meets a Tensor, kernels read an array of that one number. Where Python
looks at it, as in `if self.t % 100 == 0`, the program holds only for calls in which it would see the same.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .autograd import mode
from .dtypes import FLOATS
from .tensor import Tensor, wrap

_PLAIN = int, float, np.integer, np.floating
_MEETS = frozenset("add sub mul div maximum minimum where".split())  # ops for which an array does what a number does


class Number:
    """A number, how it is computed anew, and what Python saw of those that it comes from."""

    __slots__ = ("value", "again", "seen")

    def __init__(self, value: Any, again: Callable[[], Any] | None = None, seen: list | None = None):
        self.value, self.again = value, again or (lambda: self.value)
        self.seen: list[tuple[Callable[[], Any], Any]] = [] if seen is None else seen

    __class__ = property(lambda self: type(self.value))  # type: ignore[assignment]  # for isinstance

    def shown(self, convert: Callable = lambda x: x) -> Any:
        """What it is converted to; a program that knows it holds as long as it is the same."""
        again, value = self.again, convert(self.value)
        self.seen.append((lambda: convert(again()), value))
        return value

    def computed(self, function: Callable, *values: Any) -> Any:
        """function(*values), some of which are Numbers, as a Number."""
        result = function(*map(plain, values))
        return Number(result, lambda: function(*[v.again() if type(v) is Number else v for v in values]), self.seen)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.shown(), dtype)

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and not options and all([isinstance(x, _PLAIN) for x in inputs]):
            return self.computed(function, *inputs)
        return getattr(function, method)(*[x.shown() if type(x) is Number else x for x in inputs], **options)

    def __getattr__(self, name: str) -> Any:
        getattr(self.value, name)  # raises what a number would
        return getattr(self.shown(), name)

    def __reduce__(self) -> tuple:
        return type(self.value), (self.shown(),)

    def __deepcopy__(self, memo: dict) -> Any:
        return self.shown()

    def __format__(self, spec: str) -> str:
        return self.shown(lambda x: format(x, spec))

    def __divmod__(self, other: Any) -> tuple:
        return self.computed(operator.floordiv, self, other), self.computed(operator.mod, self, other)

    def __round__(self, *digits: int) -> Any:
        return self.shown(lambda x: round(x, *digits))


def _arithmetic(function: Callable, swapped: bool = False) -> Callable:
    def operate(self: Number, *others: Any) -> Any:
        if not all([isinstance(x, _PLAIN) for x in others]):
            return NotImplemented
        return self.computed(function, *others, self) if swapped else self.computed(function, self, *others)

    return operate


def _comparison(function: Callable) -> Callable:
    def compare(self: Number, other: Any) -> Any:
        if not isinstance(other, _PLAIN):
            return NotImplemented
        return self.computed(function, self, other).shown()

    return compare


def _conversion(convert: Any) -> Callable:
    return lambda self: self.shown(convert)


for _name in "add sub mul truediv floordiv mod pow".split():
    setattr(Number, f"__{_name}__", _arithmetic(getattr(operator, _name)))
    setattr(Number, f"__r{_name}__", _arithmetic(getattr(operator, _name), swapped=True))
for _name in "neg pos abs".split():
    setattr(Number, f"__{_name}__", _arithmetic(getattr(operator, _name)))
for _name in "lt le gt ge eq ne and or xor lshift rshift rand ror".split():
    _function = getattr(operator, {"and": "and_", "or": "or_", "rand": "and_", "ror": "or_"}.get(_name, _name))
    setattr(Number, f"__{_name}__", _comparison(_function))
for _name, _convert in {"bool": bool, "int": int, "float": float, "index": operator.index, "hash": hash, "repr": repr,
                        "str": str, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil}.items():
    setattr(Number, f"__{_name}__", _conversion(_convert))


_OF_NUMBERS = "sqrt exp expm1 log log1p log2 log10 pow sin cos tan tanh asin acos atan sinh cosh fabs hypot".split()


@contextmanager
def math_follows() -> Iterator[None]:
    """In a `with` block `math.sqrt(x)` and the like give a Number for a Number, of which they would ask a float."""
    def following(function: Callable) -> Callable:
        def call(*values: Any) -> Any:
            number = next((x for x in values if type(x) is Number), None)
            return function(*values) if number is None else number.computed(function, *values)

        return call

    functions = {name: getattr(math, name) for name in _OF_NUMBERS}
    try:
        for name, function in functions.items():
            setattr(math, name, following(function))
        yield
    finally:
        for name, function in functions.items():
            setattr(math, name, function)


def set_before_play(group: dict, name: str, value: Any) -> None:
    """Note that an option of an optimizer is set to a Number: before a play, if nothing was updated before it."""
    tape = mode.tape
    if tape is not None and type(value) is Number and not tape.updates:
        tape.scheduled[id(group)] = group
        tape.log.append((f"{name} of an optimizer",))
        tape.draws.append(lambda: dict.__setitem__(group, name, value.again()))


def plain(value: Any) -> Any:
    """A number as Python's."""
    return value.value if type(value) is Number else value


def shown(value: Any) -> Any:
    return value.shown() if type(value) is Number else value


def inputs_of(op: Any, inputs: Any) -> list:
    """The inputs of an op with Tensors in place of Numbers where that gives the same, else with numbers."""
    dtypes = {x._data.dtype for x in inputs if isinstance(x, Tensor)}
    if mode.tape is None or op.name not in _MEETS or len(dtypes) != 1 or (dtype := dtypes.pop()).kind not in FLOATS:
        return [shown(x) for x in inputs]
    return [wrap(mode.tape.drawn(lambda again=x.again: np.asarray(again(), dtype))) if type(x) is Number else x
            for x in inputs]
