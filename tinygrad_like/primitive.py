"""How an op is declared: a forward on arrays, and a table of VJP rules whose parameter names say what is saved.

    @primitive
    def mul(a, b):
        return np.multiply(a, b)

    mul.vjp(a=lambda g, b: g * b,
            b=lambda g, a: g * a)

Positional parameters are inputs, keyword-only ones are options. A rule takes `g`, the cotangent of the output, and may
name: an input, `<input>_shape`, `out`, an option, or a residual that the forward handed out with `Residuals`. What no
rule names is not kept. Broadcasting is undone here (`_fit`), so a rule may ignore it.

An op called on Tensors gives a Tensor and records a node. Called on arrays it is just its forward. So a rule, written
in ops, runs on arrays when only numbers are wanted, and on Tensors when `create_graph=True` asks for their graph too.
"""

from __future__ import annotations

import inspect
import linecache
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .autograd import Node, Switch, freed, mode, recording, setting, tick, walk
from .dtypes import FLOAT32, FLOAT64, INT64, SUPPORTED, as_array
from .errors import in_the_name_of
from .tensor import Tensor, wrap

_PLAIN = frozenset({int, float, bool, type(None)})  # inputs taken as they are: Python scalars are weak, None is absent
_SETTINGS = _PLAIN | {tuple, str}  # what options mostly are


class Residuals(dict):
    """What a forward keeps for its rules besides inputs and output: `return y, Residuals(mask=mask)`."""


class Placed:
    """The cotangent of x from a part x[index]: zeros of x's shape but for `value` at the index, not written out.

    The parts of one x, as `split` makes them, are so put into one array, each where it belongs; np.array(placed) is
    that array for a single one.
    """

    __slots__ = "shape", "dtype", "index", "value"

    def __init__(self, shape, index, value):
        self.shape, self.dtype, self.index, self.value = shape, value.dtype, index, value

    def __array__(self, dtype=None, copy=None):
        out = np.zeros(self.shape, self.dtype)
        out[self.index] = self.value
        return out


_NONE = Residuals()
_new = Tensor.__new__


