"""Functions that PyTorch has in `torch` and that are made of ops here; `names.function` finds them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from .. import ops, random
from ..core.tensor import wrap
from ..errors import named
from . import names


def msort(input: Any) -> Any:
    """The Tensor sorted along its first axis."""
    return ops.sort(input, 0)[0]


def vdot(input: Any, other: Any) -> Any:
    """The dot product of two vectors. Raises ValueError for others."""
    if input.ndim != 1 or other.ndim != 1:
        raise ValueError(f"vdot: takes two vectors, got shapes {input.shape} and {other.shape}")
    return ops.matmul(input, other)


def svd(input: Any, some: bool = True, compute_uv: bool = True) -> SVD:
    """U, S and V with U diag(S) V^T = x, as PyTorch's old function; `linalg.svd` gives V^T.

    some: U and V have min(m, n) columns; otherwise they are square. Raises NotImplementedError for compute_uv=False,
    which is `linalg.svdvals`.
    """
    if not compute_uv:
        raise NotImplementedError("svd: compute_uv=False is not supported; use linalg.svdvals(x)")
    u, s, vh = ops.linalg.svd(input, full_matrices=not some)
    return SVD(u, s, ops.transpose(vh, -1, -2))


def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """`linalg.lu_solve`, with b first."""
    return ops.linalg.lu_solve(LU_data, LU_pivots, b)


def unravel_index(indices: Any, shape: Any) -> tuple:
    """Where elements that are counted in the order of rows stand in an array of this shape: an index for each axis."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    found, rest = [], indices
    for n in reversed(shape):
        found.append(rest % n)
        rest = rest // n
    if not bool(((indices >= 0) & (rest == 0)).all()):
        raise ValueError(f"unravel_index: an index lies outside an array of shape {shape}")
    return tuple(reversed(found))


class SVD(NamedTuple):
    """What `svd` gives."""

    U: Any
    S: Any
    V: Any


class Histogram(NamedTuple):
    """What `histogram` gives."""

    hist: Any
    bin_edges: Any


def histogram(input: Any, bins: Any = 100, *, range: Any = None, weight: Any = None,
              density: bool = False) -> Histogram:
    """How many numbers, or how much weight, lie in each bin, of a number of equal ones or between edges; and the edges.

    range: (from, to), by default the smallest and the largest. density: divided by the sum and by the width.
    """
    values, dtype = input.detach().numpy(), input.dtype
    edges = bins if isinstance(bins, int) else bins.detach().numpy()
    if isinstance(bins, int) and range is None and values.size and values.min() == values.max():
        range = (float(values.min()) - 0.5, float(values.max()) + 0.5)
    weights = None if weight is None else weight.detach().numpy().reshape(-1)
    hist, edges = np.histogram(values.reshape(-1), edges, range, density, weights)
    return Histogram(wrap(hist.astype(dtype)), wrap(edges.astype(dtype)))


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Where a number is one of the others, or, with invert, none of them."""
    found = ops.isin(elements, test_elements)
    return ops.logical_not(found) if invert else found


def _of_functional(name: str) -> Any:
    def change(input: Any, *options: Any, **named_options: Any) -> Any:
        f = getattr(import_module("tinygrad_like.nn.functional"), name[:-1])
        return input._become(name, lambda x: f(x, *options, **named_options))

    change.__name__ = change.__qualname__ = name
    change.__doc__ = f"`nn.functional.{name[:-1]}`, in place."
    return change


def initial_seed() -> int:
    """The seed that the package's generator was restarted with last."""
    return random.default_generator.initial_seed()


names._NAMES.update({f.__name__: named(f) for f in (msort, vdot, svd, lu_solve, unravel_index, histogram, isin)})
names._NAMES.update({name: named(_of_functional(name)) for name in (
    "alpha_dropout_", "dropout_", "feature_alpha_dropout_", "rrelu_", "threshold_")})
names._NAMES.update({"lu": ops.linalg.lu_factor, "lu_unpack": ops.linalg.lu_unpack})
names._NAMES.update({"initial_seed": initial_seed, "default_generator": random.default_generator})
