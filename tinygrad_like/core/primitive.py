"""Declare an op: a forward on arrays, and VJP rules whose parameter names determine what is saved.

    @primitive
    def mul(a, b):
        return np.multiply(a, b)

    mul.vjp(a=lambda g, b: g * b,
            b=lambda g, a: g * a)

    @mul.requires
    def _(a, b):
        if a.dtype is BOOL:
            return f"takes numbers, got {a.dtype}"  # the error names mul

Positional parameters are inputs, keyword-only ones are options. A rule takes `g`, the cotangent of the output, and may
name: an input, `<input>_shape`, `out`, an option, or a residual that the forward returned with `Residuals`. A value is
saved only if a rule names it and the rule's input needs a gradient. The caller undoes broadcasting (`Op.unbroadcast`),
so a rule may ignore it.

`dispatch.py` calls ops and their rules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np

from .dispatch import Op, P


class Residuals(dict):
    """Values that a forward saves for its rules besides inputs and output: `return y, Residuals(mask=mask)`."""


class Primitive(Op[P]):
    """An op made of a forward on arrays and VJP rules (see the module's docstring)."""

    def vjp(self, **rules: Callable) -> None:
        """Declare one rule per input: `rule(g, *what it names) -> cotangent of that input`.

        The rule of a variadic input (`*xs`) names `which`, the index of the input whose cotangent it returns, and
        `xs`, the tuple of all inputs.
        """
        for name, rule in rules.items():
            if name not in self.inputs:
                raise TypeError(f"{self.name}.vjp: {name!r} is not an input of {self!r}")
            self.rules[self.inputs.index(name)] = rule, self._uses(rule)
        self._redeclared()
        self.fresh = all(getattr(rule, "fresh", False) for rule, _ in self.rules.values())

    def joint_vjp(self, rule: Callable) -> Callable:
        """Declare one rule for all inputs: `rule(g, ...) -> cotangents`; it may name `wanted`, a bool per input."""
        self.joint = rule, self._uses(rule)
        self._redeclared()
        self.fresh = getattr(rule, "fresh", False)
        return rule

    def _uses(self, rule) -> list[int]:
        """The positions of the values that a rule names, among the saved ones; -1 stands for `which` or `wanted`."""
        names = list(inspect.signature(rule).parameters)[1:]
        self.saved += [n for n in names if n not in self.saved and n not in ("which", "wanted")]
        if self.variadic:
            self.saved.sort(key=self.inputs[0].__ne__)  # saved inputs come first, see `values`
        return [-1 if n in ("which", "wanted") else self.saved.index(n) for n in names]

    def _redeclared(self) -> None:
        """Recompute what a node saves, and drop code generated for earlier rules."""
        self.differentiable = True
        self.out = self.saved.index("out") if "out" in self.saved else None
        self.saves = not {*self.options, *[f"{n}_shape" for n in self.inputs]}.issuperset(self.saved)
        self.__class__ = self.family
        for name in ("save", "array_rules"):
            vars(self).pop(name, None)

    def needed(self, name: str) -> list[int] | None:
        """The inputs whose gradients need a saved value; None if all do or it is unknown."""
        rules = [i for i, (_, uses) in self.rules.items() if name in self.saved and self.saved.index(name) in uses]
        apart = not self.variadic and self.joint is None and name in (*self.inputs, "out")
        return rules if apart and rules and len(rules) < len(self.rules) else None

    def save(self, inputs, out, options: dict, residuals: dict) -> tuple:
        """The values that a node saves, as the rules name them."""
        shapes = [np.shape(getattr(x, "_data", x)) for x in inputs]
        given = {**self.options, **options, "out": out, f"{self.inputs[0]}_shape": tuple(shapes)}
        given |= residuals if isinstance(residuals, dict) else {}  # a tuple without Residuals has none
        if not self.variadic:
            given |= zip([*self.inputs, *[f"{n}_shape" for n in self.inputs]], [*inputs, *shapes], strict=True)
        kept: list = []
        for name in self.saved:
            wanted = self.needed(name)
            if wanted is not None and not any([getattr(inputs[i], "requires_grad", False) for i in wanted]):
                kept.append(None)
            elif self.variadic and name in self.inputs:
                kept += inputs
            elif name in given:
                kept.append(given[name])
            else:
                raise TypeError(f"a VJP rule of {self!r} names {name!r}, which is not an input, option or residual")
        return tuple(kept)


def fresh(rule: Callable) -> Callable:
    """Mark a VJP rule that returns only new arrays, each with its own memory, and keeps none of them.

    It must not return g, a saved value, a view of them, or an array twice. If all rules of an op are marked, backward
    adds to their arrays in place, and makes them `.grad` without a copy.
    """
    rule.fresh = True  # type: ignore[attr-defined]
    return rule


def primitive(forward: Callable[P, object]) -> Primitive[P]:
    """Declare an op by its forward on arrays; its rules follow with `.vjp(...)`, or it is not differentiable."""
    return Primitive(forward)
