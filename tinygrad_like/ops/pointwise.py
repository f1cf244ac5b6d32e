"""Elementwise functions: one formula, for Tensors, for arrays, and for compiled code.

    @pointwise
    def silu(x):
        return x * sigmoid(x)

    silu.vjp(x=lambda g, x: g * (sigmoid(x) * (1 + x * (1 - sigmoid(x)))))

They are declared like other ops, but forward and rules are formulas: numbers, operators, numeric options, and helpers
and ops that are formulas themselves. So one function works on Tensors, with derivatives of any order, works on arrays,
and compiles into one pass over a large array. A NumPy function takes one line; inputs broadcast.

    sin = ufunc("sin", "sin x.", lambda x: np.sin(x))
    sin.vjp(x=lambda g, x: g * cos(x))
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from ..core.primitive import P, Primitive, fresh
from ..rings import replaceable
from .on_arrays import on_arrays


class Pointwise(Primitive[P]):
    """An op whose forward and rules are formulas; its options are numbers."""

    def __init__(self, formula: Callable[P, object]):
        super().__init__(formula)
        self.name = self.name.lstrip("_")
        self.forward = replaceable(on_arrays(formula), self.name, formula=formula, options=self.options)

    def vjp(self, **rules: Callable) -> None:
        super().vjp(**{x: self._differentiable(rule) for x, rule in rules.items()})

    def of_arrays(self, rule: Any) -> Any:
        return rule.of_arrays

    def _differentiable(self, formula: Callable) -> Callable:
        of_arrays = replaceable(on_arrays(formula), f"{self.name}_vjp", formula=formula, options=self.options)

        def rule(g, *saved):
            return of_arrays(g, *saved) if isinstance(g, np.ndarray | np.generic) else formula(g, *saved)

        rule.of_arrays = of_arrays  # type: ignore[attr-defined]
        return fresh(update_wrapper(rule, formula))


pointwise = Pointwise


# Functions of NumPy ---------------------------------------------------------------------------------------------------


class Ufunc(Primitive[P]):
    """An op made from a function of arrays. Its rules are formulas, which faster functions such as `mul_vjp` may
    replace."""

    large: tuple[int, dict[int, Callable]] = 0, {}  # (size, rules): from this size on, these rules apply
    compiled: dict[Callable, Callable] = {}  # rule -> its replacement; for small arrays, the rule on arrays

    def vjp(self, **rules: Callable) -> None:
        made = {x: rule for x, rule in rules.items() if rule.__code__.co_code != _passes.__code__.co_code}
        found = {x: replaceable(on_arrays(rule), f"{self.name}_vjp", formula=rule) for x, rule in made.items()}
        least = [f.least for f in found.values() if hasattr(f, "least")]
        if least:
            if len(made) == len(rules):
                rules = {x: fresh(rule) for x, rule in rules.items()}
            self.compiled = {rule: found[x] for x, rule in made.items()}
            self.large = least[0], {self.inputs.index(x): f for x, f in found.items()}
        super().vjp(**rules)

    def of_arrays(self, rule: Callable) -> Callable:
        """The rule on arrays. If the rule calls functions, whose compiled versions differ from NumPy's in the last
        bits, its replacement. Plain arithmetic has equal results, and in a captured function NumPy's operators become
        loops."""
        called = [n for n in rule.__code__.co_names if callable(rule.__globals__.get(n)) and n not in _EXACT]
        return self.compiled.get(rule) or on_arrays(rule) if called else on_arrays(rule)


_EXACT = frozenset({"sign", "where"})


def _passes(g):
    return g


def ufunc(name: str, meaning: str, function: Callable[P, Any]) -> Primitive[P]:
    """Make an op from a function of arrays; `meaning` is its docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return Ufunc(replaceable(function, formula=function))
