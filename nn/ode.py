"""Neural ODEs: a layer whose output solves dx/dt = f(x, t), with f a network (002; Chen et al. 2018).

Euler's method x <- x + h f(x, t) is a residual block, and many steps of it are a stack of blocks that share weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.graph import Node, freed, mode, setting, tick
from tinygrad_like.core.listener import observe
from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.dtypes import NARROW, wide
from tinygrad_like.transforms.switches import no_grad

from .module import Module

Field = Callable[[Any, float], Any]  # (x, t) -> dx/dt


def _euler(f: Callable, x: Any, t: float, h: float) -> Any:
    return _moved(x, h, f(x, t))


def _midpoint(f: Callable, x: Any, t: float, h: float) -> Any:
    return _moved(x, h, f(_moved(x, h / 2, f(x, t)), t + h / 2))


def _rk4(f: Callable, x: Any, t: float, h: float) -> Any:
    a = f(x, t)
    b = f(_moved(x, h / 2, a), t + h / 2)
    c = f(_moved(x, h / 2, b), t + h / 2)
    d = f(_moved(x, h, c), t + h)
    return _moved(_moved(_moved(_moved(x, h / 6, a), h / 3, b), h / 3, c), h / 6, d)


def _moved(x: Any, h: float, slope: Any) -> Any:
    """x + h slope, for tuples too."""
    return tuple(map(_moved, x, [h] * len(x), slope)) if isinstance(x, tuple) else x + slope * h


METHODS = {"euler": _euler, "midpoint": _midpoint, "rk4": _rk4}  # of order 1, 2 and 4: the error is like h^order


def odeint(f: Field, x: Tensor, t: Sequence[float], steps: int = 10, method: str = "rk4",
           adjoint: bool = False, parameters: Sequence[Tensor] | None = None) -> Tensor:
    """The solution of dx/dt = f(x, t) that is x at time t[0], at all times t: (len(t), *x.shape).

    f: takes a state and a time, a float, and gives a Tensor of the state's shape.
    t: two or more times, rising or falling. steps: of the method, between neighbouring times.
    method: "euler", x + h f(x, t); "midpoint"; or "rk4", the classical Runge-Kutta method.
    adjoint: whether the gradient is that of the continuous equation, found by solving another one backwards in time,

            da/dt = -a df/dx,    d(gradient of w)/dt = -a df/dw,    with a = dL/dx(t),

        in as many steps. It keeps the states at the times t only, whatever the number of steps; else the gradient is
        exactly that of the steps, all of which are recorded. The two differ by an error like h^order. The adjoint has
        no second derivative and is not captured.
    parameters: what f contains that gets a gradient with `adjoint`; by default f.parameters(), if it is a Module.

    Raises ValueError for another method, fewer than 2 times or 1 step, or an f that changes the shape; TypeError for an
    f that is no function.
    """
    if method not in METHODS:
        raise ValueError(f"odeint: method must be one of {', '.join(METHODS)}, got {method!r}")
    if not isinstance(steps, int) or steps < 1 or len(t) < 2:
        raise ValueError(f"odeint: needs at least 2 times and 1 step between them, got t={list(t)} and steps={steps!r}")
    if not callable(f):
        raise TypeError(f"odeint: f must be a function of (x, t), such as a Module, got {type(f).__name__}")
    times = [float(time) for time in t]
    if x.dtype in NARROW:  # a step may be smaller than what 16 bits tell apart
        return odeint(f, x.float(), times, steps, method, adjoint, parameters).cast(x.dtype)
    if not adjoint:
        return _solve(_checked(f), x, times, steps, METHODS[method])
    if parameters is None:
        parameters = list(f.parameters()) if isinstance(f, Module) else []
    observe("the adjoint of an ODE", None, "call it outside, or with adjoint=False")
    with no_grad():
        states = _solve(_checked(f), x, times, steps, METHODS[method])
    wanted = [p for p in (x, *parameters) if p.requires_grad]
    if not mode.recording or not wanted:
        return states
    node: Any = Node()
    node.op, node.parents = _op, [(p.node or p) if p.requires_grad else None for p in (x, *parameters)]
    versions = [(p.shared_version(), p.shape) for p in parameters]
    node.saved = f, list(parameters), versions, states._data, times, steps, METHODS[method]
    node.order, node.shape, node.dtype, node.extra = tick(), states.shape, states.dtype, None
    out = wrap(states._data)
    out.node, out.requires_grad = node, True
    return out


def _checked(f: Field) -> Field:
    def slope(x: Tensor, t: float) -> Tensor:
        y = f(x, t)
        if y.shape != x.shape:
            raise ValueError(f"odeint: f must keep the shape of the state, but maps {x.shape} to {y.shape}")
        return y

    return slope


def _solve(f: Field, x: Tensor, times: list[float], steps: int, step: Callable) -> Tensor:
    states = [x]
    for start, end in zip(times, times[1:], strict=False):
        for i in range(steps):
            h = (end - start) / steps
            x = step(f, x, start + i * h, h)
        states.append(x)
    return ops.stack(*states, axis=0)


class _Adjoint:
    """The op of a solution's node."""

    name = "odeint"
    fresh = saves = True
    out = None

    def pull(self, node: Node, g: Any, parents: list) -> list:
        if node.saved is None:
            raise freed(node)
        if mode.recording:
            raise RuntimeError("odeint: the adjoint has no second derivative; use adjoint=False")
        f, parameters, versions, states, times, steps, step = node.saved
        for version, shape in versions:
            if version[0] > node.order:
                raise RuntimeError(f"backward: a Tensor of shape {shape} was changed in place after odeint used it; "
                                   "change it after backward")
        wanted = [p for p in parameters if p.requires_grad]

        def slopes(state: tuple, t: float) -> tuple:
            """The slopes of x, of a, and of the parameters' gradients."""
            with setting("recording", True):
                x = Tensor.from_numpy(state[0])
                x.requires_grad = True
                y = f(x, t)
                if not y.requires_grad:
                    return y._data, *[np.zeros_like(part) for part in state[1:]]
                found = y.gradient(x, *wanted, gradient=wrap(state[1]), materialize_grads=True)
            return y._data, *[-c._data for c in found]

        g = np.asarray(g)  # it may be zeros that are not written out, but for a part
        a = g[-1]
        gradients: tuple = tuple(np.zeros(p.shape, wide(p.dtype)) for p in wanted)
        for k in range(len(times) - 1, 0, -1):
            state, h = (states[k], a, *gradients), (times[k - 1] - times[k]) / steps
            for i in range(steps):
                state = step(slopes, state, times[k] + i * h, h)
            a, gradients = state[1] + g[k - 1], state[2:]
        of = {id(p): c.astype(p.dtype, copy=False) for p, c in zip(wanted, gradients, strict=True)}
        found = [a, *[of.get(id(p)) for p in parameters]]
        return [None if parent is None else c for parent, c in zip(parents, found, strict=True)]


_op = _Adjoint()


class NeuralODE(Module):
    """x(t1), where dx/dt = f(x, t) and x(t0) is the input: infinitely many residual blocks of one f (002).

    f: a Module that takes (x, t), t a float, and keeps the shape of x. t0, t1: the times. Other arguments, and errors,
    are those of `odeint`.
    """

    def __init__(self, f: Module, steps: int = 10, method: str = "rk4", adjoint: bool = False, t0: float = 0.0,
                 t1: float = 1.0):
        if method not in METHODS:
            raise ValueError(f"NeuralODE: method must be one of {', '.join(METHODS)}, got {method!r}")
        self.f, self.steps, self.method, self.adjoint, self.t0, self.t1 = f, steps, method, adjoint, t0, t1

    def forward(self, x: Tensor) -> Tensor:
        return odeint(self.f, x, (self.t0, self.t1), self.steps, self.method, self.adjoint)[-1]

    def extra_repr(self) -> str:
        return f"steps={self.steps}, method={self.method!r}, adjoint={self.adjoint}, t0={self.t0:g}, t1={self.t1:g}"
