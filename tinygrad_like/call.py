"""What an op does when it is called, and when the cotangent of its output comes back.

Called on Tensors, it gives a Tensor and records a node; called on arrays, it is just its forward. So rules written in
ops run on arrays if only numbers are wanted, and on Tensors if `create_graph=True` asks for the graph of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import habits, ops
from .anomaly import check_finite
from .array import Array
from .autograd import Node, freed, mode, tick, walk
from .counted import Number, followed, inputs_of, plain
from .dtypes import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOATS,
    INT64,
    NARROW,
    as_array,
    checked,
    get_default_dtype,
    result_dtype,
)
from .errors import blame, explain
from .tensor import Tensor, wrap

PLAIN = frozenset({int, float, bool, type(None)})  # inputs taken as they are: Python scalars are weak, None is absent
SETTINGS = PLAIN | {tuple, str, slice, type(FLOAT32), type(FLOAT64), type(INT64)}  # what options mostly are
SINGLE = Tensor, np.float64  # in place of a number: beside the latter float32 would become float64
ABSENT = object()  # in place of an input that was not given
_MOVES = frozenset("bitcast cast cat clone contiguous expand flip identity map_axes permute reshape roll stack "
                   "surround take tril triu".split())  # what leaves numbers as they are
# What gives numbers of the dtype that its inputs have together.
PROMOTES = frozenset("add floordiv fmod gcd lcm logical_and logical_or logical_xor lshift maximum minimum mod mul pow "
                     "rshift sub truncdiv where".split())
_NOTHING: dict = {}  # the residuals of a forward that hands out none


class Op:
    """A forward on arrays and its VJP rules, as `Primitive` declares them, ready to be called."""

    name: str
    forward: Callable
    inputs: list[str]  # their names
    required: int  # so many inputs have no default
    options: dict[str, Any]  # with their defaults
    variadic: bool
    arity: int | None
    rules: dict[int, tuple[Callable, list[int]]]  # per input: the rule, and where in `saved` is what it names
    array_rules: dict[int, tuple[Callable, list[int]]]  # the same for arrays, faster
    large: tuple[int, dict[int, Callable]] = 0, {}  # from how many numbers on others are taken, and which
    joint: tuple[Callable, list[int]] | None
    kept: list[str]  # the names of what a node saves
    out: int | None  # the position of the output among them
    differentiable: bool  # whether it has rules
    keep: Callable  # makes what a node saves
    fresh: bool  # whether its cotangents are arrays of their own (see `primitive.fresh`)
    saves: bool  # whether its nodes hold values, rather than shapes and options alone

    # Forward --------------------------------------------------------------------------------------------------------

    def __call__(self, *inputs, **options):
        return self.general(inputs, options)

    def general(self, inputs, options: dict):
        """What a call does, whatever it was given and whoever watches. See unrolled.py for the usual case."""
        if mode.waiting is not None:  # Ctrl-C may have come just as a block that puts calls off was to end
            mode.waiting = None
        if len(inputs) != self.arity:
            inputs, options = self._bind(inputs, options)
        for value in options.values():
            if type(value) is Number:
                options = {n: followed(v) for n, v in options.items()}
            elif type(value) not in SETTINGS and isinstance(value, SINGLE):
                return self(*inputs, **self._plain(options))
        if any([type(x) is Array for x in inputs]):  # what `.data` gave, as in `torch.exp(x.data)`
            if mode.tape is None and any([isinstance(x, Tensor) for x in inputs]):
                return self(*[wrap(np.array(checked(x, self.name))) if type(x) is Array else x for x in inputs],
                            **options)
            y = self.general([np.asarray(x) if type(x) is Array else x for x in inputs], options)
            return y.view(Array) if type(y) is np.ndarray else y
        arrays = [x._data if isinstance(x, Tensor) else x for x in inputs]
        tensors = any([isinstance(x, Tensor) for x in inputs])
        if tensors and not all([isinstance(x, Tensor) or type(x) in PLAIN for x in inputs]):
            inputs, arrays = self._operands(inputs)
        if NARROW and tensors and (y := self._in_float32(inputs, arrays, options)) is not NotImplemented:
            return y
        if mode.tape is not None and any([isinstance(v, tuple | list) and any([isinstance(n, Tensor) for n in v])
                                          for v in options.values()]):
            # Within the op they would become numbers that never change again.
            mode.tape.refuse(f"a Tensor as a size, an axis or an index of {self.name}", "pass a number to the function")
        try:
            out = (mode.tape.forward(self, inputs, arrays, options) if tensors and mode.tape is not None else
                   self.forward(*arrays, **options) if options else self.forward(*arrays))
        except Exception as error:
            if (y := self.failed(error, inputs, arrays, options)) is NotImplemented:
                raise
            return y
        if tensors:
            return self.result(inputs, arrays, options, out)
        return out[0] if type(out) is tuple else out

    def result(self, inputs, arrays, options: dict, out, residuals=_NOTHING) -> Tensor:
        """The Tensor that shows the array `out`, with its node if one of the inputs requires grad."""
        if type(out) is tuple:
            out, residuals = out
        if type(out) is not np.ndarray:
            out = np.asarray(out)
        dtype = out.dtype
        parents = [(x.node or x) if isinstance(x, Tensor) and x.requires_grad else None for x in inputs]
        differentiable = any([p is not None for p in parents])
        if dtype is not FLOAT32:
            out, dtype, inputs = self._promoted(inputs, arrays, options, out, differentiable)
            if isinstance(out, Tensor):
                return out
        y = wrap(out)
        if differentiable and self.differentiable and mode.recording and (dtype is FLOAT32 or dtype.kind in FLOATS):
            y.node = node = Node()
            node.op, node.parents, node.extra = self, parents, None
            node.saved = self.keep(inputs, out, options, residuals)
            node.order, node.shape, node.dtype, y.requires_grad = tick(), out.shape, dtype, True
            if mode.tape is not None:
                mode.tape.node(node)
        if out.base is not None or any([x is out for x in arrays]):
            share_version(y, inputs)
        for watch in mode.watchers:
            watch(self, inputs, options, y)
        return y

    def given(self, inputs, options: dict, others: dict):
        """`general`, for a call that `unrolled.py` begins: all inputs and options in their places, `others` by name."""
        options = {n: value for n, value in options.items() if value is not self.options[n]}
        return self.general(tuple([x for x in inputs if x is not ABSENT]), {**options, **others})

    def failed(self, error: Exception, inputs, arrays, options: dict):
        """The result after all, if a call has failed only since its options have other names, or since a Python integer
        does not fit the dtype beside it; else NotImplemented, or a clear error is raised."""
        if type(error) is OverflowError and (narrow := self._wrapped(inputs, arrays)) is not None:
            return self(*narrow, **options)
        if (y := habits.again(self, inputs, options, error)) is NotImplemented:
            explain(self, error, arrays, options)
        return y

    @staticmethod
    def _wrapped(inputs, arrays):
        """The inputs, with Python's integers wrapped around to the integer dtype beside them: as in PyTorch, -1 beside
        uint8 is 255. None if all of them fit."""
        dtypes = [x.dtype for x in arrays if getattr(x, "dtype", FLOAT32).kind in "iu"]
        if not dtypes:
            return None
        bounds = np.iinfo(np.result_type(*dtypes))
        least, count = int(bounds.min), int(bounds.max) - int(bounds.min) + 1
        if all([type(x) is not int or least <= x < least + count for x in inputs]):
            return None
        return [(x - least) % count + least if type(x) is int else x for x in inputs]

    def _promoted(self, inputs, arrays, options, out, differentiable):
        """(result, dtype, inputs): the result in the dtype it has here, where NumPy's is another, and what to save."""
        dtype = out.dtype
        if dtype is FLOAT16 and self.name not in _MOVES:  # NumPy's exp of uint8: in its place that of the default
            wide = [ops.cast(x, dtype=get_default_dtype()) if isinstance(x, Tensor) else x for x in inputs]
            y = self(*wide, **options)
            return y, y.dtype, inputs
        if dtype.kind in "iu" and self.name in PROMOTES and (alike := _of_those_with_axes(inputs)) is not None:
            y = self(*alike, **options)
            return y, y.dtype, inputs
        ours = result_dtype(self.name, dtype, arrays, options)
        if dtype is FLOAT64 and ours is FLOAT32 and any(isinstance(x, Tensor) and x.dtype is FLOAT64 for x in inputs):
            alike = [ops.cast(x, dtype=FLOAT32) if isinstance(x, Tensor) and x.dtype is FLOAT64 else x for x in inputs]
            return self(*alike, **options), FLOAT32, inputs
        if dtype is not ours:
            out = _astype(out, ours)
            if differentiable:
                inputs = _without_integers(inputs, ours)
        return out, ours, inputs

    def _in_float32(self, inputs, arrays, options):
        """The same call in float32, rounded to what all its floating-point inputs have; NotImplemented if not needed.

        Nothing is computed in 16 bits. What only moves numbers leaves them as they are, unless dtypes are mixed.
        """
        narrow = [getattr(x, "dtype", None) in NARROW for x in arrays]
        if True not in narrow:
            return NotImplemented
        dtypes = {x.dtype for x in inputs if isinstance(x, Tensor)}
        if self.name in _MOVES and len(dtypes) == 1:
            return NotImplemented
        given = [x for x in inputs if isinstance(x, Tensor) and x.dtype.kind in FLOATS]
        dtypes = {x.dtype for x in given if x.ndim} or {x.dtype for x in given}  # as dtypes.result_dtype
        wide = [ops.cast(x, dtype=FLOAT32) if n else x for x, n in zip(inputs, narrow, strict=True)]
        y = self(*wide, **options)
        return ops.cast(y, dtype=dtypes.pop()) if len(dtypes) == 1 and y.dtype is FLOAT32 else y

    def _plain(self, options: dict) -> dict:
        """The options, with a number in place of a Tensor that holds a single one, or of NumPy's."""
        who = self.name.lstrip("_")
        for name, value in options.items():
            if isinstance(value, Tensor) and value.requires_grad:
                raise TypeError(f"{who}: {name} is an option, which no gradient reaches, but a Tensor that requires "
                                "grad; pass its .item(), or compute with operators what is to be differentiated")
            if isinstance(value, Tensor) and value.ndim:
                raise TypeError(f"{who}: {name} must be a number, got a Tensor of shape {value.shape}")
        return {name: value.item() if isinstance(value, SINGLE) else value for name, value in options.items()}

    def _operands(self, inputs):
        """Arrays and lists become Tensors, NumPy's scalars numbers, so that x / np.sqrt(2) keeps x's dtype.

        The numbers of a list beside a float64 Tensor are float64 too: rounded to float32, 0.1 would not be 0.1.
        """
        if any([type(x) is Number for x in inputs]):
            inputs = inputs_of(self, inputs)
        inputs = [x.item() if isinstance(x, np.generic) and type(x.item()) in PLAIN else x for x in inputs]
        listed, taped = inputs, mode.tape is not None  # which knows the array, but no copy of it
        inputs = [x if isinstance(x, Tensor) or type(x) in PLAIN
                  or type(x) is Number else
                  wrap(x if taped and type(x) is np.ndarray else as_array(x, None, self.name)) for x in inputs]
        if any(x.dtype is FLOAT64 for x in inputs if isinstance(x, Tensor)):
            inputs = [wrap(as_array(given, FLOAT64, self.name)) if isinstance(given, list | tuple) and
                      x.dtype is FLOAT32 else x for x, given in zip(inputs, listed, strict=True)]
        return inputs, [x._data if isinstance(x, Tensor) else plain(x) for x in inputs]

    def _bind(self, inputs, options):
        """Inputs and options in their places: options may come by position and inputs by name.

        Those of an op of any number of inputs may come in a list, followed by the options.
        """
        if self.variadic:
            if inputs and type(inputs[0]) in (list, tuple):
                return inputs[0], {**options, **dict(zip(self.options, inputs[1:], strict=False))}
            return inputs, options
        n = len(self.inputs)
        if len(inputs) > n:
            if len(inputs) > n + len(self.options):
                if habits.ends_with_inplace(self.name, inputs, n + len(self.options)):
                    return self._bind(inputs[:-1], {**options, "inplace": inputs[-1]})
                raise TypeError(f"{self.name}: {len(inputs)} arguments, "
                                f"but it takes at most {n + len(self.options)}: {self!r}")
            given = dict(zip(self.options, inputs[n:], strict=False))
            for name in given.keys() & options.keys():
                raise TypeError(f"{self.name}: {name!r} was given twice, by position and by name")
            return inputs[:n], {**given, **options}
        inputs, options = list(inputs), dict(options)
        for i in range(len(inputs), n):
            if i < self.required and self.inputs[i] not in options:
                if {"input", "other", "self"} & options.keys():  # PyTorch's names
                    return self._bind(inputs, habits.renamed(self.name, dict.fromkeys(self.inputs), {}, options))
                raise TypeError(f"{self.name}: missing input {self.inputs[i]!r}: {self!r}")
            inputs.append(options.pop(self.inputs[i], None))
        return inputs, options

    # Backward -------------------------------------------------------------------------------------------------------

    def pull(self, node: Node, g, parents) -> list:
        """Cotangents of the inputs from the cotangent `g` of the output; None where `parents` has None."""
        if type(g) is Placed:
            g = g.written()
        if NARROW and node.dtype in NARROW:  # rules compute, too
            g = ops.cast(g, dtype=FLOAT32)
        cotangents = self.cotangents(node, g, parents)
        for i, parent in enumerate(parents):
            if parent is None:
                cotangents[i] = None
                continue
            c = cotangents[i]
            try:
                fits = c.shape == parent.shape and c.dtype is parent.dtype
            except AttributeError:
                raise TypeError(f"{self.rule_for(i)} gave {type(c).__name__}, which is no array") from None
            if not fits:
                cotangents[i] = self.fit(c, parent, g, i)
        if mode.anomaly:
            for c in cotangents:
                if c is not None:
                    check_finite(c, f"the VJP of {self.name}", node, [g])
        return cotangents

    def cotangents(self, node: Node, g, parents) -> list:
        """What the rules give for the inputs whose parent is not None."""
        saved = self._saved(node)
        if self.joint is not None:
            rule, uses = self.joint
            wanted = [p is not None for p in parents]
            try:
                values = [wanted if i < 0 else saved[i] for i in uses]
                taped = mode.tape is not None and not mode.recording
                given = mode.tape.joint(self, rule, g, values) if taped else rule(g, *values)
            except Exception as error:
                blame(f"the joint VJP of {self.name}", error)
                raise
            if given is not NotImplemented and len(given) != len(parents):
                raise TypeError(f"the joint VJP of {self.name} gave {len(given)} cotangents for {len(parents)} inputs")
            return given if given is NotImplemented else list(given)
        cotangents: list = []
        rules = self.rules if mode.recording else self.array_rules
        for i, parent in enumerate(parents):
            if parent is None:
                cotangents.append(None)
                continue
            entry = rules.get(0 if self.variadic else i)
            if entry is None:
                raise NotImplementedError(f"{self.name} has no VJP for input {self.inputs[i]!r}; pass it detach()ed")
            rule, uses = entry
            try:
                values = [i if k < 0 else saved[k] for k in uses]
                if mode.tape is not None and not mode.recording:
                    cotangents.append(mode.tape.rule(self, self.rules[0 if self.variadic else i][0], rule, g, values))
                else:
                    cotangents.append(rule(g, *values))
            except Exception as error:
                blame(self.rule_for(i), error)
                raise
        return cotangents

    def _saved(self, node: Node) -> list:
        """The values that the rules name, as arrays; or as Tensors on the graph while recording."""
        graph, order, values, saved = mode.recording, node.order, [], node.saved
        tensors = graph or mode.tape is not None
        if saved is None:  # by another thread, since the walk came here
            raise freed(node)
        for x in saved:
            if isinstance(x, Tensor):
                version = x.version
                if version is not None and version[0] > order:
                    self._changed(node, "an input")
                if not tensors:
                    x = x._data
            elif graph and type(x) is Number:
                x = x.shown()
            values.append(x)
        if self.variadic and self.kept and self.kept[0] in self.inputs:
            n = len(node.parents)
            values[:n] = [tuple(values[:n])]
        if self.out is not None and values[self.out] is not None:
            extra = node.extra
            if extra is not None and extra.version is not None and extra.version[0] > order:
                self._changed(node, "the output")
            if tensors:
                out = values[self.out] = wrap(values[self.out])
            if graph:
                out.node, out.requires_grad = node, True  # attached only now: kept on the node it would be a cycle
                out.shared_version()  # a rule's ops save this Tensor, while the user may change the one they have
        return values

    def _changed(self, node, what):
        raise RuntimeError(f"backward: {what} of {self.name} (output shape {node.shape}) was changed in place after "
                           f"{self.name} saved it; change it after backward, or compute from a clone()")

    def fit(self, c, parent, g, i):
        """Undo broadcasting and promotion, for all ops: a cotangent has its input's shape and dtype."""
        if type(c) is Placed:
            c = c.written()
        if c.shape != parent.shape:
            if (summed := ops.reduce.summed_to(c, parent.shape)) is None:
                raise ValueError(f"{self.rule_for(i)} gave shape {c.shape}, which is not {parent.shape} nor broadcasts "
                                 "from it")
            c = summed
        if c.dtype is not parent.dtype:
            if c.dtype is not g.dtype or c.dtype.kind not in FLOATS:
                raise TypeError(f"{self.rule_for(i)} gave {c.dtype}, but the input is {parent.dtype} and the output "
                                f"{g.dtype}")
            c = ops.cast(c, dtype=parent.dtype)
        return c

    def rule_for(self, i) -> str:
        return f"the VJP of {self.name} for input {self.inputs[0 if self.variadic else i]!r}"


