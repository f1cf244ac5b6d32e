"""What is said while kernels compile: nothing within the first second, then one line for each."""

import time

import pytest

from tinygrad_like.kernels import cache, notice


@pytest.fixture(autouse=True)
def first(monkeypatch):
    """Nothing has been compiled yet."""
    monkeypatch.setattr(notice, "total", 0.0)
    monkeypatch.setattr(notice, "_said", False)


def compiling(seconds):
    with notice.compiling("tinygrad_like.kernels.some.slow"):
        time.sleep(seconds)


def test_a_quick_compilation_is_silent(capsys):
    compiling(0.0)
    assert capsys.readouterr().err == "" and notice.seconds() > 0


def test_slow_ones_are_named_once_each(capsys, monkeypatch):
    monkeypatch.setattr(notice, "AFTER", 0.05)
    compiling(0.3)
    compiling(0.3)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "compiling kernels.some.slow (once; the result is kept on disk) ..."
    assert second == "compiling kernels.some.slow ..."
    monkeypatch.setattr(cache, "kept", False)
    monkeypatch.setattr(notice, "_said", False)
    compiling(0.3)
    assert capsys.readouterr().err == "compiling kernels.some.slow ...\n"
