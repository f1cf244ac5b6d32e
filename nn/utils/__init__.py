"""Tools for parameters under PyTorch's names: `nn.utils.clip_grad_norm_(model.parameters(), 1.0)`."""

from __future__ import annotations

from collections.abc import Iterable

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named
from tinygrad_like.optim.clip import clip_grad_norm, clip_grad_value

from . import rnn

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "rnn", "vector_to_parameters"]


clip_grad_norm_, clip_grad_value_ = named(clip_grad_norm), named(clip_grad_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters concatenated, on the graph."""
    return ops.cat(*[ops.reshape(p, shape=(-1,)) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the elements of `vec`, in the order of `parameters_to_vector`, into the parameters.

    Raises ValueError, before it changes any, if the sizes differ.
    """
    parameters = list(parameters)
    total = sum(p.numel() for p in parameters)
    if vec.shape != (total,):
        raise ValueError(f"vector_to_parameters: the parameters have {total} elements, but vec has shape {vec.shape}")
    vec, end = vec.detach(), 0
    for p in parameters:
        begin, end = end, end + p.numel()
        p.assign(vec[begin:end].reshape(p.shape))
