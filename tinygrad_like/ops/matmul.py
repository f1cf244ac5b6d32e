"""Matrix products: matmul, linear, einsum. The adjoint of a product with B is the product with B transposed."""

from __future__ import annotations

import math

import numpy as np

from .. import kernels
from ..dtypes import FLOAT32, as_array
from ..kernels import accelerated
from ..memory import empty
from ..primitive import Residuals, fresh, fused, primitive
from .activation import relu
from .elementwise import add, mul
from .reduce import sum, sum_over
from .shape import reshape, transpose


@primitive
@accelerated
def batched_matmul(a, b):
    """Products of the matrices in the last two axes; the axes before them broadcast. a (..., m, k), b (..., k, n)."""
    return _product(a, b)


def _product(a, b):
    if a.ndim == 2 == b.ndim:
        return np.dot(a, b)  # as np.matmul, which takes longer to begin
    return np.matmul(a, b) if b.ndim > 2 else np.matmul(_rows(a), b).reshape(*a.shape[:-1], b.shape[-1])


@batched_matmul.joint_vjp
@fresh
def _(g, a, b, wanted):
    if isinstance(g, np.ndarray):
        return batched_matmul_vjp(g, a, b, wanted)
    return [batched_matmul(g, transpose(b, -1, -2)) if wanted[0] else None,
            batched_matmul(transpose(a, -1, -2), g) if wanted[1] else None]


@accelerated
def batched_matmul_vjp(g, a, b, wanted):
    """The same for arrays. If b is a single matrix, the rows of all matrices a count as one, and db is their sum."""
    if a.ndim == 2 == b.ndim:
        return [np.dot(g, b.T) if wanted[0] else None, np.dot(a.T, g) if wanted[1] else None]
    left, right = (a, g) if a.ndim == 2 or b.ndim > 2 else (_rows(a), _rows(g))
    return [_product(g, b.swapaxes(-1, -2)) if wanted[0] else None,
            np.matmul(left.swapaxes(-1, -2), right) if wanted[1] else None]


def matmul(a, b):
    """The matrix product a @ b, with NumPy's rules for vectors and batches.

    out[..., i, j] = sum_k a[..., i, k] b[..., k, j]; a 1-d operand is a row on the left and a column on the right, and
    loses that axis in the result. Raises ValueError if the inner sizes differ or the batch axes do not broadcast.
    """
    if not (hasattr(a, "ndim") and hasattr(b, "ndim")):
        a, b = operand("matmul", a), operand("matmul", b)
    left, right = a.shape, b.shape
    if len(left) == len(right) == 2 and left[1] == right[0] and a.dtype is b.dtype:
        return batched_matmul(a, b)  # as below, sooner
    if not left or not right:
        raise ValueError(f"matmul: shapes {left} and {right}: a 0-d operand has no rows; use * to scale")
    if left[-1] != right[-2 if len(right) > 1 else 0]:
        raise ValueError(f"matmul: shapes {left} and {right} do not fit: the last axis of the first is {left[-1]} but "
                         + (f"the second last axis of the second is {right[-2]}" if len(right) > 1 else
                            f"the only axis of the second is {right[0]}"))
    if a.dtype is not b.dtype and a.dtype.kind == b.dtype.kind == "f":
        raise TypeError(f"matmul: {a.dtype} times {b.dtype}; cast one with .float() or .double()")
    if len(left) == len(right) == 1 and a.dtype.kind == "f":
        return sum(mul(a, b))
    if len(left) == 1:
        out = matmul(reshape(a, shape=(1, -1)), b)
        return reshape(out, shape=out.shape[:-2] + out.shape[-1:] if len(right) > 1 else ())
    if len(right) == 1:
        out = matmul(a, reshape(b, shape=(-1, 1)))
        return reshape(out, shape=out.shape[:-1])
    if len(left) > 2 < len(right) and left[:-2] != right[:-2]:
        try:
            np.broadcast_shapes(left[:-2], right[:-2])
        except ValueError:
            raise ValueError(f"matmul: batch axes {left[:-2]} and {right[:-2]} of shapes {left} and {right} "
                             "do not broadcast") from None
    return batched_matmul(a, b)


def operand(who, x):
    return x if hasattr(x, "ndim") else as_array(x, None, who)


def outer(a, b):
    """out[i, j] = a[i] b[j] of two vectors."""
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer: takes two vectors, got shapes {a.shape} and {b.shape}")
    return mul(reshape(a, shape=(-1, 1)), reshape(b, shape=(1, -1)))


# Linear (7.35; PyTorch's weight layout) -------------------------------------------------------------------------------


