"""The functions behind the layers, under PyTorch's names: `import nn.functional as F`.

They are the ops themselves, except where PyTorch calls an axis `dim`.
"""

from __future__ import annotations

from tinygrad_like import Tensor, ops
from tinygrad_like.ops import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    binary_step,
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
    cross_entropy,
    dropout,
    dropout1d,
    dropout2d,
    elu,
    fold,
    gaussian_dropout,
    gelu,
    huber_loss,
    interpolate,
    kl_div,
    l1_loss,
    leaky_relu,
    linear,
    logsigmoid,
    max_pool1d,
    max_pool2d,
    mse_loss,
    nll_loss,
    one_hot,
    relu,
    sigmoid,
    silu,
    smooth_l1_loss,
    softplus,
    tanh,
    unfold,
)

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d", "avg_pool1d",
    "avg_pool2d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "binary_step", "conv1d", "conv2d",
    "conv_transpose1d", "conv_transpose2d", "cross_entropy", "dropout", "dropout1d", "dropout2d", "elu", "fold",
    "gaussian_dropout", "gelu", "glu", "huber_loss", "interpolate", "kl_div", "l1_loss", "leaky_relu", "linear",
    "log_softmax", "logsigmoid", "max_pool1d", "max_pool2d", "mse_loss", "nll_loss", "one_hot", "relu", "sigmoid",
    "silu", "smooth_l1_loss", "softmax", "softplus", "swiglu", "tanh", "unfold",
]


def softmax(input: Tensor, dim: int = -1) -> Tensor:
    """e^(x_i) / sum_j e^(x_j) along axis dim."""
    return ops.softmax(input, axis=dim)


def log_softmax(input: Tensor, dim: int = -1) -> Tensor:
    """x_i - log sum_j e^(x_j) along axis dim."""
    return ops.log_softmax(input, axis=dim)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """value * sigmoid(gate), the first and second half of axis dim."""
    return ops.glu(input, axis=dim)


def swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """value * silu(gate), the first and second half of axis dim."""
    return ops.swiglu(input, axis=dim)
