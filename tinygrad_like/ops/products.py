"""Products of several axes and sums of products, distances of all pairs, differences and integrals: compositions."""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import fresh, fused
from .axes import axes, one_axis
from .compare import cast, clone
from .elementwise import clip, sqrt, sub, where
from .linalg import vector_norm
from .matmul import matmul, outer
from .parts import take
from .reduce import cumsum, mean, sum
from .shape import cat, getitem, permute, reshape, stack, transpose, unsqueeze


def tensordot(a, b, axes=2):
    """Sums of products over several axes: the last `axes` of a with the first of b, or those that two lists name."""
    if isinstance(axes, int):
        first, second = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        first, second = (tuple(n) if isinstance(n, tuple | list) else (n,) for n in axes)
    return _contracted(a, b, first, second)


def _contracted(a, b, first, second):
    first, second = axes("tensordot", first, a.ndim), axes("tensordot", second, b.ndim)
    single = [(i, j) for i, j in zip(first, second, strict=True) if a.shape[i] != b.shape[j] == 1]
    if single:  # an axis of one element meets all of the other's
        a = sum(a, axis=tuple([i for i, _ in single]), keepdim=True)
    single = [(i, j) for i, j in zip(first, second, strict=True) if b.shape[j] != a.shape[i] == 1]
    if single:
        b = sum(b, axis=tuple([j for _, j in single]), keepdim=True)
    if [a.shape[i] for i in first] != [b.shape[i] for i in second]:
        raise ValueError(f"tensordot: axes {first} of shape {a.shape} and {second} of shape {b.shape} must agree")
    left, right = ([i for i in range(x.ndim) if i not in used] for x, used in ((a, first), (b, second)))
    n = math.prod(a.shape[i] for i in first)
    rows = reshape(permute(a, axes=(*left, *first)), shape=(math.prod(a.shape[i] for i in left), n))
    columns = reshape(permute(b, axes=(*second, *right)), shape=(n, math.prod(b.shape[i] for i in right)))
    return reshape(matmul(rows, columns), shape=(*[a.shape[i] for i in left], *[b.shape[i] for i in right]))


def inner(a, b):
    """Sums of products over the last axis of both: (..., n), (*, n) -> (..., *)."""
    return a * b if not a.ndim or not b.ndim else _contracted(a, b, (a.ndim - 1,), (b.ndim - 1,))


def kron(a, b):
    """The Kronecker product: blocks a[i, j] b."""
    n = max(a.ndim, b.ndim)
    a, b = (reshape(x, shape=(1,) * (n - x.ndim) + x.shape) for x in (a, b))
    wide = [reshape(x, shape=tuple(k for pair in pairs for k in pair)) for x, pairs in
            ((a, [(s, 1) for s in a.shape]), (b, [(1, s) for s in b.shape]))]
    return reshape(wide[0] * wide[1], shape=tuple([s * t for s, t in zip(a.shape, b.shape, strict=True)]))


def cross_reference(a, b, axis=-1):
    rest = (slice(None),) * (-1 - axis)
    (a1, a2, a3), (b1, b2, b3) = ([getitem(x, (..., n, *rest)) for n in range(3)] for x in (a, b))
    return stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], axis=axis)


@fused(reference=cross_reference)
def cross_product(a, b, *, axis=-1):
    """The cross product along an axis of 3 elements, counted from the last: out_i = a_j b_k - a_k b_j."""
    shape = a.shape if a.shape == b.shape else np.broadcast_shapes(a.shape, b.shape)
    out, rest = np.empty(shape, np.result_type(a, b)), (slice(None),) * (-1 - axis)
    of = [(..., n, *rest) for n in range(3)]
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[of[i]] = a[of[j]] * b[of[k]] - a[of[k]] * b[of[j]]
    return out


@cross_product.joint_vjp
@fresh
def _(g, a, b, axis, wanted):
    return [cross_product.forward(b, g, axis=axis) if wanted[0] else None,
            cross_product.forward(g, a, axis=axis) if wanted[1] else None]


@cross_product.joint_vjp_in_ops
def _(g, a, b, axis, wanted):
    return [cross_product(b, g, axis=axis) if wanted[0] else None,
            cross_product(g, a, axis=axis) if wanted[1] else None]


