"""How an op is declared: a forward on arrays, and a table of VJP rules whose parameter names say what is saved.

    @primitive
    def mul(a, b):
        return np.multiply(a, b)

    mul.vjp(a=lambda g, b: g * b,
            b=lambda g, a: g * a)

Positional parameters are inputs, keyword-only ones are options. A rule takes `g`, the cotangent of the output, and may
name: an input, `<input>_shape`, `out`, an option, or a residual that the forward handed out with `Residuals`. What no
rule names is not kept. Broadcasting is undone by the caller (`Op._fit`), so a rule may ignore it.

What happens when an op is called, and when its rules are, stands in `call.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import update_wrapper
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakSet

import numpy as np

from . import ops
from .autograd import Node, mode, setting, tick
from .call import Op, replayed
from .errors import blame
from .tensor import Tensor, wrap


class Residuals(dict):
    """What a forward keeps for its rules besides inputs and output: `return y, Residuals(mask=mask)`."""


class Primitive(Op):
    """An op made of a forward on arrays and VJP rules (see the module's docstring)."""

    def __init__(self, forward: Callable):
        self.forward = forward
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
        self.rules, self.joint = {}, None
        self.array_rules, self.on_arrays = {}, None
        self.kept, self.out, self.keep, self.fresh, self.saves = [], None, None, False, False
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
        self.array_rules = dict(self.rules)
        self.keep, self.on_arrays = self._compile(), self._compile_rules()
        self.fresh = all(getattr(rule, "fresh", False) for rule, _ in self.rules.values())

    def hasten(self) -> None:
        """Have the rules, where they run on arrays, call the forwards of the ops they name (see `on_arrays`)."""
        self.array_rules = {i: (on_arrays(rule), uses) for i, (rule, uses) in self.rules.items()}
        self.on_arrays = self._compile_rules()

    def joint_vjp(self, rule: Callable) -> Callable:
        """Declare one rule for all inputs: `rule(g, ...) -> cotangents`; it may name `wanted`, a bool per input."""
        self.joint = rule, self._uses(rule)
        self.keep, self.on_arrays = self._compile(), self._compile_rules()
        self.fresh = getattr(rule, "fresh", False)
        return rule

    def _uses(self, rule) -> list[int]:
        """Positions, in what the node saves, of the values the rule names; -1 stands for `which` or `wanted`."""
        names = list(inspect.signature(rule).parameters)[1:]
        self.kept += [n for n in names if n not in self.kept and n not in ("which", "wanted")]
        if self.variadic:
            self.kept.sort(key=self.inputs[0].__ne__)  # all the inputs, if they are kept, come first, see _saved
        return [-1 if n in ("which", "wanted") else self.kept.index(n) for n in names]

    def _compile(self) -> Callable:
        """A function `(inputs, out, options, residuals) -> tuple of what is kept`, built once from the names.

        It runs on every recorded call. A compiled tuple display is several times faster than a loop over names.
        """
        source = {n: f"options[{n!r}] if {n!r} in options else defaults[{n!r}]" for n in self.options} | {"out": "out"}
        for i, n in enumerate(self.inputs):
            source[n] = "*inputs" if self.variadic else f"inputs[{i}]"
            source[f"{n}_shape"] = "tuple(map(shape, inputs))" if self.variadic else f"shape(inputs[{i}])"
        for n in self.kept:
            source.setdefault(n, f"residuals[{n!r}] if {n!r} in residuals else unknown({n!r})")
        self.out = self.kept.index("out") if "out" in self.kept else None
        self.saves = not {*self.options, *[f"{n}_shape" for n in self.inputs]}.issuperset(self.kept)
        display = "".join(source[n] + ", " for n in self.kept)
        names = {"shape": lambda x: getattr(x, "shape", ()), "defaults": self.options, "unknown": self._unknown}
        return eval(f"lambda inputs, out, options, residuals: ({display})", names)

    def _compile_rules(self) -> Callable | None:
        """A function `(op, node, g, parents) -> cotangents` of arrays, built once from the names, as `_compile` does.

        It gives None where there is more to say, which `pull` then does. None is built for an op of any number
        of inputs, or without a rule for each.
        """
        inputs = range(len(self.inputs))
        if self.variadic or self.joint is None and len(self.rules) < len(inputs):
            return None
        values, cotangents = [f"v{k}" for k in range(len(self.kept))], "".join([f"c{i}, " for i in inputs])
        lines = ["if node.saved is None: return None", *[f"{', '.join(values)}, = node.saved"][: len(values)]]
        for value, name in zip(values, self.kept, strict=True):
            if name in self.inputs:
                lines += [f"if isinstance({value}, Tensor):",
                          f"    if {value}.version is not None and {value}.version[0] > node.order: return None",
                          f"    {value} = {value}._data"]
        if self.out is not None:
            lines += ["if node.extra is not None and node.extra.version is not None: return None"]
        lines += [f"{', '.join([f'p{i}' for i in inputs])}, = parents", "try:"]
        if self.joint is not None:
            wanted = f"[{', '.join([f'p{i} is not None' for i in inputs])}]"
            arguments = ["g", *[wanted if k < 0 else values[k] for k in self.joint[1]]]
            lines += ["    where = 'the joint VJP of ' + op.name", f"    found = op.joint[0]({', '.join(arguments)})",
                      f"    if found is NotImplemented or len(found) != {len(inputs)}: return None",
                      f"    {cotangents} = found"]
        else:
            for i in inputs:
                rule = f"op.array_rules[{i}][0]({', '.join(['g', *[values[k] for k in self.array_rules[i][1]]])})"
                lines += [f"    where = {i}", f"    c{i} = None if p{i} is None else {rule}"]
        lines += ["except Exception as error:",
                  "    blame(where if isinstance(where, str) else op._rule(where), error)",
                  "    raise", "try:"]
        for i in inputs:
            lines += [f"    if p{i} is None: c{i} = None",
                      f"    elif c{i}.shape != p{i}.shape or c{i}.dtype is not p{i}.dtype:",
                      f"        c{i} = op._fit(c{i}, p{i}, g, {i})"]
        lines += ["except AttributeError: return None", f"return {cotangents}"]
        names: dict[str, Any] = {"Tensor": Tensor, "blame": blame}
        exec("def rules_on_arrays(op, node, g, parents):\n    " + "\n    ".join(lines), names)
        return names["rules_on_arrays"]

    def _unknown(self, name):
        raise TypeError(f"a VJP rule of {self!r} names {name!r}, which is no input, option or residual")


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
        self.keep = self._compile()
        self.fresh = True  # as what is replayed is

    def joint_vjp_in_ops(self, rule: Callable) -> Callable:
        """Declare the joint rule that is used where its own graph is wanted: fewer ops than the reference's replay."""
        self.in_ops = rule, self._uses(rule)
        self.keep, self.on_arrays = self._compile(), self._compile_rules()
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


declared: WeakSet[Primitive] = WeakSet()  # every op there is, for tests that go over all of them
