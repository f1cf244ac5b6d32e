"""Numbers of Python's that are others in each call of a captured function, such as a count of its steps.

    self.t += 1
    p -= lr / (1 - 0.9**self.t) * m

While such a function is recorded, a place that was seen to change holds a `Number`. What is computed of it is noted,
and computed again before each play; where it meets a Tensor, kernels read an array of that one number. Where Python
looks at it, as in `if self.t % 100 == 0`, the program holds only for calls in which it would see the same.
"""

from __future__ import annotations

import dis
import math
import operator
from collections import deque
from collections.abc import Callable
from inspect import iscode
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import tinygrad_like.core.tensor as tensor  # `from . import tensor` may give the function

from ..core.graph import mode
from ..dtypes import FLOATS, as_array
from ..errors import user_line
from .proxies import Growing

_PLAIN = int, float, np.integer, np.floating
# Ops for which an array does what a number does, to the bit.
_MEETS = frozenset("add sub mul div maximum minimum where lt le gt ge eq ne".split())
# Ops whose results have the same shape also for another integer.
_OF_ANY = _MEETS | {"pow", "mod", "fmod", "floordiv", "logical_and", "logical_or", "logical_xor", "lshift", "rshift"}
_EXACT = frozenset("type default_rng ldexp Decimal dumps".split())


ERRORS = ArithmeticError, TypeError, ValueError  # of numbers, which the function will raise itself


class Seen(NamedTuple):
    """What Python saw of a number or of a Tensor, how to see it again, and the user's line; or all there is to say."""

    again: Callable[[], Any]
    value: Any
    line: str
    why: str = ""

    def same(self) -> bool:
        """Whether it would see the same now."""
        try:
            return self.again() == self.value
        except ERRORS:
            return False


class Number:
    """A number, how it is computed anew, and what Python saw of those that it comes from."""

    __slots__ = ("value", "again", "seen")

    def __init__(self, value: Any, again: Callable[[], Any] | None = None, seen: list | None = None):
        self.value, self.again = value, again or (lambda: self.value)
        self.seen: list[Seen] = [] if seen is None else seen

    __class__ = property(lambda self: type(self.value))  # type: ignore[assignment]  # for isinstance

    def shown(self, convert: Callable = lambda x: x) -> Any:
        """What it is converted to; a program that knows it holds as long as it is the same, but for a float that is
        asked for anew by what draws. An integer may be a size."""
        again, tape, value = self.again, mode.tape, convert(self.value)
        if tape is None or tape.drawing and not isinstance(value, int):
            return convert(again())
        self.seen.append(Seen(lambda: convert(again()), value, user_line()))
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
        return getattr(function, method)(*map(shown, inputs), **options)

    def __array_function__(self, function: Callable, types: Any, inputs: tuple, options: dict) -> Any:
        if not options and isinstance(function(*map(plain, inputs)), _PLAIN):
            return self.computed(function, *inputs)
        return function(*map(shown, inputs), **{n: shown(x) for n, x in options.items()})

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

    def __rdivmod__(self, other: Any) -> tuple:
        return self.computed(operator.floordiv, other, self), self.computed(operator.mod, other, self)


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


for _name in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split():
    _function = pow if _name == "pow" else getattr(operator, f"__{_name}__")  # also of three numbers
    setattr(Number, f"__{_name}__", _arithmetic(_function))
    setattr(Number, f"__r{_name}__", _arithmetic(_function, swapped=True))
for _name in "neg pos abs invert".split():
    setattr(Number, f"__{_name}__", _arithmetic(getattr(operator, _name)))
for _name, _whole in {"round": round, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil}.items():
    setattr(Number, f"__{_name}__", _arithmetic(_whole))  # type: ignore[arg-type]
for _name in "lt le gt ge eq ne".split():
    setattr(Number, f"__{_name}__", _comparison(getattr(operator, _name)))
for _name, _convert in {"bool": bool, "int": int, "float": float, "index": operator.index, "hash": hash, "repr": repr,
                        "str": str}.items():
    setattr(Number, f"__{_name}__", _conversion(_convert))


def asks_for_numbers(code: Any) -> bool:
    """Whether code may tell a Number from a number: by the type of something, or by functions of C's that take only
    Python's own."""
    names = _EXACT.intersection(code.co_names)
    if names - {"type"} or any([iscode(x) and asks_for_numbers(x) for x in code.co_consts]):
        return True
    if not names:
        return False
    steps = list(dis.get_instructions(code))
    return any([a.opname in ("LOAD_GLOBAL", "LOAD_NAME") and a.argval == "type" and b.argval != "self"
                for a, b in pairwise(steps)])  # not x.type(dtype), nor type(self).__name__