def linear_reference(x, weight, bias=None):
    """x W^T + b: the weight has a row for each output."""
    y = matmul(x, transpose(weight, 0, 1))
    return y if bias is None else add(y, bias)


@fused(reference=linear_reference)
def linear(x, weight, bias=None):
    """y = x W^T + b over any leading axes (7.17-7.19). x (..., in), weight (out, in), bias (out) -> (..., out)."""
    return _linear(x, weight, bias)


@linear.joint_vjp
@fresh
def _(g, x, weight, bias, wanted):
    dx, dw, db = linear_vjp(_rows(g), _rows(x), weight, wanted)
    return [dx if dx is None else dx.reshape(x.shape), dw, db]


@accelerated
def linear_vjp(g, x, weight, wanted):
    """With rows of x as examples: dL/dx = g W, dL/dW = g^T x, dL/db = the sum of g over examples."""
    return [np.dot(g, weight) if wanted[0] else None, np.dot(g.T, x) if wanted[1] else None,
            sum_over(g, (0,), False) if wanted[2] else None]


@linear.joint_vjp_in_ops
def _(g, x, weight, wanted):
    return [matmul(g, weight) if wanted[0] else None,
            matmul(transpose(_matrix(g), 0, 1), _matrix(x)) if wanted[1] else None,
            sum(_matrix(g), axis=0) if wanted[2] else None]


def _matrix(x):
    return x if x.ndim == 2 else reshape(x, shape=(math.prod(x.shape[:-1]), x.shape[-1]))


def _linear(x, weight, bias, *options):
    shape = _check_linear(x, weight, bias)
    return affine(x, weight, bias, *options) if x.ndim == 2 else affine(_rows(x), weight, bias, *map(
        _rows, options)).reshape(shape)


@accelerated
def affine(x, weight, bias, rectify=False, skip=None, total=None):
    """x W^T + b of a matrix x, or its positive part; if skip and total are given, total = skip + that, too."""
    y = np.matmul(x, weight.T)
    y = y if bias is None else y + bias
    y = np.maximum(y, 0) if rectify else y
    if skip is not None:
        np.add(skip, y, out=total)
    return y


def _linear_vjp(g, y, x, weight, wanted, *options):
    if x.ndim == 2:
        return affine_vjp(g, y, x, weight, wanted, *options)
    dx, dw, db = affine_vjp(_rows(g), _rows(y), _rows(x), weight, wanted, *map(_rows, options))
    return [dx if dx is None else dx.reshape(x.shape), dw, db]


@accelerated
def affine_vjp(g, y, x, weight, wanted, skip=None, out=None):
    """With rows of x as examples: dL/dx = g W, dL/dW = g^T x, dL/db = the sum of g over examples.

    y: None, or the output of a ReLU: then g counts as 0 where y <= 0.
    skip: None, or the cotangent that reaches x another way, which is added to dL/dx.
    out: None, or an array of the shape of x to write dL/dx to; it may be skip.
    """
    g = g if y is None else np.where(y <= 0, 0, g)
    dx = g @ weight if wanted[0] else None
    dx = dx if skip is None or dx is None else dx + skip
    return [dx, g.T @ x if wanted[1] else None, sum_over(g, (0,), False) if wanted[2] else None]


# Layers in a row ------------------------------------------------------------------------------------------------------
# Several layers are one op, since Python between two products costs more than it seems: its code has left the cache,
# and the threads must be called together again.


def linear_relu_reference(*inputs, last=True):
    """max(x W^T + b, 0), layer after layer."""
    y = inputs[0]
    for i in _layers("linear_relu", inputs, 2):
        y = linear(y, inputs[i], inputs[i + 1])
        y = relu(y) if last or i + 2 < len(inputs) else y
    return y


@fused(reference=linear_relu_reference)
def linear_relu(*inputs, last=True):
    """Layers of (7.22) in a row, each max(x W^T + b, 0): `linear_relu(x, weight1, bias1, weight2, bias2, ...)`.

    x (..., in_1), weights (out_l, in_l), in_l = out_(l-1), biases (out_l) or None -> (..., out_last).
    last: whether the last layer has a maximum too; if not, this is the MLP of (7.22-7.23).
    """
    y, given = inputs[0], []
    with kernels.together(y):
        for i in _layers("linear_relu", inputs, 2):
            given.append(y)
            y = _linear(y, inputs[i], inputs[i + 1], last or i + 2 < len(inputs))
    return y, Residuals(given=given)


