"""The embedded 8x8 digits (source and licence: digits.md), and a stratified split."""

from __future__ import annotations

import hashlib
import io
from importlib.resources import files

import numpy as np

SHA256 = "b2dab7b501728c22e9119ad76740b2e17c77a231e42d1e592380d90886f1a05e"


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """1,797 handwritten digits, without a download.

    Returns images (1797, 1, 8, 8), float32 in [0, 1], and labels (1797,), int64 in 0, ..., 9.
    Raises ValueError if the file is damaged.
    Source: E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998.
    """
    path = files(__package__).joinpath("digits.npz")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise ValueError(f"load_digits: {path} is damaged; install the package again")
    with np.load(io.BytesIO(content)) as stored:
        images, labels = stored["images"], stored["labels"]
    return images[:, None].astype(np.float32) / 16, labels.astype(np.int64)  # a pixel is a count of dark dots, 0..16


def stratified_split(labels: np.ndarray, test_fraction: float = 0.2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Split indices into training and test, with the same fraction of each class in the test part.

    labels: (n,). Returns two sorted index arrays that together are 0, ..., n - 1. The split depends only on the labels
    and `seed`, not on the package's generator: the same `seed` gives the same split in every program.
    Raises ValueError if the fraction is not inside (0, 1), or leaves a class out of the training or the test part.
    """
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(f"stratified_split: labels must have one axis, got shape {labels.shape}")
    if not 0 < test_fraction < 1:
        raise ValueError(f"stratified_split: test_fraction={test_fraction} must lie between 0 and 1")
    rng = np.random.default_rng(seed)
    in_test = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        count = round(test_fraction * len(members))
        if not 0 < count < len(members):
            raise ValueError(
                f"stratified_split: class {label} has {len(members)} members, of which test_fraction={test_fraction} "
                f"is {count}; training and test need at least one each"
            )
        in_test[members[:count]] = True
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)