class Placed:
    """The cotangent of x from a part x[index]: `value` there, and zeros elsewhere that are not written out.

    So those of many parts, as `split` makes them, go into one array. The value is an array or, on a tape, a Tensor.
    """

    __slots__ = "shape", "dtype", "index", "value"

    def __init__(self, shape, index, value):
        self.shape, self.dtype, self.index, self.value = shape, value.dtype, index, value

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.written())

    def written(self):
        """The whole cotangent, with its zeros."""
        if isinstance(self.value, Tensor):
            return ops.index.put(self.value, shape=self.shape, index=self.index)
        out = np.zeros(self.shape, self.dtype)
        out[self.index] = self.value
        return out


def _of_those_with_axes(inputs) -> list | None:
    """The inputs, with integers without axes in the dtype of those that have some, as in PyTorch: uint8 times a Tensor
    of one int64 is uint8. None if there is nothing to change."""
    wide = {x.dtype for x in inputs if isinstance(x, Tensor) and x.dtype.kind in "iu" and x._data.ndim}
    if not wide:
        return None
    dtype = wide.pop() if len(wide) == 1 else np.result_type(*wide)
    alike = [ops.cast(x, dtype=dtype) if isinstance(x, Tensor) and x.dtype.kind in "iu" and x.dtype is not dtype and
             not x._data.ndim else x for x in inputs]
    return None if all([x is y for x, y in zip(inputs, alike, strict=True)]) else alike


