"""How the backward walk adds up the cotangents that meet in one place."""

from __future__ import annotations

import numpy as np

from ..call import Placed
from ..kernels import accelerated
from .elementwise import add


def plus(total, c, owned: bool):
    """total + c for the backward walk; if the buffer of total is owned, it may be written to."""
    if type(total) is np.ndarray is type(c):
        return accumulate(total, c) if owned else add.forward(total, c)
    if type(total) is Placed:
        total, c, owned = c, total, False
    if type(c) is Placed:
        # A sum of numbers is no array yet, but a number of NumPy's, even where it is owned.
        total = total if owned and isinstance(total, np.ndarray) else np.array(total)
        part = total[c.index]
        if type(part) is np.ndarray:
            part += c.value  # a view: to write it back as well would take as long again
        else:
            total[c.index] += c.value
        return total
    return total + c


@accelerated
def copied(x):
    """A copy of x in C order."""
    return np.array(x, order="C")


@accelerated
def accumulate(total, c):
    """total += c."""
    total += c
    return total
