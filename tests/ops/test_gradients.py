"""First- and second-order gradients of every op, with random directions and cotangents: one line per op and domain."""

import numpy as np
import pytest

from tinygrad_like import Tensor, detect_anomaly, linalg, ops, random
from tinygrad_like.core.dispatch import declared
from tinygrad_like.ops.activation import SELU_ALPHA, SELU_SCALE, keep_positive
from tinygrad_like.ops.attention import thin_out
from tinygrad_like.ops.cotangents import Scattered
from tinygrad_like.ops.dropout import drop
from tinygrad_like.ops.grid import products_at, spread_at, sums_at
from tinygrad_like.ops.interpolate import Taps, resample_back
from tinygrad_like.ops.scan import cumprod_vjp, other_products
from tinygrad_like.ops.scatter import take_last
from tinygrad_like.ops.softmax import log_softmax_vjp, logsumexp_vjp, softmax_vjp
from tinygrad_like.transforms.gradcheck import gradcheck, gradgradcheck
from tinygrad_like.transforms.switches import after

rng = np.random.default_rng(7)


def real(*shape):
    """Values away from 0, where |x|, relu and the like have a kink."""
    x = rng.standard_normal(shape)
    return np.where(np.abs(x) < 0.1, x + 0.2 * np.sign(x) + 0.01, x)


def positive(*shape):
    return rng.uniform(0.3, 2.0, shape)


def unit(*shape):
    return rng.uniform(-0.9, 0.9, shape)


def distinct(*shape):
    """Values at least 0.1 apart, so that the order does not change under the checker's small steps."""
    return (rng.permutation(int(np.prod(shape))) * 0.1 - 0.7).reshape(shape)


def square_vectors(results):
    """Without the signs of vectors, which are arbitrary."""
    return tuple(y * y for y in results)


MASK = rng.random((3, 4)) < 0.5
SEEN = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]], bool)
ANGLES = rng.standard_normal((3, 2))
LABELS = Tensor(np.array([2, 0, 3]))
PIXELS = Tensor(np.array([[[0, 2], [1, 1]], [[2, 0], [0, -100]]]))
PROBABILITIES = rng.dirichlet(np.ones(4), 3)
WINDOWS = ops.pool.Axis(1, 1, 0, 1, 2), ops.pool.Axis(2, 2, 0, 1, 3)  # the last window reaches beyond 5 columns
TO = np.array([[0, 2, 1], [0, 0, 1], [0, 2, 1], [1, 2, 2]])
TAPS = np.array([[0, 1, 0], [1, 1, 0]], np.uint8)
UNARY = {
    "real": "neg square exp exp2 expm1 sin cos tan atan sinh cosh erf abs relu sigmoid tanh silu gelu softplus "
            "logsigmoid elu celu selu softsign quick_gelu mish hardsigmoid hardswish relu6 leaky_relu asinh cumprod "
            "logcumsumexp softmax log_softmax clone contiguous identity",
    "positive": "log log2 log10 log1p sqrt rsqrt reciprocal",
    "unit": "asin acos atanh",
}

