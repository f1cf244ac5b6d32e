"""Distributions over real numbers, vectors and choices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import Tensor
from ..dtypes import finfo
from . import constraints
from .base import Distribution

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


class Normal(Distribution):
    """e^(-(x - loc)^2 / (2 scale^2)) / (scale sqrt(2 pi))."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support, has_rsample = constraints.real, True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        super().__init__(self._take(loc=loc, scale=scale), (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + self.scale * Tensor.randn(*self._sizes(sample_shape), dtype=self.loc.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        return -((value - self.loc) / self.scale).square() / 2 - self.scale.log() - _HALF_LOG_TWO_PI

    def entropy(self) -> Tensor:
        return self.scale.log() + (0.5 + _HALF_LOG_TWO_PI)

    def cdf(self, value: Any) -> Tensor:
        return (((value - self.loc) / (self.scale * math.sqrt(2))).erf() + 1) / 2

    def icdf(self, value: Any) -> Tensor:
        return self.loc + self.scale * ops.erfinv(2 * value - 1) * math.sqrt(2)

    def _divergence(self, q: Normal) -> Tensor:
        ratio = (self.scale / q.scale).square()
        return (ratio + ((self.loc - q.loc) / q.scale).square() - 1 - ratio.log()) / 2

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: self.scale.square())


class MultivariateNormal(Distribution):
    """A normal distribution over vectors: loc (..., n), and one matrix (..., n, n).

    covariance_matrix: symmetric positive definite; precision_matrix: its inverse; or scale_tril: lower triangular, with
    scale_tril scale_tril^T the covariance.
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support, has_rsample = constraints.real_vector, True

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None):
        given = dict(covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril)
        names = [name for name, matrix in given.items() if matrix is not None]
        if len(names) != 1:
            raise ValueError("MultivariateNormal: give one of covariance_matrix, precision_matrix and scale_tril")
        loc, matrix = (x if isinstance(x, Tensor) else Tensor(x) for x in (loc, given[names[0]]))
        n = loc.shape[-1] if loc.ndim else 0
        if not n or matrix.shape[-2:] != (n, n):
            raise ValueError(f"MultivariateNormal: loc {loc.shape} needs a matrix of shape (..., {n}, {n}), got "
                             f"{matrix.shape}")
        batch = np.broadcast_shapes(loc.shape[:-1], matrix.shape[:-2])
        self.loc, matrix = loc.expand(*batch, n), matrix.expand(*batch, n, n)
        setattr(self, names[0], matrix)
        super().__init__(batch, (n,), validate_args)
        if scale_tril is None:
            matrix = ops.linalg.cholesky(matrix if precision_matrix is None else ops.linalg.inv(matrix))
        self.scale_tril = matrix
        if covariance_matrix is None:
            self.covariance_matrix = matrix @ matrix.mT

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: self.scale_tril.square().sum(axis=-1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = Tensor.randn(*self._sizes(sample_shape), 1, dtype=self.loc.dtype)
        return self.loc + (self.scale_tril @ noise).squeeze(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        return -self._distance(value - self.loc) / 2 - self._half_log_det() - self.event_shape[0] * _HALF_LOG_TWO_PI

    def entropy(self) -> Tensor:
        return self._half_log_det() + self.event_shape[0] * (0.5 + _HALF_LOG_TWO_PI)

    def _divergence(self, q: MultivariateNormal) -> Tensor:
        shape = np.broadcast_shapes(self.scale_tril.shape, q.scale_tril.shape)
        solved = ops.linalg.solve_triangular(q.scale_tril.expand(*shape), self.scale_tril.expand(*shape), upper=False)
        spread = solved.square().sum(axis=(-2, -1)) + q._distance(self.loc - q.loc)
        return (spread - self.event_shape[0]) / 2 + q._half_log_det() - self._half_log_det()

    def _half_log_det(self) -> Tensor:
        return self.scale_tril.diagonal(0, -2, -1).log().sum(axis=-1)

    def _distance(self, difference: Tensor) -> Tensor:
        """The squared length of scale_tril^-1 difference."""
        matrix = self.scale_tril.expand(*difference.shape, self.event_shape[0])
        return ops.linalg.solve_triangular(matrix, difference.unsqueeze(-1), upper=False).square().sum(axis=(-2, -1))


class Uniform(Distribution):
    """1 / (high - low) on [low, high)."""

    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None):
        super().__init__(self._take(low=low, high=high), (), validate_args)

    arg_constraints = property(lambda self: {  # type: ignore[assignment]
        "low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)})
    support = property(lambda self: constraints.interval(self.low, self.high))  # type: ignore[assignment]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.low + Tensor.rand(*self._sizes(sample_shape), dtype=self.low.dtype) * (self.high - self.low)

    def _log_prob(self, value: Tensor) -> Tensor:
        return ((value >= self.low) & (value < self.high)).where(-(self.high - self.low).log(), -math.inf)

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()

    def cdf(self, value: Any) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clip(0.0, 1.0)

    def icdf(self, value: Any) -> Tensor:
        return self.low + value * (self.high - self.low)

    def _divergence(self, q: Uniform) -> Tensor:
        inside = (q.low <= self.low) & (self.high <= q.high)
        return inside.where(((q.high - q.low) / (self.high - self.low)).log(), math.inf)

    mean = property(lambda self: (self.low + self.high) / 2)
    variance = property(lambda self: (self.high - self.low).square() / 12)
    mode = property(lambda self: self.low.full_like(math.nan))

# Choices --------------------------------------------------------------------------------------------------------------


class Bernoulli(Distribution):
    """1 with probability probs = sigmoid(logits), else 0, as floating-point numbers. Pass one of the two."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    probs: Tensor
    logits: Tensor

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._by_probs = _one_of("Bernoulli", probs, logits)
        shape = self._take(probs=probs) if self._by_probs else self._take(logits=logits)
        super().__init__(shape, (), validate_args)
        if self._by_probs:
            p = _inside(self.probs)
            self.logits = p.log() - (1 - p).log()
        else:
            self.probs = self.logits.sigmoid()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._sampled(lambda numbers, n, p: (numbers.random(n) < p).astype(p.dtype), sample_shape, self.probs)

    def _log_prob(self, value: Tensor) -> Tensor:
        return value * self.logits - self.logits.softplus()  # log sigmoid(l) and log(1 - sigmoid(l)) at 1 and 0

    def entropy(self) -> Tensor:
        log_p, log_q = _log_odds(self)
        return -_weighed(self.probs, log_p) - _weighed(1 - self.probs, log_q)

    def _divergence(self, q: Bernoulli) -> Tensor:
        """Infinite if q excludes what this does not."""
        (yes_p, no_p), (yes_q, no_q) = _log_odds(self), _log_odds(q)
        return _gain(self.probs, yes_p, yes_q) + _gain(1 - self.probs, no_p, no_q)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    mode = property(lambda self: ops.where(
        ops.eq(self.probs, 0.5), math.nan, (self.probs >= 0.5).cast(self.probs.dtype)))


