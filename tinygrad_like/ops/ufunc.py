"""NumPy functions as ops, one line each. They work element by element, and inputs broadcast.

    sin = ufunc("sin", "sin x.", lambda x: np.sin(x))
    sin.vjp(x=lambda g, x: g * cos(x))
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.primitive import Primitive, fresh
from ..rings import replaceable
from .on_arrays import on_arrays


class Ufunc(Primitive):
    """An op of a function of arrays. Its rules are formulas; something faster may stand in for them, as `mul_vjp`."""

    large: tuple[int, dict[int, Callable]] = 0, {}  # from how many numbers on other rules are taken, and which
    compiled: dict[Callable, Callable] = {}  # by the rules; for few numbers they are the rules on arrays

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
        """The rule on arrays; what stands in for it, if that calls functions, whose results have other last bits than
        NumPy's. Of arithmetic alone they are the same, and in a captured function NumPy's operators become loops."""
        called = [n for n in rule.__code__.co_names if callable(rule.__globals__.get(n)) and n not in _EXACT]
        return self.compiled.get(rule) or on_arrays(rule) if called else on_arrays(rule)


_EXACT = frozenset({"sign", "where"})


def _passes(g):
    return g


def ufunc(name: str, meaning: str, function: Callable) -> Primitive:
    """The op of a function of arrays; `meaning` is its docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return Ufunc(replaceable(function, formula=function))
