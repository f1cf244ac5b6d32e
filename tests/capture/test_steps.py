"""A training step is its kernels: what they read was written by kernels, or was there before the first of them."""

import numpy as np
import pytest

from benchmarks import workloads
from tinygrad_like.kernels import checks, program, threads


@pytest.fixture
def all_threads():
    yield
    threads.set_num_threads(threads.most)


def memory(array):
    """All of the memory that an array shows a part of, as bytes."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.reshape(-1).view(np.uint8) if array.flags.c_contiguous else array.T.reshape(-1).view(np.uint8)


def kept(step):
    """The arrays that live from one step to the next."""
    model, optimizer, *batch = step.parts
    state = [a for s in optimizer._states.values() for a in s.values() if isinstance(a, np.ndarray)]
    model = [t._data for t in model.state_dict().values() if t.ndim]  # but for counters, which no kernel reads
    return [*model, *state, *optimizer._numbers, *[t._data for t in batch]]


def recorded(step):
    program.start_trace(calls := [])
    try:
        step()
        return [call for call in calls if not isinstance(call, checks.Check)]
    finally:
        program.stop_trace()


@pytest.mark.slow
@pytest.mark.parametrize("name", workloads.WORKLOADS)
def test_a_step_replayed_gives_the_same_bits(name, all_threads):
    step = workloads.ours(name, threads.most)
    for _ in range(3):
        step()
    constants = {id(a): a for call in recorded(step) for a in call.reads()}  # tables that were made once
    start = [a.copy() for a in kept(step)]
    calls = recorded(step)
    arrays = kept(step)
    ends = [a.copy() for a in arrays]
    assert any((a != b).any() for a, b in zip(start, ends, strict=True))

    written = {id(a) for call in calls for a in call.writes()}
    stays = [memory(a) for a in [*arrays, *[a for i, a in constants.items() if i not in written]]]
    for call in calls:
        for a in [*call.reads(), *call.writes()]:
            if not (id(a) in constants and id(a) not in written) and not any(np.may_share_memory(a, b) for b in stays):
                memory(a)[:] = 255  # NaN, and -1
    for a, before in zip(arrays, start, strict=True):
        a[...] = before
    for call in calls:
        if isinstance(call, program.Copy):
            call.target[...] = call.source
        else:
            program.play([call])
    for a, end in zip(arrays, ends, strict=True):
        np.testing.assert_array_equal(a, end)
