"""The accuracy of ops in float32: maximum and root-mean-square errors, compared with PyTorch.

    python -m benchmarks.accuracy                  prints a table for docs/accuracy.md
    python -m benchmarks.accuracy --numbers 1e8    only reductions, of this many numbers

The reference is our own float64 result for the same float32 inputs; the tests compare float64 results with PyTorch's
and with finite differences. Errors of elementwise functions are in ulp, units in the last place of the exact result. If
sums may cancel, errors are relative to the largest number of the exact result. The columns "gradient" show the worst
error over all inputs, for a random cotangent.
"""

import argparse
from collections.abc import Callable

import numpy as np
import torch

import nn.functional as F
from tinygrad_like import Tensor, no_grad, ops

T = torch.nn.functional
Case = tuple[Callable, Callable, list[np.ndarray]]


def normal(*shape: int, mean: float = 0.0, scale: float = 1.0, seed: int = 0) -> np.ndarray:
    return (mean + scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def between(low: float, high: float, n: int = 100_000) -> np.ndarray:
    return np.random.default_rng(1).uniform(low, high, n).astype(np.float32)


def functions() -> dict[str, Case]:
    """Elementwise functions, over the usual range of their inputs."""
    same = {name: between(-8, 8) for name in ("exp", "tanh", "sigmoid", "sin", "cos", "erf", "expm1", "square")}
    same |= {name: between(0.01, 100) for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal")}
    same |= {name: between(-0.99, 0.99) for name in ("asin", "acos", "atan")} | {"tan": between(-1.5, 1.5)}
    same |= {name: between(-5, 5) for name in ("sinh", "cosh", "exp2")}
    cases: dict[str, Case] = {name: (getattr(ops, name), getattr(torch, name), [x]) for name, x in same.items()}
    for name in "gelu", "silu", "softplus", "elu", "leaky_relu":
        cases[name] = getattr(ops, name), getattr(T, name), [between(-8, 8)]
    a, b = normal(100_000), between(0.1, 3)
    cases["a * b"] = lambda a, b: a * b, lambda a, b: a * b, [a, b]
    cases["a / b"] = lambda a, b: a / b, lambda a, b: a / b, [a, b]
    cases["b ** a"] = lambda a, b: b**a, lambda a, b: b**a, [a, b]
    return cases


def sums() -> dict[str, Case]:
    """Sums of many terms: products, layers, losses."""
    x, labels = normal(4096, 1000), np.random.default_rng(2).integers(0, 1000, 4096)
    y, ids = Tensor.from_numpy(labels), torch.from_numpy(labels)
    w, b = normal(1000, mean=1), normal(1000)
    images, filters = normal(32, 16, 32, 32), normal(32, 16, 3, 3, scale=0.1)
    channel, shift = normal(16, mean=1), normal(16)
    heads = [normal(4, 512, 32, seed=i) for i in range(3)]
    target = normal(4096, 1000, seed=3)
    return {
        "matmul 512 x 512 x 512": (ops.matmul, torch.matmul, [normal(512, 512), normal(512, 512, seed=1)]),
        "matmul, 100,000 terms": (ops.matmul, torch.matmul, [normal(64, 100_000), normal(100_000, 64, seed=1)]),
        "linear": (ops.linear, T.linear, [normal(4096, 300), normal(100, 300), normal(100)]),
        "conv2d 3x3 (Winograd)": (lambda x, w: F.conv2d(x, w, padding=1), lambda x, w: T.conv2d(x, w, padding=1),
                                  [images, filters]),
        "conv2d 3x3, stride 2": (lambda x, w: F.conv2d(x, w, stride=2, padding=1),
                                 lambda x, w: T.conv2d(x, w, stride=2, padding=1), [images, filters]),
        "softmax": (lambda x: x.softmax(-1), lambda x: x.softmax(-1), [x]),
        "softmax, axis 0": (lambda x: x.softmax(0), lambda x: x.softmax(0), [x]),
        "log_softmax": (lambda x: x.log_softmax(-1), lambda x: x.log_softmax(-1), [x]),
        "logsumexp": (lambda x: x.logsumexp(-1), lambda x: x.logsumexp(-1), [x]),
        "attention": (F.scaled_dot_product_attention, T.scaled_dot_product_attention, heads),
        "layer norm": (lambda x, w, b: F.layer_norm(x, (1000,), w, b), lambda x, w, b: T.layer_norm(x, (1000,), w, b),
                       [x, w, b]),
        "layer norm, mean 1000": (lambda x, w, b: F.layer_norm(x, (1000,), w, b),
                                  lambda x, w, b: T.layer_norm(x, (1000,), w, b), [x + 1000, w, b]),
        "batch norm": (ops.batch_norm, lambda x, w, b: T.batch_norm(x, None, None, w, b, True),
                       [images, channel, shift]),
        "batch norm, mean 1000": (ops.batch_norm, lambda x, w, b: T.batch_norm(x, None, None, w, b, True),
                                  [images + 1000, channel, shift]),
        "group norm": (lambda x, w, b: ops.group_norm(x, w, b, num_groups=4),
                       lambda x, w, b: T.group_norm(x, 4, w, b), [images, channel, shift]),
        "cross entropy": (lambda x: F.cross_entropy(x, y), lambda x: T.cross_entropy(x, ids), [x]),
        "mse": (F.mse_loss, T.mse_loss, [x, target]),
        "l1": (F.l1_loss, T.l1_loss, [x, target]),
        "huber": (F.huber_loss, T.huber_loss, [x, target]),
        "bce of logits": (lambda x: F.binary_cross_entropy_with_logits(x, x.detach() > 0),
                          lambda x: T.binary_cross_entropy_with_logits(x, (x.detach() > 0).to(x.dtype)), [x]),
        "embedding, 50 rows, 100,000 times": (
            lambda w: ops.embedding(Tensor.from_numpy(np.arange(100_000) % 50), w),
            lambda w: T.embedding(torch.arange(100_000) % 50, w), [normal(50, 16)]),
    }


def reductions(n: int, gradients: bool = True) -> dict[str, Case]:
    """Reductions over n numbers of mean 0.5; variances also of numbers with a large mean."""
    x = np.random.default_rng(1).random(n, np.float32)
    column, middle, strided = x.reshape(-1, 4), x.reshape(4, -1, 4), x.reshape(2, -1)[:, ::2]
    cases: dict[str, Case] = {}
    for name in "sum", "mean", "logsumexp", "cumsum":
        for what, array, axis in (("everything", x, 0), ("axis 0 of 2", column, 0), ("the middle of 3", middle, 1),
                                  ("axis 1, strided", strided, 1)):  # fmt: skip
            def call(x, name=name, axis=axis):
                return getattr(x, name)(axis)
            cases[f"{name}, {what}"] = call, call, [array]
    for offset in 0, 1000, 1e6:
        def far(x, offset=offset):
            return x.var(0)
        cases[f"var, mean {offset:g}"] = far, far, [(x - np.float32(0.5)) + np.float32(offset)]
        cases[f"std, mean {offset:g}, axis 0 of 2"] = (lambda x: x.std(0), lambda x: x.std(0),
                                                       [(column - np.float32(0.5)) + np.float32(offset)])
    cases["norm"] = lambda x: x.norm(), lambda x: x.norm(), [x]
    cases["mse"] = lambda x: F.mse_loss(x, x.detach() * 0), lambda x: T.mse_loss(x, x.detach() * 0), [x]
    cases["l1"] = lambda x: F.l1_loss(x, x.detach() * 0), lambda x: T.l1_loss(x, x.detach() * 0), [x]
    return cases


def ours(call, inputs, g, dtype):
    xs = [Tensor(0.0) for _ in inputs]
    for x, a in zip(xs, inputs, strict=True):  # keeps the array's strides
        x.data, x.requires_grad = a.astype(dtype, copy=False), g is not None
    if g is None:
        with no_grad():
            return [call(*xs).numpy()]
    y = call(*xs)
    cotangent = g(y.shape).astype(dtype)
    return [y.detach().numpy(), *[d.numpy() for d in y.gradient(*xs, gradient=cotangent)]]


def theirs(call, inputs, g):
    xs = [torch.from_numpy(a).requires_grad_(g is not None) for a in inputs]
    y = call(*xs)
    if g is None:
        return [y.numpy()]
    return [y.detach().numpy(), *[d.numpy() for d in torch.autograd.grad(y, xs, torch.from_numpy(g(tuple(y.shape))))]]


def errors(found, exact, ulp: bool) -> tuple[float, float]:
    """The maximum and the root mean square of the errors."""
    scale = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64) if ulp else np.abs(exact).max()
    e = np.abs(found - exact) / scale
    return float(e.max()), float(np.sqrt(np.mean(np.square(e))))


def table(cases: dict[str, Case], ulp: bool, gradients: bool = True) -> None:
    unit = "ulp" if ulp else "relative"
    columns = ["ours, max", "rms", "PyTorch, max", "rms"]
    print(f"| {unit} | " + " | ".join(columns + ["gradient: " + columns[0], *columns[1:]] * gradients) + " |")
    print("| --- " * (5 + 4 * gradients) + "|")
    for name, (call, torchs, inputs) in cases.items():
        g = (lambda shape: np.random.default_rng(7).standard_normal(shape).astype(np.float32)) if gradients else None
        exact = ours(call, inputs, g, np.float64)
        row: list[float] = []
        results = ours(call, inputs, g, np.float32), theirs(torchs, inputs, g)
        for part in (slice(1), slice(1, None)):
            for result in results:
                pairs = [errors(f, e, ulp) for f, e in zip(result[part], exact[part], strict=True)]
                if pairs:
                    row += [max(p[0] for p in pairs), max(p[1] for p in pairs)]
        shown = [f"{v:.2f}" if ulp and v < 1000 else f"{v:.0e}" for v in row]
        print(f"| {name} | " + " | ".join(shown) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--numbers", type=float, help="print only reductions, of this many numbers")
    numbers = parser.parse_args().numbers
    if numbers:
        table(reductions(int(numbers)), ulp=False, gradients=False)
        return
    print("### Elementwise functions\n")
    table(functions(), ulp=True)
    print("\n### Products, layers, losses\n")
    table(sums(), ulp=False)
    print("\n### Reductions of 4,194,304 numbers\n")
    table(reductions(1 << 22), ulp=False)


if __name__ == "__main__":
    main()
