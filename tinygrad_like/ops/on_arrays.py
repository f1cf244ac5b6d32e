"""A rule written in ops, as a function of arrays that calls the forwards of those ops: to call an op takes longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, update_wrapper
from types import CodeType, FunctionType
from typing import Any

from ..core.primitive import Primitive
from .composite import Composite


def on_arrays(value: Any, made: dict | None = None) -> Any:
    """A function written in ops, which names the forward of each op in its place: to call an op takes longer.

    The ops, and functions of their modules, are looked up now: they have no state. An op whose forward gives more than
    arrays stays itself.
    """
    if isinstance(value, Primitive):
        known = {*value.inputs, *value.options, "out", *[f"{name}_shape" for name in value.inputs]}
        return value.forward if isinstance(value, Composite) or known.issuperset(value.saved) else value
    if not isinstance(value, FunctionType) or value.__closure__:
        return value
    if made is None:
        made = {}
    elif value in made or not value.__module__.startswith(__package__):
        return made.get(value, value)
    names = dict(value.__globals__)
    function = made[value] = FunctionType(value.__code__, names, value.__name__, value.__defaults__)
    function.__kwdefaults__ = value.__kwdefaults__
    for name in _names(value.__code__):
        if isinstance(names.get(name), Primitive | FunctionType):
            names[name] = on_arrays(names[name], made)
    return update_wrapper(function, value)


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function and those inside it use, global ones among them."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def array_rules(op: Any) -> dict[int, tuple[Callable, list[int]]]:
    """The rules of an op of ours as they run on arrays."""
    return {i: (op.of_arrays(rule), uses) for i, (rule, uses) in op.rules.items()} if op.ours else op.rules


kept = cached_property(array_rules)
kept.__set_name__(Primitive, "array_rules")
Primitive.array_rules, Primitive.of_arrays = kept, lambda self, rule: rule  # type: ignore[attr-defined]
