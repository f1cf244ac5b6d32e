"""Tools for a model's batch norms: freeze them, re-estimate their statistics, fold them into other layers."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from tinygrad_like.core.tensor import Tensor
from tinygrad_like.transforms.switches import no_grad

from .linear import Identity
from .module import Module, Parameter, modes_restored
from .norm import BatchNorm


def _batch_norms(who: str, model: Module) -> list[BatchNorm]:
    """The batch norms of a model that have running statistics. Raises ValueError if there are none."""
    found = [m for m in model.modules() if isinstance(m, BatchNorm) and m.running_mean is not None]
    if not found:
        raise ValueError(f"{who}: this {type(model).__name__} has no BatchNorm with running statistics")
    return found


def freeze_batch_norm(model: Module, frozen: bool = True) -> Module:
    """Freeze the running statistics of every BatchNorm of `model` and use them in training too; returns the model.

    For fine-tuning, and for batches too small for statistics. frozen=False undoes it; `model.train()` does not. Weight
    and bias keep training, unless you set `requires_grad_(False)`.
    """
    for layer in _batch_norms("freeze_batch_norm", model):
        layer.frozen = frozen
    return model


def reestimate_batch_norm(model: Module, batches: Iterable) -> Module:
    """Set the running statistics of every BatchNorm of `model` to those of a whole data set (002); returns the model.

    batches: inputs of the model, or tuples that start with one, such as (images, labels).

    In training, running averages lag behind the weights. This runs the model over the data once, in evaluation mode but
    with batch norms normalising by batch, and pools the statistics of their inputs over all values. Raises ValueError
    if there are no batches or no BatchNorm.
    """
    layers = _batch_norms("reestimate_batch_norm", model)
    found: dict[BatchNorm, list] = {layer: [] for layer in layers}  # per batch: n, mean, variance of n values

    def note(layer: Any, args: tuple) -> None:
        x = np.moveaxis(args[0]._data, 1, 0).reshape(args[0].shape[1], -1).astype(np.float64)
        found[layer].append((x.shape[1], x.mean(1), x.var(1)))

    handles = [layer.register_forward_pre_hook(note) for layer in layers]
    saved = [(b, b._data.copy()) for m in layers for b in (m.running_mean, m.running_var, m.num_batches_tracked)]
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
        for buffer, value in saved:
            buffer.assign(value)
    if not any(found.values()):
        raise ValueError("reestimate_batch_norm: there are no batches (an iterator can be used only once)")
    for layer, moments in found.items():
        if moments:
            counts, means, variances = (np.array(column) for column in zip(*moments, strict=True))
            n, share = counts.sum(), counts[:, None] / counts.sum()
            mean = (share * means).sum(0)
            variance = (share * (variances + (means - mean) ** 2)).sum(0) * n / (n - 1)  # within and between batches
            layer.running_mean.assign(mean.astype(layer.running_mean.dtype))
            layer.running_var.assign(variance.astype(layer.running_var.dtype))
            layer.num_batches_tracked.assign(len(moments))
    return model


def fold_batch_norm(model: Module, *example: Any) -> Module:
    """A copy of `model` for evaluation, with each BatchNorm folded into the Linear or convolution before it.

    W' = s W and b' = s (b - running_mean) + bias, where s = weight / sqrt(running_var + eps) per output channel. An
    Identity replaces the BatchNorm.

    example: inputs of the model; running it on them shows which layer feeds which. A layer that runs more than once
    keeps its BatchNorm. Raises ValueError if the copy's output for them differs.
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
    size = np.abs(expected._data).max(initial=0)
    if not np.allclose(found._data, expected._data, rtol=1e-3, atol=1e-3 * size, equal_nan=True):
        raise ValueError(f"fold_batch_norm: this {type(model).__name__} cannot be folded: its output would change; "
                         "does something other than its BatchNorm use the output of a layer?")
    return model


def _followers(model: Module, example: tuple) -> tuple[list[tuple[Module, BatchNorm]], Any]:
    """Pairs of a layer and the BatchNorm after it; and the model's output."""
    outputs: dict[Any, list[Tensor]] = {}
    inputs: dict[Any, list[Tensor]] = {}
    handles = []
    for module in model.modules():
        if isinstance(module, BatchNorm) and module.running_mean is not None:
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
    """Whether axis 1 of the layer's output y is its channels; for a Linear, only if y is (batch, out)."""
    return layer.weight.ndim == y.ndim


def _fold(layer: Any, norm: Any) -> None:
    """Fold the norm into the layer, which then computes norm(layer(x)); in float64."""
    mean, variance = norm.running_mean._data.astype(np.float64), norm.running_var._data.astype(np.float64)
    scale = (1 if norm.weight is None else norm.weight._data) / np.sqrt(variance + norm.eps)
    bias = scale * ((0 if layer.bias is None else layer.bias._data) - mean)
    bias += 0 if norm.bias is None else norm.bias._data
    weight, dtype = layer.weight._data, layer.weight.dtype
    if getattr(layer, "transposed", False):  # (in, out / groups, ...): each group of inputs has its own outputs
        grouped = weight.reshape(layer.groups, -1, *weight.shape[1:])
        weight = (grouped * scale.reshape(layer.groups, 1, -1, *[1] * (weight.ndim - 2))).reshape(weight.shape)
    else:
        weight = weight * scale.reshape(-1, *[1] * (weight.ndim - 1))
    layer.weight.assign(weight.astype(dtype))
    layer.bias = Parameter(bias.astype(dtype))
