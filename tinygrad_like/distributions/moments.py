"""What the distributions of the other files have besides densities and samples: moments, modes and inverses."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import ops
from ..core.tensor import Tensor
from ..ops.gamma import digamma, lgamma
from . import base as b
from . import more as m
from . import positive as p
from . import transformed as t
from .divergence import KL, bernoulli, kl_divergence

_LOG_PI = math.log(math.pi)


def _everywhere(like: Tensor, number: float) -> Tensor:
    return Tensor(np.full(like.shape, number, like.dtype))


def _of_parts(c: Tensor) -> Tensor:
    """The mode of a Dirichlet: in a corner if all concentrations are below 1."""
    shifted = (c - 1).clip(0.0, None)
    inside = shifted / shifted.sum(axis=-1, keepdim=True)
    corner = ops.one_hot(c.argmax(-1), c.shape[-1]).cast(c.dtype)
    return ops.where((c < 1).all(axis=-1, keepdim=True), corner, inside)


def _spread(d: t.MixtureSameFamily) -> Tensor:
    """E[Var] + Var[E]"""
    axis = -1 - len(d.event_shape)
    weights = d.mixture_distribution.probs
    weights = weights.reshape(*weights.shape, *(1,) * len(d.event_shape))
    means = d.component_distribution.mean
    middle = (weights * means).sum(axis=axis, keepdim=True)
    return (weights * (d.component_distribution.variance + (means - middle).square())).sum(axis=axis)


def _student_variance(d: p.StudentT) -> Tensor:
    some = ops.where(d.df > 2, d.scale.square() * d.df / ops.where(d.df > 2, d.df - 2, 1.0), math.inf)
    return ops.where(d.df > 1, some, math.nan)


def _student_entropy(d: p.StudentT) -> Tensor:
    half = d.df / 2
    beta = 0.5 * _LOG_PI + lgamma(half) - lgamma(half + 0.5)
    return d.scale.log() + (half + 0.5) * (digamma(half + 0.5) - digamma(half)) + 0.5 * d.df.log() + beta


MODES: dict[type, Callable] = {
    b.Normal: lambda d: d.loc, b.Uniform: lambda d: _everywhere(d.low, math.nan), b.MultivariateNormal: lambda d: d.loc,
    b.Bernoulli: lambda d: ops.where(ops.eq(d.probs, 0.5), math.nan, (d.probs >= 0.5).cast(d.probs.dtype)),
    b.Categorical: lambda d: d.probs.argmax(-1), b.Independent: lambda d: d.base_dist.mode,
    p.Exponential: lambda d: _everywhere(d.rate, 0), p.Laplace: lambda d: d.loc, p.StudentT: lambda d: d.loc,
    p.Gamma: lambda d: ((d.concentration - 1) / d.rate).clip(0.0, None), p.Cauchy: lambda d: d.loc,
    p.Dirichlet: lambda d: _of_parts(d.concentration), p.Beta: lambda d: d._parts.mode[..., 0],
    p.Poisson: lambda d: d.rate.floor(), p.HalfNormal: lambda d: _everywhere(d.scale, 0), p.Gumbel: lambda d: d.loc,
    p.Geometric: lambda d: _everywhere(d.probs, 0),
    p.Binomial: lambda d: ops.minimum(((d.total_count + 1) * d.probs).floor(), d.total_count),
    p.OneHotCategorical: lambda d: ops.one_hot(d.probs.argmax(-1), d.event_shape[0]).cast(d.probs.dtype),
    t.LogNormal: lambda d: (d.loc - d.scale.square()).exp(),
    m.InverseGamma: lambda d: d.rate / (d.concentration + 1), m.Pareto: lambda d: d.scale,
    m.HalfCauchy: lambda d: _everywhere(d.scale, 0),
    m.Weibull: lambda d: d.scale * ((d.concentration - 1).clip(0.0, None) / d.concentration) ** (1 / d.concentration),
}
MEANS: dict[type, Callable] = {
    b.Categorical: lambda d: _everywhere(d.probs[..., 0], math.nan), p.Geometric: lambda d: 1 / d.probs - 1,
    p.Binomial: lambda d: d.total_count * d.probs, p.HalfNormal: lambda d: d.scale * math.sqrt(2 / math.pi),
    p.StudentT: lambda d: ops.where(d.df > 1, d.loc, math.nan), p.OneHotCategorical: lambda d: d.probs,
    p.Cauchy: lambda d: _everywhere(d.loc, math.nan),
}
VARIANCES: dict[type, Callable] = {
    b.Categorical: lambda d: _everywhere(d.probs[..., 0], math.nan), p.Geometric: lambda d: (1 / d.probs - 1) / d.probs,
    p.Binomial: lambda d: d.total_count * d.probs * (1 - d.probs), t.MixtureSameFamily: _spread,
    p.HalfNormal: lambda d: d.scale.square() * (1 - 2 / math.pi), p.StudentT: _student_variance,
    p.OneHotCategorical: lambda d: d.probs * (1 - d.probs), p.Cauchy: lambda d: _everywhere(d.loc, math.inf),
}
ENTROPIES: dict[type, Callable] = {
    p.StudentT: _student_entropy,
    p.Geometric: lambda d: b.Bernoulli.entropy(d) / d.probs,
}
CDFS: dict[type, Callable] = {
    p.Cauchy: lambda d, x: ((x - d.loc) / d.scale).atan() / math.pi + 0.5,
    p.Gumbel: lambda d, x: (-(-(x - d.loc) / d.scale).exp()).exp(),
    t.LogNormal: lambda d, x: d.base_dist.cdf(x.log()),
}
INVERSES: dict[type, Callable] = {
    b.Normal: lambda d, q: d.loc + d.scale * ops.erfinv(2 * q - 1) * math.sqrt(2),
    b.Uniform: lambda d, q: d.low + q * (d.high - d.low), p.Exponential: lambda d, q: -(-q).log1p() / d.rate,
    p.Laplace: lambda d, q: d.loc - d.scale * (q - 0.5).sign() * (-2 * (q - 0.5).abs()).log1p(),
    p.Cauchy: lambda d, q: d.loc + d.scale * (math.pi * (q - 0.5)).tan(),
    p.Gumbel: lambda d, q: d.loc - d.scale * (-q.log()).log(),
    t.LogNormal: lambda d, q: d.base_dist.icdf(q).exp(),
}
for _name, _table in ("mode", MODES), ("mean", MEANS), ("variance", VARIANCES):
    for _cls, _f in _table.items():
        setattr(_cls, _name, property(_f))
for _name, _table in ("entropy", ENTROPIES), ("cdf", CDFS), ("icdf", INVERSES):
    for _cls, _f in _table.items():
        setattr(_cls, _name, lambda self, *x, _f=_f: _f(self, *[v if isinstance(v, Tensor) else Tensor(v) for v in x]))

# KL divergences ------------------------------------------------------------------------------------------------------


def _binomial(x: p.Binomial, y: p.Binomial) -> Tensor:
    """Infinite if the first has more trials; of more in the second there is no formula."""
    if (x.total_count._data < y.total_count._data).any():
        raise NotImplementedError("kl_divergence: no formula for a Binomial of fewer trials than the other")
    found = b.weighed(x.total_count, bernoulli(x, y))
    return ops.where(x.total_count > y.total_count, math.inf, found)


def _gumbel(x: p.Gumbel, y: p.Gumbel) -> Tensor:
    ratio, far = x.scale / y.scale, (y.loc - x.loc) / y.scale
    return -ratio.log() - far + ratio * np.euler_gamma + (far + lgamma(1 + ratio)).exp() - (1 + np.euler_gamma)


KL.update({
    t.LogNormal: lambda x, y: kl_divergence(x.base_dist, y.base_dist), p.Binomial: _binomial, p.Gumbel: _gumbel,
    p.Geometric: lambda x, y: bernoulli(x, y) / x.probs,  # of the first success, and of each failure before it
    p.Cauchy: lambda x, y: ((x.scale + y.scale).square() + (x.loc - y.loc).square()).log() -
    (4 * x.scale * y.scale).log(),
})
KL[m.Chi2] = KL[p.Gamma]
