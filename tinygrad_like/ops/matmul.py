"""Matrix products: matmul, linear, einsum. The adjoint of a product with B is the product with B transposed."""

from __future__ import annotations

import math

import numpy as np

from .. import kernels
from ..dtypes import FLOAT32, as_array
from ..memory import empty
from ..primitive import Residuals, fused, primitive
from .activation import keep_positive, relu
from .elementwise import add, mul
from .index import take
from .reduce import sum, sum_over
from .shape import expand, permute, reshape, transpose

LEAST = 60_000  # multiplications; below, NumPy's BLAS is as fast for a bare product, and starts no threads for it


@primitive
def batched_matmul(a, b):
    """Products of the matrices in the last two axes; the axes before them broadcast. a (..., m, k), b (..., k, n)."""
    if a.dtype is FLOAT32 is b.dtype:
        if a.ndim == 2 == b.ndim:
            shape = a.shape[0], b.shape[1]
        else:
            shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
        if math.prod(shape) * a.shape[-1] >= LEAST:
            return kernels.gemm.product(a, b, empty(shape))
    return np.matmul(a, b)


batched_matmul.vjp(a=lambda g, b: batched_matmul(g, transpose(b, -1, -2)),
                   b=lambda g, a: batched_matmul(transpose(a, -1, -2), g))


def matmul(a, b):
    """The matrix product a @ b, with NumPy's rules for vectors and batches.

    out[..., i, j] = sum_k a[..., i, k] b[..., k, j]; a 1-d operand is a row on the left and a column on the right, and
    loses that axis in the result. Raises ValueError if the inner sizes differ or the batch axes do not broadcast.
    """
    a, b = _operand("matmul", a), _operand("matmul", b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape}: a 0-d operand has no rows; use * to scale")
    inner = a.shape[-1], b.shape[-2 if b.ndim > 1 else 0]
    if inner[0] != inner[1]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not fit: the last axis of the first is {inner[0]} "
                         f"but the {'second last' if b.ndim > 1 else 'only'} axis of the second is {inner[1]}")
    if a.dtype is not b.dtype and a.dtype.kind == b.dtype.kind == "f":
        raise TypeError(f"matmul: {a.dtype} times {b.dtype}; cast one with .float() or .double()")
    if a.ndim == 1:
        out = matmul(reshape(a, shape=(1, -1)), b)
        return reshape(out, shape=out.shape[:-2] + out.shape[-1:] if b.ndim > 1 else out.shape[:-1])
    if b.ndim == 1:
        out = matmul(a, reshape(b, shape=(-1, 1)))
        return reshape(out, shape=out.shape[:-1])
    if b.ndim == 2 and a.ndim > 2:  # one tall product, instead of a batch of them against the same matrix
        rows = reshape(a, shape=(_count(a.shape[:-1]), a.shape[-1]))
        return reshape(batched_matmul(rows, b), shape=(*a.shape[:-1], b.shape[-1]))
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(f"matmul: batch axes {a.shape[:-2]} and {b.shape[:-2]} of shapes {a.shape} and {b.shape} "
                         "do not broadcast") from None
    return batched_matmul(a, b)


def _operand(who, x):
    return x if hasattr(x, "ndim") else as_array(x, None, who)


def _count(shape) -> int:
    return math.prod(shape)


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
def _(g, x, weight, bias, wanted):
    return _linear_vjp(g, None, x, weight, wanted)


def _linear(x, weight, bias, rectify=False, skip=None, total=None):
    """x W^T + b or its positive part; its sum with skip goes to total, if they are given."""
    shape = _check_linear(x, weight, bias)
    rows = _rows(x)
    if x.dtype is FLOAT32:
        y = empty(shape)
        start = None if bias is None else np.ascontiguousarray(bias)
        more = None if skip is None else (_rows(skip), _rows(total))
        kernels.gemm.product(rows, weight, _rows(y), start, True, rectify, more)
        return y
    y = np.matmul(rows, weight.T)
    y = y if bias is None else y + bias
    y = (np.maximum(y, 0) if rectify else y).reshape(shape)
    if skip is not None:
        np.add(skip, y, out=total)
    return y


