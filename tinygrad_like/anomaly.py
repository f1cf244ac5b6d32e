"""Anomaly mode: the first NaN or infinity is an error that names the op and the user's line."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .autograd import Node, Switch, mode, true_or_false
from .dtypes import FLOATS
from .tensor import Tensor


class detect_anomaly(Switch):
    """Raise FloatingPointError at the first NaN or infinity, naming the op and the user's line that called it.

    Forward values are checked as they are made, cotangents as the backward walk makes them. An infinity is not the
    op's doing if it was given one, as a mask of -inf is; a NaN is always reported. Slow: for debugging.

    check_nan: whether anything is checked.
    """

    def __init__(self, check_nan: bool = True):
        self.check_nan = true_or_false("detect_anomaly", check_nan)

    def _recreate_cm(self):
        return detect_anomaly(self.check_nan)

    def on(self):
        before = mode.anomaly, mode.watchers, np.geterr()
        if self.check_nan and not mode.anomaly:
            np.seterr(all="ignore")  # the error says more than NumPy's warning
            mode.anomaly, mode.watchers = True, (*mode.watchers, _watch)
        return before

    def off(self, before):
        mode.anomaly, mode.watchers, errors = before
        np.seterr(**errors)


class set_detect_anomaly:
    """`detect_anomaly` from this call on, or no more; or in a block, `with set_detect_anomaly(debugging): ...`."""

    errors: dict[str, Any] = {}  # what NumPy did about them before it was on

    def __init__(self, enabled: bool, check_nan: bool = True):
        self.before = mode.anomaly, mode.watchers, np.geterr()
        if enabled and not mode.anomaly:
            set_detect_anomaly.errors = detect_anomaly().on()[2]
        elif not enabled and mode.anomaly:
            detect_anomaly().off((False, tuple([w for w in mode.watchers if w is not _watch]), self.errors))

    def __enter__(self) -> set_detect_anomaly:
        return self

    def __exit__(self, *error: Any) -> None:
        detect_anomaly().off(self.before)


_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PACKAGES = (*[os.path.join(_ROOT, name, "") for name in ("tinygrad_like", "nn", "optim")],
             *[os.path.join(os.path.dirname(os.__file__), name) for name in (
                 "contextlib.py", "functools.py", "copy.py", "logging")], os.path.dirname(np.__file__))


def user_line(frame: Any = None) -> str:
    """File, line and text of the innermost frame outside the packages, from the caller's or the given one on."""
    frame = frame or sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGES):
        frame = frame.f_back
    name, number = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{number}: {linecache.getline(name, number).strip()}"


def _watch(op: Any, inputs: Any, options: dict, y: Tensor) -> None:
    check_finite(y, op.name, y.node, [*inputs, *options.values()])


def check_finite(value: Any, what: str, node: Node | None, given: list) -> None:
    """Raise if `value`, which `what` made of what was given, has the first NaN, or an infinity and they have none."""
    array = value.data if isinstance(value, Tensor) else np.asarray(value)
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
    x = x.data if isinstance(x, Tensor) else x
    return isinstance(x, float | np.floating | np.ndarray) and np.asarray(x).dtype.kind in FLOATS and test(x).any()
