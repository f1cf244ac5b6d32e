"""The base of distributions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import random
from ..core.listener import effect
from ..core.tensor import Tensor, wrap
from ..ops.axes import plain_shape
from ..transforms.switches import no_grad
from . import constraints


def _check(x: np.ndarray, constraint: constraints.Constraint, what: str) -> None:
    held = np.asarray(constraint.holds(x))
    if not held.all():
        wrong = (x[~held] if held.shape == x.shape[:held.ndim] else x).tolist()
        raise ValueError(f"{what} must be {constraint.words}, got {wrong[0] if isinstance(wrong, list) else wrong}; "
                         "validate_args=False skips this check")


class Distribution:
    """The base class. Methods that a distribution does not define raise NotImplementedError.

    A subclass sets its parameters and calls this constructor. arg_constraints: a constraint per parameter, see
    `constraints`; support: the constraint on values. Violations raise ValueError, unless validate_args=False.
    """

    has_rsample = False
    arg_constraints: dict[str, Any] = {}
    support: Any = None
    batch_shape: tuple[int, ...] = ()
    event_shape: tuple[int, ...] = ()
    _validate_args = True

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None):
        self.batch_shape, self.event_shape = tuple(batch_shape), tuple(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        for name, constraint in self.arg_constraints.items() if self._validate_args else ():
            if name in vars(self):
                self._require(constraint, getattr(self, name), f": {name}")

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check parameters and values by default."""
        Distribution._validate_args = bool(value)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """A sample as a differentiable function of the parameters and of noise (Kingma and Welling 2014)."""
        return self._lacks("rsample")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """A sample, off the graph."""
        with no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, or of the probability, at `value`."""
        value = value if isinstance(value, Tensor) else Tensor(value)
        if self._validate_args and self.support is not None:
            self._require(self.support, value, ".log_prob: a value")
        return self._log_prob(value)

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._lacks("log_prob")

    def entropy(self) -> Tensor:
        """-E[log p], in nats."""
        return self._lacks("entropy")

    def cdf(self, value: Any) -> Tensor:
        """The probability of a result of at most `value`."""
        return self._lacks("cdf")

    def icdf(self, value: Any) -> Tensor:
        """The quantile: the number below which a fraction `value` of the distribution lies."""
        return self._lacks("icdf")

    def _divergence(self, q: Any) -> Tensor:
        """The `kl_divergence` from this distribution to another of its kind."""
        return self._lacks("kl_divergence")

    def _lacks(self, what: str) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no {what}")

    mean: Any = property(lambda self: self._lacks("mean"))
    variance: Any = property(lambda self: self._lacks("variance"))
    mode: Any = property(lambda self: self._lacks("mode"), doc="The most likely value.")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def expand(self, batch_shape: Any) -> Any:
        """This distribution with its parameters expanded to a larger batch shape."""
        shape, k, new = plain_shape((batch_shape,)), len(self.batch_shape), copy.copy(self)
        for name, x in vars(self).items():
            if isinstance(x, Tensor) and x.shape[:k] == self.batch_shape:
                vars(new)[name] = x.expand(*shape, *x.shape[k:])
            elif isinstance(x, Distribution) and x.batch_shape[:k] == self.batch_shape:
                vars(new)[name] = x.expand((*shape, *x.batch_shape[k:]))
        new.batch_shape = tuple(shape)
        return new

    def _sizes(self, sample_shape: Any) -> tuple[int, ...]:
        shape = plain_shape((sample_shape,))
        if not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and 0 <= n < 1 << 40 for n in shape):
            raise ValueError(f"{type(self).__name__}: a sample shape is made of non-negative integers, got "
                             f"{sample_shape!r}")
        return (*shape, *self.batch_shape, *self.event_shape)

    def _sampled(self, draw: Callable[..., np.ndarray], sample_shape: Any, *parameters: Tensor) -> Tensor:
        """draw(generator, sizes, *arrays of the parameters)."""
        return wrap(random.sampled(type(self).__name__, draw, self._sizes(sample_shape), *parameters))

    def _take(self, **parameters: Any) -> tuple[int, ...]:
        """Store the parameters, expanded to their common batch shape; returns that shape."""
        dtype = next((x.dtype for x in parameters.values() if isinstance(x, Tensor) and x.is_floating_point()), None)
        tensors = {name: x if isinstance(x, Tensor) else Tensor(x, dtype=dtype if isinstance(x, int | float) else None)
                   for name, x in parameters.items()}
        tensors = {name: x if x.is_floating_point() else x.float() for name, x in tensors.items()}
        try:
            shape = np.broadcast_shapes(*(x.shape for x in tensors.values()))
        except ValueError:
            shapes = " and ".join(f"{name} {x.shape}" for name, x in tensors.items())
            raise ValueError(f"{type(self).__name__}: {shapes} do not broadcast") from None
        for name, x in tensors.items():
            setattr(self, name, x if x.shape == shape else x.expand(*shape))
        return shape

    def _require(self, constraint: constraints.Constraint, x: Tensor, what: str) -> None:
        """Raise ValueError unless the constraint holds everywhere."""
        if x.ndim < constraint.event_dim:
            raise ValueError(f"{type(self).__name__}{what} needs {constraint.event_dim} axes, got shape {x.shape}")
        effect("a check", _check, x._data, constraint, f"{type(self).__name__}{what}", writes=())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_shape={self.batch_shape}, event_shape={self.event_shape})"


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` batch axes count as the parts of one event."""

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int,
                 validate_args: bool | None = None):
        if not isinstance(base_distribution, Distribution) or not isinstance(reinterpreted_batch_ndims, int):
            raise TypeError("Independent: takes a Distribution and a number of axes, got "
                            f"{type(base_distribution).__name__} and {reinterpreted_batch_ndims!r}")
        self.base_dist, self.ndims = base_distribution, reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        if not 0 <= self.ndims <= len(batch):
            raise ValueError(f"Independent: {self.ndims} axes of batch shape {batch}")
        split = len(batch) - self.ndims
        self.has_rsample = base_distribution.has_rsample
        super().__init__(batch[:split], (*batch[split:], *base_distribution.event_shape), validate_args)

    support = property(lambda self: constraints.independent(self.base_dist.support, self.ndims))  # type: ignore[assignment]
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        return summed(self.base_dist._log_prob(value), self.ndims)

    def entropy(self) -> Tensor:
        return summed(self.base_dist.entropy(), self.ndims)

    def _divergence(self, q: Independent) -> Tensor:
        if self.ndims != q.ndims:
            raise ValueError(f"kl_divergence: events of {self.ndims} and of {q.ndims} axes")
        return summed(kl_divergence(self.base_dist, q.base_dist), self.ndims)


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """E_p[log p - log q] for two distributions of one kind. Raises NotImplementedError for others."""
    if type(p) is not type(q) or type(p)._divergence is Distribution._divergence:
        raise NotImplementedError(f"kl_divergence: no formula for {type(p).__name__} and {type(q).__name__}; average "
                                  "p.log_prob(x) - q.log_prob(x) over samples x of p")
    return p._divergence(q)


def summed(x: Any, axes: int) -> Any:
    """The sum over this many of the last axes."""
    return x.sum(axis=tuple(range(-axes, 0))) if axes > 0 else x
