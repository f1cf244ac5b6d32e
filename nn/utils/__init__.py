"""Tools for parameters under PyTorch's names: `nn.utils.clip_grad_norm_(model.parameters(), 1.0)`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.optim.clip import clip_grad_norm, clip_grad_value, listed

from . import rnn

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "rnn", "vector_to_parameters"]


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """`optim.clip_grad_norm`, of one Tensor too; the norm before it as a Tensor. foreach: without effect here."""
    parameters = [parameters] if isinstance(parameters, Tensor) else listed("clip_grad_norm_", parameters)
    norm = clip_grad_norm(parameters, max_norm, norm_type, error_if_nonfinite)
    float64 = any(p.grad is not None and p.grad.dtype == np.float64 for p in parameters)
    dtype = np.float64 if float64 else np.float32
    return norm.cast(dtype)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """`optim.clip_grad_value`, of one Tensor too. foreach: without effect here."""
    clip_grad_value([parameters] if isinstance(parameters, Tensor) else parameters, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All numbers of the parameters one after the other, on the graph."""
    return ops.cat(*[ops.reshape(p, shape=(-1,)) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the numbers of `vec`, in the order of `parameters_to_vector`, into the parameters.

    Raises ValueError, before any is changed, if it has not as many numbers as they.
    """
    parameters = list(parameters)
    total = sum(p.numel() for p in parameters)
    if vec.shape != (total,):
        raise ValueError(f"vector_to_parameters: the parameters have {total} numbers, but vec has shape {vec.shape}")
    vec, end = vec.detach(), 0
    for p in parameters:
        begin, end = end, end + p.numel()
        p.assign(vec[begin:end].reshape(p.shape))
