"""How far one distribution is from another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import Tensor
from .base import (
    Bernoulli,
    Categorical,
    Distribution,
    Independent,
    MultivariateNormal,
    Normal,
    Uniform,
    log_odds,
    weighed,
)


def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log()) / 2


def _gain(p: Tensor, log_p: Tensor, log_q: Tensor) -> Tensor:
    """p (log p - log q), and 0 where p is."""
    return weighed(p, log_p) - weighed(p, log_q)


def bernoulli(p: Any, q: Any) -> Tensor:
    """Of all that have probs and logits; infinite if q excludes what p does not."""
    (yes_p, no_p), (yes_q, no_q) = log_odds(p), log_odds(q)
    return _gain(p.probs, yes_p, yes_q) + _gain(1 - p.probs, no_p, no_q)


def _categorical(p: Categorical, q: Categorical) -> Tensor:
    """Infinite if q excludes what p does not."""
    excluded = (q.probs == 0) & q._by_probs
    return _gain(p.probs, p.logits, excluded.where(-math.inf, q.logits)).sum(axis=-1)


def _uniform(p: Uniform, q: Uniform) -> Tensor:
    inside = (q.low <= p.low) & (p.high <= q.high)
    return inside.where(((q.high - q.low) / (p.high - p.low)).log(), math.inf)


def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    n = p.event_shape[0]
    shape = np.broadcast_shapes(p.scale_tril.shape, q.scale_tril.shape)
    solved = ops.linalg.solve_triangular(q.scale_tril.expand(*shape), p.scale_tril.expand(*shape), upper=False)
    spread = solved.square().sum(axis=(-2, -1))
    return (spread + q._distance(p.loc - q.loc) - n) / 2 + q._half_log_det() - p._half_log_det()


def _independent(p: Independent, q: Independent) -> Tensor:
    if p.ndims != q.ndims:
        raise ValueError(f"kl_divergence: events of {p.ndims} and of {q.ndims} axes")
    return p._summed(kl_divergence(p.base_dist, q.base_dist))


KL: dict[type, Callable] = {Normal: _normal, Bernoulli: bernoulli, Categorical: _categorical, Uniform: _uniform,
                            MultivariateNormal: _multivariate, Independent: _independent}


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """E_p[log p - log q] of two distributions of one kind. Raises NotImplementedError for others."""
    if type(p) is not type(q) or type(p) not in KL:
        raise NotImplementedError(f"kl_divergence: no formula for {type(p).__name__} and {type(q).__name__}; average "
                                  "p.log_prob(x) - q.log_prob(x) over samples x of p")
    return KL[type(p)](p, q)
