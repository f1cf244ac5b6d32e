"""Activation checkpointing: drop the saved values of a part of the graph, and recompute them in backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.graph import Node, freed, mode, setting, tick
from ..core.tensor import Tensor
from ..methods.gradients import node_of, output_of
from ..ops.composite import rerun
from ..random import restore_state, saved_state
from ..transforms.switches import after


def checkpoint(f: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True,
               **options: Any) -> Any:
    """f(*args, **options), but keep only the result: backward calls f again.

    For L blocks in a row, y = checkpoint(block, y) keeps the activations of one block at a time instead of L, and costs
    an extra forward. f returns a Tensor or a tuple of Tensors, and may use Tensors besides its arguments, such as a
    module's parameters. Random numbers, as in dropout, are the same both times; side effects of f, such as updates of
    running statistics, happen twice. Backward calls f once per result with a gradient. PyTorch's options use_reentrant
    and preserve_rng_state have no effect.

    Raises TypeError if f returns anything else; and in backward RuntimeError if a Tensor that f used has changed in
    place since, or if f returns another shape than before. (Chen et al., Training deep nets with sublinear memory cost,
    2016)
    """
    if not mode.recording:
        return f(*args, **options)
    state, since = saved_state(), tick()
    used: dict[int, tuple] = {}

    def watch(op, inputs, op_options, result):
        """Remember the version of a Tensor from outside f; the Tensor itself need not be kept."""
        for x in inputs:
            if isinstance(x, Tensor) and (x.node is None or x.node.order <= since):
                version = x.shared_version()
                used.setdefault(id(version), (version, x.shape))

    with after(watch):
        made = f(*args, **options)
    results = [_kept(y, since, (f, args, options, state), used, which) for which, y in enumerate(_tuple(made))]
    return tuple(results) if isinstance(made, tuple | list) else results[0]


def _tuple(made: Any) -> tuple[Tensor, ...]:
    ys = tuple(made) if isinstance(made, tuple | list) else (made,)
    for y in ys:
        if not isinstance(y, Tensor):
            raise TypeError(f"checkpoint: the function must return a Tensor or a tuple of them, got {type(y).__name__}")
    return ys


def _kept(y: Tensor, since: int, call: tuple, used: dict, which: int) -> Tensor:
    """y, with everything recorded since `since` replaced by a single node."""
    if y.node is None or y.node.order <= since:
        return y
    return output_of(node_of(_op, _below(y.node, since), y.shape, y.dtype, (call, which, used)), y)


def _below(root: Node, since: int) -> list:
    """The leaves, and the nodes recorded up to tick `since`, that the graph of root builds on."""
    seen, stack = {root}, [root]
    found: list = []
    while stack:
        for parent in stack.pop().parents:
            if parent is None or parent in seen:
                continue
            seen.add(parent)
            (stack if type(parent) is Node and parent.order > since else found).append(parent)
    return found


class _Recompute:
    """The op of a checkpoint's node: its VJP is the VJP of the graph recorded by calling f again."""

    name = "checkpoint"
    fresh = saves = True

    def pull(self, node: Node, g: Any, parents: list) -> list:
        saved = node.saved
        if saved is None:  # freed by another thread in the meantime
            raise freed(node)
        (f, args, options, state), which, used = saved
        for version, shape in used.values():
            if version[0] > node.order:
                raise RuntimeError(f"backward: a Tensor of shape {shape} was changed in place after checkpoint used "
                                   "it; change it after backward, or compute from a clone()")
        now = saved_state()
        restore_state(state)
        try:
            with setting("recording", True):
                since = tick()
                y = _tuple(f(*args, **options))[which]
        finally:
            restore_state(now)
        if y.node is None or y.shape != node.shape or y.dtype is not node.dtype:
            raise RuntimeError(f"backward: a checkpointed function returned shape {node.shape} and {node.dtype}, but "
                               f"{y.shape} and {y.dtype} when called again; it must be deterministic")
        return rerun(y, g, since, parents)


_op = _Recompute()
