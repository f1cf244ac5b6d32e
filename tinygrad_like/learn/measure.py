"""One op at one point, in float64: the results of its rules, and finite differences of its forward."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..core.dispatch import Op
from ..core.graph import setting
from ..core.tensor import Tensor

STEP = 1e-5  # of five-point differences: truncation ~ STEP^4, rounding ~ 1e-16 / STEP
LARGEST = 1500  # of an input or output; beyond this, a Jacobian is too large


class Point:
    """A call of an op, op(*inputs, **options), in float64.

    Floating-point arrays and Tensors that require grad vary; other Tensors are constants.
    """

    tried = False  # whether the checker found these inputs by trial
    filled: frozenset[int] = frozenset()  # inputs given only by their shape
    changed: dict[str, Any] = {}  # options set away from their defaults by the checker

    def __init__(self, op: Op, inputs: Sequence[Any], options: dict[str, Any] | None = None):
        self.op, self.options = op, dict(options or {})
        fixed = [isinstance(x, Tensor) and not x.requires_grad for x in inputs]
        self.inputs = [_plain(x) for x in inputs]
        self.vary = [i for i, x in enumerate(self.inputs)
                     if isinstance(x, np.ndarray) and x.dtype.kind == "f" and not fixed[i]]
        before = [x.copy() if isinstance(x, np.ndarray) else x for x in self.inputs]
        self.out = self.forward(self.inputs)
        self.written = [i for i, x in enumerate(before)  # inputs that the forward has changed
                        if isinstance(x, np.ndarray) and x.tobytes() != self.inputs[i].tobytes()]
        if self.written:
            self.inputs, self.out = before, self.out.copy()
        rng = np.random.default_rng(len(self.inputs) + self.out.size)
        self._analytic: dict[int, np.ndarray] = {}
        self.g = rng.standard_normal(self.out.shape)  # a cotangent that tests every entry

    def forward(self, inputs: Sequence[Any]) -> np.ndarray:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(self.op(*inputs, **self.options))

    def like(self, inputs: Sequence[Any]) -> list:
        """Other inputs, with the same ones varying."""
        return [x if i in self.vary or not isinstance(x, np.ndarray) else Tensor(x) for i, x in enumerate(inputs)]

    def at(self, inputs: Sequence[Any], **options: Any) -> Point | None:
        """The op at other inputs, or with other options; None if it is not finite there."""
        try:
            there = Point(self.op, self.like(inputs), {**self.options, **options})
        except Exception:
            return None
        there.tried, there.filled, there.changed = self.tried, self.filled, {**self.changed, **options}
        usable = there.out.dtype.kind == "f" and 0 < there.out.size <= LARGEST and np.isfinite(there.out).all()
        return there if usable else None

    def moved(self, i: int, change: np.ndarray) -> np.ndarray:
        return self.forward([x + change if k == i else x for k, x in enumerate(self.inputs)])

    def input_name(self, i: int) -> str:
        return f"{self.op.inputs[0]}[{i}]" if self.op.variadic else self.op.inputs[i]

    # Differences ----------------------------------------------------------------------------------------------------

    def numeric(self, i: int) -> np.ndarray:
        """The Jacobian for input i, from five-point differences: one row per output element."""
        return self._numeric[i]

    @cached_property
    def _numeric(self) -> dict[int, np.ndarray]:
        return {i: self.with_step(i) for i in self.vary}

    def with_step(self, i: int, times: float = 1) -> np.ndarray:
        """The same with another step size."""
        return self.projected(i, differences(lambda d: self.moved(i, d), self.inputs[i].shape, times * STEP))

    def projected(self, i: int, rows: np.ndarray) -> np.ndarray:
        """Gradients for input i, one per row, as far as they are determined: for symmetric matrices, the symmetric
        part.

        A function of symmetric matrices, such as Cholesky, may read only one triangle.
        """
        x = self.inputs[i]
        if not symmetric(x):
            return rows
        parts = rows.reshape(-1, *x.shape)
        return (0.5 * (parts + parts.swapaxes(-1, -2))).reshape(rows.shape)

    def wanted(self, i: int) -> np.ndarray:
        """The right result of the rule of input i for the cotangent `self.g`."""
        return (self.g.reshape(-1) @ self.numeric(i)).reshape(self.inputs[i].shape)

    # Rules ----------------------------------------------------------------------------------------------------------

    @cached_property
    def node(self):
        """The node of a recorded call; None if the op has no rules, or is composed of other ops."""
        node = self.record()[1].node
        return node if node is not None and node.op is self.op else None

    def record(self, dtype=np.float64) -> tuple[list, Tensor]:
        xs = [Tensor(x.astype(dtype), requires_grad=True) if i in self.vary else x for i, x in enumerate(self.inputs)]
        with setting("recording", True), np.errstate(all="ignore"):
            return xs, self.op(*xs, **self.options)

    def pull(self, g: np.ndarray, only: int | None = None) -> list:
        """The cotangents of backward, in the inputs' shapes; for one input, or for all that vary."""
        parents = [p if only in (None, k) else None for k, p in enumerate(self.node.parents)]
        with setting("recording", False), np.errstate(all="ignore"):
            given = self.op.pull(self.node, g.copy(), parents)
        return [None if c is None else np.asarray(c) for c in given]

    def analytic(self, i: int) -> np.ndarray:
        """The Jacobian for input i according to the rule."""
        if i not in self._analytic:
            rows = []
            for j in range(self.out.size):
                g = np.zeros(self.out.shape)
                g.reshape(-1)[j] = 1.0
                rows.append(self.pull(g, i)[i].reshape(-1))
            self._analytic[i] = self.projected(i, np.array(rows).reshape(self.out.size, self.inputs[i].size))
        return self._analytic[i]

    @cached_property
    def values(self) -> dict[str, Any]:
        """Everything that a rule may name, as arrays."""
        op: Any = self.op
        named = {**op.options, **self.options, "out": self.out}
        if op.variadic:
            named |= {op.inputs[0]: tuple(self.inputs), f"{op.inputs[0]}_shape": tuple(map(np.shape, self.inputs))}
        else:
            named |= dict(zip(op.inputs, self.inputs, strict=False))
            named |= {f"{name}_shape": np.shape(x) for name, x in zip(op.inputs, self.inputs, strict=False)}
        if self.node is not None and self.node.saved is not None:
            with setting("recording", False):
                named |= dict(zip(op.saved, op.values(self.node), strict=False))
        named["wanted"] = [i in self.vary for i in range(len(self.inputs))]
        return named

    def call_rule(self, rule: Callable, names: Sequence[str], i: int, g: np.ndarray, joint: bool, copies: bool = False
                  ) -> np.ndarray:
        """The result of `rule` for input i, before the engine undoes broadcasting. copies: pass copies of the values,
        if it may write into them."""
        values = {n: v.copy() if copies and isinstance(v, np.ndarray) else v for n, v in self.values.items()}
        with setting("recording", False), np.errstate(all="ignore"):
            given = rule(g, *[i if n == "which" else values[n] for n in names])
            return np.array(given[i] if joint else given)

    # Second order ---------------------------------------------------------------------------------------------------

    def second(self, rng: np.random.Generator) -> tuple[str, np.ndarray, float, float] | None:
        """The first input, or g, where backward through the rules disagrees with differences of <w, the results for g>.

        Returns (name, its gradient, slope along a direction by backward, and by differences), or None.
        """
        w = {i: rng.standard_normal(self.inputs[i].shape) for i in self.vary}
        xs, y = self.record()
        g = Tensor(self.g, requires_grad=True)
        varied = [xs[i] for i in self.vary]
        with setting("recording", True), np.errstate(all="ignore"):
            given = y.gradient(*varied, gradient=g, create_graph=True, materialize_grads=True)
            total = sum(((c * Tensor(w[i])).sum() for i, c in zip(self.vary, given, strict=True)), Tensor(np.zeros(())))
            found = [c._data for c in total.gradient(*varied, g, materialize_grads=True)] if total.requires_grad else \
                [np.zeros(x.shape) for x in (*varied, g)]

        def paired(inputs: list, cotangent: np.ndarray) -> np.ndarray:
            there = Point(self.op, self.like(inputs), self.options)
            return np.array(sum(np.vdot(w[i], c) for i, c in enumerate(there.pull(cotangent)) if i in w))

        moves: list[Callable[..., np.ndarray]] = []
        for i in self.vary:
            moves.append(lambda d, i=i: paired([x + d if k == i else x for k, x in enumerate(self.inputs)], self.g))
        moves.append(lambda d: paired(self.inputs, self.g + d))
        stays = [*(symmetric(self.inputs[i]) for i in self.vary), False]
        for name, c, move, stay in zip([*map(self.input_name, self.vary), "g"], found, moves, stays, strict=True):
            for _ in range(2):
                u = rng.standard_normal(c.shape)
                u = u + u.swapaxes(-1, -2) if stay else u
                slope, right = float(np.vdot(c, u)), float(differences(lambda t, u=u, f=move: f(t * u), ())[0, 0])
                scale = max(np.abs(c).max(initial=0) * np.sqrt(c.size), abs(right))
                if not abs(slope - right) <= 1e-5 * scale + 1e-8:
                    return name, c, slope, right
        return None