class Primitive:
    """An op: a forward on arrays and its VJP rules (see the module's docstring)."""

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
        self.rules: dict[int, tuple[Callable, list[int]]] = {}
        self.joint: tuple[Callable, list[int]] | None = None
        self.kept: list[str] = []
        self.out: int | None = None  # the position of the output among what is kept
        self.keep: Callable | None = None  # set by the first rule: an op without rules is not differentiable

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join([*self.inputs, *self.options])})>"

    # Declaration ----------------------------------------------------------------------------------------------------

    def vjp(self, **rules: Callable) -> None:
        """Declare one rule per input: `rule(g, *what it names) -> cotangent of that input`.

        The rule of a variadic input (`*xs`) names `which`, the index of the input whose cotangent it is to give, and
        gets all of them, as a tuple, by its name.
        """
        for name, rule in rules.items():
            if name not in self.inputs:
                raise TypeError(f"{self.name}.vjp: {name!r} is no input of {self!r}")
            self.rules[self.inputs.index(name)] = rule, self._uses(rule)
        self.keep = self._compile()

    def joint_vjp(self, rule: Callable) -> Callable:
        """Declare one rule for all inputs: `rule(g, ...) -> cotangents`; it may name `wanted`, a bool per input."""
        self.joint = rule, self._uses(rule)
        self.keep = self._compile()
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

        It runs on every recorded call, and a compiled tuple display is several times faster than a loop over names.
        """
        def source(name: str) -> str:
            if name in self.inputs:
                return "*inputs" if self.variadic else f"inputs[{self.inputs.index(name)}]"
            if name.endswith("_shape") and name[:-6] in self.inputs:
                if self.variadic:
                    return "tuple([shape(x) for x in inputs])"
                return f"shape(inputs[{self.inputs.index(name[:-6])}])"
            if name == "out":
                return "out"
            if name in self.options:
                return f"options[{name!r}] if {name!r} in options else defaults[{name!r}]"
            return f"residuals[{name!r}] if {name!r} in residuals else unknown({name!r})"

        self.out = self.kept.index("out") if "out" in self.kept else None
        display = "".join(source(name) + ", " for name in self.kept)
        names = {"shape": np.shape, "defaults": self.options, "unknown": self._unknown}
        return eval(f"lambda inputs, out, options, residuals: ({display})", names)

    def _unknown(self, name):
        raise TypeError(f"a VJP rule of {self!r} names {name!r}, which is no input, option or residual")

    # Forward --------------------------------------------------------------------------------------------------------

    def __call__(self, *inputs, **options):
        if len(inputs) != self.arity and not self.variadic:
            inputs, options = self._bind(inputs, options)
        if options:
            for value in options.values():
                if type(value) not in _SETTINGS and isinstance(value, Tensor):
                    options = self._plain(options)
                    break
        arrays, parents = [], []
        tensors = plain = differentiable = False
        for x in inputs:
            parent = None
            if isinstance(x, Tensor):
                tensors = True
                if x.requires_grad:
                    differentiable = True
                    parent = x.node or x
                x = x._data
            elif type(x) not in _PLAIN:
                plain = True
            arrays.append(x)
            parents.append(parent)
        if tensors and plain:
            inputs = [x if isinstance(x, Tensor) or type(x) in _PLAIN else self._operand(x) for x in inputs]
            arrays = [x._data if isinstance(x, Tensor) else x for x in inputs]
        try:
            out = self.forward(*arrays, **options)
        except Exception as error:
            self._explain(error, arrays, options)
            ours = error
            if self.forward.__module__.startswith("tinygrad_like.ops."):  # an op of the user's speaks for itself
                ours = in_the_name_of(self.name.lstrip("_"), error, arrays, options)
            if ours is error:
                raise
            raise ours from error
        residuals = _NONE
        if type(out) is tuple:
            out, residuals = out
        if not tensors:
            return out
        if type(out) is not np.ndarray:
            out = np.asarray(out)
        dtype = out.dtype
        if dtype is not FLOAT32 and dtype is not (ours := _result_dtype(self.name, dtype, arrays, options)):
            out, dtype = out.astype(ours), ours
            if differentiable:  # a rule that multiplies with a saved integer would meet NumPy's promotion again
                inputs = [wrap(x.data.astype(ours)) if isinstance(x, Tensor) and x.dtype.kind != "f" else x
                          for x in inputs]
        y = _new(Tensor)  # wrap(out), without the call
        y._data = out
        if differentiable and self.keep is not None and mode.recording and (dtype is FLOAT32 or dtype.kind == "f"):
            y.node = node = Node()
            y.requires_grad = True
            node.op = self
            node.parents = parents
            node.saved = self.keep(inputs, out, options, residuals)
            node.order = tick()
            node.shape = out.shape
            node.dtype = dtype
            node.extra = None
        if out.base is not None:
            _share_version(y, inputs)
        else:
            for x in arrays:
                if x is out:
                    _share_version(y, inputs)
        if mode.watchers:
            for watch in mode.watchers:
                watch(self, inputs, options, y)
        return y

    def _plain(self, options: dict) -> dict:
        """The options, of which a Tensor that holds a single number is that number."""
        who = self.name.lstrip("_")
        for name, value in options.items():
            if isinstance(value, Tensor) and value.requires_grad:
                raise TypeError(f"{who}: {name} is an option, which no gradient reaches, but a Tensor that requires "
                                "grad; pass its .item(), or compute with operators what is to be differentiated")
            if isinstance(value, Tensor) and value.ndim:
                raise TypeError(f"{who}: {name} must be a number, got a Tensor of shape {value.shape}")
        return {name: value.item() if isinstance(value, Tensor) else value for name, value in options.items()}

    def _operand(self, x):
        """Data from outside as a Tensor; NumPy scalars are as weak as Python's: x / np.sqrt(2) keeps x's dtype."""
        if isinstance(x, np.generic) and type(x.item()) in _PLAIN:
            return x.item()
        return wrap(as_array(x, None, self.name))

    def _explain(self, error, arrays, options):
        """Say what NumPy or Python complained of with the op's name, shapes and dtypes; leave other errors alone."""
        for name in options:
            if name not in self.options:
                raise TypeError(f"{self.name}: unknown argument {name!r}: {self!r}") from None
        for x in arrays:
            if isinstance(error, AttributeError) and not isinstance(x, np.ndarray | np.generic):
                hint = "; pass them one by one, not in a list" if self.variadic and isinstance(x, list | tuple) else ""
                raise TypeError(f"{self.name}: takes Tensors or arrays, got {type(x).__name__}{hint}") from None
        if str(error).startswith(("operands could not be broadcast", "non-broadcastable output operand")):
            shapes = " and ".join(str(np.shape(x)) for x in arrays if x is not None)
            raise ValueError(f"{self.name}: shapes {shapes} do not broadcast; "
                             "counted from the last axis, sizes must be equal or 1") from None
        if isinstance(error, TypeError) and ("ufunc" in str(error) or "numpy" in str(error) or "operand" in str(error)):
            given = " and ".join(str(getattr(x, "dtype", type(x).__name__)) for x in arrays)
            raise TypeError(f"{self.name}: not defined for {given}; cast, with .float(), .int() or .bool()") from None

    def _bind(self, inputs, options):
        """Sort arguments into inputs and options: options may come by position, inputs by name, as in any function."""
        n = len(self.inputs)
        if len(inputs) > n:
            if len(inputs) > n + len(self.options):
                raise TypeError(f"{self.name}: {len(inputs)} arguments, "
                                f"but it takes at most {n + len(self.options)}: {self!r}")
            given = dict(zip(self.options, inputs[n:], strict=False))
            for name in given.keys() & options.keys():
                raise TypeError(f"{self.name}: {name!r} was given twice, by position and by name")
            return inputs[:n], {**given, **options}
        inputs, options = list(inputs), dict(options)
        for i in range(len(inputs), n):
            if i < self.required and self.inputs[i] not in options:
                raise TypeError(f"{self.name}: missing input {self.inputs[i]!r}: {self!r}")
            inputs.append(options.pop(self.inputs[i], None))
        return inputs, options

    # Backward -------------------------------------------------------------------------------------------------------

    def pull(self, node: Node, g, parents) -> list:
        """Cotangents of the inputs from the cotangent `g` of the output; None where `parents` has None."""
        if type(g) is Placed:
            g = np.array(g)
        cotangents = self.cotangents(node, g, parents)
        for i, parent in enumerate(parents):
            if parent is None:
                cotangents[i] = None
            else:
                c = cotangents[i]
                try:
                    fits = c.shape == parent.shape and c.dtype is parent.dtype
                except AttributeError:
                    raise TypeError(f"{self._rule(i)} gave {type(c).__name__}, which is no array") from None
                if not fits:
                    cotangents[i] = self._fit(c, parent, g, i)
        if mode.anomaly:
            for c in cotangents:
                if c is not None:
                    _check_finite(c, f"the VJP of {self.name}", node, [g])
        return cotangents

    def cotangents(self, node: Node, g, parents) -> list:
        """What the rules say, for the inputs whose parent is not None."""
        saved = self._saved(node)
        if self.joint is not None:
            rule, uses = self.joint
            wanted = [p is not None for p in parents]
            try:
                given = rule(g, *[wanted if i < 0 else saved[i] for i in uses])
            except Exception as error:
                self._blame(error, f"the joint VJP of {self.name}")
                raise
            if given is not NotImplemented and len(given) != len(parents):
                raise TypeError(f"the joint VJP of {self.name} gave {len(given)} cotangents for {len(parents)} inputs")
            return given if given is NotImplemented else list(given)
        cotangents: list = []
        for i, parent in enumerate(parents):
            if parent is None:
                cotangents.append(None)
                continue
            entry = self.rules.get(0 if self.variadic else i)
            if entry is None:
                raise NotImplementedError(f"{self.name} has no VJP for input {self.inputs[i]!r}; pass it detach()ed")
            rule, uses = entry
            try:
                cotangents.append(rule(g, *[i if k < 0 else saved[k] for k in uses]))
            except Exception as error:
                self._blame(error, self._rule(i))
                raise
        return cotangents

    @staticmethod
    def _blame(error: Exception, rule: str) -> None:
        """Say which rule an error of Python's or NumPy's came from; leave errors of other classes alone."""
        if type(error) in (AttributeError, IndexError, TypeError, ValueError):
            hint = ""
            if isinstance(error, AttributeError) or "does not support ufuncs" in str(error):
                hint = ("; a rule gets arrays, or Tensors where the graph of the gradient is wanted: "
                        "write it with operators and ops, as in ops.cos(x)")
            raise type(error)(f"{rule}: {error}{hint}") from error

    def _saved(self, node: Node) -> list:
        """What the rules named: as arrays, or as Tensors on the graph while recording."""
        graph, order, values, saved = mode.recording, node.order, [], node.saved
        if saved is None:  # by another thread, since the walk came here
            raise freed(node)
        for x in saved:
            if isinstance(x, Tensor):
                version = x.version
                if version is not None and version[0] > order:
                    self._changed(node, "an input")
                if not graph:
                    x = x._data
            values.append(x)
        if self.variadic and self.kept and self.kept[0] in self.inputs:
            n = len(node.parents)
            values[:n] = [tuple(values[:n])]
        if self.out is not None:
            extra = node.extra
            if extra is not None and extra.version is not None and extra.version[0] > order:
                self._changed(node, "its output")
            if graph:
                out = wrap(values[self.out])
                out.node, out.requires_grad = node, True  # attached only now: kept on the node it would be a cycle
                out.shared_version()  # a rule's ops save this Tensor, while the user may change the one they have
                values[self.out] = out
        return values

    def _changed(self, node, what):
        raise RuntimeError(
            f"backward: {what} of {self.name} (output shape {node.shape}) was changed in place "
            f"after {self.name} saved it; "
            "change it after backward, or compute from a clone()"
        )

    def _fit(self, c, parent, g, i):
        """Undo broadcasting and promotion: the cotangent must have its input's shape and dtype. Only done here."""
        where = self._rule(i)
        if c.shape != parent.shape:
            c = ops.sum_to(c, parent.shape, where=where)
        if c.dtype is not parent.dtype:
            if c.dtype is not g.dtype or c.dtype.kind != "f":
                raise TypeError(f"{where} gave {c.dtype}, but the input is {parent.dtype} and the output {g.dtype}")
            c = ops.cast(c, dtype=parent.dtype)
        return c

    def _rule(self, i) -> str:
        return f"the VJP of {self.name} for input {self.inputs[0 if self.variadic else i]!r}"


