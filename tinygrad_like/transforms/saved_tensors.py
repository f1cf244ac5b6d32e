"""What backward needs, kept in another form in between: PyTorch's `autograd.graph.saved_tensors_hooks`.

A listener puts an op of its own into each node that was recorded: it unpacks what the rules need, and then has the real
one work. So recording costs nothing where there are no hooks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..core.dispatch import Op
from ..core.graph import Node, freed, mode, setting
from ..core.listener import observe
from ..core.tensor import Tensor, wrap
from ..transforms.switches import after


class saved_tensors_hooks:
    """In a `with` block, what ops save for backward is kept as `pack_hook(x)`; `unpack_hook` of that is used there.

    pack_hook: a function of a Tensor, which stands on no graph, to anything, such as its values in half precision or
    the name of a file. unpack_hook: the way back, to a Tensor of the same shape and dtype. Of several blocks inside one
    another the innermost counts. What a `Function` saves by itself stays as it is.

    Raises TypeError in backward if unpack_hook gives something else, RuntimeError in a captured function.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self.before: list[tuple] = []

    def __enter__(self) -> saved_tensors_hooks:
        observe("saved_tensors_hooks", None, "use it outside, where functions run without capture")
        self.before.append(mode.listener)
        _Packs(self).__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        mode.listener = self.before.pop()


class save_on_cpu(saved_tensors_hooks):
    """PyTorch's block that keeps what backward needs in the memory of the CPU, where it is here anyway."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu"):
        super().__init__(lambda x: x, lambda x: x)

    def __enter__(self) -> save_on_cpu:
        return self

    def __exit__(self, *error: Any) -> None:
        pass


def _innermost() -> Any:
    listener = mode.listener
    while not isinstance(listener, _Packs):
        listener = listener.outer
    return listener


class _Packs(after):
    def __init__(self, hooks: saved_tensors_hooks):
        super().__init__(self.replace)
        self.hooks = hooks

    def replace(self, op: Op, inputs: Any, options: dict, y: Tensor) -> None:
        node = y.node
        if self is not _innermost() or node is None or node.op is not op:
            return
        if not any([isinstance(x, Tensor | np.ndarray) for x in node.saved]):
            return
        with setting("listener", None), setting("recording", False):
            packed = tuple([self.pack(x, y, i == op.out) for i, x in enumerate(node.saved)])
        node.saved, node.op = packed, _Unpacking(op, self.hooks.unpack_hook)

    def pack(self, x: Any, y: Tensor, is_out: bool) -> Any:
        if not isinstance(x, Tensor | np.ndarray):
            return x
        shown = y.detach() if is_out else x.detach() if isinstance(x, Tensor) else wrap(x)
        packed = _Packed(self.hooks.pack_hook(shown), shown.shape, shown.dtype, type(x) is np.ndarray, None, None)
        if isinstance(x, Tensor) and x.requires_grad:
            return packed._replace(node=x.node, leaf=x if x.node is None else None)
        return packed


class _Packed(NamedTuple):
    """A saved value in another form, and where it stands on the graph."""

    value: Any
    shape: tuple[int, ...]
    dtype: np.dtype
    is_array: bool
    node: Node | None
    leaf: Tensor | None


class _Unpacking:
    """An op, before whose rules what they need is unpacked."""

    saves = True

    def __init__(self, op: Op, unpack: Callable):
        self.op, self.unpack, self.lock = op, unpack, threading.RLock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.op, name)

    def pull(self, node: Node, g: Any, parents: Any) -> list:
        with self.lock:  # of two threads, of which each unpacks
            if (packed := node.saved) is None:
                raise freed(node)
            with setting("listener", None), setting("recording", False):
                values = [self.unpacked(x, node) for x in packed]
            try:
                node.saved = tuple([self.on_graph(x, value) for x, value in zip(packed, values, strict=True)])
                return self.op.pull(node, g, parents)
            finally:
                node.saved = packed

    def unpacked(self, x: Any, node: Node) -> Any:
        if type(x) is not _Packed:
            return x
        t = self.unpack(x.value)
        if not isinstance(t, Tensor) or t.shape != x.shape or t.dtype != x.dtype:
            got = f"{t.dtype} {t.shape}" if isinstance(t, Tensor) else type(t).__name__
            raise TypeError(f"saved_tensors_hooks: unpack_hook gave {got} for what {self.op.name} has saved; it must "
                            f"give a Tensor, {x.dtype} {x.shape}")
        if t.version is not None and t.version[0] > node.order:
            self.op._changed(node, "what")
        return t._data if x.is_array else t

    def on_graph(self, x: Any, value: Any) -> Any:
        """The value as the Tensor that was saved, so that gradients of gradients reach what that came from."""
        if type(x) is not _Packed or x.is_array or not mode.recording or x.node is None and x.leaf is None:
            return value
        if x.leaf is not None:
            y = ops.identity(x.leaf)
            y._data = value._data
            return y
        y = wrap(value._data)
        y.node, y.requires_grad = x.node, True
        return y
