"""Convolution (7.48-7.51; 004): every output pixel is the same linear function of the input patch around it.

As a matrix product: `unfold` turns each patch into a column (im2col), and the weights multiply the columns. The
functions below do just that; kernels compute the same without building the columns.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import fresh, primitive
from ..core.tensor import Tensor
from ..errors import checked
from ..rings import replaceable
from .axes import each
from .composite import composite
from .contracts import fits
from .elementwise import add
from .matmul import matmul
from .padding import pad
from .parts import put, surrounded
from .reduce import sum_over
from .shape import expand, reshape, transpose

# Geometry -------------------------------------------------------------------------------------------------------------


def margins_of(who: str, padding, kernel, stride, dilation) -> tuple[tuple[int, ...], ...]:
    """(before, after) per axis, for a padding that is a number, a number per axis, "valid", "same", or such pairs."""
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding == "same":
        if set(stride) != {1}:
            raise ValueError(f'{who}: padding="same" needs stride 1, got stride {stride}; give the padding in numbers')
        totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return tuple((total // 2, total - total // 2) for total in totals)
    if isinstance(padding, str):
        raise ValueError(f'{who}: padding must be numbers, "same" or "valid", got {padding!r}')
    if np.ndim(padding) == 2:
        return tuple([each(who, "padding", margins, 2, 0) for margins in padding])
    return tuple([(n, n) for n in each(who, "padding", padding, len(kernel), 0)])


def geometry(who: str, size, kernel, stride, padding, dilation):
    """Kernel, stride, margins and dilation in full, and the output size, for inputs of this size along 1 to 3 axes."""
    kernel, stride, dilation = (each(who, name, value, len(size), 1) for name, value in (
        ("kernel_size", kernel), ("stride", stride), ("dilation", dilation)))
    margins = margins_of(who, padding, kernel, stride, dilation)
    if min(out := _output_size(size, kernel, stride, margins, dilation)) < 1:
        padded = _times([n + sum(m) for n, m in zip(size, margins, strict=True)])
        reach = _times([d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)])
        dilated = f", {reach} with its dilation," if max(dilation) > 1 else ""
        raise ValueError(f"{who}: the kernel {_times(kernel)}{dilated} is larger than the padded input {padded}; pad "
                         "more or use a smaller kernel")
    return kernel, stride, margins, dilation, out


def _output_size(size, kernel, stride, margins, dilation) -> tuple[int, ...]:
    """floor((in + margins - dilation (kernel - 1) - 1) / stride) + 1 pixels along each axis (004)."""
    return tuple([(n + sum(m) - d * (k - 1) - 1) // s + 1
                  for n, k, s, m, d in zip(size, kernel, stride, margins, dilation, strict=True)])


def _times(sizes) -> str:
    return " x ".join(map(str, sizes))


# Unfold and fold: patches to columns and back -------------------------------------------------------------------------


@primitive
def unfold(x, *, kernel_size, dilation=1, padding=0, stride=1):
    """Every patch as a column (im2col): x (batch, channels, height, width) -> (batch, channels * kh * kw, patches).

    out[n, (c, kh, kw), (i, j)] = x_padded[n, c, i stride + kh dilation, j stride + kw dilation]

    Raises ValueError if the kernel is larger than the padded input.
    """
    kernel, stride, margins, dilation, out = geometry("unfold", x.shape[2:], kernel_size, stride, padding, dilation)
    (top, bottom), (left, right) = margins
    padded = np.ascontiguousarray(x)
    if top or bottom or left or right:  # faster than np.pad for small images
        padded = surrounded(x, (*x.shape[:2], x.shape[2] + top + bottom, x.shape[3] + left + right),
                            (..., slice(top, top + x.shape[2]), slice(left, left + x.shape[3])), 0.0)
    n, c, h, w = padded.strides
    strides = n, c, h * dilation[0], w * dilation[1], h * stride[0], w * stride[1]
    patches = np.ndarray((*x.shape[:2], *kernel, *out), x.dtype, padded, 0, strides)
    columns = np.empty((x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)), x.dtype)
    columns.reshape(patches.shape)[...] = patches  # reshape might give a view, in which patches share memory
    return columns


unfold.requires(fits("any x (batch, channels, height, width)"))


@primitive
def fold(x, *, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The adjoint of unfold: every column is added to the image where its patch was (col2im).

    x (batch, channels * kh * kw, patches) -> (batch, channels, *output_size). Raises ValueError unless x has the rows
    and patches that the sizes imply.
    """
    size = each("fold", "output_size", output_size, 2, 0)
    kernel, stride, margins, dilation, out = geometry("fold", size, kernel_size, stride, padding, dilation)
    taps = math.prod(kernel)
    if x.ndim != 3 or x.shape[1] % taps or x.shape[2] != math.prod(out):
        raise ValueError(f"fold: takes (batch, channels * {taps}, {math.prod(out)}) for kernel {kernel} and "
                         f"{out[0]} x {out[1]} patches, got shape {x.shape}")
    columns = x.reshape(x.shape[0], x.shape[1] // taps, *kernel, *out)
    image = np.zeros((*columns.shape[:2], *(n + sum(m) for n, m in zip(size, margins, strict=True))), x.dtype)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            image[:, :, top : top + out[0] * stride[0] : stride[0],
                  left : left + out[1] * stride[1] : stride[1]] += columns[:, :, i, j]  # fmt: skip
    (top, _), (left, _) = margins
    return np.ascontiguousarray(image[:, :, top : top + size[0], left : left + size[1]])


unfold.vjp(x=lambda g, x_shape, kernel_size, dilation, padding, stride: fold(
    g, output_size=x_shape[2:], kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride))
fold.vjp(x=lambda g, kernel_size, dilation, padding, stride: unfold(
    g, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride))


# Convolution ----------------------------------------------------------------------------------------------------------


@replaceable
def correlation(x, weight, bias, stride, margins, dilation, groups):
    """The weights of each output channel as a row, times the patches as columns, per group of channels."""
    out = _output_size(x.shape[2:], weight.shape[2:], stride, margins, dilation)
    columns = unfold(x, kernel_size=weight.shape[2:], dilation=dilation, padding=margins, stride=stride)
    taps = math.prod(weight.shape[1:])
    columns = reshape(columns, shape=(x.shape[0], groups, taps, math.prod(out)))
    rows = reshape(weight, shape=(groups, weight.shape[0] // groups, taps))
    y = reshape(matmul(rows, columns), shape=(x.shape[0], weight.shape[0], *out))
    return y if bias is None else add(y, reshape(bias, shape=(-1, 1, 1)))


@replaceable
def input_gradient(g, weight, shape, stride, margins, dilation, groups):
    """The adjoint of `correlation` with respect to its images, of this shape: g's pixels times the weights, folded."""
    taps = math.prod(weight.shape[1:])
    rows = transpose(reshape(weight, shape=(groups, weight.shape[0] // groups, taps)), 1, 2)
    pixels = reshape(g, shape=(g.shape[0], groups, g.shape[1] // groups, math.prod(g.shape[2:])))
    columns = reshape(matmul(rows, pixels), shape=(g.shape[0], groups * taps, pixels.shape[3]))
    return fold(columns, output_size=shape[2:], kernel_size=weight.shape[2:], dilation=dilation, padding=margins,
                stride=stride)


@replaceable
def weight_gradient(g, x, shape, stride, margins, dilation, groups):
    """The adjoint of `correlation` with respect to its weights, of this shape: g's pixels times what each tap saw."""
    columns = unfold(x, kernel_size=shape[2:], dilation=dilation, padding=margins, stride=stride)
    pixels = columns.shape[2]
    columns = reshape(columns, shape=(x.shape[0], groups, math.prod(shape[1:]), pixels))
    rows = reshape(g, shape=(x.shape[0], groups, shape[0] // groups, pixels))
    return reshape(sum_over(matmul(rows, transpose(columns, 2, 3)), (0,), False), shape=shape)


# The three sums as ops: any two of images, weights and pixels determine the cotangent of the third.
@primitive
def correlate(x, weight, *, stride, margins, dilation, groups):
    """`conv2d` with normalised arguments: margins are ((top, bottom), (left, right))."""
    return correlation(x, weight, None, stride, margins, dilation, groups)


@primitive
def conv2d_input(pixels, weight, *, shape, stride, margins, dilation, groups):
    """The adjoint of `correlate` in its images: every pixel adds its value times the weights to the patch it saw.

    pixels (batch, out, height', width'), weight (out, in / groups, kh, kw) -> shape (batch, in, height, width).
    """
    return input_gradient(pixels, weight, shape, stride, margins, dilation, groups)


@primitive
def conv2d_weight(pixels, x, *, shape, stride, margins, dilation, groups):
    """The adjoint of `correlate` in its weights: out[i, j, a] = sum_(n, p) pixels[n, i, p] x~[n, j, s p + d a].

    pixels (batch, out, height', width'), x (batch, in, height, width) -> shape (out, in / groups, kh, kw).
    """
    return weight_gradient(pixels, x, shape, stride, margins, dilation, groups)


@fresh
def _as_images(g, weight, x_shape, stride, margins, dilation, groups):
    return conv2d_input(g, weight, shape=x_shape, stride=stride, margins=margins, dilation=dilation, groups=groups)


@fresh
def _as_weights(g, x, weight_shape, stride, margins, dilation, groups):
    return conv2d_weight(g, x, shape=weight_shape, stride=stride, margins=margins, dilation=dilation, groups=groups)


correlate.vjp(x=_as_images, weight=_as_weights)
conv2d_input.vjp(
    pixels=fresh(lambda g, weight, stride, margins, dilation, groups: correlate(
        g, weight, stride=stride, margins=margins, dilation=dilation, groups=groups)),
    weight=fresh(lambda g, pixels, weight_shape, stride, margins, dilation, groups: _as_weights(
        pixels, g, weight_shape, stride, margins, dilation, groups)))
conv2d_weight.vjp(
    pixels=fresh(lambda g, x, stride, margins, dilation, groups: correlate(
        x, g, stride=stride, margins=margins, dilation=dilation, groups=groups)),
    x=fresh(lambda g, pixels, x_shape, stride, margins, dilation, groups: _as_images(
        pixels, g, x_shape, stride, margins, dilation, groups)))


@composite
def conv2d(x, weight, bias=None, *, stride=1, padding=0, dilation=1, groups=1):
    """out[n, i] = bias_i + sum_j weight[i, j] * x[n, j], with * the cross-correlation of images (7.51).

    x (batch, in, height, width), weight (out, in / groups, kh, kw), bias (out) -> (batch, out, height', width') with
    height' = floor((height + 2 padding - dilation (kh - 1) - 1) / stride) + 1 (004). The batch axis may be missing.

    stride, dilation, padding: a number, or one for each axis; padding also "valid" (none) or "same" (for stride 1).
    groups: output channels see only the input channels of their group; groups = in is a depthwise convolution.

    Raises ValueError if channels, groups and shapes do not fit, or the kernel is larger than the padded input.
    """
    stride, margins, dilation = geometry("conv2d", x.shape[2:], weight.shape[2:], stride, padding, dilation)[1:4]
    return plus(correlate(x, weight, stride=stride, margins=margins, dilation=dilation, groups=groups), bias)


conv2d.requires(fits("weight (groups*out, in, kh, kw), x (batch, groups*in, height, width), bias? (groups*out)",
                     nonempty="in out"))


def plus(y, bias):
    return y if bias is None else y + reshape(bias, shape=(-1, *[1] * (y.ndim - 2)))


@checked
def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """out[n, i] = bias_i + sum_j weight[i, j] * x[n, j], with * the cross-correlation of vectors (7.48, 7.50).

    x (batch, in, length), weight (out, in / groups, k), bias (out) -> (batch, out, length'). Otherwise as conv2d.
    """
    if x.ndim == 2:
        return of_one(conv1d, x, weight, bias, stride, padding, dilation, groups)
    stride, margins, dilation = geometry("conv1d", x.shape[2:], weight.shape[2:], stride, padding, dilation)[1:4]
    y = conv2d(_row(x), _row(weight), bias, stride=(1, *stride), padding=((0, 0), *margins), dilation=(1, *dilation),
               groups=groups)
    return reshape(y, shape=(*y.shape[:2], y.shape[3]))


conv1d.requires(fits("weight (groups*out, in, k), x (batch, groups*in, length) or (groups*in, length), "
                     "bias? (groups*out)"))


def of_one(op, x, *others):
    """The result of an op on batches for a single x, without a batch axis."""
    y = op(reshape(x, shape=(1, *x.shape)), *others)
    return reshape(y, shape=y.shape[1:])


def _row(x):
    """(a, b, length) as images of one row."""
    return reshape(x, shape=(*x.shape[:2], 1, x.shape[2]))


@checked
def conv_matrix(weight, length: int):
    """The matrix Q of (7.49), with conv1d(z, weight) = Q z for one channel of this length and "same" padding.

    weight (2 l + 1) -> (length, length + 2 l) with Q[i, i + j] = weight[j], for the padded z. Every row has the same
    weights: m numbers instead of m^2. For teaching: convolutions never build it.
    """
    k = weight.shape[0]
    row = np.arange(length)[:, None]
    return put(expand(weight, shape=(length, k)), shape=(length, length + k - 1), index=(row, row + np.arange(k)))


# Transposed convolution -----------------------------------------------------------------------------------------------


@composite
def conv_transpose2d(x, weight, bias=None, *, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv2d, plus a bias. It maps back to conv2d's input size, so images grow.

    x (batch, in, height, width), weight (in, out / groups, kh, kw), bias (out) -> (batch, out, height', width') with
    height' = (height - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1.

    output_padding: rows and columns to add, fewer than stride or dilation; it selects among the input sizes for which
    conv2d has the same output size. Raises ValueError if channels, groups and shapes do not fit.
    """
    how, beyond = transposed(x.shape, weight.shape, stride, padding, output_padding, groups, dilation)
    return plus(enlarged(conv2d_input(x, weight, **how), beyond), bias)


conv_transpose2d.requires(fits(
    "weight (groups*in, out, kh, kw), x (batch, groups*in, height, width), bias? (groups*out)",
    nonempty="in out height width kh kw"))


@checked
def conv_transpose1d(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> Tensor:
    """conv_transpose2d of vectors: x (batch, in, length), weight (in, out / groups, k) -> (batch, out, length')."""
    if x.ndim == 2:
        return of_one(conv_transpose1d, x, weight, bias, stride, padding, output_padding, groups, dilation)
    how, beyond = transposed(x.shape, weight.shape, stride, padding, output_padding, groups, dilation)
    batch, channels, length = how["shape"]
    y = conv2d_input(_row(x), _row(weight), shape=(batch, channels, 1, length), stride=(1, *how["stride"]),
                     margins=((0, 0), *how["margins"]), dilation=(1, *how["dilation"]), groups=groups)
    return plus(enlarged(reshape(y, shape=how["shape"]), beyond), bias)


conv_transpose1d.requires(fits("weight (groups*in, out, k), x (batch, groups*in, length) or (groups*in, length), "
                               "bias? (groups*out)"))


# What must hold -------------------------------------------------------------------------------------------------------


def transposed(shape, of_weight, stride, padding, output_padding, groups, dilation):
    """The options of `conv2d_input`, of any rank, and how many rows and columns to append that no input pixel reaches.

    output_padding reduces the padding at the end; where that falls below 0, rows and columns of zeros are appended.
    """
    kernel, rank = of_weight[2:], len(of_weight) - 2
    who = f"conv_transpose{rank}d"
    stride, dilation, extra = (each(who, name, value, rank, least) for name, value, least in (
        ("stride", stride, 1), ("dilation", dilation, 1), ("output_padding", output_padding, 0)))
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise ValueError(f"{who}: output_padding {extra} must be less than stride {stride} or dilation {dilation}")
    margins = margins_of(who, padding, kernel, stride, dilation)
    more = [max(e - s + 1, 0) for e, s in zip(extra, stride, strict=True)]
    beyond = [0] * rank
    if any(more):
        extra = tuple([e - n for e, n in zip(extra, more, strict=True)])
        beyond = [max(n - end, 0) for n, (_, end) in zip(more, margins, strict=True)]
        margins = tuple([(start, max(end - n, 0)) for n, (start, end) in zip(more, margins, strict=True)])
    size = tuple((n - 1) * s - sum(m) + d * (k - 1) + e + 1 for n, s, m, d, k, e in
                 zip(shape[2:], stride, margins, dilation, kernel, extra, strict=True))  # fmt: skip
    if min(size) < 1:
        raise ValueError(f"{who}: the output would be {_times(size)} (input {shape}, weight {of_weight}, "
                         f"stride {stride}, padding {padding}); pad less")
    return {"shape": (shape[0], of_weight[1] * groups, *size), "stride": stride, "margins": margins,
            "dilation": dilation, "groups": groups}, beyond


def enlarged(y, beyond):
    """y with this many zeros appended to its last axes."""
    return pad(y, padding=tuple([n for after in reversed(beyond) for n in (0, after)])) if any(beyond) else y


@conv_matrix.requires
def _(weight):
    if weight.ndim != 1 or weight.shape[0] % 2 == 0:
        return f"takes a vector of an odd number of weights, got shape {weight.shape}"
