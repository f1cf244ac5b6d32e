"""The affine layer, and layers that only change shapes."""

from __future__ import annotations

import math
from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

from . import init
from .configured import Configured
from .module import Module, Parameter, check_positive


class Linear(Module):
    """y = x W^T + b, the building block MM of (7.35), at every position of the leading axes (7.17-7.19; 003).

    x: (..., in_features) -> y: (..., out_features)
    weight: (out_features, in_features); bias: (out_features,), left out with `bias=False`

    Both are drawn uniformly from [-1/sqrt(in_features), 1/sqrt(in_features)), as in PyTorch.
    Raises ValueError if the features are not positive integers, or the last axis of x is not in_features.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        check_positive(self, in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(Tensor.empty(out_features, in_features))
        self.bias = Parameter(Tensor.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise weight and bias again."""
        bound = 1 / math.sqrt(self.in_features)  # kaiming_uniform_(weight, a=sqrt(5)), written out
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        return ops.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Identity(Module):
    """y = x. It accepts and ignores any arguments, so it can replace any layer."""

    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def forward(self, x: Any) -> Any:
        return x


class Flatten(Configured, op=lambda x, start_dim=1, end_dim=-1: x.flatten(start_dim, end_dim)):
    """Merge the axes start_dim to end_dim: by default (batch, ...) -> (batch, features).

    A Linear after it mixes the flattened axes, such as time and channels (003).
    """


class Unflatten(Configured, op=lambda x, dim, unflattened_size: x.unflatten(dim, unflattened_size)):
    """Split axis dim into several of sizes unflattened_size, the inverse of Flatten. One size may be -1."""

    unflattened_size: tuple[int, ...]

    def __post_init__(self):
        if isinstance(self.unflattened_size, int):
            raise TypeError(f"Unflatten: unflattened_size={self.unflattened_size} must be sizes, such as (2, 4)")
        self.unflattened_size = tuple(self.unflattened_size)


class Permute(Configured, op=lambda x, dims: x.permute(*dims)):
    """Permute the axes of x, as `x.permute(*dims)` does."""

    dims: tuple[int, ...]

    def __post_init__(self):
        if isinstance(self.dims, int):
            raise TypeError(f"Permute: dims={self.dims} must be all axes in their new order, such as (0, 2, 1)")
        self.dims = tuple(self.dims)
