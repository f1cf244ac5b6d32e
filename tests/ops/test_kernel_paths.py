"""Large float32 inputs run in kernels, float64 in NumPy: both paths of every op that has two must agree."""

import numpy as np
import pytest

import nn.functional as F
from tinygrad_like import Tensor, linalg, ops
from tinygrad_like.ops.dropout import drop

rng = np.random.default_rng(3)
LABELS = rng.integers(0, 40, 300)
IGNORED = np.where(rng.random(300) < 0.2, -100, LABELS)
SEEN = Tensor(rng.random((2, 1, 70, 40)) < 0.3)
MASK = Tensor(rng.random((300, 40)) < 0.4)


def real(*shape):
    return rng.standard_normal(shape)


CASES = {
    "relu": (ops.relu, real(300, 40)),
    "gelu of few": (ops.gelu, 3 * real(7)),
    "silu of few": (ops.silu, 4 * real(7)),
    "keep_positive": (ops.activation.keep_positive, real(300, 40), real(300, 40)),
    "leaky_relu": (lambda x: ops.leaky_relu(x, negative_slope=0.2), real(300, 40)),
    "sigmoid": (ops.sigmoid, 4 * real(300, 40)),
    "tanh": (ops.tanh, 2 * real(300, 40)),
    "erf": (ops.erf, 2 * real(300, 40)),
    "silu": (ops.silu, 4 * real(300, 40)),
    "gelu": (ops.gelu, 3 * real(300, 40)),
    "gelu tanh": (lambda x: ops.gelu(x, approximate="tanh"), 3 * real(300, 40)),
    "softplus": (lambda x: ops.softplus(x, beta=1.5), 4 * real(300, 40)),
    "elu": (lambda x: ops.elu(x, alpha=0.7), real(300, 40)),
    "celu": (lambda x: ops.celu(x, 0.7), 3 * real(300, 40)),
    "selu": (ops.selu, 3 * real(300, 40)),
    "softsign": (ops.softsign, 3 * real(300, 40)),
    "quick_gelu": (ops.quick_gelu, 3 * real(300, 40)),
    "mish": (ops.mish, 8 * real(300, 40)),
    "relu6": (ops.relu6, 4 * real(300, 40)),
    "hardswish": (ops.hardswish, 4 * real(300, 40)),
    "hardsigmoid": (lambda x: ops.hardsigmoid(x, 0.3, 0.4), 4 * real(300, 40)),
    "hardtanh": (lambda x: ops.hardtanh(x, -0.3, 0.4), real(300, 40)),
    "exp2": (ops.exp2, 3 * real(300, 40)),
    "erfinv": (lambda x: ops.erfinv(0.9 * ops.tanh(x)), real(300, 40)),
    "frac": (lambda x: ops.frac(x) * x, 3 * real(300, 40)),
    "logit": (lambda x: ops.logit(0.9 * ops.sigmoid(x)), real(300, 40)),
    "lerp": (lambda a, b: ops.lerp(a, b, 0.3), real(300, 40), real(300, 40)),
    "lerp by weights": (ops.lerp, real(300, 40), real(40), real(300, 1)),
    "hypot": (ops.hypot, real(300, 40), real(300, 40)),
    "hypot of a row": (ops.hypot, real(300, 40), real(40)),
    "atan2": (ops.atan2, real(300, 40), real(300, 40)),
    "atan2 of a column": (ops.atan2, real(300, 40), real(300, 1)),
    "logaddexp": (ops.logaddexp, 5 * real(300, 40), 5 * real(300, 40)),
    "logaddexp of a number": (lambda x: ops.logaddexp(x, 0.5), 5 * real(300, 40)),
    "softmax": (ops.softmax, 3 * real(300, 40)),
    "log_softmax": (ops.log_softmax, 3 * real(300, 40)),
    "softmax of batches": (ops.softmax, real(5, 60, 40)),
    "softmax over the first axis": (lambda x: ops.softmax(x, axis=0), real(300, 40)),
    "softmax over a middle axis": (lambda x: ops.softmax(x, axis=1) * ops.softmax(2 * x, axis=-2), real(5, 60, 40)),
    "log_softmax over a middle axis": (
        lambda x: ops.log_softmax(x, axis=1) + ops.log_softmax(2 * x, axis=-2), real(5, 60, 40)),
    "add": (ops.add, real(300, 240), real(300, 240)),
    "mul": (ops.mul, real(300, 240), real(300, 240)),
    "sub a row": (ops.sub, real(300, 240), real(240)),
    "mul by a column": (ops.mul, real(300, 240), real(300, 1)),
    "div": (ops.div, real(300, 240), real(300, 240) + 5),
    "div of a row": (ops.div, real(240), real(300, 240) + 5),
    "numbers": (lambda x: (1 - x * 0.5 + 2) / 3, real(300, 240)),
    "sum": (lambda x: x.sum(), real(300, 40)),
    "sum columns": (lambda x: x.sum(axis=0), real(300, 40)),
    "sum rows": (lambda x: x.sum(axis=1, keepdim=True), real(300, 40)),
    "sum leading axes": (lambda x: x.sum(axis=(0, 1)), real(5, 60, 40)),
    "sum trailing axes": (lambda x: x.sum(axis=(1, 2), keepdim=True), real(5, 60, 40)),
    "sum a middle axis": (lambda x: x.sum(axis=1), real(5, 60, 40)),
    "mean": (lambda x: x.mean(axis=-1), real(5, 60, 40)),
    "matmul": (ops.matmul, real(50, 70), real(70, 90)),
    "matmul transposed": (lambda a, b: a.T @ b.T, real(70, 50), real(90, 70)),
    "matmul batched": (ops.matmul, real(3, 2, 40, 40), real(2, 40, 33)),
    "matmul of few": (ops.matmul, real(3, 2, 4, 20), real(2, 20, 33)),
    "matmul tall": (ops.matmul, real(3, 40, 60), real(60, 50)),
    "matmul tall of few": (ops.matmul, real(3, 4, 6), real(6, 5)),
    "matmul of one with many": (ops.matmul, real(40, 60), real(3, 60, 50)),
    "where": (lambda a, b: ops.where(MASK, a, b), real(300, 40), real(300, 40)),
    "where a number": (lambda a: ops.where(MASK, 0.5, a) + ops.where(MASK, a, -1.0), real(300, 40)),
    "where of batches": (lambda a: ops.where(MASK, a, 0.0), real(3, 300, 40)),
    "tanh of a part": (lambda x: ops.tanh(x[:, :20]) * ops.sigmoid(x[:, 20:]), real(300, 40)),
    "power": (lambda x: x**2 + x**3 - x**4, real(300, 40)),
    "linear": (ops.linear, real(60, 70), real(50, 70), real(50)),
    "linear over axes": (ops.linear, real(6, 10, 70), real(50, 70), real(50)),
    "linear without bias": (ops.linear, real(60, 70), real(50, 70)),
    "einsum": (lambda q, k: Tensor.einsum("bqhd,bkhd->bhqk", q, k), real(2, 30, 4, 16), real(2, 30, 4, 16)),
    "cross_entropy": (lambda x: ops.cross_entropy(x, Tensor(LABELS)), 3 * real(300, 40)),
    "cross_entropy sum": (lambda x: ops.cross_entropy(x, Tensor(LABELS), reduction="sum"), 3 * real(300, 40)),
    "cross_entropy none": (lambda x: ops.cross_entropy(x, Tensor(LABELS), reduction="none"), 3 * real(300, 40)),
    "cross_entropy smooth": (lambda x: ops.cross_entropy(x, Tensor(LABELS), label_smoothing=0.1), 3 * real(300, 40)),
    "cross_entropy weighted": (
        lambda x: ops.cross_entropy(x, Tensor(IGNORED), Tensor(np.linspace(0.5, 2, 40).astype(x.dtype)),
                                    label_smoothing=0.2), 3 * real(300, 40)),
    "cross_entropy of images": (
        lambda x: ops.cross_entropy(x, Tensor(IGNORED.reshape(3, 10, 10))), 3 * real(3, 40, 10, 10)),
    "cross_entropy all ignored": (
        lambda x: ops.cross_entropy(x, Tensor(np.full(300, -100)), reduction="sum"), real(300, 40)),
    "cross_entropy probabilities": (
        lambda x, t: ops.cross_entropy(x, t.softmax()), 3 * real(300, 40), real(300, 40)),
    "conv2d": (lambda x, w, b: ops.conv2d(x, w, b, padding=1), real(5, 6, 16, 16), real(9, 6, 3, 3), real(9)),
    "conv2d strided": (lambda x, w: ops.conv2d(x, w, stride=2, padding=1), real(5, 6, 13, 14), real(20, 6, 3, 3)),
    "conv2d depthwise": (lambda x, w, b: ops.conv2d(x, w, b, padding=3, groups=12), real(3, 12, 11, 9),
                         real(12, 1, 7, 7), real(12)),
    "conv2d of patches": (lambda x, w, b: ops.conv2d(x, w, b, stride=4), real(5, 3, 16, 16), real(24, 3, 4, 4),
                          real(24)),
    "conv1d": (lambda x, w, b: ops.conv1d(x, w, b, padding="same", dilation=2), real(4, 6, 70), real(8, 6, 5), real(8)),
    "conv_transpose2d": (lambda x, w, b: ops.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1),
                         real(3, 12, 7, 8), real(12, 7, 3, 3), real(7)),
    "layer_norm": (ops.layer_norm, 3 * real(300, 240) + 1, real(240), real(240)),
    "layer_norm over two axes": (ops.layer_norm, real(30, 20, 40), real(20, 40), real(20, 40)),
    "layer_norm of long rows": (ops.layer_norm, real(3, 9000), real(9000), real(9000)),
    "layer_norm of few numbers": (ops.layer_norm, real(2, 3), real(3), real(3)),
    "layer_norm without parameters": (ops.layer_norm, real(5, 30, 40)),
    "layer_norm, strided": (lambda x, w: ops.layer_norm(x.T, w), real(40, 300), real(40)),
    "rms_norm": (lambda x, w: ops.rms_norm(x, w, eps=1e-6), 3 * real(300, 240) + 1, real(240)),
    "group_norm": (lambda x, w, b: ops.group_norm(x, w, b, num_groups=4), 3 * real(20, 16, 9, 15) + 1, real(16),
                   real(16)),
    "instance_norm": (ops.instance_norm, real(20, 16, 9, 15), real(16), real(16)),
    "batch_norm": (ops.batch_norm, 3 * real(20, 16, 9, 15) + 1, real(16), real(16)),
    "sync_batch_norm": (ops.sync_batch_norm, 3 * real(20, 16, 9, 15) + 1, real(16), real(16)),
    "batch_norm of rows": (ops.batch_norm, 3 * real(300, 150) + 1, real(150), real(150)),
    "batch_norm of large images": (ops.batch_norm, real(2, 3, 80, 90), real(3), real(3)),
    "batch_norm, running statistics": (
        lambda x, w, b, m, v: ops.batch_norm(x, w, b, m.detach(), (v * v + 0.5).detach()),
        3 * real(20, 16, 9, 15) + 1, *real(4, 16)),
    "batch_norm, differentiable statistics": (lambda x, m, v: ops.batch_norm(x, None, None, m, v * v + 0.5),
                                              real(20, 16, 9, 15), *real(2, 16)),
    "batch_norm_relu, a differentiable mean": (
        lambda x, m: ops.batch_norm_relu(x, None, None, m, Tensor(np.linspace(0.5, 2, 16).astype(x.dtype))),
        real(20, 16, 9, 15), real(16)),
    "batch_norm_relu": (ops.batch_norm_relu, 3 * real(20, 16, 9, 15) + 1, real(16), real(16)),
    "batch_norm_relu of rows": (ops.batch_norm_relu, 3 * real(300, 150) + 1, real(150), real(150)),
    "batch_norm_relu with a skip": (lambda x, s, w, b: ops.batch_norm_relu(x, w, b, skip=s), *real(2, 20, 16, 9, 15),
                                    real(16), real(16)),
    "batch_norm_relu of rows with a skip": (lambda x, s, w, b: ops.batch_norm_relu(x, w, b, skip=s),
                                            *real(2, 300, 150), real(150), real(150)),
    "batch_norm_relu, running statistics": (
        lambda x, s, w, b, m, v: ops.batch_norm_relu(x, w, b, m.detach(), (v * v + 0.5).detach(), s),
        *real(2, 20, 16, 9, 15), *real(4, 16)),
    "max_pool2d 2x2": (lambda x: ops.max_pool2d(x, 2), real(40, 3, 32, 34)),
    "max_pool2d 2x2 with a rest": (lambda x: ops.max_pool2d(x, 2), real(4, 3, 31, 33)),
    "max_pool2d 3x3": (lambda x: ops.max_pool2d(x, 3, 2, 1), real(40, 3, 32, 31)),
    "max_pool2d 2x2, padded": (lambda x: ops.max_pool2d(x, 2, 2, 1), real(4, 3, 31, 32)),
    "max_pool2d, any": (lambda x: ops.max_pool2d(x, (5, 3), (3, 1), (2, 1), (1, 2), True), real(4, 3, 29, 32)),
    "max_pool1d": (lambda x: ops.max_pool1d(x, 3, 1, 1), real(4, 30, 100)),
    "max_pool2d of more taps than a byte counts": (lambda x: ops.max_pool2d(x, 17), real(2, 3, 34, 51)),
    "avg_pool2d": (lambda x: ops.avg_pool2d(x, 2), real(40, 3, 32, 34)),
    "avg_pool2d, overlapping": (lambda x: ops.avg_pool2d(x, 3, 2, 1, count_include_pad=False), real(4, 3, 32, 31)),
    "avg_pool2d, any": (lambda x: ops.avg_pool2d(x, (5, 3), (3, 1), (2, 1), True), real(4, 3, 29, 32)),
    "adaptive_avg_pool2d": (lambda x: ops.adaptive_avg_pool2d(x, (8, 4)), real(4, 3, 32, 32)),
    "adaptive_avg_pool2d, unequal": (lambda x: ops.adaptive_avg_pool2d(x, (7, 5)), real(4, 3, 32, 32)),
    "global average": (lambda x: ops.adaptive_avg_pool2d(x, 1), real(4, 30, 16, 16)),
    "interpolate": (lambda x: ops.interpolate(x, scale_factor=2), real(4, 3, 32, 32)),
    "interpolate by three and four": (lambda x: ops.interpolate(x, scale_factor=(3, 4)), real(4, 3, 32, 32)),
    "drop": (lambda x: drop(x, p=0.3, key=np.array(2**62 + 5)), real(300, 140)),
    "drop, small": (lambda x: drop(x, p=0.3, key=np.array(7)), real(5, 20)),
    "attention": (ops.scaled_dot_product_attention, real(2, 3, 70, 16), real(2, 3, 150, 16), real(2, 3, 150, 40)),
    "attention, causal": (lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, is_causal=True),
                          real(6, 200, 16), real(6, 200, 16), real(6, 200, 16)),
    "attention, causal with a mask": (
        lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, SEEN, is_causal=True),
        real(2, 3, 70, 16), real(2, 3, 40, 16), real(2, 3, 40, 16)),
    "attention of views": (
        lambda q, k, v: ops.scaled_dot_product_attention(*[x.transpose(1, 2) for x in (q, k, v)], SEEN),
        real(2, 70, 3, 16), real(2, 40, 3, 16), real(2, 40, 3, 16)),
    "attention of views of columns": (
        lambda q, k, v: ops.scaled_dot_product_attention(q, k.T, v.T), real(70, 16), real(16, 40), real(20, 40)),
    "attention, broadcast heads": (ops.scaled_dot_product_attention, real(2, 3, 70, 16), real(2, 1, 40, 16),
                                   real(3, 40, 16)),
    "attention, added mask": (ops.scaled_dot_product_attention, real(2, 70, 16), real(2, 40, 16), real(2, 40, 16),
                              real(70, 40)),
    "lstm": (ops.lstm, real(7, 13, 120), real(13, 30), real(13, 30), real(120, 30)),
    "lstm, reverse": (lambda *xs: ops.lstm(*xs, reverse=True), real(3, 5, 8), real(5, 2), real(5, 2), real(8, 2)),
    # Weights of size 1 would magnify a rounding from step to step.
    "gru": (ops.gru, real(7, 13, 99), real(13, 33), real(99, 33) / 33**0.5, real(99)),
    "gru, reverse": (lambda *xs: ops.gru(*xs, reverse=True), real(3, 5, 6), real(5, 2), real(6, 2)),
    "lstm, one step": (ops.lstm, real(1, 13, 120), real(13, 30), real(13, 30), real(120, 30) / 30**0.5),
    "gru, one step": (ops.gru, real(1, 13, 99), real(13, 33), real(99, 33) / 33**0.5, real(99)),
    # The state is copied for the first of several calls, and the last one reads, turned, what that writes.
    "gru, one step of a turned state": (lambda x, h, u: ops.gru(x, h.T, u), real(1, 13, 99), real(33, 13),
                                        real(99, 33) / 33**0.5),
    "self_attention": (lambda x: ops.self_attention(x, num_heads=4, is_causal=True), real(3, 100, 96)),
    "embedding": (lambda w: ops.embedding(Tensor(LABELS), w), real(40, 64)),
    "embedding, padding": (lambda w: ops.embedding(Tensor(IGNORED.clip(0)), w, padding_idx=0), real(40, 64)),
    "rows by index": (lambda x: x[IGNORED.clip(-40)], real(40, 64)),
    "a non-contiguous input": (lambda x: ops.gelu(x.T).softmax(), real(40, 300)),
}


