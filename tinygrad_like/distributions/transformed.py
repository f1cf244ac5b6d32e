"""Distributions of functions of samples, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import ops
from ..core.tensor import Tensor
from ..dtypes import finfo
from ..transforms.switches import no_grad
from . import constraints
from .base import Categorical, Distribution, Independent, Normal

__all__ = ["AffineTransform", "ComposeTransform", "ExpTransform", "LogNormal", "MixtureSameFamily", "SigmoidTransform",
           "TanhTransform", "Transform", "TransformedDistribution"]


class Transform:
    """An invertible function y = f(x) of each number, or of a vector or a matrix: `f(x)`, its inverse `f.inv(y)`, and
    the logarithm of its slope.

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

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of f(x) of an x of this shape."""
        return tuple(shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of x of an f(x) of this shape."""
        return tuple(shape)

    @property
    def inv(self) -> Transform:
        """The inverse."""
        return _Inverse(self)


class _Inverse(Transform):
    def __init__(self, of: Transform):
        self.of, self.domain, self.codomain, self.bijective = of, of.codomain, of.domain, of.bijective
        self.forward_shape, self.inverse_shape = of.inverse_shape, of.forward_shape  # type: ignore[method-assign]

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
        self.domain = self.codomain = constraints.independent(constraints.real, event_dim) if event_dim else (
            constraints.real)

    def __call__(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, Tensor) else Tensor(float(self.scale), dtype=x.dtype)
        slope = scale.abs().log().expand(*ops.broadcast_tensors(x, scale)[0].shape)
        return _summed(slope, self.domain.event_dim)


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

    codomain = constraints.interval(-1.0, 1.0)

    def __call__(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2 * (math.log(2) - x - (-2 * x).softplus())  # log(1 - tanh^2 x), without its cancellation


def inside(p: Tensor) -> Tensor:
    """Samples that were rounded to 0 or 1, moved to the next number between that has a logarithm, as in PyTorch."""
    return p.clip(float(finfo(p.dtype).tiny), 1 - float(finfo(p.dtype).eps))


class SigmoidTransform(Transform):
    """1 / (1 + e^-x)."""

    codomain = constraints.unit_interval

    def __call__(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.logit(inside(y))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -(-x).softplus() - x.softplus()


def _summed(x: Any, axes: int) -> Any:
    """The sum over so many of the last axes."""
    return x.sum(axis=tuple(range(-axes, 0))) if axes > 0 else x


def _wider(constraint: Any, event_dim: int) -> Any:
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


class ComposeTransform(Transform):
    """Several transforms, one after the other."""

    def __init__(self, parts: Iterable[Transform], cache_size: int = 0):
        self.parts = list(parts)
        self.bijective = all(part.bijective for part in self.parts)
        if self.parts:
            before, after = self.parts[-1].codomain.event_dim, self.parts[0].domain.event_dim
            for part in reversed(self.parts):
                before = max(before + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
            for part in self.parts:
                after = max(after + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
            self.domain, self.codomain = _wider(self.parts[0].domain, before), _wider(self.parts[-1].codomain, after)

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
        events = self.domain.event_dim
        for part in self.parts:
            slope, x = part.log_abs_det_jacobian(x, y := part(x)), y
            total = total + _summed(slope, events - part.domain.event_dim)
            events += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return tuple(shape)


class TransformedDistribution(Distribution):
    """f(x) of samples x of a base distribution: log p(f(x)) = log p_base(x) - log |f'(x)|.

    transforms: one, or a list of those applied one after the other. Those of vectors or matrices make events of the
    last axes, also of a base distribution of numbers. Raises ValueError if that has too few axes.
    """

    def __init__(self, base_distribution: Distribution, transforms: Any):
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
        shape = f.forward_shape(shape)
        cut = len(shape) - max(f.codomain.event_dim, f.codomain.event_dim + events - f.domain.event_dim)
        self.batch_shape, self.event_shape = shape[:cut], shape[cut:]
        self.has_rsample = base_distribution.has_rsample

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._f(self.base_dist.rsample(sample_shape))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self._f(self.base_dist.sample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        y = value if isinstance(value, Tensor) else Tensor(value)
        x = self._f._inverse(y)
        slope = _summed(self._f.log_abs_det_jacobian(x, y), len(self.event_shape) - self._f.codomain.event_dim)
        return self.base_dist.log_prob(x) - slope


class LogNormal(TransformedDistribution):
    """e^x of a normal x of mean loc and standard deviation scale."""

    def __init__(self, loc: Any, scale: Any):
        base = Normal(loc, scale)
        super().__init__(base, ExpTransform())
        self.loc, self.scale = base.loc, base.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def variance(self) -> Tensor:
        return (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class MixtureSameFamily(Distribution):
    """One of the distributions along the last batch axis of `component_distribution`, chosen by a Categorical."""

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution):
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        *batch, count = component_distribution.batch_shape
        self.batch_shape, self.event_shape = tuple(batch), component_distribution.event_shape
        self._require(mixture_distribution.probs.shape[-1] == count,
                      f"{mixture_distribution.probs.shape[-1]} weights for {count} components")

    def log_prob(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        each = self.component_distribution.log_prob(value.unsqueeze(-1 - len(self.event_shape)))
        return (each + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            each, events = self.component_distribution.sample(sample_shape), len(self.event_shape)
            chosen = self.mixture_distribution._expanded(self.batch_shape).sample(sample_shape)
            axis = each.ndim - 1 - events
            index = chosen.reshape(*chosen.shape, *(1,) * (1 + events))
            return each.gather(axis, index.expand(*each.shape[:axis], 1, *each.shape[axis + 1:])).squeeze(axis)

    @property
    def mean(self) -> Tensor:
        weights = self.mixture_distribution.probs
        weights = weights.reshape(*weights.shape, *(1,) * len(self.event_shape))
        return (weights * self.component_distribution.mean).sum(axis=-1 - len(self.event_shape))