def cross(a, b, axis=None):
    """The cross product along an axis of 3 elements, by default the first such axis."""
    ndim = max(a.ndim, b.ndim)
    if axis is None:
        shape = np.broadcast_shapes(a.shape, b.shape)
        axis = next((i for i, n in enumerate(shape) if n == 3), -1)
    axis = one_axis("cross", axis, ndim) - ndim
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(f"cross: axis {axis} of shapes {a.shape} and {b.shape} must have 3 elements")
    alike = a.dtype is b.dtype and hasattr(a, "_data") and hasattr(b, "_data")
    return (cross_product if alike else cross_reference)(a, b, axis=axis)


def vecdot(a, b, axis=-1):
    """Sums of products along an axis."""
    return sum(a * b, axis=axis)


def ger(a, b):
    """All products of the elements of two vectors, as `outer`."""
    return outer(a, b)


def multi_dot(*matrices):
    """The product of several matrices, in the order that takes the fewest multiplications."""
    xs = list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], list | tuple) else list(matrices)
    if len(xs) < 2:
        raise ValueError(f"multi_dot: takes two matrices or more, got {len(xs)}")
    sizes = [xs[0].shape[0] if xs[0].ndim > 1 else 1, *[x.shape[-1] if x.ndim > 1 else x.shape[0] for x in xs[:-1]],
             xs[-1].shape[1] if xs[-1].ndim > 1 else 1]
    cost: dict = {(i, i): (0, i) for i in range(len(xs))}
    for width in range(1, len(xs)):
        for i in range(len(xs) - width):
            j = i + width
            cost[i, j] = min((cost[i, k][0] + cost[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                             for k in range(i, j))

    def product(i, j):
        k = cost[i, j][1]
        return xs[i] if i == j else matmul(product(i, k), product(k + 1, j))

    return product(0, len(xs) - 1)


def chain_matmul(*matrices):
    """The product of several matrices, as `multi_dot`."""
    return matrices[0] if len(matrices) == 1 and not isinstance(matrices[0], list | tuple) else multi_dot(*matrices)


def baddbmm(x, batch1, batch2, beta=1, alpha=1):
    """beta x + alpha batch1 @ batch2, matrix by matrix."""
    return x * beta + matmul(batch1, batch2) * alpha


def addbmm(x, batch1, batch2, beta=1, alpha=1):
    """beta x + alpha sum_i batch1_i @ batch2_i."""
    return x * beta + sum(matmul(batch1, batch2), axis=0) * alpha


def addmv(x, mat, vec, beta=1, alpha=1):
    """beta x + alpha mat @ vec."""
    return x * beta + matmul(mat, vec) * alpha


def addr(x, vec1, vec2, beta=1, alpha=1):
    """beta x + alpha times the outer product of two vectors."""
    return x * beta + outer(vec1, vec2) * alpha


def cdist(x1, x2, p=2.0, compute_mode=None):
    """The distances |x1_i - x2_j|_p of all pairs of rows: (..., n, size), (..., m, size) -> (..., n, m).

    The gradient of a distance 0 is 0. From a million differences on, the Euclidean distances come from one product,
    |a|^2 + |b|^2 - 2 a b, whose error beside large numbers is larger.
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"cdist: takes (..., n, size) and (..., m, size), got shapes {x1.shape} and {x2.shape}")
    if not x1.shape[-1]:
        return sum(unsqueeze(x1, -2) - unsqueeze(x2, -3), axis=-1)
    if p == 2 and x1.size * x2.shape[-2] > 1 << 20:
        squares = [sum(x * x, axis=-1) for x in (x1, x2)]
        mixed = matmul(x1, transpose(x2, -1, -2))
        return sqrt(clip(unsqueeze(squares[0], -1) + unsqueeze(squares[1], -2) - 2.0 * mixed, min=0.0))
    a, b = x1.shape, x2.shape
    d = reshape(x1, shape=(*a[:-1], 1, a[-1])) - reshape(x2, shape=(*b[:-2], 1, *b[-2:]))
    return vector_norm(d, p, axis=-1) if p else vector_norm(d, p, axis=-1) + sum(d * 0.0, axis=-1)


def dist(a, b, p=2.0):
    """The p-norm of a - b, over all axes."""
    return vector_norm(reshape(a - b, shape=(-1,)), p)


def renorm(x, p, axis, maxnorm):
    """x with each slice along the axis whose p-norm is above maxnorm scaled down to it."""
    axis = one_axis("renorm", axis, x.ndim)
    rest = tuple([i for i in range(x.ndim) if i != axis])
    length = vector_norm(x, p, axis=rest, keepdim=True)
    long = length > maxnorm
    return x * where(long, maxnorm / (where(long, length, 1.0) + 1e-7), 1.0)

# Along an axis --------------------------------------------------------------------------------------------------------


def diff(x, n=1, axis=-1, prepend=None, append=None):
    """The differences of neighbours along the axis, n times; prepend and append: what comes before and behind."""
    axis = one_axis("diff", axis, x.ndim)
    if n < 0:
        raise ValueError(f"diff: n={n} must be at least 0")
    if n == 0:
        return clone(x)
    ends = [y for y in (prepend, x, append) if y is not None]
    x = cat(*ends, axis=axis) if len(ends) > 1 else x
    before = (slice(None),) * axis
    for _ in range(n):
        x = sub(take(x, index=(*before, slice(1, None))), take(x, index=(*before, slice(None, -1))))
    return x


def _widths(who, y, x, dx, axis):
    if x is None:
        return dx
    steps = diff(x, axis=-1 if x.ndim == 1 else axis)
    return reshape(steps, shape=(-1,) + (1,) * (y.ndim - axis - 1)) if x.ndim == 1 else steps


def _areas(who, y, x, dx, axis):
    axis = one_axis(who, axis, y.ndim)
    before = (slice(None),) * axis
    heights = getitem(y, (*before, slice(1, None))) + getitem(y, (*before, slice(None, -1)))
    return heights * _widths(who, y, x, dx, axis) * 0.5, axis


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral of y by the trapezoidal rule, at the places x, or dx apart."""
    areas, axis = _areas("trapezoid", y, x, dx, axis)
    return sum(areas, axis=axis)


def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integrals of y from its first place to each of the others, by the trapezoidal rule."""
    areas, axis = _areas("cumulative_trapezoid", y, x, dx, axis)
    return cumsum(areas, axis=axis)


def cov(x, correction=1, fweights=None, aweights=None):
    """The covariances of the rows of x, variables (rows) by observations (columns).

    fweights: how often each observation counts, integers; aweights: how much.
    """
    if x.ndim > 2:
        raise ValueError(f"cov: takes a matrix or a vector, got shape {x.shape}")
    rows = reshape(x, shape=(1, -1)) if x.ndim < 2 else x
    if fweights is None and aweights is None:
        rows = rows - mean(rows, axis=1, keepdim=True)
        y = matmul(rows, transpose(rows, 0, 1)) / max(rows.shape[1] - correction, 0)
        return y if len(rows) != 1 else reshape(y, shape=())
    fweights, aweights = (w if w is None else cast(w, dtype=x.dtype) for w in (fweights, aweights))
    w = 1.0 if fweights is None else fweights
    w = w if aweights is None else w * aweights
    total = sum(w)
    rows = rows - sum(rows * w, axis=1, keepdim=True) / total
    scale = total - correction * (sum(w * aweights) / total if aweights is not None else 1)
    y = matmul(rows * w, transpose(rows, 0, 1)) / clip(scale, min=0.0)
    return y if len(rows) != 1 else reshape(y, shape=())


def corrcoef(x):
    """The correlation coefficients of the rows of x, variables by observations."""
    y = cov(x)
    if not y.ndim:
        return y / y
    scale = sqrt(getitem(y, (np.arange(len(y)), np.arange(len(y)))))
    return clip(y / unsqueeze(scale, 1) / unsqueeze(scale, 0), min=-1.0, max=1.0)


def vander(x, N=None, increasing=False):
    """Powers of a vector as columns, N of them, from the highest to 0, or with increasing from 0 on."""
    x = x if x.ndim else reshape(x, shape=(1,))
    n = x.shape[-1] if N is None else N
    if n < 0:
        raise ValueError(f"vander: N={N} is the number of columns, from 0 on")
    if n == 0:
        return getitem(unsqueeze(x, -1), (..., slice(0, 0)))
    powers = range(n) if increasing else range(n - 1, -1, -1)
    return stack(*[x**k if k else x * 0 + 1 for k in powers], axis=-1)