@linear_relu.joint_vjp
@fresh
def _(g, inputs, given, out, last, wanted):
    cotangents, first = [None] * len(inputs), wanted.index(True)
    y = out if last else None
    with kernels.together(g):
        for i in reversed(_layers("linear_relu", inputs, 2)):
            if first < i + 2:  # this layer's weight and bias, inputs i and i + 1, are wanted, or something before them
                x = given[i // 2]
                g, *cotangents[i : i + 2] = _linear_vjp(g, y, x, inputs[i], (first < i, wanted[i], wanted[i + 1]))
                y = x  # of the layer before
    cotangents[0] = g
    return cotangents


def res_relu_reference(*inputs):
    """z + max(W1 max(W2 z + b2, 0) + b1, 0), block after block."""
    z = inputs[0]
    for i in _layers("res_relu", inputs, 4):
        z = add(z, linear_relu(z, *inputs[i : i + 4]))
    return z


@fused(reference=res_relu_reference)
def res_relu(*inputs):
    """Residual blocks (7.38) in a row, each z + max(W1 max(W2 z + b2, 0) + b1, 0):
    `res_relu(z, weight2, bias2, weight1, bias1, weight2, ...)`, four arrays for each block.

    z (..., n) -> (..., n). weight2 (hidden, n), bias2 (hidden), weight1 (n, hidden), bias1 (n); a bias may be None.
    Raises ValueError if a block does not end in as many features as it begins with.
    """
    z, saved = inputs[0], []
    with kernels.together(z):
        for i in _layers("res_relu", inputs, 4):
            weight2, bias2, weight1, bias1 = inputs[i : i + 4]
            hidden = _linear(z, weight2, bias2, True)
            if weight1.shape[:1] != z.shape[-1:]:
                raise ValueError(f"res_relu: weight1 {weight1.shape} must have a row for each of the {z.shape[-1]} "
                                 f"features of the input {z.shape}, to which the rest is added")
            out = empty(z.shape, z.dtype)
            update = _linear(hidden, weight1, bias1, True, z, out)
            saved.append((z, hidden, update))
            z = out
    return z, Residuals(saved=saved)


@res_relu.joint_vjp
@fresh
def _(g, inputs, saved, wanted):
    cotangents, first = [None] * len(inputs), wanted.index(True)
    dhidden = buffer = None
    with kernels.together(g):
        for i in reversed(_layers("res_relu", inputs, 4)):
            if first < i + 4:
                z, hidden, update = saved[i // 4]
                # Two ways lead back to z: through the layers, and past them, where g arrives as it is.
                dhidden, *cotangents[i + 2 : i + 4] = _linear_vjp(
                    g, update, hidden, inputs[i + 2], (True, wanted[i + 2], wanted[i + 3]), None, dhidden)
                g, *cotangents[i : i + 2] = _linear_vjp(
                    dhidden, hidden, z, inputs[i], (first < i, wanted[i], wanted[i + 1]), g, buffer)
                buffer = g  # made here, so the next may be written over it, unlike the first g
    cotangents[0] = g
    return cotangents


def _layers(name, inputs, count):
    """Where in the inputs (x, weight, bias, weight, ...) each layer begins that takes so many of them."""
    if len(inputs) % count != 1 or len(inputs) == 1:
        raise TypeError(f"{name}: after x come weights and biases (or None) in turn, {count} for each layer; "
                        f"got {len(inputs) - 1}")
    return range(1, len(inputs), count)


def _rows(x):
    """x as a matrix, with all leading axes in one. (reshape could not work out -1 for an empty x.)"""
    if not isinstance(x, np.ndarray) or x.ndim == 2:
        return x
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _check_linear(x, weight, bias):
    """The shape of x W^T + b."""
    shape, of_weight = x.shape, weight.shape
    if len(of_weight) != 2:
        raise ValueError(f"linear: weight must be (out, in), got shape {of_weight}")
    if not shape or shape[-1] != of_weight[1]:
        raise ValueError(f"linear: the last axis of the input, shape {shape}, must be {of_weight[1]}, "
                         f"the second of the weight (out, in) = {of_weight}")
    if x.dtype is not weight.dtype:
        raise TypeError(f"linear: the input is {x.dtype} but the weight {weight.dtype}; cast the input with "
                        f".{'float' if weight.dtype is FLOAT32 else 'double'}()")
    if bias is not None and bias.shape != of_weight[:1]:
        raise ValueError(f"linear: bias has shape {bias.shape} but the weight "
                         f"(out, in) = {of_weight} needs ({of_weight[0]},)")
    if bias is not None and bias.dtype is not weight.dtype:
        raise TypeError(f"linear: the bias is {bias.dtype} but the weight {weight.dtype}; cast one of them")
    return *shape[:-1], of_weight[0]