NEIGHBOURS = Taps(4, np.array([[0, 1], [1, 1], [3, 0]]), np.array([[0.5, 0.25], [1.0, -1.5], [2.0, 0.75]]))
LIMITS = np.array([0, np.inf, -np.inf, np.nan])
CASES = {
    # elementwise, with every way to broadcast
    "add": (ops.add, real(3, 4), real(3, 4)),
    "add row": (ops.add, real(3, 4), real(4)),
    "sub column": (ops.sub, real(3, 4), real(3, 1)),
    "mul outer": (ops.mul, real(3, 1), real(1, 4)),
    "mul 0-d": (ops.mul, real(3, 4), real()),
    "mul scalar": (lambda x: 2.5 * x, real(3, 4)),
    "mul itself": (lambda x: x * x * x, real(3)),
    "div": (ops.div, real(3, 4), positive(4)),
    "div by": (lambda x: 1 / x, positive(4)),
    "pow": (ops.pow, positive(3, 4), real(3, 4)),
    "pow 3": (lambda x: x**3, real(5)),
    "pow 2.5": (lambda x: x**2.5, positive(5)),
    "pow of 2": (lambda x: 2**x, real(5)),
    "maximum": (ops.maximum, distinct(3, 4), distinct(3, 4) + 0.05),
    "minimum row": (ops.minimum, distinct(3, 4), distinct(4) + 0.05),
    "clip": (lambda x: ops.clip(x, min=-0.35, max=0.25), distinct(3, 4) + 0.03),
    "where": (lambda a, b: ops.where(MASK, a, b), real(3, 4), real(4)),
    "masked_fill": (lambda x: x.masked_fill(MASK, 3.0), real(3, 4)),
    "mod": (ops.mod, real(5), positive(5) + 3),
    "floor": (lambda x: x.floor() * x, real(5) + 0.33),
    "sign": (lambda x: x.sign() * x, real(5)),
    "lerp": (lambda a, b: a.lerp(b, 0.3), real(4), real(4)),
    "cast": (lambda x: x.cast("float64") * x, real(4)),
    "gelu tanh": (lambda x: ops.gelu(x, approximate="tanh"), real(3, 4)),
    "softplus beta": (lambda x: ops.softplus(x, beta=2.5), real(3, 4)),
    "elu alpha": (lambda x: ops.elu(x, alpha=0.7), real(3, 4)),
    "celu alpha": (lambda x: ops.celu(x, 0.7), real(3, 4)),
    "hardtanh": (lambda x: ops.hardtanh(x, min_val=-0.35, max_val=0.25), distinct(3, 4) + 0.03),
    "acosh": (ops.acosh, positive(3, 4) + 1),
    "hypot": (ops.hypot, real(3, 4), real(4)),
    "hypot at 0": (lambda x: ops.hypot(x, 0 * x) * x, real(3)),
    "atan2": (ops.atan2, real(3, 4), real(3, 1)),
    "logaddexp": (ops.logaddexp, real(3, 4), real(4)),
    "copysign": (lambda x: ops.copysign(x, np.array([-1.0, 2, -0.0, 0])) * x, real(3, 4)),
    "fmod": (ops.fmod, real(5), positive(5) + 3),
    "div rounded": (lambda a, b: a.div(b, rounding_mode="trunc") * a, real(5) + 7, positive(5)),
    "clamp": (ops.clamp, distinct(3, 4), distinct(4) - 0.72, distinct(3, 1) + 0.78),
    "clamp from above": (lambda x, high: x.clip(max_=high), distinct(3, 4), distinct(4) + 0.05),
    "leaky slope": (lambda x: ops.leaky_relu(x, negative_slope=0.3), real(3, 4)),
    "keep_positive": (ops.activation.keep_positive, real(4), real(4)),
    "softmax_vjp": (softmax_vjp, real(3, 4), real(3, 4)),
    "log_softmax_vjp": (lambda g, x: log_softmax_vjp(g, x, axis=0), real(3, 4), real(3, 4)),
    "glu": (ops.glu, real(3, 6)),
    "swiglu": (lambda x: ops.swiglu(x, axis=0), real(4, 3)),
    # reductions
    "sum": (lambda x: x.sum(), real(3, 4)),
    "sum axis": (lambda x: x.sum(axis=1), real(2, 3, 4)),
    "sum axes keepdim": (lambda x: x.sum(axis=(0, -1), keepdim=True), real(2, 3, 4)),
    "spread": (lambda x: ops.reduce.spread(x, shape=(2, 3, 4), axis=(0, 2)), real(3)),
    "mean": (lambda x: x.mean(axis=0), real(3, 4)),
    "var": (lambda x: x.var(axis=1), real(3, 4)),
    "var population": (lambda x: x.var(correction=0, keepdim=True), real(3, 4)),
    "std": (lambda x: x.std(axis=0), real(3, 4)),
    "norm": (lambda x: x.norm(axis=1), real(3, 4)),
    "max": (lambda x: x.max(axis=1), distinct(3, 4)),
    "max all": (lambda x: x.max(), distinct(3, 4)),
    "min": (lambda x: x.min(axis=(0, 1), keepdim=True), distinct(2, 3, 4)),
    "prod": (lambda x: x.prod(axis=1), real(3, 5)),
    "prod all": (lambda x: x.prod(), real(2, 3)),
    "prod axes": (lambda x: x.prod(axis=(2, 0), keepdim=True), real(2, 3, 2)),
    "prod with a zero": (lambda x: x.prod(axis=1), np.array([[0.0, 2, 3], [1, 2, 3]])),
    "prod with two zeros": (lambda x: x.prod(axis=1), np.array([[0.0, 0, 3], [0, 2, 0]])),
    "sum in float64": (lambda x: x.sum(axis=0, dtype="float64"), real(3, 4)),
    "var_mean": (lambda x: x.var_mean(axis=1), real(3, 4)),
    "std_mean": (lambda x: x.std_mean(correction=0), real(3, 4)),
    "normalize": (lambda x: x.normalize(p=3.0, axis=-1), real(3, 4)),
    "layernorm over axes": (lambda x: x.layernorm(axis=(0, 2)), real(2, 3, 4)),
    "batchnorm": (lambda x, w, b, m, s: x.batchnorm(w, b, m, s), real(4, 3, 2), real(3), real(3), real(3), positive(3)),
    "softmin": (lambda x: x.softmin(axis=0), real(3, 4)),
    "cumprod with zeros": (lambda x: x.cumprod(axis=1), np.array([[2.0, 0, 3, 4], [0, 5, 0, 2], [1, 2, 3, 4]])),
    "cumprod axis": (lambda x: ops.cumprod(x, axis=-2), real(2, 3, 4)),
    "logcumsumexp axis": (lambda x: x.logcumsumexp(axis=1), 3 * real(3, 4)),
    "recurrence": (lambda x, a: ops.recurrence(x, a, axis=1), real(3, 4), real(3, 4)),
    "recurrence reversed": (lambda x, a: ops.recurrence(x, a, reverse=True), real(4, 2), real(4, 2)),
    "cummax": (lambda x: x.cummax(axis=1)[0], distinct(3, 4)),
    "cummin": (lambda x: x.cummin()[0], distinct(3, 4)),
    "cumsum": (lambda x: x.cumsum(axis=1), real(3, 4)),
    "logsumexp": (lambda x: x.logsumexp(axis=1), real(3, 4)),
    "logsumexp all": (lambda x: x.logsumexp(keepdim=True), real(3, 4)),
    "softmax axis": (lambda x: x.softmax(axis=0), real(3, 4)),
    # shape
    "reshape": (lambda x: x.reshape(2, -1), real(3, 4)),
    "permute": (lambda x: x.permute(2, 0, 1), real(2, 3, 4)),
    "transpose": (lambda x: x.transpose(0, -1), real(2, 3, 4)),
    "T": (lambda x: x.T, real(3, 4)),
    "expand": (lambda x: x.expand(2, -1, 4), real(3, 1)),
    "flatten": (lambda x: x.flatten(1), real(2, 3, 4)),
    "unflatten": (lambda x: x.unflatten(1, (2, -1)), real(2, 6)),
    "squeeze": (lambda x: x.squeeze(1), real(2, 1, 3)),
    "unsqueeze": (lambda x: x.unsqueeze(-1), real(2, 3)),
    "flip": (lambda x: x.flip(0), real(3, 4)),
    "flip all": (lambda x: x.flip(), real(3, 4)),
    "roll": (lambda x: x.roll(1, 0), real(3, 4)),
    "roll axes": (lambda x: x.roll((1, -2), (0, 1)), real(3, 4)),
    "roll flat": (lambda x: x.roll(5), real(3, 4)),
    "tril": (lambda x: x.tril(-1), real(3, 4)),
    "triu": (lambda x: x.triu(1), real(2, 3, 4)),
    "diagonal": (lambda x: x.diagonal(1), real(3, 4)),
    "diagonal of a batch": (lambda x: x.diagonal(-1, axis1=2, axis2=0), real(3, 2, 4)),
    "diag": (lambda x: x.diag(-1), real(3)),
    "trace": (lambda x: x.trace(), real(3, 4)),
    "sliding windows": (lambda x: x.unfold(1, 3, 2), real(2, 7, 2)),
    "meshgrid": (lambda x, y: x.meshgrid(y, indexing="xy"), real(3), real(2)),
    "rearrange": (lambda x: x.rearrange("b (h w) ... -> (b w) 1 ... h", h=2), real(2, 6, 3)),
    "cat": (lambda a, b: a.cat(b, axis=1), real(3, 4), real(3, 2)),
    "cat itself": (lambda a: a.cat(a, axis=-1), real(3, 4)),
    "stack": (lambda a, b: a.stack(b, axis=-1), real(3, 4), real(3, 4)),
    "split": (lambda x: x.split([1, 3], axis=1), real(3, 4)),
    "chunk": (lambda x: x.chunk(2, axis=1), real(3, 5)),
    "unbind": (lambda x: x.unbind(0), real(3, 4)),
    "repeat": (lambda x: x.repeat(2, 3, 1), real(2, 3)),
    "repeat_interleave": (lambda x: x.repeat_interleave(3, 1), real(2, 3)),
    "repeat_interleave each": (lambda x: x.repeat_interleave([2, 0, 1], 1), real(2, 3)),
    "pad and cut": (lambda x: x.pad((2, -1, -1, 1), mode="reflect"), real(3, 4)),
    "pad and cut, circular": (lambda x: x.pad((-1, 2), mode="circular"), real(3, 4)),
    "shrink": (lambda x: x.shrink(((1, 3), None)), real(3, 4)),
    "pad constant": (lambda x: x.pad((1, 2, 0, 1), value=3.0), real(3, 4)),
    "pad reflect": (lambda x: x.pad((2, 1), mode="reflect"), real(3, 4)),
    "pad replicate": (lambda x: x.pad(((1, 2), (0, 3)), mode="replicate"), real(3, 4)),
    "pad circular": (lambda x: x.pad((2, 1), mode="circular"), real(3, 4)),
    "surround": (lambda x: ops.parts.surround(x, shape=(5,), index=(slice(1, 4),), value=2.0), real(3)),
    # indexing and order
    "index int": (lambda x: x[1], real(3, 4)),
    "index slices": (lambda x: x[::-2, 1:], real(4, 5)),
    "index None and ...": (lambda x: x[None, ..., 2], real(3, 4)),
    "index array": (lambda x: x[[0, 2, 0]], real(3, 4)),
    "index mixed": (lambda x: x[:, [0, 0, 2], None, 1:], real(3, 4, 3)),
    "index pairs": (lambda x: x[np.array([[0], [2]]), np.array([1, 3])], real(3, 4)),
    "index mask": (lambda x: x[MASK], real(3, 4)),
    "index Tensor": (lambda x: x[LABELS.data % 3], real(3, 4)),
    "put": (lambda x: ops.parts.put(x, shape=(4,), index=(np.array([0, 2, 0]),)), real(3)),
    "gather": (lambda x: x.gather(1, [[0, 0], [3, 1], [2, 2]]), real(3, 4)),
    "scatter": (lambda x, s: x.scatter(1, [[0, 0], [3, 1]], s), real(3, 4), real(2, 2)),
    "scatter_add": (lambda x, s: x.scatter_add(0, [[0, 0], [0, 1]], s), real(3, 4), real(2, 2)),
    "scatter, larger source": (lambda x, s: x.scatter(1, [[0, 0], [3, 1]], s), real(3, 4), real(3, 3)),
    "scatter added": (lambda x, s: x.scatter(1, [[0, 0], [3, 1]], s, reduce="add"), real(3, 4), real(2, 2)),
    **{f"scatter_reduce {how}{', alone' * (not include)}": (
        lambda x, s, how=how, include=include: x.scatter_reduce(0, TO, s, how, include), distinct(3, 4),
        distinct(4, 3) + 0.05) for how in ("sum", "prod", "mean", "amax", "amin") for include in (True, False)},
    "scatter_reduce prod with zeros": (lambda x, s: x.scatter_reduce(0, TO, s, "prod"), real(3, 4),
                                       real(4, 3) * (rng.random((4, 3)) < 0.5)),
    "masked_select": (lambda x: x.masked_select(MASK[0]), real(3, 4)),
    "sort": (lambda x: x.sort(axis=1, descending=True)[0], distinct(3, 4)),
    "topk": (lambda x: x.topk(2, axis=0, largest=False)[0], distinct(3, 4)),
    # products
    "matmul": (ops.matmul, real(3, 4), real(4, 2)),
    "matmul vectors": (ops.matmul, real(4), real(4)),
    "matmul row": (ops.matmul, real(4), real(2, 4, 3)),
    "matmul column": (ops.matmul, real(2, 3, 4), real(4)),
    "matmul batched": (ops.matmul, real(2, 3, 4), real(2, 4, 2)),
    "matmul broadcast": (ops.matmul, real(2, 1, 3, 4), real(3, 4, 2)),
    "matmul tall": (ops.matmul, real(2, 3, 4), real(4, 2)),
    "outer": (ops.outer, real(3), real(2)),
    "linear": (ops.linear, real(5, 4), real(3, 4), real(3)),
    "linear without bias": (ops.linear, real(5, 4), real(3, 4)),
    "linear over axes": (ops.linear, real(2, 3, 4), real(3, 4), real(3)),
    "linear on a vector": (ops.linear, real(4), real(3, 4), real(3)),
    "einsum product": (lambda a, b: Tensor.einsum("ij,jk->ik", a, b), real(3, 4), real(4, 2)),
    "einsum attention": (lambda q, k: Tensor.einsum("bqhd,bkhd->bhqk", q, k), real(2, 3, 2, 4), real(2, 2, 2, 4)),
    "einsum three": (lambda a, b, c: Tensor.einsum("ij,jk,kl", a, b, c), real(2, 3), real(3, 2), real(2, 4)),
    "einsum trace": (lambda a: Tensor.einsum("bii->b", a), real(2, 3, 3)),
    "einsum ellipsis": (lambda a, b: Tensor.einsum("...ij,j->...i", a, b), real(2, 3, 4), real(4)),
    "einsum hadamard": (lambda a, b: Tensor.einsum("ij,ij->ij", a, b), real(3, 4), real(3, 4)),
    # linear algebra
    "solve": (linalg.solve, real(2, 3, 3), real(2, 3, 2)),
    "solve a vector": (linalg.solve, real(3, 3), real(3)),
    "solve for several matrices": (linalg.solve, real(2, 3, 3), real(3, 2)),
    "inv": (linalg.inv, real(2, 3, 3)),
    "det": (linalg.det, real(2, 3, 3)),
    "det of singular matrices": (linalg.det, np.array([[[1.0, 2, 3], [2, 4, 6], [1, 0, 1]], np.diag([1.0, 0, 0])])),
    "slogdet": (linalg.slogdet, real(2, 3, 3)),
    "cholesky": (lambda x: linalg.cholesky(x @ x.mT + np.eye(3)), real(2, 3, 3)),
    "cholesky upper": (lambda x: linalg.cholesky(x @ x.mT + np.eye(3), upper=True), real(3, 3)),
    "qr": (linalg.qr, real(2, 4, 3)),
    "qr of wide matrices": (linalg.qr, real(2, 3, 4)),
    "eigh": (lambda x: square_vectors(linalg.eigh(x + x.mT)), real(2, 4, 4)),
    "svd": (lambda x: square_vectors(linalg.svd(x, full_matrices=False)), real(2, 4, 3)),
    "svd of wide matrices": (lambda x: square_vectors(linalg.svd(x, full_matrices=False)), real(3, 4)),
    "svdvals": (linalg.svdvals, real(3, 3)),
    "vector_norm": (lambda x: linalg.vector_norm(x, 2.5, axis=1), real(3, 4)),
    "vector_norm of negative order": (lambda x: linalg.vector_norm(x, -1.5), real(3, 4)),
    "linalg.norm": (linalg.norm, real(3, 2)),
    "linalg.norm of a matrix": (lambda x: linalg.norm(x, 1), distinct(3, 2)),
    "linalg.norm of vectors": (lambda x: linalg.norm(x, 3, axis=1, keepdim=True), real(3, 2)),
    "matrix_norm": (lambda x: linalg.matrix_norm(x, "nuc", axis=(0, 2)), real(3, 2, 4)),
    "matrix_norm 1": (lambda x: linalg.matrix_norm(x, 1), distinct(3, 4)),
    # convolution
    "conv3d": (lambda x, w, b: ops.conv3d(x, w, b, (1, 2, 1), (1, 0, 2), (2, 1, 1), 2), real(1, 4, 4, 5, 3),
               real(2, 2, 2, 3, 2), real(2)),
    "conv_transpose3d": (lambda x, w, b: ops.conv_transpose3d(x, w, b, 2, (0, 1, 1), (1, 0, 1), 2), real(2, 2, 2, 3, 2),
                         real(2, 2, 2, 3, 2), real(4)),
    "unfold": (lambda x: ops.unfold(x, kernel_size=(2, 3), dilation=(2, 1), padding=1, stride=(1, 2)),
               real(2, 2, 4, 5)),
    "fold": (lambda x: ops.fold(x, output_size=(4, 5), kernel_size=(2, 3), padding=(0, 1), stride=2), real(2, 12, 6)),
    "conv2d": (lambda x, w, b: ops.conv2d(x, w, b, padding=1), real(2, 3, 4, 5), real(2, 3, 3, 3), real(2)),
    "conv2d strided, dilated": (lambda x, w: ops.conv2d(x, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
                                real(1, 2, 5, 4), real(3, 2, 3, 2)),
    "conv2d grouped": (lambda x, w, b: ops.conv2d(x, w, b, groups=2), real(2, 4, 3, 3), real(2, 2, 2, 2), real(2)),
    "conv2d_weight": (lambda u, x: ops.conv.conv2d_weight(u, x, shape=(4, 2, 3, 2), stride=(2, 1),
                                                          margins=((1, 0), (2, 1)), dilation=(1, 2), groups=2),
                      real(2, 4, 3, 6), real(2, 4, 7, 5)),
    "conv2d same": (lambda x, w: ops.conv2d(x, w, padding="same"), real(1, 1, 3, 4), real(1, 1, 2, 4)),
    "conv1d": (lambda x, w, b: ops.conv1d(x, w, b, stride=2, padding=1), real(2, 2, 5), real(3, 2, 3), real(3)),
    "conv_matrix": (lambda w: ops.conv.conv_matrix(w, 4), real(3)),
    "conv_transpose2d": (lambda x, w, b: ops.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=(1, 0)),
                         real(2, 2, 2, 3), real(2, 3, 3, 3), real(3)),
    "conv_transpose2d grouped": (lambda x, w: ops.conv_transpose2d(x, w, groups=2, dilation=2),
                                 real(1, 2, 2, 3), real(2, 2, 2, 2)),
    "conv_transpose1d": (lambda x, w, b: ops.conv_transpose1d(x, w, b, stride=2),
                         real(2, 2, 3), real(2, 1, 3), real(1)),
    # normalisation
    "layer_norm": (ops.layer_norm, real(3, 5), real(5), real(5)),
    "layer_norm over two axes": (ops.layer_norm, real(2, 3, 4), real(3, 4), real(3, 4)),
    "layer_norm without parameters": (lambda x: ops.layer_norm(x, normalized_shape=(3, 4)), real(2, 3, 4)),
    "rms_norm": (ops.rms_norm, real(2, 3, 5), real(5)),
    "group_norm": (lambda x, w, b: ops.group_norm(x, w, b, num_groups=2), real(2, 4, 3), real(4), real(4)),
    "instance_norm": (ops.instance_norm, real(2, 3, 2, 3), real(3), real(3)),
    "batch_norm": (ops.batch_norm, real(5, 3), real(3), real(3)),
    "batch_norm of images": (ops.batch_norm, real(2, 3, 2, 3), real(3), real(3)),
    "batch_norm without parameters": (ops.batch_norm, real(3, 2, 4)),
    "batch_norm, running statistics": (ops.batch_norm, real(3, 2, 4), real(2), real(2), real(2), positive(2)),
    "batch_norm, running mean alone": (
        lambda x, m: ops.batch_norm(x, None, None, m, np.array([0.5, 2.0], x.dtype)), real(3, 2, 4), real(2)),
    "batch_norm, running variance alone": (
        lambda x, v: ops.batch_norm(x, None, None, np.array([0.5, 2.0], x.dtype), v), real(3, 2, 4), positive(2)),
    "batch_norm_relu, running mean alone": (
        lambda x, m: ops.batch_norm_relu(x, None, None, m, np.array([0.5, 2.0], x.dtype)), real(3, 2, 4), real(2)),
    "batch_norm_relu, running variance alone": (
        lambda x, v: ops.batch_norm_relu(x, None, None, np.array([0.5, 2.0], x.dtype), v), real(3, 2, 4), positive(2)),
    "batch_norm_relu": (ops.batch_norm_relu, real(3, 2, 4), real(2), real(2)),
    "batch_norm_relu with a skip": (lambda x, w, b, s: ops.batch_norm_relu(x, w, b, skip=s),
                                    real(3, 2, 4), real(2), real(2), real(3, 2, 4)),
    # embedding and attention
    "embedding": (lambda w: ops.embedding(Tensor([[2, 0], [2, 3]]), w), real(4, 3)),
    "embedding, padding": (lambda w: ops.embedding(Tensor([2, 0, 2, 3]), w, padding_idx=1) * w, real(4, 3)),
    "add_rows": (lambda x: ops.table.add_rows(x, Tensor([[2, 0], [2, 3]]), rows=4), real(2, 2, 3)),
    "attention": (ops.scaled_dot_product_attention, real(2, 3, 4), real(2, 5, 4), real(2, 5, 2)),
    "attention, causal": (lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.7),
                          real(2, 2, 4, 3), real(2, 4, 3), real(1, 4, 3)),
    "attention, fewer keys": (lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, enable_gqa=True),
                              real(4, 3, 2), real(2, 5, 2), real(1, 5, 3)),
    "attention, masked": (lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, Tensor(SEEN)),
                          real(2, 3, 4), real(2, 5, 4), real(2, 5, 4)),
    "attention, added mask": (ops.scaled_dot_product_attention, real(3, 4), real(5, 4), real(5, 4), real(3, 5)),
    "lstm": (ops.lstm, real(3, 2, 8), real(2, 2), real(2, 2), real(8, 2)),
    "lstm, reverse": (lambda *xs: ops.lstm(*xs, reverse=True), real(3, 2, 8), real(2, 2), real(2, 2), real(8, 2)),
    "gru": (ops.gru, real(3, 2, 6), real(2, 2), real(6, 2), real(6)),
    "gru, reverse": (lambda *xs: ops.gru(*xs, reverse=True), real(3, 2, 6), real(2, 2), real(6, 2), real(6)),
    "self_attention": (lambda x: ops.self_attention(x, num_heads=2, is_causal=True), real(2, 3, 12)),
    "rotate_halves": (lambda x: ops.rotate_halves(x, np.cos(ANGLES), np.sin(ANGLES)), real(2, 3, 4)),
    # losses
    "cross_entropy": (lambda x: ops.cross_entropy(x, LABELS), real(3, 4)),
    "cross_entropy none": (lambda x: ops.cross_entropy(x, LABELS, reduction="none"), real(3, 4)),
    "cross_entropy sum, smooth": (lambda x: ops.cross_entropy(x, LABELS, reduction="sum", label_smoothing=0.2),
                                  real(3, 4)),
    "cross_entropy weights, ignored": (lambda x: ops.cross_entropy(x, LABELS, np.array([0.2, 1, 2, 3]), ignore_index=0),
                                       real(3, 4)),
    "cross_entropy probabilities": (ops.cross_entropy, real(3, 4), PROBABILITIES),
    "cross_entropy one example": (lambda x: ops.cross_entropy(x, Tensor(2)), real(4)),
    "cross_entropy pixels": (lambda x: ops.cross_entropy(x, Tensor([[1, 0], [2, 2]]), reduction="none"), real(2, 3, 2)),
    "nll_loss": (lambda x: ops.nll_loss(x.log_softmax(), LABELS, weight=np.array([0.2, 1, 2, 3])), real(3, 4)),
    "mse_loss": (ops.mse_loss, real(3, 4), real(3, 4)),
    "l1_loss": (ops.l1_loss, distinct(3, 4), distinct(3, 4) + 0.05),
    "huber_loss": (lambda x, t: ops.huber_loss(x, t, delta=0.72), distinct(3, 4), distinct(3, 4) + 0.05),
    "smooth_l1_loss": (lambda x, t: ops.smooth_l1_loss(x, t, beta=0.36), distinct(3, 4), distinct(3, 4) + 0.05),
    "binary_cross_entropy": (ops.binary_cross_entropy, rng.uniform(0.1, 0.9, (3, 4)), rng.random((3, 4))),
    "bce with logits": (ops.binary_cross_entropy_with_logits, real(3, 4), rng.random((3, 4))),
    "bce pos_weight": (lambda x, t: ops.binary_cross_entropy_with_logits(x, t, None, Tensor(np.array(2.5))),
                       real(3, 4), rng.random((3, 4))),
    "kl_div": (ops.kl_div, real(3, 4), PROBABILITIES),
    "kl_div log": (lambda x, t: ops.kl_div(x, t, reduction="batchmean", log_target=True), real(3, 4), real(3, 4)),
    "take_along": (lambda x: ops.along.take_along(x, Tensor([[0, 0], [3, 3], [2, 2]]), axis=1), real(3, 4)),
    "add_along": (lambda x: ops.along.add_along(x, Tensor([[0, 0], [3, 3]]), size=4, axis=1), real(2, 2)),
    "cholesky_solve": (lambda b, x: linalg.cholesky_solve(b, x.tril() + 3 * Tensor.eye(3)), real(3, 2), real(3, 3)),
    "where finite": (lambda x: ops.where(ops.isfinite(x + LIMITS), x * x, 3 * x)
                     + ops.where(ops.isinf(x + LIMITS), 0.0, x), real(3, 4)),
    "lgamma": (ops.lgamma, positive(3, 4)),
    "digamma": (ops.digamma, positive(3, 4)),
    "polygamma": (lambda x: ops.polygamma(x, n=2), positive(3, 4)),
    "lgamma below 0": (ops.lgamma, np.array([-0.4, -1.6, -3.3])),
    "set_at": (lambda x, v: ops.parts.set_at(v, x, index=(slice(1, 3), ..., 0)), real(3, 2, 2), real(2)),
    "set_at, a mask": (lambda x, v: ops.parts.set_at(v, x, index=(MASK,)), real(3, 4), real()),
    "lu": (lambda x: linalg.lu(x)[1:], real(2, 4, 4)),
    "lu of wide matrices": (lambda x: linalg.lu(x)[1:], real(3, 5)),
    "lu of tall matrices": (lambda x: linalg.lu(x)[1:], real(5, 3)),
    "cholesky_inverse": (lambda x: linalg.cholesky_inverse(x.tril() + 3 * Tensor.eye(3)), real(2, 3, 3)),
    "cholesky_inverse upper": (lambda x: linalg.cholesky_inverse(x.triu() + 3 * Tensor.eye(3), True), real(3, 3)),
    "index_add": (lambda x, y: x.index_add(1, Tensor(np.array([2, 0, 2])), y), real(2, 4), real(2, 3)),
    "pad, adjoint": (lambda g: ops.padding.map_axes_back(g, maps=(3, ops.padding.map_of(np.array([1, 0, 1, 1]), 2))),
                     real(3, 4)),
    "pad three axes": (lambda x: x.pad((1, 1, 2, 0, 0, 1), mode="circular"), real(2, 3, 4)),
    "cross entropy of pixels": (lambda x: ops.cross_entropy(x, PIXELS, reduction="none", label_smoothing=0.1),
                                real(2, 3, 2, 2)),
}
CASES |= {
    # pooling
    "max_pool2d": (lambda x: ops.max_pool2d(x, 2), distinct(2, 3, 4, 6)),
    "max_pool2d overlapping": (lambda x: ops.max_pool2d(x, 3, 2, 1), distinct(1, 2, 5, 6)),
    "max_pool2d dilated": (lambda x: ops.max_pool2d(x, (2, 3), (1, 2), (1, 0), (2, 1)), distinct(2, 5, 6)),
    "max_pool2d ceil": (lambda x: ops.max_pool2d(x, 2, ceil_mode=True), distinct(1, 1, 3, 5)),
    "max_pool1d": (lambda x: ops.max_pool1d(x, 3, 2, 1), distinct(2, 3, 7)),
    "put_taps": (lambda g: ops.pool.put_taps(g, index=TAPS, shape=(2, 5), windows=WINDOWS), real(2, 3)),
    "take_taps": (lambda x: ops.pool.take_taps(x, index=TAPS, windows=WINDOWS), real(2, 5)),
    "avg_pool2d": (lambda x: ops.avg_pool2d(x, 2), real(2, 3, 4, 6)),
    "avg_pool2d padded": (lambda x: ops.avg_pool2d(x, 3, 2, 1, ceil_mode=True), real(1, 2, 5, 6)),
    "avg_pool2d without padding": (lambda x: ops.avg_pool2d(x, 3, 2, 1, count_include_pad=False), real(1, 2, 5, 6)),
    "avg_pool1d": (lambda x: ops.avg_pool1d(x, 3, 2, 1), real(3, 7)),
    "avg_pool, another divisor": (lambda x: ops.avg_pool2d(x, 2, divisor_override=3), real(2, 4, 6)),
    "max_pool3d": (lambda x: ops.max_pool3d(x, 2, 1, 1), distinct(1, 2, 3, 4, 3)),
    "avg_pool3d": (lambda x: ops.avg_pool3d(x, (2, 3, 2), 2, 1, True, False), real(2, 3, 4, 5)),
    "max_pool_with_indices": (lambda x: ops.max_pool_with_indices(x, 2, 1, rank=3)[0], distinct(1, 3, 3, 4)),
    "max_unpool": (lambda x: ops.max_unpool(*ops.max_pool_with_indices(x, 2), 2) * x, distinct(2, 3, 4, 4)),
    "adaptive_avg_pool2d": (lambda x: ops.adaptive_avg_pool2d(x, (2, 3)), real(1, 2, 5, 4)),
    "adaptive_avg_pool2d tiles": (lambda x: ops.adaptive_avg_pool2d(x, (2, None)), real(1, 2, 4, 3)),
    "adaptive_avg_pool2d global": (lambda x: ops.adaptive_avg_pool2d(x, 1), real(2, 3, 4, 5)),
    "adaptive_avg_pool1d": (lambda x: ops.adaptive_avg_pool1d(x, 3), real(2, 3, 5)),
    "interpolate": (lambda x: ops.interpolate(x, scale_factor=(2, 3)), real(1, 2, 3, 2)),
    "interpolate to a size": (lambda x: ops.interpolate(x, size=(5, 2)), real(1, 2, 3, 3)),
    "interpolate a signal": (lambda x: ops.interpolate(x, scale_factor=2), real(2, 3, 4)),
    **{f"interpolate {mode}": (lambda x, mode=mode: ops.interpolate(x, scale_factor=1.7, mode=mode), real(1, 2, 3, 4))
       for mode in ("nearest-exact", "bilinear", "bicubic", "area")},
    "resample back": (lambda g: resample_back(g, axis=1, taps=NEIGHBOURS), real(2, 3, 2)),
    "interpolate linear": (lambda x: ops.interpolate(x, 5, mode="linear", align_corners=True), real(1, 2, 3)),
    "interpolate trilinear": (lambda x: ops.interpolate(x, (3, 2, 5), mode="trilinear"), real(1, 1, 2, 3, 2)),
    # over all ranks, of which there is one here; see tests/distributed
    "all_sum": (ops.all_sum, real(3, 4)),
    "sync_batch_norm": (ops.sync_batch_norm, real(5, 3), real(3), real(3)),
    "sync_batch_norm of images": (lambda x, w, b: ops.sync_batch_norm(x, w, b, shift=np.ones(3), eps=1e-3),
                                  real(2, 3, 2, 3), real(3), real(3)),
    # dropout
    "drop": (lambda x: drop(x, p=0.4, key=np.array(11)), real(5, 6)),
    "dropout of everything": (lambda x: ops.dropout(x, 1.0) + x * x, real(3, 4)),
    "take_along without the axis": (lambda x: ops.along.take_along(x, Tensor([3, 0, 2]), axis=1, keepdim=False),
                                    real(3, 4)),
    "add_along without the axis": (lambda x: ops.along.add_along(x, Tensor([3, 0, 2]), size=4, axis=1, keepdim=False),
                                   real(3)),
    "getitem with axes of size 1": (lambda x: x[:, None] * x[..., None] + x[None, :, 0:3, None][0, :, :, 0],
                                    real(3, 3)),
    "pinv": (linalg.pinv, real(4, 3)),
    "pinv wide": (linalg.pinv, real(2, 3, 4)),
}