class Fused(Primitive):
    """An op with a kernel for its forward and its VJP, and a reference that defines it in primitives.

    The joint rule is plain array code. Where the graph of the gradient is wanted, where there is no joint rule, or
    where it returns NotImplemented, the reference is replayed and differentiated instead, which gives every order.
    """

    def __init__(self, forward: Callable, reference: Callable):
        super().__init__(forward)
        self.reference = reference
        self.kept = [*self.inputs, *self.options]  # all that the reference needs
        self.keep = self._compile()

    def cotangents(self, node: Node, g, parents) -> list:
        if self.joint is not None and not mode.recording:
            cotangents = super().cotangents(node, g, parents)
            if cotangents is not NotImplemented:
                return cotangents
        with recording(True):
            saved = self._saved(node)
            inputs = saved[0] if self.variadic else saved[: len(self.inputs)]
            options = dict(zip(self.options, saved[len(self.inputs) :], strict=False))
            # Each input gets an alias of its own, so that the same Tensor given twice gets two cotangents, and the walk
            # can stop at the aliases instead of running on into the graph below.
            inputs = [x if p is None else ops.identity(x) for x, p in zip(inputs, parents, strict=True)]
            since = tick()
            y = self.reference(*inputs, **options)
        found = walk(y.node, g, since=since, retain=mode.recording, plus=ops.plus)
        return [None if p is None else self._found(found, x) for x, p in zip(inputs, parents, strict=True)]

    @staticmethod
    def _found(found, x):
        """The cotangent of the alias x; the reference may not depend on it."""
        c = found.get(x.node)
        if c is None:
            c = np.zeros(x.shape, x.dtype)
            return wrap(c) if mode.recording else c
        return c