@pytest.mark.parametrize("case", CASES)
def test_float32_in_kernels_equals_float64_in_numpy(case):
    f, *values = CASES[case]
    found = []
    for dtype in (np.float32, np.float64):
        inputs = [Tensor(v.astype(dtype), requires_grad=True) for v in values]
        y = f(*inputs)
        assert y.dtype == dtype
        v = np.random.default_rng(1).standard_normal(y.shape).astype(dtype)
        found.append([y, *y.gradient(*inputs, gradient=v, materialize_grads=True)])
    for ours, exact in zip(*found, strict=True):
        scale = np.abs(exact.data).max()
        np.testing.assert_allclose(ours.data, exact.data, rtol=2e-5, atol=3e-6 * scale)


def test_labels_out_of_range_are_named_by_the_kernel_too():
    with pytest.raises(IndexError, match=r"cross_entropy: label 40 is out of range for 40 classes"):
        ops.cross_entropy(Tensor.zeros(300, 40), Tensor(np.where(np.arange(300) == 7, 40, LABELS)))


def test_a_mean_over_no_label_is_nan_with_gradient_zero():
    x = Tensor.zeros(300, 40, requires_grad=True)
    loss = ops.cross_entropy(x, Tensor(np.full(300, -100)))
    assert loss.isnan().item()
    loss.backward()
    assert not x.grad.data.any()