def triangle(**how):
    return lambda a, b: linalg.solve_triangular(a + 2 * Tensor.eye(3, dtype=a.dtype), b, **how)


for domain, names in UNARY.items():
    for name in names.split():
        CASES[name] = getattr(ops, name), globals()[domain](3, 4)
        CASES[f"{name} 0-d"] = getattr(ops, name), globals()[domain]()
CASES["relu6"] = ops.relu6, 5 * real(3, 4)
CASES["hardswish"], CASES["hardsigmoid"] = (ops.hardswish, 4 * real(3, 4)), (ops.hardsigmoid, 4 * real(3, 4))
CASES["solve_triangular"] = triangle(upper=False), real(2, 3, 3), real(2, 3, 2)
CASES["solve_triangular upper"] = triangle(upper=True), real(3, 3), real(2, 3, 2)
CASES["solve_triangular, ones"] = triangle(upper=False, unitriangular=True), real(2, 3, 3), real(3, 2)
CASES["solve_triangular from the right"] = triangle(upper=True, left=False), real(3, 3), real(2, 3)
CASES["solve_triangular upper, ones"] = triangle(upper=True, unitriangular=True), real(3, 3), real(3, 2)
for name in ("softmax", "log_softmax"):
    del CASES[f"{name} 0-d"]  # they need an axis
