"""What holds for every op: nothing given is changed, nothing returned is shared, dtypes are kept, any shape works."""

import pickle

import numpy as np
import pytest

from tinygrad_like import Tensor, linalg, ops
from tinygrad_like.core.dispatch import declared
from tinygrad_like.core.graph import setting
from tinygrad_like.ops.composite import Composite
from tinygrad_like.ops.dropout import drop
from tinygrad_like.ops.interpolate import Taps, resample_back
from tinygrad_like.ops.scatter import take_last
from tinygrad_like.ops.ufunc import Ufunc

rng = np.random.default_rng(5)


def positive(*shape):
    return rng.uniform(0.1, 0.9, shape)


X, Y, ROW, SQUARE, BATCH = positive(3, 4), positive(3, 4), positive(4), positive(4, 4), positive(2, 3, 4)
LABELS, MASK, INDEX = np.array([1, 0, 3]), X > 0.5, np.array([[2, 0, 1, 1]])
WINDOWS = ops.pool.Axis(1, 1, 0, 1, 2), ops.pool.Axis(2, 2, 0, 1, 3)
WHICH = np.array([[0, 1, 0], [1, 1, 0]], np.uint8)
PLAIN = {"stride": (1, 1), "margins": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
NEIGHBOURS = Taps(4, np.array([[0, 1], [1, 1], [3, 0]]), np.ones((3, 2)))
TAPS = np.array([[[0, 1], [4, -1], [2, 2], [0, 0]], [[1, 3], [3, 4], [-1, -1], [2, 0]]], np.int32)

# name: (function of Tensors, inputs that are differentiated)
OPS = {name: (getattr(ops, name), (X,)) for name in """
    neg square reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf sqrt rsqrt
    abs sign floor ceil round trunc frac relu leaky_relu binary_step sigmoid silu gelu softplus logsigmoid elu celu selu
    softsign quick_gelu mish hardtanh hardsigmoid hardswish relu6 asinh atanh softmin glu swiglu cumprod logcumsumexp
    normalize layernorm
    sum mean var std norm max min prod cumsum logsumexp softmax log_softmax
    clone contiguous identity transpose flatten squeeze flip tril triu
""".split()}
OPS |= {name: (getattr(ops, name), (X, Y)) for name in """
    add sub mul div pow maximum minimum mod fmod hypot atan2 logaddexp copysign cat stack recurrence
""".split()}
OPS |= {f"{name}, broadcast": (getattr(ops, name), (X, ROW)) for name in "add sub mul div pow maximum minimum".split()}
OPS |= {
    "the same twice": (lambda x: x + x, (X,)),
    "gelu_tanh": (ops.activation.gelu_tanh, (X,)),
    "keep_positive": (ops.activation.keep_positive, (X, X)),
    "scalars": (lambda x: 2 * x + 1 - x / 3, (X,)),
    "clip": (lambda x: x.clip(0.2, 0.8), (X,)),
    "where": (lambda a, b: ops.where(MASK, a, b), (X, Y)),
    "masked_fill": (lambda x: x.masked_fill(MASK, 0.0), (X,)),
    "sum over an axis": (lambda x: x.sum(axis=0), (X,)),
    "mean, keepdim": (lambda x: x.mean(axis=1, keepdim=True), (X,)),
    "max over an axis": (lambda x: x.max(axis=(0, 1)), (X,)),
    "prod over an axis": (lambda x: x.prod(axis=-1), (X,)),
    "reshape": (lambda x: x.reshape(4, 3), (X,)),
    "T": (lambda x: x.T, (X,)),
    "permute": (lambda x: x.permute(2, 0, 1), (BATCH,)),
    "expand": (lambda x: x.expand(3, 4), (ROW,)),
    "unsqueeze": (lambda x: x.unsqueeze(1), (X,)),
    "unflatten": (lambda x: x.unflatten(1, (2, 2)), (X,)),
    "roll": (lambda x: x.roll((1, -2), (0, 1)), (X,)),
    "pad": (lambda x: x.pad(((1, 0), (0, 2))), (X,)),
    "pad, reflect": (lambda x: x.pad((2, 1), mode="reflect"), (X,)),
    "shrink": (lambda x: x.shrink(((1, 3), None)), (X,)),
    "repeat": (lambda x: x.repeat(2, 1, 2), (X,)),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), (X,)),
    "split": (lambda x: x.split(3, 1)[0], (X,)),
    "chunk": (lambda x: x.chunk(2, 1)[1], (X,)),
    "unbind": (lambda x: x.unbind()[1], (X,)),
    "diagonal": (lambda x: x.diagonal(), (X,)),
    "diag": (lambda x: x.diag(), (ROW,)),
    "sliding windows": (lambda x: x.unfold(1, 2), (X,)),
    "meshgrid": (lambda x, y: x.meshgrid(y)[0], (ROW, ROW + 1)),
    "rearrange": (lambda x: x.rearrange("a (b c) -> c (a b)", c=2), (X,)),
    "clip by a row": (lambda x, low: x.clip(low), (X, ROW)),
    "cummax": (lambda x: x.cummax(axis=1)[0], (X,)),
    "scatter_reduce": (lambda x, s: x.scatter_reduce(0, INDEX, s, "prod"), (X, positive(1, 4))),
    "scatter_reduce, largest": (lambda x, s: x.scatter_reduce(0, INDEX, s, "amax"), (X, positive(1, 4))),
    "masked_select": (lambda x: x.masked_select(MASK), (X,)),
    "solve": (linalg.solve, (SQUARE + 4 * np.eye(4), ROW)),
    "solve_triangular": (lambda a, b: linalg.solve_triangular(a, b[:, None], upper=True),
                         (SQUARE + 4 * np.eye(4), ROW)),
    "inv": (linalg.inv, (SQUARE + 4 * np.eye(4),)),
    "det": (linalg.det, (SQUARE + np.eye(4),)),
    "slogdet": (lambda x: linalg.slogdet(x)[1], (SQUARE + 4 * np.eye(4),)),
    "cholesky": (linalg.cholesky, (SQUARE @ SQUARE.T + 4 * np.eye(4),)),
    "qr": (lambda x: linalg.qr(x)[1], (SQUARE[:, :3] + np.eye(4)[:, :3],)),
    "lu": (lambda x: linalg.lu(x)[2], (SQUARE + 4 * np.eye(4),)),
    "eigh": (lambda x: linalg.eigh(x)[0], (SQUARE + SQUARE.T,)),
    "svd": (lambda x: linalg.svdvals(x), (SQUARE,)),
    "conv3d": (lambda x, w: ops.conv3d(x[None, None], w[None, None], padding=1), (BATCH, BATCH[:, :2, :3])),
    "conv_transpose3d": (lambda x, w: ops.conv_transpose3d(x[None, None], w[None, None]), (BATCH, BATCH)),
    "max_pool3d": (lambda x: ops.max_pool3d(x[None], 2), (BATCH,)),
    "avg_pool3d": (lambda x: ops.avg_pool3d(x[None], 2, 1), (BATCH,)),
    "max_unpool": (lambda x: ops.max_unpool(*ops.max_pool_with_indices(x, 2), 2), (BATCH,)),
    "interpolate, bilinear": (lambda x: ops.interpolate(x[None], size=5, mode="bilinear"), (BATCH,)),
    "grid_sample": (ops.grid_sample, (BATCH[None], 3 * positive(1, 2, 3, 2) - 1.5)),
    "grid_sample of a volume": (lambda x, grid: ops.grid_sample(x[None, None], grid, padding_mode="border"),
                                (BATCH, 2 * positive(1, 2, 1, 3, 3) - 1)),
    "spread_at": (lambda y, w: ops.grid.spread_at(y, w, TAPS, size=5), (BATCH, positive(2, 4, 2))),
    "products_at": (lambda y, x: ops.grid.products_at(y, x, TAPS), (BATCH, positive(2, 3, 5))),
    "slice": (lambda x: x[1:, ::-2], (X,)),
    "integer array": (lambda x: x[[0, 0, 2]], (X,)),
    "mask": (lambda x: x[MASK], (X,)),
    "gather": (lambda x: x.gather(0, INDEX), (X,)),
    "unfold": (lambda x: ops.unfold(x[None], kernel_size=2), (BATCH,)),
    "conv2d": (lambda x, w: ops.conv2d(x[None], w[None], padding=1), (BATCH, BATCH)),
    "correlate": (lambda x, w: ops.conv.correlate(x, w, **PLAIN), (positive(1, 2, 4, 4), positive(3, 2, 2, 2))),
    "conv2d_input": (lambda u, w: ops.conv.conv2d_input(u, w, shape=(1, 2, 4, 4), **PLAIN),
                     (positive(1, 3, 3, 3), positive(3, 2, 2, 2))),
    "conv2d_weight": (lambda u, x: ops.conv.conv2d_weight(u, x, shape=(3, 2, 2, 2), **PLAIN),
                      (positive(1, 3, 3, 3), positive(1, 2, 4, 4))),
    "conv_transpose2d": (lambda x, w: ops.conv_transpose2d(x[None], w[:, None], stride=2), (BATCH, BATCH)),
    "scatter": (lambda x, s: x.scatter(0, INDEX, s), (X, positive(1, 4))),
    "scatter_add": (lambda x, s: x.scatter_add(0, INDEX, s), (X, positive(1, 4))),
    "sort": (lambda x: x.sort(descending=True)[0], (X,)),
    "topk": (lambda x: x.topk(2)[0], (X,)),
    "matmul": (ops.matmul, (X, SQUARE)),
    "matmul, batched": (ops.matmul, (BATCH, positive(2, 4, 2))),
    "matmul, one matrix for all": (ops.matmul, (BATCH, SQUARE)),
    "cross_product": (ops.cross, (X[:, :3], X[:, 1:])),
    "matrix @ vector": (ops.matmul, (X, ROW)),
    "vector @ vector": (ops.matmul, (ROW, ROW + 1)),
    "outer": (ops.outer, (ROW, ROW)),
    "linear": (ops.linear, (X, positive(5, 4), positive(5))),
    "linear, batched": (ops.linear, (BATCH, positive(5, 4))),
    "einsum": (lambda a, b: ops.einsum("bij,ik->bkj", a, b), (BATCH, positive(3, 5))),
    "einsum, a permutation": (lambda a: ops.einsum("ij->ji", a), (X,)),
    "layer_norm": (ops.layer_norm, (X, ROW, ROW + 1)),
    "rms_norm": (ops.rms_norm, (X, ROW)),
    "group_norm": (lambda x, w, b: ops.group_norm(x, w, b, num_groups=3), (BATCH, ROW[:3], ROW[1:])),
    "instance_norm": (ops.instance_norm, (BATCH,)),
    "batch_norm": (ops.batch_norm, (X, ROW, ROW + 1)),
    "batch_norm, running statistics": (ops.batch_norm, (X, ROW, ROW + 1, ROW, ROW + 2)),
    "all_sum": (ops.all_sum, (X,)),
    "sync_batch_norm": (ops.sync_batch_norm, (X, ROW, ROW + 1)),
    "batch_norm_relu": (lambda x, y: ops.batch_norm_relu(x, skip=y), (X, Y)),
    "embedding": (lambda w: ops.embedding(LABELS, w, padding_idx=1), (SQUARE,)),
    "add_rows": (lambda x: ops.table.add_rows(x, LABELS, rows=4), (X,)),
    "set_at": (lambda x, y: ops.parts.set_at(y[0], x, index=(slice(1, None),)), (X, Y)),
    "attention": (ops.scaled_dot_product_attention, (BATCH, BATCH, BATCH)),
    "attention, causal": (lambda q, k: ops.scaled_dot_product_attention(q, k, k, is_causal=True), (SQUARE, X)),
    "lstm": (ops.lstm, (positive(3, 2, 8), positive(2, 2), positive(2, 2), positive(8, 2))),
    "gru": (ops.gru, (positive(3, 2, 6), positive(2, 2), positive(6, 2), positive(6))),
    "self_attention": (lambda x: ops.self_attention(x, num_heads=2), (positive(2, 3, 12),)),
    "cross_entropy": (lambda x: ops.cross_entropy(x, LABELS, label_smoothing=0.1), (X,)),
    "cross_entropy of probabilities": (ops.cross_entropy, (X, Y)),
    "nll_loss": (lambda x: ops.nll_loss(x, LABELS), (X,)),
    "spread": (lambda x: ops.reduce.spread(x, shape=(3, 4), axis=0), (ROW,)),
    "take_taps": (lambda x: ops.pool.take_taps(x, index=WHICH, windows=WINDOWS), (positive(2, 5),)),
    "put_taps": (lambda x: ops.pool.put_taps(x, index=WHICH, shape=(2, 5), windows=WINDOWS), (positive(2, 3),)),
    "map_axes_back": (lambda x: ops.padding.map_axes_back(x, maps=(3, ops.padding.map_of(np.array([1, 0, 1, 1]), 2))),
                      (X,)),
    "resample_back": (lambda x: resample_back(x, axis=1, taps=NEIGHBOURS), (positive(2, 3, 2),)),
    "put_onto": (lambda x, s: ops.parts.put_onto(x, s, index=(np.array([0, 2, 0]),)), (X, positive(3, 4))),
    "take_last": (lambda x: take_last(x, Tensor([[2], [0], [2]]), shape=(3, 4), axis=0), (X,)),
    "mse_loss": (ops.mse_loss, (X, Y)),
    "erfinv": (lambda x: ops.erfinv(x.tanh()), (X,)),
    "logit": (lambda x: ops.logit(x.sigmoid()), (X,)),
    "lerp": (ops.lerp, (X, Y, ROW)),
    "mse_loss, none": (lambda x, y: ops.mse_loss(x, y, reduction="none"), (X, Y)),
    "l1_loss": (ops.l1_loss, (X, Y)),
    "huber_loss": (ops.huber_loss, (X, Y)),
    "smooth_l1_loss": (ops.smooth_l1_loss, (X, Y)),
    "binary_cross_entropy": (ops.binary_cross_entropy, (X, Y)),
    "binary_cross_entropy_with_logits": (ops.binary_cross_entropy_with_logits, (X, Y)),
    "max_pool2d": (lambda x: ops.max_pool2d(x, 2, 1), (BATCH,)),
    "max_pool1d": (lambda x: ops.max_pool1d(x, 3, 2, 1), (X,)),
    "avg_pool2d": (lambda x: ops.avg_pool2d(x, 2, 1, 1), (BATCH,)),
    "avg_pool1d": (lambda x: ops.avg_pool1d(x, 2), (X,)),
    "adaptive_avg_pool2d": (lambda x: ops.adaptive_avg_pool2d(x, (2, 3)), (BATCH,)),
    "interpolate": (lambda x: ops.interpolate(x, scale_factor=2), (BATCH,)),
    "interpolate to a size": (lambda x: ops.interpolate(x, size=5), (BATCH,)),
    "drop": (lambda x: drop(x, p=0.4, key=np.array(3)), (X,)),
    "dropout, p=1": (lambda x: ops.dropout(x, 1.0), (X,)),
    "kl_div": (ops.kl_div, (np.log(X), Y)),
}