def set_when_played(group: dict, name: str, value: Any) -> None:
    """Note that an option of an optimizer is set to a Number, or a tuple of such."""
    tape = mode.tape
    if tape is None or each(value, plain) is value:
        return

    def put() -> None:
        dict.__setitem__(group, name, each(value, now))

    tape.scheduled[id(group)] = group
    tape.note_python(f"{name} of an optimizer", put)


def plain(value: Any) -> Any:
    """A number as Python's."""
    return value.value if type(value) is Number else value


def shown(value: Any) -> Any:
    return value.shown() if type(value) is Number else value


def followed(value: Any, whole: bool = False) -> Any:
    """A Number as one of Python's floats, or an integer if `whole`, which might be a size or an axis; else what Python
    sees."""
    if type(value) is not Number:
        return value
    if isinstance(value.value, np.floating):
        return value.computed(float, value)
    return value if whole or isinstance(value.value, float) else value.shown()


def now(value: Any) -> Any:
    return value.again() if type(value) is Number else value


def each(value: Any, number: Callable) -> Any:
    """number(value); of a tuple or a list one of number(part), or the very same if no part is changed."""
    if not isinstance(value, tuple) and type(value) is not list:
        return number(value)
    parts = [number(x) for x in value]
    if all([a is b for a, b in zip(parts, value, strict=True)]):
        return value
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def anew(make: Callable[[], Any], *values: Any) -> Any:
    """make(), an array; of Numbers, if they are among the values, one that is made anew whenever the tape is played."""
    tape = mode.tape
    return make() if tape is None or tape.inside or Number not in map(type, values) else tape.drawn(make)


def array_of(data: Any, dtype: Any, who: str) -> np.ndarray:
    """`as_array`; of Numbers, alone or in lists, an array that holds them anew whenever the tape is played."""
    tape, data = mode.tape, _within(data, lambda x: x)
    if tape is None or tape.inside or _within(data, now) is data:
        return as_array(data, dtype, who)
    return tape.drawn(lambda: as_array(_within(data, now), dtype, who))


def _within(data: Any, number: Callable) -> Any:
    """number(x) for each Number in lists and tuples, made anew; anything else, and what has none, itself."""
    if type(data) is Number:
        return number(data)
    if type(data) not in (list, tuple):
        return data
    parts = [_within(x, number) for x in data]
    return parts if any([type(x) is Number or x is not y for x, y in zip(parts, data, strict=True)]) else data


def refreshed(numbers: Any, values: Any) -> bool:
    """Give Numbers, alone or in a tuple, the values that there are now; whether those are like them."""
    if type(numbers) is Number and type(values) is type(numbers.value):
        numbers.value = values
        return True
    if not isinstance(numbers, tuple) or type(values) is not type(numbers) or len(values) != len(numbers):
        return type(numbers) is not Number and numbers == values
    return all([refreshed(*pair) for pair in zip(numbers, values, strict=True)])


def settled(value: Any, seen: set[int]) -> Any:
    """A value with numbers in place of Numbers, and lists in that of `Growing`: tuples are made anew, what lists, dicts
    and objects hold is replaced.

    seen: the ids of those that were, which gets more.
    """
    if type(value) is Number:
        return value.value
    if type(value) is Growing:
        return value.of
    if isinstance(value, tuple):
        return each(value, lambda x: settled(x, seen))
    if getattr(type(value), "keeps_numbers", False):  # a captured function, as an attribute of what it is called on
        return value
    holder = value if isinstance(value, dict | list | deque) else getattr(value, "__dict__", None)
    if isinstance(holder, dict | list | deque) and not isinstance(value, ModuleType) and id(value) not in seen:
        seen.add(id(value))
        for key, part in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if (new := settled(part, seen)) is not part:
                holder[key] = new
    return value


def inputs_of(op: Any, inputs: Any) -> list:
    """The inputs of an op with Tensors in place of Numbers where that gives the same; else those that may follow."""
    met = inputs[op.name == "where":]  # not the condition
    dtypes = {x._data.dtype for x in met if isinstance(x, tensor.Tensor)}
    if mode.tape is None or op.name not in _MEETS or len(dtypes) != 1 or (dtype := dtypes.pop()).kind not in FLOATS:
        return [followed(x, whole=op.name in _OF_ANY) for x in inputs]
    return [tensor.wrap(mode.tape.drawn(lambda again=x.again: np.asarray(again(), dtype))) if type(x) is Number else x
            for x in inputs]
