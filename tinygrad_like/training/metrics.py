"""Metrics of predictions, as plain numbers from arrays or Tensors.

predicted: class indices of the shape of `labels`, or scores (logits or probabilities) with an extra last axis of
classes, of which the largest counts. labels: class indices, or likewise probabilities, as label mixing makes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import FLOATS


def accuracy(predicted: Any, labels: Any) -> float:
    """The fraction of predictions that are right."""
    predicted, labels = _pair("accuracy", predicted, labels)
    return float((predicted == labels).mean())


def top_k_accuracy(scores: Any, labels: Any, k: int = 5) -> float:
    """The fraction of examples whose label is among the k largest scores; among equal scores, the first class wins.

    scores: (..., classes); labels: (...). Raises ValueError unless 1 <= k <= classes.
    """
    scores, labels = _scores("top_k_accuracy", scores, labels)
    if not 1 <= k <= scores.shape[-1]:
        raise ValueError(f"top_k_accuracy: k={k} must lie between 1 and the number of classes, {scores.shape[-1]}")
    best = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
    return float((best == labels[..., None]).any(axis=-1).mean())


def confusion_matrix(predicted: Any, labels: Any, classes: int | None = None) -> np.ndarray:
    """The confusion matrix: how many examples of each class (row) were predicted as each class (column), int64.

    classes: how many there are; by default, up to the largest that occurs.
    """
    if classes is None and np.ndim(_array(predicted)) > np.ndim(_array(labels)):
        classes = _array(predicted).shape[-1]
    predicted, labels = (a.ravel() for a in _pair("confusion_matrix", predicted, labels))
    lowest, highest = (int(min(predicted.min(), labels.min())), int(max(predicted.max(), labels.max())))
    classes = highest + 1 if classes is None else classes
    if lowest < 0 or highest >= classes:
        raise ValueError(f"confusion_matrix: classes must lie in 0, ..., {classes - 1}, got {lowest} to {highest}")
    return np.bincount(labels * classes + predicted, minlength=classes**2).reshape(classes, classes)


def f1_score(predicted: Any, labels: Any, average: str | None = "macro", classes: int | None = None) -> Any:
    """F1 = 2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall of a class.

    average: "macro", the mean over the classes that occur in labels or predictions; "micro", the F1 of the summed
        counts of all classes, which equals the accuracy if each example has one label; None, one per class, (classes,).
    A class that occurs in neither has F1 = 0.
    """
    matrix = confusion_matrix(predicted, labels, classes)
    if average not in ("macro", "micro", None):
        raise ValueError(f"f1_score: average={average!r} must be 'macro', 'micro' or None")
    hits, total = np.diag(matrix), matrix.sum(axis=0) + matrix.sum(axis=1)  # total = 2 TP + FP + FN
    if average == "micro":
        return float(2 * hits.sum() / total.sum())
    each = 2 * hits / np.maximum(total, 1)
    return each if average is None else float(each[total > 0].mean())


def calibration_error(probabilities: Any, labels: Any, bins: int = 15) -> float:
    """The expected calibration error: sum over bins b of (n_b / n) |accuracy of b - mean confidence of b|.

    The confidence of an example is its largest probability; the bins divide (0, 1] into equal parts.
    probabilities: (..., classes), of sum 1: softmax the logits first; labels: (...). Source: Guo et al. 2017.
    """
    p, labels = _scores("calibration_error", probabilities, labels)
    if not (p.min() >= 0 and np.abs(p.sum(axis=-1) - 1).max() <= 1e-3):  # NaN included
        raise ValueError("calibration_error: probabilities must be >= 0 and sum to 1 over the last axis; use softmax")
    confidence = p.max(axis=-1).astype(np.float64).ravel()
    right = (p.argmax(axis=-1) == labels).ravel()
    index = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    gap = np.bincount(index, right, bins) - np.bincount(index, confidence, bins)
    return float(np.abs(gap).sum() / len(right))


def _array(x: Any) -> np.ndarray:
    return x.data if isinstance(x, Tensor) else np.asarray(x)


def _pair(who: str, predicted: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Class indices of the predictions and of the labels."""
    predicted, labels = _array(predicted), _array(labels)
    if labels.dtype.kind in FLOATS:
        labels = labels.argmax(axis=-1)
    if predicted.ndim == labels.ndim + 1:
        predicted = predicted.argmax(axis=-1)
    if predicted.shape != labels.shape or predicted.dtype.kind not in "iub":
        raise ValueError(f"{who}: predictions {predicted.shape} {predicted.dtype} do not fit labels {labels.shape}; "
                         "give class indices of that shape, or scores with one more axis, that of the classes")
    if not labels.size:
        raise ValueError(f"{who}: there are no labels")
    return predicted.astype(np.int64), labels.astype(np.int64)


def _scores(who: str, scores: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    scores = _array(scores)
    if scores.dtype.kind not in FLOATS:
        raise ValueError(f"{who}: scores must be floating point, one for each class, got {scores.dtype}")
    return scores, _pair(who, scores, labels)[1]
