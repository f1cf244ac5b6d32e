"""Normalisation layers (7.40-7.47; 002; 003), which give each set of values mean 0 and variance 1.

RMSNorm alone keeps the mean, and makes the mean square 1. LayerNorm, RMSNorm, GroupNorm and InstanceNorm treat each
example separately. BatchNorm uses the whole batch, so it differs between training and evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.listener import effect, pure
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.ops import collective, normalization

from . import init
from .containers import fuses, with_relu
from .linear import Identity
from .module import Module, Parameter, check_positive, described

Norm = Callable[[int], Module] | None  # from a number of features or channels to a norm; None for no norm


def make_norm(who: str, norm: Norm, features: int) -> Module:
    """`norm(features)`, or an Identity for None. Raises TypeError, in the name of `who`, unless that is a Module."""
    made = Identity() if norm is None else None if isinstance(norm, Module) or not callable(norm) else norm(features)
    if not isinstance(made, Module):
        raise TypeError(f"{who}: norm must return a Module for a number of channels, such as nn.LayerNorm or "
                        f"lambda n: nn.GroupNorm(4, n), or be None; got {described(norm)}")
    return made


class _Norm(Module):
    """A layer with an optional weight, initially 1, and an optional bias, initially 0."""

    weight: Parameter | None
    bias: Parameter | None

    def _make_parameters(self, shape: tuple[int, ...], weight: bool, bias: bool) -> None:
        self.weight = Parameter(Tensor.empty(*shape)) if weight else None
        self.bias = Parameter(Tensor.empty(*shape)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _TrailingNorm(_Norm):
    """A norm over the trailing axes, of shape normalized_shape."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None, elementwise_affine: bool, bias: bool):
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        if not shape or not all(isinstance(n, int) and n > 0 for n in shape):
            raise ValueError(f"{type(self).__name__}: normalized_shape must be one or more positive integers, got "
                             f"{shape}")
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self._make_parameters(shape, elementwise_affine, elementwise_affine and bias)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LayerNorm(_TrailingNorm):
    """y = weight * (x - mean) / sqrt(var + eps) + bias over the trailing axes of x, of shape normalized_shape (7.41).

    Before a ReLU or after a Linear, it makes the scale of the weights below irrelevant (7.42). For images,
    LayerNorm((channels, height, width)) is variant A of 002; variant B normalises each pixel, with channels last.

    Raises ValueError if x does not end in normalized_shape.
    """

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True):
        super().__init__(normalized_shape, eps, elementwise_affine, bias)

    def extra_repr(self) -> str:
        return super().extra_repr() + ", bias=False" * (self.elementwise_affine and self.bias is None)

    def forward(self, x: Tensor) -> Tensor:
        return ops.layer_norm(x, self.weight, self.bias, normalized_shape=self.normalized_shape, eps=self.eps)


class LayerNorm2d(LayerNorm):
    """LayerNorm over the channels of each pixel: variant B of 002, with channels first.

    x: (batch, normalized_shape, height, width) -> same shape. Names as in torchvision.
    """

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim != 4 or x.shape[1:2] != self.normalized_shape:
            raise ValueError(f"LayerNorm2d: expected (batch, {self.normalized_shape[0]}, height, width), got shape "
                             f"{x.shape}")
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class RMSNorm(_TrailingNorm):
    """y = weight * x / sqrt(mean(x^2) + eps) over the trailing axes of x, of shape normalized_shape (002; 003).

    LayerNorm without the shift, hence cheaper. eps: by default the machine epsilon of x's dtype.
    """

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None,
                 elementwise_affine: bool = True):
        super().__init__(normalized_shape, eps, elementwise_affine, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return ops.rms_norm(x, self.weight, normalized_shape=self.normalized_shape, eps=self.eps)


class GroupNorm(_Norm):
    """Normalise each of num_groups groups of neighbouring channels of each example (002).

    x: (batch, channels, ...); weight, bias: (channels,). It does not depend on the batch, so it suits small batches.
    Raises ValueError if num_groups does not divide num_channels, or x has another number of channels.
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
                 *, bias: bool = True):
        check_positive(self, num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: num_groups={num_groups} does not divide num_channels={num_channels}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make_parameters((num_channels,), affine, affine and bias)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            raise ValueError(f"GroupNorm: expected (batch, {self.num_channels}, ...), got shape {x.shape}")
        return ops.group_norm(x, self.weight, self.bias, num_groups=self.num_groups, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


# Layers with running statistics ---------------------------------------------------------------------------------------


class _ChannelNorm(_Norm):
    """Parameters and running statistics per channel, under PyTorch's names."""

    axes: dict[int, str]  # number of input axes -> their names
    frozen: bool = False
    running_mean: Any  # a Tensor or None, like the next two
    running_var: Any
    num_batches_tracked: Any

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, *, bias: bool = True):
        check_positive(self, num_features=num_features)
        if momentum is not None and not isinstance(momentum, int | float | np.number):
            raise TypeError(f"{type(self).__name__}: momentum must be a number or None, got {momentum!r}")
        self.num_features, self.eps, self.momentum, self.affine = num_features, eps, momentum, affine
        self.track_running_stats = track_running_stats
        self._make_parameters((num_features,), affine, affine and bias)
        self.register_buffer("running_mean", Tensor.zeros(num_features) if track_running_stats else None)
        self.register_buffer("running_var", Tensor.ones(num_features) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", Tensor(0) if track_running_stats else None)

    def reset_running_stats(self) -> None:
        """Set the running mean to 0 and the running variance to 1, as before the first batch."""
        if self.running_mean is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            self.num_batches_tracked.assign(0)

    @property
    def _uses_batch(self) -> bool:
        """Whether to compute statistics from the input."""
        return self.running_mean is None or self.training and not self.frozen

    @property
    def local_statistics(self) -> tuple[Tensor, ...]:
        """The running statistics that each rank of a distributed run computes from its own rows of a batch."""
        return (self.running_mean, self.running_var) if self.running_mean is not None and not self.frozen else ()

    def _check_input(self, x: Tensor) -> None:
        names = self.axes.get(x.ndim)
        if names is None or x.shape[names.split(", ").index("channels")] != self.num_features:
            expected = " or ".join(f"({text})" for text in self.axes.values())
            raise ValueError(f"{type(self).__name__}: expected {expected} with {self.num_features} channels, "
                             f"got shape {x.shape}")

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"track_running_stats={self.track_running_stats}" + ", frozen=True" * self.frozen)


