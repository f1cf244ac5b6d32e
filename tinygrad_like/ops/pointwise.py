"""Functions of each number by itself: one formula, for Tensors, for arrays, and for compiled code.

    @pointwise
    def silu(x):
        return x * sigmoid(x)

    silu.vjp(x=lambda g, x: g * (sigmoid(x) * (1 + x * (1 - sigmoid(x)))))

They are declared as other ops are, forward and rules. But both are formulas: numbers, operators, and ops that are
pointwise or in `FUNCTIONS` of kernels/vectormath.py. So the function that works on Tensors, which makes gradients of any
order, works on arrays, and is compiled into one pass over a large float32 array (kernels/formula.py).
"""

from __future__ import annotations

from collections.abc import Callable

from ..kernels import accelerated
from ..primitive import Primitive, fresh


class Pointwise(Primitive):
    """An op whose forward and rules are formulas; its options are numbers."""

    def __init__(self, formula: Callable):
        super().__init__(formula)
        self.name = self.name.lstrip("_")
        self.forward = self._compiled(formula, self.name)

    def vjp(self, **rules: Callable) -> None:
        super().vjp(**{x: fresh(self._compiled(rule, f"{self.name}_vjp")) for x, rule in rules.items()})

    def _compiled(self, formula: Callable, name: str) -> Callable:
        def make(home):
            return home.pointwise(formula, name, self.options)

        return accelerated(formula, self.name, made=make)


pointwise = Pointwise
