"""A log of training: a progress bar, a line per epoch, a CSV file, and optionally TensorBoard."""

from __future__ import annotations

import csv
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import distributed
from ..environment import require

Row = Mapping[str, Any]


class Log:
    """A log to which `fit`, or your own loop, reports its progress.

        with Log("runs/mlp.csv") as log:
            log.begin(steps=epochs * len(loader))
            for epoch in range(epochs):
                for x, y in loader:
                    ...
                    log.step(len(y), loss=loss.item())
                log.epoch({"epoch": epoch + 1, "loss": mean_loss, "test_accuracy": accuracy})

    path: a CSV file with one row per epoch, written immediately; None for no file. A row with a new name adds a column.
    Raises OSError, naming the file, if it cannot write. title: a text before the progress bar, which on a terminal
    shows the latest loss and metrics, examples/s and the time left. quiet: print no lines and show no bar. brief: print
    at most one line per second, and the last one, to stderr, as `fit` does without a log. tensorboard: a folder for
    TensorBoard's event file with every number of each row; needs the extra `tensorboard`. picture: a function that
    draws all rows so far, called at most every `picture_seconds`, and at the end.

    In an MPI job, only rank 0 logs; on other ranks, all methods do nothing.
    """

    def __init__(self, path: str | os.PathLike | None = None, title: str = "", quiet: bool = False,
                 tensorboard: str | os.PathLike | None = None, picture: Callable[[Sequence[Row]], Any] | None = None,
                 picture_seconds: float = 5.0, brief: bool = False):
        if distributed.rank:
            path, quiet, tensorboard, picture = None, True, None, None
        self.path = None if path is None else Path(path)
        self.title, self.quiet, self.tensorboard = title, quiet, tensorboard
        self.picture, self.picture_seconds, self.brief = picture, picture_seconds, brief
        self.rows: list[Row] = []
        self.names: list[str] = []  # the CSV file's columns
        self.bar: _Line | None = None
        self.writer: Any = None
        self.headed, self.said, self.said_at, self.drawn, self.drawn_at = False, 0, 0.0, 0, time.perf_counter()
        if tensorboard is not None:
            _summary_writer()  # raises before the first epoch if something is missing

    def begin(self, steps: int, done: int = 0, rows: Sequence[Row] = ()) -> None:
        """Start the progress bar at `done` of `steps`. rows: the rows of earlier epochs, if this run resumes
        another."""
        self.rows, self.said = list(rows), len(rows)
        if not self.quiet:
            self.bar = _Line(self.title, steps, done)
        if self.tensorboard is not None:
            # Each start writes a new file. purge_step drops what a killed run logged after its checkpoint.
            purge = dict(purge_step=rows[-1]["epoch"] + 1, filename_suffix=f".{rows[-1]['epoch']}") if rows else {}
            self.writer = _summary_writer()(os.fspath(self.tensorboard), **purge)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.unlink(missing_ok=True)
            self.names = []
            self._write_csv(self.rows)

    def step(self, count: int, **values: float) -> None:
        """Report a step on `count` examples; the bar shows the values."""
        if self.bar is not None:
            self.bar.step(count, values)

    def epoch(self, row: Row) -> None:
        """Report an epoch: print its row, whose first entry is "epoch", and write it to the files."""
        self.rows.append(row)
        if self.path is not None:
            self._write_csv([row])
        if self.writer is not None:
            for name, value in row.items():
                if name != "epoch":
                    self.writer.add_scalar(name, value, row["epoch"])
            self.writer.flush()
        if not self.brief or time.perf_counter() - self.said_at > 1:
            self._say()
        if time.perf_counter() - self.drawn_at > self.picture_seconds:
            self._draw()

    def write(self, line: str) -> None:
        """Print a line, above the bar."""
        if distributed.rank:
            return
        if self.bar is not None:
            self.bar.close()
        print(line, file=sys.stderr if self.brief else sys.stdout, flush=True)

    def close(self) -> None:
        """Print the last row, remove the bar, close the files, draw the picture once more."""
        if self.said < len(self.rows):
            self._say()
        if self.bar is not None:
            self.bar.close()
        if self.writer is not None:
            self.writer.close()
        if self.drawn < len(self.rows):
            self._draw()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        if kind is not None and issubclass(kind, OSError):
            self.picture = None  # after an error, drawing might fail too and hide the cause
        self.close()

    def _say(self) -> None:
        """Print the latest row, with a heading if needed."""
        row, self.said, self.said_at = self.rows[-1], len(self.rows), time.perf_counter()
        if self.quiet:
            return
        if not self.headed:
            self.write("  ".join(f"{_heading(name):>{_width(name)}}" for name in row))
            self.headed = True
        self.write("  ".join(f"{_shown(name, value):>{_width(name)}}" for name, value in row.items()))

    def _draw(self) -> None:
        if self.picture is not None:
            self.picture(self.rows)
            self.drawn, self.drawn_at = len(self.rows), time.perf_counter()

    def _write_csv(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        names = [*dict.fromkeys(name for row in self.rows for name in row)]
        anew = names != self.names
        try:
            with self.path.open("w" if anew else "a", newline="") as file:  # type: ignore[union-attr]
                writer = csv.DictWriter(file, names)
                if anew:
                    writer.writeheader()
                writer.writerows(self.rows if anew else rows)
        except OSError as error:
            raise OSError(error.errno, f"Log: {self.path} could not be written ({error.strerror})") from None
        self.names = names


def _summary_writer() -> Any:
    require("Log(tensorboard=...)", "tensorboardX")
    from tensorboardX import SummaryWriter

    return SummaryWriter


def _heading(name: str) -> str:
    return name.replace("_per_second", "/s").replace("accuracy", "acc").replace("_", " ")


def _width(name: str) -> int:
    return max(len(_heading(name)), 5 if name == "epoch" else 8)


class _Line:
    """A line at the bottom of a terminal, redrawn at most ten times a second.

    total, done: the numbers of all steps and of those done before. Without a terminal, it shows nothing.
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
            self.show("  ".join(f"{name} {_shown(name, value)}" for name, value in values.items()))

    def show(self, text: str = "") -> None:
        """Draw the line with this text."""
        elapsed, share = time.perf_counter() - self.began, self.done / max(self.total, 1)
        steps = self.done - self.first
        left = (self.total - self.done) * elapsed / steps if steps else 0.0
        bar = f" [{'#' * round(20 * share):20}]"
        before = "  ".join(filter(None, [self.title, f"{share:4.0%}"]))
        speed = f"{self.examples / max(elapsed, 1e-9):,.0f} examples/s"
        after = "  " + "  ".join(filter(None, [f"{_clock(left)} left", text, speed]))
        fits = len(before) + len(bar) + len(after) <= _room()  # do not cut off numbers
        self.write(before + bar * fits + after)

    def write(self, text: str) -> None:
        """Overwrite the line with a text."""
        if self.visible:
            text = text[: _room()]
            self.stream.write("\r" + text.ljust(self.width))
            self.stream.flush()
            self.width = len(text)

    def close(self) -> None:
        """Remove the line."""
        if self.width:
            self.write("")
            self.stream.write("\r")
            self.stream.flush()


def _room() -> int:
    return shutil.get_terminal_size().columns - 1


def _shown(name: str, value: Any) -> str:
    """A number formatted for people."""
    if isinstance(value, int | str):
        return str(value)
    if name.endswith(("accuracy", "f1")):
        return f"{value:.2%}"
    return format(value, {"lr": ".2e", "seconds": ".3f", "examples_per_second": ",.0f"}.get(name, ".4f"))


def _clock(seconds: float) -> str:
    """3:05, or 1:03:05."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
