"""What is said while kernels compile: nothing within the first second, then one line for each."""

import time

from numba import njit
from numba.core import event as events

from tinygrad_like.kernels import cache, notice


@njit
def slow():
    return 1


def compiling(listener, seconds):
    """Play the events of a compilation that takes so long, with another one inside."""
    start = events.Event("numba:compile", events.EventStatus.START, data={"dispatcher": slow})
    end = events.Event("numba:compile", events.EventStatus.END, data={"dispatcher": slow})
    for event in (start, start):
        listener.notify(event)
    time.sleep(seconds)
    for event in (end, end):
        listener.notify(event)


def test_a_quick_compilation_is_silent(capsys):
    compiling(notice.Notice(), 0.0)
    assert capsys.readouterr().err == ""


def test_slow_ones_are_named_once_each(capsys, monkeypatch):
    monkeypatch.setattr(notice, "AFTER", 0.05)
    listener = notice.Notice()
    compiling(listener, 0.3)
    compiling(listener, 0.3)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("compiling ") and first.endswith(".slow (once; the result is kept on disk) ...")
    assert second.endswith(".slow ...")
    monkeypatch.setattr(cache, "kept", False)
    compiling(notice.Notice(), 0.3)
    assert capsys.readouterr().err.endswith(".slow ...\n")


def test_installing_twice_listens_once(monkeypatch):
    listeners = []
    monkeypatch.setattr(notice, "_notice", None)
    monkeypatch.setattr(notice.core.event, "register", lambda kind, listener: listeners.append(listener))
    notice.install()
    notice.install()
    assert len(listeners) == 1