def move_statistics(running_mean: Tensor, running_var: Tensor, mean: np.ndarray, var: np.ndarray, n: int,
                    momentum: float | None, count: Tensor | None = None) -> None:
    """Move running statistics by a fraction `momentum` towards the mean and the variance, made unbiased, of n numbers.

    count: the number of batches before this one, which it increments; momentum None means 1 / count.
    """
    if not (running_mean._data.flags.writeable and running_var._data.flags.writeable):
        raise ValueError("running statistics: their memory is read-only; use a copy, for instance .clone()")
    normalization.move_statistics(running_mean._data, running_var._data, mean, var, n,
                                  None if momentum is None else float(momentum), None if count is None else count._data)
    for t in (running_mean, running_var, count):
        if t is not None:
            t.touch()


class BatchNorm(_ChannelNorm):
    def forward(self, x: Tensor) -> Tensor:
        return self._run(ops.batch_norm, x)

    def rectified(self, x: Tensor, *skip: Tensor) -> Tensor:
        """max(self(x) + skip, 0), or max(self(x), 0) without a skip, in one op and without hooks."""
        if not BatchNorm1d.forward is BatchNorm2d.forward is _forward:
            return ops.relu(sum(skip, self(x)))
        return self._run(ops.batch_norm_relu, x, *skip)

    def _run(self, op: Any, x: Tensor, *skip: Tensor) -> Tensor:
        self._check_input(x)
        batch = self._uses_batch
        tracked = batch and self.running_mean is not None
        stats = np.empty((2, self.num_features)) if tracked else None
        given = (None, None) if batch else (self.running_mean, self.running_var)
        y = op(x, self.weight, self.bias, *given, *skip, eps=self.eps, stats=stats)
        if stats is not None:
            move_statistics(self.running_mean, self.running_var, stats[0], stats[1], x.size // self.num_features,
                            self.momentum, self.num_batches_tracked)
        return y


_forward = BatchNorm.forward


class BatchNorm1d(BatchNorm):
    """y = weight * (x - mean) / sqrt(var + eps) + bias, each channel with its mean and variance over the batch (002).

    x: (batch, channels) or (batch, channels, length); weight, bias: (channels,)

    Training also moves running_mean and running_var towards the batch's mean and unbiased variance, by `running = (1 -
    momentum) * running + momentum * batch`; momentum=None averages over all batches. Evaluation uses them instead of
    the batch's. track_running_stats=False turns them off.

    The Linear or convolution before it needs no bias, which would have no effect (002; 003). A layer frozen by
    `nn.freeze_batch_norm` uses its running statistics in training too. `nn.reestimate_batch_norm` computes the
    statistics of a whole data set; `nn.fold_batch_norm` folds the norm into the previous layer.

    Raises ValueError for a single value per channel in training, and for a wrong number of axes or channels.
    """

    axes = {2: "batch, channels", 3: "batch, channels, length"}


class BatchNorm2d(BatchNorm):
    """BatchNorm1d for images (batch, channels, height, width), with one mean and variance over all pixels of a channel.

    In a Sequential, it runs as one op with a ReLU after it.
    """

    axes = {4: "batch, channels, height, width"}


class BatchNorm3d(BatchNorm2d):
    """BatchNorm2d for volumes: x (batch, num_features, depth, height, width)."""

    axes = {5: "batch, channels, depth, height, width"}