def _linear_vjp(g, y, x, weight, wanted, skip=None, dx=None):
    """With rows of x as examples: dL/dx = g W, dL/dW = g^T x, dL/db = the sum of g over examples.

    y: None, or the output of a ReLU; of g, then, what meets a y <= 0 does not count.
    skip: None, or what reaches x on another way, which is added to dL/dx.
    dx: None, or an array to write dL/dx to, if it has the shape of x; it may be skip.
    """
    g, rows = np.ascontiguousarray(_rows(g)), _rows(x)
    if g.dtype is FLOAT32 is x.dtype:
        y = None if y is None else np.ascontiguousarray(_rows(y))
        start = None if skip is None else np.ascontiguousarray(_rows(skip))
        dx = _rows(dx) if dx is not None and dx.shape == x.shape else None
        dx, dw, db = kernels.gemm.linear_vjp(g, y, rows, weight, wanted, start, dx)
    else:
        g = g if y is None else keep_positive.forward(g, _rows(y))
        dx = np.matmul(g, weight) if wanted[0] else None
        dx = dx if skip is None or dx is None else dx + _rows(skip)
        dw = np.matmul(g.T, rows) if wanted[1] else None
        db = sum_over(g, (0,), False) if wanted[2] else None
    return [dx if dx is None or x.ndim == 2 else dx.reshape(x.shape), dw, db]


