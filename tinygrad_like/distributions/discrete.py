"""Discrete distributions: counts and choices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import Tensor
from ..ops.gamma import lgamma
from . import constraints
from .base import Distribution, filled, inside, log_odds, one_of, weighed

_LOGITS = {"probs": constraints.unit_interval, "logits": constraints.real}


class Bernoulli(Distribution):
    """1 with probability probs = sigmoid(logits), else 0, as floating-point numbers. Give one of the two."""

    arg_constraints, support = _LOGITS, constraints.boolean
    probs: Tensor
    logits: Tensor

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._by_probs = one_of("Bernoulli", probs, logits)
        shape = self._take(probs=probs) if self._by_probs else self._take(logits=logits)
        super().__init__(shape, (), validate_args)
        if self._by_probs:
            p = inside(self.probs)
            self.logits = p.log() - (1 - p).log()
        else:
            self.probs = self.logits.sigmoid()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._sampled(lambda numbers, n, p: (numbers.random(n) < p).astype(p.dtype), sample_shape, self.probs)

    def _log_prob(self, value: Tensor) -> Tensor:
        return value * self.logits - self.logits.softplus()  # log sigmoid(l) and log(1 - sigmoid(l)) at 1 and 0

    def entropy(self) -> Tensor:
        log_p, log_q = log_odds(self)
        return -weighed(self.probs, log_p) - weighed(1 - self.probs, log_q)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    mode = property(lambda self: ops.where(
        ops.eq(self.probs, 0.5), math.nan, (self.probs >= 0.5).cast(self.probs.dtype)))


class Categorical(Distribution):
    """The index i of the last axis with probability probs[i] = softmax(logits)[i], as int64. Give one of the two.

    probs need not add up to 1: they are divided by their sum.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    probs: Tensor
    logits: Tensor

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._by_probs = one_of("Categorical", probs, logits)
        x = probs if self._by_probs else logits
        x = x if isinstance(x, Tensor) else Tensor(x)
        if not x.ndim or not x.shape[-1]:
            raise ValueError(f"Categorical: needs an axis of categories, got shape {x.shape}")
        if self._by_probs:
            self.probs = x / x.sum(axis=-1, keepdim=True)
        else:
            self.logits = x
        super().__init__(x.shape[:-1], (), validate_args)
        self.logits, self.probs = (inside(self.probs).log(), self.probs) if self._by_probs else (
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
        return -weighed(self.probs, self.logits).sum(axis=-1)

    mean = variance = property(lambda self: filled(self.probs[..., 0], math.nan))
    mode = property(lambda self: self.probs.argmax(-1))


class Binomial(Distribution):
    """The number of successes among total_count, each with probability probs = sigmoid(logits)."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, **_LOGITS}
    total_count: Tensor
    logits: Tensor

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        one = Bernoulli(probs, logits, validate_args)
        shape, self._by_probs = self._take(total_count=total_count, logits=one.logits), one._by_probs
        self.total_count, self.probs = self.total_count.cast(self.logits.dtype), one.probs.expand(*shape)
        super().__init__(shape, (), validate_args)

    support = property(lambda self: constraints.integer_interval(0, self.total_count))  # type: ignore[assignment]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._sampled(
            lambda numbers, n, count, p: np.asarray(numbers.binomial(count.astype(np.int64), p, n), p.dtype),
            sample_shape, self.total_count, self.probs)

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        ways = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1)
        return ways + value * self.logits - n * self.logits.softplus()

    mean = property(lambda self: self.total_count * self.probs)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    mode = property(lambda self: ops.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count))


class Poisson(Distribution):
    """The count k >= 0 with probability rate^k e^-rate / k!, as floating-point numbers."""

    arg_constraints, support = {"rate": constraints.nonnegative}, constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None):
        super().__init__(self._take(rate=rate), (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._sampled(lambda numbers, n, rate: np.asarray(numbers.poisson(rate, n), rate.dtype), sample_shape,
                             self.rate)

    def _log_prob(self, value: Tensor) -> Tensor:
        return ops.xlogy(value, self.rate) - self.rate - lgamma(value + 1)

    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
