"""Samples of every op, shared by all tests: calls, with inputs at which they are smooth.

`CASES` are small, one or more for each op and domain. Gradients of both orders, contracts, kernels, captured calls
and the handbook's figures use them. tests/kernels/samples.py has large ones.
"""

import numpy as np

from tinygrad_like import Tensor, linalg, ops, random
from tinygrad_like.ops.attention import _attention, _self_attention
from tinygrad_like.ops.dropout import drop  # noqa: F401  (in the text of a call)
from tinygrad_like.ops.scan import other_products
from tinygrad_like.ops.scatter import product_at, take_last
from tinygrad_like.ops.softmax import log_softmax_vjp, logsumexp_vjp, softmax_vjp

rng = np.random.default_rng(7)


def real(*shape):
    """Values away from 0, where |x|, relu and others have a kink."""
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
    """The squares do not depend on the vectors' signs, which are arbitrary."""
    return tuple(y * y for y in results)


MASK = rng.random((3, 4)) < 0.5
SEEN = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]], bool)
ANGLES = rng.standard_normal((3, 2))
LABELS = Tensor(np.array([2, 0, 3]))
PIXELS = Tensor(np.array([[[0, 2], [1, 1]], [[2, 0], [0, -100]]]))
PROBABILITIES = rng.dirichlet(np.ones(4), 3)
WINDOWS = ops.pool.Axis(1, 1, 0, 1, 2), ops.pool.Axis(2, 2, 0, 1, 3)  # the last window extends beyond 5 columns
TO = np.array([[0, 2, 1], [0, 0, 1], [0, 2, 1], [1, 2, 2]])
TAPS = np.array([[0, 1, 0], [1, 1, 0]], np.uint8)
PLAIN = {"stride": (1, 1), "margins": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
UNARY = {
    "real": "neg square exp exp2 expm1 sin cos tan atan sinh cosh erf abs relu sigmoid tanh silu gelu softplus "
            "logsigmoid elu celu selu softsign quick_gelu mish hardsigmoid hardswish relu6 leaky_relu asinh cumprod "
            "logcumsumexp softmax log_softmax clone contiguous identity",
    "positive": "log log2 log10 log1p sqrt rsqrt reciprocal",
    "unit": "asin acos atanh",
}

KEY = random.draw(None, 2, 8)
LIMITS = np.array([0, np.inf, -np.inf, np.nan])
CALLS = {  # x -> calls on it; the simplest first, since the diagnosis of rules looks at the first
    "real(5)": "x**3; x**-2; 2**x; x.sign() * x",
    "positive(5)": "x**2.5",
    "distinct(2, 3, 4)": "x.min(axis=(0, 1), keepdim=True)",
    "distinct(3, 4)": """
        x.max(axis=1); x.max(); x.cummax(axis=1)[0]; x.cummin()[0]; x.sort(axis=1, descending=True)[0];
        x.topk(2, axis=0, largest=False)[0]""",
    "real(2, 4, 3)": "square_vectors(linalg.svd(x, full_matrices=False))",
    "real(4, 3)": "linalg.svdvals(x); ops.swiglu(x, axis=0)",
    "real(3, 4)": """
        2.5 * x; x.masked_fill(MASK, 3.0); ops.gelu(x, approximate="tanh"); ops.softplus(x, beta=2.5);
        ops.elu(x, alpha=0.7); ops.celu(x, 0.7); ops.copysign(x, np.array([-1.0, 2, -0.0, 0])) * x;
        ops.leaky_relu(x, negative_slope=0.3); x.sum(); x.mean(axis=0); x.var(axis=1);
        x.var(correction=0, keepdim=True); x.std(axis=0); x.norm(axis=1); x.sum(axis=0, dtype="float64");
        x.var_mean(axis=1); x.std_mean(correction=0); x.normalize(p=3.0, axis=-1); x.softmin(axis=0); x.cumsum(axis=1);
        x.logsumexp(axis=1); x.logsumexp(keepdim=True); x.softmax(axis=0); x.reshape(2, -1); x.T; x.flip(0); x.flip();
        x.roll(1, 0); x.roll((1, -2), (0, 1)); x.roll(5); x.tril(-1); x.diagonal(1); x.trace();
        x.split([1, 3], axis=1); x.unbind(0); x.pad((2, -1, -1, 1), mode="reflect"); x.pad((-1, 2), mode="circular");
        x.shrink(((1, 3), None)); x.pad((1, 2, 0, 1), value=3.0); x.pad((2, 1), mode="reflect");
        x.pad(((1, 2), (0, 3)), mode="replicate"); x.pad((2, 1), mode="circular"); x[1]; x[None, ..., 2]; x[[0, 2, 0]];
        x[np.array([[0], [2]]), np.array([1, 3])]; x[MASK]; x[LABELS._data % 3]; x.gather(1, [[0, 0], [3, 1], [2, 2]]);
        x.masked_select(MASK[0]);
        linalg.vector_norm(x, 2.5, axis=1); linalg.vector_norm(x, -1.5); ops.cross_entropy(x, LABELS);
        ops.cross_entropy(x, LABELS, reduction="none");
        ops.cross_entropy(x, LABELS, reduction="sum", label_smoothing=0.2);
        ops.cross_entropy(x, LABELS, np.array([0.2, 1, 2, 3]), ignore_index=0);
        ops.nll_loss(x, LABELS, ignore_index=3); ops.nll_loss(x.log_softmax(), LABELS, weight=np.array([0.2, 1, 2, 3]));
        ops.along.take_along(x, Tensor([[0, 0], [3, 3], [2, 2]]), axis=1);
        ops.where(ops.isfinite(x + LIMITS), x * x, 3 * x) + ops.where(ops.isinf(x + LIMITS), 0.0, x);
        ops.dropout(x, 1.0) + x * x; ops.along.take_along(x, Tensor([3, 0, 2]), axis=1, keepdim=False)""",
    "real(3)": """
        x * x * x; ops.hypot(x, 0 * x) * x; ops.reduce.spread(x, shape=(2, 3, 4), axis=(0, 2)); x.diag(-1);
        ops.parts.surround(x, shape=(5,), index=(slice(1, 4),), value=2.0);
        ops.parts.put(x, shape=(4,), index=(np.array([0, 2, 0]),));
        ops.along.add_along(x, Tensor([3, 0, 2]), size=4, axis=1, keepdim=False)""",
    "distinct(3, 4) + 0.03": """
        ops.clip(x, min=-0.35, max=0.25); ops.hardtanh(x, min_val=-0.35, max_val=0.25); linalg.matrix_norm(x, 1)""",
    "real(4)": 'x.cast("float64") * x; ops.cross_entropy(x, Tensor(2))',
    "real(2, 3, 4)": """
        x.sum(axis=1); x.sum(axis=(0, -1), keepdim=True); x.layernorm(axis=(0, 2)) * x; ops.cumprod(x, axis=-2);
        x.permute(2, 0, 1); x.transpose(0, -1); x.flatten(1); x.triu(1); ops.layer_norm(x, normalized_shape=(3, 4));
        ops.rotate_halves(x, np.cos(ANGLES), np.sin(ANGLES)); x.pad((1, 1, 2, 0, 0, 1), mode="circular");
        ops.interpolate(x, scale_factor=2); linalg.pinv(x)""",
    "real(3, 5)": "x.prod(axis=1); x.chunk(2, axis=1)",
    "real(2, 3)": """
        x.prod(); x.unsqueeze(-1); x.repeat(2, 3, 1); x.repeat_interleave(3, 1); x.repeat_interleave([2, 0, 1], 1)""",
    "real(2, 3, 2)": """
        x.prod(axis=(2, 0), keepdim=True); ops.cross_entropy(x, Tensor([[1, 0], [2, 2]]), reduction="none")""",
    "real(3, 2, 4)": 'x.diagonal(-1, axis1=2, axis2=0); linalg.matrix_norm(x, "nuc", axis=(0, 2))',
    "real(2, 3, 3)": "linalg.cholesky(x @ x.mT + np.eye(3))",
    "real(3, 3)": """
        linalg.cholesky(x @ x.mT + np.eye(3), upper=True);
        x[:, None] * x[..., None] + x[None, :, 0:3, None][0, :, :, 0]""",
    "real(2, 4, 4)": "square_vectors(linalg.eigh(x + x.mT + np.diag([0.0, 3, 6, 9]))); linalg.lu(x)[1:]",
    "real(1, 2, 5, 6)": """
        ops.avg_pool2d(x, 3, 2, 1, ceil_mode=True); ops.avg_pool2d(x, 3, 2, 1, count_include_pad=False)""",
    "real(2, 3, 4, 5)": "ops.avg_pool3d(x, (2, 3, 2), 2, 1, True, False); ops.adaptive_avg_pool2d(x, 1)",
    "positive(4)": "1 / x",
    "real(5) + 0.33": "x.floor() * x; x.ceil() * x; x.round() * x; x.trunc() * x; ops.binary_step(x) * x",
    "real(3, 1)": "x.expand(2, -1, 4)",
    "real(2, 6)": "x.unflatten(1, (2, -1))",
    "real(2, 1, 3)": "x.squeeze(1)",
    "real(2, 7, 2)": "x.unfold(1, 3, 2)",
    "real(2, 6, 3)": 'x.rearrange("b (h w) ... -> (b w) 1 ... h", h=2)',
    "real(4, 5)": "x[::-2, 1:]",
    "real(3, 4, 3)": "x[:, [0, 0, 2], None, 1:]",
    "distinct(3, 2)": "linalg.norm(x, 1)",
    "real(3, 2)": "linalg.norm(x, 3, axis=1, keepdim=True)",
    "real(2, 2, 4, 5)": "ops.unfold(x, kernel_size=(2, 3), dilation=(2, 1), padding=1, stride=(1, 2))",
    "real(2, 12, 6)": "ops.fold(x, output_size=(4, 5), kernel_size=(2, 3), padding=(0, 1), stride=2)",
    "real(2, 2, 3)": "ops.table.add_rows(x, Tensor([[2, 0], [2, 3]]), rows=4)",
    "real(2, 3, 12)": "ops.self_attention(x, num_heads=2, is_causal=True)",
    "real(2, 2)": "ops.along.add_along(x, Tensor([[0, 0], [3, 3]]), size=4, axis=1)",
    "real(2, 3, 2, 2)": 'ops.cross_entropy(x, PIXELS, reduction="none", label_smoothing=0.1)',
    "distinct(2, 3, 4, 6)": "ops.max_pool2d(x, 2)",
    "distinct(1, 2, 5, 6)": "ops.max_pool2d(x, 3, 2, 1)",
    "distinct(2, 5, 6)": "ops.max_pool2d(x, (2, 3), (1, 2), (1, 0), (2, 1))",
    "distinct(1, 1, 3, 5)": "ops.max_pool2d(x, 2, ceil_mode=True)",
    "distinct(2, 3, 7)": "ops.max_pool1d(x, 3, 2, 1)",
    "real(2, 5)": "ops.pool.take_taps(x, index=TAPS, windows=WINDOWS)",
    "real(2, 3, 4, 6)": "ops.avg_pool2d(x, 2)",
    "real(3, 7)": "ops.avg_pool1d(x, 3, 2, 1)",
    "real(2, 4, 6)": "ops.avg_pool2d(x, 2, divisor_override=3)",
    "distinct(1, 2, 3, 4, 3)": "ops.max_pool3d(x, 2, 1, 1)",
    "distinct(2, 3, 4, 4)": "ops.max_unpool(*ops.max_pool_with_indices(x, 2), 2) * x",
    "real(1, 2, 5, 4)": "ops.adaptive_avg_pool2d(x, (2, 3))",
    "real(1, 2, 4, 3)": "ops.adaptive_avg_pool2d(x, (2, None))",
    "real(2, 3, 5)": "ops.adaptive_avg_pool1d(x, 3)",
    "real(1, 2, 3, 2)": "ops.interpolate(x, scale_factor=(2, 3))",
    "real(1, 1, 2, 2)": "ops.pool.spread_windows(x, shape=(1, 1, 4, 5), windows=(ops.pool.Axis(2, 2, 0, 1, 2),) * 2)",
    "real(1, 2, 3, 3)": "ops.interpolate(x, size=(5, 2))",
    "real(1, 2, 3)": 'ops.interpolate(x, 5, mode="linear", align_corners=True)',
    "real(1, 1, 2, 3, 2)": 'ops.interpolate(x, (3, 2, 5), mode="trilinear")',
    "real(5, 6)": "drop(x, p=0.4, key=np.array(11))",
    "3 * np.eye(3, 4) + real(3, 4)": "square_vectors(linalg.svd(x, full_matrices=False))",
}
CASES = {
    # elementwise, with every way to broadcast
    "add": (ops.add, real(3, 4), real(3, 4)),
    "add row": (ops.add, real(3, 4), real(4)),
    "sub column": (ops.sub, real(3, 4), real(3, 1)),
    "mul outer": (ops.mul, real(3, 1), real(1, 4)),
    "mul 0-d": (ops.mul, real(3, 4), real()),
    "div": (ops.div, real(3, 4), positive(4)),
    "pow": (ops.pow, positive(3, 4), real(3, 4)),
    "maximum": (ops.maximum, distinct(3, 4), distinct(3, 4) + 0.05),
    "minimum row": (ops.minimum, distinct(3, 4), distinct(4) + 0.05),
    "where": (lambda a, b: ops.where(MASK, a, b), real(3, 4), real(4)),
    "mod": (ops.mod, real(5), positive(5) + 3),
    "lerp": (lambda a, b: a.lerp(b, 0.3), real(4), real(4)),
    "acosh": (ops.acosh, positive(3, 4) + 1),
    "hypot": (ops.hypot, real(3, 4), real(4)),
    "atan2": (ops.atan2, real(3, 4), real(3, 1)),
    "logaddexp": (ops.logaddexp, real(3, 4), real(4)),
    "fmod": (ops.fmod, real(5), positive(5) + 3),
    "div rounded": (lambda a, b: a.div(b, rounding_mode="trunc") * a * b, real(5) + 7, positive(5)),
    "clamp": (ops.clamp, distinct(3, 4), distinct(4) - 0.72, distinct(3, 1) + 0.78),
    "clamp from above": (lambda x, high: x.clip(max_=high), distinct(3, 4), distinct(4) + 0.05),
    "softmax_vjp": (softmax_vjp, real(3, 4), real(3, 4)),
    "log_softmax_vjp": (lambda g, x: log_softmax_vjp(g, x, axis=0), real(3, 4), real(3, 4)),
    "glu": (ops.glu, real(3, 6)),
    # reductions
    "prod with a zero": (lambda x: x.prod(axis=1), np.array([[0.0, 2, 3], [1, 2, 3]])),
    "prod with two zeros": (lambda x: x.prod(axis=1), np.array([[0.0, 0, 3], [0, 2, 0]])),
    "batchnorm": (lambda x, w, b, m, s: x.batchnorm(w, b, m, s), real(4, 3, 2), real(3), real(3), real(3), positive(3)),
    "cumprod with zeros": (lambda x: x.cumprod(axis=1), np.array([[2.0, 0, 3, 4], [0, 5, 0, 2], [1, 2, 3, 4]])),
    "logcumsumexp axis": (lambda x: x.logcumsumexp(axis=1), 3 * real(3, 4)),
    "recurrence": (lambda x, a: ops.recurrence(x, a, axis=1), real(3, 4), real(3, 4)),
    "recurrence reversed": (lambda x, a: ops.recurrence(x, a, reverse=True), real(4, 2), real(4, 2)),
    # shape
    "meshgrid": (lambda x, y: x.meshgrid(y, indexing="xy"), real(3), real(2)),
    "cat": (lambda a, b: a.cat(b, axis=1), real(3, 4), real(3, 2)),
    "cat itself": (lambda a: a.cat(a, axis=-1), real(3, 4)),
    "stack": (lambda a, b: a.stack(b, axis=-1), real(3, 4), real(3, 4)),
    # indexing and order
    "scatter": (lambda x, s: x.scatter(1, [[0, 0], [3, 1]], s), real(3, 4), real(2, 2)),
    "scatter_add": (lambda x, s: x.scatter_add(0, [[0, 0], [0, 1]], s), real(3, 4), real(2, 2)),
    "scatter, larger source": (lambda x, s: x.scatter(1, [[0, 0], [3, 1]], s), real(3, 4), real(3, 3)),
    "scatter added": (lambda x, s: x.scatter(1, [[0, 0], [3, 1]], s, reduce="add"), real(3, 4), real(2, 2)),
    **{f"scatter_reduce {how}{', alone' * (not include)}": (
        lambda x, s, how=how, include=include: x.scatter_reduce(0, TO, s, how, include), distinct(3, 4),
        distinct(4, 3) + 0.05) for how in ("sum", "prod", "mean", "amax", "amin") for include in (True, False)},
    "scatter_reduce prod with zeros": (lambda x, s: x.scatter_reduce(0, TO, s, "prod"), real(3, 4),
                                       real(4, 3) * (rng.random((4, 3)) < 0.5)),
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
    "qr": (linalg.qr, real(2, 4, 3)),
    "qr of wide matrices": (linalg.qr, real(2, 3, 4)),
    "svdvals": (linalg.svdvals, real(3, 3)),
    "linalg.norm": (linalg.norm, real(3, 2)),
    # convolution
    "conv3d": (lambda x, w, b: ops.conv3d(x, w, b, (1, 2, 1), (1, 0, 2), (2, 1, 1), 2), real(1, 4, 4, 5, 3),
               real(2, 2, 2, 3, 2), real(2)),
    "conv_transpose3d": (lambda x, w, b: ops.conv_transpose3d(x, w, b, 2, (0, 1, 1), (1, 0, 1), 2), real(2, 2, 2, 3, 2),
                         real(2, 2, 2, 3, 2), real(4)),
    "conv2d": (lambda x, w, b: ops.conv2d(x, w, b, padding=1), real(2, 3, 4, 5), real(2, 3, 3, 3), real(2)),
    "conv2d strided, dilated": (lambda x, w: ops.conv2d(x, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
                                real(1, 2, 5, 4), real(3, 2, 3, 2)),
    "conv2d grouped": (lambda x, w, b: ops.conv2d(x, w, b, groups=2), real(2, 4, 3, 3), real(2, 2, 2, 2), real(2)),
    "correlate": (lambda x, w: ops.conv.correlate(x, w, **PLAIN), real(1, 2, 4, 4), real(3, 2, 2, 2)),
    "conv2d_input": (lambda u, w: ops.conv.conv2d_input(u, w, shape=(1, 2, 4, 4), **PLAIN),
                     real(1, 3, 3, 3), real(3, 2, 2, 2)),
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
    "attention": (ops.scaled_dot_product_attention, real(2, 3, 4), real(2, 5, 4), real(2, 5, 2)),
    "attention, causal": (lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.7),
                          real(2, 2, 4, 3), real(2, 4, 3), real(1, 4, 3)),
    "attention, fewer keys": (lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, enable_gqa=True),
                              real(4, 3, 2), real(2, 5, 2), real(1, 5, 3)),
    "attention, masked": (lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, Tensor(SEEN)),
                          real(2, 3, 4), real(2, 5, 4), real(2, 5, 4)),
    "attention, added mask": (ops.scaled_dot_product_attention, real(3, 4), real(5, 4), real(5, 4), real(3, 5)),
    "attention, dropout": (lambda q, k, v: _attention(q, k, v, is_causal=True, dropout_p=0.4, key=KEY),
                           real(1, 2, 6, 4), real(1, 2, 6, 4), real(3, 2, 6, 4)),
    "self_attention, dropout": (lambda x, m: _self_attention(x, m, num_heads=2, dropout_p=0.5, key=KEY),
                                real(2, 3, 12), real(3, 3)),
    "lstm": (ops.lstm, real(3, 2, 8), real(2, 2), real(2, 2), real(8, 2)),
    "lstm, reverse": (lambda *xs: ops.lstm(*xs, reverse=True), real(3, 2, 8), real(2, 2), real(2, 2), real(8, 2)),
    "gru": (ops.gru, real(3, 2, 6), real(2, 2), real(6, 2), real(6)),
    "gru, reverse": (lambda *xs: ops.gru(*xs, reverse=True), real(3, 2, 6), real(2, 2), real(6, 2), real(6)),
    # losses
    "cross_entropy probabilities": (ops.cross_entropy, real(3, 4), PROBABILITIES),
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
    "cholesky_solve": (lambda b, x: linalg.cholesky_solve(b, x.tril() + 3 * Tensor.eye(3)), real(3, 2), real(3, 3)),
    "set_at": (lambda x, v: ops.parts.set_at(v, x, index=(slice(1, 3), ..., 0)), real(3, 2, 2), real(2)),
    "set_at, a mask": (lambda x, v: ops.parts.set_at(v, x, index=(MASK,)), real(3, 4), real()),
    "index_add": (lambda x, y: x.index_add(1, Tensor(np.array([2, 0, 2])), y), real(2, 4), real(2, 3)),
    # pooling
    "put_taps": (lambda g: ops.pool.put_taps(g, index=TAPS, shape=(2, 5), windows=WINDOWS), real(2, 3)),
    **{f"interpolate {mode}": (lambda x, mode=mode: ops.interpolate(x, scale_factor=1.7, mode=mode), real(1, 2, 3, 4))
       for mode in ("nearest-exact", "bilinear", "bicubic", "area")},
    # across ranks: only one here; see tests/distributed
    "all_sum": (ops.all_sum, real(3, 4)),
    "sync_batch_norm": (ops.sync_batch_norm, real(5, 3), real(3), real(3)),
    "sync_batch_norm of images": (lambda x, w, b: ops.sync_batch_norm(x, w, b, shift=np.ones(3), eps=1e-3),
                                  real(2, 3, 2, 3), real(3), real(3)),
    # dropout
    "pinv": (linalg.pinv, real(4, 3)),
}
for domain, names in UNARY.items():
    for name in names.split():
        CASES[name] = getattr(ops, name), globals()[domain](3, 4)
        CASES[f"{name} 0-d"] = getattr(ops, name), globals()[domain]()