CASES["erfinv"], CASES["erfinv 0-d"] = (ops.erfinv, unit(3, 4)), (ops.erfinv, unit())
CASES["norm over axes"] = lambda x: ops.norm(x, axis=(0, 2), keepdim=True), real(2, 3, 4)
CASES["cross"], CASES["cross, broadcast"] = (ops.cross, real(4, 3), real(4, 3)), (ops.cross, real(3, 2), real(5, 3, 1))
CASES["matrix_vector"] = ops.matrix_vector, real(3, 4), real(4)
CASES["matrix_vector of a batch"] = ops.matrix_vector, real(2, 3, 2, 4), real(4)
CASES["a vector times a matrix"] = ops.matmul, real(3), real(3, 4)
PLACES = Tensor(real(2, 3, 3, 2))
AT = Tensor(np.array([[[0, 1], [5, -1], [2, 2]], [[3, 4], [0, 0], [-1, -1]]], np.int32))  # pixels at three places
CASES["sums_at"] = lambda x, w: sums_at(x, w, AT), real(2, 3, 6), real(2, 3, 2)
CASES["spread_at"] = lambda y, w: spread_at(y, w, AT, size=6), real(2, 3, 3), real(2, 3, 2)
CASES["products_at"] = lambda y, x: products_at(y, x, AT), real(2, 3, 3), real(2, 3, 6)
CASES["grid_sample"] = ops.grid_sample, real(2, 3, 4, 5), 0.8 * real(2, 3, 2, 2)
for mode in "zeros", "border", "reflection":
    CASES[f"grid_sample, {mode}"] = (lambda x, grid, mode=mode: ops.grid_sample(x, grid, "bilinear", mode, True),
                                     real(1, 5, 3, 4), 0.8 * real(1, 2, 3, 2))
