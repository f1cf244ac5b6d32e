import numpy as np
import pytest

from tinygrad_like import Tensor
from tinygrad_like.training import accuracy, calibration_error

SCORES = np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]], np.float32)
LABELS = np.array([1, 2, 2, 0])  # SCORES predict 1, 0, 2, 1


def test_accuracy_takes_scores_indices_and_mixed_labels():
    assert accuracy(SCORES, LABELS) == accuracy(Tensor(SCORES), Tensor(LABELS)) == 0.5
    assert accuracy(SCORES.argmax(axis=1), LABELS) == 0.5
    assert accuracy(SCORES, np.eye(3)[LABELS] * 0.7 + 0.1) == 0.5
    assert accuracy(np.stack([SCORES, SCORES]), np.stack([LABELS, SCORES.argmax(1)])) == 0.75


def test_calibration_error_equals_its_definition():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 500)
    labels = rng.integers(0, 4, 500)
    confidence, right = p.max(1), p.argmax(1) == labels
    expected = 0
    for b in range(10):
        inside = (confidence > b / 10) & (confidence <= (b + 1) / 10)
        if inside.any():
            expected += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    assert calibration_error(p, labels, bins=10) == pytest.approx(expected)


def test_calibration_error_punishes_overconfidence():
    sure = np.tile([1.0, 0.0], (100, 1))
    assert calibration_error(sure, np.zeros(100, int)) == 0
    assert calibration_error(sure, np.arange(100) % 2) == 0.5
    assert calibration_error(np.full((100, 2), 0.5), np.arange(100) % 2) == 0


@pytest.mark.parametrize("call, message", [
    (lambda: accuracy(SCORES, LABELS[:3]), r"accuracy: predictions \(4,\) int64 do not fit labels \(3,\)"),
    (lambda: accuracy(SCORES[:, 0], LABELS), "accuracy: .*float32 do not fit"),
    (lambda: accuracy([], np.array([], int)), "accuracy: predictions .*|there are no labels"),
    (lambda: calibration_error(SCORES * 2, LABELS), "sum to 1"),
    (lambda: calibration_error(SCORES * np.nan, LABELS), "sum to 1"),
])
def test_bad_arguments_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()
