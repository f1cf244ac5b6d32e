"""Distributions of positive numbers, of parts of a whole and of counts, and those with heavy tails."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops, random
from ..core.listener import pure
from ..core.tensor import Tensor, wrap
from ..ops.gamma import digamma, lgamma
from ..transforms.switches import no_grad
from .base import Bernoulli, Categorical, Distribution, Normal, log_odds, weighed
from .divergence import KL, kl_divergence


def _uniform(d: Distribution, sample_shape: Any, dtype: Any) -> Tensor:
    """Numbers on (0, 1), for inverses of distribution functions that are not finite at 0."""
    return wrap(random.drawn(lambda: np.maximum(random.generator.random(d._sizes(sample_shape), dtype),
                                                np.finfo(dtype).tiny)))


class Exponential(Distribution):
    """rate e^(-rate x), for x >= 0."""

    rate: Tensor
    has_rsample = True
    mean = variance = None  # type: ignore[assignment]

    def __init__(self, rate: Any):
        self._take(rate=rate)
        self._require(self.rate._data > 0, "rate must be positive")
        self.mean, self.variance = 1 / self.rate, 1 / self.rate**2  # type: ignore[misc]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return -_uniform(self, sample_shape, self.rate.dtype).log() / self.rate

    def log_prob(self, value: Any) -> Tensor:
        return self.rate.log() - self.rate * value

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()

    def cdf(self, value: Any) -> Tensor:
        return 1 - (-self.rate * value).exp()


class Laplace(Distribution):
    """e^(-|x - loc| / scale) / (2 scale)."""

    loc: Tensor
    scale: Tensor
    has_rsample = True
    mean = variance = None  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any):
        self._take(loc=loc, scale=scale)
        self._require(self.scale._data > 0, "scale must be positive")
        self.mean, self.variance = self.loc, 2 * self.scale**2  # type: ignore[misc]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = _uniform(self, sample_shape, self.loc.dtype) - 0.5
        return self.loc - self.scale * u.sign() * (-2 * u.abs()).clip(-1 + 1e-7, 0).log1p()

    def log_prob(self, value: Any) -> Tensor:
        return -(2 * self.scale).log() - abs(value - self.loc) / self.scale

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()

    def cdf(self, value: Any) -> Tensor:
        z = value - self.loc
        return 0.5 - 0.5 * z.sign() * (-z.abs() / self.scale).expm1()


class Gamma(Distribution):
    """rate^c x^(c - 1) e^(-rate x) / Gamma(c), with c = concentration, for x > 0."""

    concentration: Tensor
    rate: Tensor
    has_rsample = True
    mean = variance = None  # type: ignore[assignment]

    def __init__(self, concentration: Any, rate: Any):
        self._take(concentration=concentration, rate=rate)
        self._require(self.concentration._data > 0, "concentration must be positive")
        self._require(self.rate._data > 0, "rate must be positive")
        self.mean = self.concentration / self.rate  # type: ignore[misc]
        self.variance = self.mean / self.rate  # type: ignore[misc]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return standard_gamma(self.concentration.expand(*self._sizes(sample_shape))) / self.rate

    def log_prob(self, value: Any) -> Tensor:
        c = self.concentration
        return ops.xlogy(c, self.rate) + ops.xlogy(c - 1, value) - self.rate * value - lgamma(c)

    def entropy(self) -> Tensor:
        c = self.concentration
        return c - self.rate.log() + lgamma(c) + (1 - c) * digamma(c)


class Dirichlet(Distribution):
    """Parts x of a whole, of density product of x_i^(c_i - 1) / B(c) along the last axis, where c = concentration."""

    has_rsample = True
    mean = variance = None  # type: ignore[assignment]

    def __init__(self, concentration: Any):
        c = concentration if isinstance(concentration, Tensor) else Tensor(concentration)
        self._require(c.ndim > 0, "concentration needs an axis of parts")
        self._require(c._data > 0, "concentration must be positive")
        self.concentration, self.batch_shape, self.event_shape = c, c.shape[:-1], c.shape[-1:]
        total = c.sum(axis=-1, keepdim=True)
        self.mean = c / total  # type: ignore[misc]
        self.variance = self.mean * (1 - self.mean) / (total + 1)  # type: ignore[misc]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        parts = standard_gamma(self.concentration.expand(*self._sizes(sample_shape)))
        return parts / parts.sum(axis=-1, keepdim=True)

    def log_prob(self, value: Any) -> Tensor:
        return ops.xlogy(self.concentration - 1, value).sum(axis=-1) - self._log_beta()

    def entropy(self) -> Tensor:
        c = self.concentration
        total, k = c.sum(axis=-1), c.shape[-1]
        return self._log_beta() + (total - k) * digamma(total) - ((c - 1) * digamma(c)).sum(axis=-1)

    def _log_beta(self) -> Tensor:
        return lgamma(self.concentration).sum(axis=-1) - lgamma(self.concentration.sum(axis=-1))


class Beta(Distribution):
    """x^(a - 1) (1 - x)^(b - 1) / B(a, b), with a = concentration1 and b = concentration0, for x in (0, 1)."""

    concentration1: Tensor
    concentration0: Tensor
    has_rsample = True
    mean = variance = None  # type: ignore[assignment]

    def __init__(self, concentration1: Any, concentration0: Any):
        self._take(concentration1=concentration1, concentration0=concentration0)
        self._parts = Dirichlet(ops.stack(self.concentration1, self.concentration0, axis=-1))
        parts: Any = self._parts
        self.mean, self.variance = parts.mean[..., 0], parts.variance[..., 0]  # type: ignore[misc]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._parts.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        return self._parts.log_prob(ops.stack(value, 1 - value, axis=-1))

    def entropy(self) -> Tensor:
        return self._parts.entropy()


class Poisson(Distribution):
    """The count k >= 0 with probability rate^k e^-rate / k!, as floating-point numbers."""

    rate: Tensor
    mean = variance = None  # type: ignore[assignment]

    def __init__(self, rate: Any):
        self._take(rate=rate)
        self._require(self.rate._data >= 0, "rate must not be negative")
        self.mean = self.variance = self.rate  # type: ignore[misc]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._sampled(lambda n, rate: np.asarray(random.generator.poisson(rate, n), rate.dtype), sample_shape,
                             self.rate)

    def log_prob(self, value: Any) -> Tensor:
        return ops.xlogy(value, self.rate) - self.rate - lgamma(value + 1)


class StudentT(Distribution):
    """A normal number divided by the root of an independent chi-squared one over df, times scale, plus loc."""

    df: Tensor
    loc: Tensor
    scale: Tensor
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0):
        self._take(df=df, loc=loc, scale=scale)
        self._require(self.df._data > 0, "df must be positive")
        self._require(self.scale._data > 0, "scale must be positive")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        half = self.df.expand(*self._sizes(sample_shape)) / 2
        normal = Tensor.randn(*half.shape, dtype=half.dtype)
        return self.loc + self.scale * normal * (half / standard_gamma(half)).sqrt()

    def log_prob(self, value: Any) -> Tensor:
        y, half = (value - self.loc) / self.scale, self.df / 2
        z = self.scale.log() + (self.df.log() + math.log(math.pi)) / 2 + lgamma(half) - lgamma(half + 0.5)
        return -(half + 0.5) * (y * y / self.df).log1p() - z


class Half(Distribution):
    """|x| of an x of this scale whose distribution, the `whole`, has its centre at 0."""

    scale: Tensor
    has_rsample = True

    def __init__(self, scale: Any, whole: Callable[[Any, Any], Distribution]):
        self._take(scale=scale)
        self._whole = whole(0.0, self.scale)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._whole.rsample(sample_shape).abs()

    def log_prob(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        return ops.where(value < 0, -math.inf, self._whole.log_prob(value) + math.log(2))

    def cdf(self, value: Any) -> Tensor:
        return 2 * self._whole.cdf(value) - 1

    def icdf(self, value: Any) -> Tensor:
        return self._whole.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self._whole.entropy() - math.log(2)


class HalfNormal(Half):
    """|x| of a normal x of mean 0 and this scale."""

    def __init__(self, scale: Any):
        super().__init__(scale, Normal)


class Cauchy(Distribution):
    """1 / (pi scale (1 + ((x - loc) / scale)^2)), which has no mean."""

    loc: Tensor
    scale: Tensor
    has_rsample = True

    def __init__(self, loc: Any, scale: Any):
        self._take(loc=loc, scale=scale)
        self._require(self.scale._data > 0, "scale must be positive")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + self.scale * ops.tan(math.pi * (_uniform(self, sample_shape, self.loc.dtype) - 0.5))

    def log_prob(self, value: Any) -> Tensor:
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).square().log1p()

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(Distribution):
    """The largest of many: e^(-z - e^-z) / scale with z = (x - loc) / scale."""

    loc: Tensor
    scale: Tensor
    has_rsample = True
    mean = variance = None  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any):
        self._take(loc=loc, scale=scale)
        self._require(self.scale._data > 0, "scale must be positive")
        self.mean = self.loc + np.euler_gamma * self.scale  # type: ignore[misc]
        self.variance = (math.pi**2 / 6) * self.scale**2  # type: ignore[misc]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = _uniform(self, sample_shape, self.loc.dtype)
        return self.loc - self.scale * (-u.log()).clip(float(np.finfo(u.dtype).tiny), math.inf).log()

    def log_prob(self, value: Any) -> Tensor:
        z = (value - self.loc) / self.scale
        return -z - (-z).exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + np.euler_gamma)


class Geometric(Distribution):
    """The number of failures before the first success, whose probability is probs = sigmoid(logits)."""

    def __init__(self, probs: Any = None, logits: Any = None):
        one = Bernoulli(probs, logits)
        self.batch_shape, self.probs, self.logits = one.batch_shape, one.probs, one.logits
        self._by_probs = one._by_probs
        self._require((self.probs._data > 0) | (not self._by_probs), "probs must be above 0")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._sampled(lambda n, p: np.asarray(random.generator.geometric(p, n) - 1, p.dtype), sample_shape,
                             self.probs)

    def log_prob(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        log_p, log_q = log_odds(self)
        return weighed(value, log_q) + log_p


class Binomial(Distribution):
    """The number of successes among total_count, each with probability probs = sigmoid(logits)."""

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None):
        one = Bernoulli(probs, logits)
        self._take(total_count=total_count, logits=one.logits)
        self.total_count, self._by_probs = self.total_count.to(self.logits.dtype), one._by_probs
        self.probs = self.logits.sigmoid() if probs is None else one.probs.expand(*self.batch_shape)

    total_count: Tensor
    logits: Tensor

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._sampled(lambda n, count, p: np.asarray(random.generator.binomial(count.astype(np.int64), p, n),
                                                            p.dtype), sample_shape, self.total_count, self.probs)

    def log_prob(self, value: Any) -> Tensor:
        n = self.total_count
        ways = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1)
        return ways + value * self.logits - n * self.logits.softplus()


class OneHotCategorical(Distribution):
    """`Categorical`, whose sample is a row with a 1 in its place."""

    def __init__(self, probs: Any = None, logits: Any = None):
        self._categorical = Categorical(probs, logits)
        self.probs, self.logits = self._categorical.probs, self._categorical.logits
        self.batch_shape, self.event_shape = self.probs.shape[:-1], self.probs.shape[-1:]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return ops.one_hot(self._categorical.sample(sample_shape), self.event_shape[0]).cast(self.probs.dtype)

    def log_prob(self, value: Any) -> Tensor:
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with the gradient of a sample that of its probabilities (Bengio et al. 2013)."""

    has_rsample = True

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return super().sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


