"""What is called when a gradient is complete, and gradients of inner Tensors."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.tensor import Tensor, _adding, _own, wrap


class Handle:
    """What registering a hook gives: `remove()`, or a call, or the end of a `with` block, removes the hook."""

    def __init__(self, hooks: list[Callable], hook: Callable):
        self._hooks, self._hook = hooks, hook

    def remove(self) -> None:
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)

    __call__ = remove

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


class Hooks:
    """The part of Tensor that hooks are."""

    def register_hook(self: Any, hook: Callable[[Tensor], Tensor | None]) -> Handle:
        """Call `hook(gradient)` when this Tensor's gradient is complete; what it returns, if not None, replaces it.

        Returns a handle, whose `remove()` removes the hook.
        """
        if not self.requires_grad:
            raise RuntimeError("register_hook: this Tensor does not require grad")

        def call(g):
            given = g if isinstance(g, Tensor) else wrap(np.array(g))
            new = hook(given)
            if new is None:
                return g
            if not isinstance(new, Tensor) or new.shape != given.shape or new.dtype is not given.dtype:
                got = f"{new.dtype} {new.shape}" if isinstance(new, Tensor) else type(new).__name__
                raise ValueError(f"register_hook: the hook must return None or a Tensor, {given.dtype} {given.shape}; "
                                 f"got {got}")
            return new if isinstance(g, Tensor) else new._data

        if self.node is not None:
            self.node.add_hook(call)
            hooks = self.node.details().hooks
        else:
            hooks = self._hooks = self._hooks or []
            hooks.append(call)
        return Handle(hooks, call)

    def retain_grad(self: Any) -> Tensor:
        """Have backward fill `.grad` of this inner Tensor too, with what its hooks have left; returns the Tensor."""
        if not self.requires_grad:
            raise RuntimeError("retain_grad: this Tensor does not require grad")
        if self.node is not None:
            ref = weakref.ref(self)  # the node must not keep the Tensor: that would be a cycle

            def keep(g):
                t = ref()
                if t is not None:
                    with _adding:
                        c = _own(g, False)
                        t._grad = c if t._grad is None else t._grad + c

            self.node.details().keep = keep
        return self