# Layers in a row ------------------------------------------------------------------------------------------------------
# One op for several layers, since between two products Python takes longer than it seems: its code is no longer in the
# cache, and the threads have to be called together again.


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
    last: whether there is a maximum after the last layer too; if not, this is the MLP of (7.22-7.23).
    """
    y, given = inputs[0], []
    with kernels.together(y):
        for i in _layers("linear_relu", inputs, 2):
            given.append(y)
            y = _linear(y, inputs[i], inputs[i + 1], rectify=last or i + 2 < len(inputs))
    return y, Residuals(given=given)


@linear_relu.joint_vjp
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
            hidden = _linear(z, weight2, bias2, rectify=True)
            if weight1.shape[:1] != z.shape[-1:]:
                raise ValueError(f"res_relu: weight1 {weight1.shape} must have a row for each of the {z.shape[-1]} "
                                 f"features of the input {z.shape}, to which the rest is added")
            out = empty(z.shape, z.dtype)
            update = _linear(hidden, weight1, bias1, rectify=True, skip=np.ascontiguousarray(z), total=out)
            saved.append((z, hidden, update))
            z = out
    return z, Residuals(saved=saved)


@res_relu.joint_vjp
def _(g, inputs, saved, wanted):
    cotangents, first = [None] * len(inputs), wanted.index(True)
    through = own = None
    with kernels.together(g):
        for i in reversed(_layers("res_relu", inputs, 4)):
            if first < i + 4:
                z, hidden, update = saved[i // 4]
                # Two ways lead back to z: through the layers, and past them, where g arrives as it is.
                through, *cotangents[i + 2 : i + 4] = _linear_vjp(
                    g, update, hidden, inputs[i + 2], (True, wanted[i + 2], wanted[i + 3]), dx=through)
                g, *cotangents[i : i + 2] = _linear_vjp(
                    through, hidden, z, inputs[i], (first < i, wanted[i], wanted[i + 1]), skip=g, dx=own)
                own = g  # made here, so the next may be written over it, unlike what came from outside
    cotangents[0] = g
    return cotangents


def _layers(name, inputs, count):
    """Where in the inputs (x, weight, bias, weight, ...) each layer begins that takes so many of them."""
    if len(inputs) % count != 1 or len(inputs) == 1:
        raise TypeError(f"{name}: after x come weights and biases (or None) in turn, {count} for each layer; "
                        f"got {len(inputs) - 1}")
    return range(1, len(inputs), count)


def _rows(x):
    """x as a matrix, all leading axes in one; -1 could not be worked out for an empty x."""
    return x if x.ndim == 2 else x.reshape(_count(x.shape[:-1]), x.shape[-1])


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


# Einsum: permute, reshape and matmul in disguise ----------------------------------------------------------------------


def einsum(formula: str, *operands):
    """Sums of products over named axes, as in `einsum("bij,bjk->bik", a, b)`; without "->" the axes named once, sorted.

    Raises ValueError for a formula that does not fit the operands.
    """
    if not isinstance(formula, str):
        raise TypeError('einsum: the formula comes first, as in einsum("ij,jk->ik", a, b); '
                        f"got {type(formula).__name__}")
    operands = tuple([_operand("einsum", x) for x in operands])
    inputs, output = _parse(formula, operands)
    sizes: dict[str, int] = {}
    for names, x in zip(inputs, operands, strict=True):
        for name, n in zip(names, x.shape, strict=True):
            if sizes.setdefault(name, n) != n and 1 not in (n, sizes[name]):
                raise ValueError(f"einsum: axis {name!r} of {formula!r} has size {n} in shape {x.shape} "
                                 f"but {sizes[name]} before")
            sizes[name] = max(sizes[name], n)
    pairs = [_diagonal(names, _stretch(names, x, sizes)) for names, x in zip(inputs, operands, strict=True)]
    names, y = pairs[0]
    for i in range(1, len(pairs)):
        later = set(output).union(*(n for n, _ in pairs[i + 1 :]))
        names, y = _contract(names, y, pairs[i][0], pairs[i][1], later)
    gone = tuple(a for a, name in enumerate(names) if name not in output)
    if gone:
        y, names = sum(y, axis=gone), [n for n in names if n in output]
    missing = [n for n in output if n not in names]
    if missing:
        raise ValueError(f"einsum: output axis {missing[0]!r} of {formula!r} is in no input")
    return permute(y, axes=tuple(names.index(n) for n in output))


def _parse(formula: str, operands) -> tuple[list[list[str]], list[str]]:
    left, arrow, right = formula.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum: {formula!r} names {len(terms)} operands but {len(operands)} were given")
    # An ellipsis stands for the axes no letter names, counted from the last: ".1" is the last, ".2" the one before.
    hidden = [x.ndim - len(t.replace("...", "")) if "..." in t else 0 for t, x in zip(terms, operands, strict=True)]
    inputs = [_names(t, h) for t, h in zip(terms, hidden, strict=True)]
    for t, names, x in zip(terms, inputs, operands, strict=True):
        if len(names) != x.ndim:
            raise ValueError(f"einsum: {t!r} of {formula!r} names {len(t.replace('...', ''))} axes "
                             f"but its operand has shape {x.shape}")
    every = [n for names in inputs for n in names]
    dots = _names("...", max(hidden))
    if not arrow:
        return inputs, dots + sorted(n for n in set(every) if every.count(n) == 1 and n[0] != ".")
    output = _names(right, max(hidden))
    if len(set(output)) != len(output):
        raise ValueError(f"einsum: the output of {formula!r} names an axis twice")
    return inputs, output


def _names(term: str, hidden: int) -> list[str]:
    before, dots, after = term.partition("...")
    if not all(c.isalpha() for c in before + after):
        raise ValueError(f"einsum: {term!r} must be letters, with at most one '...'")
    return [*before, *([f".{i}" for i in range(hidden, 0, -1)] if dots else []), *after]


def _stretch(names: list[str], x, sizes: dict[str, int]):
    """An axis of size 1 broadcasts to the size its name has elsewhere."""
    shape = tuple(sizes[n] for n in names)
    return x if shape == x.shape else expand(x, shape=shape)


def _diagonal(names: list[str], x):
    """An axis named twice in one operand: keep the elements where both indices agree."""
    names = list(names)
    for name in sorted(set(names)):
        while names.count(name) > 1:
            a, b = names.index(name), len(names) - 1 - names[::-1].index(name)
            order = [a, b] + [i for i in range(len(names)) if i not in (a, b)]
            both = np.arange(x.shape[a])
            x = take(permute(x, axes=tuple(order)), index=(both, both))
            names = [name] + [names[i] for i in order[2:]]
    return names, x


def _contract(left: list[str], a, right: list[str], b, later: set[str]):
    """Multiply two operands and sum over what nobody names later, as one batched matrix product."""
    a, left = _sum_out(a, left, later.union(right))
    b, right = _sum_out(b, right, later.union(left))
    batch = [n for n in left if n in right and n in later]
    inner = [n for n in left if n in right and n not in later]
    rows, columns = [n for n in left if n not in right], [n for n in right if n not in left]

    sizes_a, sizes_b = dict(zip(left, a.shape, strict=True)), dict(zip(right, b.shape, strict=True))
    a = permute(a, axes=tuple(left.index(n) for n in batch + rows + inner))
    b = permute(b, axes=tuple(right.index(n) for n in batch + inner + columns))
    m, n, k = (_count([s[i] for i in names]) for s, names in ((sizes_a, rows), (sizes_b, columns), (sizes_a, inner)))
    a = reshape(a, shape=(*(sizes_a[i] for i in batch), m, k))
    b = reshape(b, shape=(*(sizes_b[i] for i in batch), k, n))
    y = matmul(a, b)
    shape = (*y.shape[:-2], *(sizes_a[i] for i in rows), *(sizes_b[i] for i in columns))
    return batch + rows + columns, reshape(y, shape=shape)


def _sum_out(x, names: list[str], needed: set[str]):
    gone = tuple(i for i, n in enumerate(names) if n not in needed)
    return (sum(x, axis=gone), [n for n in names if n in needed]) if gone else (x, names)