def primitive(forward: Callable) -> Primitive:
    """Declare an op by its forward on arrays; its rules follow with `.vjp(...)`, or it is not differentiable."""
    return Primitive(forward)


def fused(*, reference: Callable) -> Callable[[Callable], Fused]:
    """Declare a fused op: the decorated kernel forward, its `joint_vjp`, and the `reference` composed of primitives."""


    def declare(forward: Callable) -> Fused:
        fused_ops.append(Fused(forward, reference))
        return fused_ops[-1]

    return declare


fused_ops: list[Fused] = []  # what the fused-equals-reference test runs over


def _result_dtype(who, dtype, arrays, options) -> np.dtype:
    """The result's dtype here: float64 takes a float64 input, and what a Tensor cannot be is float32 or int64.

    NumPy would make float64 of int / int or int * float32, float16 of exp(uint8) and uint64 of sum(uint8).
    """
    if dtype.kind == "f":
        float64 = "dtype" in options or any(getattr(a, "dtype", None) is FLOAT64 for a in arrays)
        return FLOAT64 if dtype == FLOAT64 and float64 else FLOAT32
    if dtype.kind not in "iub":
        raise TypeError(f"{who}: the result would be {dtype}, which no Tensor holds")
    return dtype if dtype in SUPPORTED else INT64


