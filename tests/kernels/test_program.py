"""How kernels are declared, checked, shared between threads, and run one after another."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from tinygrad_like.kernels import program, threads
from tinygrad_like.kernels.kinds import OPTIONAL, READ, REAL, STRIDED, WRITE, Plan, Rows, Table
from tinygrad_like.kernels.program import Call, beside, kernel, run
from tinygrad_like.kernels.simd import inner
from tinygrad_like.kernels.threads import LINE, take
from tinygrad_like.kernels.unchanged import unchanged
from tinygrad_like.kernels.views import count_of, data_of, floats_at, stride_of

LARGE = 10**6


@kernel(x=READ, y=WRITE, factor=REAL, cost=0.1)
def scale(x, factor, y, task, tasks):
    for i in range(task * x.size // tasks, (task + 1) * x.size // tasks):
        y[i] = np.float32(factor) * x[i]


@kernel(done=WRITE.of(np.float64), cost=1000)
def count(done, task, tasks):
    """Each number is written by one task, which records itself and the number of tasks."""
    for i in range(task * done.size // tasks, (task + 1) * done.size // tasks):
        done[i] += 100 * tasks + task


def random(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("size", [0, 1, 7, 1000, LARGE])
def test_every_share_is_done_once(size):
    x, y, done = random(size), np.full(size, np.nan, np.float32), np.zeros(size)
    scale(x, 3, y)
    np.testing.assert_array_equal(y, 3 * x)
    count(done)
    if size:
        tasks = int(done[0]) // 100
        assert tasks == (1 if size == 1 or threads.count == 1 else 8 * min(threads.count, size * 1000 // 1500))
        np.testing.assert_array_equal(done % 100, [max(t for t in range(tasks) if t * size // tasks <= i)
                                                   for i in range(size)] if size < LARGE else done % 100)


@pytest.mark.parametrize("wrong", [
    np.zeros((3, 4)), np.zeros((3, 4), ">f4"), np.zeros((3, 4), np.int32), None, 3, [1.0], np.float32(0), "text",
])
def test_wrong_arrays_are_refused(wrong):
    good = np.zeros((3, 4), np.float32)
    for arguments in (good, 1.0, wrong), (wrong, 1.0, good):
        with pytest.raises(ValueError, match="^scale: arrays do not fit, or are not aligned float32: "):
            scale(*arguments)


@pytest.mark.parametrize("wrong", [np.zeros((4, 3), np.float32).T, np.zeros((3, 8), np.float32)[:, ::2],
                                   np.broadcast_to(np.float32(0), (3, 4)),
                                   np.zeros(49, np.uint8)[1:].view(np.float32).reshape(3, 4)])
def test_an_output_that_would_need_a_copy_is_refused(wrong):
    with pytest.raises(ValueError, match="^scale: arrays do not fit"):
        scale(np.ones((3, 4), np.float32), 1.0, wrong)
    assert not wrong.any()


@inner
def _add_work(x, y, out):
    return x.size if x.size == out.size and y.size in (0, x.size) else -1


@kernel(x=READ, y=OPTIONAL, out=WRITE, work=_add_work)
def add(x, y, out, task, tasks):
    for i in range(task * x.size // tasks, (task + 1) * x.size // tasks):
        out[i] = x[i] + (y[i] if y.size else np.float32(0))


def test_sizes_are_compared_and_optional_arrays_may_be_omitted():
    x, y, out = random(5), random(5), np.empty(5, np.float32)
    add(x, y, out)
    np.testing.assert_array_equal(out, x + y)
    add(x, None, out)
    np.testing.assert_array_equal(out, x)
    for arguments in (x, y[:4], out), (x, y, out[:4]), (x, random(6), out):
        with pytest.raises(ValueError, match="^add: arrays do not fit"):
            add(*arguments)


class Shift(NamedTuple):
    by: int
    order: np.ndarray
    times: int


@kernel(plan=Plan(Shift, {"order": 1}), matrix=READ.of(np.float64, 2), out=WRITE.of(np.float64, 2))
def shifted(plan, matrix, out, task, tasks):
    if task == 0:
        for i in range(matrix.shape[0]):
            for j in range(matrix.shape[1]):
                out[i, j] = plan.times * matrix[plan.order[i], j] + plan.by


def test_kernels_take_plans_and_matrices():
    x, out = np.arange(6.0).reshape(3, 2), np.empty((3, 2))
    shifted(Shift(10, np.array([2, 0, 1]), 3), x, out)
    np.testing.assert_array_equal(out, 3 * x[[2, 0, 1]] + 10)
    with pytest.raises(ValueError, match="shifted: arrays do not fit"):
        shifted(Shift(10, np.array([2, 0, 1]), 3), x.ravel(), out)


@kernel(x=STRIDED, out=WRITE.of(np.int64))
def strides(x, out, task, tasks):
    if task == 0:
        out[0], out[1] = stride_of(x, 0), count_of(x)


def test_an_array_may_be_read_in_place():
    out = np.zeros(2, np.int64)
    strides(random(6, 8)[::2].T, out)
    assert out.tolist() == [4, 24]


@kernel(table=Rows(), factor=REAL)
def scale_rows(table, factor, task, tasks):
    if task == 0:
        for row in table:
            x, y = floats_at(data_of(row[0]), count_of(row[0])), floats_at(data_of(row[1]), count_of(row[1]))
            for i in range(x.size):
                x[i] = np.float32(factor) * y[i]


def test_a_table_holds_any_number_of_arrays():
    rows = [(np.zeros((2, n), np.float32), random(2, n), None, None) for n in range(4)]
    table = Table(rows)
    assert table.suited
    scale_rows(table, 2.0)
    assert all((2 * y == x).all() for x, y, *_ in rows)
    assert not Table([(rows[1][0], rows[2][1], None, None)]).suited


def test_declaring_an_unknown_argument_raises():
    with pytest.raises(TypeError, match="kernel scale: no argument is called 'z'"):
        kernel(z=READ)(scale.body)


# Several calls --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, LARGE])
def test_several_calls_run_in_one_program(size):
    x, y, done, z = random(size), np.zeros(size, np.float32), np.zeros(1000), np.zeros(3 * size, np.float32)
    beside((scale, x, 2.0, y), (count, done), (scale, np.tile(x, 3), 3.0, z))
    scale(y, 2.0, y)
    np.testing.assert_array_equal(y, 4 * x)
    np.testing.assert_array_equal(z, np.tile(3 * x, 3))
    assert done.all()
    beside((scale, x[::-1], 2.0, y), (scale, x, 5.0, z[:size]))
    np.testing.assert_array_equal(y, 2 * x[::-1])
    np.testing.assert_array_equal(z[:size], 5 * x)
    beside()


def test_a_call_with_wrong_arrays_ends_the_program():
    x, y, z = random(10), np.zeros(10, np.float32), np.zeros(10, np.float32)
    with pytest.raises(ValueError, match="^add: arrays do not fit"):
        beside((scale, x, 2.0, y), (add, x, y[:4], z))
    assert not z.any()
    beside((scale, x[::2], 2.0, y[:5]), (add, x, None, z))  # copied
    np.testing.assert_array_equal(y[:5], 2 * x[::2])


def test_a_call_tells_what_it_reads_and_writes_and_can_run_again():
    x, y = random(10), np.zeros(10, np.float32)
    program.start_trace(calls := [])
    try:
        scale(x, 2.0, y)
        beside((add, x, y, y), (add, x, None, x.copy()))
    finally:
        program.stop_trace()
    assert [call.kernel.name for call in calls] == ["scale", "add", "add"]
    assert calls[0].reads()[0] is x and calls[0].writes()[0] is y and [len(c.reads()) for c in calls] == [1, 2, 1]
    y[:] = 0
    run(calls[:2])
    np.testing.assert_array_equal(y, 3 * x)
    assert isinstance(calls[0], Call)


# Threads --------------------------------------------------------------------------------------------------------------


@njit
def taken(workers, count, order):
    """Which worker took each task, and how many took it, if workers ask in this order until none is left."""
    ranges, by, times = np.zeros(LINE // 8 * workers, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    for worker in order:
        task = take(ranges.ctypes.data, worker, workers, count)
        if task >= 0:
            by[task] = worker
            times[task] += 1
    return by, times


def test_a_worker_helps_others_when_its_own_tasks_are_done():
    by, times = taken(3, 7, np.array([0, 1, 2] * 3))
    assert by.tolist() == [0, 0, 1, 1, 2, 2, 0] and (times == 1).all()
    by, times = taken(3, 7, np.array([2] * 8))  # the others never come
    assert (by == 2).all() and (times == 1).all()
    by, times = taken(2, 8, np.array([0, 1, 1, 1, 1, 1, 0, 1, 1, 1]))
    assert by.tolist() == [0, 1, 0, 1, 1, 1, 1, 1] and (times == 1).all()
    assert taken(2, 0, np.array([0, 1]))[1].size == 0


@kernel(done=WRITE.of(np.float64), cost=10**6)
def hungry(least, done, task, tasks):
    """Allocates more memory than exists, in all tasks but the first few."""
    if task >= least:
        np.empty(2**46)[task] = 1.0
    done[task] += 1


@pytest.mark.parametrize("least", [0, 3, 7])
def test_a_task_out_of_memory_raises(least):
    if least and threads.count == 1:
        pytest.skip("one thread has one task")
    done, x, y = np.zeros(8 * threads.count), random(LARGE), np.zeros(LARGE, np.float32)
    with pytest.raises(MemoryError, match="out of memory"):
        hungry(least, done)
    np.testing.assert_array_equal(done, np.arange(done.size) < least)  # the others were done once
    with pytest.raises(MemoryError, match="out of memory"):
        beside((scale, x, 1.0, y), (hungry, least, done))
    scale(x, 2.0, y)  # and the pool still works
    np.testing.assert_array_equal(y, 2 * x)


def test_unchanged_compares_a_list_and_words_elsewhere():
    listed, words = [object(), object()], np.array([5, 6], np.int64)
    place = words.ctypes.data + 8

    def same(*expected):
        row = np.array(expected, np.int64)
        return unchanged(id(listed), row.ctypes.data)

    ids = [*map(id, listed)]
    assert same(2, *ids, 0) and same(2, *ids, 1, place, 6) and same(2, *ids, 2, place, 6, place - 8, 5)
    assert not same(2, *ids, 1, place, 5) and not same(2, *ids, 2, place, 6, place - 8, 6)
    assert not same(2, *ids[::-1], 0) and not same(1, ids[0], 0) and not same(3, *ids, ids[0], 0)
