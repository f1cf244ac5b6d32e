"""Distances and similarities of two inputs, and the bilinear layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named
from tinygrad_like.ops.softmax import check_reduction

from . import init
from .loss import _Loss
from .module import Configured, Module, Parameter, check_positive


@named
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along axis dim of their common shape."""
    if x1.shape != x2.shape:
        shape = np.broadcast_shapes(x1.shape, x2.shape)
        x1, x2 = ops.expand(x1, shape=shape), ops.expand(x2, shape=shape)
    lengths = [ops.linalg.vector_norm(x, 2, dim, True).maximum(eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(axis=dim)


@named
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """|x1 - x2 + eps|_p along the last axis."""
    return ops.linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim)


@named
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances |x_i - x_j|_p of all pairs i < j of the rows of a matrix (n, size) -> (n (n - 1) / 2,)."""
    if input.ndim != 2:
        raise ValueError(f"pdist: takes a matrix, got shape {input.shape}")
    i, j = np.triu_indices(len(input), 1)
    d = input[i] - input[j]
    return ops.linalg.vector_norm(d, p, -1) if p else ops.linalg.vector_norm(d, p, -1) + (d * 0.0).sum(axis=-1)


@named
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y_k = x1^T W_k x2 + b_k: (..., in1), (..., in2), weight (out, in1, in2) -> (..., out)."""
    if weight.ndim != 3 or (input1.shape[-1:], input2.shape[-1:]) != (weight.shape[1:2], weight.shape[2:]) or (
            input1.shape[:-1] != input2.shape[:-1]):
        raise ValueError(f"bilinear: takes (..., in1), (..., in2) and weight (out, in1, in2), got shapes "
                         f"{input1.shape}, {input2.shape} and {weight.shape}")
    out, in1, in2 = weight.shape
    a, b = ops.reshape(input1, shape=(-1, in1)), ops.reshape(input2, shape=(-1, in2))
    left = (a @ ops.reshape(ops.permute(weight, axes=(1, 0, 2)), shape=(in1, out * in2))).reshape(-1, out, in2)
    y = (left @ ops.unsqueeze(b, 2)).reshape(*input1.shape[:-1], out)
    return y if bias is None else y + bias


@named
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable | None = None, margin: float = 1.0,
                                      swap: bool = False, reduction: str = "mean") -> Tensor:
    """max(0, d(a, p) - d(a, n) + margin) with a distance of one's own; swap: d(p, n) counts if it is smaller."""
    check_reduction("triplet_margin_with_distance_loss", reduction)
    distance = distance_function or pairwise_distance
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    loss = ops.relu(distance(anchor, positive) - far + margin)
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


class CosineSimilarity(Configured):
    """The cosine of the angle of x1 and x2 along axis dim, see `nn.functional.cosine_similarity`."""

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Configured):
    """|x1 - x2 + eps|_p along the last axis."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)


class Bilinear(Module):
    """y_k = x1^T W_k x2 + b_k: (..., in1_features), (..., in2_features) -> (..., out_features).

    weight: (out_features, in1_features, in2_features), bias: (out_features,), absent with bias=False.
    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True):
        check_positive(self, in1_features=in1_features, in2_features=in2_features, out_features=out_features)
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(Tensor.empty(out_features, in1_features, in2_features))
        self.bias = Parameter(Tensor.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniformly from [-1/sqrt(in1_features), 1/sqrt(in1_features))."""
        bound = 1 / math.sqrt(self.in1_features)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
                f"out_features={self.out_features}, bias={self.bias is not None}")


class TripletMarginWithDistanceLoss(_Loss):
    """max(0, d(a, p) - d(a, n) + margin) with a distance of one's own, by default the Euclidean."""

    def __init__(self, *, distance_function: Callable | None = None, margin: float = 1.0, swap: bool = False,
                 reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self.distance_function: Any = distance_function or PairwiseDistance()
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function,
                                                 margin=self.margin, swap=self.swap, reduction=self.reduction)
