"""What PyTorch has in `torch.testing`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.tensor import Tensor

# rtol and atol of results in a dtype
_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
                 check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
                 msg: str | Callable[[str], str] | None = None) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol |expected|, element by element.

    Takes Tensors, arrays and numbers, and dicts and sequences of them. rtol and atol: by default those of the dtype,
    which must be the same unless check_dtype=False. msg: the message instead, or a function that makes it.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: give both rtol and atol, or neither")
    tolerances = None if rtol is None or atol is None else (rtol, atol)
    problem = _problem(actual, expected, tolerances, equal_nan, check_dtype)
    if problem:
        raise AssertionError(problem if msg is None else msg(problem) if callable(msg) else msg)


def _problem(a: Any, b: Any, tolerances: tuple[float, float] | None, equal_nan: bool, check_dtype: bool) -> str:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            return f"The keys differ: {sorted(map(str, a))} and {sorted(map(str, b))}"
        parts: list = [(f"[{key!r}]", a[key], b[key]) for key in a]
    elif isinstance(a, Sequence) and isinstance(b, Sequence) and not isinstance(a, str):
        if len(a) != len(b):
            return f"The lengths differ: {len(a)} and {len(b)}"
        parts = [(f"[{i}]", x, y) for i, (x, y) in enumerate(zip(a, b, strict=True))]
    else:
        return _difference(a, b, tolerances, equal_nan, check_dtype)
    for place, x, y in parts:
        if found := _problem(x, y, tolerances, equal_nan, check_dtype):
            return f"{found} (at {place})"
    return ""


def _difference(a: Any, b: Any, tolerances: tuple[float, float] | None, equal_nan: bool, check_dtype: bool) -> str:
    if isinstance(a, Tensor) != isinstance(b, Tensor) and not isinstance(a, int | float | np.ndarray):
        raise TypeError(f"assert_close: cannot compare {type(a).__name__} and {type(b).__name__}")
    x, y = (t.detach().numpy() if isinstance(t, Tensor) else np.asarray(t) for t in (a, b))
    if x.shape != y.shape:
        return f"The shapes differ: {x.shape} and {y.shape}"
    if check_dtype and isinstance(a, Tensor) and x.dtype != y.dtype:
        return f"The dtypes differ: {x.dtype} and {y.dtype}"
    found = [_TOLERANCES.get(str(t.dtype), (0.0, 0.0)) for t in (x, y)]
    rtol, atol = tolerances or (max(found[0][0], found[1][0]), max(found[0][1], found[1][1]))
    x, y = (t.astype(np.float64) if t.dtype.kind not in "iub" else t for t in (x, y))
    wrong = ~np.isclose(x, y, rtol, atol, equal_nan)
    if not wrong.any():
        return ""
    with np.errstate(invalid="ignore"):
        far = np.abs(x.astype(np.float64) - y.astype(np.float64))[wrong].max()
    return (f"Tensor-likes are not close: {int(wrong.sum())} of {wrong.size} elements differ, the most by {far:.3g} "
            f"(allowed: {atol:g} + {rtol:g} |expected|)")
