"""Neural ODEs: a layer whose output solves dx/dt = f(x, t), with f a network (002; Chen et al. 2018).

Euler's method x <- x + h f(x, t) is a residual block, and many steps of it are a stack of blocks that share weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import NARROW

from .module import Module

Field = Callable[[Tensor, float], Tensor]  # (x, t) -> dx/dt


def _euler(f: Field, x: Tensor, t: float, h: float) -> Tensor:
    return x + h * f(x, t)


def _midpoint(f: Field, x: Tensor, t: float, h: float) -> Tensor:
    return x + h * f(x + h / 2 * f(x, t), t + h / 2)


def _rk4(f: Field, x: Tensor, t: float, h: float) -> Tensor:
    a = f(x, t)
    b = f(x + h / 2 * a, t + h / 2)
    c = f(x + h / 2 * b, t + h / 2)
    d = f(x + h * c, t + h)
    return x + h / 6 * (a + 2 * b + 2 * c + d)


METHODS = {"euler": _euler, "midpoint": _midpoint, "rk4": _rk4}  # of order 1, 2 and 4: the error is like h^order


def odeint(f: Field, x: Tensor, t: Sequence[float], steps: int = 10, method: str = "rk4") -> Tensor:
    """The solution of dx/dt = f(x, t) that is x at time t[0], at all times t: (len(t), *x.shape).

    f: takes a state and a time, a float, and returns a Tensor of the state's shape.
    t: two or more times, rising or falling. steps: of the method, between neighbouring times.
    method: "euler", x + h f(x, t); "midpoint"; or "rk4", the classical Runge-Kutta method.

    The gradient is that of the steps, all of which are recorded. Raises ValueError for another method, fewer than 2
    times or 1 step, or an f that changes the shape; TypeError for an f that is no function.
    """
    if method not in METHODS:
        raise ValueError(f"odeint: method must be one of {', '.join(METHODS)}, got {method!r}")
    if not isinstance(steps, int) or steps < 1 or len(t) < 2:
        raise ValueError(f"odeint: needs at least 2 times and 1 step between them, got t={list(t)} and steps={steps!r}")
    if not callable(f):
        raise TypeError(f"odeint: f must be a function of (x, t), such as a Module, got {type(f).__name__}")
    if x.dtype in NARROW:  # a step may be smaller than what 16 bits tell apart
        return odeint(f, x.float(), t, steps, method).cast(x.dtype)

    def slope(x: Tensor, t: float) -> Tensor:
        y = f(x, t)
        if y.shape != x.shape:
            raise ValueError(f"odeint: f must keep the shape of the state, but maps {x.shape} to {y.shape}")
        return y

    states = [x]
    for start, end in pairwise(map(float, t)):
        h = (end - start) / steps
        for i in range(steps):
            x = METHODS[method](slope, x, start + i * h, h)
        states.append(x)
    return ops.stack(*states, axis=0)


class NeuralODE(Module):
    """x(t1), where dx/dt = f(x, t) and x(t0) is the input: infinitely many residual blocks of one f (002).

    f: a Module that takes (x, t), t a float, and keeps the shape of x. t0, t1: the times. Other arguments, and errors,
    are those of `odeint`.
    """

    def __init__(self, f: Module, steps: int = 10, method: str = "rk4", t0: float = 0.0, t1: float = 1.0):
        if method not in METHODS:
            raise ValueError(f"NeuralODE: method must be one of {', '.join(METHODS)}, got {method!r}")
        self.f, self.steps, self.method, self.t0, self.t1 = f, steps, method, t0, t1

    def forward(self, x: Tensor) -> Tensor:
        return odeint(self.f, x, (self.t0, self.t1), self.steps, self.method)[-1]

    def extra_repr(self) -> str:
        return f"steps={self.steps}, method={self.method!r}, t0={self.t0:g}, t1={self.t1:g}"
