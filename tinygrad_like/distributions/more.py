"""Distributions made of those in the other files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops, random
from ..core.tensor import Tensor
from ..ops.gamma import digamma, lgamma
from .base import Bernoulli, Categorical, Distribution
from .positive import Cauchy, Gamma, Half, Poisson, _uniform, standard_gamma
from .transformed import inside


class Chi2(Gamma):
    """The sum of df squares of standard normal numbers: Gamma(df / 2, 1 / 2)."""

    def __init__(self, df: Any):
        self._take(df=df)
        super().__init__(self.df / 2, 0.5)

    df: Tensor


class InverseGamma(Distribution):
    """1 / x of x with Gamma(concentration, rate)."""

    concentration: Tensor
    rate: Tensor
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any):
        self._take(concentration=concentration, rate=rate)
        self._gamma = Gamma(self.concentration, self.rate)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return 1 / self._gamma.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        return self._gamma.log_prob(1 / value) - 2 * value.log()

    def entropy(self) -> Tensor:
        c = self.concentration
        return c + self.rate.log() + lgamma(c) - (1 + c) * digamma(c)

    @property
    def mean(self) -> Tensor:
        c = self.concentration
        return ops.where(c > 1, self.rate / (c - 1).clip(1e-30, None), math.inf)

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return ops.where(c > 2, self.rate**2 / ((c - 1) ** 2 * (c - 2).clip(1e-30, None)), math.inf)


class Pareto(Distribution):
    """alpha scale^alpha / x^(alpha + 1), for x >= scale."""

    scale: Tensor
    alpha: Tensor
    has_rsample = True

    def __init__(self, scale: Any, alpha: Any):
        self._take(scale=scale, alpha=alpha)
        self._require(self.scale._data > 0, "scale must be positive")
        self._require(self.alpha._data > 0, "alpha must be positive")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.scale * (-_uniform(self, sample_shape, self.scale.dtype).log() / self.alpha).exp()

    def log_prob(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        inside = self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()
        return ops.where(value < self.scale, -math.inf, inside)

    def cdf(self, value: Any) -> Tensor:
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value: Any) -> Tensor:
        return self.scale * (1 - value) ** (-1 / self.alpha)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + 1 / self.alpha)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clip(1, None)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clip(2, None)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))


class Weibull(Distribution):
    """c / scale z^(c - 1) e^(-z^c) with z = x / scale and c = concentration, for x > 0."""

    scale: Tensor
    concentration: Tensor
    has_rsample = True

    def __init__(self, scale: Any, concentration: Any):
        self._take(scale=scale, concentration=concentration)
        self._require(self.scale._data > 0, "scale must be positive")
        self._require(self.concentration._data > 0, "concentration must be positive")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(_uniform(self, sample_shape, self.scale.dtype))

    def log_prob(self, value: Any) -> Tensor:
        z, c = value / self.scale, self.concentration
        return (c / self.scale).log() + ops.xlogy(c - 1, z) - z**c

    def cdf(self, value: Any) -> Tensor:
        return -(-((value / self.scale) ** self.concentration)).expm1()

    def icdf(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        return self.scale * (-(-value).log1p()) ** (1 / self.concentration)

    def entropy(self) -> Tensor:
        c = self.concentration
        return np.euler_gamma * (1 - 1 / c) + (self.scale / c).log() + 1

    @property
    def mean(self) -> Tensor:
        return self.scale * lgamma(1 + 1 / self.concentration).exp()

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return self.scale**2 * (lgamma(1 + 2 / c).exp() - (2 * lgamma(1 + 1 / c)).exp())


class HalfCauchy(Half):
    """|x| of x with Cauchy(0, scale)."""

    def __init__(self, scale: Any):
        super().__init__(scale, Cauchy)

    @property
    def mean(self) -> Tensor:
        return self.scale.detach() * 0 + math.inf

    variance = mean


class NegativeBinomial(Distribution):
    """The successes, each with probability probs = sigmoid(logits), before the total_count-th failure."""

    total_count: Tensor
    logits: Tensor

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None):
        one = Bernoulli(probs, logits)
        self._take(total_count=total_count, logits=one.logits)
        self.total_count = self.total_count.to(self.logits.dtype)
        self._require(self.total_count._data >= 0, "total_count must not be negative")
        self.probs = self.logits.sigmoid() if probs is None else one.probs.expand(*self.batch_shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._sizes(sample_shape)
        rate = standard_gamma(self.total_count.detach().expand(*shape)) * self.logits.detach().exp()
        return Poisson(rate).sample()

    def log_prob(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        n = self.total_count
        ways = lgamma(n + value) - lgamma(1 + value) - lgamma(n)
        ways = ops.where(ops.eq(n + value, 0), 0.0, ways)
        return ways - n * self.logits.softplus() - value * (-self.logits).softplus()

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clip(0.0, None)


class Multinomial(Distribution):
    """How often each category comes in total_count draws of a Categorical, as floating-point numbers."""

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None):
        if not isinstance(total_count, int) or total_count < 0:
            raise ValueError(f"Multinomial: total_count must be a non-negative integer, got {total_count!r}")
        self.total_count, self._categorical = total_count, Categorical(probs, logits)
        self.probs, self.logits = self._categorical.probs, self._categorical.logits
        self.batch_shape, self.event_shape = self.probs.shape[:-1], self.probs.shape[-1:]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        def draw(n: tuple[int, ...], probs: np.ndarray) -> np.ndarray:
            p = np.asarray(probs, np.float64)
            p = np.broadcast_to(p / p.sum(-1, keepdims=True), n)
            return random.generator.multinomial(self.total_count, p).astype(probs.dtype)

        return self._sampled(draw, sample_shape, self.probs)

    def log_prob(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        logits = ops.where(ops.eq(value, 0) & (self.probs <= 0), 0.0, self.logits)
        ways = lgamma(value.sum(axis=-1) + 1) - lgamma(value + 1).sum(axis=-1)
        return ways + (logits * value).sum(axis=-1)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)


class RelaxedOneHotCategorical(Distribution):
    """softmax((logits + n) / temperature) with Gumbel noise n (Jang et al. 2017; Maddison et al. 2017)."""

    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None):
        self.temperature, self._categorical = temperature, Categorical(probs, logits)
        self.probs, self.logits = self._categorical.probs, self._categorical.logits
        self.batch_shape, self.event_shape = self.probs.shape[:-1], self.probs.shape[-1:]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = _uniform(self, sample_shape, self.logits.dtype).clip(1e-30, 1 - 1e-7)
        return ((self.logits - (-u.log()).log()) / self.temperature).softmax(-1)

    def log_prob(self, value: Any) -> Tensor:
        k, t = self.event_shape[0], self.temperature
        t = t if isinstance(t, Tensor) else Tensor(float(t), dtype=self.logits.dtype)
        value = inside(value if isinstance(value, Tensor) else Tensor(value))
        scores = self.logits - t * value.log()
        scale = lgamma(Tensor(float(k), dtype=self.logits.dtype)) + (k - 1) * t.log()
        return (scores - scores.logsumexp(-1, keepdim=True) - value.log()).sum(axis=-1) + scale


class RelaxedBernoulli(Distribution):
    """sigmoid((logits + n) / temperature) with logistic noise n (Maddison et al. 2017)."""

    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None):
        one = Bernoulli(probs, logits)
        self.temperature, self.batch_shape = temperature, one.batch_shape
        self.probs, self.logits = one.probs, one.logits

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = _uniform(self, sample_shape, self.logits.dtype).clip(1e-30, 1 - 1e-7)
        return ((ops.logit(u) + self.logits) / self.temperature).sigmoid()

    def log_prob(self, value: Any) -> Tensor:
        value = inside(value if isinstance(value, Tensor) else Tensor(value))
        t = self.temperature if isinstance(self.temperature, Tensor) else Tensor(
            float(self.temperature), dtype=self.logits.dtype)
        x = ops.logit(value)
        difference = self.logits - t * x
        return t.log() + difference - 2 * difference.softplus() - value.log() - (-value).log1p()


class VonMises(Distribution):
    """e^(concentration cos(x - loc)) / (2 pi I_0(concentration)): angles around loc, on [-pi, pi)."""

    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any):
        self._take(loc=loc, concentration=concentration)
        self._require(self.concentration._data > 0, "concentration must be positive")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        def draw(n: tuple[int, ...], loc: np.ndarray, concentration: np.ndarray) -> np.ndarray:
            turned = loc + random.generator.vonmises(0.0, concentration, n) + math.pi
            return (turned % (2 * math.pi) - math.pi).astype(loc.dtype)

        return self._sampled(draw, sample_shape, self.loc, self.concentration)

    def log_prob(self, value: Any) -> Tensor:
        # With the factor e^-concentration on both sides, as I_0 alone overflows.
        near = self.concentration * ((value - self.loc).cos() - 1)
        return near - ops.i0e(self.concentration).log() - math.log(2 * math.pi)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """That of angles: 1 - E[cos(x - loc)]."""
        return 1 - ops.i1e(self.concentration) / ops.i0e(self.concentration)


class Kumaraswamy(Distribution):
    """a b x^(a - 1) (1 - x^a)^(b - 1), for x from 0 to 1, with a = concentration1 and b = concentration0."""

    concentration1: Tensor
    concentration0: Tensor
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any):
        self._take(concentration1=concentration1, concentration0=concentration0)
        self._require(self.concentration1._data > 0, "concentration1 must be positive")
        self._require(self.concentration0._data > 0, "concentration0 must be positive")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(_uniform(self, sample_shape, self.concentration1.dtype))

    def log_prob(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + ops.xlogy(a - 1, value) + ops.xlog1py(b - 1, -(value**a))

    def cdf(self, value: Any) -> Tensor:
        return 1 - (1 - value**self.concentration1) ** self.concentration0

    def icdf(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        return (-((-value).log1p() / self.concentration0).expm1()) ** (1 / self.concentration1)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (1 - 1 / b) + (1 - 1 / a) * (digamma(b + 1) + np.euler_gamma) - a.log() - b.log()

    def _moment(self, n: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return b * (lgamma(1 + n / a) + lgamma(b) - lgamma(1 + n / a + b)).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).square()

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        return ops.where(inside, ((a - 1) / ops.where(inside, a * b - 1, 1.0)).clip(0.0, None) ** (1 / a), math.nan)


__all__ = ["Chi2", "HalfCauchy", "InverseGamma", "Kumaraswamy", "Multinomial", "NegativeBinomial", "Pareto",
           "RelaxedBernoulli", "RelaxedOneHotCategorical", "VonMises", "Weibull"]
