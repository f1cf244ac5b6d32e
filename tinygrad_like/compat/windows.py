"""Windows, as PyTorch's `torch` has them: vectors that signals are multiplied by before their spectrum is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import FLOATS, as_dtype, get_default_dtype
from ..errors import named
from . import names


def _window(who: str, length: int, periodic: bool, options: dict, value: Callable[[np.ndarray], np.ndarray]) -> Tensor:
    """value(t) at t = i / n for i = 0, ..., length - 1, with n = length, or that - 1 unless periodic; 1 for one."""
    known = {"dtype": get_default_dtype(), "requires_grad": False}
    given = {**known, **{name: v for name, v in options.items() if name in known and v is not None}}
    others = {name: v for name, v in options.items() if name not in known}
    given = names.renamed(who, known, given, others)
    dtype = as_dtype(given["dtype"], who)
    if dtype.kind not in FLOATS:
        raise TypeError(f"{who}: a window has a floating-point dtype, not {dtype}")
    if not isinstance(length, int | np.integer) or length < 0:
        raise ValueError(f"{who}: window_length={length!r} must be an integer >= 0")
    n = max(length if periodic else length - 1, 1)
    values = value(np.arange(length) / n) if length > 1 else np.ones(length)
    return Tensor(values, given["requires_grad"], dtype)


def _cosines(t: np.ndarray, *factors: float) -> np.ndarray:
    return sum([a * np.cos(2 * np.pi * k * t) for k, a in enumerate(factors)], np.zeros(t.shape))


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """sin^2(pi i / n) for i = 0, ..., window_length - 1, with n = window_length, or that - 1 unless periodic."""
    return _window("hann_window", window_length, periodic, options, lambda t: np.sin(np.pi * t) ** 2)


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46,
                   **options: Any) -> Tensor:
    """alpha - beta cos(2 pi i / n), with i and n as of `hann_window`."""
    return _window("hamming_window", window_length, periodic, options, lambda t: _cosines(t, alpha, -beta))


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """0.42 - 0.5 cos(2 pi i / n) + 0.08 cos(4 pi i / n), with i and n as of `hann_window`."""
    return _window("blackman_window", window_length, periodic, options, lambda t: _cosines(t, 0.42, -0.5, 0.08))


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """1 - |2 i / n - 1|, a triangle, with i and n as of `hann_window`."""
    return _window("bartlett_window", window_length, periodic, options, lambda t: 1 - np.abs(2 * t - 1))


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """I0(beta sqrt(1 - (2 i / n - 1)^2)) / I0(beta), with i and n as of `hann_window`.

    I0: the modified Bessel function of the first kind, of order 0.
    """
    return _window("kaiser_window", window_length, periodic, options, lambda t: np.i0(
        beta * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / np.i0(beta))


names._NAMES.update({f.__name__: named(f) for f in (hann_window, hamming_window, blackman_window, bartlett_window,
                                                    kaiser_window)})