def standard_gamma(concentration: Tensor) -> Tensor:
    """Samples of Gamma(c, 1), with the gradient that keeps their share of the distribution: dx/dc = -(dF/dc) / f.

    F is the distribution function, its series x^c e^-x / Gamma(c + 1) sum_k x^k / ((c + 1) ... (c + k)), and f its
    slope (Figurnov, Mohamed and Mnih 2018).
    """
    x = random.sampled("gamma", lambda c: np.maximum(random.generator.standard_gamma(c), np.finfo(c.dtype).tiny).astype(
        c.dtype), concentration)
    if not concentration.requires_grad:
        return wrap(x)
    return wrap(x) + (concentration - concentration.detach()) * wrap(_slope_of_gamma(concentration._data, x))


@pure
def _slope_of_gamma(c: np.ndarray, x: np.ndarray) -> np.ndarray:
    """dx/dc of samples x, as `standard_gamma` describes."""
    c64, x64 = np.asarray(c, np.float64), np.asarray(x, np.float64)
    term, harmonic, k = np.ones(c.shape), np.zeros(c.shape), 0
    total, slope = term.copy(), np.zeros(c.shape)
    while (term > 1e-17 * total).any():
        k += 1
        term, harmonic = term * (x64 / (c64 + k)), harmonic + 1 / (c64 + k)
        total, slope = total + term, slope - term * harmonic
    log_part = np.log(x64) - digamma(c64 + 1)
    return np.asarray(-(x64 / c64) * (log_part * total + slope), c.dtype)


# KL divergences ------------------------------------------------------------------------------------------------------


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


KL.update({Exponential: _exponential, Laplace: _laplace, Gamma: _gamma, Dirichlet: _dirichlet, Poisson: _poisson,
           Beta: lambda p, q: _dirichlet(p._parts, q._parts),
           HalfNormal: lambda p, q: kl_divergence(p._whole, q._whole),
           OneHotCategorical: lambda p, q: kl_divergence(p._categorical, q._categorical)})
__all__ = ["Beta", "Binomial", "Cauchy", "Dirichlet", "Exponential", "Gamma", "Geometric", "Gumbel", "HalfNormal",
           "Laplace", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson", "StudentT"]
