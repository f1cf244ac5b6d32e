"""Running a task at once and spread over the threads; what `flat` and `flat_out` let through."""

import numpy as np
import pytest
from numba import njit

from tinygrad_like.kernels import tasks, threads
from tinygrad_like.kernels.threads import LINE, take

needs_threads = pytest.mark.skipif(threads.count == 1, reason="one thread only")


@njit(error_model="numpy", no_cfunc_wrapper=True)
def fill(number, matrix, row, task, tasks):
    for i in range(task * len(matrix) // tasks, (task + 1) * len(matrix) // tasks):
        for j in range(row.size):
            matrix[i, j] += number * row[j] + 100 * task


def filled(large, number, count=None):
    matrix = np.zeros((70, 3))
    tasks.run(fill, large, number, matrix, np.arange(3.0), tasks=count)
    return matrix


@needs_threads
@pytest.mark.parametrize("count", [None, 1, 3, 100])
def test_the_tasks_together_do_all_the_work_once(count):
    matrix, n = filled(True, 2.0, count), count or tasks.PER_THREAD * threads.count
    task = [max(t for t in range(n) if t * 70 // n <= i) for i in range(70)]
    np.testing.assert_array_equal(matrix, 2 * np.arange(3.0) + 100 * np.array(task)[:, None])
    np.testing.assert_array_equal(filled(False, 2.0, count), np.tile(2 * np.arange(3.0), (70, 1)))


@njit
def taken(workers, count, order):
    """Which worker took which task, and how many times, if workers ask in this order until none is left."""
    ranges, by, times = np.zeros(LINE // 8 * workers, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    for worker in order:
        task = take(ranges.ctypes.data, worker, workers, count)
        if task >= 0:
            by[task] = worker
            times[task] += 1
    return by, times


def test_a_worker_helps_others_when_it_has_done_its_own():
    by, times = taken(3, 7, np.array([0, 1, 2] * 3))
    assert by.tolist() == [0, 0, 1, 1, 2, 2, 0] and (times == 1).all()
    by, times = taken(3, 7, np.array([2] * 8))  # the others never come
    assert (by == 2).all() and (times == 1).all()
    by, times = taken(2, 8, np.array([0, 1, 1, 1, 1, 1, 0, 1, 1, 1]))
    assert by.tolist() == [0, 1, 0, 1, 1, 1, 1, 1] and (times == 1).all()
    assert taken(2, 0, np.array([0, 1]))[1].size == 0


@njit(error_model="numpy", no_cfunc_wrapper=True)
def hungry(least, done, task, tasks):
    """Asks for more memory than there is, in all tasks but the first few."""
    if task >= least:
        np.empty(2**46)[task] = 1.0
    done[task] += 1


@needs_threads
@pytest.mark.parametrize("least", [0, 3, 15])
def test_a_task_without_memory_is_an_error(least):
    done = np.zeros(16)
    with pytest.raises(MemoryError, match="out of memory"):
        tasks.run(hungry, True, least, done, tasks=16)
    np.testing.assert_array_equal(done, np.arange(16) < least)  # the others were done, each once
    np.testing.assert_array_equal(filled(True, 2.0, 1)[0], 2 * np.arange(3.0))  # and the pool goes on


@needs_threads
def test_numbers_of_another_type_run_other_code():
    for number in (3.5, 3, 3.5, 3):  # compiled for floats, then for ints, then found
        np.testing.assert_array_equal(filled(True, number)[0], number * np.arange(3.0))


@needs_threads
def test_read_only_arrays_can_be_read():
    row = np.arange(3.0)
    row.flags.writeable = False
    for _ in range(2):
        matrix = np.zeros((7, 3))
        tasks.run(fill, True, 2.0, matrix, row, tasks=7)
        np.testing.assert_array_equal(matrix[0], 2 * row)


def test_flat_copies_only_what_is_not_contiguous():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.shares_memory(tasks.flat(x), x)
    np.testing.assert_array_equal(tasks.flat(x.T), [0, 3, 1, 4, 2, 5])
    with pytest.raises(TypeError, match="float32 arrays, got float64"):
        tasks.flat(x.astype(np.float64))


@pytest.mark.parametrize("out", [np.zeros((3, 2), np.float32), np.zeros((2, 3)), np.zeros((3, 2), np.float32).T])
def test_an_out_that_does_not_fit_is_refused(out):
    with pytest.raises(ValueError, match=r"C-contiguous float32 array of shape \(2, 3\)"):
        tasks.flat_out(out, (2, 3))
