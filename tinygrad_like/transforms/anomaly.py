"""Anomaly mode: the first NaN or infinity is an error that names the op and the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.graph import Node, mode
from ..core.listener import Listener, observe
from ..core.tensor import Tensor
from ..dtypes import FLOATS
from ..errors import user_line
from .switches import Switch, true_or_false


class detect_anomaly(Switch):
    """Raise FloatingPointError at the first NaN or infinity, naming the op and the user's line that called it.

    It checks forward values and the cotangents of the backward walk as they are computed. It ignores an infinity if an
    input has one, such as a mask of -inf; it always reports a NaN. Slow: for debugging.

    check_nan: False turns the checks off.
    """

    def __init__(self, check_nan: bool = True):
        self.check_nan = true_or_false("detect_anomaly", check_nan)

    def on(self):
        before = mode.listener
        if self.check_nan and not is_on():
            observe("detect_anomaly()")
            _Checks().__enter__()
        return before

    def off(self, before):
        mode.listener = before


class set_detect_anomaly(detect_anomaly):
    """Turn `detect_anomaly` on or off, from this call on or for a block: `with set_detect_anomaly(debugging): ...`."""

    def __init__(self, enabled: bool, check_nan: bool = True):
        super().__init__(enabled and check_nan)
        self.before = super().on()
        if not enabled and type(mode.listener) is _Checks:
            mode.listener = mode.listener.outer

    def on(self):
        return vars(self).pop("before", mode.listener)


def is_on() -> bool:
    """Whether values are checked in this thread."""
    listener = mode.listener
    while listener is not None and type(listener) is not _Checks:
        listener = listener.outer
    return listener is not None


class _Checks(Listener):
    """Checks the results of ops and rules, and replaces NumPy's warnings."""

    def op(self, op: Any, inputs: Any, options: dict, run: Callable) -> Any:
        with np.errstate(all="ignore"):
            y = super().op(op, inputs, options, run)
        check_finite(y, op.name, y.node, [*inputs, *options.values()])
        return y

    def rule(self, op: Any, node: Node, i: int | None, rule: Callable, g: Any, values: Any) -> Any:
        with np.errstate(all="ignore"):
            found = super().rule(op, node, i, rule, g, values)
        for c in [found] if i is not None else [] if found is NotImplemented else found:
            if c is not None:
                check_finite(c, f"the VJP of {op.name}", node, [g])
        return found


def check_finite(value: Any, what: str, node: Node | None, given: list) -> None:
    """Raise if `value`, the result of `what`, has a NaN or an infinity and its inputs have none."""
    array = value._data if isinstance(value, Tensor) else np.asarray(value)
    line = node.extra.line if node is not None and node.extra is not None else None
    if line is None:
        line = user_line()
        if node is not None:
            node.details().line = line
    if array.dtype.kind not in FLOATS or np.isfinite(array).all():
        return
    if np.isnan(array).any():
        kind, verb = "NaN", "was given" if any(_has(np.isnan, x) for x in given) else "made"
    elif any(_has(np.isinf, x) for x in given):
        return
    else:
        kind, verb = "infinity", "made"
    raise FloatingPointError(f"{what} {verb} the first {kind} (shape {array.shape}), called at {line}")


def _has(test: Callable, x: Any) -> bool:
    x = x._data if isinstance(x, Tensor) else x
    return isinstance(x, float | np.floating | np.ndarray) and np.asarray(x).dtype.kind in FLOATS and test(x).any()
