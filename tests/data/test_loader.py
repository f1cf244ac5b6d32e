"""Batches: their rows and order, the thread that makes them, and errors."""

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygrad_like import Tensor, get_rng_state, manual_seed, random, set_rng_state
from tinygrad_like.data import Compose, CutMix, DataLoader, GaussianNoise, RandomShift

X, Y = np.random.default_rng(1).random((23, 1, 4, 4), dtype=np.float32), np.arange(23) % 3


def noisy(prefetch):
    return DataLoader(X, Y, batch_size=4, shuffle=True, transform=Compose([RandomShift(1), GaussianNoise(0.1)]),
                      mix=CutMix(3), prefetch=prefetch)


def numbers(loader):
    return [(x.tolist(), y.tolist()) for x, y in loader]


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("DataLoader")]


class Examples:
    """A data set as in PyTorch."""

    def __init__(self, n=23):
        self.n, self.read = n, []

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        self.read.append(i)
        return X[i], int(Y[i]), 0.5 * i


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("options", [{}, {"shuffle": True, "drop_last": True}, {"shard": (1, 3)}, {"shard": (4, 5)},
                                     {"shuffle": True, "shard": (0, 2)}], ids=str)
def test_a_data_set_yields_the_batches_of_its_arrays(options, prefetch):
    runs = []
    for source in ((Examples(),), (X, Y, np.arange(23, dtype=np.float32) / 2), (list(Examples()),)):
        manual_seed(4)
        loader = DataLoader(*source, batch_size=4, prefetch=prefetch, **options)
        runs.append((len(loader), [[(a.dtype, a.tolist()) for a in batch] for batch in loader]))
    assert runs[0] == runs[1] == runs[2]


def test_a_data_set_is_read_lazily():
    data = Examples()
    loader = DataLoader(data, batch_size=5)
    assert data.read == [] and len(loader) == 5
    next(iter(loader))
    assert data.read == [0, 1, 2, 3, 4]


def test_examples_that_do_not_stack_are_refused():
    class Ragged(Examples):
        def __getitem__(self, i):
            return np.zeros(2 + i % 2), 1

    with pytest.raises(ValueError, match=r"default_collate: the examples have shapes \(2,\) and \(3,\)"):
        next(iter(DataLoader(Ragged(), batch_size=2)))


