"""Running a task at once and spread over the threads; what `flat` and `flat_out` let through."""

import numpy as np
import pytest
from numba import njit

from tinygrad_like.kernels import tasks, threads

needs_threads = pytest.mark.skipif(threads.count == 1, reason="one thread only")


@njit(error_model="numpy", no_cfunc_wrapper=True)
def fill(number, matrix, row, task, tasks):
    for i in range(task * len(matrix) // tasks, (task + 1) * len(matrix) // tasks):
        for j in range(row.size):
            matrix[i, j] = number * row[j] + 100 * task


def filled(large, number):
    matrix = np.zeros((7, 3))
    tasks.run(fill, large, number, matrix, np.arange(3.0))
    return matrix


@needs_threads
def test_the_tasks_together_do_all_the_work():
    filled(True, 2.0)  # compiles, in one task
    matrix = filled(True, 2.0)
    task = [max(t for t in range(threads.count) if t * 7 // threads.count <= i) for i in range(7)]
    np.testing.assert_array_equal(matrix, 2 * np.arange(3.0) + 100 * np.array(task)[:, None])
    np.testing.assert_array_equal(filled(False, 2.0), np.tile(2 * np.arange(3.0), (7, 1)))


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
        tasks.run(fill, True, 2.0, matrix, row)
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
