"""Compile a rule written in ops to a function of arrays that calls the ops' forwards, which skips the cost of op
calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, update_wrapper
from types import CodeType, FunctionType
from typing import Any

from ..core.primitive import Primitive
from .composite import Composite


def on_arrays(value: Any, made: dict | None = None) -> Any:
    """A copy of a function written in ops that calls the forward of each op instead, which is faster.

    It looks up the ops, and functions of their modules, now: they have no state. An op whose forward returns more than
    arrays stays as it is.
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
    """The names, globals among them, that a function and its inner functions use."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def array_rules(op: Any) -> dict[int, tuple[Callable, list[int]]]:
    """The rules of one of our ops, as functions of arrays."""
    return {i: (op.of_arrays(rule), uses) for i, (rule, uses) in op.rules.items()} if op.ours else op.rules


kept = cached_property(array_rules)
kept.__set_name__(Primitive, "array_rules")
Primitive.array_rules, Primitive.of_arrays = kept, lambda self, rule: rule  # type: ignore[attr-defined]