CASES["grid_sample nearest"] = lambda x: ops.grid_sample(x, PLACES, mode="nearest"), real(2, 1, 4, 5)
CASES["grid_sample of volumes"] = ops.grid_sample, real(1, 2, 3, 2, 4), 0.6 * real(1, 2, 1, 2, 3)
KEY = random.draw(None, 2, 8)
CASES["cumprod_vjp"] = lambda g, x, y: cumprod_vjp(g, x, y, axis=1), real(3, 4), real(3, 4), real(3, 4)
CASES["cumprod_vjp with zeros"] = lambda g, x, y: cumprod_vjp(g, x, y, axis=0), real(5, 2), np.array(
    [[1.0, 0], [0, 2], [3, 0], [0, 1], [2, 3]]), real(5, 2)
CASES["take_last"] = lambda x: take_last(x, Tensor([2, 0, 2])[:, None], shape=(3, 4), axis=0), real(3, 4)
CASES |= {f"{how} of slices": (
    lambda x, s, how=how: x.scatter_reduce(1, Tensor([[1, 0, 1]]).expand(3, 3), s, how), distinct(3, 4),
    distinct(3, 3) + 0.05) for how in ("prod", "mean", "amax", "amin")}
CASES["cumprod with zeros, axis"] = lambda x: x.cumprod(axis=-2), np.where(real(3, 5, 2) < -0.3, 0, real(3, 5, 2))
CASES["frac"] = lambda x: x.frac() * x, real(3, 4) + 0.03
CASES["logit"], CASES["logit eps"] = (ops.logit, abs(unit(3, 4))), (lambda x: ops.logit(x, 0.2), abs(unit(3, 4)))
CASES["lerp by weights"] = ops.lerp, real(3, 4), real(4), unit(3, 1)
CASES["hardsigmoid alpha"] = lambda x: ops.hardsigmoid(x, 0.3, 0.4), 3 * real(3, 4)
CASES["weights of attention thinned out"] = lambda w: thin_out(w, p=0.4, key=KEY, spread=0), real(2, 4, 5)
CASES["other_products"] = lambda x, g: other_products(x, g, axis=(0,)), real(3, 4), real(1, 4)
CASES["logsumexp_vjp"] = lambda x, g: logsumexp_vjp(x, ops.logsumexp(x, axis=1, keepdim=True), g, over=(1,)), real(
    3, 4), real(3, 1)
