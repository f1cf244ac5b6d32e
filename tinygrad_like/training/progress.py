"""How far training has come, in one line."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from typing import Any

from .. import distributed

Row = Mapping[str, Any]


class Line:
    """A line at the bottom of a terminal that is written anew, ten times a second at most.

    total, done: how many steps there are, and were done before. Elsewhere than on a terminal it shows nothing.
    """

    def __init__(self, title: str, total: int, done: int = 0):
        self.title, self.total, self.done = title, total, done
        self.first, self.began, self.shown_at, self.width = done, time.perf_counter(), 0.0, 0
        self.stream, self.text, self.examples = sys.stderr, "", 0
        self.visible = distributed.rank == 0 and self.stream is not None and self.stream.isatty()

    def step(self, count: int, values: Mapping[str, float]) -> None:
        """One more step, on `count` examples, with these values."""
        self.done += 1
        self.examples += count
        if self.visible and (now := time.perf_counter()) - self.shown_at > 0.1:
            self.shown_at = now
            self.show("  ".join(f"{name} {shown(name, value)}" for name, value in values.items()))

    def show(self, text: str = "") -> None:
        """Write the line, with this text in it."""
        elapsed, share = time.perf_counter() - self.began, self.done / max(self.total, 1)
        steps = self.done - self.first
        left = (self.total - self.done) * elapsed / steps if steps else 0.0
        bar = f" [{'#' * round(20 * share):20}]"
        before = "  ".join(filter(None, [self.title, f"{share:4.0%}"]))
        speed = f"{self.examples / max(elapsed, 1e-9):,.0f} examples/s"
        after = "  " + "  ".join(filter(None, [f"{clock(left)} left", text, speed]))
        fits = len(before) + len(bar) + len(after) <= _room()  # else numbers would be cut off
        self.write(before + bar * fits + after)

    def write(self, text: str) -> None:
        """Put a text in place of the line."""
        if self.visible:
            text = text[: _room()]
            self.stream.write("\r" + text.ljust(self.width))
            self.stream.flush()
            self.width = len(text)

    def close(self) -> None:
        """Take the line away."""
        if self.width:
            self.write("")
            self.stream.write("\r")
            self.stream.flush()


def _room() -> int:
    return shutil.get_terminal_size().columns - 1


def shown(name: str, value: Any) -> str:
    """A number as people read it."""
    if isinstance(value, int | str):
        return str(value)
    if name.endswith(("accuracy", "f1")):
        return f"{value:.2%}"
    return format(value, {"lr": ".2e", "seconds": ".3f", "examples_per_second": ",.0f"}.get(name, ".4f"))


def clock(seconds: float) -> str:
    """3:05, or 1:03:05."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
