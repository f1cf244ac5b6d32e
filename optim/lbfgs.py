"""L-BFGS."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tinygrad_like.core.listener import observe
from tinygrad_like.transforms.switches import enable_grad

from .optimizer import Optimizer


class LBFGS(Optimizer):
    """Newton's method for full batches, with the Hessian estimated from past steps s and changes y of the gradient.

    An iteration moves along d = -H g, where the two-loop recursion computes H g from the last `history_size` pairs (s,
    y). A step runs up to max_iter iterations. It needs a closure that clears the gradients, computes the loss, calls
    backward and returns the loss:

        optimizer.step(closure)

    lr: the step length, in units of d; in the first iteration, times min(1, 1 / |g|_1). line_search_fn:
    "strong_wolfe" searches for a length that satisfies the strong Wolfe conditions instead. max_eval: the maximum
    number of closure calls, by default 1.25 max_iter. tolerance_grad, tolerance_change: stop when all |g| are smaller,
    or when a step changes x or the loss by less.

    Sources: Liu and Nocedal 1989; Nocedal and Wright, Numerical Optimization, chapters 3 and 7, in PyTorch's form.
    """

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1.0, max_iter: int = 20,
                 max_eval: int | None = None, tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9,
                 history_size: int = 100, line_search_fn: str | None = None):
        super().__init__(params, lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
                         tolerance_grad=tolerance_grad, tolerance_change=tolerance_change, history_size=history_size,
                         line_search_fn=line_search_fn)
        self.require(len(self.param_groups) == 1, "params", f"{len(self.param_groups)} groups", "one group")
        self.pairs: list[tuple[np.ndarray, np.ndarray]] = []  # (s, y), the latest last
        self.direction: np.ndarray | None = None
        self.gradient: np.ndarray | None = None  # of the last iteration
        self.length, self.scale, self.iterations = 0.0, 1.0, 0

    def check(self, group):
        for name in ("max_iter", "max_eval", "history_size"):
            self.require(group[name] >= 1, name, group[name], ">= 1")
        search = group["line_search_fn"]
        self.require(search in (None, "strong_wolfe"), "line_search_fn", search, 'None or "strong_wolfe"')

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Run up to max_iter iterations; returns the initial loss. An exception leaves everything as it was."""
        if closure is None:
            raise TypeError("LBFGS.step: needs a closure that clears the gradients, computes the loss, calls backward "
                            "and returns the loss: optimizer.step(closure)")
        observe("LBFGS.step, which looks at losses,", None, "capture the closure's computation instead")
        before, steps, kept = self._flat(), self.steps, dict(vars(self), pairs=list(self.pairs))
        try:
            return self._iterate(closure)
        except BaseException:
            vars(self).update(kept)
            self.steps = steps
            self._write(before)
            raise

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        group, calls = self.param_groups[0], 0
        lr, search, tolerance = self._lr(group), group["line_search_fn"] is not None, group["tolerance_change"]

        def at(x: np.ndarray | None = None) -> tuple[Any, np.ndarray]:
            nonlocal calls
            calls += 1
            if x is not None:
                self._write(x)
            with enable_grad():
                loss = closure()
            return loss, self._flat_gradient()

        first, g = at()
        if all(p.grad is None for p in group["params"]):
            self._warn_of_no_gradient()
        loss = float(first)
        self.steps += 1
        if np.abs(g).max(initial=0) <= group["tolerance_grad"]:
            return first
        for iteration in range(group["max_iter"]):
            d = self._new_direction(g, group["history_size"])
            previous, self.gradient = loss, g
            self.length = min(1.0, 1.0 / float(np.abs(g).sum())) * lr if self.iterations == 1 else lr
            slope, x = float(g @ d), self._flat()
            if slope > -tolerance:
                break
            if search:
                loss, g, self.length = _strong_wolfe(lambda t, x=x, d=d: at(x + t * d), self.length, d, loss, g, slope,
                                                     tolerance)
            self._write(x + self.length * d)
            if not search and iteration + 1 < group["max_iter"]:  # the next call of step would compute it anyway
                value, g = at()
                loss = float(value)
            if (calls >= group["max_eval"] or np.abs(g).max(initial=0) <= group["tolerance_grad"]
                    or np.abs(d * self.length).max(initial=0) <= tolerance or abs(loss - previous) < tolerance):
                break
        return first

    def _new_direction(self, g: np.ndarray, most: int) -> np.ndarray:
        """-H g, after adding the last step's pair to H's."""
        self.iterations += 1
        if self.iterations == 1 or self.direction is None or self.gradient is None:
            d = -g
        elif len(g) != len(self.gradient):
            raise ValueError(f"LBFGS.step: the parameters have {len(g)} elements, but had {len(self.gradient)} before; "
                             "if you replaced their data on purpose, create a new optimizer")
        else:
            y, s = g - self.gradient, self.direction * self.length
            ys = float(y @ s)
            if ys > 1e-10:
                self.pairs = [*self.pairs, (s, y)][-most:]
                self.scale = ys / float(y @ y)
            q, alphas = -g, []
            for s, y in reversed(self.pairs):
                alpha = (s @ q) / (y @ s)
                q = q - alpha * y
                alphas.append(alpha)
            d = q * self.scale
            for (s, y), alpha in zip(self.pairs, reversed(alphas), strict=True):
                d = d + s * (alpha - (y @ d) / (y @ s))
        self.direction = d
        return d

    # Parameters as one vector ---------------------------------------------------------------------------------------

    def _flat(self) -> np.ndarray:
        return np.concatenate([p._data.reshape(-1) for p in self.param_groups[0]["params"]])

    def _flat_gradient(self) -> np.ndarray:
        for p in self.param_groups[0]["params"]:
            if p.grad is not None:
                self._check_param_now(p)
        return np.concatenate([np.zeros(p.numel(), p.dtype) if p.grad is None else p.grad._data.reshape(-1)
                               for p in self.param_groups[0]["params"]])

    def _write(self, x: np.ndarray) -> None:
        start = 0
        for p in self.param_groups[0]["params"]:
            stop = start + p.numel()
            p._data[...] = x[start:stop].reshape(p.shape)
            p.touch()
            start = stop

    # Checkpoints ----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """As for every optimizer; "history" holds the pairs (s, y) and the rest that the next step needs."""
        return {**super().state_dict(), "history": copy.deepcopy({name: getattr(self, name) for name in _HISTORY})}

    def load_state_dict(self, tree: dict[str, Any]) -> None:
        """Continue from a `state_dict`. Raises ValueError, before any change, if it does not fit."""
        x = self._flat()

        def vector(a: Any) -> np.ndarray | None:
            if a is not None and np.shape(a) != x.shape:
                raise ValueError(f"the parameters have {x.size} elements")
            return None if a is None else np.array(a, x.dtype)

        try:
            history = {name: kind(tree["history"][name]) for name, kind in _HISTORY.items()}
            history |= {name: vector(history[name]) for name in ("direction", "gradient")}
            history["pairs"] = [(vector(s), vector(y)) for s, y in history["pairs"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"LBFGS.load_state_dict: the history does not fit ({error!r})") from None
        super().load_state_dict(tree)
        vars(self).update(history)


_HISTORY: dict[str, Callable] = {"pairs": list, "direction": lambda a: a, "gradient": lambda a: a, "length": float,
                                 "scale": float, "iterations": int}


def _cubic(x1: float, f1: float, g1: float, x2: float, f2: float, g2: float,
           bounds: tuple[float, float] | None = None) -> float:
    """The minimizer, within the bounds, of the cubic with these values and slopes at x1 and x2.

    For a line, the lower end; for numbers that are not finite, the middle.
    """
    low, high = bounds or (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - (3 * (f1 - f2) / (x1 - x2) if x1 != x2 else 3 * g1)
    square = d1 * d1 - g1 * g2
    if not square >= 0:
        return (low + high) / 2
    d2 = square**0.5
    x1, g1, x2, g2 = (x1, g1, x2, g2) if x1 <= x2 else (x2, g2, x1, g1)
    curve = g2 - g1 + 2 * d2
    if curve == 0:
        return high if g1 < 0 else low if g1 > 0 else (low + high) / 2
    at = x2 - (x2 - x1) * ((g2 + d2 - d1) / curve)
    return min(max(at, low), high) if at == at else (low + high) / 2


def _strong_wolfe(at: Callable, t: float, d: np.ndarray, f: float, g: np.ndarray, slope: float, tolerance: float,
                  c1: float = 1e-4, c2: float = 0.9, most: int = 25) -> tuple[float, np.ndarray, float]:
    """Loss, gradient and length t with f(t) <= f(0) + c1 t f'(0) and |f'(t)| <= c2 |f'(0)|.

    The length grows until an interval contains such a point; then the interval shrinks.
    """
    size = float(np.abs(d).max())
    f0, slope0 = f, slope
    last = (0.0, f, g, slope)  # (length, loss, gradient, slope)
    calls, done, bracket = 0, False, []

    def look(t: float) -> tuple[float, float, np.ndarray, float]:
        nonlocal calls
        calls += 1
        loss, g = at(t)
        return t, float(loss), g, float(g @ d)

    while calls < most:
        point = look(t)
        new = point[1]
        if new > f0 + c1 * t * slope0 or calls > 1 and new >= last[1]:
            bracket = [last, point]
            break
        if abs(point[3]) <= -c2 * slope0:
            bracket, done = [point], True
            break
        if point[3] >= 0:
            bracket = [last, point]
            break
        low, high = t + 0.01 * (t - last[0]), t * 10
        t, last = _cubic(last[0], last[1], last[3], t, new, point[3], (low, high)), point
    if not bracket:
        bracket = [(0.0, f0, g, slope0), point]
    bracket.sort(key=lambda p: p[1])  # the best first
    insufficient = False
    while not done and calls < most:
        best, other = bracket
        if abs(other[0] - best[0]) * size < tolerance:
            break
        t = _cubic(best[0], best[1], best[3], other[0], other[1], other[3])
        low, high = min(best[0], other[0]), max(best[0], other[0])
        margin = 0.1 * (high - low)
        close = min(high - t, t - low) < margin  # close to an end: allowed once, if the last was not
        if close and (insufficient or t >= high or t <= low):
            t, close = high - margin if abs(t - high) < abs(t - low) else low + margin, False
        insufficient = close
        point = look(t)
        if point[1] > f0 + c1 * t * slope0 or point[1] >= best[1]:
            bracket = sorted([best, point], key=lambda p: p[1])
        else:
            if abs(point[3]) <= -c2 * slope0:
                done = True
            elif point[3] * (other[0] - best[0]) >= 0:
                other = best
            bracket = [point, other]
    t, f, g, _ = bracket[0]
    return f, g, t
