"""Kernels, except products, compared with PyTorch's, in microseconds; ratio above 1: ours is faster.

    python -m benchmarks.kernels            every case
    python -m benchmarks.kernels --quick    fewer rounds

PyTorch's kernels are called directly, without autograd; its optimizers are the fused ones. Both libraries allocate
their outputs.
"""

import functools
from collections.abc import Callable

import numpy as np

from . import compare

LIBRARIES = "ours", "torch"
MLP, SMALL_MLP = (784, 512, 512, 10), (64, 128, 128, 10)


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def labels(rows: int, classes: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, classes, rows)


def parameters(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [shape for a, b in zip(sizes, sizes[1:], strict=False) for shape in ((b, a), (b,))]


def ours() -> dict[str, Callable[[], Callable[[], object]]]:
    """For each case, a function that makes the inputs and returns the function to time."""
    from nn import Parameter
    from optim import SGD, Adam
    from tinygrad_like import Tensor
    from tinygrad_like.kernels import (
        attention,
        embedding,
        formula,
        noise,
        norm,
        pool,
        reduce,
        softmax,
    )
    from tinygrad_like.kernels import (
        cross_entropy as losses,
    )
    from tinygrad_like.ops import activation as functions

    def activation(op, *shape):
        x, g = arrays(shape, shape)
        vjp, _ = op.rules[0]
        return lambda: (op.forward(x), vjp(g, x))

    def probabilities(*shape):
        x, g = arrays(shape, shape)
        return lambda: softmax.softmax_vjp(g, softmax.softmax(x))

    def cross_entropy(*shape):
        (x,), t, g = arrays(shape), labels(*shape), np.ones(1, np.float32)

        def run():
            _, kept = losses.cross_entropy(x, t)
            return losses.cross_entropy_vjp(g, (True, False, False), x, t, None, -100, "mean", 0.0, kept)

        return run

    def layer_norm(m, n, centred=True):
        x, g, weight, bias = arrays((m, n), (m, n), (n,), (n,))

        def run():
            shift = bias if centred else None
            _, stats = norm.layer_norm(x, weight, shift, normalized_shape=None, eps=1e-5, centred=centred)
            return norm.layer_norm_vjp(g, None, x, weight, shift, None, 1e-5, stats, centred)

        return run

    def batch_norm_relu(*shape, skipped=False):
        x, g, skip, weight, bias = arrays(shape, shape, shape, shape[1:2], shape[1:2])

        def run():
            y, stats = norm.batch_norm_relu(x, weight, bias, skip=skip if skipped else None, eps=1e-5)
            return norm.channels_vjp(g, x, weight, bias, stats, y=y, skipped=skipped)

        return run

    def group_norm(groups, *shape):
        x, g, weight, bias = arrays(shape, shape, shape[1:2], shape[1:2])

        def run():
            _, stats = norm.batch_norm(x, weight, bias, eps=1e-5, groups=groups)
            return norm.channels_vjp(g, x, weight, bias, stats, groups)

        return run

    def attend(causal, *shape):
        q, k, v, g = arrays(*[shape] * 4)

        def run():
            out, stats = attention.attention(q, k, v, None, causal, shape[-1] ** -0.5)
            return attention.attention_backward(g, q, k, v, out, stats, None, causal, shape[-1] ** -0.5)

        return run

    def look_up(rows, width, n):
        (table, g), index = arrays((rows, width), (n, width)), labels(n, rows)
        return lambda: (embedding.take_rows(table, index), embedding.sum_rows_by(g, index, len(table)))

    def windows(kernel, stride, padding, n):
        number = (n + 2 * padding - kernel) // stride + 1
        return kernel, stride, padding, 1, number

    def max_pool(kernel, stride, padding, *shape):
        axis = windows(kernel, stride, padding, shape[-1])
        (x,), (g,) = arrays(shape), arrays((*shape[:2], axis[-1], axis[-1]))

        def run():
            _, residuals = pool.max_windows(x, (axis, axis))
            return pool.put_taps(g, residuals["index"], shape, (axis, axis))

        return run

    def drop(p, *shape):
        (x, g), key = arrays(shape, shape), np.ones(1, np.int64)
        return lambda: (noise.drop(x, p=p, key=key), noise.drop(g, p=p, key=key))

    def two(function, *shapes):
        a, b = arrays(*shapes)
        return lambda: function(a, b)

    def one(function, *shape):
        (x,) = arrays(shape)
        return lambda: function(x)

    def optimizer(make, sizes, **options):
        params = [Parameter(x) for x in arrays(*parameters(sizes))]
        for p in params:
            p.grad = Tensor(p._data)
        return make(params, lr=1e-3, **options).step

    return {
        "gelu, forward + backward (2048, 512)": lambda: activation(functions._gelu, 2048, 512),
        "gelu of tanh, forward + backward (2048, 512)": lambda: activation(functions.gelu_tanh, 2048, 512),
        "silu, forward + backward (2048, 512)": lambda: activation(functions.silu, 2048, 512),
        "relu, forward + backward (128, 512)": lambda: activation(functions.relu, 128, 512),
        "relu, forward + backward (2048, 512)": lambda: activation(functions.relu, 2048, 512),
        "softmax, forward + backward (64, 10)": lambda: probabilities(64, 10),
        "softmax, forward + backward (8192, 64)": lambda: probabilities(8192, 64),
        "softmax, forward + backward (2048, 512)": lambda: probabilities(2048, 512),
        "cross-entropy, forward + backward (128, 10)": lambda: cross_entropy(128, 10),
        "cross-entropy, forward + backward (2048, 65)": lambda: cross_entropy(2048, 65),
        "layer norm, forward + backward (2048, 128)": lambda: layer_norm(2048, 128),
        "layer norm, forward + backward (2048, 512)": lambda: layer_norm(2048, 512),
        "RMS norm, forward + backward (2048, 512)": lambda: layer_norm(2048, 512, centred=False),
        "batch norm, relu, f. + b. (128, 512)": lambda: batch_norm_relu(128, 512),
        "batch norm, relu, f. + b. (64, 16, 32, 32)": lambda: batch_norm_relu(64, 16, 32, 32),
        "batch norm, relu, f. + b. (64, 32, 16, 16)": lambda: batch_norm_relu(64, 32, 16, 16),
        "batch norm, relu, f. + b. (64, 64, 8, 8)": lambda: batch_norm_relu(64, 64, 8, 8),
        "batch norm, skip, relu, f. + b. (64, 16, 32, 32)": lambda: batch_norm_relu(64, 16, 32, 32, skipped=True),
        "group norm, forward + backward (64, 32, 16, 16)": lambda: group_norm(8, 64, 32, 16, 16),
        "attention, forward + backward (32, 4, 64, 32) causal": lambda: attend(True, 32, 4, 64, 32),
        "attention, forward + backward (4, 8, 256, 64)": lambda: attend(False, 4, 8, 256, 64),
        "attention, forward + backward (4, 8, 256, 64) causal": lambda: attend(True, 4, 8, 256, 64),
        "attention, forward + backward (1, 8, 1024, 64) causal": lambda: attend(True, 1, 8, 1024, 64),
        "attention, forward + backward (8, 8, 1024, 64) causal": lambda: attend(True, 8, 8, 1024, 64),
        "embedding, forward + backward (65, 128) by 2048": lambda: look_up(65, 128, 2048),
        "embedding, forward + backward (32000, 256) by 2048": lambda: look_up(32000, 256, 2048),
        "max-pool 2x2, fwd + bwd (64, 16, 32, 32)": lambda: max_pool(2, 2, 0, 64, 16, 32, 32),
        "max-pool 3x3 / 2, fwd + bwd (64, 64, 32, 32)": lambda: max_pool(3, 2, 1, 64, 64, 32, 32),
        "dropout 0.1, forward + backward (2048, 512)": lambda: drop(0.1, 2048, 512),
        "dropout 0.5, forward + backward (2048, 512)": lambda: drop(0.5, 2048, 512),
        "add (1048576,)": lambda: two(formula.add, (1 << 20,), (1 << 20,)),
        "add a row (2048, 512)": lambda: two(formula.add, (2048, 512), (512,)),
        "multiply by a column (2048, 512)": lambda: two(formula.mul, (2048, 512), (2048, 1)),
        "sum of columns (128, 512)": lambda: one(lambda x: reduce.sum_over(x, (0,), False), 128, 512),
        "sum of columns (2048, 512)": lambda: one(lambda x: reduce.sum_over(x, (0,), False), 2048, 512),
        "sum of columns (2048, 10)": lambda: one(lambda x: reduce.sum_over(x, (0,), False), 2048, 10),
        "sum of rows (2048, 512)": lambda: one(lambda x: reduce.sum_over(x, (1,), False), 2048, 512),
        "maximum of rows (2048, 512)": lambda: one(lambda x: reduce.max_over(x, (1,), False), 2048, 512),
        "sum (1048576,)": lambda: one(reduce.total, 1 << 20),
        f"Adam {MLP}": lambda: optimizer(Adam, MLP),
        f"Adam {SMALL_MLP}": lambda: optimizer(Adam, SMALL_MLP),
        f"SGD, momentum {MLP}": lambda: optimizer(SGD, MLP, momentum=0.9),
        f"SGD, momentum {SMALL_MLP}": lambda: optimizer(SGD, SMALL_MLP, momentum=0.9),
    }


def torch() -> list[Callable[[], Callable[[], object]]]:
    """The cases in PyTorch, in the order of `ours`."""
    import torch as t

    aten = t.ops.aten

    def tensors(*shapes):
        return [t.from_numpy(a) for a in arrays(*shapes)]

    def activation(forward, backward, *shape):
        x, g = tensors(shape, shape)
        return lambda: (forward(x), backward(g, x))

    def gelu(approximate):
        return activation(lambda x: aten.gelu(x, approximate=approximate),
                          lambda g, x: aten.gelu_backward(g, x, approximate=approximate), 2048, 512)

    def relu(*shape):
        return activation(aten.relu, lambda g, x: aten.threshold_backward(g, x, 0), *shape)

    def probabilities(*shape):
        x, g = tensors(shape, shape)
        return lambda: aten._softmax_backward_data(g, aten._softmax(x, -1, False), -1, t.float32)

    def cross_entropy(*shape):
        (x,), target, g = tensors(shape), t.from_numpy(labels(*shape)), t.ones(())

        def run():
            log_p = aten._log_softmax(x, 1, False)
            _, weight = aten.nll_loss_forward(log_p, target, None, 1, -100)
            g_log_p = aten.nll_loss_backward(g, log_p, target, None, 1, -100, weight)
            return aten._log_softmax_backward_data(g_log_p, log_p, 1, t.float32)

        return run

    def layer_norm(m, n):
        x, g, weight, bias = tensors((m, n), (m, n), (n,), (n,))

        def run():
            _, mean, rstd = aten.native_layer_norm(x, [n], weight, bias, 1e-5)
            return aten.native_layer_norm_backward(g, x, [n], mean, rstd, weight, bias, [True] * 3)

        return run

    def rms_norm(m, n):
        x, g, weight = tensors((m, n), (m, n), (n,))
        x.requires_grad_()
        weight.requires_grad_()
        return lambda: t.autograd.grad(t.nn.functional.rms_norm(x, (n,), weight, 1e-5), (x, weight), g)

    def batch_norm_relu(*shape, skipped=False):
        x, g, skip, weight, bias = tensors(shape, shape, shape, shape[1:2], shape[1:2])

        def run():
            y, mean, rstd = aten.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5)
            y = aten.relu(y + skip if skipped else y)
            dy = aten.threshold_backward(g, y, 0)
            return aten.native_batch_norm_backward(dy, x, weight, None, None, mean, rstd, True, 1e-5, [True] * 3)

        return run

    def group_norm(groups, *shape):
        x, g, weight, bias = tensors(shape, shape, shape[1:2], shape[1:2])
        sizes = shape[0], shape[1], x[0, 0].numel(), groups

        def run():
            _, mean, rstd = aten.native_group_norm(x, weight, bias, *sizes, 1e-5)
            return aten.native_group_norm_backward(g, x, mean, rstd, weight, *sizes, [True] * 3)

        return run

    def attend(causal, *shape):
        q, k, v, g = tensors(*[shape] * 4)

        def run():
            out, logsumexp = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal)
            return aten._scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, out, logsumexp, 0.0, causal)

        return run

    def look_up(rows, width, n):
        (table, g), index = tensors((rows, width), (n, width)), t.from_numpy(labels(n, rows))
        return lambda: (aten.embedding(table, index),
                        aten.embedding_dense_backward(g, index, rows, -1, False))

    def max_pool(kernel, stride, padding, *shape):
        (x,), how = tensors(shape), ([kernel] * 2, [stride] * 2, [padding] * 2, [1, 1], False)
        g = t.randn_like(aten.max_pool2d_with_indices(x, *how)[0])

        def run():
            _, index = aten.max_pool2d_with_indices(x, *how)
            return aten.max_pool2d_with_indices_backward(g, x, *how, index)

        return run

    def drop(p, *shape):
        x, g = tensors(shape, shape)
        return lambda: aten.native_dropout_backward(g, aten.native_dropout(x, p, True)[1], 1 / (1 - p))

    def two(function, *shapes):
        a, b = tensors(*shapes)
        return lambda: function(a, b)

    def one(function, *shape):
        (x,) = tensors(shape)
        return lambda: function(x)

    def optimizer(kind, sizes, **options):
        params = [t.nn.Parameter(p) for p in tensors(*parameters(sizes))]
        for p in params:
            p.grad = t.randn_like(p)
        return kind(params, lr=1e-3, fused=True, **options).step

    return [
        lambda: gelu("none"),
        lambda: gelu("tanh"),
        lambda: activation(aten.silu, aten.silu_backward, 2048, 512),
        lambda: relu(128, 512),
        lambda: relu(2048, 512),
        lambda: probabilities(64, 10),
        lambda: probabilities(8192, 64),
        lambda: probabilities(2048, 512),
        lambda: cross_entropy(128, 10),
        lambda: cross_entropy(2048, 65),
        lambda: layer_norm(2048, 128),
        lambda: layer_norm(2048, 512),
        lambda: rms_norm(2048, 512),
        lambda: batch_norm_relu(128, 512),
        lambda: batch_norm_relu(64, 16, 32, 32),
        lambda: batch_norm_relu(64, 32, 16, 16),
        lambda: batch_norm_relu(64, 64, 8, 8),
        lambda: batch_norm_relu(64, 16, 32, 32, skipped=True),
        lambda: group_norm(8, 64, 32, 16, 16),
        lambda: attend(True, 32, 4, 64, 32),
        lambda: attend(False, 4, 8, 256, 64),
        lambda: attend(True, 4, 8, 256, 64),
        lambda: attend(True, 1, 8, 1024, 64),
        lambda: attend(True, 8, 8, 1024, 64),
        lambda: look_up(65, 128, 2048),
        lambda: look_up(32000, 256, 2048),
        lambda: max_pool(2, 2, 0, 64, 16, 32, 32),
        lambda: max_pool(3, 2, 1, 64, 64, 32, 32),
        lambda: drop(0.1, 2048, 512),
        lambda: drop(0.5, 2048, 512),
        lambda: two(t.add, (1 << 20,), (1 << 20,)),
        lambda: two(t.add, (2048, 512), (512,)),
        lambda: two(t.mul, (2048, 512), (2048, 1)),
        lambda: one(lambda x: x.sum(0), 128, 512),
        lambda: one(lambda x: x.sum(0), 2048, 512),
        lambda: one(lambda x: x.sum(0), 2048, 10),
        lambda: one(lambda x: x.sum(1), 2048, 512),
        lambda: one(lambda x: x.amax(1), 2048, 512),
        lambda: one(lambda x: x.sum(), 1 << 20),
        lambda: optimizer(t.optim.Adam, MLP),
        lambda: optimizer(t.optim.Adam, SMALL_MLP),
        lambda: optimizer(t.optim.SGD, MLP, momentum=0.9),
        lambda: optimizer(t.optim.SGD, SMALL_MLP, momentum=0.9),
    ]


@functools.cache
def makers(library: str) -> list[Callable[[], Callable[[], object]]]:
    return list(ours().values()) if library == "ours" else torch()


if __name__ == "__main__":
    compare.main("kernels", LIBRARIES, lambda: list(ours()), lambda library, i: makers(library)[i](),
                 "".join(f"{f'{library}, us':>11}" for library in LIBRARIES),
                 lambda i, seconds: "".join(f"{1e6 * seconds[library]:11.1f}" for library in LIBRARIES), rounds=7)
