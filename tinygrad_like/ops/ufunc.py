"""Functions of NumPy's as ops, a line each. They work element by element, and inputs broadcast.

    sin = ufunc("sin", "sin x.", lambda x: np.sin(x))
    sin.vjp(x=lambda g, x: g * cos(x))
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.primitive import Primitive, fresh
from ..kernels import ACCELERATED, accelerated, accelerated_arithmetic
from .on_arrays import on_arrays


class Ufunc(Primitive):
    """An op of a function of arrays. Its rules are formulas, if the list of kernels names one: `mul_vjp`."""

    large: tuple[int, dict[int, Callable]] = 0, {}  # from how many numbers on other rules are taken, and which
    compiled: dict[Callable, Callable] = {}  # by the rules; for few numbers they are the rules on arrays

    def vjp(self, **rules: Callable) -> None:
        name = f"{self.name}_vjp"
        if name in ACCELERATED:
            made = {x: rule for x, rule in rules.items() if rule.__code__.co_code != _passes.__code__.co_code}
            if len(made) == len(rules):
                rules = {x: fresh(rule) for x, rule in rules.items()}
            self.compiled = {rule: _for_large(rule, name) for rule in made.values()}
            self.large = ACCELERATED[name][1], {self.inputs.index(x): self.compiled[rule] for x, rule in made.items()}
        super().vjp(**rules)

    def of_arrays(self, rule: Callable) -> Callable:
        """The rule on arrays; with its kernel, if that calls functions whose results have other last bits than NumPy's.
        Of arithmetic alone they are the same, and in a captured function NumPy's operators become loops."""
        called = [n for n in rule.__code__.co_names if callable(rule.__globals__.get(n)) and n not in _EXACT]
        return self.compiled.get(rule, super().of_arrays(rule)) if called else super().of_arrays(rule)


_EXACT = frozenset({"sign", "where"})


def _passes(g):
    return g


def _for_large(rule: Callable, name: str) -> Callable:
    return accelerated(on_arrays(rule), name, made=lambda home: home.pointwise(rule, name))


def ufunc(name: str, meaning: str, function: Callable) -> Primitive:
    """The op that does what a function of arrays does; `meaning` is its docstring. A kernel of that name is used."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    if name not in ACCELERATED:
        return Ufunc(function)
    if function.__code__.co_argcount == 2:
        return Ufunc(accelerated_arithmetic(function))
    return Ufunc(accelerated(function, made=lambda home: home.pointwise(function, name)))
