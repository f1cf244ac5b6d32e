"""The Tensor's methods that call ops: x.softmax(axis=0) is ops.softmax(x, axis=0), which has the documentation."""

from __future__ import annotations

import functools
import inspect
import math
from typing import Any
from weakref import ref

import numpy as np

from .. import ops
from ..core.graph import mode
from ..core.tensor import Tensor, wrap
from ..dtypes import BOOL, FLOAT16, FLOAT32, FLOAT64, INT64, as_dtype, bfloat16
from ..errors import named
from ..ops.along import take_along
from ..ops.axes import one_axis, plain_shape
from ..ops.index import is_basic
from ..ops.order import Found

Axis = int | tuple[int, ...] | None


def _axes_of_windows(size: Any) -> int:
    """The number of axes of a window: the length of a list, or two for a number."""
    return len(size) if isinstance(size, tuple | list) else 2


def part_of_tensor(cls):
    """Make errors name functions as users know them: Tensor.f, or the function's own name."""
    for name, member in list(vars(cls).items()):
        f = getattr(member, "__func__", member)
        if inspect.isfunction(f):
            f.__qualname__ = f"Tensor.{f.__name__}"
        if isinstance(member, staticmethod):
            setattr(cls, name, staticmethod(named(f)))
    return cls


def pair_of(op: Any, x: Any, axis: Any, keepdim: bool) -> Found:
    """`max` or `min` along an axis, with indices: the first of ties gets the cotangent, as in PyTorch."""
    axis, keepdim = one_axis(op.name, axis, x.ndim, scalar=True), bool(keepdim)
    if mode.listener is None and x.dtype in _PLAIN and x.ndim and x.size:  # the usual case, faster
        index = wrap(np.asarray((x._data.argmax if op is ops.max else x._data.argmin)(axis, keepdims=keepdim)))
    else:
        index = (ops.argmax if op is ops.max else ops.argmin)(x, axis=axis, keepdim=keepdim)
    return Found(take_along(x, index, axis=axis, keepdim=keepdim) if x.ndim else ops.gather(x, index, axis=axis), index)


_PLAIN = frozenset({FLOAT32, FLOAT64, INT64})


