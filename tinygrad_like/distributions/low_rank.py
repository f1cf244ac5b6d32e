"""Normal distributions of long vectors, whose covariance is a diagonal and a few directions besides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import Tensor
from .base import Distribution, MultivariateNormal
from .divergence import KL, kl_divergence

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """A normal distribution of vectors with covariance W W^T + D: loc (..., n), cov_factor W (..., n, r), and cov_diag,
    the diagonal of D (..., n).

    Densities and samples take n r^2 operations: the determinant is that of C = I + W^T D^-1 W, of r rows, times that of
    D, and x^T (W W^T + D)^-1 x = x^T D^-1 x - |C^-1/2 W^T D^-1 x|^2 (Woodbury 1950).
    """

    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any):
        loc, factor, diag = (x if isinstance(x, Tensor) else Tensor(x) for x in (loc, cov_factor, cov_diag))
        n = loc.shape[-1] if loc.ndim else 0
        if not n or factor.shape[-2:-1] != (n,) or diag.shape[-1:] != (n,):
            raise ValueError("LowRankMultivariateNormal: loc (..., n) takes cov_factor (..., n, r) and cov_diag "
                             f"(..., n), got {loc.shape}, {factor.shape} and {diag.shape}")
        self._require(diag._data > 0, "cov_diag must be positive")
        self.event_shape = (n,)
        self.batch_shape = batch = np.broadcast_shapes(loc.shape[:-1], factor.shape[:-2], diag.shape[:-1])
        self.loc, self.cov_diag = loc.expand(*batch, n), diag.expand(*batch, n)
        self.cov_factor = factor.expand(*batch, *factor.shape[-2:])
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)  # W^T D^-1
        self._scaled = scaled
        self._capacitance = ops.linalg.cholesky(scaled @ self.cov_factor + np.eye(factor.shape[-1], dtype=loc.dtype))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.cov_factor.square().sum(axis=-1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Tensor:
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @property
    def scale_tril(self) -> Tensor:
        """The lower triangle L with L L^T the covariance; that takes n^3 operations."""
        return ops.linalg.cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        half = ops.linalg.solve_triangular(self._capacitance, self._scaled, upper=False)
        return (1 / self.cov_diag).diag_embed() - half.mT @ half

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, rank = self._sizes(sample_shape), self.cov_factor.shape[-1]
        few = Tensor.randn(*shape[:-1], rank, 1, dtype=self.loc.dtype)
        return self.loc + (self.cov_factor @ few).squeeze(-1) + self.cov_diag.sqrt() * Tensor.randn(
            *shape, dtype=self.loc.dtype)

    def log_prob(self, value: Any) -> Tensor:
        difference = value - self.loc
        rank = self.cov_factor.shape[-1]
        inner = self._scaled @ difference.unsqueeze(-1)
        capacitance = self._capacitance.expand(*inner.shape[:-2], rank, rank)
        solved = ops.linalg.solve_triangular(capacitance, inner, upper=False)
        distance = (difference.square() / self.cov_diag).sum(axis=-1) - solved.square().sum(axis=(-2, -1))
        return -(distance + self._log_det() + self.event_shape[0] * math.log(2 * math.pi)) / 2

    def entropy(self) -> Tensor:
        return (self._log_det() + self.event_shape[0] * (1 + math.log(2 * math.pi))) / 2

    def _log_det(self) -> Tensor:
        i = np.arange(self.cov_factor.shape[-1])
        return 2 * self._capacitance[..., i, i].log().sum(axis=-1) + self.cov_diag.log().sum(axis=-1)


def _whole(d: LowRankMultivariateNormal) -> MultivariateNormal:
    return MultivariateNormal(d.loc, scale_tril=d.scale_tril)


KL[LowRankMultivariateNormal] = lambda p, q: kl_divergence(_whole(p), _whole(q))
