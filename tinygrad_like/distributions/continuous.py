"""Continuous distributions, of numbers and vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops, random
from ..core.listener import pure
from ..core.tensor import Tensor, wrap
from ..ops.gamma import digamma, lgamma
from . import constraints
from .base import Distribution, filled

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


class _Around(Distribution):
    """A symmetric distribution of real numbers around `loc`, with width `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support, has_rsample = constraints.real, True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        super().__init__(self._take(loc=loc, scale=scale), (), validate_args)

    mean = mode = property(lambda self: self.loc)


class Normal(_Around):
    """e^(-(x - loc)^2 / (2 scale^2)) / (scale sqrt(2 pi))."""

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

    variance = property(lambda self: self.scale.square())


class MultivariateNormal(Distribution):
    """A normal distribution of vectors: loc (..., n), and one matrix (..., n, n).

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

    mean = property(lambda self: (self.low + self.high) / 2)
    variance = property(lambda self: (self.high - self.low).square() / 12)
    mode = property(lambda self: filled(self.low, math.nan))


class Laplace(_Around):
    """e^(-|x - loc| / scale) / (2 scale)."""

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = _uniform(self, sample_shape, self.loc) - 0.5
        return self.loc - self.scale * u.sign() * (-2 * u.abs()).clip(-1 + 1e-7, 0).log1p()

    def _log_prob(self, value: Tensor) -> Tensor:
        return -(2 * self.scale).log() - abs(value - self.loc) / self.scale

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()

    def cdf(self, value: Any) -> Tensor:
        z = value - self.loc
        return 0.5 - 0.5 * z.sign() * (-z.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Tensor:
        return self.loc - self.scale * (value - 0.5).sign() * (-2 * (value - 0.5).abs()).log1p()

    variance = property(lambda self: 2 * self.scale.square())


class Exponential(Distribution):
    """rate e^(-rate x), for x >= 0."""

    arg_constraints, support, has_rsample = {"rate": constraints.positive}, constraints.nonnegative, True
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None):
        super().__init__(self._take(rate=rate), (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return -_uniform(self, sample_shape, self.rate).log() / self.rate

    def _log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()

    def cdf(self, value: Any) -> Tensor:
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Tensor:
        return -(-value).log1p() / self.rate

    mean = property(lambda self: 1 / self.rate)
    variance = property(lambda self: 1 / self.rate.square())
    mode = property(lambda self: filled(self.rate, 0))


class Gamma(Distribution):
    """rate^c x^(c - 1) e^(-rate x) / Gamma(c), with c = concentration, for x > 0."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support, has_rsample = constraints.nonnegative, True
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        super().__init__(self._take(concentration=concentration, rate=rate), (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return standard_gamma(self.concentration.expand(*self._sizes(sample_shape))) / self.rate

    def _log_prob(self, value: Tensor) -> Tensor:
        c = self.concentration
        return ops.xlogy(c, self.rate) + ops.xlogy(c - 1, value) - self.rate * value - lgamma(c)

    def entropy(self) -> Tensor:
        c = self.concentration
        return c - self.rate.log() + lgamma(c) + (1 - c) * digamma(c)

    mean = property(lambda self: self.concentration / self.rate)
    variance = property(lambda self: self.concentration / self.rate.square())
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clip(0.0, None))


class Dirichlet(Distribution):
    """Parts x of a whole, of density product of x_i^(c_i - 1) / B(c) along the last axis, where c = concentration."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support, has_rsample = constraints.simplex, True

    def __init__(self, concentration: Any, validate_args: bool | None = None):
        c = concentration if isinstance(concentration, Tensor) else Tensor(concentration)
        if not c.ndim:
            raise ValueError("Dirichlet: concentration needs an axis of parts")
        self.concentration = c
        super().__init__(c.shape[:-1], c.shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        parts = standard_gamma(self.concentration.expand(*self._sizes(sample_shape)))
        return parts / parts.sum(axis=-1, keepdim=True)

    def _log_prob(self, value: Tensor) -> Tensor:
        return ops.xlogy(self.concentration - 1, value).sum(axis=-1) - self._log_beta()

    def entropy(self) -> Tensor:
        c = self.concentration
        total, k = c.sum(axis=-1), c.shape[-1]
        return self._log_beta() + (total - k) * digamma(total) - ((c - 1) * digamma(c)).sum(axis=-1)

    def _log_beta(self) -> Tensor:
        return lgamma(self.concentration).sum(axis=-1) - lgamma(self.concentration.sum(axis=-1))

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(axis=-1, keepdim=True)

    @property
    def variance(self) -> Tensor:
        return self.mean * (1 - self.mean) / (self.concentration.sum(axis=-1, keepdim=True) + 1)

    @property
    def mode(self) -> Tensor:
        """In a corner, if all concentrations are below 1."""
        c = self.concentration
        shifted = (c - 1).clip(0.0, None)
        corner = ops.one_hot(c.argmax(-1), c.shape[-1]).cast(c.dtype)
        return ops.where((c < 1).all(axis=-1, keepdim=True), corner, shifted / shifted.sum(axis=-1, keepdim=True))


class Beta(Distribution):
    """x^(a - 1) (1 - x)^(b - 1) / B(a, b), with a = concentration1 and b = concentration0, for x in (0, 1)."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support, has_rsample = constraints.unit_interval, True
    concentration1: Tensor
    concentration0: Tensor

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        shape = self._take(concentration1=concentration1, concentration0=concentration0)
        super().__init__(shape, (), validate_args)
        self._parts = Dirichlet(ops.stack(self.concentration1, self.concentration0, axis=-1), validate_args=False)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._parts.rsample(sample_shape)[..., 0]

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._parts._log_prob(ops.stack(value, 1 - value, axis=-1))

    def entropy(self) -> Tensor:
        return self._parts.entropy()

    mean = property(lambda self: self._parts.mean[..., 0])
    variance = property(lambda self: self._parts.variance[..., 0])
    mode = property(lambda self: self._parts.mode[..., 0])


def _uniform(d: Distribution, sample_shape: Any, like: Tensor) -> Tensor:
    """Numbers on (0, 1), for inverses of distribution functions that are not finite at 0."""
    return Tensor.rand(*d._sizes(sample_shape), dtype=like.dtype).clip(float(np.finfo(like.dtype).tiny), None)


def standard_gamma(concentration: Tensor) -> Tensor:
    """Samples of Gamma(c, 1), with the gradient that keeps their share of the distribution: dx/dc = -(dF/dc) / f.

    F is the distribution function, its series x^c e^-x / Gamma(c + 1) sum_k x^k / ((c + 1) ... (c + k)), and f its
    slope (Figurnov, Mohamed and Mnih 2018).
    """
    x = random.sampled("gamma", lambda numbers, c: np.maximum(
        numbers.standard_gamma(c), np.finfo(c.dtype).tiny).astype(c.dtype), concentration)
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
