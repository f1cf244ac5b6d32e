"""Gradient clipping, for use between backward and the optimizer's step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from tinygrad_like.core.listener import effect, tell
from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.dtypes import FLOAT32, FLOAT64, wide
from tinygrad_like.errors import warn
from tinygrad_like.rings import replaceable


def clip_grad_norm(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                   error_if_nonfinite: bool = False) -> Tensor:
    """Scale all gradients in place by min(1, max_norm / (norm + 1e-6)); returns the norm before.

    The norm, a 0-d Tensor, is the norm of all gradients as one vector: (sum |g|^norm_type)^(1 / norm_type), or max |g|
    for norm_type=inf. It is float64 if a gradient is, else float32. If it is infinite or NaN, the gradients become 0 or
    NaN; error_if_nonfinite raises FloatingPointError instead. Source: Pascanu et al. 2013.
    """
    numbers = all(isinstance(x, int | float | np.number) for x in (max_norm, norm_type))
    if not numbers or not max_norm >= 0 or not norm_type > 0:
        raise ValueError(f"clip_grad_norm: max_norm={max_norm!r} must be >= 0 and norm_type={norm_type!r} > 0")
    parameters = _listed("clip_grad_norm", parameters)
    gradients = _gradients("clip_grad_norm", parameters)
    arrays = [g._data for g in gradients]
    norm = np.empty((), FLOAT64 if FLOAT64 in [a.dtype for a in arrays] else FLOAT32)
    tell("gradient", *parameters)
    effect("clip_grad_norm", _clip, arrays, norm, max_norm, norm_type, error_if_nonfinite, writes=[*arrays, norm])
    for g in gradients:
        g.touch()
    return wrap(norm)


def _clip(arrays: list[np.ndarray], norm: np.ndarray, most: float, p: float, strict: bool) -> None:
    """Scale the gradients, and write the norm to `norm`."""
    norm[...] = found = _norm(arrays, p)
    if strict and not math.isfinite(found):
        raise FloatingPointError(f"clip_grad_norm: the norm of the gradients is {found}")
    scale = most / (found + 1e-6)
    if scale >= 1:  # false for NaN
        return
    with np.errstate(invalid="ignore"):  # inf * 0
        for g in arrays:
            np.multiply(g, scale, out=g, dtype=wide(g.dtype), casting="same_kind")


def clip_grad_value(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Clip every entry of every gradient, in place, to [-clip_value, clip_value]."""
    if not clip_value >= 0:
        raise ValueError(f"clip_grad_value: clip_value={clip_value!r} must be >= 0")
    for g in _gradients("clip_grad_value", _listed("clip_grad_value", parameters)):
        g.detach().clamp_(-clip_value, clip_value)


def _norm(arrays: list[np.ndarray], p: float) -> float:
    if p == math.inf:
        return float(np.max([np.max(np.abs(a), initial=0) for a in arrays], initial=0))
    if p != 2:
        return float(sum(np.sum(np.abs(a, dtype=np.float64) ** p) for a in arrays)) ** (1 / p)
    squares = math.fsum(map(_sum_squares, arrays))
    if squares == math.inf:  # the square of 2e19 overflows float32
        squares = math.fsum(float(np.sum(np.square(a, dtype=np.float64))) for a in arrays)
    return math.sqrt(squares)


@replaceable
def _sum_squares(x: np.ndarray) -> float:
    return float(np.sum(np.square(x, dtype=np.float64)))


def _listed(who: str, tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """Tensors as a list. Warns if a generator is empty, since it is probably exhausted."""
    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not found and isinstance(tensors, Iterator):
        warn(f"{who}: the generator is empty, so nothing happens; it can be read only once: call model.parameters() "
             "again, or keep a list")
    return found


def _gradients(who: str, parameters: list[Tensor]) -> list[Tensor]:
    for i, p in enumerate(parameters):
        if not isinstance(p, Tensor):
            raise TypeError(f"{who}: parameter {i} is a {type(p).__name__}, not a Tensor; pass model.parameters()")
    gradients = {id(p.grad): p.grad for p in parameters if p.grad is not None}  # scale a shared one once
    for g in gradients.values():
        if not g._data.flags.writeable:
            raise ValueError(f"{who}: a gradient of shape {g.shape} has read-only memory, as expand's results "
                             "and read-only arrays have; set p.grad to a clone()")
    return list(gradients.values())
