"""The memory of NumPy's arrays, with kernels installed: each block is one array's, and begins on a cache line."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest

import tinygrad_like.kernels.program  # noqa: F401  (exchanges the allocator)
from tinygrad_like.kernels import blocks
from tinygrad_like.kernels.memory import allocates_by_itself

SIZES = [0, 1, 255, 256, 257, 4095, 4096, 4097, 2**17 + 1, 2**20 + 1]

pytestmark = pytest.mark.skipif(allocates_by_itself(), reason="NumPy's allocator was left alone")


@pytest.mark.parametrize("size", SIZES)
def test_arrays_begin_on_a_cache_line_and_share_nothing(size):
    for _ in range(3):
        arrays = [np.empty(size, np.uint8) for _ in range(20)]
        for i, x in enumerate(arrays):
            x[:] = i
        assert all((x == i).all() for i, x in enumerate(arrays))
        assert all(x.ctypes.data % 64 == 0 for x in arrays)


@pytest.mark.parametrize("size", SIZES)
def test_zeros_are_zeros_in_reused_memory(size):
    for x in [np.full(size, 255, np.uint8) for _ in range(5)]:
        del x
        assert not np.zeros(size, np.uint8).any()


def test_resized_arrays_keep_their_numbers():
    draw = random.Random(0)
    for _ in range(300):
        x = np.arange(draw.choice(SIZES), dtype=np.uint8)
        others = []
        for _ in range(4):
            before, size = x.copy(), draw.choice(SIZES)
            x.resize(size, refcheck=False)
            kept = min(size, before.size)
            assert (x[:kept] == before[:kept]).all() and not x[kept:].any()
            others.append(np.full(size, 7, np.uint8))  # in memory that may have been freed
        assert all((y == 7).all() for y in others)


def test_threads_never_share_a_block(in_threads):
    def work(seed):
        blocks.install()  # threads start with NumPy's own allocator
        draw, held = random.Random(seed), []
        for i in range(3000):
            size = draw.choice(SIZES)
            held.append((i % 256, np.full(size, i % 256, np.uint8)))
            if len(held) > 8:
                value, x = held.pop(draw.randrange(8))
                assert (x == value).all(), size

    in_threads(work)


PAGES = """
import numpy as np
import tinygrad_like
def lies_in_large_pages(x):
    lines = open("/proc/self/smaps").read().splitlines()
    for i, line in enumerate(lines):
        first, _, last = line.split()[0].partition("-")
        if last and int(first, 16) <= x.ctypes.data + x.nbytes // 2 < int(last, 16):
            flags = next(other for other in lines[i:] if other.startswith("VmFlags"))
            return "hg" in flags.split()
before = np.ones(2**18, np.float32)  # such as a parameter
x = tinygrad_like.Tensor.randn(300, 300)
x @ x
after = [np.ones(2**22, np.float32) for _ in range(8)][-1]  # beyond the heap's first growth
print(lies_in_large_pages(before), lies_in_large_pages(after))
"""


@pytest.mark.skipif(not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="no large pages here")
def test_large_pages_are_requested_before_the_first_kernel_and_as_the_heap_grows():
    run = subprocess.run([sys.executable, "-c", PAGES], capture_output=True, text=True)
    assert run.stdout.split() == ["True", "True"], run.stdout + run.stderr


CODE = """
import atexit, sys
import numpy as np
from tinygrad_like import Tensor
def aligned():
    return all([each.ctypes.data % 64 == 0 for each in [np.empty(2000) for _ in range(20)]])
print("numba" in sys.modules, aligned())
x = Tensor.randn(300, 300, requires_grad=True)
(x @ x).sum().backward()
print(aligned())
sys.kept = [np.empty(n) for n in range(2000)]  # freed after everything else
atexit.register(lambda: [np.ones(n) for n in range(2000)])
"""


@pytest.mark.parametrize("environment, told", [
    ({}, "False True True"), ({"TINYGRAD_LIKE_MALLOC": "default"}, "False False False")])
def test_arrays_are_aligned_from_the_import_on_and_may_outlive_it(environment, told):
    run = subprocess.run([sys.executable, "-c", CODE], env={**os.environ, **environment}, capture_output=True,
                         text=True)
    assert run.returncode == 0 and run.stdout.split() == told.split() and "Error" not in run.stderr, run.stderr


def test_a_child_process_keeps_its_parents_blocks():
    x = np.full(5000, 3.0)
    child = os.fork()
    if not child:
        y = [np.full(5000, float(i)) for i in range(50)]
        os._exit(not ((x == 3).all() and all((a == i).all() for i, a in enumerate(y))))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and (x == 3).all()
