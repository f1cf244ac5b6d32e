"""Report on standard error that kernels are compiled, if it takes over two seconds: only in a machine's first run."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..core.graph import mode
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
    begun, collects, watching = time.perf_counter(), gc.isenabled(), sys.getprofile()
    if mode.around is not None:  # a profile function would be told of each call in the compiler
        sys.setprofile(None)
    gc.disable()  # it would take a tenth of the time, and find little
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if collects:
            gc.enable()
        total += time.perf_counter() - begun
        if mode.around is not None:
            sys.setprofile(watching)


def _say() -> None:
    global said
    if not said:
        said = True
        print(f"compiling kernels for this machine{', once' * cache.kept} ...", file=sys.stderr, flush=True)


def compiling_seconds() -> float:
    """The seconds that this process has spent on compiling."""
    return total
