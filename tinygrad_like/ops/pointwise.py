"""Elementwise functions: one formula, for Tensors, for arrays, and for compiled code.

    @pointwise
    def silu(x):
        return x * sigmoid(x)

    silu.vjp(x=lambda g, x: g * (sigmoid(x) * (1 + x * (1 - sigmoid(x)))))

They are declared like other ops, but forward and rules are formulas: numbers, operators, numeric options, and helpers
and ops that are formulas themselves. So one function works on Tensors, with derivatives of any order, works on arrays,
and compiles into one pass over a large array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from ..core.primitive import Primitive, fresh
from ..rings import replaceable
from .on_arrays import on_arrays


class Pointwise(Primitive):
    """An op whose forward and rules are formulas; its options are numbers."""

    def __init__(self, formula: Callable):
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