CASES["pow -2"] = lambda x: x**-2, real(5)


@pytest.mark.parametrize("case", CASES)
def test_first_and_second_order(case):
    f, *inputs = CASES[case]
    assert gradcheck(f, *inputs)
    assert gradgradcheck(f, *inputs, rtol=2e-6)


def test_every_differentiable_op_is_checked():
    """Run all cases and note which primitives recorded a node: none may be left out."""
    called = set()
    with after(lambda op, inputs, options, y: called.add(op.name)):
        for f, *inputs in CASES.values():
            f(*[Tensor(x, requires_grad=True) for x in inputs])
    everything = {op.name for op in declared
                  if op.differentiable and op.__wrapped__.__module__.startswith(ops.__name__)}
    # Steps have gradient 0 everywhere, which the checker cannot tell from no gradient;
    # see test_steps_have_gradient_zero.
    assert everything - called <= {"ceil", "round", "trunc", "binary_step"}


@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "round", "trunc", "binary_step"])
def test_steps_have_gradient_zero(name):
    x = Tensor(real(3, 4), requires_grad=True)
    getattr(ops, name)(x).backward(np.ones((3, 4)))
    assert np.array_equal(x.grad.data, np.zeros((3, 4)))


def gradient(f, *values):
    xs = [Tensor(np.array(v, dtype=float), requires_grad=True) for v in values]
    return [g.tolist() for g in f(*xs).sum().gradient(*xs)]