NUMBERS = {  # from rows (40, 30)
    "prod": lambda x: (x * 0.01 + 1).prod(), "sum": lambda x: x.sum(), "mean": lambda x: x.mean(),
    "var": lambda x: x.var(), "max": lambda x: x.max(), "logsumexp": lambda x: x.logsumexp(),
    "norm": lambda x: linalg.norm(x), "median": lambda x: x.median(), "dot": lambda x: x.reshape(-1) @ x.reshape(-1),
    "mse": lambda x: F.mse_loss(x, x.detach() * 0), "l1": lambda x: F.l1_loss(x, x.detach() * 0),
    "huber": lambda x: F.huber_loss(x, x.detach() * 0), "smooth": lambda x: F.smooth_l1_loss(x, x.detach() * 0),
    "cross_entropy": lambda x: F.cross_entropy(x, Tensor(np.arange(40) % 30)),
    "binary": lambda x: F.binary_cross_entropy_with_logits(x, x.detach() * 0),
    "nll": lambda x: F.nll_loss(x, Tensor(np.arange(40) % 30)), "kl": lambda x: F.kl_div(x, x.detach().softmax(-1)),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x).square().sum(),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("outer", [lambda y: y.square(), lambda y: y * 3.0, lambda y: y * y[None].sum()])
def test_the_cotangent_of_a_number_may_be_a_scalar_of_numpys(name, outer):
    rows, found = np.random.default_rng(2).standard_normal((40, 30)), []
    for dtype in "float32", "float64":
        x = Tensor(rows.astype(dtype), requires_grad=True)
        found.append(outer(NUMBERS[name](x)).gradient(x)[0].numpy())
    np.testing.assert_allclose(*found, rtol=2e-3, atol=1e-4 * np.abs(found[1]).max())
