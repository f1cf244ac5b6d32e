"""Scaling, fitted to the training data alone: test data must not influence the model.

    scaler = StandardScaler().fit(x_train)
    x_train, x_test = scaler.transform(x_train), scaler.transform(x_test)

Each feature of (n, features), or each channel of (n, channels, height, width), is scaled separately. A scaler may also
be the last transform in Compose.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..random import Rows

BLOCK = 1024  # rows at a time: a float64 copy of the data set might not fit into memory


class _Scaler:
    """transform(x) = (x - offset) / scale, with one offset and scale per feature or channel."""

    offset: np.ndarray
    scale: np.ndarray

    def _check_data(self, x: np.ndarray) -> None:
        if not isinstance(x, np.ndarray) or x.ndim < 2 or x.dtype.kind != "f" or not x.size:
            raise ValueError(f"{type(self).__name__}: data must be a floating-point array (n, features) or "
                             "(n, channels, height, width) that is not empty, got "
                             f"{f'{x.dtype} of shape {x.shape}' if isinstance(x, np.ndarray) else type(x).__name__}")

    def _set(self, offset: np.ndarray, scale: np.ndarray) -> None:
        self.offset, self.scale = offset, np.where(scale > 0, scale, 1.0)  # a constant feature becomes 0

    def _shaped(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not hasattr(self, "scale"):
            raise ValueError(f"{type(self).__name__}: call fit(x_train) first")
        if x.ndim < 2 or x.shape[1] != len(self.scale):
            raise ValueError(f"{type(self).__name__}: fitted to {len(self.scale)} features or channels (axis 1), got "
                             f"shape {x.shape}")
        shape = (-1, *[1] * (x.ndim - 2))
        return self.offset.astype(x.dtype).reshape(shape), self.scale.astype(x.dtype).reshape(shape)

    def transform(self, x: np.ndarray) -> np.ndarray:
        """(x - offset) / scale, a new array of the same dtype. Raises ValueError before `fit`."""
        offset, scale = self._shaped(x)
        y = x - offset
        y /= scale
        return y

    def inverse(self, x: np.ndarray) -> np.ndarray:
        """x scale + offset: the input of `transform`."""
        offset, scale = self._shaped(x)
        y = x * scale
        y += offset
        return y

    takes_rows = True

    def __call__(self, images: np.ndarray, generator: np.random.Generator | None = None,
                 rows: Rows | None = None) -> np.ndarray:
        return self.transform(images)


class StandardScaler(_Scaler):
    """(x - mean) / std: mean 0 and standard deviation 1 over the data it was fitted to."""

    def fit(self, x: np.ndarray) -> StandardScaler:
        """Compute mean and standard deviation of x; a constant feature or channel is only shifted."""
        self._check_data(x)
        axes, count = (0, *range(2, x.ndim)), x.size // x.shape[1]

        def mean(of: Callable[[np.ndarray], np.ndarray], offset: np.ndarray) -> np.ndarray:
            offset = offset.reshape(-1, *[1] * (x.ndim - 2))
            return sum(of(x[i:i + BLOCK] - offset).sum(axes) for i in range(0, len(x), BLOCK)) / count

        first = x[0].reshape(x.shape[1], -1)[:, 0].astype(np.float64)
        center = first + mean(np.positive, first)  # exact for a constant, so its std is 0
        self._set(center, np.sqrt(mean(np.square, center)))
        return self


class MinMaxScaler(_Scaler):
    """low + (high - low) (x - min) / (max - min): from low to high over the data it was fitted to.

    Other data may exceed this range. Raises ValueError unless low < high.
    """

    def __init__(self, low: float = 0.0, high: float = 1.0):
        if not low < high:
            raise ValueError(f"MinMaxScaler: low={low} must be less than high={high}")
        self.low, self.high = low, high

    def fit(self, x: np.ndarray) -> MinMaxScaler:
        """Compute minimum and maximum of x; a constant feature or channel becomes `low`."""
        self._check_data(x)
        axes = (0, *range(2, x.ndim))
        least, most = x.min(axes).astype(np.float64), x.max(axes).astype(np.float64)
        scale = np.where(most > least, (most - least) / (self.high - self.low), 1.0)
        self._set(least - self.low * scale, scale)
        return self
