"""Dropout: noise that multiplies activations in training, with mean 1 (002, 003)."""

from __future__ import annotations

import math

import numpy as np

from .. import random
from ..core.primitive import primitive
from ..core.tensor import Tensor, wrap
from ..dtypes import INT64
from ..errors import checked, refusal
from ..rings import replaceable
from .contracts import fits
from .elementwise import add, mul, where


@primitive
def drop(x, *, p, key, spread=0):
    """x / (1 - p), or 0 with probability p < 1, decided by a hash of the key and the position.

    spread: the positions, if they are not consecutive (`random.spread`).
    It scales each element by a constant, so it is its own adjoint. No mask is saved: the rule recomputes it.
    """
    return _drop(x, p=p, key=key, spread=spread)


@drop.requires
def _(key):
    if type(key) is not np.ndarray or key.shape or key.dtype is not INT64:
        return TypeError("key must be an array of one int64, as `random.draw` returns")
    return None


@replaceable
def _drop(x, *, p, key, spread):
    # Not a product with 0, which would turn infinity into NaN.
    return np.where(kept(x.shape, p, key, spread), x * (1 / (1 - p)), 0)


@replaceable
def kept(shape, p, key, spread):
    """A mask of this shape: which entries are kept."""
    places = random.places(math.prod(shape), spread)
    return (random.bits(places, key) >= random.threshold(p)).reshape(shape)


drop.vjp(x=lambda g, p, key, spread: drop(g, p=p, key=key, spread=spread))


@checked
def dropout(x, p=0.5, training=True) -> Tensor:
    """Inverted dropout: y = m x / (1 - p), where each m is 0 with probability p, else 1; x itself if not training.

    E[y] = x and Var[y] = x^2 p / (1 - p), so evaluation needs no correction (003). p is the probability of dropping, as
    in PyTorch (002 uses p for keeping in one place, for dropping in another). At p = 1 everything is 0, gradients too.
    Raises ValueError for p outside [0, 1], TypeError for integers.
    """
    if not training or p == 0:
        return x
    if p == 1:
        return where(False, x, 0.0)
    return drop(x, p=p, **_noise(x))


def a_probability(p):
    """The contract of every kind of dropout."""
    return None if 0 <= p <= 1 else f"p, the probability of dropping, must lie in [0, 1], got {p}"


dropout.requires(a_probability, fits("float x (...)"))


@checked
def dropout1d(x, p=0.5, training=True) -> Tensor:
    """Dropout of whole channels of signals, (batch, channels, length) or (channels, length)."""
    return _masked(x, p, training, 1)


dropout1d.requires(a_probability, fits("float x (batch, channels, length) or (channels, length)"))


@checked
def dropout2d(x, p=0.5, training=True) -> Tensor:
    """Dropout of whole channels of images: spatial dropout (002).

    Neighbouring pixels are similar, so dropping single ones would hide little from the next layer.
    x: (batch, channels, height, width); or, as in PyTorch, (batch, channels, length) or (batch, channels). Raises
    ValueError for other axes.
    """
    return _masked(x, p, training, x.ndim - 2)


dropout2d.requires(a_probability, fits("float x (batch, channels, height, width) or (batch, channels, length) or "
                                       "(batch, channels)"))


def _masked(x, p, training, spatial):
    """Dropout that keeps or drops the last `spatial` axes as a whole."""
    if not training or p == 0:
        return x
    ones = np.ones((*x.shape[:x.ndim - spatial], *(1,) * spatial), x.dtype)
    return mul(x, dropout(wrap(ones) if hasattr(x, "_data") else ones, p))


@checked
def gaussian_dropout(x, p=0.5, training=True) -> Tensor:
    """y = x n with normal noise n of mean 1 and variance p / (1 - p), the moments of dropout's mask for that p.

    Raises ValueError for p outside [0, 1), TypeError for integers. (Srivastava et al. 2014, section 10)
    """
    if not training or p == 0:
        return x
    noise = random.normal(x.shape, x.dtype)
    return mul(x, add(1, mul((p / (1 - p)) ** 0.5, wrap(noise) if hasattr(x, "_data") else noise)))


gaussian_dropout.requires(a_probability, fits("float x (...)"), lambda p: (
    "p must be below 1, since the variance p / (1 - p) is infinite there" if p == 1 else None))


def _noise(x) -> dict:
    """The options that decide which elements are dropped."""
    # The rows of a parameter are no examples of a batch.
    apart = x.ndim == 0 or getattr(x, "requires_grad", False) and x.node is None
    places = (1, 0) if apart else (x.shape[0], x.size)
    return {"key": random.draw(None, *places), "spread": 0 if apart else random.spread(*places)}


def check_probability(who: str, p: float) -> None:
    """Raise ValueError, in the name of `who`, unless 0 <= p <= 1."""
    if (why := a_probability(p)) is not None:
        raise refusal(who, why)
