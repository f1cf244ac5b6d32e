"""Which numbers a parameter or a value of a distribution may be: PyTorch's `torch.distributions.constraints`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor, wrap

__all__ = [
    "Constraint", "boolean", "dependent", "dependent_property", "greater_than", "greater_than_eq", "half_open_interval",
    "independent", "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular",
    "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer",
    "positive_semidefinite", "real", "real_vector", "simplex", "square", "symmetric", "unit_interval",
]


def _array(x: Any) -> np.ndarray:
    return x._data if isinstance(x, Tensor) else np.asarray(x)


def _whole(x: np.ndarray) -> Any:
    return (np.floor(x) == x) & np.isfinite(x)


class Constraint:
    """The base. A subclass defines `holds`; event_dim axes at the end are one value, and is_discrete tells of integers.

    Bounds are numbers or Tensors.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Tensor:
        """Whether each value is allowed: booleans of the shape of `value`, but for the last event_dim axes."""
        return wrap(np.asarray(self.holds(_array(value))))

    def holds(self, x: np.ndarray) -> Any:
        """`check` of an array, in NumPy."""
        raise NotImplementedError(f"{type(self).__name__} must define holds(x)")

    def __repr__(self) -> str:
        bounds = ", ".join([f"{name}={bound.tolist() if isinstance(bound, Tensor) else bound}"
                            for name, bound in vars(self).items()])
        return f"{type(self).__name__.lstrip('_')}({bounds})"


class _Dependent(Constraint):
    """Of what depends on other parameters."""

    def holds(self, x: np.ndarray) -> Any:
        raise ValueError("constraints.dependent: cannot be checked; ask an instance of the distribution")


class dependent_property(property, _Dependent):
    """A property of instances that is a constraint, and of the class one that is `dependent`."""

    def __init__(self, fn: Any = None, *, is_discrete: bool = False, event_dim: int = 0):
        super().__init__(fn)
        self.discrete, self.axes = is_discrete, event_dim

    def __call__(self, fn: Any) -> dependent_property:
        return dependent_property(fn, is_discrete=self.discrete, event_dim=self.axes)


def is_dependent(constraint: Constraint) -> bool:
    """Whether it is known only for an instance."""
    return isinstance(constraint, _Dependent)


class Boolean(Constraint):
    is_discrete = True

    def holds(self, x):
        return (x == 0) | (x == 1)


class Real(Constraint):
    def holds(self, x):
        return x == x  # as in PyTorch: all but NaN


class GreaterThan(Constraint):
    def __init__(self, lower_bound: Any):
        self.lower_bound = lower_bound

    def holds(self, x):
        return x > _array(self.lower_bound)


class GreaterThanEq(GreaterThan):
    def holds(self, x):
        return x >= _array(self.lower_bound)


class IntegerGreaterThan(GreaterThan):
    is_discrete = True

    def holds(self, x):
        return _whole(x) & (x >= _array(self.lower_bound))


class LessThan(Constraint):
    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound

    def holds(self, x):
        return x < _array(self.upper_bound)


class Interval(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def holds(self, x):
        return (x >= _array(self.lower_bound)) & (x <= _array(self.upper_bound))


class HalfOpenInterval(Interval):
    def holds(self, x):
        return (x >= _array(self.lower_bound)) & (x < _array(self.upper_bound))


class IntegerInterval(Interval):
    is_discrete = True

    def holds(self, x):
        return _whole(x) & super().holds(x)


class Independent(Constraint):
    """One of parts, which holds where it holds for all of the last axes."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    is_discrete = property(lambda self: self.base_constraint.is_discrete)  # type: ignore[assignment]
    event_dim = property(  # type: ignore[assignment]
        lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def holds(self, x):
        held, n = np.asarray(self.base_constraint.holds(x)), self.reinterpreted_batch_ndims
        if held.ndim < n:
            raise ValueError(f"constraints.independent: a value of {x.ndim} axes, but an event has {self.event_dim}")
        return held.all(axis=tuple(range(-n, 0)))

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint}, {self.reinterpreted_batch_ndims})"


class _OfVectors(Constraint):
    event_dim = 1


class Simplex(_OfVectors):
    def holds(self, x):
        return (x >= 0).all(-1) & (np.abs(x.sum(-1) - 1) < 1e-6)


class OneHot(_OfVectors):
    is_discrete = True

    def holds(self, x):
        return ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1)


class Multinomial(_OfVectors):
    is_discrete = True

    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound

    def holds(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= _array(self.upper_bound))


class Square(Constraint):
    event_dim = 2

    def holds(self, x):
        return np.full(x.shape[:-2], x.ndim > 1 and x.shape[-1] == x.shape[-2])


class LowerTriangular(Square):
    def holds(self, x):
        return (np.tril(x) == x).all((-2, -1))


class LowerCholesky(LowerTriangular):
    def holds(self, x):
        return super().holds(x) & (np.diagonal(x, axis1=-2, axis2=-1) > 0).all(-1)


class Symmetric(Square):
    def holds(self, x):
        return super().holds(x) & (x.shape[-1] == x.shape[-2] and
                                   np.isclose(x, np.swapaxes(x, -1, -2), atol=1e-6).all((-2, -1)))


class PositiveSemidefinite(Symmetric):
    def holds(self, x):
        return super().holds(x) & self._least(x)

    def _least(self, x: np.ndarray) -> Any:
        return x.shape[-1] == x.shape[-2] and (np.linalg.eigvalsh(x) >= 0).all(-1)


class PositiveDefinite(PositiveSemidefinite):
    def _least(self, x: np.ndarray) -> Any:
        return x.shape[-1] == x.shape[-2] and (np.linalg.eigvalsh(x) > 0).all(-1)


boolean, real, dependent = Boolean(), Real(), _Dependent()
positive, nonnegative = GreaterThan(0.0), GreaterThanEq(0.0)
nonnegative_integer, positive_integer = IntegerGreaterThan(0), IntegerGreaterThan(1)
unit_interval, simplex, one_hot = Interval(0.0, 1.0), Simplex(), OneHot()
square, lower_triangular, lower_cholesky, symmetric = Square(), LowerTriangular(), LowerCholesky(), Symmetric()
positive_semidefinite, positive_definite = PositiveSemidefinite(), PositiveDefinite()
greater_than, greater_than_eq, less_than = GreaterThan, GreaterThanEq, LessThan
interval, half_open_interval, integer_interval = Interval, HalfOpenInterval, IntegerInterval
independent, multinomial = Independent, Multinomial
real_vector = independent(real, 1)
