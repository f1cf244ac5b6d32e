"""Calls on arrays large enough for kernels, their blocks and several threads; tests/ops/samples.py has small ones."""

import numpy as np

import nn.functional as F  # noqa: F401  (this and the next ones in the text of calls)
from tinygrad_like import Tensor, ops  # noqa: F401
from tinygrad_like.ops.dropout import drop  # noqa: F401

rng = np.random.default_rng(3)


def real(*shape):
    return rng.standard_normal(shape)


def labels(classes, *shape):
    return Tensor(np.random.default_rng(1).integers(0, classes, shape))


def constant(x, *shape):
    """A constant Tensor of x's dtype."""
    return Tensor(np.random.default_rng(2).uniform(0.5, 2, shape).astype(x.dtype))


IGNORED = np.where(rng.random(300) < 0.2, -100, labels(40, 300).numpy())
SEEN, MASK = Tensor(rng.random((2, 1, 70, 40)) < 0.3), Tensor(rng.random((300, 40)) < 0.4)
CALLS = {  # inputs -> calls on a, b, ...; each call is one sample
    "real(7)": "ops.gelu(3 * a); ops.silu(4 * a)",
    "real(300, 40)": """
        ops.relu(a); ops.leaky_relu(a, 0.2); ops.sigmoid(4 * a); ops.tanh(2 * a); ops.erf(2 * a); ops.silu(4 * a);
        ops.gelu(3 * a); ops.gelu(3 * a, approximate="tanh"); ops.softplus(4 * a, beta=1.5); ops.elu(a, 0.7);
        ops.celu(3 * a, 0.7); ops.selu(3 * a); ops.softsign(3 * a); ops.quick_gelu(3 * a); ops.mish(8 * a);
        ops.relu6(4 * a); ops.hardswish(4 * a); ops.hardsigmoid(4 * a, 0.3, 0.4); ops.hardtanh(a, -0.3, 0.4);
        ops.frac(a) * a; ops.logaddexp(5 * a, 0.5);
        ops.softmax(3 * a); ops.log_softmax(3 * a); ops.softmax(a, axis=0); a.sum();
        a.sum(axis=0); a.sum(axis=1, keepdim=True); a.var(0); a.norm(); a.logsumexp(0); a.logsumexp(1);
        ops.where(MASK, 0.5, a) + ops.where(MASK, a, -1.0); ops.tanh(a[:, :20]) * ops.sigmoid(a[:, 20:]);
        a**2 + a**3 - a**4; ops.gelu(a.T).softmax(); a[:, labels(40, 999)];
        a.gather(0, labels(300, 500, 1).expand(500, 40)); a.t().contiguous() * constant(a, 40, 300);
        ops.cross_entropy(3 * a, labels(40, 300)); ops.cross_entropy(a, labels(40, 300), reduction="sum");
        ops.cross_entropy(a, labels(40, 300), reduction="none"); ops.nll_loss(a, labels(40, 300));
        ops.cross_entropy(a, Tensor(IGNORED), constant(a, 40), label_smoothing=0.2);
        ops.cross_entropy(a, Tensor(np.full(300, -100)), reduction="sum")""",
    "real(300, 40), real(300, 40)": """
        ops.lerp(a, b, 0.3); ops.logaddexp(5 * a, 5 * b); ops.where(MASK, a, b);
        ops.cross_entropy(3 * a, b.softmax())""",
    "real(300, 40), real(40)": "ops.lerp(a, b, constant(a, 300, 1))",
    "real(5, 60, 40)": """
        ops.softmax(a); ops.softmax(a, axis=1) * ops.softmax(2 * a, axis=-2); a.sum(axis=(0, 1)); a.sum(axis=1);
        ops.log_softmax(a, axis=1) + ops.log_softmax(2 * a, axis=-2); a.sum(axis=(1, 2), keepdim=True);
        a.mean(axis=-1); ops.layer_norm(a)""",
    "real(3, 300, 40)": "ops.where(MASK, a, 0.0)",
    "real(300, 240), real(300, 240)": "a + b; a * b; a / (b * b + 5); F.mse_loss(a, b)",
    "real(300, 240), real(240)": "a - b; b / (a * a + 5); ops.rms_norm(3 * a + 1, b, eps=1e-6)",
    "real(300, 240), real(300, 1)": "a * b",
    "real(300, 240)": """
        (1 - a * 0.5 + 2) / 3; a.exp(); a.relu(); -a; a.square(); (a.abs() + 0.5).log(); (a.abs() + 0.5).reciprocal();
        F.mse_loss(a, constant(a, 300, 240), reduction="none"); F.mse_loss(a, constant(a, 300, 240), reduction="sum");
        F.binary_cross_entropy_with_logits(a, constant(a, 300, 240) / 2, reduction="none");
        F.binary_cross_entropy_with_logits(a, constant(a, 300, 240) / 2)""",
    "real(50, 70), real(70, 90)": "a @ b",
    "real(70, 50), real(90, 70)": "a.T @ b.T",
    "real(901, 70), real(901, 33)": "a.T @ b",
    "real(5, 600), real(333, 600)": "a @ b.T",
    "real(101, 7), real(7, 900)": "a @ b",
    "real(3, 2, 40, 40), real(2, 40, 33)": "a @ b",
    "real(3, 2, 4, 20), real(2, 20, 33)": "a @ b",
    "real(3, 40, 60), real(60, 50)": "a @ b",
    "real(40, 60), real(3, 60, 50)": "a @ b",
    "real(60, 70), real(50, 70), real(50)": "ops.linear(a, b, c); ops.linear(a.reshape(6, 10, 70), b, c)",
    "real(60, 70), real(50, 70)": "ops.linear(a, b)",
    "real(2, 30, 4, 16), real(2, 30, 4, 16)": 'Tensor.einsum("bqhd,bkhd->bhqk", a, b)',
    "real(3, 40, 10, 10)": """
        ops.cross_entropy(3 * a, Tensor(IGNORED.reshape(3, 10, 10)));
        ops.cross_entropy(a, labels(40, 3, 10, 10), constant(a, 40), label_smoothing=0.1)""",
    "real(17, 9, 15, 13)": "ops.nll_loss(a, labels(9, 17, 15, 13), constant(a, 9))",
    "real(5, 6, 16, 16), real(9, 6, 3, 3), real(9)": "ops.conv2d(a, b, c, padding=1)",
    "real(5, 6, 13, 14), real(20, 6, 3, 3)": "ops.conv2d(a, b, stride=2, padding=1)",
    "real(3, 12, 11, 9), real(12, 1, 7, 7), real(12)": "ops.conv2d(a, b, c, padding=3, groups=12)",
    "real(5, 3, 16, 16), real(24, 3, 4, 4), real(24)": "ops.conv2d(a, b, c, stride=4)",
    "real(9, 16, 32, 32), real(17, 16, 1, 1), real(17)": "ops.conv2d(a, b, c)",
    "real(65, 16, 5, 5), real(17, 16, 3, 3), real(17)": "ops.conv2d(a, b, c, padding=1)",
    "real(65, 32, 8, 8), real(32, 32, 4, 4)": "ops.conv2d(a, b, stride=2, padding=1)",
    "real(5, 16, 15, 15), real(32, 4, 3, 3)": "ops.conv2d(a, b, padding=1, groups=4)",
    "real(21, 16, 16, 16), real(32, 16, 3, 3), real(32)": "ops.conv2d(a, b, c, padding=1)",  # by Winograd
    "real(3, 32, 24, 24), real(16, 32, 3, 3)": "ops.conv2d(a, b, padding=1)",
    "real(11, 160, 8, 8), real(160, 160, 3, 3)": "ops.conv2d(a, b, padding=1)",
    "real(4, 6, 70), real(8, 6, 5), real(8)": 'ops.conv1d(a, b, c, padding="same", dilation=2)',
    "real(3, 12, 7, 8), real(12, 7, 3, 3), real(7)": """
        ops.conv_transpose2d(a, b, c, stride=2, padding=1, output_padding=1)""",
    "3 * real(300, 240) + 1, real(240), real(240)": "ops.layer_norm(a, b, c)",
    "real(30, 20, 40), real(20, 40), real(20, 40)": "ops.layer_norm(a, b, c)",
    "real(3, 9000), real(9000), real(9000)": "ops.layer_norm(a, b, c)",
    "real(2, 3), real(3), real(3)": "ops.layer_norm(a, b, c)",
    "real(40, 300), real(40)": "ops.layer_norm(a.T, b)",
    "3 * real(20, 16, 9, 15) + 1, real(16), real(16)": """
        ops.group_norm(a, b, c, num_groups=4); ops.instance_norm(a, b, c); ops.batch_norm(a, b, c);
        ops.sync_batch_norm(a, b, c); ops.batch_norm_relu(a, b, c);
        ops.batch_norm(a, b, c, constant(a, 16), constant(a, 16)); ops.batch_norm(a, None, None, b, c * c + 0.5);
        ops.batch_norm_relu(a, None, None, b, constant(a, 16))""",
    "3 * real(300, 150) + 1, real(150), real(150)": "ops.batch_norm(a, b, c); ops.batch_norm_relu(a, b, c)",
    "real(2, 3, 80, 90), real(3), real(3)": "ops.batch_norm(a, b, c)",
    "*real(2, 20, 16, 9, 15), real(16), real(16)": """
        ops.batch_norm_relu(a, c, d, skip=b);
        ops.batch_norm_relu(a, c, d, constant(a, 16), constant(a, 16), b)""",
    "*real(2, 300, 150), real(150), real(150)": "ops.batch_norm_relu(a, c, d, skip=b)",
    "real(8, 3, 32, 34)": """
        ops.max_pool2d(a, 2); ops.max_pool2d(a, 3, 2, 1); ops.max_pool2d(a[:, :, :31, :33], 2); ops.max_pool2d(a, 17);
        ops.max_pool2d(a, 2, 2, 1); ops.max_pool2d(a, (5, 3), (3, 1), (2, 1), (1, 2), True); ops.avg_pool2d(a, 2);
        ops.avg_pool2d(a, 3, 2, 1, count_include_pad=False); ops.avg_pool2d(a, (5, 3), (3, 1), (2, 1), True)""",
    "real(4, 30, 100)": "ops.max_pool1d(a, 3, 1, 1)",
    "real(4, 3, 32, 32)": """
        ops.adaptive_avg_pool2d(a, (8, 4)); ops.adaptive_avg_pool2d(a, (7, 5)); ops.adaptive_avg_pool2d(a, 1);
        ops.interpolate(a, scale_factor=2); ops.interpolate(a, scale_factor=(3, 4)); a.sum((0, 2, 3));
        F.interpolate(a, scale_factor=1.7, mode="bilinear"); a.permute(0, 2, 3, 1).contiguous() * 2;
        a.roll((5, -7), (2, 3)) * a.flip(1); a.pad((1, 2)) * 2; F.pad(a, (1, 2, 3, 4), mode="reflect") * 2;
        ops.cat(a, 2 * a, axis=1) * 2""",
    "real(300, 140)": "drop(a, p=0.3, key=np.array(2**62 + 5))",
    "real(5, 20)": "drop(a, p=0.3, key=np.array(7))",
    "real(2, 3, 70, 16), real(2, 3, 150, 16), real(2, 3, 150, 40)": "ops.scaled_dot_product_attention(a, b, c)",
    "*real(3, 6, 200, 16)": "ops.scaled_dot_product_attention(a, b, c, is_causal=True)",
    "real(2, 3, 70, 16), real(2, 3, 40, 16), real(2, 3, 40, 16)": """
        ops.scaled_dot_product_attention(a, b, c, SEEN, is_causal=True)""",
    "real(2, 70, 3, 16), real(2, 40, 3, 16), real(2, 40, 3, 16)": """
        ops.scaled_dot_product_attention(*[x.transpose(1, 2) for x in (a, b, c)], SEEN)""",
    "real(70, 16), real(16, 40), real(20, 40)": "ops.scaled_dot_product_attention(a, b.T, c.T)",
    "real(2, 3, 70, 16), real(2, 1, 40, 16), real(3, 40, 16)": "ops.scaled_dot_product_attention(a, b, c)",
    "real(2, 70, 16), real(2, 40, 16), real(2, 40, 16), real(70, 40)": "ops.scaled_dot_product_attention(a, b, c, d)",
    "*real(3, 1, 501, 32)": "ops.scaled_dot_product_attention(a, b, c)",
    # Weights of size 1 would magnify a rounding error from step to step. The state is copied for the first of several
    # calls, and the last one reads a transpose of it.
    "real(7, 13, 120), real(13, 30), real(13, 30), real(120, 30) / 6": "ops.lstm(a, b, c, d); ops.lstm(a[:1], b, c, d)",
    "real(3, 5, 8), real(5, 2), real(5, 2), real(8, 2)": "ops.lstm(a, b, c, d, reverse=True)",
    "real(7, 13, 99), real(13, 33), real(99, 33) / 6, real(99)": "ops.gru(a, b, c, d); ops.gru(a[:1], b, c, d)",
    "real(1, 13, 99), real(33, 13), real(99, 33) / 6": "ops.gru(a, b.T, c)",
    "real(3, 5, 6), real(5, 2), real(6, 2)": "ops.gru(a, b, c, reverse=True)",
    "real(3, 100, 96)": "ops.self_attention(a, num_heads=4, is_causal=True)",
    "real(40, 64)": """
        ops.embedding(labels(40, 300), a); ops.embedding(Tensor(IGNORED.clip(0)), a, padding_idx=0);
        a[IGNORED.clip(-40)]""",
    "real(9000, 33)": "ops.embedding(labels(50, 5001), a)",
    "real(777)": "a[labels(777, 100_001)]",
    "real(300, 40), real(500, 40)": """
        a.scatter_add(0, labels(300, 500, 1).expand(500, 40), b);
        a.index_add(0, labels(300, 500), b)""",
}
LARGE = {f"{call} of {given}": (eval(f"lambda a, b=None, c=None, d=None: {call}"), *eval(f"({given},)"))
         for given, calls in CALLS.items() for call in map(str.strip, calls.split(";"))}
