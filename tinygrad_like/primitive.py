"""How an op is declared: a forward on arrays, and a table of VJP rules whose parameter names say what is saved.

    @primitive
    def mul(a, b):
        return np.multiply(a, b)

    mul.vjp(a=lambda g, b: g * b,
            b=lambda g, a: g * a)

Positional parameters are inputs, keyword-only ones are options. A rule takes `g`, the cotangent of the output, and may
name: an input, `<input>_shape`, `out`, an option, or a residual that the forward handed out with `Residuals`. What no
rule names is not kept, nor what only the rules of inputs name that need no gradient. Broadcasting is undone by the
caller (`Op.fit`), so a rule may ignore it.

What happens when an op is called, and when its rules are, stands in `call.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, update_wrapper
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakSet

import numpy as np

from . import ops
from .autograd import Node, mode, setting, tick
from .call import Op, replayed
from .tensor import wrap


class Residuals(dict):
    """What a forward keeps for its rules besides inputs and output: `return y, Residuals(mask=mask)`."""


class Primitive(Op):
    """An op made of a forward on arrays and VJP rules (see the module's docstring)."""

    def __init__(self, forward: Callable):
        self.forward, self.family, self.met = forward, type(self), False
        self.name = forward.__name__
        self.__name__, self.__doc__, self.__wrapped__ = forward.__name__, forward.__doc__, forward
        kinds = inspect.signature(forward).parameters.values()
        positional = [p for p in kinds if p.kind is not p.KEYWORD_ONLY]
        self.inputs = [p.name for p in positional]
        self.required = sum(p.default is p.empty for p in positional)
        self.options = {p.name: p.default for p in kinds if p.kind is p.KEYWORD_ONLY}
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in kinds)
        self.arity = None if self.variadic else len(positional)
        if "out" in self.inputs or "out" in self.options:
            raise TypeError(f"{self.name}: 'out' names the output in VJP rules; call the parameter something else")
        self.rules, self.joint, self.ours = {}, None, False
        self.kept, self.out, self.differentiable, self.fresh, self.saves = [], None, False, False, False
        declared.add(self)

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join([*self.inputs, *self.options])})>"

    def __reduce__(self) -> tuple:
        """A copy is the op itself, a pickle where to find it."""
        return _find, (self.forward.__module__, self.name)

    def vjp(self, **rules: Callable) -> None:
        """Declare one rule per input: `rule(g, *what it names) -> cotangent of that input`.

        The rule of a variadic input (`*xs`) names `which`, the index of the input whose cotangent it is to give, and
        gets all of them, as a tuple, by its name.
        """
        for name, rule in rules.items():
            if name not in self.inputs:
                raise TypeError(f"{self.name}.vjp: {name!r} is no input of {self!r}")
            self.rules[self.inputs.index(name)] = rule, self._uses(rule)
        self._redeclared()
        self.fresh = all(getattr(rule, "fresh", False) for rule, _ in self.rules.values())

    @cached_property
    def array_rules(self) -> dict[int, tuple[Callable, list[int]]]:  # type: ignore[override]
        """The rules; those of our own ops call the forwards of the ops they name (see `on_arrays`)."""
        return {i: (self.of_arrays(rule), uses) for i, (rule, uses) in self.rules.items()} if self.ours else self.rules

    def of_arrays(self, rule: Any) -> Any:
        return on_arrays(rule)

    def joint_vjp(self, rule: Callable) -> Callable:
        """Declare one rule for all inputs: `rule(g, ...) -> cotangents`; it may name `wanted`, a bool per input."""
        self.joint = rule, self._uses(rule)
        self._redeclared()
        self.fresh = getattr(rule, "fresh", False)
        return rule

    def _redeclared(self) -> None:
        """What a node keeps is known anew, and what was compiled of the names holds no more."""
        self.differentiable = True
        self.out = self.kept.index("out") if "out" in self.kept else None
        self.saves = not {*self.options, *[f"{n}_shape" for n in self.inputs]}.issuperset(self.kept)
        self.__class__ = self.family
        for name in ("keep", "array_rules"):
            vars(self).pop(name, None)

    @cached_property
    def keep(self) -> Callable:  # type: ignore[override]
        return unrolled().keep(self)

    def __call__(self, *inputs, **options):
        """The first two calls; then the op has a class of its own, unless it was made for a single call."""
        if self.met:
            self.__class__ = unrolled().specialized(self)
        self.met = True
        return self.general(inputs, options)

    def _uses(self, rule) -> list[int]:
        """Positions, in what the node saves, of the values the rule names; -1 stands for `which` or `wanted`."""
        if isinstance(rule, FunctionType) and "__wrapped__" not in vars(rule):  # as below, sooner
            names = list(rule.__code__.co_varnames[1 : rule.__code__.co_argcount])
        else:
            names = list(inspect.signature(rule).parameters)[1:]
        self.kept += [n for n in names if n not in self.kept and n not in ("which", "wanted")]
        if self.variadic:
            self.kept.sort(key=self.inputs[0].__ne__)  # all the inputs, if they are kept, come first, see _saved
        return [-1 if n in ("which", "wanted") else self.kept.index(n) for n in names]


