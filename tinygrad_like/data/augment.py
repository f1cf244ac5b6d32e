"""Augmentation: random changes of training images that leave what they show the same."""

from __future__ import annotations

import numpy as np

from .. import random


def random_shift(images: np.ndarray, pixels: int = 1) -> np.ndarray:
    """Move each image by up to `pixels` along both axes, independently and uniformly, filling with 0.

    images: (batch, channels, height, width); returns a new array of that shape. Raises ValueError otherwise.
    """
    if images.ndim != 4 or pixels < 0:
        raise ValueError("random_shift: images must be (batch, channels, height, width) and pixels >= 0, got shape "
                         f"{images.shape} and pixels={pixels}")
    batch, _, height, width = images.shape
    padded = np.pad(images, ((0, 0), (0, 0), (pixels, pixels), (pixels, pixels)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), axis=(2, 3))
    down, right = random.generator.integers(0, 2 * pixels + 1, (2, batch))
    return windows[np.arange(batch), :, down, right]
