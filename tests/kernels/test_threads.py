"""The thread pool: its size, Python threads, forked processes, both threading layers."""

import os
from pathlib import Path

import pytest

from tinygrad_like.kernels import threads


@pytest.fixture(autouse=True)
def restored():
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


def test_the_number_of_threads_can_be_set():
    threads.set_num_threads(1)
    assert threads.get_num_threads() == threads.count == 1


@pytest.mark.parametrize("n", [0, -1, 10**6, 1.0, True, None])
def test_an_invalid_number_of_threads_raises(n):
    with pytest.raises(ValueError, match="n must be an integer from 1 to"):
        threads.set_num_threads(n)


SETUP = """
import json, os, signal, sys, threading, time
import numpy as np
from tinygrad_like.kernels import threads
from tinygrad_like.kernels.gemm import product

def matmul(a, b):
    return product(a, b, np.empty((len(a), b.shape[1]), np.float32))

a = np.random.default_rng(0).standard_normal((400, 400), dtype=np.float32)
expected = a.astype(np.float64) @ a

def right():
    return bool(np.abs(matmul(a, a) - expected).max() < 1e-3)
"""
TWO = {"NUMBA_NUM_THREADS": "2"}


def test_python_threads_share_the_pool(python):
    code = """
results = []
def work():
    for _ in range(50):
        results.append(right())
workers = [threading.Thread(target=work) for _ in range(4)]
[w.start() for w in workers]
[w.join() for w in workers]
print(json.dumps([len(results), all(results)]))
"""
    assert python(SETUP + code, **TWO) == [200, True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_starts_with_one_thread_and_may_have_more(python):
    code = """
parent = [right(), threads.count]
read, write = os.pipe()
holder = threading.Thread(target=lambda: [right() for _ in range(100)])
holder.start()  # may hold the pool's lock while the process forks
if os.fork() == 0:
    child = [right(), threads.count]
    threads.set_num_threads(2)
    child += [right(), len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 2]
    threads._stop()
    os.write(write, json.dumps(child).encode())
    os._exit(0)
os.close(write)
holder.join()
child = json.loads(b"".join(iter(lambda: os.read(read, 4096), b"")))
os.wait()
print(json.dumps([parent, child, [right(), threads.count]]))
"""
    parent, child, after = python(SETUP + code, **TWO)
    assert parent == after == [True, 2]
    assert child == [True, 1, True, 2]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_products_start_one_pool(python):
    """A pool of two is one thread besides this one."""
    code = """
before = len(os.listdir("/proc/self/task"))
assert matmul(a, a).any()
print(json.dumps([before, len(os.listdir("/proc/self/task")) - before]))
"""
    setup = SETUP.replace("expected = a.astype(np.float64) @ a\n", "")
    assert python(setup + code, OPENBLAS_NUM_THREADS="1", **TWO) == [1, 1]


def test_no_one_waits_for_a_worker_that_does_not_come(python):
    """A worker that gets no time from the system must not hold up a region; here it never wakes."""
    code = """
assert right()
worker = threads._workers[0]
while not worker.asleep:
    time.sleep(0.001)
worker.wake = lambda: None
print(json.dumps([right() for _ in range(20)]))
del worker.wake
"""
    assert python(SETUP + code, **TWO) == [True] * 20


def test_one_thread_does_all_if_no_other_can_start(python):
    code = """
def fails(self):
    raise RuntimeError("can't start new thread")
start, threads._Worker.start = threads._Worker.start, fails
results = [right(), right(), len(threads._workers)]
threads._Worker.start = start
threads.set_num_threads(2)
print(json.dumps([*results, right(), len(threads._workers)]))
"""
    assert python(SETUP + code, **TWO) == [True, True, 0, True, 1]


def test_an_idle_worker_sleeps_and_wakes_again(python):
    code = """
worker, seen = None, []
for _ in range(5):
    assert right()
    worker = threads._workers[0]
    end = time.monotonic() + 20
    while not worker.asleep and time.monotonic() < end:
        time.sleep(0.001)
    seen.append(worker.asleep)
    threads.wake_workers()
    seen.append(worker.asleep)
print(json.dumps(seen))
"""
    assert python(SETUP + code, **TWO) == [True, False] * 5


@pytest.mark.parametrize("end", [
    "", "sys.exit(0)", "os.kill(os.getpid(), signal.SIGINT); time.sleep(9)",
    "threading.Thread(target=lambda: [right() for _ in range(50)]).start()",
    "threading.Thread(target=lambda: [right() for _ in range(9999)], daemon=True).start()",
])
def test_a_program_ends_while_workers_wait(python, end):
    code = f"""
try:
    assert right()
    print("true", flush=True)
    {end}
except KeyboardInterrupt:
    pass
"""
    assert python(SETUP + code, **TWO) is True


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="affinity cannot be set here")
def test_affinity_sets_the_number_of_threads(python):
    code = "import os; os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})\n" + SETUP
    environment = {k: v for k, v in os.environ.items() if k == "NUMBA_NUM_THREADS"}
    if environment:
        pytest.skip("NUMBA_NUM_THREADS is set")
    assert python(code + "print(json.dumps([right(), threads.count]))") == [True, 1]


@pytest.mark.parametrize(("quota", "cores"), [("max 100000", 8), ("150000 100000", 2), ("50000 100000", 1), ("", 8)])
def test_a_quota_of_the_control_group_sets_the_number_of_threads(monkeypatch, quota, cores):
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "most", 8)
    monkeypatch.setattr(threads.Path, "read_text", lambda path: quota)
    assert threads._allowed() == cores
    monkeypatch.setenv("NUMBA_NUM_THREADS", "8")  # the user knows better
    assert threads._allowed() == 8
