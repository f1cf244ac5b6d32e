"""einops on Tensors: importing this module makes `einops.rearrange` and the others take them; and their layers.

    from nn.einops import Rearrange, rearrange

    y = rearrange(x, "b c (h 2) (w 2) -> b (c 2 2) h w")

Source: Rogozhnikov 2022. Needs the extra `einops`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import FLOATS
from tinygrad_like.environment import require

from . import init
from .module import Module, Parameter

try:
    from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
    from einops._backends import AbstractBackend
    from einops.layers import RearrangeMixin, ReduceMixin
    from einops.layers._einmix import _EinmixMixin
except ImportError:
    require("nn.einops", "einops")
    raise

__all__ = ["EinMix", "Rearrange", "Reduce", "einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"]


class TinygradLikeBackend(AbstractBackend):
    """What einops asks of a framework. It finds this class among the subclasses of its own."""

    framework_name = "tinygrad_like"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: np.ndarray) -> Tensor:
        return Tensor(x, requires_grad=x.dtype.kind in FLOATS)

    def to_numpy(self, x: Tensor) -> np.ndarray:
        return x.detach().numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return Tensor.arange(start, stop)

    def transpose(self, x: Tensor, axes: Any) -> Tensor:
        return ops.permute(x, axes=tuple(axes))

    def reduce(self, x: Tensor, operation: str, axes: Any) -> Tensor:
        return getattr(ops, operation)(x, axis=tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: list) -> Tensor:
        return ops.stack(*tensors)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return ops.unsqueeze(x, new_position)

    def tile(self, x: Tensor, repeats: Any) -> Tensor:
        return ops.repeat(x, repeats)

    def concat(self, tensors: Any, axis: int) -> Tensor:
        return ops.cat(*tensors, axis=axis)

    def is_float_type(self, x: Tensor) -> bool:
        return x.dtype.kind in FLOATS

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        return ops.einsum(pattern, *x)

    def layers(self) -> Any:
        from . import einops

        return einops


class Rearrange(RearrangeMixin, Module):
    """`rearrange` as a layer: Rearrange("b c h w -> b (c h w)")."""

    def forward(self, x: Tensor) -> Tensor:
        return self._apply_recipe(x)


class Reduce(ReduceMixin, Module):
    """`reduce` as a layer: Reduce("b c h w -> b c", "mean")."""

    def forward(self, x: Tensor) -> Tensor:
        return self._apply_recipe(x)


class EinMix(_EinmixMixin, Module):
    """A Linear between any axes: EinMix("t b c -> t b d", weight_shape="c d", bias_shape="d", c=8, d=4).

    weight and bias start as einops starts them: uniform with the variances 1 / fan_in and 1 / (3 fan_in).
    """

    def _create_parameters(self, weight_shape: list, weight_bound: float, bias_shape: list | None,
                           bias_bound: float) -> None:
        self.weight = Parameter(Tensor.empty(*weight_shape))
        init.uniform_(self.weight, -weight_bound, weight_bound)
        self.bias = None if bias_shape is None else Parameter(Tensor.empty(*bias_shape))
        if self.bias is not None:
            init.uniform_(self.bias, -bias_bound, bias_bound)

    def _create_rearrange_layers(self, before: str | None, before_lengths: dict | None, after: str | None,
                                 after_lengths: dict | None) -> None:
        self.before = None if before is None else Rearrange(before, **before_lengths or {})
        self.after = None if after is None else Rearrange(after, **after_lengths or {})

    def forward(self, x: Tensor) -> Tensor:
        x = x if self.before is None else self.before(x)
        y = ops.einsum(self.einsum_pattern, x, self.weight)
        y = y if self.bias is None else y + self.bias
        return y if self.after is None else self.after(y)