class Fused(Primitive):
    """An op with a kernel for its forward and its VJP, and a reference that defines it in primitives.

    The joint rule is plain array code. If the graph of the gradient is wanted, there may be a rule in ops for that. If
    there is none for what is wanted, or it returns NotImplemented, the reference is replayed and differentiated
    instead, which gives every order.
    """

    in_ops: tuple[Callable, list[int]] | None = None

    def __init__(self, forward: Callable, reference: Callable):
        super().__init__(forward)
        self.reference = reference
        self.kept = [*self.inputs, *self.options]  # all that the reference needs
        self._redeclared()
        self.fresh = True  # as what is replayed is

    def joint_vjp_in_ops(self, rule: Callable) -> Callable:
        """Declare the joint rule that is used where its own graph is wanted: fewer ops than the reference's replay."""
        self.in_ops = rule, self._uses(rule)
        self._redeclared()
        return rule

    def cotangents(self, node: Node, g, parents) -> list:
        if self.joint is not None and not mode.recording:
            cotangents = super().cotangents(node, g, parents)
            if cotangents is not NotImplemented:
                return cotangents
        elif self.in_ops is not None and mode.recording:
            rule, uses = self.in_ops
            saved, wanted = self._saved(node), [p is not None for p in parents]
            return list(rule(g, *[wanted if i < 0 else saved[i] for i in uses]))
        with setting("recording", True):
            saved = self._saved(node)
            inputs = saved[0] if self.variadic else saved[: len(self.inputs)]
            options = dict(zip(self.options, saved[len(self.inputs) :], strict=False))
            # With an alias for each input, a Tensor given twice gets two cotangents, and the walk stops at the aliases
            # instead of running on into the graph below.
            inputs = [x if p is None else ops.identity(x) for x, p in zip(inputs, parents, strict=True)]
            since = tick()
            y = self.reference(*inputs, **options)
        found = replayed(y, g, since, [None if p is None else x.node for x, p in zip(inputs, parents, strict=True)])
        for i, p in enumerate(parents):
            if p is not None and found[i] is None:  # the reference does not depend on it
                zeros = np.zeros(p.shape, p.dtype)
                found[i] = wrap(zeros) if mode.recording else zeros
        return found


def fresh(rule: Callable) -> Callable:
    """Mark a VJP rule that makes every array it gives, each in memory of its own, and keeps none of them.

    So it gives neither g nor what was saved, nor a view of them, nor anything twice. If all rules of an op are marked,
    backward adds to their arrays in place, and hands them to `.grad` without a copy.
    """
    rule.fresh = True  # type: ignore[attr-defined]
    return rule


def primitive(forward: Callable) -> Primitive:
    """Declare an op by its forward on arrays; its rules follow with `.vjp(...)`, or it is not differentiable."""
    return Primitive(forward)


def fused(*, reference: Callable) -> Callable[[Callable], Fused]:
    """Declare a fused op: the decorated kernel forward, its `joint_vjp`, and the `reference` composed of primitives."""
    return lambda forward: Fused(forward, reference)


def on_arrays(value: Any, made: dict | None = None) -> Any:
    """A function written in ops, which names the forward of each op in its place: to call an op takes longer.

    The ops, and functions of their modules, are looked up now: they have no state. An op whose forward gives more than
    arrays stays itself.
    """
    if isinstance(value, Primitive):
        known = {*value.inputs, *value.options, "out", *[f"{name}_shape" for name in value.inputs]}
        return value.forward if known.issuperset(value.kept) else value
    if not isinstance(value, FunctionType) or value.__closure__:
        return value
    if made is None:
        made = {}
    elif value in made or not value.__module__.startswith(ops.__name__):
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


def _find(module: str, name: str) -> Primitive:
    found = [op for op in vars(import_module(module)).values() if isinstance(op, Primitive) and op.name == name]
    if not found:
        raise AttributeError(f"the op {name} is not in {module}; a pickle finds only the ops of a module")
    return found[0]


@lru_cache
def unrolled():
    """The module that compiles what an op does, which imports ops, which are declared here."""
    return import_module(".unrolled", __package__)


declared: WeakSet[Primitive] = WeakSet()  # every op there is, for tests that go over all of them
