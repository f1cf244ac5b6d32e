import numpy as np
import pytest

from tinygrad_like import Tensor
from tinygrad_like.training import accuracy, calibration_error, confusion_matrix, f1_score, top_k_accuracy

SCORES = np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]], np.float32)
LABELS = np.array([1, 2, 2, 0])  # SCORES say 1, 0, 2, 1


def test_accuracy_of_scores_indices_and_mixed_labels():
    assert accuracy(SCORES, LABELS) == accuracy(Tensor(SCORES), Tensor(LABELS)) == 0.5
    assert accuracy(SCORES.argmax(axis=1), LABELS) == 0.5
    assert accuracy(SCORES, np.eye(3)[LABELS] * 0.7 + 0.1) == 0.5
    assert accuracy(np.stack([SCORES, SCORES]), np.stack([LABELS, SCORES.argmax(1)])) == 0.75


def test_top_k():
    assert [top_k_accuracy(SCORES, LABELS, k) for k in (1, 2, 3)] == [0.5, 1.0, 1.0]
    ties = np.zeros((1, 4))
    assert [top_k_accuracy(ties, [label], 2) for label in range(4)] == [1, 1, 0, 0]


def test_confusion_matrix():
    assert confusion_matrix(SCORES, LABELS).tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 1]]
    assert confusion_matrix([0, 0], [0, 1], classes=3).tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert confusion_matrix([0, 0], [0, 1]).shape == (2, 2)


def test_f1_by_its_definition():
    rng = np.random.default_rng(0)
    predicted, labels = rng.integers(0, 5, (2, 300))
    each = []
    for c in range(5):
        hits = np.sum((predicted == c) & (labels == c))
        precision, recall = hits / np.sum(predicted == c), hits / np.sum(labels == c)
        each.append(2 * precision * recall / (precision + recall))
    np.testing.assert_allclose(f1_score(predicted, labels, None), each)
    assert f1_score(predicted, labels) == pytest.approx(np.mean(each))
    assert f1_score(predicted, labels, "micro") == pytest.approx(accuracy(predicted, labels))


def test_f1_of_classes_that_are_missing():
    assert f1_score([0, 0, 1], [0, 0, 0], None, classes=3).tolist() == [0.8, 0, 0]
    assert f1_score([0, 0, 1], [0, 0, 0], classes=3) == pytest.approx(0.4)  # the class that is nowhere does not count


def test_calibration_error_by_its_definition():
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


def test_calibration_error_of_honest_and_of_vain_predictions():
    sure = np.tile([1.0, 0.0], (100, 1))
    assert calibration_error(sure, np.zeros(100, int)) == 0
    assert calibration_error(sure, np.arange(100) % 2) == 0.5
    assert calibration_error(np.full((100, 2), 0.5), np.arange(100) % 2) == 0


@pytest.mark.parametrize("call, message", [
    (lambda: accuracy(SCORES, LABELS[:3]), r"accuracy: predictions \(4,\) int64 do not fit labels \(3,\)"),
    (lambda: accuracy(SCORES[:, 0], LABELS), "accuracy: .*float32 do not fit"),
    (lambda: accuracy([], np.array([], int)), "accuracy: predictions .*|there are no labels"),
    (lambda: top_k_accuracy(SCORES, LABELS, 4), "k=4 must lie between 1 and the number of classes, 3"),
    (lambda: top_k_accuracy(LABELS, LABELS, 1), "scores must be floating point"),
    (lambda: confusion_matrix([0, 3], [0, 1], classes=3), "classes must lie in 0, ..., 2, got 0 to 3"),
    (lambda: f1_score(SCORES, LABELS, "mean"), "average='mean' must be 'macro', 'micro' or None"),
    (lambda: calibration_error(SCORES * 2, LABELS), "sum to 1"),
    (lambda: calibration_error(SCORES * np.nan, LABELS), "sum to 1"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
