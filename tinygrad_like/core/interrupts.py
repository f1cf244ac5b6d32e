"""Ctrl-C, put off while code runs that would lose it, or be left in pieces."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Ctrl-C takes effect at the end of the block: for what calls Python from compiled code, where an exception is
    printed and lost, and for imports of compiled modules, which are not undone: Python crashes on them when it ends."""
    before, pressed = signal.getsignal(signal.SIGINT), []  # type: ignore[var-annotated]
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, lambda *press: pressed.append(press))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        for press in pressed:
            before(*press)
