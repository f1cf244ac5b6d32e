"""Report on standard error that kernels are compiled, if it takes over two seconds: only in a machine's first run."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..environment import around_compiling
from . import cache

AFTER = 2.0  # seconds

total = 0.0  # seconds that this process has spent on compiling
said = False


@contextmanager
def compiling() -> Iterator[None]:
    """Report that a `with` block compiles a kernel, and add up the time."""
    global total
    timer = threading.Timer(max(0.0, AFTER - total), _say)
    timer.daemon = True
    for pause, _ in around_compiling:
        pause()
    begun, collects = time.perf_counter(), gc.isenabled()
    gc.disable()  # it would take a tenth of the time, and find little
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if collects:
            gc.enable()
        total += time.perf_counter() - begun
        for _, resume in around_compiling:
            resume()


def _say() -> None:
    global said
    if not said:
        said = True
        print(f"compiling kernels for this machine{', once' * cache.kept} ...", file=sys.stderr, flush=True)


def compiling_seconds() -> float:
    """The seconds that this process has spent on compiling."""
    return total