for given, calls in CALLS.items():
    for call in map(str.strip, calls.split(";")):
        CASES[f"{call} of {given}" if call in CASES else call] = eval(f"lambda x: {call}"), eval(given)


def triangle(**how):
    return lambda a, b: linalg.solve_triangular(a + 2 * Tensor.eye(3, dtype=a.dtype), b, **how)


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
CASES["take_last"] = lambda x: take_last(x, Tensor([2, 0, 2])[:, None], shape=(3, 4), axis=0), real(3, 4)
CASES |= {f"{how} of slices": (lambda x, s, how=how: x.scatter_reduce(1, Tensor([[1, 0, 1]]).expand(3, 3), s, how),
                               distinct(3, 4), distinct(3, 3) + 0.05) for how in ("prod", "mean", "amax", "amin")}
CASES["cumprod with zeros, axis"] = lambda x: x.cumprod(axis=-2), np.where(real(3, 5, 2) < -0.3, 0, real(3, 5, 2))
CASES["frac"] = lambda x: x.frac() * x, real(3, 4) + 0.03
CASES["lerp by weights"] = ops.lerp, real(3, 4), real(4), unit(3, 1)
CASES["hardsigmoid alpha"] = lambda x: ops.hardsigmoid(x, 0.3, 0.4), 3 * real(3, 4)
CASES["product_at"] = lambda x, s: product_at(x, s, TO[:2], axis=0), real(3, 4), real(2, 3)
CASES["other_products"] = lambda x, g: other_products(x, g, axis=(0,)), real(3, 4), real(1, 4)
CASES["logsumexp_vjp"] = lambda x, g: logsumexp_vjp(x, ops.logsumexp(x, axis=1, keepdim=True), g, over=(1,)), real(
    3, 4), real(3, 1)
