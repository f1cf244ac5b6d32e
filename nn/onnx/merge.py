"""One graph out of several traces of a model: for batches of different sizes, and different values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import Node
from .trace import Trace

_FEW = 1024  # bytes up to which equal constants become one


class Merge:
    """What all traces have in common. Where they differ in a constant, this is slope * batch + fixed, or ValueError is
    raised, as for all else in which they differ.

    sizes: those of the batches. batch: an input that has this size, and along which axis; None if it is fixed.
    """

    def __init__(self, traces: Sequence[Trace], sizes: Sequence[int], batch: tuple[str, int] | None):
        self.graph, self.sizes, self.batch = traces[0].graph, sizes, batch
        self.nodes: list[Node] = []  # that compute constants from the batch
        self.constants: dict[str, np.ndarray] = {}
        self.known: dict[Any, str] = {}
        for trace in traces[1:]:
            self._compare(traces[0], trace)
        names: dict[str, str] = {}
        for name, (array, where) in self.graph.constants.items():
            if where:
                names[name] = self._value(name, where, [trace.graph.constants[name].array for trace in traces])
            else:
                self.constants[name] = array
        self.nodes += [node._replace(inputs=[names.get(x, x) for x in node.inputs]) for node in self.graph.nodes]
        self.outputs = [(names.get(y.name, y.name), y.dtype, self._shape([trace.outputs[i].shape for trace in traces]))
                        for i, y in enumerate(traces[0].outputs)]

    def _compare(self, a: Trace, b: Trace) -> None:
        """Raise ValueError if they differ in anything but the values of constants."""
        for mine, other in zip(a.graph.nodes, b.graph.nodes, strict=False):
            if mine[:3] != other[:3]:
                raise self._differs("the model runs other ops", mine.where, other.where)
            for name, value in mine.attributes.items():
                if value != (now := other.attributes.get(name)):
                    raise self._differs(f"{name} of {mine.kind}, which an ONNX model cannot compute, is another one, "
                                        f"{value} and {now}", mine.where)
        longer, shorter = sorted((a.graph.nodes, b.graph.nodes), key=len, reverse=True)
        if len(longer) > len(shorter):
            raise self._differs("the model runs more ops", longer[len(shorter)].where)
        if [(y.name, len(y.shape)) for y in a.outputs] != [(y.name, len(y.shape)) for y in b.outputs]:
            raise self._differs("the model returns another Tensor, or one with other axes,",
                                *(f"shape {y.shape}" for y in (*a.outputs, *b.outputs)))

    def _differs(self, what: str, *where: str) -> ValueError:
        of_batch = " or in a batch of another size, which is allowed with batch_axis=None" if self.batch else ""
        return ValueError(f"onnx.export: {what} for other inputs{of_batch}: {'; '.join(dict.fromkeys(where))}")

    def _value(self, name: str, where: str, arrays: Sequence[np.ndarray]) -> str:
        """The name of a constant, or of what is computed in its place."""
        few = all([x.nbytes <= _FEW for x in arrays])
        key = tuple([(x.dtype, x.shape, x.tobytes()) for x in arrays]) if few else name
        if key not in self.known:
            if all([_equal(arrays[0], x) for x in arrays[1:]]):
                self.constants[name], self.known[key] = arrays[0], name
            else:
                self.known[key] = self._computed(where, arrays)
        return self.known[key]

    def _computed(self, where: str, arrays: Sequence[np.ndarray]) -> str:
        """slope * batch + fixed, spread along axes whose size differs, if all numbers along them are equal."""
        shapes, rows = [x.shape for x in arrays], list(arrays)
        for axis in [axis for axis, sizes in enumerate(zip(*shapes, strict=False)) if len(set(sizes)) > 1]:
            firsts = [x.take([0], axis) if x.shape[axis] else x for x in rows]
            rows = [y if _equal(np.broadcast_to(y, x.shape), x) else x for y, x in zip(firsts, rows, strict=True)]
        found = _line(rows, self.sizes)
        if found is None:
            shown = "; ".join([f"{_brief(x)} in a batch of {n}" if self.batch else _brief(x)
                               for x, n in zip(arrays, self.sizes, strict=True)])
            raise ValueError(f"onnx.export: there is another constant in each call, {shown}: {where}. Only a * batch + "
                             "b can be computed in its place, and nothing that comes from values by way of Python, "
                             "from random numbers or from an earlier call")
        slope, fixed = found
        value = self._value(self.graph.fresh("constant"), where, [fixed])
        if slope.any():
            scale = self._value(self.graph.fresh("constant"), where, [slope])
            value = self._node("Add", self._node("Mul", self._batch(slope.dtype), scale), value)
        if len(set(shapes)) > 1:
            shape = self._value(self.graph.fresh("constant"), where, [np.array(s, np.int64) for s in shapes])
            value = self._node("Expand", value, shape)
        return value

    def _batch(self, dtype: np.dtype) -> str:
        """The size of the batch, as a number of this dtype."""
        if dtype not in self.known:
            name, axis = self.batch  # type: ignore[misc]  # without it all sizes are equal, and no slope is found
            size = self._node("Shape", name, start=axis, end=axis + 1)
            self.known[dtype] = self._node("Cast", self._node("Squeeze", size), to=self.graph.code(dtype))
        return self.known[dtype]

    def _node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        made = self.graph.fresh(kind)
        self.nodes.append(Node(kind, list(inputs), [made], attributes, ""))
        return made

    def _shape(self, shapes: Sequence[tuple[int, ...]]) -> list[int | str | None]:
        """The shape of an output: its sizes, "batch", or None for another one that depends on it."""
        return [sizes[0] if len(set(sizes)) == 1 else "batch" if sizes == tuple(self.sizes) else None
                for sizes in zip(*shapes, strict=True)]


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a is b or a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _line(arrays: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray] | None:
    """Slope and fixed, if all arrays are slope * size + fixed."""
    a, b, dtype = arrays[0], arrays[-1], arrays[0].dtype
    if len({(x.dtype, x.shape) for x in arrays}) > 1:
        return None
    if all([_equal(a, x) for x in arrays]):
        return np.zeros((), dtype), a
    if dtype.kind not in "iuf" or len(set(sizes)) < 3:
        return None
    whole = dtype.kind != "f"
    a, b = (x.astype(np.int64 if whole else np.float64) for x in (a, b))
    with np.errstate(all="ignore"):
        slope = (b - a) // (sizes[-1] - sizes[0]) if whole else np.where(a == b, 0, (b - a) / (sizes[-1] - sizes[0]))
        fixed = a - slope * sizes[0]
        rounded = 0 if whole else 4 * np.finfo(dtype).eps * np.maximum(abs(a), abs(b))
        for x, n in zip(arrays, sizes, strict=True):
            if not ((x == slope * n + fixed) | (abs(x - (slope * n + fixed)) <= rounded) | (x != x) & (a != a)).all():
                return None
    return slope.astype(dtype), fixed.astype(dtype)


def _brief(x: np.ndarray) -> str:
    return str(x.tolist()) if x.size <= 6 else f"{x.dtype} {x.shape}"
