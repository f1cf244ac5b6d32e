"""Distributions of functions of samples, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import ops
from ..autograd import no_grad
from ..tensor import Tensor
from . import constraints
from .base import Categorical, Distribution, Normal

__all__ = ["AffineTransform", "ComposeTransform", "ExpTransform", "LogNormal", "MixtureSameFamily", "SigmoidTransform",
           "TanhTransform", "Transform", "TransformedDistribution"]


class Transform:
    """An invertible function y = f(x) of each number: `f(x)`, its inverse `f.inv(y)`, and log |f'(x)|.

    domain, codomain: constraints that say where x and y lie. cache_size is PyTorch's and changes nothing.
    """

    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0):
        pass

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define __call__(x)")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define _inverse(y)")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |f'(x)|, number by number."""
        raise NotImplementedError(f"{type(self).__name__} must define log_abs_det_jacobian(x, y)")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        return _Inverse(self)


class _Inverse(Transform):
    def __init__(self, of: Transform):
        self.of, self.domain, self.codomain = of, of.codomain, of.domain

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
    """loc + scale x."""

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        self.loc, self.scale = loc, scale

    def __call__(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, Tensor) else Tensor(float(self.scale))
        return scale.abs().log().expand(*ops.broadcast_tensors(x, scale)[0].shape)


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


class SigmoidTransform(Transform):
    """1 / (1 + e^-x)."""

    codomain = constraints.unit_interval

    def __call__(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.logit(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -(-x).softplus() - x.softplus()


class ComposeTransform(Transform):
    """Several transforms, one after the other."""

    def __init__(self, parts: Iterable[Transform], cache_size: int = 0):
        self.parts = list(parts)
        self.codomain = self.parts[-1].codomain if self.parts else constraints.real

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        total: Any = 0.0
        for part in self.parts:
            total, x = total + part.log_abs_det_jacobian(x, y := part(x)), y
        return total


class TransformedDistribution(Distribution):
    """f(x) of samples x of a base distribution: log p(f(x)) = log p_base(x) - log |f'(x)|.

    transforms: one, or a list of those applied one after the other.
    """

    def __init__(self, base_distribution: Distribution, transforms: Any):
        self.base_dist = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        self._f = ComposeTransform(self.transforms)
        self.batch_shape, self.event_shape = base_distribution.batch_shape, base_distribution.event_shape
        self.has_rsample = base_distribution.has_rsample

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._f(self.base_dist.rsample(sample_shape))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self._f(self.base_dist.sample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        y = value if isinstance(value, Tensor) else Tensor(value)
        x = self._f._inverse(y)
        slope = self._f.log_abs_det_jacobian(x, y)
        axes = tuple(range(-len(self.event_shape), 0))
        return self.base_dist.log_prob(x) - (slope.sum(axis=axes) if axes else slope)


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
