"""What distributions share, and those of which all are made."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .. import ops, random
from ..core.graph import mode
from ..core.tensor import Tensor, wrap
from ..dtypes import finfo
from ..methods.of_ops import plain_shape
from ..transforms.switches import no_grad
from .constraints import real, real_vector

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


class _WithinConstructor(threading.local):
    validate_args: bool | None = None  # of the distribution that is being made: for those that it is made of, too


_within_constructor = _WithinConstructor()


class Distribution:
    """The base: what a distribution does not define raises NotImplementedError.

    arg_constraints: a constraint for each parameter, see `constraints`. support: that of its values; `log_prob` raises
    ValueError for others, unless validate_args=False, or for a subclass of yours that does not say.
    """

    batch_shape: tuple[int, ...] = ()
    event_shape: tuple[int, ...] = ()
    has_rsample = False
    arg_constraints: dict[str, Any] = {}
    support: Any = None
    _validates = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Every constructor takes PyTorch's `validate_args`; False saves the look at parameters, and at values."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            init = cls.__init__

            @wraps(init)
            def construct(self: Any, *args: Any, validate_args: bool | None = None, **options: Any) -> None:
                outer = _within_constructor.validate_args
                validate_args = outer if validate_args is None else validate_args
                if validate_args is not None:
                    self._validates = validate_args
                _within_constructor.validate_args = validate_args
                try:
                    init(self, *args, **options)
                finally:
                    _within_constructor.validate_args = outer
                if type(self) is cls:
                    self._require_numbers()

            cls.__init__ = construct  # type: ignore[method-assign]
        if "log_prob" in vars(cls):
            log_prob = cls.log_prob

            @wraps(log_prob)
            def checked(self: Any, value: Any) -> Tensor:
                self._require_support(value)
                return log_prob(self, value)

            cls.log_prob = checked  # type: ignore[method-assign]

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions look at their parameters and values, if `validate_args` is not given."""
        Distribution._validates = bool(value)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """A sample as a differentiable function of the parameters and of noise (Kingma and Welling 2014)."""
        raise self._without("rsample")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """A sample, off the graph."""
        with no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, or of the probability, at `value`."""
        raise self._without("log_prob")

    def entropy(self) -> Tensor:
        """-E[log p], in nats."""
        raise self._without("entropy")

    def cdf(self, value: Any) -> Tensor:
        """The probability of at most `value`."""
        raise self._without("cdf")

    def icdf(self, value: Any) -> Tensor:
        """The number below which `value` of the distribution lies."""
        raise self._without("icdf")

    def expand(self, batch_shape: Any) -> Any:
        """The same distribution with its parameters expanded to a larger batch shape."""
        shape, k, new = plain_shape((batch_shape,)), len(self.batch_shape), copy.copy(self)
        for name, x in vars(self).items():
            if isinstance(x, Tensor) and x.shape[:k] == self.batch_shape:
                vars(new)[name] = x.expand(*shape, *x.shape[k:])
            elif isinstance(x, Distribution) and x.batch_shape[:k] == self.batch_shape:
                vars(new)[name] = x.expand((*shape, *x.batch_shape[k:]))
        new.batch_shape = tuple(shape)
        return new

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise self._without("mode")

    @property
    def mean(self) -> Tensor:
        raise self._without("mean")

    @property
    def variance(self) -> Tensor:
        raise self._without("variance")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def _without(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {what}")

    def _sizes(self, sample_shape: Any) -> tuple[int, ...]:
        shape = plain_shape((sample_shape,))
        if not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and 0 <= n < 1 << 40 for n in shape):
            raise ValueError(f"{type(self).__name__}: a sample shape is made of non-negative integers, got "
                             f"{sample_shape!r}")
        return (*shape, *self.batch_shape, *self.event_shape)

    def _sampled(self, draw: Callable[..., np.ndarray], sample_shape: Any, *parameters: Tensor) -> Tensor:
        """draw(sizes, *arrays of the parameters)."""
        return wrap(random.sampled(type(self).__name__, draw, self._sizes(sample_shape), *parameters))

    def _take(self, **parameters: Any) -> None:
        """Keep parameters that share their axes, expanded to the batch shape."""
        dtype = next((x.dtype for x in parameters.values() if isinstance(x, Tensor) and x.is_floating_point()), None)
        tensors = {name: x if isinstance(x, Tensor) else Tensor(x, dtype=dtype if isinstance(x, int | float) else None)
                   for name, x in parameters.items()}
        tensors = {name: x if x.is_floating_point() else x.float() for name, x in tensors.items()}
        try:
            self.batch_shape = np.broadcast_shapes(*(x.shape for x in tensors.values()))
        except ValueError:
            shapes = " and ".join(f"{name} {x.shape}" for name, x in tensors.items())
            raise ValueError(f"{type(self).__name__}: {shapes} do not broadcast") from None
        for name, x in tensors.items():
            setattr(self, name, x if x.shape == self.batch_shape else x.expand(*self.batch_shape))

    def _require(self, condition: Any, rule: str) -> None:
        """Raise ValueError unless a condition on numbers holds everywhere; what is captured does not ask."""
        if self._validates and mode.listener is None and not np.all(condition):
            raise ValueError(f"{type(self).__name__}: {rule}")

    def _require_numbers(self) -> None:
        """Raise ValueError for a parameter that may be any number but is none."""
        for name, constraint in self.arg_constraints.items() if self._validates and mode.listener is None else ():
            x = vars(self).get(name)
            if constraint in (real, real_vector) and isinstance(x, Tensor):
                self._require(real.holds(x._data), f"{name} must not be NaN")

    def _require_support(self, value: Any) -> None:
        """Raise ValueError for a value that the distribution does not have."""
        if self._validates and mode.listener is None and (support := self.support) is not None:
            x = (value if isinstance(value, Tensor) else Tensor(value))._data
            held = np.asarray(support.holds(x))
            if not held.all():
                wrong = (x[~held] if held.shape == x.shape[:held.ndim] else x).tolist()
                raise ValueError(f"{type(self).__name__}.log_prob: a value lies outside the support, {support}, as "
                                 f"{wrong[0] if isinstance(wrong, list) else wrong}; for its number all the same, "
                                 "construct with validate_args=False")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_shape={self.batch_shape}, event_shape={self.event_shape})"


class Normal(Distribution):
    """e^(-(x - loc)^2 / (2 scale^2)) / (scale sqrt(2 pi))."""

    loc: Tensor
    scale: Tensor
    has_rsample = True

    def __init__(self, loc: Any, scale: Any):
        self._take(loc=loc, scale=scale)
        self._require(self.scale._data > 0, "scale must be positive")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + self.scale * Tensor.randn(*self._sizes(sample_shape), dtype=self.loc.dtype)

    def log_prob(self, value: Any) -> Tensor:
        return -((value - self.loc) / self.scale).square() / 2 - self.scale.log() - _HALF_LOG_TWO_PI

    def entropy(self) -> Tensor:
        return self.scale.log() + (0.5 + _HALF_LOG_TWO_PI)

    def cdf(self, value: Any) -> Tensor:
        return (((value - self.loc) / (self.scale * math.sqrt(2))).erf() + 1) / 2

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.scale.square()


class Uniform(Distribution):
    """1 / (high - low) on [low, high)."""

    low: Tensor
    high: Tensor
    has_rsample = True

    def __init__(self, low: Any, high: Any):
        self._take(low=low, high=high)
        self._require(self.low._data < self.high._data, "low must be below high")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.low + Tensor.rand(*self._sizes(sample_shape), dtype=self.low.dtype) * (self.high - self.low)

    def log_prob(self, value: Any) -> Tensor:
        value = value if isinstance(value, Tensor) else Tensor(value)
        inside = (value >= self.low) & (value < self.high)
        return inside.where(-(self.high - self.low).log(), -math.inf)

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()

    def cdf(self, value: Any) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clip(0.0, 1.0)

    @property
    def mean(self) -> Tensor:
        return (self.low + self.high) / 2

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).square() / 12


def _one_of(who: str, probs: Any, logits: Any) -> bool:
    """Whether it is probs that is given."""
    if (probs is None) == (logits is None):
        raise ValueError(f"{who}: give either probs or logits")
    return probs is not None


def _within(p: Tensor) -> Tensor:
    """Probabilities that have a logarithm: with it, as in PyTorch, what is impossible has a log_prob of -16."""
    eps = float(finfo(p.dtype).eps)
    return p.clip(eps, 1 - eps)


def weighed(p: Tensor, x: Tensor) -> Tensor:
    """p x, and 0 where p is, also of an infinite x."""
    return (none := p == 0).where(0.0, p * none.where(0.0, x))


def log_odds(d: Any) -> tuple[Tensor, Tensor]:
    """log p and log(1 - p) of a distribution with probs and logits; exactly -inf and 0 of a p given as such."""
    never, always = (d.probs == 0) & d._by_probs, (d.probs == 1) & d._by_probs
    log_p, log_q = always.where(0.0, d.logits.logsigmoid()), never.where(0.0, (-d.logits).logsigmoid())
    return never.where(-math.inf, log_p), always.where(-math.inf, log_q)


class Bernoulli(Distribution):
    """1 with probability probs = sigmoid(logits), else 0, as floating-point numbers. Give one of the two."""

    probs: Tensor
    logits: Tensor

    def __init__(self, probs: Any = None, logits: Any = None):
        self._by_probs = _one_of("Bernoulli", probs, logits)
        if probs is not None:
            self._take(probs=probs)
            self._require((self.probs._data >= 0) & (self.probs._data <= 1), "probs must lie in [0, 1]")
            p = _within(self.probs)
            self.logits = p.log() - (1 - p).log()
        else:
            self._take(logits=logits)
            self.probs = self.logits.sigmoid()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._sampled(lambda n, p: (random.generator.random(n) < p).astype(p.dtype), sample_shape, self.probs)

    def log_prob(self, value: Any) -> Tensor:
        return value * self.logits - self.logits.softplus()  # log sigmoid(l) and log(1 - sigmoid(l)) at 1 and 0

    def entropy(self) -> Tensor:
        log_p, log_q = log_odds(self)
        return -weighed(self.probs, log_p) - weighed(1 - self.probs, log_q)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)


class Categorical(Distribution):
    """The index i of the last axis with probability probs[i] = softmax(logits)[i], as int64. Give one of the two.

    probs need not add up to 1: they are divided by their sum.
    """

    def __init__(self, probs: Any = None, logits: Any = None):
        self._by_probs = _one_of("Categorical", probs, logits)
        x = probs if logits is None else logits
        x = x if isinstance(x, Tensor) else Tensor(x)
        self._require(x.ndim and x.shape[-1], f"needs an axis of categories, got shape {x.shape}")
        if probs is not None:
            self._require(x._data >= 0, "probs must not be negative")
            self._require(x._data.sum(-1) > 0, "probs must not all be 0")
            self.probs = x / x.sum(axis=-1, keepdim=True)
            self.logits = _within(self.probs).log()
        else:
            self.logits = x.log_softmax(-1)
            self.probs = x.softmax(-1)
        self.batch_shape = x.shape[:-1]

    def _expanded(self, batch_shape: tuple[int, ...]) -> Categorical:
        return Categorical(logits=self.logits.expand(*batch_shape, self.logits.shape[-1]))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        def draw(sizes: tuple[int, ...], p: np.ndarray) -> np.ndarray:
            sums = np.cumsum(p.astype(np.float64), axis=-1)
            u = random.generator.random(sizes) * sums[..., -1]
            return np.minimum((u[..., None] >= sums).sum(-1), sums.shape[-1] - 1).astype(np.int64)

        return self._sampled(draw, sample_shape, self.probs)

    def log_prob(self, value: Any) -> Tensor:
        index = value if isinstance(value, Tensor) else Tensor(value)
        shape = np.broadcast_shapes(index.shape, self.batch_shape)
        logits = self.logits.expand(*shape, self.logits.shape[-1])
        return logits.gather(-1, index.long().expand(*shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        return -weighed(self.probs, self.logits).sum(axis=-1)


class MultivariateNormal(Distribution):
    """A normal distribution of vectors: loc (..., n), and one matrix (..., n, n).

    covariance_matrix: symmetric positive definite; precision_matrix: its inverse; or scale_tril: lower triangular, with
    scale_tril scale_tril^T the covariance.
    """

    has_rsample = True

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None):
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise ValueError("MultivariateNormal: give one of covariance_matrix, precision_matrix and scale_tril")
        loc, matrix = (x if isinstance(x, Tensor) else Tensor(x) for x in (loc, given[0]))
        n = loc.shape[-1] if loc.ndim else 0
        self._require(n and matrix.shape[-2:] == (n, n),
                      f"loc {loc.shape} needs a matrix of shape (..., {n}, {n}), got {matrix.shape}")
        self.event_shape, self.batch_shape = (n,), np.broadcast_shapes(loc.shape[:-1], matrix.shape[:-2])
        self.loc, matrix = loc.expand(*self.batch_shape, n), matrix.expand(*self.batch_shape, n, n)
        if scale_tril is None:
            matrix = ops.linalg.cholesky(matrix if precision_matrix is None else ops.linalg.inv(matrix))
        self.scale_tril = matrix
        self._require(np.diagonal(matrix._data, axis1=-2, axis2=-1) > 0, "the diagonal of scale_tril must be positive")

    @property
    def covariance_matrix(self) -> Tensor:
        return self.scale_tril @ self.scale_tril.mT

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.scale_tril.square().sum(axis=-1)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = Tensor.randn(*self._sizes(sample_shape), 1, dtype=self.loc.dtype)
        return self.loc + (self.scale_tril @ noise).squeeze(-1)

    def log_prob(self, value: Any) -> Tensor:
        return -self._distance(value - self.loc) / 2 - self._half_log_det() - self.event_shape[0] * _HALF_LOG_TWO_PI

    def entropy(self) -> Tensor:
        return self._half_log_det() + self.event_shape[0] * (0.5 + _HALF_LOG_TWO_PI)

    def _half_log_det(self) -> Tensor:
        return self.scale_tril.diagonal(0, -2, -1).log().sum(axis=-1)

    def _distance(self, difference: Tensor) -> Tensor:
        """The squared length of scale_tril^-1 difference."""
        n = self.event_shape[0]
        matrix = self.scale_tril.expand(*difference.shape, n)
        return ops.linalg.solve_triangular(matrix, difference.unsqueeze(-1), upper=False).square().sum(axis=(-2, -1))


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` batch axes count as the parts of one event."""

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int):
        if not isinstance(base_distribution, Distribution) or not isinstance(reinterpreted_batch_ndims, int):
            raise TypeError("Independent: takes a Distribution and a number of axes, got "
                            f"{type(base_distribution).__name__} and {reinterpreted_batch_ndims!r}")
        self.base_dist, self.ndims = base_distribution, reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        self._require(0 <= self.ndims <= len(batch), f"{self.ndims} axes of batch shape {batch}")
        split = len(batch) - self.ndims
        self.batch_shape, self.event_shape = batch[:split], (*batch[split:], *base_distribution.event_shape)
        self.has_rsample = base_distribution.has_rsample

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self._summed(self.base_dist.entropy())

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def _summed(self, x: Tensor) -> Tensor:
        return x.sum(axis=tuple(range(-self.ndims, 0))) if self.ndims else x