def run(name, dtype="float32", arrays=None, **how):
    """Inputs, output, cotangent and gradients of one op."""
    f, inputs = OPS[name]
    xs = [Tensor.from_numpy(x).requires_grad_() for x in (arrays or [x.astype(dtype) for x in inputs])]
    y = f(*xs)
    g = Tensor(np.random.default_rng(1).standard_normal(y.shape), dtype=dtype)
    return xs, y, g, y.gradient(*xs, gradient=g, retain_graph=True, materialize_grads=True, **how)


@pytest.fixture(params=OPS)
def name(request):
    return request.param


@pytest.mark.parametrize("create_graph", [False, True])
def test_inputs_and_cotangents_are_not_changed(name, create_graph):
    """They are made read-only, so that a write raises, and compared besides (a kernel would not notice the flag)."""
    arrays = [x.astype(np.float32) for x in OPS[name][1]]
    copies = [x.copy() for x in arrays]
    for x in arrays:
        x.flags.writeable = False
    xs, y, g, _ = run(name, arrays=arrays, create_graph=create_graph)
    before = g.data.copy()
    value = y.data.copy()
    g.data.flags.writeable = False
    y.backward(g, create_graph=create_graph)
    assert all(np.array_equal(x, c) for x, c in zip(arrays, copies, strict=True))
    assert np.array_equal(g.data, before) and np.array_equal(y.data, value)


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_share_no_memory(name, create_graph):
    xs, y, g, gradients = run(name, create_graph=create_graph)
    y.backward(g, create_graph=create_graph)
    grads = gradients + [x.grad for x in xs if x.grad is not None]
    others = [*xs, y, g]
    for i, grad in enumerate(grads):
        for other in others + grads[:i]:
            assert not np.shares_memory(grad.data, other.data)
        assert grad.data.flags.writeable


