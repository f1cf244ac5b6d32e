"""Matrix products: matmul, outer, linear. The adjoint of a product with B is the product with B transposed."""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import fresh, primitive
from ..core.tensor import Tensor
from ..dtypes import as_array
from ..errors import checked
from ..rings import replaceable
from .composite import composite
from .contracts import fits
from .elementwise import add, mul
from .reduce import sum
from .shape import reshape, transpose


@primitive
@replaceable
def batched_matmul(a, b):
    """Products of the matrices in the last two axes; the axes before them broadcast. a (..., m, k), b (..., k, n)."""
    return _product(a, b)


def _product(a, b):
    if a.ndim == 2 == b.ndim:
        return np.dot(a, b)  # equals np.matmul, which has more overhead
    return np.matmul(a, b) if b.ndim > 2 else np.matmul(_rows(a), b).reshape(*a.shape[:-1], b.shape[-1])


@batched_matmul.joint_vjp
@fresh
def _(g, a, b, wanted):
    if isinstance(g, np.ndarray):
        return batched_matmul_vjp(g, a, b, wanted)
    return [batched_matmul(g, transpose(b, -1, -2)) if wanted[0] else None,
            batched_matmul(transpose(a, -1, -2), g) if wanted[1] else None]


@replaceable
def batched_matmul_vjp(g, a, b, wanted):
    """The same on arrays. If b is a single matrix, the rows of all matrices a form one matrix, and db sums over
    them."""
    if a.ndim == 2 == b.ndim:
        return [np.dot(g, b.T) if wanted[0] else None, np.dot(a.T, g) if wanted[1] else None]
    left, right = (a, g) if a.ndim == 2 or b.ndim > 2 else (_rows(a), _rows(g))
    return [_product(g, b.swapaxes(-1, -2)) if wanted[0] else None,
            np.matmul(left.swapaxes(-1, -2), right) if wanted[1] else None]


@primitive
@replaceable
def matrix_vector(a, b):
    """Products of the matrices in the last two axes with one vector: a (..., m, k), b (k) -> (..., m)."""
    return np.dot(a, b) if a.ndim == 2 else np.matmul(a, b)


matrix_vector.requires(fits("any a (..., m, k), any b (k)"))


@matrix_vector.joint_vjp
@fresh
def _(g, a, b, wanted):
    if isinstance(g, np.ndarray):
        return matrix_vector_vjp(g, a, b, wanted)
    return [batched_matmul(reshape(g, shape=(*g.shape, 1)), reshape(b, shape=(1, -1))) if wanted[0] else None,
            matrix_vector(transpose(_matrix(a), 0, 1), reshape(g, shape=(-1,))) if wanted[1] else None]


@replaceable
def matrix_vector_vjp(g, a, b, wanted):
    """The same on arrays; np.dot sums the rows of a, each times its g."""
    return [np.multiply.outer(g, b) if wanted[0] else None,
            np.dot(g.reshape(-1), _rows(a)) if wanted[1] else None]


def matmul(a, b) -> Tensor:
    """The matrix product a @ b, with NumPy's rules for vectors and batches.

    out[..., i, j] = sum_k a[..., i, k] b[..., k, j]; a 1-d operand is a row on the left and a column on the right, and
    the result lacks that axis. Raises ValueError if the inner sizes differ or the batch axes do not broadcast.
    """
    if not (hasattr(a, "ndim") and hasattr(b, "ndim")):
        a, b = operand("matmul", a), operand("matmul", b)
    left, right = a.shape, b.shape
    if len(left) == len(right) == 2 and left[1] == right[0] and a.dtype is b.dtype:
        return batched_matmul(a, b)  # the usual case first
    if not left or not right:
        raise ValueError(f"matmul: shapes {left} and {right}: a 0-d operand is not a matrix; use * to scale")
    if left[-1] != right[-2 if len(right) > 1 else 0]:
        raise ValueError(f"matmul: shapes {left} and {right} do not fit: the last axis of the first is {left[-1]} but "
                         + (f"the second last axis of the second is {right[-2]}" if len(right) > 1 else
                            f"the only axis of the second is {right[0]}"))
    if a.dtype is not b.dtype and a.dtype.kind == b.dtype.kind == "f":
        raise TypeError(f"matmul: {a.dtype} times {b.dtype}; cast one with .float() or .double()")
    if len(left) == len(right) == 1 and a.dtype.kind == "f":
        return sum(mul(a, b))
    if len(right) == 1 < len(left):
        return matrix_vector(a, b)
    if len(left) == 1 < len(right):  # b^T a
        return matrix_vector(transpose(b, -1, -2), a)
    if len(left) == 1:
        return reshape(matrix_vector(reshape(a, shape=(1, -1)), b), shape=())
    if len(left) > 2 < len(right) and left[:-2] != right[:-2]:
        try:
            np.broadcast_shapes(left[:-2], right[:-2])
        except ValueError:
            raise ValueError(f"matmul: batch axes {left[:-2]} and {right[:-2]} of shapes {left} and {right} "
                             "do not broadcast") from None
    return batched_matmul(a, b)


def operand(who, x):
    return x if hasattr(x, "ndim") else as_array(x, None, who)


_FEW = 4096  # with fewer products, broadcasting is faster


@checked
def outer(a, b) -> Tensor:
    """out[i, j] = a[i] b[j] of two vectors."""
    if a.dtype is b.dtype and a.dtype.kind == "f" and a.size * b.size > _FEW:  # its rules are matrix products
        return matmul(reshape(a, shape=(-1, 1)), reshape(b, shape=(1, -1)))
    return mul(reshape(a, shape=(-1, 1)), b)


outer.requires(fits("any a (m), any b (n)"))


# Linear (7.35; PyTorch's weight layout) -------------------------------------------------------------------------------


@composite
def linear(x, weight, bias=None):
    """y = x W^T + b over any leading axes (7.17-7.19). x (..., in), weight (out, in), bias (out) -> (..., out)."""
    y = matmul(x, transpose(weight, 0, 1))
    return y if bias is None else add(y, bias)


linear.requires(fits("weight (out, in), x (..., in), bias? (out)"))


def _matrix(x):
    return x if x.ndim == 2 else reshape(x, shape=(math.prod(x.shape[:-1]), x.shape[-1]))


def _rows(x):
    """x as a matrix, its leading axes merged. (reshape cannot infer -1 for an empty x.)"""
    if not isinstance(x, np.ndarray) or x.ndim == 2:
        return x
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