def test_conventions_at_singular_points():
    assert gradient(ops.relu, [-1, 0, 2]) == [[0, 0, 1]]
    assert keep_positive(np.ones(3), np.array([-1.0, 0, 2])).tolist() == [0, 0, 1]
    assert gradient(ops.leaky_relu, [0.0]) == [[0.01]]
    assert gradient(lambda x: ops.elu(x, alpha=0.5), [0.0]) == [[0.5]]
    assert gradient(ops.selu, [0.0]) == [[SELU_SCALE * SELU_ALPHA]]
    assert gradient(ops.hardswish, [-3, 0, 3]) == [[0, 0.5, 1]]
    assert gradient(ops.hardtanh, [-1, 0, 1]) == [[0, 1, 0]]
    assert gradient(ops.relu6, [0, 3, 6]) == [[0, 1, 0]]
    assert gradient(ops.abs, [-3, 0, 2]) == [[-1, 0, 1]]
    assert gradient(ops.sqrt, [0, 4]) == [[0, 0.25]]
    assert gradient(ops.norm, [0, 0]) == [[0, 0]]
    assert gradient(ops.std, [3, 3, 3]) == [[0, 0, 0]]
    assert gradient(ops.max, [1, 5, 5, 2]) == [[0, 0.5, 0.5, 0]]
    assert gradient(ops.min, [1, 1, 1, 2]) == [[1 / 3, 1 / 3, 1 / 3, 0]]
    assert gradient(ops.maximum, [1, 2], [1, 3]) == [[0.5, 0], [0.5, 1]]
    assert gradient(ops.minimum, [1, 2], [1, 3]) == [[0.5, 1], [0.5, 0]]
    assert gradient(lambda x: x**2, [0.0]) == [[0]]
    assert gradient(lambda x: x**1, [0.0]) == [[1]]
    assert gradient(lambda x: x**0, [0.0]) == [[0]]
    assert gradient(lambda x: Tensor(np.zeros(1)) ** x, [2.0]) == [[0]]
    assert gradient(ops.prod, [0, 2, 3]) == [[6, 0, 0]]
    assert gradient(ops.prod, [0, 0, 3]) == [[0, 0, 0]]
    assert gradient(lambda x: ops.clip(x, min=0, max=1), [-1, 0, 0.5, 1, 2]) == [[0, 1, 1, 1, 0]]