@part_of_tensor
class Methods:
    """The part of Tensor that calls ops."""

    # Arithmetic
    def add(self, other): return ops.add(self, other)
    def sub(self, other): return ops.sub(self, other)
    def mul(self, other): return ops.mul(self, other)
    def div(self, other, rounding_mode=None):
        return ops.div(self, other) if rounding_mode is None else ops.divide(self, other, rounding_mode)
    def mod(self, other): return ops.mod(self, other)
    def pow(self, exponent):
        return ops.square(self) if type(exponent) is int and exponent == 2 else ops.pow(self, exponent)
    def matmul(self, other): return ops.matmul(self, other)
    def neg(self): return ops.neg(self)
    def abs(self): return ops.abs(self)
    def eq(self, other): return ops.eq(self, other)
    def ne(self, other): return ops.ne(self, other)
    def logical_not(self):
        """Where x is 0, or False; ~x is bit by bit for integers."""
        return ops.logical_not(ops.compare.truth(self))
    __add__, __sub__, __mul__, __truediv__, __mod__, __pow__, __matmul__ = add, sub, mul, div, mod, pow, matmul
    __neg__, __abs__ = neg, abs
    def __invert__(self): return ops.logical_not(self)
    def __pos__(self): return self
    dot = matmul
    def __radd__(self, other): return ops.add(other, self)
    def __rsub__(self, other): return ops.sub(other, self)
    def __rmul__(self, other): return ops.mul(other, self)
    def __rtruediv__(self, other): return ops.div(other, self)
    def __floordiv__(self, other): return ops.floordiv(self, other)
    def __rfloordiv__(self, other): return ops.floordiv(other, self)
    def __rmod__(self, other): return ops.mod(other, self)
    def __rpow__(self, other): return ops.pow(other, self)
    def __rmatmul__(self, other): return ops.matmul(other, self)
    def __eq__(self, other): return False if other is None else ops.eq(self, other)
    def __ne__(self, other): return True if other is None else ops.ne(self, other)
    def __lt__(self, other): return ops.lt(self, other)
    def __le__(self, other): return ops.le(self, other)
    def __gt__(self, other): return ops.gt(self, other)
    def __ge__(self, other): return ops.ge(self, other)
    def __and__(self, other): return ops.logical_and(self, other)
    def __or__(self, other): return ops.logical_or(self, other)
    def __xor__(self, other): return ops.logical_xor(self, other)
    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def clip(self, min_=None, max_=None):
        """x limited to [min_, max_], numbers or Tensors that broadcast."""
        for limit in min_, max_:
            if hasattr(limit, "shape") and not isinstance(limit, np.generic):
                return ops.clamp(self, min_, max_)
        return ops.clip(self, min=min_, max=max_)
    clamp = clip
    def where(self, x, y):
        """x where this boolean Tensor is True, else y; or `a.where(condition, y)`: a where the condition is True, else
        y."""
        if self._data.dtype is not BOOL and getattr(x, "dtype", None) is BOOL:  # PyTorch's order
            return ops.where(x, self, y)
        return ops.where(self, x, y)
    def lerp(self, end, weight): return ops.lerp(self, end, weight)
    def masked_fill(self, mask, value): return ops.where(mask, value, self)

    @named
    def round(self, decimals=0):
        if not decimals:
            return ops.round(self)
        scale = 10.0 ** abs(decimals)
        return ops.round(self * scale) / scale if decimals > 0 else ops.round(self / scale) * scale
    @named
    def isinf(self, detect_positive=True, detect_negative=True):
        """Where x is infinite, with either sign or only those to detect."""
        if detect_positive and detect_negative:
            return ops.isinf(self)
        return ops.isinf(self) & (ops.gt(self, 0) if detect_positive else ops.lt(self, 0) if detect_negative else False)

    # Activations
    def softplus(self, beta=1.0): return ops.softplus(self, beta=beta, threshold=math.inf)
    def softmax(self, axis=-1, dtype=None):
        return ops.softmax(self, axis=axis) if dtype is None else ops.in_dtype(ops.softmax, self, dtype, axis=axis)
    def softmin(self, axis=-1, dtype=None): return ops.in_dtype(ops.softmin, self, dtype, axis=axis)
    def log_softmax(self, axis=-1, dtype=None):
        if dtype is None:
            return ops.log_softmax(self, axis=axis)
        return ops.in_dtype(ops.log_softmax, self, dtype, axis=axis)

    # Reductions
    def sum(self, axis: Axis = None, keepdim=False, dtype=None):
        if dtype is None:
            return ops.sum(self, axis=axis, keepdim=keepdim)
        return ops.in_dtype(ops.sum, self, dtype, axis=axis, keepdim=keepdim)
    def mean(self, axis: Axis = None, keepdim=False, dtype=None):
        if dtype is None:
            return ops.mean(self, axis=axis, keepdim=keepdim)
        return ops.in_dtype(ops.mean, self, dtype, axis=axis, keepdim=keepdim)
    def var(self, *place, axis: Axis = None, keepdim=False, correction=1):
        if place:
            axis, keepdim, correction = ops.statistics.placed("var", place, axis, keepdim, correction)
        return ops.var(self, axis=axis, keepdim=keepdim, correction=correction)
    def std(self, *place, axis: Axis = None, keepdim=False, correction=1):
        if place:
            axis, keepdim, correction = ops.statistics.placed("std", place, axis, keepdim, correction)
        return ops.std(self, axis=axis, keepdim=keepdim, correction=correction)
    def prod(self, axis: Axis = None, keepdim=False, dtype=None):
        return ops.in_dtype(ops.prod, self, dtype, axis=axis, keepdim=keepdim)
    def cumsum(self, axis=0, dtype=None):
        return ops.cumsum(self, axis=axis) if dtype is None else ops.in_dtype(ops.cumsum, self, dtype, axis=axis)
    def cumprod(self, axis=0, dtype=None): return ops.in_dtype(ops.cumprod, self, dtype, axis=axis)

    # Shape
    @property
    def T(self: Any) -> Tensor:
        """The transpose of a matrix (all axes reversed)."""
        return ops.permute(self, axes=tuple(range(self.ndim))[::-1])

    @property
    def mT(self: Any) -> Tensor:
        """The last two axes swapped: the transpose of every matrix in a batch."""
        return ops.transpose(self, -1, -2)

    def reshape(self, *shape): return ops.reshape(self, shape=plain_shape(shape))
    view = reshape
    def permute(self, *axes): return ops.permute(self, axes=plain_shape(axes))
    def expand(self, *shape): return ops.expand(self, shape=plain_shape(shape))
    def repeat(self, *repeats): return ops.repeat(self, plain_shape(repeats))
    def pad(self, padding, mode="constant", value=0.0): return ops.pad(self, padding=padding, mode=mode, value=value)
    def flip(self, *axis): return ops.flip(self, axis=plain_shape(axis) if axis else None)
    def cat(self, *others, axis=0): return ops.cat(self, *others, axis=axis)
    def stack(self, *others, axis=0): return ops.stack(self, *others, axis=axis)

    # Indexing and order
    def __getitem__(self, index):
        kind = type(index)
        if (kind is int or kind is slice) and mode.listener is None and self._data.ndim:  # the usual case, faster
            y = ops.take(self, index=(index,))
        elif kind is Tensor and index._data.dtype is INT64 and mode.listener is None and self._data.ndim:
            y = ops.take(self, index=(index._data.copy(),))
        elif kind is tuple and mode.listener is None and is_basic(index):
            y = ops.take(self, index=index)
        else:
            y = ops.getitem(self, index)
        if y.version is not None:  # a view: changing it in place changes this Tensor
            y._viewed = ref(self), index  # weak: otherwise the graph of both could keep itself alive
        return y
    def gather(self, axis, index): return ops.gather(self, index, axis=axis)
    def scatter(self, axis, index, src, reduce=None):
        """src written at index, added to the values there (reduce="add"), or multiplied by them ("multiply")."""
        if reduce is None:
            return ops.scatter(self, index, src, axis=axis)
        if reduce not in ("add", "multiply"):
            raise ValueError(f"scatter: reduce must be 'add' or 'multiply', got {reduce!r}; or use scatter_reduce")
        return ops.scatter_reduce(self, index, src, axis=axis, reduce="sum" if reduce == "add" else "prod")
    def scatter_add(self, axis, index, src): return ops.scatter_add(self, index, src, axis=axis)

    # Products
    @staticmethod
    def einsum(formula: str, *operands: Any) -> Tensor:
        return ops.einsum(formula, *operands)

    def scaled_dot_product_attention(self, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                     enable_gqa=False):
        return ops.scaled_dot_product_attention(self, key, value, attn_mask, dropout_p=dropout_p, is_causal=is_causal,
                                                scale=scale, enable_gqa=enable_gqa)

    # Signals, images and volumes: the weight or the kernel_size determines the number of axes
    def conv2d(self, weight, bias=None, groups=1, stride=1, dilation=1, padding=0):
        op = {3: ops.conv1d, 5: ops.conv3d}.get(getattr(weight, "ndim", 4), ops.conv2d)
        return op(self, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    def conv_transpose2d(self, weight, bias=None, groups=1, stride=1, dilation=1, padding=0, output_padding=0):
        op = {3: ops.conv_transpose1d, 5: ops.conv_transpose3d}.get(getattr(weight, "ndim", 4), ops.conv_transpose2d)
        return op(self, weight, bias, stride=stride, padding=padding, output_padding=output_padding, groups=groups,
                  dilation=dilation)
    def max_pool2d(self, kernel_size=(2, 2), stride=None, dilation=1, padding=0, ceil_mode=False, return_indices=False):
        rank = _axes_of_windows(kernel_size)
        if not isinstance(return_indices, int):
            raise TypeError(f"max_pool2d: return_indices must be True or False, got {type(return_indices).__name__}")
        if return_indices:
            return ops.max_pool_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode, rank)
        op = {1: ops.max_pool1d, 3: ops.max_pool3d}.get(rank, ops.max_pool2d)
        return op(self, kernel_size, stride, padding, dilation, ceil_mode)
    def avg_pool2d(self, kernel_size=(2, 2), stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        op = {1: ops.avg_pool1d, 3: ops.avg_pool3d}.get(_axes_of_windows(kernel_size))
        return (op or ops.avg_pool2d)(self, kernel_size, stride, padding, ceil_mode, count_include_pad)
    def max_unpool2d(self, indices, kernel_size=(2, 2), stride=None, padding=0, output_size=None):
        rank = _axes_of_windows(kernel_size)
        return ops.max_unpool(self, indices, kernel_size, stride, padding, output_size, rank)
    def interpolate(self, size=None, mode="linear", align_corners=False, scale_factor=None):
        return ops.interpolate(self, size, scale_factor, mode, align_corners)

    # Type and copies
    def cast(self, dtype): return ops.cast(self, dtype=as_dtype(dtype, "cast"))
    def float(self): return self if self._data.dtype is FLOAT32 else ops.cast(self, dtype=FLOAT32)
    def double(self): return self if self._data.dtype is FLOAT64 else ops.cast(self, dtype=FLOAT64)
    def int(self): return ops.cast(self, dtype=np.dtype("int32"))
    def half(self): return ops.cast(self, dtype=FLOAT16)
    def bfloat16(self): return ops.cast(self, dtype=bfloat16())
    def short(self): return ops.cast(self, dtype=np.dtype("int16"))
    def long(self): return ops.cast(self, dtype=INT64)
    def bool(self): return ops.cast(self, dtype=BOOL)
    def clone(self, memory_format=None): return ops.clone(self)  # there is only one, NumPy's
    def contiguous(self, memory_format=None): return self if self._data.flags.c_contiguous else ops.contiguous(self)

    def scatter_reduce(self, axis, index, src, reduce, include_self=True):
        return ops.scatter_reduce(self, index, src, axis=axis, reduce=reduce, include_self=include_self)
    def sparse_categorical_crossentropy(self, target, ignore_index=-1, label_smoothing=0.0, reduction="mean"):
        """The cross-entropy of labels and logits, with classes on the last axis."""
        logits = ops.movement.moved(self, -1, 1) if self.ndim > 2 else self
        return ops.cross_entropy(logits, target, ignore_index=ignore_index, label_smoothing=label_smoothing,
                                 reduction=reduction)

    def sequential(self, layers):
        """x.sequential([f, g]) is g(f(x))."""
        for layer in layers:
            self = layer(self)
        return self


# Functions of one Tensor, then all others; each under its op's name, or as `name=op`.
UNARY = """
    exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal sin cos tan asin acos atan sinh cosh tanh erf sign
    floor ceil trunc isnan isfinite relu sigmoid silu swish=silu logsigmoid asinh acosh atanh
"""
OPS = """
    maximum minimum leaky_relu elu gelu max min any all argmax argmin logsumexp argsort sort topk one_hot
    transpose flatten unflatten squeeze unsqueeze repeat_interleave shrink roll split chunk unbind tril triu diagonal
    linear outer mm=matmul bmm=matmul spmm=matmul mv=matmul amax=max amin=min swapaxes=transpose
    atan2 hypot logaddexp copysign signbit fmod lshift rshift bitcast isclose allclose celu selu
    softsign mish quick_gelu hardtanh relu6 hardsigmoid hardswish cummax cummin logcumsumexp var_mean std_mean normalize
    layernorm batchnorm multinomial diag trace meshgrid rearrange masked_select nonzero dropout cross_entropy nll_loss
    qr svd cholesky cholesky_solve searchsorted inverse=inv unfold=sliding_windows
    __lshift__=lshift __rshift__=rshift bitwise_and=logical_and bitwise_or=logical_or bitwise_xor=logical_xor
    bitwise_not=logical_not frac deg2rad rad2deg nan_to_num remainder isposinf isneginf clamp_min clamp_max
    erfinv movedim moveaxis=movedim take=take_flat median inner
    kron cross vecdot lstsq true_divide=div floor_divide=floordiv positive=identity
    arctan2=atan2 arcsin=asin arccos=acos arctan=atan arcsinh=asinh arccosh=acosh arctanh=atanh argwhere=nonzero
    binary_crossentropy=binary_cross_entropy binary_crossentropy_logits=binary_cross_entropy_with_logits
"""


def complete() -> None:
    """Install the methods of these tables on Tensor, once the ops exist, and copy the ops' docstrings to all
    methods."""
    for make, table in (_unary, UNARY), (_method, OPS):
        for entry in table.split():
            name, _, other = entry.partition("=")
            op = getattr(ops, other or name, None) or getattr(ops.linalg, other or name)
            method = make(op)
            method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", op.__doc__
            setattr(Methods, name, method)
    for name, method in vars(Methods).items():
        if inspect.isfunction(method) and not method.__doc__ and hasattr(ops, name):
            method.__doc__ = getattr(ops, name).__doc__


def _unary(op: Any) -> Any:
    def method(self):
        return op(self)

    return method


def _method(op: Any) -> Any:
    @functools.wraps(op, updated=())
    def method(*inputs, **options):
        return op(*inputs, **options)

    return method
