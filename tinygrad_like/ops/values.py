"""Where an op looks at values in NumPy. Capture then plays for these values only, or not at all."""

from __future__ import annotations

import numpy as np

from ..core.listener import tell

_OUTSIDE = "do that outside, and capture what comes before it, or after it"


def varying(why: str, remedy: str = _OUTSIDE) -> None:
    """Say that a shape depends on values, in which case a captured function cannot be played."""
    tell("varies", why, remedy)


def looked_at(x, why: str, remedy: str = _OUTSIDE) -> bool:
    """Whether what is done may depend on the values of a Tensor: a captured function is then played for those only; if
    they are not known before it is played, as `varying`."""
    if tell("looked at", x, why, remedy) in (NotImplemented, True):
        return True
    varying(why, remedy)
    return False


def values_of(who: str, x, why: str, *remedy: str):
    """The array of a Tensor, or of what NumPy makes an array of; a captured function that needs it cannot be played."""
    if hasattr(x, "_data"):
        looked_at(x, f"{who} {why}", *remedy)
        return x._data
    return np.asarray(x)
