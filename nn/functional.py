"""The functions behind the layers, under PyTorch's names: `import nn.functional as F`.

They are the ops themselves, except where PyTorch calls an axis `dim`.
"""

from __future__ import annotations

# isort: off
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import finfo
from tinygrad_like.errors import named


from .activation import hardshrink, prelu, softshrink
from .dropout import dropout3d
from .embedding import embedding
from .norm import instance_norm, move_statistics
from .pool import max_pool1d, max_pool2d, max_pool3d

if TYPE_CHECKING:  # with options by position, and by other names
    from tinygrad_like import (
        adaptive_avg_pool1d, adaptive_avg_pool2d, avg_pool1d, avg_pool2d, avg_pool3d, binary_cross_entropy,
        binary_cross_entropy_with_logits, binary_step, celu, conv1d, conv2d, conv3d, conv_transpose1d,
        conv_transpose2d, conv_transpose3d, cross_entropy, dropout, dropout1d, dropout2d, elu, fold,
        gaussian_dropout, gaussian_nll_loss, gelu, hardswish, hardtanh, huber_loss, interpolate, kl_div,
        l1_loss, leaky_relu, linear, logsigmoid, margin_ranking_loss, mish, mse_loss, nll_loss, one_hot, relu,
        relu6, scaled_dot_product_attention, selu, sigmoid, silu, smooth_l1_loss, softplus, softsign, tanh,
        triplet_margin_loss, unfold,
    )

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "avg_pool1d", "avg_pool2d", "batch_norm", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "binary_step", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d",
    "cosine_similarity", "cross_entropy", "dropout", "dropout1d", "dropout2d", "elu", "embedding", "fold",
    "gaussian_dropout", "gelu", "glu", "group_norm", "gumbel_softmax", "huber_loss", "interpolate", "kl_div", "l1_loss",
    "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "max_pool1d", "max_pool2d", "mse_loss",
    "nll_loss", "normalize", "one_hot", "pad", "prelu", "relu", "rms_norm", "scaled_dot_product_attention", "sigmoid",
    "silu", "smooth_l1_loss", "softmax", "softplus", "swiglu", "tanh", "unfold", "celu", "selu", "mish", "softsign",
    "relu6", "hardsigmoid", "hardswish", "hardtanh", "gaussian_nll_loss",
    "margin_ranking_loss", "triplet_margin_loss", "avg_pool3d", "conv3d", "conv_transpose3d", "dropout3d", "hardshrink",
    "instance_norm", "max_pool3d", "max_unpool2d", "softmin", "softshrink",
]


def _along(op: Any) -> Callable[..., Tensor]:
    def f(input: Tensor, dim: int = -1, dtype: Any = None) -> Tensor:
        return op(input if dtype is None else input.cast(dtype), axis=dim)

    f.__name__ = f.__qualname__ = op.__name__
    f.__doc__ = f"`ops.{op.__name__}` of the input, cast to dtype, along axis dim."
    return f


log_softmax, softmax, softmin = map(_along, (ops.log_softmax, ops.softmax, ops.softmin))


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """value * sigmoid(gate), the first and second half of axis dim."""
    return ops.glu(input, axis=dim)


def swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """value * silu(gate), the first and second half of axis dim."""
    return ops.swiglu(input, axis=dim)


def hardsigmoid(input: Tensor) -> Tensor:
    """`ops.hardsigmoid` without its options, which PyTorch's function lacks."""
    return ops.hardsigmoid(input)


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """softmax((logits + n) / tau) with Gumbel noise n: a soft sample (Jang et al. 2017).

    hard: return a one-hot sample instead, with the soft sample's gradient. eps: accepted without effect.
    """
    noise = -(-Tensor.rand(*logits.shape, dtype=logits.dtype).clip(finfo(logits.dtype).tiny, None).log()).log()
    soft = ops.softmax((logits + noise) / tau, axis=dim)
    if not hard:
        return soft
    largest = soft.argmax(axis=dim, keepdim=True)
    return Tensor.zeros_like(soft).scatter(dim, largest, 1.0) - soft.detach() + soft


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """`ops.pad` with PyTorch's flat tuple, which starts at the last axis: (left, right, top, bottom, ...)."""
    return ops.pad(input, padding=pad, mode=mode, value=0.0 if value is None else value)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x / max(|x|_p, eps) along axis dim."""
    return ops.normalize(input, p, dim, eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along axis dim of their common shape."""
    if x1.shape != x2.shape:
        shape = np.broadcast_shapes(x1.shape, x2.shape)
        x1, x2 = ops.expand(x1, shape=shape), ops.expand(x2, shape=shape)
    lengths = [ops.linalg.vector_norm(x, 2, dim, True).maximum(eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(axis=dim)


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """weight * (x - mean) / sqrt(var + eps) + bias over the trailing axes, of shape normalized_shape."""
    return ops.layer_norm(input, weight, bias, normalized_shape=normalized_shape, eps=eps)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """weight * x / sqrt(mean(x^2) + eps) over the trailing axes, of shape normalized_shape."""
    return ops.rms_norm(input, weight, normalized_shape=normalized_shape, eps=eps)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Normalise each group of neighbouring channels (axis 1) of each example."""
    return ops.group_norm(input, weight, bias, num_groups=num_groups, eps=eps)


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalise each channel (axis 1); training uses the batch's statistics and moves the running ones towards them."""
    if not training:
        return ops.batch_norm(input, weight, bias, running_mean, running_var, eps=eps)
    stats = np.empty((2, *input.shape[1:2]))
    y = ops.batch_norm(input, weight, bias, eps=eps, stats=stats)
    if running_mean is not None and running_var is not None:
        move_statistics(running_mean, running_var, stats[0], stats[1], input.size // input.shape[1], momentum)
    return y


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Tensor:
    """Zeros, with the values at the places of the maxima of a max-pool, see `ops.max_unpool`."""
    return ops.max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def _in_place(name: str) -> Any:
    def change(input: Tensor, *options: Any, **named_options: Any) -> Tensor:
        return getattr(input, name)(*options, **named_options)

    change.__name__ = change.__qualname__ = name
    change.__doc__ = f"`{name[:-1]}`, in place."
    return change


celu_, elu_, hardtanh_, leaky_relu_, relu_, selu_ = map(_in_place, (
    "celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "selu_"))

# The other names are ops. As with these, unforeseen errors name the function.
for _name in __all__:
    _f = globals().setdefault(_name, getattr(ops, _name, None))
    if isinstance(_f, FunctionType) and _f.__module__.startswith(f"{__package__}."):
        globals()[_name] = named(_f)
