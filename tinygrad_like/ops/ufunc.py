"""Functions of NumPy's as ops, a line each. They work element by element, and inputs broadcast.

    sin = ufunc("sin", "sin x.", lambda x: np.sin(x))
    sin.vjp(x=lambda g, x: g * cos(x))
"""

from __future__ import annotations

from collections.abc import Callable

from ..kernels import ACCELERATED, accelerated, accelerated_arithmetic
from ..primitive import Primitive


def ufunc(name: str, meaning: str, function: Callable) -> Primitive:
    """The op that does what a function of arrays does; `meaning` is its docstring. A kernel of that name is used."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    if name not in ACCELERATED:
        return Primitive(function)
    if function.__code__.co_argcount == 2:
        return Primitive(accelerated_arithmetic(function))
    return Primitive(accelerated(function, made=lambda home: home.pointwise(function, name)))
