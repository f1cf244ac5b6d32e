"""Normalisation layers (7.40-7.47; 002; 003): what is normalised together gets a mean of 0 and a variance of 1.

RMSNorm alone leaves the mean as it is, and makes the mean square 1.

LayerNorm, RMSNorm, GroupNorm and InstanceNorm look at one example at a time. BatchNorm looks at the whole batch, so it
behaves differently in training and in evaluation, and comes with tools for what lies between the two.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tinygrad_like import Tensor, no_grad, ops

from . import init
from .fusion import activated_row, fuses, rows, with_relu
from .linear import Identity
from .module import Module, Parameter, modes_restored


def _positive(who: str, **sizes: Any) -> None:
    for name, n in sizes.items():
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"{who}: {name} must be a positive integer, got {n!r}")


class _Norm(Module):
    """A layer with weight 1 and bias 0 to begin with, where it has any."""

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


class LayerNorm(_Norm):
    """y = weight * (x - mean) / sqrt(var + eps) + bias over the trailing axes of x, of shape normalized_shape (7.41).

    Before a ReLU or after a Linear it makes the scale of the weights below irrelevant (7.42). Of images,
    LayerNorm((channels, height, width)) is variant A of 002; variant B, each pixel for itself, has channels last.

    Raises ValueError if x does not end in normalized_shape.
    """

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True):
        self.normalized_shape = _shape("LayerNorm", normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make_parameters(self.normalized_shape, elementwise_affine, elementwise_affine and bias)

    def forward(self, x: Tensor) -> Tensor:
        return ops.layer_norm(x, self.weight, self.bias, normalized_shape=self.normalized_shape, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(_Norm):
    """y = weight * x / sqrt(mean(x^2) + eps) over the trailing axes of x, of shape normalized_shape (002; 003).

    LayerNorm without the shift, and so cheaper. eps: the distance from 1 to the next number of x's dtype, if None.
    """

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None,
                 elementwise_affine: bool = True):
        self.normalized_shape = _shape("RMSNorm", normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make_parameters(self.normalized_shape, elementwise_affine, False)

    def forward(self, x: Tensor) -> Tensor:
        return ops.rms_norm(x, self.weight, normalized_shape=self.normalized_shape, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def _shape(who: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if not shape or not all(isinstance(n, int) and n > 0 for n in shape):
        raise ValueError(f"{who}: normalized_shape must be one or more positive integers, got {shape}")
    return shape


class GroupNorm(_Norm):
    """Each example and each of num_groups groups of neighbouring channels is normalised for itself (002).

    x: (batch, channels, ...); weight, bias: (channels,). It does not depend on the batch, and so suits small ones.
    Raises ValueError if num_groups does not divide num_channels, or x has another number of channels.
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True):
        _positive("GroupNorm", num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: num_groups={num_groups} does not divide num_channels={num_channels}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make_parameters((num_channels,), affine, affine)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            raise ValueError(f"GroupNorm: expected (batch, {self.num_channels}, ...), got shape {x.shape}")
        return ops.group_norm(x, self.weight, self.bias, num_groups=self.num_groups, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


# Layers with running statistics ---------------------------------------------------------------------------------------


class _ChannelNorm(_Norm):
    """What batch and instance norm share: parameters and running statistics per channel, under PyTorch's names."""

    axes: dict[int, str]  # number of axes of the input -> what they are
    frozen: bool = False
    running_mean: Any  # a Tensor or None, as the next two
    running_var: Any
    num_batches_tracked: Any

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True):
        _positive(type(self).__name__, num_features=num_features)
        self.num_features, self.eps, self.momentum, self.affine = num_features, eps, momentum, affine
        self.track_running_stats = track_running_stats
        self._make_parameters((num_features,), affine, affine)
        self.register_buffer("running_mean", Tensor.zeros(num_features) if track_running_stats else None)
        self.register_buffer("running_var", Tensor.ones(num_features) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", Tensor(0) if track_running_stats else None)

    def reset_running_stats(self) -> None:
        """Set the running mean to 0 and the running variance to 1, as if no batch had been seen."""
        if self.running_mean is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            self.num_batches_tracked.assign(0)

    @property
    def _uses_batch(self) -> bool:
        """Whether statistics are taken from the input."""
        return self.running_mean is None or self.training and not self.frozen

    def _track(self, mean: np.ndarray, var: np.ndarray, n: int) -> None:
        """Move the running statistics towards a mean and a biased variance of n numbers each."""
        self.num_batches_tracked.data += 1
        momentum = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum
        self.num_batches_tracked.touch()
        move_statistics(self.running_mean, self.running_var, mean, var, n, momentum)

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
                    momentum: float) -> None:
    """Move running statistics by `momentum` of the way to a mean, and to a variance, made unbiased, of n numbers."""
    running_mean.data += momentum * (mean - running_mean.data)
    running_var.data += momentum * (var * (n / (n - 1)) - running_var.data)
    running_mean.touch()
    running_var.touch()


class _BatchNorm(_ChannelNorm):
    def forward(self, x: Tensor) -> Tensor:
        return self._run(ops.batch_norm, x)

    def rectified(self, x: Tensor, *skip: Tensor) -> Tensor:
        """max(self(x) + skip, 0) in one op, or max(self(x), 0) without a skip. It runs no hooks."""
        if not BatchNorm1d.forward is BatchNorm2d.forward is _forward:
            return ops.relu(sum(skip, self(x)))
        return self._run(ops.batch_norm_relu, x, *skip)

    def _run(self, op: Any, x: Tensor, *skip: Tensor) -> Tensor:
        self._check_input(x)
        if not self._uses_batch:
            return op(x, self.weight, self.bias, self.running_mean, self.running_var, *skip, eps=self.eps)
        if self.running_mean is None or not self.training:
            return op(x, self.weight, self.bias, None, None, *skip, eps=self.eps)
        stats = np.empty((2, self.num_features))
        y = op(x, self.weight, self.bias, None, None, *skip, eps=self.eps, stats=stats)
        self._track(stats[0], stats[1], x.size // self.num_features)
        return y


_forward = _BatchNorm.forward


class BatchNorm1d(_BatchNorm):
    """y = weight * (x - mean) / sqrt(var + eps) + bias, each channel with its mean and variance over the batch (002).

    x: (batch, channels) or (batch, channels, length); weight, bias: (channels,)

    In training also running_mean and running_var move to the batch's mean and unbiased variance by
    `running = (1 - momentum) * running + momentum * batch`; with momentum=None they are the average over all batches.
    In evaluation they are used in the place of the batch's; with track_running_stats=False there are none.

    A bias of the Linear or convolution before it changes nothing, and may be left out (002; 003). Frozen by
    `nn.freeze_batch_norm`, it evaluates also in training. `nn.reestimate_batch_norm` computes the statistics of a whole
    data set, `nn.fold_batch_norm` makes the layer before it do its work.

    Raises ValueError for one value per channel in training, and for another number of axes or channels.
    """

    axes = {2: "batch, channels", 3: "batch, channels, length"}


class BatchNorm2d(_BatchNorm):
    """BatchNorm1d for images (batch, channels, height, width), with a mean and a variance for all pixels of a channel.

    Followed by a ReLU in a Sequential it is one op with it.
    """

    axes = {4: "batch, channels, height, width"}


with_relu[BatchNorm1d] = with_relu[BatchNorm2d] = _BatchNorm.rectified
rows[BatchNorm1d] = rows[BatchNorm2d] = activated_row


def activated_sum(norm: Module, activation: Module, x: Tensor, skip: Tensor) -> Tensor:
    """activation(norm(x) + skip), the end of a residual block; as one op where `fuses` allows it."""
    if isinstance(norm, _BatchNorm) and fuses(norm, activation):
        return norm.rectified(x, skip)
    return activation(norm(x) + skip)


class _InstanceNorm(_ChannelNorm):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = False,
                 track_running_stats: bool = False):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, x: Tensor) -> Tensor:
        self._check_input(x)
        if x.ndim == min(self.axes):
            return self.forward(x.unsqueeze(0)).squeeze(0)
        if not self._uses_batch:
            return ops.batch_norm(x, self.weight, self.bias, self.running_mean, self.running_var, eps=self.eps)
        y = ops.instance_norm(x, self.weight, self.bias, eps=self.eps)
        if self.running_mean is not None:
            each = x.data.reshape(*x.shape[:2], -1)
            self._track(each.mean(2).mean(0), each.var(2).mean(0), each.shape[2])
        return y


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each example is normalised for itself (002), as GroupNorm does with groups of one channel.

    x: (batch, channels, length) or (channels, length). Arguments as in BatchNorm1d, but without weight, bias and
    running statistics if not asked for; these average those of the examples.
    Raises ValueError for one value per channel, and for another number of axes or channels.
    """

    axes = {2: "channels, length", 3: "batch, channels, length"}


class InstanceNorm2d(_InstanceNorm):
    """InstanceNorm1d for images, (batch, channels, height, width) or (channels, height, width)."""

    axes = {3: "channels, height, width", 4: "batch, channels, height, width"}


# Batch norm between training and evaluation ---------------------------------------------------------------------------


def _batch_norms(who: str, model: Module) -> list[_BatchNorm]:
    """The batch norms of a model that have running statistics. Raises ValueError if there are none."""
    found = [m for m in model.modules() if isinstance(m, _BatchNorm) and m.running_mean is not None]
    if not found:
        raise ValueError(f"{who}: this {type(model).__name__} has no BatchNorm with running statistics")
    return found


def freeze_batch_norm(model: Module, frozen: bool = True) -> Module:
    """Let every BatchNorm of `model` use and keep its running statistics also in training; returns the model.

    For fine-tuning, and for batches too small to take statistics of. `model.train()` does not undo it, frozen=False
    does. Weight and bias go on being trained, unless their `requires_grad_(False)` stops that too.
    """
    for layer in _batch_norms("freeze_batch_norm", model):
        layer.frozen = frozen
    return model


def reestimate_batch_norm(model: Module, batches: Iterable) -> Module:
    """Set the running statistics of every BatchNorm of `model` to those of a whole data set (002); returns the model.

    batches: inputs of the model, or tuples that begin with one, as (images, labels).

    The running averages of training lag behind the weights. Here the model runs once over the data, as in evaluation
    but for its batch norms, which normalise by batch, and the statistics of their inputs are pooled over all numbers.
    Raises ValueError if there are no batches or no BatchNorm.
    """
    layers = _batch_norms("reestimate_batch_norm", model)
    pools = {layer: _Moments() for layer in layers}
    handles = [layer.register_forward_pre_hook(pools[layer]) for layer in layers]
    kept = [(b, b.data.copy()) for m in layers for b in (m.running_mean, m.running_var, m.num_batches_tracked)]
    try:
        with modes_restored(model), no_grad():
            model.eval()
            for layer in layers:
                layer.training = True
            for batch in batches:
                model(batch[0] if isinstance(batch, tuple | list) else batch)
    finally:
        for handle in handles:
            handle.remove()
        for buffer, value in kept:
            buffer.assign(value)
    if not any(pool.batches for pool in pools.values()):
        raise ValueError("reestimate_batch_norm: there are no batches (an iterator can be used once only)")
    for layer, pool in pools.items():
        if pool.batches:
            layer.running_mean.assign(pool.mean.astype(layer.running_mean.dtype))
            layer.running_var.assign((pool.squares / (pool.n - 1)).astype(layer.running_var.dtype))
            layer.num_batches_tracked.assign(pool.batches)
    return model


class _Moments:
    """A hook that pools, over all inputs of a layer, the number of values per channel, their mean and their squares.

    Squares are distances to the mean, squared and summed. Two sets a, b are pooled by the rule of Chan, Golub and
    LeVeque: squares = squares_a + squares_b + (mean_b - mean_a)^2 n_a n_b / (n_a + n_b).
    """

    def __init__(self):
        self.batches, self.n, self.mean, self.squares = 0, 0, 0.0, 0.0

    def __call__(self, layer: Module, args: tuple) -> None:
        x = np.moveaxis(args[0].data, 1, 0).reshape(args[0].shape[1], -1).astype(np.float64)
        n, mean = x.shape[1], x.mean(1)
        difference, total = mean - self.mean, self.n + n
        self.squares = self.squares + ((x - mean[:, None]) ** 2).sum(1) + difference**2 * (self.n * n / total)
        self.mean = self.mean + difference * (n / total)
        self.n, self.batches = total, self.batches + 1


def fold_batch_norm(model: Module, *example: Any) -> Module:
    """A copy of `model` for evaluation, in which Linear and convolution layers do the work of a BatchNorm after them.

    W' = s W and b' = s (b - running_mean) + bias, where s = weight / sqrt(running_var + eps) per output channel; in the
    place of the BatchNorm is an Identity.

    example: inputs of the model, which is run on them to see what follows what. A layer that is called more than once
        keeps its BatchNorm.
    Raises ValueError if the copy does not give the same output for them.
    """
    model = copy.deepcopy(model).eval()
    with no_grad():
        followers, expected = _followers(model, example)
        for layer, norm in followers:
            _fold(layer, norm)
        norms = {norm for _, norm in followers}
        for module in list(model.modules()):
            for name, child in list(module._children()):
                if child in norms:
                    setattr(module, name, Identity().eval())
        found = model(*example)
    size = np.abs(expected.data).max(initial=0)
    if not np.allclose(found.data, expected.data, rtol=1e-3, atol=1e-3 * size, equal_nan=True):
        raise ValueError(f"fold_batch_norm: this {type(model).__name__} cannot be folded, its output would change; "
                         "does the output of a layer go elsewhere than to the BatchNorm after it?")
    return model


def _followers(model: Module, example: tuple) -> tuple[list[tuple[Module, _BatchNorm]], Any]:
    """The layers whose output a BatchNorm takes, with it; and the model's output."""
    outputs: dict[Any, list[Tensor]] = {}
    inputs: dict[Any, list[Tensor]] = {}
    handles = []
    for module in model.modules():
        if isinstance(module, _BatchNorm) and module.running_mean is not None:
            handles.append(module.register_forward_pre_hook(
                lambda module, args: inputs.setdefault(module, []).append(args[0])))
        elif isinstance(getattr(module, "weight", None), Parameter) and hasattr(module, "bias"):
            handles.append(module.register_forward_hook(
                lambda module, args, y: outputs.setdefault(module, []).append(y)))
    try:
        expected = model(*example)
    finally:
        for handle in handles:
            handle.remove()
    return [(layer, norm) for layer, ys in outputs.items() for norm, xs in inputs.items()
            if len(xs) == len(ys) == 1 and xs[0] is ys[0] and _folds(layer, xs[0])], expected


def _folds(layer: Any, y: Tensor) -> bool:
    """Whether axis 1 of the layer's output y is its channels: with Linear only if y is (batch, out)."""
    return layer.weight.ndim == y.ndim


def _fold(layer: Any, norm: Any) -> None:
    """Layer becomes norm(layer(x)), computed in float64."""
    mean, variance = norm.running_mean.data.astype(np.float64), norm.running_var.data.astype(np.float64)
    scale = (1 if norm.weight is None else norm.weight.data) / np.sqrt(variance + norm.eps)
    bias = scale * ((0 if layer.bias is None else layer.bias.data) - mean)
    bias += 0 if norm.bias is None else norm.bias.data
    weight, dtype = layer.weight.data, layer.weight.dtype
    if getattr(layer, "transposed", False):  # (in, out / groups, ...): each group of inputs has outputs of its own
        grouped = weight.reshape(layer.groups, -1, *weight.shape[1:])
        weight = (grouped * scale.reshape(layer.groups, 1, -1, *[1] * (weight.ndim - 2))).reshape(weight.shape)
    else:
        weight = weight * scale.reshape(-1, *[1] * (weight.ndim - 1))
    layer.weight.assign(weight.astype(dtype))
    layer.bias = Parameter(bias.astype(dtype))
