"""How far training has come, in one line."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
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

    def write(self, text: str, end: str = "") -> None:
        """Put a text in place of the line; with an end of "\\n" it stays, and the line goes on below it."""
        if self.visible:
            text = text if end else text[: _room()]
            self.stream.write("\r" + text.ljust(self.width) + end)
            self.stream.flush()
            self.width = 0 if end else len(text)

    def close(self) -> None:
        """Take the line away."""
        if self.width:
            self.write("")
            self.stream.write("\r")
            self.stream.flush()


def _room() -> int:
    return shutil.get_terminal_size().columns - 1


class Progress:
    """The progress that `fit` shows without a `Log`: one line, the last of which stays.

    Where there is no terminal, such as in a file or a notebook, it prints the row of an epoch, one a second at most,
    and that of the last.
    """

    def __init__(self) -> None:
        self.line: Line | None = None
        self.row: Row = {}
        self.unsaid, self.said_at, self.epochs = False, 0.0, 0

    def begin(self, steps: int, done: int = 0, rows: Sequence[Row] = ()) -> None:
        self.line, self.epochs = Line("", steps, done), len(rows)
        self.began = time.perf_counter()

    def step(self, count: int, **values: float) -> None:
        assert self.line is not None
        self.line.title = f"epoch {self.epochs + 1}"
        self.line.step(count, values)

    def epoch(self, row: Row) -> None:
        self.row, self.epochs, self.unsaid = row, row["epoch"], True
        if self.line is not None and not self.line.visible and time.perf_counter() - self.said_at > 1:
            self._say()

    def close(self) -> None:
        if self.line is not None and self.unsaid:
            self._say()
        elif self.line is not None:
            self.line.close()

    def _say(self) -> None:
        numbers = "  ".join(f"{name} {shown(name, value)}" for name, value in self.row.items()
                            if name not in ("epoch", "lr", "seconds", "examples_per_second"))
        text = f"epoch {self.row['epoch']}  {numbers}  {clock(time.perf_counter() - self.began)}"
        if self.line is not None and self.line.visible:
            self.line.write(text, "\n")
        elif distributed.rank == 0 and sys.stderr is not None:
            print(text, file=sys.stderr, flush=True)
        self.unsaid, self.said_at = False, time.perf_counter()


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
