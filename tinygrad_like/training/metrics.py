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


def calibration_error(probabilities: Any, labels: Any, bins: int = 15) -> float:
    """The expected calibration error: sum over bins b of (n_b / n) |accuracy of b - mean confidence of b|.

    The confidence of an example is its largest probability; the bins divide (0, 1] into equal parts.
    probabilities: (..., classes), of sum 1: softmax the logits first; labels: (...). Source: Guo et al. 2017.
    """
    p, labels = _array(probabilities), _pair("calibration_error", probabilities, labels)[1]
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
