"""From numbers without bounds to what a constraint allows: PyTorch's `biject_to` and `transform_to`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import Tensor
from ..dtypes import finfo
from . import constraints as c
from .transformed import AffineTransform, ComposeTransform, ExpTransform, SigmoidTransform, Transform, _summed

__all__ = ["ConstraintRegistry", "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
           "SoftmaxTransform", "StickBreakingTransform", "biject_to", "identity_transform", "transform_to"]


class IndependentTransform(Transform):
    """One of parts, whose last `reinterpreted_batch_ndims` axes more count as one value."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        self.base_transform, self.axes = base_transform, reinterpreted_batch_ndims
        self.domain = c.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = c.independent(base_transform.codomain, reinterpreted_batch_ndims)
        self.bijective = base_transform.bijective
        self.forward_shape = base_transform.forward_shape  # type: ignore[method-assign]
        self.inverse_shape = base_transform.inverse_shape  # type: ignore[method-assign]

    def __call__(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _summed(self.base_transform.log_abs_det_jacobian(x, y), self.axes)


class SoftmaxTransform(Transform):
    """softmax(x) along the last axis; of the many x with the same y, log y counts as the inverse."""

    domain, codomain, bijective = c.real_vector, c.simplex, False

    def __call__(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """n numbers -> n + 1 parts of 1: each takes the share sigmoid(x_i - log(n - i)) of what is left, i from 0."""

    domain, codomain = c.real_vector, c.simplex

    def __call__(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype)
        share = (x - _left(x)).sigmoid().clip(float(eps.tiny), 1 - float(eps.eps))
        return share.pad((0, 1), value=1.0) * (1 - share).cumprod(-1).pad((1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        rest = (1 - parts.cumsum(-1)).clip(float(finfo(y.dtype).tiny), None)
        return parts.log() - rest.log() + _left(parts)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - _left(x)
        return (-x - (-x).softplus() + y[..., :-1].log()).sum(axis=-1)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] - 1)


def _left(x: Tensor) -> np.ndarray:
    """log(n), ..., log(1), for the n numbers of the last axis: of which a share of 0 gives all parts the same."""
    return np.log(np.arange(x.shape[-1], 0, -1)).astype(x.dtype)


class LowerCholeskyTransform(Transform):
    """The lower triangle of a matrix, with e^x on the diagonal."""

    domain, codomain, bijective = c.independent(c.real, 2), c.lower_cholesky, False

    def __call__(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """L L^T of the L that LowerCholeskyTransform makes of a matrix."""

    domain, codomain, bijective = c.independent(c.real, 2), c.positive_definite, False

    def __call__(self, x: Tensor) -> Tensor:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform()._inverse(ops.linalg.cholesky(y))


identity_transform = ComposeTransform([])


class ConstraintRegistry:
    """For each kind of constraint a transform, from numbers without bounds to what it allows."""

    def __init__(self) -> None:
        self._makers: dict[type, Callable[[Any], Transform]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Transform] | None = None) -> Any:
        """Have `factory(constraint)` make the transform for constraints of a class, or of the class of one; without
        the factory a decorator for it. Raises TypeError for what is no constraint."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, c.Constraint):
            raise TypeError(f"register: takes a constraint, or a class of them, got {kind.__name__}")
        self._makers[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Transform:
        """The transform. Raises NotImplementedError if there is none, as for integers."""
        maker = self._makers.get(type(constraint))
        if maker is None:
            raise NotImplementedError(f"no transform is known for {constraint!r}; register one")
        return maker(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _of_independent(registry: ConstraintRegistry, constraint: Any) -> Transform:
    return IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


def _above(constraint: Any) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.lower_bound, 1)])


def _of_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if not isinstance(low, Tensor) and not isinstance(high, Tensor) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


for _registry in biject_to, transform_to:
    _registry.register(c.real, lambda constraint: identity_transform)
    _registry.register(c.independent, partial(_of_independent, _registry))
    _registry.register(c.greater_than, _above)
    _registry.register(c.greater_than_eq, _above)
    _registry.register(c.less_than, lambda constraint: ComposeTransform(
        [ExpTransform(), AffineTransform(constraint.upper_bound, -1)]))
    _registry.register(c.interval, _of_interval)
    _registry.register(c.half_open_interval, _of_interval)
for _matrix in c.positive_definite, c.positive_semidefinite:
    transform_to.register(_matrix, lambda constraint: PositiveDefiniteTransform())
transform_to.register(c.lower_cholesky, lambda constraint: LowerCholeskyTransform())
biject_to.register(c.simplex, lambda constraint: StickBreakingTransform())
transform_to.register(c.simplex, lambda constraint: SoftmaxTransform())
