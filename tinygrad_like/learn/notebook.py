"""The displays of a Tensor and of a module in a notebook: HTML that needs no script."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .summary import NAN, summary

_PLUS, _MINUS, _BAD = (220, 110, 0), (0, 90, 181), (163, 0, 92)  # as in the explorer; white is 0
_STYLE = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px;line-height:1.5"


def shown(x: Any) -> str:
    """The HTML of a Tensor or a module."""
    return f'<div style="{_STYLE}">{_tensor(x) if isinstance(x, Tensor) else _module(x, "", True)}</div>'


def _tensor(x: Tensor) -> str:
    """Its shape, dtype and op; its numbers if they are few, else a heat map and statistics."""
    told = summary(x._data, 32)
    facts = [f"<b>{type(x).__name__}</b> {x.shape} {x.dtype}"]
    facts += [f"op {x.node.op.name.strip('_')}"] if x.node is not None else \
        ["requires_grad" + (", has .grad" if x.grad is not None else "")] if x.requires_grad else []
    facts += [f"{n} {told[n]}" for n in ("mean", "std", "min", "max") if n in told]
    facts += [f"<b style='color:#a3005c'>{told[n]} {name}</b>" for n, name in (("nan", "NaN"), ("inf", "infinite"))
              if told.get(n)]
    return f"{' · '.join(facts)}<br>{_values(told)}"


def _values(told: dict) -> str:
    if "map" in told:
        wide, high = told["columns"], told["rows"]
        size = max(2, min(10, 320 // wide, 200 // high))
        return (f'<img src="{_image(told)}" width="{wide * size}" height="{high * size}" '
                f'alt="heat map" title="blue is negative, orange positive, up to {told["top"]}" '
                'style="image-rendering:pixelated;border:1px solid #999;margin:2px 0">')
    if "values" not in told:
        return ""
    shape, values = told["shape"], told["values"]
    columns = shape[-1] if shape else 1
    rows = [values[k:k + columns] for k in range(0, len(values), columns)]
    style = "text-align:right;padding:0 .5em;border:1px solid #bbb"
    cells = ["".join(f'<td style="{style}">{_number(v)}</td>' for v in row) for row in rows]
    return f'<table style="border-collapse:collapse;font:inherit">{"".join(f"<tr>{row}</tr>" for row in cells)}</table>'


def _number(v: Any) -> str:
    return v if isinstance(v, str) else f"{v:g}"


def _image(told: dict) -> str:
    """A heat map as a PNG, with one pixel per cell."""
    levels = np.frombuffer(base64.b64decode(told["map"]), np.int8).reshape(told["rows"], told["columns"])
    share = np.abs(levels.astype(float))[..., None] / 127
    full = np.where((levels < 0)[..., None], _MINUS, _PLUS)
    pixels = np.where((levels == NAN)[..., None], _BAD, 255 + share * (full - 255.0)).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # 0: no filter

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", told["columns"], told["rows"], 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _module(module: Any, name: str, opened: bool) -> str:
    """A tree to unfold: the modules, their parameters and buffers with shapes, and parameter counts."""
    children = [_module(child, inner, False) for inner, child in module.named_children()]
    own = [f"<div style='margin-left:2.2em'>{escape(n)} {x.shape} {x.dtype}{note}</div>"
           for found, note in ((module.named_parameters(recurse=False), ""),
                               (module.named_buffers(recurse=False), " (buffer)")) for n, x in found if x is not None]
    count = sum(p._data.size for p in module.parameters())
    settings = "" if children else module.extra_repr()
    label = (f"{escape(name)}: " if name else "") + f"<b>{type(module).__name__}</b>({escape(settings)})" + (
        f" <span style='color:#777'>{count:,} parameters</span>" if count else "")
    if not children and not own:
        return f"<div style='margin-left:1em'>{label}</div>"
    inside = "".join([*own, *children])
    attributes = f"style='margin-left:{1 if name else 0}em'" + (" open" if opened else "")
    return f"<details {attributes}><summary>{label}</summary>{inside}</details>"
