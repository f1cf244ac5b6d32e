"""Distributions of real numbers and of vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import Tensor
from . import constraints
from .base import Distribution, filled

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
    mode = property(lambda self: filled(self.low, math.nan))
