"""Tensor: an array, its gradient, and the node that made it.

`methods/` installs its other methods: `touch` and versions, gradients of targets, names, operators.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import as_array
from ..errors import named
from .basics import basics
from .graph import Node, mode, setting, walk
from .listener import effect, pure

if TYPE_CHECKING:
    from .. import _Surface as Surface
else:
    Surface = object


_array = pure(as_array)


class Tensor(Surface):
    """An n-dimensional array that remembers how it was computed.

    `Tensor(data)` copies `data` (a number, nested sequence, array or Tensor). Python floats become float32 (see
    `set_default_dtype`) and ints int64; arrays keep their dtype. With `requires_grad=True`, ops on it are recorded and
    `backward()` fills `.grad`.
    Raises TypeError for data no array can hold and for integers that require grad, ValueError for ragged rows.
    """

    # Defaults live on the class: a result stores only what differs, which makes recording cheap.
    _data: np.ndarray  # the array behind the property `data`, without its checks
    _grad: Tensor | None = None  # the gradient behind the property `grad`, likewise
    grad: Tensor | None
    node: Node | None = None  # the op that made this Tensor, while the graph is alive
    requires_grad: bool = False
    version: Any = None  # [the tick of the last in-place change], a list shared by all views of the memory
    _hooks: list[Callable] | None = None  # of a leaf; an inner Tensor's hooks are on its node
    _after: list[Callable] | None = None  # of a leaf: called once its .grad is set

    def __init__(self, data: Any, requires_grad: bool = False, dtype: Any = None):
        self._data = _array(data._data if isinstance(data, Tensor) else data, dtype, "Tensor")
        if requires_grad:
            self.requires_grad_()

    # attrgetter, since a Python function takes twice as long.
    shape: tuple[int, ...] = property(operator.attrgetter("_data.shape"))  # type: ignore[assignment]
    ndim: int = property(operator.attrgetter("_data.ndim"))  # type: ignore[assignment]
    dtype: np.dtype = property(operator.attrgetter("_data.dtype"))  # type: ignore[assignment]

    @named
    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether ops on this leaf are recorded, and return it. Raises TypeError unless it is floating point."""
        if requires_grad and not self.is_floating_point():
            raise TypeError(f"requires_grad: a Tensor of {self.dtype} cannot require grad; cast it with .float() first")
        if self.node is not None and not requires_grad:
            raise RuntimeError(f"requires_grad_: this Tensor was computed by {self.node.op.name}; use detach()")
        self.requires_grad = requires_grad
        return self

    def backward(self, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False,
                 inputs: Any = None) -> None:
        """Add d(self)/d(leaf), contracted with `gradient`, to the `.grad` of every leaf that requires grad.

        gradient: the cotangent of this Tensor, of its shape; by default 1 for a single element.
        retain_graph: keep the graph for another backward; otherwise it is freed as the walk passes.
        create_graph: record the gradient computation, so you can differentiate it (implies retain_graph).
        inputs: add to the `.grad` of these Tensors only, instead of all leaves'.

        Raises ValueError for a missing or mis-shaped `gradient`, RuntimeError if nothing was recorded or it was freed.
        An exception in a rule or a hook leaves every `.grad` as it was; Ctrl-C while gradients are added may not.
        """
        if inputs is not None:
            found = self._gradients_of("backward", inputs, gradient, create_graph, retain_graph or create_graph)
        else:
            g = self._seed("backward", gradient, create_graph)
            with setting("recording", create_graph), setting("filling", True):
                found, owned = [], set()  # type: ignore[var-annotated]
                table = walk(self.node or self, g, retain=retain_graph or create_graph, plus=basics.plus, owned=owned)
                while table:  # popped one by one, which frees each after its copy
                    x, c = table.popitem()
                    if x.requires_grad:  # still
                        added = x._grad is not None and not x._hooks and type(c) is np.ndarray
                        found.append((x, c if added else x._completed(c, x in owned)))
            for x, c in found:
                if x._grad is not None and x._grad.shape != c.shape:
                    raise RuntimeError(f"backward: the gradient has shape {c.shape}, but .grad, from before .data "
                                       f"was changed, {x._grad.shape}; call zero_grad() first")
            found.reverse()
        with setting("recording", create_graph):
            with _adding:
                if mode.listener is not None:
                    mode.listener.tell("gradient", *[x for x, _ in found])
                for x, c in found:
                    add_gradient(x, c)
            for x in [x for x, _ in found if x._after]:
                for hook in tuple(x._after):
                    hook(x)

    def _completed(self, c: Any, owned: bool) -> Tensor:
        """A cotangent as the gradient of this Tensor, after its own hooks."""
        c = basics.own(c, owned)
        for hook in tuple(self._hooks or ()) if self.node is None else ():
            c = hook(c)
        return c

    def _seed(self, who: str, gradient: Any, create_graph: bool) -> Any:
        if not self.requires_grad:
            raise RuntimeError(f"{who}: this Tensor does not require grad: it was computed from Tensors without "
                               "requires_grad=True, under no_grad, or by an op without VJP rules, such as argmax")
        on_tensors = mode.listener is not None and mode.listener.on_tensors
        if gradient is None:
            if self._data.size != 1:
                raise ValueError(f"{who}: a Tensor of shape {self.shape} needs gradient=, a cotangent of that shape; "
                                 "or reduce it to one number with .sum() or .mean()")
            one = basics.one(self.shape, self.dtype)
            return wrap(one) if on_tensors else wrap(one.copy()) if create_graph else one
        gradient = gradient if isinstance(gradient, Tensor) else wrap(as_array(gradient, self.dtype, who))
        if gradient.shape != self.shape:
            raise ValueError(f"{who}: gradient has shape {gradient.shape} but the Tensor has shape {self.shape}")
        if gradient.dtype is not self.dtype:
            gradient = basics.cast(gradient, dtype=self.dtype)
        return gradient if create_graph or on_tensors else gradient._data


def wrap(array: np.ndarray) -> Tensor:
    """A Tensor on `array`, without a copy or check: for arrays created by the engine."""
    t = Tensor.__new__(Tensor)
    t._data = array
    return t


def add_gradient(x: Tensor, c: Any) -> None:
    """Add c, an array or a Tensor, to the `.grad` of x.

    A gradient changes in place, since its memory may be part of a flat array of all gradients.
    """
    grad = x._grad
    if grad is None:
        x._grad = c
    elif mode.recording or grad.node is not None or not grad._data.flags.writeable or grad.dtype is not c.dtype:
        x._grad = grad + (wrap(c) if type(c) is np.ndarray else c)
    else:
        array = c if type(c) is np.ndarray else c._data
        if mode.listener is None:
            basics.accumulate(grad._data, array)
        else:
            effect("add_part", basics.add_part, grad._data, (...,), array, writes=[grad._data])
        grad.touch()


_adding = threading.RLock()  # reading, adding and writing is not atomic, and two threads may share a leaf
