"""Constraints on parameters and values, as in PyTorch's `torch.distributions.constraints`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Tensor, wrap

__all__ = ["Constraint", "boolean", "greater_than", "independent", "integer_interval", "interval", "less_than",
           "lower_cholesky", "positive", "positive_definite", "real", "real_vector", "simplex", "unit_interval"]


class Constraint(NamedTuple):
    """A condition: `holds(x)` for an array, and a description of what x must be.

    The last event_dim axes of x form one value; is_discrete marks integers. Bounds are numbers or Tensors.
    """

    words: str
    holds: Callable[[np.ndarray], Any]
    event_dim: int = 0
    is_discrete: bool = False

    def check(self, value: Any) -> Tensor:
        """Whether each value is allowed: booleans of the shape of `value` without the last event_dim axes."""
        return wrap(np.asarray(self.holds(_array(value))))

    def __repr__(self) -> str:
        return self.words


def _array(x: Any) -> np.ndarray:
    return x._data if isinstance(x, Tensor) else np.asarray(x)


def _shown(bound: Any) -> Any:
    return bound.tolist() if isinstance(bound, Tensor) else bound


def greater_than(bound: Any) -> Constraint:
    return Constraint(f"above {_shown(bound)}", lambda x: x > _array(bound))


def less_than(bound: Any) -> Constraint:
    return Constraint(f"below {_shown(bound)}", lambda x: x < _array(bound))


def interval(low: Any, high: Any) -> Constraint:
    return Constraint(f"from {_shown(low)} to {_shown(high)}", lambda x: (x >= _array(low)) & (x <= _array(high)))


def integer_interval(low: Any, high: Any) -> Constraint:
    return Constraint(f"an integer from {_shown(low)} to {_shown(high)}",
                      lambda x: (np.floor(x) == x) & (x >= _array(low)) & (x <= _array(high)), is_discrete=True)


def independent(part: Constraint, axes: int) -> Constraint:
    """A constraint that holds if `part` holds along all of the last `axes` axes."""
    return Constraint(part.words, lambda x: np.asarray(part.holds(x)).all(axis=tuple(range(-axes, 0))),
                      part.event_dim + axes, part.is_discrete)


def _positive_definite(x: np.ndarray) -> Any:
    symmetric = np.isclose(x, np.swapaxes(x, -1, -2), atol=1e-6).all((-2, -1))
    return symmetric & (np.linalg.eigvalsh(x) > 0).all(-1)


real = Constraint("a number, not NaN", lambda x: x == x)  # as in PyTorch, also an infinite one
real_vector = independent(real, 1)
positive, unit_interval = greater_than(0), interval(0, 1)
boolean = Constraint("0 or 1", lambda x: (x == 0) | (x == 1), is_discrete=True)
simplex = Constraint("parts that add up to 1", lambda x: (x >= 0).all(-1) & (abs(x.sum(-1) - 1) < 1e-6), 1)
lower_cholesky = Constraint(
    "lower triangular, with a positive diagonal",
    lambda x: (np.tril(x) == x).all((-2, -1)) & (np.diagonal(x, axis1=-2, axis2=-1) > 0).all(-1), 2)
positive_definite = Constraint("symmetric and positive definite", _positive_definite, 2)
