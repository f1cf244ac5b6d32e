"""Report on standard error what is being compiled, if it takes over a second: only in a machine's first run."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..environment import around_compiling
from . import cache

AFTER = 1.0  # seconds

total = 0.0  # seconds that this process has spent on compiling
_said = False


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Report a kernel of this name while it is compiled in a `with` block."""
    global total
    timer = threading.Timer(max(0.0, AFTER - total), _say, [name.removeprefix("tinygrad_like.")])
    timer.daemon = True
    for pause, _ in around_compiling:
        pause()
    begun = time.perf_counter()
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        total += time.perf_counter() - begun
        for _, resume in around_compiling:
            resume()


def _say(name: str) -> None:
    global _said
    first = "" if _said or not cache.kept else " (once; the result is kept on disk)"
    _said = True
    print(f"compiling {name}{first} ...", file=sys.stderr, flush=True)


def seconds() -> float:
    """The seconds that this process has spent on compiling."""
    return total