class Categorical(Distribution):
    """The index i of the last axis with probability probs[i] = softmax(logits)[i], as int64. Pass one of the two.

    probs need not sum to 1: they are divided by their sum.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    probs: Tensor
    logits: Tensor

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._by_probs = _one_of("Categorical", probs, logits)
        x = probs if self._by_probs else logits
        x = x if isinstance(x, Tensor) else Tensor(x)
        if not x.ndim or not x.shape[-1]:
            raise ValueError(f"Categorical: needs an axis of categories, got shape {x.shape}")
        if self._by_probs:
            self.probs = x / x.sum(axis=-1, keepdim=True)
        else:
            self.logits = x
        super().__init__(x.shape[:-1], (), validate_args)
        self.logits, self.probs = (_inside(self.probs).log(), self.probs) if self._by_probs else (
            x.log_softmax(-1), x.softmax(-1))

    support = property(lambda self: constraints.integer_interval(0, self.probs.shape[-1] - 1))  # type: ignore[assignment]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        def draw(numbers: np.random.Generator, sizes: tuple[int, ...], p: np.ndarray) -> np.ndarray:
            sums = np.cumsum(p.astype(np.float64), axis=-1)
            u = numbers.random(sizes) * sums[..., -1]
            return np.minimum((u[..., None] >= sums).sum(-1), sums.shape[-1] - 1).astype(np.int64)

        return self._sampled(draw, sample_shape, self.probs)

    def _log_prob(self, value: Tensor) -> Tensor:
        shape = np.broadcast_shapes(value.shape, self.batch_shape)
        logits = self.logits.expand(*shape, self.logits.shape[-1])
        return logits.gather(-1, value.long().expand(*shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        return -_weighed(self.probs, self.logits).sum(axis=-1)

    def _divergence(self, q: Categorical) -> Tensor:
        """Infinite if q excludes what this does not."""
        excluded = (q.probs == 0) & q._by_probs
        return _gain(self.probs, self.logits, excluded.where(-math.inf, q.logits)).sum(axis=-1)

    mean = variance = property(lambda self: self.probs[..., 0].full_like(math.nan))
    mode = property(lambda self: self.probs.argmax(-1))


def _one_of(who: str, probs: Any, logits: Any) -> bool:
    """Whether probs is given."""
    if (probs is None) == (logits is None):
        raise ValueError(f"{who}: give either probs or logits")
    return probs is not None


def _inside(p: Tensor) -> Tensor:
    """Probabilities clipped inside (0, 1), where logarithms are finite: an impossible value has log_prob -16 in
    float32, as in PyTorch."""
    eps = float(finfo(p.dtype).eps)
    return p.clip(eps, 1 - eps)


def _weighed(p: Tensor, x: Tensor) -> Tensor:
    """p x, but 0 where p is 0, even for an infinite x."""
    return (none := p == 0).where(0.0, p * none.where(0.0, x))


def _log_odds(d: Any) -> tuple[Tensor, Tensor]:
    """log p and log(1 - p) of a distribution with probs and logits; exactly -inf and 0 for probs 0 and 1."""
    never, always = (d.probs == 0) & d._by_probs, (d.probs == 1) & d._by_probs
    log_p, log_q = always.where(0.0, d.logits.logsigmoid()), never.where(0.0, (-d.logits).logsigmoid())
    return never.where(-math.inf, log_p), always.where(-math.inf, log_q)


def _gain(p: Tensor, log_p: Tensor, log_q: Tensor) -> Tensor:
    """p (log p - log q), but 0 where p is 0."""
    return _weighed(p, log_p) - _weighed(p, log_q)
