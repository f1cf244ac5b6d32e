"""Kernels return the same bits on any number of threads, in any number of tasks, at the first call and at later ones.

All cases run in a new process, which makes first calls, with more threads than the machine may have cores.
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
from optim import SGD, Adam, RMSProp, clip_grad_norm
from tests.kernels.samples import LARGE
from tinygrad_like import Tensor, kernels
from tinygrad_like.kernels import threads
from tinygrad_like.kernels.program import Kernel

ROOT = Path(__file__).parents[2]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def steps(optimizer, **options):
    def run(*weights):
        weights = [Tensor(w.numpy(), requires_grad=True) for w in [w.detach() for w in weights]]
        stepper = optimizer(weights, lr=0.1, **options)
        for seed in range(2):
            for w in weights:
                w.grad = Tensor(numbers(*w.shape, seed=seed))
            norm = clip_grad_norm(weights, 1.0)
            stepper.step()
        return [Tensor(norm), *[w.detach() for w in weights]]

    return run, numbers(513, 301), numbers(70_001), numbers(3)


CASES = LARGE | {
    "dropout": (lambda a: F.dropout(a, 0.5), numbers(777, 513)),
    "noise": (lambda a: (a * Tensor.randn(*a.shape)).flatten() + Tensor.rand(a.size), numbers(777, 513)),
    "SGD": steps(SGD, momentum=0.9), "Adam": steps(Adam), "RMSprop": steps(RMSProp, centered=True),
}


def digest(case) -> str:
    """A hash of a case's results and of its inputs' gradients."""
    from tinygrad_like import manual_seed

    manual_seed(0)
    call, *arrays = CASES[case]
    inputs = [Tensor(a, dtype="float32", requires_grad=True) for a in arrays]
    found = call(*inputs)
    if isinstance(found, Tensor):
        found = [found, *found.gradient(*inputs, gradient=numbers(*found.shape, seed=9), materialize_grads=True)]
    return hashlib.sha256(b"".join(a.detach().numpy().tobytes() for a in found)).hexdigest()


def used() -> dict[str, list[Kernel]]:
    """The kernels called in this process, by module."""
    modules = {name.rpartition(".")[2]: module for name, module in sys.modules.items()
               if name.startswith("tinygrad_like.kernels.")}
    found = {name: [k for k in vars(module).values() if isinstance(k, Kernel) and "pack" in vars(k)]
             for name, module in modules.items()}
    return {name: called for name, called in found.items() if called}


def digests(case) -> dict[str, str]:
    """Digests by call, by number of threads, and by number of tasks for each thread."""
    most = threads.count
    found = {"first call": digest(case), "second call": digest(case)}
    for n in range(most, 0, -1):
        threads.set_num_threads(n)
        found[f"{n} threads"] = digest(case)
    threads.set_num_threads(most)
    products = used().get("gemm", [])  # their tasks, one for each thread, share pieces in another way
    shared = [k for called in used().values() for k in called if k not in products]
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
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    code = ("import json, tests.kernels.test_reproducible as t; t.threads.grain.value = 1; "
            "found = {case: t.digests(case) for case in t.CASES}; print(json.dumps([found, [*t.used()]]))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900,
                          env={**os.environ, "PYTHONPATH": path, "NUMBA_NUM_THREADS": "3"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow  # loads every kernel
@pytest.mark.parametrize("case", CASES)
def test_bits_do_not_depend_on_threads_tasks_and_calls(results, case):
    found = results[0][case]
    assert len(found) == 7
    assert {how: bits for how, bits in found.items() if bits != found["first call"]} == {}


@pytest.mark.slow
def test_all_kernels_are_among_the_cases(results):
    """Each file with kernels that share work between threads must have a case."""
    sources = {path.stem: path.read_text() for path in Path(kernels.__file__).parent.glob("*.py")}
    sharing = {name for name, text in sources.items() if re.search(r"^@kernel\(|= kernel\(work", text, re.M)}
    # Kernels of the first two compute nothing, those of a formula belong to no module.
    assert sharing - {"program", "checks", "formula"} <= {*results[1]}
