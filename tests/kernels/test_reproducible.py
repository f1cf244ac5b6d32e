"""The same bits on any number of threads, in any number of tasks, at a kernel's first call and at later ones.

Every case is large enough to be shared between threads. All run in a process of their own, so that there is a first
call, and with more threads than the machine may have cores.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nn.functional as F
from optim import SGD, Adadelta, Adam, Adamax, RMSProp, clip_grad_norm
from tinygrad_like import Tensor, kernels, ops
from tinygrad_like.kernels import threads
from tinygrad_like.kernels.program import Kernel

ROOT = Path(__file__).parents[2]


def x(*shape, seed=0):
    return Tensor.from_numpy(np.random.default_rng(seed).standard_normal(shape, np.float32))


def labels(rows, classes):
    return Tensor.from_numpy(np.random.default_rng(1).integers(0, classes, rows))


def pixels(*shape):
    return Tensor.from_numpy(np.random.default_rng(1).integers(0, 16, shape))


def steps(optimizer, **options):
    def run(*weights):
        weights = [w.clone().detach() for w in weights]
        for w in weights:
            w.requires_grad = True
        stepper = optimizer(weights, lr=0.1, **options)
        for seed in range(2):
            for w in weights:
                w.grad = x(*w.shape, seed=seed)
            norm_ = clip_grad_norm(weights, 1.0)
            stepper.step()
        return [Tensor(norm_), *[w.detach() for w in weights]]
    return run


def conv_case(images, weights, **options):
    return lambda a, w, b: F.conv2d(a, w, b, **options), (images, weights, weights[:1])


WIDE, MATRIX, IMAGES, ROWS = (3, 50_001), (777, 513), (9, 16, 30, 30), (20_003, 10)
CASES = {
    "add": (lambda a, b: a + b, (MATRIX, MATRIX)),
    "bias": (lambda a, b: a + b, (ROWS, (10,))),
    "exp": (lambda a: a.exp(), (MATRIX,)),
    "gelu": (lambda a: a.gelu(), (MATRIX,)),
    "erf": (lambda a: a.cast("float64").erf().cast("float32"), (MATRIX,)),
    "relu": (lambda a: a.relu(), (MATRIX,)),
    "where": (lambda a, b: ops.where(a > 0, a, b), (MATRIX, MATRIX)),
    "dropout": (lambda a: F.dropout(a, 0.5), (MATRIX,)),
    "noise": (lambda a: (a * Tensor.randn(*a.shape)).flatten() + Tensor.rand(a.shape[0] * a.shape[1]), (MATRIX,)),
    "matmul": (lambda a, b: a @ b, ((301, 207), (207, 333))),
    "matmul tall": (lambda a, b: a.T @ b, ((4001, 70), (4001, 33))),
    "matmul of few rows": (lambda a, b: a @ b.T, ((5, 1300), (333, 1300))),
    "matmul of short sums": (lambda a, b: a @ b, ((301, 7), (7, 2500))),
    "linear": (lambda a, w, b: ops.linear(a, w, b), ((1003, 130), (99, 130), (99,))),
    "sum": (lambda a: a.sum(), (MATRIX,)),
    "sum of rows": (lambda a: a.sum(1), (WIDE,)),
    "sum of columns": (lambda a: a.sum(0), (ROWS,)),
    "sum over the middle": (lambda a: a.sum(1), ((7, 301, 70),)),
    "sum over pixels": (lambda a: a.sum((0, 2, 3)), (IMAGES,)),
    "var": (lambda a: a.var(0), (MATRIX,)),
    "cumsum": (lambda a: a.cumsum(1), ((7, 301, 70),)),
    "norm": (lambda a: a.norm(), (MATRIX,)),
    "logsumexp": (lambda a: a.logsumexp(1), (MATRIX,)),
    "logsumexp of columns": (lambda a: a.logsumexp(0), (MATRIX,)),
    "softmax": (lambda a: a.softmax(-1), (ROWS,)),
    "softmax of columns": (lambda a: a.softmax(1), ((7, 301, 70),)),
    "log_softmax of columns": (lambda a: a.log_softmax(0), (MATRIX,)),
    "softmax of long rows": (lambda a: a.softmax(-1), (WIDE,)),
    "log_softmax": (lambda a: a.log_softmax(-1), (MATRIX,)),
    "cross entropy": (lambda a: F.cross_entropy(a, labels(len(a), 10)), (ROWS,)),
    "cross entropy of pixels": (lambda a: F.cross_entropy(a, pixels(9, 30, 30), abs(x(16)), label_smoothing=0.1),
                                (IMAGES,)),
    "cross entropy, smoothed": (lambda a: F.cross_entropy(a, labels(777, 513), abs(x(513)), label_smoothing=0.1),
                                (MATRIX,)),
    "nll": (lambda a: F.nll_loss(a, labels(len(a), 10)), (ROWS,)),
    "nll of images": (lambda a: F.nll_loss(a, labels(17 * 65 * 33, 9).reshape(17, 65, 33), abs(x(9))),
                      ((17, 9, 65, 33),)),
    "mse": (lambda a, b: F.mse_loss(a, b), (MATRIX, MATRIX)),
    "bce": (lambda a: F.binary_cross_entropy_with_logits(a, x(*MATRIX).sigmoid()), (MATRIX,)),
    "layer norm": (lambda a, w, b: F.layer_norm(a, (513,), w, b), (MATRIX, (513,), (513,))),
    "rms norm": (lambda a, w: F.rms_norm(a, (10,), w), (ROWS, (10,))),
    "batch norm": (lambda a, w, b: ops.batch_norm(a, w, b), (IMAGES, (16,), (16,))),
    "batch norm of rows": (lambda a, w, b: ops.batch_norm(a, w, b), (ROWS, (10,), (10,))),
    "batch norm, relu": (lambda a, w, b, c: ops.batch_norm_relu(a, w, b, skip=c), (IMAGES, (16,), (16,), IMAGES)),
    "group norm": (lambda a, w, b: ops.group_norm(a, w, b, num_groups=4), (IMAGES, (16,), (16,))),
    "embedding": (lambda w: ops.embedding(labels(5001, 100), w), ((100, 33),)),
    "embedding, sparse": (lambda w: ops.embedding(labels(5001, 50), w), ((9000, 33),)),
    "index": (lambda a: a[labels(100_001, 777)], ((777,),)),
    "index of the last axis": (lambda a: a[:, labels(999, 513)], (MATRIX,)),
    "gather": (lambda a: a.gather(1, labels((777, 700), 513)), (MATRIX,)),
    "scatter": (lambda a, b: a.scatter(1, labels((777, 600), 513), b), (MATRIX, (777, 600))),
    "scatter, added": (lambda a, b: a.scatter_add(0, labels((900, 513), 777), b), (MATRIX, (900, 513))),
    **{f"scatter, {how}": (lambda a, b, how=how: a.scatter_reduce(0, labels((900, 513), 777), b * 0.1 + 1, how), (
        MATRIX, (900, 513))) for how in ("prod", "mean", "amax")},
    "mask": (lambda a: a[a > 0.3] * 2, (MATRIX,)),
    "index_add": (lambda a, b: a.index_add(0, labels(999, 777), b), (MATRIX, (999, 513))),
    "gather from columns": (lambda a: a.gather(0, labels((900, 513), 777)), (MATRIX,)),
    "prod": (lambda a: a.prod(1), ((7, 301, 70),)),
    "cumprod": (lambda a: a.cumprod(1), ((7, 301, 70),)),
    "cumprod of rows": (lambda a: (a * 0.1 + 1).cumprod(1), (MATRIX,)),
    "cummax": (lambda a: a.cummax(1)[0] * a.cummin(0)[0], (MATRIX,)),
    "tril": (lambda a: a.tril(1), (MATRIX,)),
    "transpose": (lambda a: a.t().contiguous() * x(513, 777), (MATRIX,)),
    "channels last": (lambda a: a.permute(0, 2, 3, 1).contiguous() * 2, (IMAGES,)),
    "roll": (lambda a: a.roll((5, -7), (2, 3)) * a.flip(1), (IMAGES,)),
    "pad": (lambda a: a.pad((1, 2)) * 2, (IMAGES,)),
    "pad, reflected": (lambda a: F.pad(a, (1, 2, 3, 4), mode="reflect") * 2, (IMAGES,)),
    "cat": (lambda a, b: ops.cat(a, b, axis=1) * 2, (IMAGES, IMAGES)),
    "max pool": (lambda a: F.max_pool2d(a, 2), (IMAGES,)),
    "average pool": (lambda a: F.avg_pool2d(a, 3, stride=2), (IMAGES,)),
    "grid": (lambda a, b: F.grid_sample(a, b, align_corners=False), (IMAGES, (9, 31, 33, 2))),
    "grid of few channels": (lambda a, b: F.grid_sample(a, b.tanh(), padding_mode="reflection", align_corners=True),
                             ((3, 3, 99, 101), (3, 70, 71, 2))),
    "interpolation": (lambda a: F.interpolate(a, scale_factor=1.7, mode="bilinear"), (IMAGES,)),
    "conv": conv_case(IMAGES, (17, 16, 3, 3)),
    "conv, in place": conv_case((9, 16, 32, 32), (17, 16, 1, 1)),
    "conv, strided": conv_case(IMAGES, (33, 16, 3, 3), stride=2, padding=1),
    "conv, small images": conv_case((65, 16, 5, 5), (17, 16, 3, 3), padding=1),
    "conv, small images, strided": conv_case((65, 32, 8, 8), (32, 32, 4, 4), stride=2, padding=1),
    "conv, grouped": conv_case(IMAGES, (32, 4, 3, 3), padding=1, groups=4),
    "conv, depthwise": conv_case((9, 16, 32, 32), (16, 1, 3, 3), padding=1, groups=16),
    "conv, 5x5": conv_case((65, 1, 28, 28), (8, 1, 5, 5)),
    "conv, Winograd": conv_case((21, 16, 16, 16), (32, 16, 3, 3), padding=1),
    "conv, Winograd, few images": conv_case((3, 32, 32, 32), (16, 32, 3, 3), padding=1),
    "conv, Winograd, many weights": conv_case((11, 160, 8, 8), (160, 160, 3, 3), padding=1),
    "transposed conv": (lambda a, w, b: F.conv_transpose2d(a, w, b, stride=2), (IMAGES, (16, 9, 3, 3), (9,))),
    "attention, one head": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), ((1, 901, 32),) * 3),
    "attention, three heads, causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                                       ((3, 517, 24),) * 3),
    "attention, many heads": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), ((2, 12, 130, 16),) * 3),
    "lstm": (ops.lstm, ((9, 41, 132), (41, 33), (41, 33), (132, 33))),
    "gru": (ops.gru, ((9, 41, 99), (41, 33), (99, 33), (99,))),
    "lstm, one step": (ops.lstm, ((1, 301, 132), (301, 33), (301, 33), (132, 33))),
    "gru, one step": (ops.gru, ((1, 301, 99), (301, 33), (99, 33), (99,))),
    "topk": (lambda a: a.topk(5, 1)[0], (ROWS,)),
    "triangular": (lambda a, b: ops.linalg.solve_triangular(a.abs() + 50 * Tensor.eye(99), b, upper=False),
                   ((3, 99, 99), (3, 99, 130))),
    "SGD": (steps(SGD, momentum=0.9), ((513, 301), (70_001,), (3,))),
    "Adam": (steps(Adam), ((513, 301), (70_001,), (3,))),
    "RMSprop": (steps(RMSProp, centered=True), ((513, 301), (70_001,), (3,))),
    "Adamax": (steps(Adamax), ((513, 301), (70_001,), (3,))),
    "Adadelta": (steps(Adadelta), ((513, 301), (70_001,), (3,))),
}


def digest(case) -> str:
    """Of the results of a case and of the gradients of its inputs."""
    from tinygrad_like import manual_seed

    manual_seed(0)
    call, shapes = CASES[case]
    inputs = [x(*shape, seed=i) for i, shape in enumerate(shapes)]
    for a in inputs:
        a.requires_grad = True
    found = call(*inputs)
    if isinstance(found, Tensor):
        found = [found, *[g for g in found.gradient(*inputs, gradient=x(*found.shape, seed=9)) if g is not None]]
    return hashlib.sha256(b"".join(a.detach().numpy().tobytes() for a in found)).hexdigest()


def used() -> dict[str, list[Kernel]]:
    """The kernels that were called in this process, by their modules."""
    modules = {name.rpartition(".")[2]: module for name, module in sys.modules.items()
               if name.startswith("tinygrad_like.kernels.")}
    found = {name: [k for k in vars(module).values() if isinstance(k, Kernel) and "pack" in vars(k)]
             for name, module in modules.items()}
    return {name: called for name, called in found.items() if called}


def digests(case) -> dict[str, str]:
    """By the number of threads, twice as there were found, and by the number of tasks for each thread."""
    most = threads.count
    found = {"first call": digest(case), "second call": digest(case)}
    for n in range(most, 0, -1):
        threads.set_num_threads(n)
        found[f"{n} threads"] = digest(case)
    threads.set_num_threads(most)
    shared = [k for name, called in used().items() for k in called
              if name != "gemm"]  # whose tasks, one for each thread, share pieces of their own
    usual = [kernel.pack.__globals__["_tasks"] for kernel in shared]
    for n in 3, 7:
        for kernel in shared:
            kernel.pack.__globals__["_tasks"] = n
        found[f"{n} tasks"] = digest(case)
    for kernel, n in zip(shared, usual, strict=True):
        kernel.pack.__globals__["_tasks"] = n
    return found


@pytest.fixture(scope="module")
def results():
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    code = ("import json, test_reproducible as t; found = {case: t.digests(case) for case in t.CASES}; "
            "print(json.dumps([found, [*t.used()]]))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900,
                          env={**os.environ, "PYTHONPATH": path, "NUMBA_NUM_THREADS": "3"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow  # every kernel is loaded
@pytest.mark.parametrize("case", CASES)
def test_bits_do_not_depend_on_threads_tasks_and_calls(results, case):
    found = results[0][case]
    assert len(found) == 7
    assert {how: bits for how, bits in found.items() if bits != found["first call"]} == {}


@pytest.mark.slow
def test_all_kernels_are_among_the_cases(results):
    """A kernel file that shares work between threads must be used here."""
    sources = {path.stem: path.read_text() for path in Path(kernels.__file__).parent.glob("*.py")}
    sharing = {name for name, text in sources.items() if re.search(r"^@kernel\(|= kernel\(work", text, re.M)}
    assert sharing - {"program", "checks"} <= {*results[1]}  # whose kernels compute nothing