def symmetric(x: np.ndarray) -> bool:
    """Whether x holds symmetric matrices, which then must stay symmetric."""
    return x.ndim > 1 and x.shape[-1] == x.shape[-2] > 1 and np.allclose(x, x.swapaxes(-1, -2), rtol=1e-12, atol=0)


def differences(f: Callable[..., np.ndarray], shape: tuple[int, ...], step: float = STEP) -> np.ndarray:
    """The Jacobian at 0 of f, which takes a change of this shape: five-point central differences."""
    columns = []
    for k in range(int(np.prod(shape))):
        d = np.zeros(shape)
        d.reshape(-1)[k] = step
        with np.errstate(all="ignore"):
            sides = [(f(n * d), f(-n * d)) for n in (1, 2)]
            near, far = (np.where(a == b, 0.0, a - b) for a, b in sides)  # a constant infinity has difference 0
            columns.append((8 * near - far).reshape(-1) / (12 * step))
    return np.array(columns).T if columns else np.zeros((f(np.zeros(shape)).size, 0))


def close(a: np.ndarray, b: np.ndarray, rtol: float = 1e-6) -> bool:
    """Whether a equals b up to the error of differences, relative to b's scale."""
    if a.shape != b.shape:
        return False
    scale = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(a - b) <= rtol * scale + 1e-8))


def fitted(c: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """c with broadcasting undone, as the engine does it; None if it does not fit."""
    extra = c.ndim - len(shape)
    if extra < 0 or any(n not in (1, c.shape[i + extra]) for i, n in enumerate(shape)):
        return None
    over = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and c.shape[i + extra] != 1))
    with np.errstate(all="ignore"):
        return c.sum(over).reshape(shape) if over or extra else c


def _plain(x: Any) -> Any:
    """Tensors and float arrays as new float64 arrays; anything else unchanged."""
    if isinstance(x, Tensor):
        x = x._data
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "f":
        return np.array(x, np.float64)
    return x