class SyncBatchNorm(BatchNorm):
    """BatchNorm1d and 2d that, in training, take mean and variance over a batch whose rows are on several ranks.

    A step on R ranks then equals a step of one process on the whole batch. It costs two reductions of a few numbers per
    channel, one forward and one backward. All ranks must call it, even those without rows. Arguments, parameters and
    state_dict keys are BatchNorm2d's; on one rank, in evaluation, or frozen, it is a BatchNorm2d.

    x: (batch, channels, ...). Raises ValueError for another number of channels.
    """

    axes = {2: "batch, channels", 3: "batch, channels, length", 4: "batch, channels, height, width"}

    @property
    def local_statistics(self) -> tuple[Tensor, ...]:
        return ()

    def rectified(self, x: Tensor, *skip: Tensor) -> Tensor:
        return ops.relu(sum(skip, self(x)))

    def _run(self, op: Any, x: Tensor, *skip: Tensor) -> Tensor:
        if collective.ranks() == 1 or not self.training or not self._uses_batch:
            return super()._run(op, x, *skip)
        self._check_input(x)
        if self.running_mean is None:
            return ops.sync_batch_norm(x, self.weight, self.bias, eps=self.eps)
        stats = np.empty((3, self.num_features))
        y = ops.sync_batch_norm(x, self.weight, self.bias, eps=self.eps, shift=self.running_mean._data, stats=stats)
        moved = [self.running_mean, self.running_var, self.num_batches_tracked]
        arrays = [t._data for t in moved]
        effect("move_statistics", _move, arrays, stats, self.momentum, writes=arrays)
        for t in moved:
            t.touch()
        return y


def _move(moved: list[np.ndarray], stats: np.ndarray, momentum: float | None) -> None:
    """The count of values may differ between calls, so it is read only here."""
    mean, var, count = moved
    normalization.move_statistics(mean, var, stats[0], stats[1], int(stats[2, 0]), momentum, count)


def convert_sync_batchnorm(model: Module) -> Module:
    """Make every BatchNorm1d and BatchNorm2d of `model` a SyncBatchNorm, in place; returns the model.

    Parameters, statistics and hooks stay, so you may create the optimizer before.
    """
    for module in model.modules():
        if type(module) in (BatchNorm1d, BatchNorm2d):
            module.__class__ = SyncBatchNorm
    return model


with_relu[BatchNorm1d] = with_relu[BatchNorm2d] = BatchNorm.rectified


def activated_sum(norm: Module, activation: Module, x: Tensor, skip: Tensor) -> Tensor:
    """activation(norm(x) + skip), the end of a residual block; as one op where `fuses` allows it."""
    if isinstance(norm, BatchNorm) and fuses(norm, activation):
        return norm.rectified(x, skip)
    return activation(norm(x) + skip)


class _InstanceNorm(_ChannelNorm):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = False,
                 track_running_stats: bool = False, *, bias: bool = True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        self._check_input(x)
        if x.ndim == min(self.axes):
            return self.forward(x.unsqueeze(0)).squeeze(0)
        return instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, self._uses_batch,
                             self.momentum or 0.0, self.eps)  # as in PyTorch, it counts no batches, and None means 0


def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalise each channel of each example by its own statistics, and update the running ones; or by the running
    ones."""
    if not use_input_stats:
        return ops.batch_norm(input, weight, bias, running_mean, running_var, eps=eps)
    y = ops.instance_norm(input, weight, bias, eps=eps)
    if running_mean is not None and running_var is not None:
        mean, var = moments(input._data)
        move_statistics(running_mean, running_var, mean, var, input.size // (len(input) * len(mean)), momentum)
    return y


@pure
def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and variance of each channel of one example, averaged over the examples."""
    each = x.reshape(*x.shape[:2], -1)
    mean, var = each.mean(2, dtype=np.float64), each.var(2, dtype=np.float64)  # float32 would round large means
    return mean.mean(0).astype(x.dtype), var.mean(0).astype(x.dtype)


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of each example (002): GroupNorm with one channel per group.

    x: (batch, channels, length) or (channels, length). Arguments as in BatchNorm1d, but weight, bias and running
    statistics are off by default. The running statistics average the examples' statistics. Raises ValueError for one
    value per channel, and for a wrong number of axes or channels.
    """

    axes = {2: "channels, length", 3: "batch, channels, length"}


class InstanceNorm2d(_InstanceNorm):
    """InstanceNorm1d for images, (batch, channels, height, width) or (channels, height, width)."""

    axes = {3: "channels, height, width", 4: "batch, channels, height, width"}


class InstanceNorm3d(_InstanceNorm):
    """InstanceNorm1d for volumes, (batch, channels, depth, height, width) or without a batch."""

    axes = {4: "channels, depth, height, width", 5: "batch, channels, depth, height, width"}
