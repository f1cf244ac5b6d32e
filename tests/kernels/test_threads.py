"""The thread pool: its size, Python threads, forked processes, both threading layers."""

import os
from pathlib import Path

import numpy as np
import pytest

from tinygrad_like.kernels import gemm, threads
from tinygrad_like.kernels.gemm import matmul

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def restored():
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


def test_number_of_threads():
    threads.set_num_threads(1)
    assert threads.get_num_threads() == threads.count == 1


@pytest.mark.parametrize("n", [0, -1, 10**6, 1.0, True, None])
def test_no_number_of_threads(n):
    with pytest.raises(ValueError, match="no number of threads from 1 to"):
        threads.set_num_threads(n)


def test_results_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((300, 300), dtype=np.float32) for _ in range(2))
    both = matmul(a, b), matmul(a.T, b.T)
    threads.set_num_threads(1)
    np.testing.assert_array_equal(both, (matmul(a, b), matmul(a.T, b.T)))


@pytest.mark.parametrize("m, k, n", [(128, 256, 256), (700, 40, 300), (1100, 530, 40), (7, 900, 1000)])
def test_it_does_not_matter_who_computes_a_piece(m, k, n):
    rng = np.random.default_rng(0)
    x, w, g, y = (rng.standard_normal(shape, np.float32) for shape in ((m, k), (n, k), (m, n), (m, n)))

    def results():
        out = gemm.product(x, w.T, np.empty((m, n), np.float32), rectify=True)
        cotangents, call = gemm.linear_vjp_call(g, y, x, w, (True, True, True))
        gemm.run(call)
        return [out.tobytes(), *[d.tobytes() for d in cotangents]]

    shared = [results() for _ in range(20)]
    threads.set_num_threads(1)
    alone = results()
    assert all(result == alone for result in shared)


SETUP = """
import json, os, threading
import numpy as np
import numba
from tinygrad_like.kernels import threads
from tinygrad_like.kernels.gemm import matmul

a = np.random.default_rng(0).standard_normal((400, 400), dtype=np.float32)
expected = a.astype(np.float64) @ a

def right():
    return bool(np.abs(matmul(a, a) - expected).max() < 1e-3)
"""

PYTHON_THREADS = """
results = []
def work():
    for _ in range(50):
        results.append(right())
workers = [threading.Thread(target=work) for _ in range(4)]
[w.start() for w in workers]
[w.join() for w in workers]
print(json.dumps([len(results), all(results), numba.threading_layer()]))
"""

FORK = """
parent = [right(), threads.count]
read, write = os.pipe()
holder = threading.Thread(target=lambda: [right() for _ in range(100)])
holder.start()               # the lock of the pool may be held while the process forks
if os.fork() == 0:
    child = [right(), threads.count]
    try:
        threads.set_num_threads(2)
    except RuntimeError as error:
        child.append(str(error))
    threads.set_num_threads(1)
    os.write(write, json.dumps(child).encode())
    os._exit(0)
os.close(write)
holder.join()
child = json.loads(b"".join(iter(lambda: os.read(read, 4096), b"")))
os.wait()
print(json.dumps([parent, child, [right(), threads.count]]))
"""


@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_python_threads_share_the_pool(python, layer):
    if layer == "omp":
        pytest.importorskip("numba.np.ufunc.omppool", reason="no OpenMP here")
    environment = {"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2"}
    assert python(SETUP + PYTHON_THREADS, **environment) == [200, True, layer]


def test_openmp_comes_first(python):
    pytest.importorskip("numba.np.ufunc.omppool", reason="no OpenMP here")
    environment = {"NUMBA_NUM_THREADS": "2", "NUMBA_THREADING_LAYER": "default"}
    assert python(SETUP + PYTHON_THREADS, **environment)[-1] == "omp"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_a_forked_process_runs_kernels_on_one_thread(python, layer):
    if layer == "omp":
        pytest.importorskip("numba.np.ufunc.omppool", reason="no OpenMP here")
    environment = {"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2"}
    parent, (right, count, error), after = python(SETUP + FORK, **environment)
    assert parent == after == [True, 2]
    assert right and count == 1 and "has no thread pool" in error


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_products_start_one_pool(python):
    """With a pool of two, that is one thread more than this one."""
    code = """
before = len(os.listdir("/proc/self/task"))
assert matmul(a, a).any()
print(json.dumps([before, len(os.listdir("/proc/self/task")) - before]))
"""
    setup = SETUP.replace("expected = a.astype(np.float64) @ a\n", "")
    environment = {"NUMBA_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "NUMBA_THREADING_LAYER": "omp"}
    assert python(setup + code, **environment) == [1, 1]
