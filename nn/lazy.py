"""Layers that take the number of their inputs from the first input; from then on they are ordinary layers."""

from __future__ import annotations

from inspect import signature
from typing import Any

from tinygrad_like.core.listener import observe
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.random import get_rng_state, set_rng_state

from .conv import Conv1d, Conv2d, Conv3d
from .linear import Linear
from .module import Parameter


def _lazy(kind: type, count: str, axis: int) -> Any:
    """The class of a `kind` of layer without its first argument, `count`, which is the size of the input's `axis`.

    Until then its parameters are empty; they stay the same objects, so an optimizer may have them already.
    """
    takes = signature(kind.__init__)  # type: ignore[misc]

    def __init__(self, *args: Any, **options: Any) -> None:
        groups = takes.bind(self, 1, *args, **options).arguments.get("groups", 1)
        before = get_rng_state()
        trial = kind(groups, *args, **options)  # which checks them, and knows which parameters there will be
        set_rng_state(before)
        self.given = args, options
        for name, value in vars(trial).items():
            setattr(self, name, Parameter(Tensor.empty((0,) * value.ndim)) if isinstance(value, Parameter) else value)
        setattr(self, count, 0)

    def forward(self, input: Tensor, *others: Any) -> Any:
        observe(f"the first call of {type(self).__name__}, which makes parameters", None,
             "call the model once before it is captured")
        if input.ndim < max(axis + 1, -axis):
            raise ValueError(f"{type(self).__name__}: an input of shape {input.shape} has no axis {axis}")
        args, options = self.given
        made = kind(input.shape[axis], *args, **options)
        del self.given
        for name, value in vars(made).items():
            old = getattr(self, name)
            if isinstance(value, Tensor) and isinstance(old, Tensor):  # which may have been cast, or be frozen
                old.data = value._data.astype(old.dtype) if old.dtype.kind == value.dtype.kind else value._data
            elif name != "training":
                setattr(self, name, value)
        self.__class__ = kind
        return self.forward(input, *others)

    __init__.__signature__ = takes.replace(  # type: ignore[attr-defined]
        parameters=[p for p in takes.parameters.values() if p.name != count])
    doc = f"`{kind.__name__}` whose {count} is the size of axis {axis} of its first input; then it is that layer."
    return type(f"Lazy{kind.__name__}", (kind,), {"__init__": __init__, "forward": forward, "__doc__": doc,
                                                  "__module__": __name__})


LazyLinear = _lazy(Linear, "in_features", -1)
LazyConv1d, LazyConv2d, LazyConv3d = [_lazy(kind, "in_channels", -1 - kind.axes) for kind in (Conv1d, Conv2d, Conv3d)]