@given(st.integers(1, 30), st.integers(1, 12), st.booleans(), st.booleans())
def test_a_loader_yields_each_row_once_and_keeps_pairs(n, batch_size, shuffle, drop_last):
    x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    loader = DataLoader(x, np.arange(n), batch_size=batch_size, shuffle=shuffle, drop_last=drop_last)
    batches = list(loader)
    assert len(batches) == len(loader)
    sizes = [len(y) for _, y in batches]
    assert sizes == [batch_size] * (n // batch_size) + [n % batch_size] * (not drop_last and n % batch_size > 0)
    rows = [int(i) for _, y in batches for i in y.numpy()]
    assert len(set(rows)) == len(rows)
    assert shuffle or rows == list(range(len(rows)))
    for a, b in batches:
        assert isinstance(a, Tensor) and np.array_equal(a.numpy(), x[b.numpy()])


@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_are_copies(shuffle):
    x = np.zeros((4, 2), np.float32)
    for batch in DataLoader(x, batch_size=2, shuffle=shuffle):
        batch.assign(np.ones((2, 2)))
    assert not x.any()


def test_a_loader_transforms_whole_batches():
    loader = DataLoader(np.ones((3, 2)), np.zeros(3), batch_size=2, transform=lambda x, generator: 2 * x,
                        mix=lambda x, y, generator: (x + 1, y + x[:, 0]))
    assert numbers(loader) == [([[3, 3], [3, 3]], [2, 2]), ([[3, 3]], [2])]
    three = DataLoader(np.ones(2), np.ones(2), np.arange(2), batch_size=2, mix=lambda x, y, generator: (2 * x, y))
    assert [x.tolist() for x in next(iter(three))] == [[2, 2], [1, 1], [0, 1]]  # mix leaves the third alone


@pytest.mark.parametrize("arrays, options, message", [
    ((), dict(batch_size=1), "one or more arrays"),
    ((np.zeros(3), np.zeros(4)), dict(batch_size=1), r"\[\(3,\), \(4,\)\]"),
    ((np.float32(1),), dict(batch_size=1), "same number of rows"),
    ((np.zeros(3),), dict(batch_size=0), "batch_size=0"),
    ((np.zeros(3),), dict(batch_size=1, prefetch=-1), "prefetch=-1"),
    ((np.zeros(3),), dict(batch_size=1, mix=CutMix(2)), "mix needs two arrays"),
])
def test_a_loader_refuses_bad_arguments(arrays, options, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(*arrays, **options)


# Randomness


@pytest.mark.parametrize("options", [dict(), dict(prefetch=1), dict(shard=(0, 1)), dict(prefetch=1, shard=(0, 1))])
def test_a_batch_is_freed_before_the_next_is_made(options):
    gone, found = threading.Event(), []

    def transform(x, generator):
        if made:  # the first batch was read, and is freed before the second is made
            found.append(gone.wait(20))
        made.append(len(x))
        return x

    made: list = []
    batches = iter(DataLoader(np.arange(8.0), batch_size=4, transform=transform, **options))
    first = next(batches)
    ref = weakref.ref(first, lambda _: gone.set())
    del first
    second = next(batches)
    assert found == [True] and ref() is None and second.tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("prefetch", [1, 2])
def test_prefetch_is_the_number_of_batches_made_ahead(prefetch):
    made: list[int] = []
    batches = iter(DataLoader(np.arange(9.0), batch_size=1, prefetch=prefetch,
                              transform=lambda x, generator: made.append(1) or x))
    for read in (1, 2):
        next(batches)
        while len(made) < read + prefetch:
            time.sleep(0.001)
        time.sleep(0.02)  # time for one too many
        assert len(made) == read + prefetch
    batches.close()


@pytest.mark.parametrize("prefetch", [1, 3, 100])
def test_prefetch_changes_nothing(prefetch):
    expected = numbers(noisy(0))
    manual_seed(0)
    loader = noisy(prefetch)
    batches = []
    for x, y in loader:
        random.numbers().random(7)  # a model draws in between
        batches.append((x.tolist(), y.tolist()))
    assert batches == expected
    assert not threads()


def test_epochs_differ_and_resume_exactly():
    loader = noisy(2)
    first, state = numbers(loader), get_rng_state()
    second = numbers(loader)
    assert first != second
    set_rng_state(state)
    assert numbers(noisy(0)) == second


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("made", [lambda x: x.astype("uint16"), lambda x: x.astype(str), lambda x: x.astype(object)])
def test_a_batch_of_an_unsupported_dtype_is_refused(made, prefetch):
    loader = DataLoader(np.zeros((4, 2)), batch_size=2, transform=lambda x, generator: made(x), prefetch=prefetch)
    with pytest.raises(TypeError, match="DataLoader: dtype .* is not supported; cast to one of"):
        next(iter(loader))


@pytest.mark.parametrize("made", [Tensor, np.ndarray.tolist, lambda x: x.astype(">f8"),
                                  lambda x: x.view(type("Mine", (np.ndarray,), {}))])
def test_a_transform_may_return_anything_like_an_array(made):
    batch, = DataLoader(np.ones((4, 2)), batch_size=4, transform=lambda x, generator: made(x))
    assert type(batch._data) is np.ndarray and batch.dtype is np.dtype("float64") and batch.tolist() == [[1, 1]] * 4


def test_a_data_set_may_be_empty_or_smaller_than_a_batch():
    assert list(DataLoader(np.zeros((0, 3)), batch_size=2, shuffle=True)) == []
    assert [len(x) for x in DataLoader(np.zeros((3, 2)), batch_size=5)] == [3]
    last = DataLoader(np.zeros((3, 2)), batch_size=5, drop_last=True)
    assert list(last) == [] and len(last) == 0


def test_an_unfinished_iteration_changes_no_other():
    loader = DataLoader(np.arange(10.0), batch_size=3, shuffle=True, prefetch=2)
    manual_seed(0)
    whole = [x.tolist() for _ in range(2) for x in loader]
    manual_seed(0)
    left = iter(loader)
    first = [next(left).tolist()]
    second = [x.tolist() for x in loader]
    assert first + [x.tolist() for x in left] + second == whole


def test_a_loader_without_randomness_draws_no_random_numbers():
    before = get_rng_state()
    list(DataLoader(X, Y, batch_size=4, prefetch=2))
    assert get_rng_state() == before


# The thread


def test_batches_are_made_in_the_background():
    ready = threading.Event()
    loader = DataLoader(X, batch_size=12, prefetch=1,
                        transform=lambda x, generator: (ready.set() if len(x) < 12 else None, x)[1])
    batches = iter(loader)
    next(batches)
    assert ready.wait(10)  # the second, while we hold the first
    assert len(list(batches)) == 1


def failing(images, generator):
    if len(images) < 4:
        raise ZeroDivisionError("the last batch")
    return images


@pytest.mark.parametrize("prefetch", [0, 1, 5, 50])
def test_an_error_is_raised_in_its_place(prefetch):
    seen = []
    with pytest.raises(ZeroDivisionError, match="the last batch") as caught:
        for x in DataLoader(X, batch_size=4, transform=failing, prefetch=prefetch):
            seen.append(len(x))
    assert seen == [4] * 5
    assert "failing" in [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert not threads()


def test_leaving_the_loop_ends_the_thread():
    for _ in noisy(3):
        assert threads()
        break
    assert not threads()
    with pytest.raises(KeyError):
        for _ in noisy(3):
            raise KeyError
    assert not threads()


PROGRAM = """
import signal, time
import numpy as np
from tinygrad_like.data import DataLoader

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

def slow(images, generator):
    time.sleep(0.05)
    return images

batches = iter(DataLoader(np.zeros((10**4, 1)), batch_size=1, transform=slow, prefetch=4))
next(batches)
print("ready", flush=True)
"""


def start(code):
    root = str(Path(__file__).parents[2])
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "PYTHONPATH": root})


def test_the_program_can_end_during_an_iteration():
    program = start(PROGRAM)
    assert program.communicate(timeout=60) == ("ready\n", "") and program.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_control_c_ends_the_program():
    program = start(PROGRAM + "for _ in batches: pass")
    assert program.stdout.readline() == "ready\n"
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == -signal.SIGINT and errors.splitlines()[-1] == "KeyboardInterrupt"
