"""The Kullback-Leibler divergence of two distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import Tensor
from ..ops.gamma import digamma, lgamma
from .base import Distribution, Independent, log_odds, summed, weighed
from .continuous import Beta, Dirichlet, Exponential, Gamma, Laplace, MultivariateNormal, Normal, Uniform
from .discrete import Bernoulli, Binomial, Categorical, Poisson


def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log()) / 2


def _gain(p: Tensor, log_p: Tensor, log_q: Tensor) -> Tensor:
    """p (log p - log q), and 0 where p is."""
    return weighed(p, log_p) - weighed(p, log_q)


def _bernoulli(p: Any, q: Any) -> Tensor:
    """Of all that have probs and logits; infinite if q excludes what p does not."""
    (yes_p, no_p), (yes_q, no_q) = log_odds(p), log_odds(q)
    return _gain(p.probs, yes_p, yes_q) + _gain(1 - p.probs, no_p, no_q)


def _binomial(p: Binomial, q: Binomial) -> Tensor:
    """Infinite if the first has more trials; of more in the second there is no formula."""
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("kl_divergence: no formula for a Binomial of fewer trials than the other")
    return ops.where(p.total_count > q.total_count, math.inf, weighed(p.total_count, _bernoulli(p, q)))


def _categorical(p: Categorical, q: Categorical) -> Tensor:
    """Infinite if q excludes what p does not."""
    excluded = (q.probs == 0) & q._by_probs
    return _gain(p.probs, p.logits, excluded.where(-math.inf, q.logits)).sum(axis=-1)


def _uniform(p: Uniform, q: Uniform) -> Tensor:
    inside = (q.low <= p.low) & (p.high <= q.high)
    return inside.where(((q.high - q.low) / (p.high - p.low)).log(), math.inf)


def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    shape = np.broadcast_shapes(p.scale_tril.shape, q.scale_tril.shape)
    solved = ops.linalg.solve_triangular(q.scale_tril.expand(*shape), p.scale_tril.expand(*shape), upper=False)
    spread = solved.square().sum(axis=(-2, -1))
    return (spread + q._distance(p.loc - q.loc) - p.event_shape[0]) / 2 + q._half_log_det() - p._half_log_det()


def _independent(p: Independent, q: Independent) -> Tensor:
    if p.ndims != q.ndims:
        raise ValueError(f"kl_divergence: events of {p.ndims} and of {q.ndims} axes")
    return summed(kl_divergence(p.base_dist, q.base_dist), p.ndims)


def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, far = p.scale / q.scale, abs(p.loc - q.loc)
    return far / q.scale + ratio * (-far / p.scale).exp() - ratio.log() - 1


def _gamma(p: Gamma, q: Gamma) -> Tensor:
    c, d = p.concentration, q.concentration
    return d * (p.rate / q.rate).log() + lgamma(d) - lgamma(c) + (c - d) * digamma(c) + (q.rate - p.rate) * c / p.rate


def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    c, total = p.concentration, p.concentration.sum(axis=-1, keepdim=True)
    return q._log_beta() - p._log_beta() + ((c - q.concentration) * (digamma(c) - digamma(total))).sum(axis=-1)


def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return ops.xlogy(p.rate, p.rate) - ops.xlogy(p.rate, q.rate) - (p.rate - q.rate)


KL: dict[type, Callable] = {
    Normal: _normal, Bernoulli: _bernoulli, Binomial: _binomial, Categorical: _categorical, Uniform: _uniform,
    MultivariateNormal: _multivariate, Independent: _independent, Exponential: _exponential, Laplace: _laplace,
    Gamma: _gamma, Dirichlet: _dirichlet, Beta: lambda p, q: _dirichlet(p._parts, q._parts), Poisson: _poisson}


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """E_p[log p - log q] of two distributions of one kind. Raises NotImplementedError for others."""
    if type(p) is not type(q) or type(p) not in KL:
        raise NotImplementedError(f"kl_divergence: no formula for {type(p).__name__} and {type(q).__name__}; average "
                                  "p.log_prob(x) - q.log_prob(x) over samples x of p")
    return KL[type(p)](p, q)