def second_derivative(f, x):
    x = Tensor(np.array(x, dtype=float), requires_grad=True)
    first, = f(x).sum().gradient(x, create_graph=True)
    return first.sum().gradient(x)[0].tolist()


def test_smooth_functions_are_smooth_where_their_formulas_have_kinks():
    assert second_derivative(lambda x: ops.softplus(x, beta=3.0), [0.0]) == [3 / 4]
    assert second_derivative(ops.logsigmoid, [0.0]) == [-1 / 4]
    for t in 0.0, 0.3, 1.0:
        target = Tensor(np.array([t]))
        assert second_derivative(lambda x, t=target: ops.binary_cross_entropy_with_logits(x, t), [0.0]) == [1 / 4]


def test_probabilities_of_0_have_a_gradient_too():
    x, t = Tensor(np.log([[1.0, 3.0]])), Tensor(np.array([[1.0, 0.0]]), requires_grad=True)
    for create_graph in False, True:
        found, = ops.cross_entropy(x, t).gradient(t, create_graph=create_graph)
        np.testing.assert_allclose(found.numpy(), [[np.log(4), np.log(4 / 3)]])
    masked = Tensor(np.array([[0.0, -np.inf]]), requires_grad=True)
    loss = ops.cross_entropy(masked, Tensor(np.array([[1.0, 0.0]])))
    assert loss.gradient(masked, create_graph=True)[0].tolist() == [[0, 0]]


@pytest.mark.parametrize("n", [3, 3000])
def test_an_infinite_cotangent_stops_at_a_shut_relu(n):
    x, g = np.full(n, -1, np.float32), np.full(n, np.inf, np.float32)
    assert not ops.activation.keep_positive(g, x).any()


def test_asin_and_acos_keep_their_digits_near_1():
    x = Tensor(np.array([1 - 2.0**-20, -1 + 2.0**-22], np.float32), requires_grad=True)
    expected = 1 / np.sqrt(1 - x.detach().numpy().astype(float) ** 2)
    np.testing.assert_allclose(x.asin().sum().gradient(x)[0].numpy(), expected, rtol=3e-7)
    np.testing.assert_allclose(x.acos().sum().gradient(x)[0].numpy(), -expected, rtol=3e-7)


@pytest.mark.parametrize("size", [3, 300])
def test_a_padding_index_may_count_from_the_end(size):
    weight = Tensor(np.ones((4, size), np.float32), requires_grad=True)
    for padding_idx, left in (-1, [1, 1, 1, 0]), (1, [1, 0, 1, 1]), (None, [1, 1, 1, 1]):
        out = ops.embedding(Tensor([0, 1, 2, 3]), weight, padding_idx=padding_idx)
        first, = (out * out).sum().gradient(weight, create_graph=True)
        assert first.detach().numpy().any(1).tolist() == [bool(n) for n in left]
        np.testing.assert_array_equal(first.sum().gradient(weight)[0].numpy().any(1), first.detach().numpy().any(1))


def test_where_keeps_nan_of_the_branch_not_taken_out():
    def f(x):
        return ops.where(x > 0, ops.log(ops.where(x > 0, x, 1.0)), x)

    assert gradient(f, [0.0, 2.0]) == [[1.0, 0.5]]
    bad = Tensor([np.nan, np.inf], requires_grad=True)
    assert ops.where(Tensor([True, False]), 1.0, bad).gradient(bad, gradient=[np.nan, 2.0])[0].tolist() == [0, 2]


def test_scatter_gives_overwritten_values_no_gradient():
    x, src = Tensor([1.0, 2.0, 3.0], requires_grad=True), Tensor([10.0, 20.0], requires_grad=True)
    out = x.scatter(0, [1, 1], src)
    assert out.tolist() == [1, 20, 3]
    gx, gs = out.sum().gradient(x, src)
    assert gx.tolist() == [1, 0, 1] and gs.tolist() == [0, 1]


def test_the_cotangents_of_parts_are_put_into_one_array(monkeypatch):
    """A part's is zeros but for the part; they are written out once for all parts of a Tensor."""
    def forbidden(*args, **options):
        raise AssertionError("a whole array of zeros was made for one part")

    written, write = [], Scattered.__array__
    monkeypatch.setattr(Scattered, "__array__", lambda self, *args, **options: written.append(self) or write(self))
    x = Tensor(real(4, 6), requires_grad=True)
    for make in (lambda x: x, lambda x: 2 * x):
        base = make(x)
        a, b, c = base.chunk(3, axis=1)
        y = a * b * c + base[:, 1:3] + base.sum(axis=1, keepdim=True) + base[2, -1]
        with monkeypatch.context() as patch:
            patch.setattr(ops.parts.put, "forward", forbidden)
            found, = y.sum().gradient(x, retain_graph=True)
        assert len(written) <= 1
        written.clear()
        expected, = y.sum().gradient(x, create_graph=True)
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12)


def test_hooks_see_the_cotangent_of_a_part_written_out():
    x = Tensor(real(3, 4), requires_grad=True)
    seen = []
    for make in (lambda x: x, lambda x: x + 0):
        y = make(x)
        y.register_hook(lambda g: seen.append(g.tolist()))
        if y is not x:
            y.retain_grad()
        with detect_anomaly():
            y[1, 1:3].sum().backward()
    assert seen == [[[0] * 4, [0, 1, 1, 0], [0] * 4]] * 3  # the hook on x runs in both rounds
    assert y.grad.tolist() == seen[0] and x.grad.tolist() == (2 * np.array(seen[0])).tolist()
