"""Distributions of transformed samples, such as normalizing flows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import ops
from ..core.tensor import Tensor
from ..dtypes import finfo
from ..transforms.switches import no_grad
from . import constraints
from .base import Distribution, Independent, inside, summed


class Transform:
    """An invertible function y = f(x) of each number, or of a vector or a matrix: `f(x)`, its inverse `f.inv(y)`, and
    the logarithm of its slope. y has the shape of x.

    domain, codomain: constraints that say where x and y lie, and by their event_dim how many axes one of them has.
    bijective: whether each y comes from one x. cache_size is PyTorch's and changes nothing.
    """

    domain: Any = constraints.real
    codomain: Any = constraints.real
    bijective = True

    def __init__(self, cache_size: int = 0):
        pass

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define __call__(x)")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define _inverse(y)")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |f'(x)|, number by number; or, of vectors, log |det f'(x)|, vector by vector."""
        raise NotImplementedError(f"{type(self).__name__} must define log_abs_det_jacobian(x, y)")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        return _Inverse(self)


class _Inverse(Transform):
    def __init__(self, of: Transform):
        self.of, self.domain, self.codomain, self.bijective = of, of.codomain, of.domain, of.bijective

    def __call__(self, x: Tensor) -> Tensor:
        return self.of._inverse(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.of(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self.of.log_abs_det_jacobian(y, x)

    @property
    def inv(self) -> Transform:
        return self.of


class AffineTransform(Transform):
    """loc + scale x; event_dim: how many axes at the end are one value."""

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        self.loc, self.scale = loc, scale
        self.domain = self.codomain = constraints.independent(constraints.real, event_dim)

    def __call__(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, Tensor) else Tensor(float(self.scale), dtype=x.dtype)
        slope = scale.abs().log().expand(*ops.broadcast_tensors(x, scale)[0].shape)
        return summed(slope, self.domain.event_dim)


class ExpTransform(Transform):
    """e^x."""

    codomain = constraints.positive

    def __call__(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class TanhTransform(Transform):
    """tanh x, as for actions in (-1, 1)."""

    codomain = constraints.interval(-1, 1)

    def __call__(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2 * (math.log(2) - x - (-2 * x).softplus())  # log(1 - tanh^2 x), without its cancellation


class SigmoidTransform(Transform):
    """1 / (1 + e^-x)."""

    codomain = constraints.unit_interval

    def __call__(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.logit(inside(y, float(finfo(y.dtype).tiny)))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -(-x).softplus() - x.softplus()


class ComposeTransform(Transform):
    """Several transforms, one after the other."""

    def __init__(self, parts: Iterable[Transform], cache_size: int = 0):
        self.parts = list(parts)
        self.bijective = all(part.bijective for part in self.parts)
        if self.parts:
            first, last = self.parts[0].domain, self.parts[-1].codomain
            events = max(c.event_dim for part in self.parts for c in (part.domain, part.codomain))
            self.domain = constraints.independent(first, events - first.event_dim)
            self.codomain = constraints.independent(last, events - last.event_dim)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return x.zeros_like()
        total: Any = 0.0
        for part in self.parts:
            slope, x = part.log_abs_det_jacobian(x, y := part(x)), y
            total = total + summed(slope, self.domain.event_dim - part.domain.event_dim)
        return total


class TransformedDistribution(Distribution):
    """f(x) of samples x of a base distribution: log p(f(x)) = log p_base(x) - log |f'(x)|.

    transforms: one, or a list of those applied one after the other. Those of vectors or matrices make events of the
    last axes, also of a base distribution of numbers. Raises ValueError if that has too few axes.
    """

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None):
        self.base_dist = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        self._f = f = ComposeTransform(self.transforms)
        events = len(base_distribution.event_shape)
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        if len(shape) < f.domain.event_dim:
            raise ValueError(f"TransformedDistribution: the transforms take values of {f.domain.event_dim} axes, but "
                             f"those of {base_distribution} have {len(shape)}")
        if f.domain.event_dim > events:
            self.base_dist = Independent(base_distribution, f.domain.event_dim - events)
        cut = len(shape) - max(events, f.domain.event_dim)
        self.has_rsample = base_distribution.has_rsample
        super().__init__(shape[:cut], shape[cut:], validate_args)

    support = property(  # type: ignore[assignment]
        lambda self: self.transforms[-1].codomain if self.transforms else self.base_dist.support)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._f(self.base_dist.rsample(sample_shape))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self._f(self.base_dist.sample(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._f._inverse(value)
        slope = summed(self._f.log_abs_det_jacobian(x, value), len(self.event_shape) - self._f.codomain.event_dim)
        return self.base_dist._log_prob(x) - slope
