import math

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor
from tinygrad_like.training import EarlyStopping


def run(stopper, metrics):
    """Update with each metric, the weight being its position, until told to stop; returns the updates made."""
    for i, metric in enumerate(metrics):
        stopper.model.weight.assign(np.full((1, 1), i, np.float32))
        if stopper.update(metric):
            return i + 1
    return len(metrics)


@pytest.mark.parametrize("mode, metrics, updates, best", [
    ("max", [1, 2, 3, 3, 2, 9], 5, 2),
    ("min", [5, 4, 6, 3, 3, 3, 0], 6, 3),
    ("max", [1, 0, 2, 1, 3, 2], 6, 4),  # never two in a row without improvement
    ("min", [float("nan"), 2, float("nan"), 1, float("nan"), float("nan"), 0], 6, 3),
])
def test_training_stops_after_patience_and_returns_to_the_best(mode, metrics, updates, best):
    stopper = EarlyStopping(nn.Linear(1, 1), patience=2, mode=mode)
    assert run(stopper, metrics) == updates == stopper.updates
    assert stopper.rollback() == stopper.best == metrics[best]
    assert stopper.model.weight.item() == best


def test_training_stops_when_none_of_the_last_k_beats_the_best_before():
    """(002) prints another rule, which compares a metric with the last k only: see the errata in docs/seeds.md."""
    rng = np.random.default_rng(0)
    for k in (1, 2, 4):
        metrics = rng.integers(0, 20, 100).tolist()
        expected = next(t for t in range(k, 100) if max(metrics[t - k + 1:t + 1]) <= max(metrics[:t - k + 1]))
        assert run(EarlyStopping(nn.Linear(1, 1), patience=k), metrics) == expected + 1


def test_min_delta_counts_and_patience_may_be_infinite():
    assert run(EarlyStopping(nn.Linear(1, 1), 2, min_delta=0.5), [1.0, 1.4, 1.5, 1.6]) == 3
    stopper = EarlyStopping(nn.Linear(1, 1), math.inf)
    assert run(stopper, [2, 3, *[0] * 50]) == 52
    stopper.rollback()
    assert stopper.model.weight.item() == 1


def test_rollback_restores_buffers_and_leaves_the_copy_alone():
    class Model(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(np.zeros((1, 1), np.float32))
            self.register_buffer("mean", Tensor([7.0]))

    stopper = EarlyStopping(Model(), 1)
    stopper.update(1.0)
    for _ in range(2):
        stopper.model.mean.assign([0.0])
        stopper.rollback()
        assert stopper.model.mean.item() == 7


def test_a_loaded_stopper_continues():
    first, second = (EarlyStopping(nn.Linear(1, 1), 2, "min") for _ in range(2))
    run(first, [3, 2, 2.5])
    second.load_state_dict(first.state_dict())
    assert not second.stopped and second.update(2.0)
    assert second.rollback() == 2 and second.model.weight.item() == 1


def test_bad_arguments_raise():
    with pytest.raises(ValueError, match="mode='up'"):
        EarlyStopping(nn.Linear(1, 1), mode="up")
    with pytest.raises(ValueError, match="patience=0"):
        EarlyStopping(nn.Linear(1, 1), patience=0)
    with pytest.raises(RuntimeError, match="nothing to restore"):
        EarlyStopping(nn.Linear(1, 1)).rollback()
