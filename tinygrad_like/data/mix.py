"""Augmentation that mixes pairs of examples and their targets: mixup for anything, cutmix for images (002)."""

from __future__ import annotations

import math

import numpy as np

from .. import random
from .augment import Shown, check, check_probability, per_example


class _Mix(Shown):
    """Called as mix(x, targets, generator) -> (x, targets), each mixed with a permutation of itself."""

    images = False  # whether it takes images only

    def __init__(self, num_classes: int | None, alpha: float, p: float):
        who = type(self).__name__
        check_probability(who, p)
        if num_classes is not None and num_classes < 1 or not 0 < alpha < math.inf:
            raise ValueError(f"{who}: num_classes={num_classes} must be at least 1, alpha={alpha} positive")
        self.num_classes, self.alpha, self.p = num_classes, alpha, p

    def __call__(self, images: np.ndarray, labels: np.ndarray,
                 generator: np.random.Generator | None = None) -> tuple[np.ndarray, np.ndarray]:
        check(type(self).__name__, images, self.images)
        generator, batch = generator or random.numbers(), len(images)
        labels = self._targets(np.asarray(labels), batch)
        partner = generator.permutation(batch)
        weight = np.where(generator.random(batch) < self.p, generator.beta(self.alpha, self.alpha, batch), 1.0)
        images, weight = self.mix(images, images[partner], weight.astype(np.float32), generator)
        weight = per_example(weight, labels)
        return images, weight * labels + (1 - weight) * labels[partner]

    def mix(self, images: np.ndarray, others: np.ndarray, weight: np.ndarray,
            generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Mixed images, and the actual weight of the first in each, close to `weight`."""
        raise NotImplementedError

    def _targets(self, labels: np.ndarray, batch: int) -> np.ndarray:
        who = type(self).__name__
        if self.num_classes is None:
            if labels.dtype.kind != "f" or labels.shape[:1] != (batch,):
                raise ValueError(f"{who}: without num_classes, targets must be floats (batch, ...) with "
                                 f"batch {batch}, got {labels.dtype} of shape {labels.shape}; pass num_classes for "
                                 "class labels")
            return labels.astype(np.float32, copy=False)
        if labels.shape == (batch, self.num_classes) and labels.dtype.kind == "f":
            return labels.astype(np.float32, copy=False)
        if labels.shape != (batch,) or labels.dtype.kind not in "iu":
            raise ValueError(f"{who}: labels must be integers ({batch},) or probabilities ({batch}, "
                             f"{self.num_classes}), got {labels.dtype} of shape {labels.shape}")
        if batch and not 0 <= labels.min() <= labels.max() < self.num_classes:
            raise IndexError(f"{who}: labels from {labels.min()} to {labels.max()} are out of range for "
                             f"{self.num_classes} classes")
        return np.eye(self.num_classes, dtype=np.float32)[labels]


class MixUp(_Mix):
    """w x_i + (1 - w) x_j, of examples and of targets, w ~ Beta(alpha, alpha) for each, j a permutation.

    Called as mix(x, targets, generator) -> (x, targets); x is float32 (batch, ...): vectors, signals, images. Labels
    are integers (batch,) or probabilities (batch, num_classes); it returns probabilities, which cross_entropy takes.
    With num_classes=None, targets are floats (batch, ...), as in regression. p: the probability that an example is
    mixed. Raises ValueError for other targets, IndexError for labels out of range.
    Source: H. Zhang, M. Cisse, Y. Dauphin, D. Lopez-Paz, mixup: Beyond Empirical Risk Minimization, 2018.
    """

    def __init__(self, num_classes: int | None, alpha: float = 0.2, p: float = 1.0):
        super().__init__(num_classes, alpha, p)

    def mix(self, images: np.ndarray, others: np.ndarray, weight: np.ndarray,
            generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        others -= images
        others *= per_example(1 - weight, others)
        others += images
        return others, weight


class CutMix(_Mix):
    """Replace a box in image i by the same part of image j; labels are mixed by area.

    With w ~ Beta(alpha, alpha) for each image, the box has sqrt(1 - w) of the height and width, is centred on a
    uniformly random pixel, and is cut off at the edge. The label is (1 - a) y_i + a y_j, where the box covers the
    fraction a of the area. The call, targets, p and errors are those of MixUp; x are images.

    Source: S. Yun et al., CutMix: Regularization Strategy to Train Strong Classifiers with Localizable Features, 2019.
    """

    images = True

    def __init__(self, num_classes: int | None, alpha: float = 1.0, p: float = 1.0):
        super().__init__(num_classes, alpha, p)

    def mix(self, images: np.ndarray, others: np.ndarray, weight: np.ndarray,
            generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        batch, _, height, width = images.shape
        side = np.sqrt(1 - weight)[:, None]
        rows, columns = (_around(n, side, generator.integers(0, n, (batch, 1))) for n in (height, width))
        area = rows.sum(axis=1) * columns.sum(axis=1) / (height * width)
        box = rows[:, None, :, None] & columns[:, None, None, :]
        return np.where(box, others, images), (1 - area).astype(np.float32)


def _around(n: int, side: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """A mask of the n positions within `side` n around `centre`, both (batch, 1): (batch, n)."""
    length = np.rint(side * n).astype(np.int64)
    first = centre - length // 2
    return (np.arange(n) >= first) & (np.arange(n) < first + length)