def arrays_in(value):
    if isinstance(value, tuple | list):
        return [x for part in value for x in arrays_in(part)]
    return [value.data if isinstance(value, Tensor) else value] if isinstance(value, Tensor | np.ndarray) else []


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cotangents_that_are_said_to_be_fresh_are(dtype, monkeypatch):
    """They share memory with nothing that the rule was given, nor with each other or those of an earlier call."""
    earlier = {}

    def checking(op):
        def pull(node, g, parents):
            given = arrays_in([g, *node.saved])
            cotangents = type(op).pull(op, node, g, parents)
            made = earlier.setdefault(op.name, [])
            for c in arrays_in(cotangents):
                assert not any(np.shares_memory(c, x) for x in given + made), op
                assert c.flags.writeable
                made.append(c)
            return cotangents

        return pull

    for op in declared:
        if op.fresh:
            monkeypatch.setattr(op, "pull", checking(op))
    for name in OPS:
        with setting("compiled", True):  # kernels take few numbers, too
            _, y, g, _ = run(name, dtype)
        y.backward(g)
    assert earlier.keys() >= {op.name for op in declared if op.fresh and (
                                  op.rules or op.joint and (dtype == "float32" or not isinstance(op, Composite))) and
                              op.__wrapped__.__module__.startswith(ops.__name__)}


