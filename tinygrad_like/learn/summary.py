"""Arrays in a page: small ones as numbers, larger ones as a heat map with statistics."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

SMALL = 16  # up to this many elements show as numbers
NAN = -128  # NaN in a heat map; its other cells, -127 to 127, are relative to the largest magnitude


def summary(value: Any, side: int = 24) -> dict:
    """The data to show an array: shape, dtype, and its numbers, or a heat map of at most side x side cells."""
    x = np.asarray(value)
    told: dict[str, Any] = {"shape": list(x.shape), "dtype": str(x.dtype)}
    if not x.size:
        return told
    wide = x.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    bad = int(np.isnan(wide).sum()), int(np.isinf(wide).sum())
    if any(bad):
        told["nan"], told["inf"] = bad
    if not wide.any():
        told["zero"] = True
    if x.size <= SMALL:
        return told | {"values": [_short(v) for v in wide.reshape(-1)]}
    if finite.size:
        told |= {"mean": _short(finite.mean()), "std": _short(finite.std()), "min": _short(finite.min()),
                 "max": _short(finite.max())}
    told["zeros"] = round(float((wide == 0).mean()), 3)
    cells, block = _cells(wide, side)
    top = np.max(np.abs(cells[np.isfinite(cells)]), initial=0.0)
    with np.errstate(all="ignore"):
        levels = np.where(np.isnan(cells), NAN, np.clip(np.rint(cells / (top or 1.0) * 127), -127, 127))
    return told | {"map": base64.b64encode(levels.astype(np.int8).tobytes()).decode(), "rows": cells.shape[0],
                   "columns": cells.shape[1], "block": block, "top": _short(top)}


def _cells(x: np.ndarray, side: int) -> tuple[np.ndarray, list[int]]:
    """x as a matrix, leading axes one below the other, its means over blocks; and the size of a block."""
    rows = x.reshape(-1, x.shape[-1]) if x.ndim > 1 else _folded(x)
    block = [-(-n // side) for n in rows.shape]
    for axis, n in enumerate(block):
        if n > 1:
            starts = np.arange(0, rows.shape[axis], n)
            counts = np.diff([*starts, rows.shape[axis]])
            with np.errstate(all="ignore"):
                rows = np.add.reduceat(rows, starts, axis) / (counts[:, None] if axis == 0 else counts)
    return rows, block


def _folded(x: np.ndarray) -> np.ndarray:
    """A vector as rows of equal length where that is possible, else as one row."""
    n = x.size
    width = next((w for w in range(int(n**0.5), 0, -1) if n % w == 0), 1)
    return x.reshape(width, n // width) if width > 3 else x.reshape(1, n)


def _short(v: Any) -> Any:
    """A number rounded to four digits; inf and NaN, which JSON lacks, as text."""
    v = float(v)
    return float(f"{v:.4g}") if np.isfinite(v) else "NaN" if np.isnan(v) else "inf" if v > 0 else "-inf"