def _share_version(y: Tensor, inputs) -> None:
    """A view shares its version with the Tensor whose memory it shows, so that a change through either is seen."""
    out, node = y._data, y.node
    base = out if out.base is None else out.base
    for x in inputs:
        if isinstance(x, Tensor) and (x._data is base or x._data.base is base):
            y.version = x.shared_version()
            if node is not None and node.op.out is not None:
                node.details().version = y.version


# Anomaly mode -------------------------------------------------------------------------------------------------------



class detect_anomaly(Switch):
    """Raise FloatingPointError at the first NaN or infinity, naming the op and the user's line that called it.

    Forward values are checked as they are made, cotangents as the backward walk makes them. An infinity is not the
    op's doing if it was given one, as a mask of -inf is; a NaN is always reported. Slow: for debugging.
    """

    def settings(self):
        watchers = mode.watchers if mode.anomaly else (*mode.watchers, _check_result)
        # The error says more than NumPy's warning before it.
        return [np.errstate(all="ignore"), setting("anomaly", True), setting("watchers", watchers)]


_PACKAGES = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), name) + os.sep
    for name in ("tinygrad_like", "nn", "optim")
)


def _user_line() -> str:
    """File, line and text of the innermost frame outside the packages."""
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGES):
        frame = frame.f_back
    name, number = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{number}: {linecache.getline(name, number).strip()}"


def _check_result(op: Any, inputs: Any, options: dict, y: Tensor) -> None:
    _check_finite(y, op.name, y.node, [*inputs, *options.values()])


def _check_finite(value: Any, what: str, node: Node | None, given: list) -> None:
    """Raise if `value`, which `what` made of what was given, has the first NaN, or an infinity and they have none."""
    array = value.data if isinstance(value, Tensor) else np.asarray(value)
    line = node.extra.line if node is not None and node.extra is not None else None
    if line is None:
        line = _user_line()
        if node is not None:
            node.details().line = line
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return
    if np.isnan(array).any():
        kind, verb = "NaN", "was given" if any(_has(np.isnan, x) for x in given) else "made"
    elif any(_has(np.isinf, x) for x in given):
        return
    else:
        kind, verb = "infinity", "made"
    raise FloatingPointError(f"{what} {verb} the first {kind} (shape {array.shape}), called at {line}")


def _has(test: Callable, x: Any) -> bool:
    x = x.data if isinstance(x, Tensor) else x
    return isinstance(x, float | np.floating | np.ndarray) and np.asarray(x).dtype.kind == "f" and test(x).any()


from . import ops  # noqa: E402  (ops are declared with this module, and _fit is written in ops)
