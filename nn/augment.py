"""Augmentation as a layer of the model (002), as Keras has it; `tinygrad_like.data` has the transforms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinygrad_like import random
from tinygrad_like.core.graph import mode
from tinygrad_like.core.tensor import Tensor, wrap

from .module import Configured, described


class Augment(Configured):
    """In training y = transform(x, generator), new at each call; in evaluation y = x.

    transform: a function of an array and a NumPy Generator, as all of `tinygrad_like.data` that take images only:
        nn.Sequential(nn.Augment(data.RandomRotation(10)), nn.Conv2d(1, 8, 3), ...)

    It stands before the layers that learn: no gradient passes through it. Raises ValueError if x requires grad in
    training, TypeError for what is no function.
    """

    def __init__(self, transform: Callable[..., np.ndarray]):
        if not callable(transform):
            raise TypeError(f"Augment: transform must be a function of images and a generator, got "
                            f"{described(transform)}")
        self.transform = transform

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        if x.requires_grad and mode.recording:
            raise ValueError("Augment: no gradient passes through it, but its input requires grad; put it first, or "
                             "use x.detach()")
        return wrap(random.sampled("augment", self._augmented, x))

    def _augmented(self, generator: np.random.Generator, images: np.ndarray) -> np.ndarray:
        rows = random.rows
        if rows is None or not getattr(self.transform, "takes_rows", False):
            return np.asarray(self.transform(images, generator), images.dtype)
        return np.asarray(self.transform(images, generator, rows), images.dtype)