def _astype(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return x.astype(dtype) if mode.tape is None else mode.tape.unit("cast", np.ndarray.astype, [x, dtype])


def _without_integers(inputs, dtype: np.dtype) -> list:
    """The inputs to save: a rule that multiplied with an integer Tensor would meet NumPy's promotion again."""
    return [wrap(_astype(x._data, dtype)) if isinstance(x, Tensor) and x.dtype.kind not in FLOATS else x
            for x in inputs]


def replayed(y: Tensor, g, since: int, keys) -> list:
    """Cotangents from a graph that was recorded only now: of nodes and leaves older than `since`, or None.

    Each is an array of its own, so an op that replays is fresh.
    """
    owned: set = set()
    found = walk(y.node, g, since=since, retain=mode.recording, plus=ops.cotangents.plus, owned=owned)
    if not mode.recording:
        found = {key: c if key in owned else ops.clone(c) for key, c in found.items()}
    return [found.get(key) for key in keys]


def share_version(y: Tensor, inputs) -> None:
    """A view has the version of the Tensor whose memory it shows, so that a change through either is seen."""
    out, node = y._data, y.node
    base = out if out.base is None else out.base
    for x in inputs:
        if isinstance(x, Tensor) and ((data := x._data) is base or data.base is base):
            (x.version or x.shared_version()).show(y)
            if x._apart is not None:
                y._apart = x._apart
            if node is not None and node.op.out is not None:
                node.details().version = y.version