LARGE = sorted([op for op in declared if isinstance(op, Ufunc) and op.large[1]], key=lambda op: op.name)


@pytest.mark.parametrize("op", LARGE, ids=lambda op: op.name)
def test_rules_that_have_a_kernel_serve_large_arrays_of_other_dtypes(op):
    inputs, few = ([Tensor(np.full(n, 0.5), requires_grad=True) for _ in op.inputs] for n in (2 * op.large[0], 1))
    for _ in range(3):  # from the second call on each op has its own code
        for found, expected in zip(op(*inputs).sum().gradient(*inputs), op(*few).sum().gradient(*few), strict=True):
            np.testing.assert_allclose(found.numpy(), np.broadcast_to(expected.numpy(), found.shape))


def test_dtype_and_shape_are_kept(name):
    for dtype in ("float32", "float64"):
        xs, y, _, gradients = run(name, dtype)
        assert y.dtype == dtype
        for x, grad in zip(xs, gradients, strict=True):
            assert grad.dtype == dtype and grad.shape == x.shape


def test_float32_agrees_with_float64(name):
    _, y, _, gradients = run(name, "float32", [x.astype(np.float32) for x in OPS[name][1]])
    _, y64, _, gradients64 = run(name, "float64", [x.astype(np.float32).astype(np.float64) for x in OPS[name][1]])
    for a, b in zip([y, *gradients], [y64, *gradients64], strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_any_memory_layout_gives_the_same(name):
    def odd(x):
        """The same values in Fortran order, every second element of a larger array."""
        wide = np.empty([2 * n for n in x.shape], np.float32, order="F")
        out = wide[tuple(slice(None, None, 2) for _ in x.shape)]
        out[...] = x
        return out

    _, y, _, gradients = run(name)
    _, y2, _, gradients2 = run(name, arrays=[odd(x) for x in OPS[name][1]])
    for a, b in zip([y, *gradients], [y2, *gradients2], strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)
        assert b.shape == a.shape


def test_results_are_tensors_on_the_graph_or_not_at_all(name):
    f, inputs = OPS[name]
    assert run(name)[1].requires_grad
    y = f(*[Tensor(x) for x in inputs])
    assert isinstance(y, Tensor) and not y.requires_grad and y.node is None


# Dtypes ---------------------------------------------------------------------------------------------------------------

f32, f64 = Tensor([1.5, 2.5]), Tensor([1.5, 2.5], dtype="float64")
i64, i32, u8, bools = (Tensor([1, 2], dtype=d) for d in ("int64", "int32", "uint8", "bool"))


@pytest.mark.parametrize(("make", "dtype"), [
    (lambda: f32 + f32, "float32"), (lambda: f64 + f64, "float64"), (lambda: f32 + f64, "float64"),
    (lambda: f32 * i64, "float32"), (lambda: i32 * f32, "float32"), (lambda: u8 - f32, "float32"),
    (lambda: f32 * bools, "float32"), (lambda: f64 * i64, "float64"), (lambda: bools * f64, "float64"),
    (lambda: i64 + i64, "int64"), (lambda: i32 + i32, "int32"), (lambda: i32 + i64, "int64"),
    (lambda: u8 + u8, "uint8"), (lambda: i64 + bools, "int64"), (lambda: bools + bools, "bool"),
    (lambda: i64 / i64, "float32"), (lambda: u8 / 255, "float32"), (lambda: 1 / i64, "float32"),
    (lambda: i64 // 2, "int64"), (lambda: i64 % 2, "int64"), (lambda: i64**2, "int64"), (lambda: i64**0.5, "float32"),
    # Python scalars are weak, and NumPy's too: they take the Tensor's dtype, and make a float of an integer.
    (lambda: f32 * 2, "float32"), (lambda: f32 * 2.5, "float32"), (lambda: 2.5 - f32, "float32"),
    (lambda: f32 + True, "float32"), (lambda: f32 / np.sqrt(2), "float32"), (lambda: np.float64(2) * f32, "float32"),
    (lambda: f32 * np.float32(2), "float32"),
    (lambda: f64 * np.float32(2), "float64"), (lambda: f64 * 2.5, "float64"), (lambda: f64 * np.int64(2), "float64"),
    (lambda: i64 * 2, "int64"), (lambda: i64 * 2.5, "float32"), (lambda: i64 * np.float64(2.5), "float32"),
    (lambda: i32 * np.int64(2), "int32"), (lambda: u8 + 1, "uint8"), (lambda: bools * 2.5, "float32"),
    (lambda: f32.maximum(0), "float32"), (lambda: f64.clip(0, 1), "float64"), (lambda: i64.clip(0, 1), "int64"),
    (lambda: ops.where(bools, f32, 0.0), "float32"), (lambda: ops.where(bools, f64, 0), "float64"),
    (lambda: ops.where(bools, i64, 0), "int64"), (lambda: ops.where(bools, i64, 0.5), "float32"),
    (lambda: ops.where(bools, 1.0, 0.0), "float32"), (lambda: ops.where(bools, f32, i64), "float32"),
    # Arrays are not: they are Tensors of their dtype.
    (lambda: f32 * np.ones(2), "float64"), (lambda: np.ones(2, np.float32) * f32, "float32"),
    (lambda: f32 + [1.0, 2.0], "float32"),
    # Functions of integers are float32.
    (lambda: i64.exp(), "float32"), (lambda: u8.exp(), "float32"), (lambda: bools.exp(), "float32"),
    (lambda: i32.sqrt(), "float32"),
    (lambda: i64.erf(), "float32"), (lambda: i64.sigmoid(), "float32"), (lambda: i64.leaky_relu(), "float32"),
    (lambda: i64.softmax(), "float32"), (lambda: i64.mean(), "float32"), (lambda: i64.var(), "float32"),
    (lambda: i64.relu(), "int64"), (lambda: i64.abs(), "int64"), (lambda: -i32, "int32"),
    (lambda: i64 @ f32, "float32"),
    # Sums and products count in int64.
    (lambda: bools.sum(), "int64"), (lambda: u8.sum(), "int64"), (lambda: i32.sum(), "int64"),
    (lambda: u8.cumsum(), "int64"),
    (lambda: u8.prod(), "int64"), (lambda: u8.max(), "uint8"), (lambda: f32.sum(), "float32"),
    (lambda: f64.mean(), "float64"),
    # Comparisons are bool, positions int64.
    (lambda: f32 > 1, "bool"), (lambda: i64 == i64, "bool"), (lambda: f32.isnan(), "bool"), (lambda: ~bools, "bool"),
    (lambda: bools & bools, "bool"), (lambda: f32.any(), "bool"), (lambda: f32.argmax(), "int64"),
    (lambda: f32.argsort(), "int64"), (lambda: i64.one_hot(3), "int64"), (lambda: f32.sort()[1], "int64"),
    # Casts.
    (lambda: f32.double(), "float64"), (lambda: f64.float(), "float32"), (lambda: f32.int(), "int32"),
    (lambda: f32.long(), "int64"), (lambda: f32.bool(), "bool"), (lambda: f32.cast("uint8"), "uint8"),
    (lambda: ops.cast(f32, dtype="float64"), "float64"), (lambda: f32.to(np.float64), "float64"),
    # Moving keeps the dtype.
    (lambda: u8.reshape(2, 1), "uint8"), (lambda: ops.cat(i32, i32), "int32"), (lambda: bools[0], "bool"),
    (lambda: i32.pad((1, 1)), "int32"), (lambda: i64.scatter(0, [0], Tensor([5])), "int64"),
    (lambda: i64.scatter(0, [0], 5), "int64"),
    (lambda: bools.scatter(0, [0], True), "bool"), (lambda: i64.scatter_add(0, [0], 5), "int64"),
    (lambda: u8.T, "uint8"),
])
def test_result_dtypes(make, dtype):
    assert make().dtype == dtype


@pytest.mark.parametrize(("data", "dtype"), [
    (1, "int64"), (1.5, "float32"), (True, "bool"), ([1, 2], "int64"), ([1.0, 2], "float32"), ([[True]], "bool"),
    ([], "float32"),
    (np.arange(2), "int64"), (np.arange(2.0), "float64"), (np.float64(1), "float64"), (np.float32(1), "float32"),
    (np.zeros(2, np.uint8), "uint8"), (np.zeros(2, ">f4"), "float32"), ([np.float64(1)], "float32"),
    (range(3), "int64"), (Tensor([1.0], dtype="float64"), "float64"),
])
def test_dtypes_of_data(data, dtype):
    assert Tensor(data).dtype == dtype
    assert Tensor(data).dtype is np.dtype(dtype)  # the one object, since dtypes are compared with `is`
    assert Tensor(data, dtype="float64").dtype == "float64"


def test_dtypes_from_elsewhere_are_the_same_objects():
    """A dtype that went through a pickle equals np.dtype("float32") without being it."""
    for name in ("float32", "float64", "int64", "bool"):
        array = pickle_round_trip(np.ones(2, name))
        for t in (Tensor(array), Tensor.from_numpy(array), Tensor(array.tolist(), dtype=array.dtype), f32 * 0 + 1):
            assert t.dtype is np.dtype(t.dtype.name)
    weight, x = Tensor(pickle_round_trip(np.ones((1, 2), np.float32))), Tensor([1.0, 2.0], requires_grad=True)
    ops.linear(x, weight).sum().backward()
    mask = pickle_round_trip(np.array([True, False]))
    assert x[mask].shape == (1,) and ops.where(Tensor(mask), x, 0.0).dtype == "float32"


def pickle_round_trip(array):
    return pickle.loads(pickle.dumps(array))


def test_mixed_dtypes_get_gradients_of_their_own():
    a, b, k = Tensor([1.5], requires_grad=True), Tensor([2.5], requires_grad=True, dtype="float64"), Tensor([3])
    da, db = (a * b * k).sum().gradient(a, b)
    assert (da.dtype, db.dtype) == ("float32", "float64") and da.item() == 7.5 and db.item() == 4.5
    da, db = ops.where([True], a, b).sum().gradient(a, b)
    assert (da.dtype, db.dtype) == ("float32", "float64")
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    for y in (x * [[1, 2]], x / Tensor([1, 2]), x ** Tensor([1, 2]), x @ Tensor([[1], [2]]), x.maximum(Tensor([1, 2]))):
        for how in ({}, {"create_graph": True}):
            g, = y.sum().gradient(x, retain_graph=True, **how)
            assert y.dtype == g.dtype == "float32" and np.isfinite(g.detach().numpy()).all()


def test_weak_scalars_lose_no_digits():
    """The log of a Python 2 is taken in double precision, whatever the dtype of x."""
    for base in (2, 2.0, np.float32(2)):
        x = Tensor([1.5], requires_grad=True, dtype="float64")
        g, = (base**x).gradient(x)
        assert g.item() == pytest.approx(2**1.5 * np.log(2), rel=1e-15)


def test_a_cast_to_integers_ends_the_graph():
    x = Tensor([1.7], requires_grad=True)
    assert not x.int().requires_grad and not (x > 1).requires_grad and not x.argmax().requires_grad
    y = x.double().float() * 2
    assert y.gradient(x)[0].dtype == "float32"


# Empty and 0-d --------------------------------------------------------------------------------------------------------


def empty(*shape):
    return Tensor(np.zeros(shape, np.float32), requires_grad=True)


@pytest.mark.parametrize(("f", "inputs", "shape"), [
    (lambda x: x + 1, [(0,)], (0,)), (lambda x, y: x * y, [(0, 3), (3,)], (0, 3)),
    (lambda x, y: x / y, [(0, 1), (1, 2)], (0, 2)),
    (lambda x: x.exp(), [(2, 0)], (2, 0)), (lambda x: x.erf(), [(0,)], (0,)), (lambda x: x.gelu(), [(0,)], (0,)),
    (lambda x: x.sum(), [(0,)], ()), (lambda x: x.sum(axis=0), [(0, 3)], (3,)),
    (lambda x: x.sum(axis=1), [(0, 3)], (0,)),
    (lambda x: x.mean(axis=1), [(0, 3)], (0,)), (lambda x: x.max(axis=1), [(0, 3)], (0,)),
    (lambda x: x.prod(), [(0,)], ()),
    (lambda x: x.prod(axis=0), [(0, 3)], (3,)), (lambda x: x.prod(axis=1), [(0, 3)], (0,)),
    (lambda x: x.cumsum(), [(0, 3)], (0, 3)),
    (lambda x: x.var(axis=1), [(0, 3)], (0,)), (lambda x: x.norm(), [(0,)], ()),
    (lambda x: x.norm(axis=0), [(0, 3)], (3,)),
    (lambda x: x.softmax(), [(0, 3)], (0, 3)), (lambda x: x.log_softmax(axis=1), [(0, 3)], (0, 3)),
    (lambda x: x.logsumexp(axis=1), [(0, 3)], (0,)), (lambda x: x.sigmoid(), [(0,)], (0,)),
    (ops.matmul, [(2, 0), (0, 3)], (2, 3)), (ops.matmul, [(0, 2), (2, 3)], (0, 3)), (ops.matmul, [(0,), (0,)], ()),
    (ops.matmul, [(0, 2, 3), (3, 4)], (0, 2, 4)), (ops.matmul, [(0, 2, 3), (0, 3, 4)], (0, 2, 4)),
    (ops.linear, [(0, 3), (2, 3), (2,)], (0, 2)), (ops.linear, [(2, 0), (3, 0), (3,)], (2, 3)),
    (lambda a, b: ops.einsum("ij,jk->ik", a, b), [(2, 0), (0, 3)], (2, 3)), (ops.outer, [(0,), (3,)], (0, 3)),
    (ops.cat, [(0, 3), (2, 3)], (2, 3)), (ops.cat, [(0,), (0,)], (0,)), (ops.stack, [(0, 3), (0, 3)], (2, 0, 3)),
    (lambda x: x.reshape(3, 0), [(0, 2)], (3, 0)), (lambda x: x.reshape(-1, 2), [(0, 2)], (0, 2)),
    (lambda x: x.flatten(), [(0, 2)], (0,)), (lambda x: x.T, [(0, 2)], (2, 0)),
    (lambda x: x.expand(0, 3), [(1, 3)], (0, 3)), (lambda x: x.expand(4, 0), [(0,)], (4, 0)),
    (lambda x: x.flip(0), [(0, 2)], (0, 2)),
    (lambda x: x.roll(1), [(0,)], (0,)), (lambda x: x.pad((1, 2)), [(0,)], (3,)),
    (lambda x: x.repeat(2, 3), [(0, 2)], (0, 6)),
    (lambda x: x.repeat(0, 1), [(3, 2)], (0, 2)), (lambda x: x.split(2)[0], [(0, 2)], (0, 2)),
    (lambda x: x.tril(), [(0, 2)], (0, 2)), (lambda x: x[1:1], [(3, 2)], (0, 2)), (lambda x: x[[]], [(3, 2)], (0, 2)),
    (lambda x: x[np.zeros(3, bool)], [(3, 2)], (0, 2)),
    (lambda x: x[:, None], [(0, 2)], (0, 1, 2)), (lambda x: x.gather(0, np.zeros((0, 2), int)), [(3, 2)], (0, 2)),
    (lambda x: x.sort()[0], [(0, 2)], (0, 2)), (lambda x: x.topk(0)[0], [(3,)], (0,)),
    (lambda x: ops.where(np.zeros((0,), bool), x, 0.0), [(0,)], (0,)), (lambda x: x.clip(0, 1), [(0,)], (0,)),
    (lambda x: ops.cross_entropy(x, np.zeros(0, int), reduction="sum"), [(0, 3)], ()),
    (lambda x: ops.cross_entropy(x, np.zeros(0, int), reduction="none"), [(0, 3)], (0,)),
    (lambda x: ops.cross_entropy(x, np.zeros((0, 5), int), reduction="none"), [(0, 3, 5)], (0, 5)),
    (lambda x: ops.nll_loss(x, np.zeros(0, int), reduction="sum"), [(0, 3)], ()),
    (lambda x: ops.mse_loss(x, np.zeros((0, 3), np.float32), reduction="sum"), [(0, 3)], ()),
    (ops.glu, [(0, 4)], (0, 2)),
])
@pytest.mark.parametrize("create_graph", [False, True])
def test_empty(f, inputs, shape, create_graph):
    xs = [empty(*s) for s in inputs]
    y = f(*xs)
    assert y.shape == shape and y.dtype == "float32"
    gradients = y.gradient(*xs, gradient=np.ones(shape), create_graph=create_graph, materialize_grads=True)
    assert [g.shape for g in gradients] == [x.shape for x in xs]
    assert all(np.isfinite(g.detach().numpy()).all() for g in gradients)


def test_the_sum_of_nothing_is_0_and_the_product_1():
    assert empty(0).sum().item() == 0 and empty(0).prod().item() == 1
    assert (empty(2, 0) @ empty(0, 3)).detach().numpy().tolist() == [[0, 0, 0]] * 2
    assert ops.linear(empty(1, 0), empty(2, 0), Tensor([1.0, 2.0])).detach().numpy().tolist() == [[1, 2]]


def test_a_mean_over_no_label_is_nan_with_gradient_0():
    """As in PyTorch: a batch whose labels are all ignored does not disturb the weights."""
    for loss in (ops.cross_entropy, ops.nll_loss):
        for how in ({}, {"create_graph": True}):
            x = Tensor(np.ones((2, 3)), requires_grad=True, dtype="float32")
            y = loss(x, [-100, -100])
            assert np.isnan(y.item())
            assert y.gradient(x, **how)[0].detach().numpy().tolist() == [[0, 0, 0]] * 2


def test_masked_classes_do_not_disturb_the_others():
    """A logit of -inf is a class that cannot be: if it is not the label, loss and gradient are finite."""
    x = Tensor([[0.0, -np.inf, 1.0], [-np.inf, 0.0, 0.0]], requires_grad=True)
    for loss in (ops.cross_entropy, lambda x, t: ops.nll_loss(x.log_softmax(), t)):
        for how in ({}, {"create_graph": True}):
            y = loss(x, [0, -100])
            assert y.item() == pytest.approx(np.log(1 + np.e))
            g, = y.gradient(x, **how)
            p = 1 / (1 + np.e)
            np.testing.assert_allclose(g.detach().numpy(), [[p - 1, 0, 1 - p], [0, 0, 0]], atol=1e-6)


@pytest.mark.parametrize(("f", "value", "slope"), [
    (lambda x: x * x, 4, 4), (lambda x: x.exp(), np.exp(2), np.exp(2)), (lambda x: x.sum(), 2, 1),
    (lambda x: x.mean(), 2, 1),
    (lambda x: x.max(), 2, 1), (lambda x: x.prod(), 2, 1), (lambda x: x.norm(), 2, 1), (lambda x: x.logsumexp(), 2, 1),
    (lambda x: x.reshape(1)[0], 2, 1), (lambda x: x.unsqueeze(0).squeeze(), 2, 1), (lambda x: x.expand(3).sum(), 6, 3),
    (lambda x: x[None].sum(), 2, 1), (lambda x: x[...], 2, 1), (lambda x: x[()], 2, 1),
    (lambda x: x.flatten().sum(), 2, 1),
    (lambda x: ops.stack(x, x).sum(), 4, 2), (lambda x: ops.where(True, x, 0.0), 2, 1), (lambda x: x.clip(0, 1), 1, 0),
    (lambda x: ops.einsum(",->", x, x), 4, 4), (lambda x: x.T, 2, 1), (lambda x: x.flip(), 2, 1),
    (lambda x: x.gelu(), None, None),
    (lambda x: x.softplus(), np.log1p(np.exp(2)), 1 / (1 + np.exp(-2))), (lambda x: ops.mse_loss(x, Tensor(1.0)), 1, 2),
    (lambda x: x[True].sum(), 2, 1), (lambda x: x.erf(), None, None), (lambda x: x.silu(), None, None),
])
@pytest.mark.parametrize("create_graph", [False, True])
def test_0d(f, value, slope, create_graph):
    x = Tensor(2.0, requires_grad=True)
    y = f(x)
    g, = y.gradient(x, create_graph=create_graph)
    assert x.shape == y.shape == g.shape == () and y.dtype == g.dtype == "float32"
    assert isinstance(y.data, np.ndarray) and isinstance(g.data, np.ndarray)
    if value is not None:
        assert y.item() == pytest.approx(value, rel=1e-6) and g.item() == pytest.approx(slope, rel=1e-6)
