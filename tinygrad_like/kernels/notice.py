"""Say on standard error what is being compiled, if it takes over a second: in the first run on a machine only."""

from __future__ import annotations

import sys
import threading
import time

from numba import core

from . import cache

AFTER = 1.0  # seconds


class Notice(core.event.Listener):
    """Listens to numba's compilations; those of inner functions happen within that of the kernel that calls them."""

    def __init__(self) -> None:
        self.depth = 0
        self.total = 0.0
        self.said = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: core.event.Event) -> None:
        self.depth += 1
        if self.depth == 1:
            self.begun = time.perf_counter()
            name = event.data["dispatcher"].py_func
            what = f"{name.__module__}.{name.__name__}".removeprefix("tinygrad_like.")
            self.timer = threading.Timer(max(0.0, AFTER - self.total), self._say, [what])
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: core.event.Event) -> None:
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()
            self.total += time.perf_counter() - self.begun

    def _say(self, name: str) -> None:
        first = "" if self.said or not cache.kept else " (once; the result is kept on disk)"
        self.said = True
        print(f"compiling {name}{first} ...", file=sys.stderr, flush=True)


_notice: Notice | None = None


def install() -> None:
    """Start listening; once is enough for the process."""
    global _notice
    if _notice is None:
        _notice = Notice()
        core.event.register("numba:compile", _notice)


def seconds() -> float:
    """How long this process has compiled so far."""
    return _notice.total if _notice is not None else 0.0
