"""The message while kernels compile: nothing in the first seconds, then one line, whatever their number."""

import gc
import time

import pytest

from tinygrad_like.kernels import cache, notice


@pytest.fixture(autouse=True)
def first(monkeypatch):
    """Nothing has been compiled yet."""
    monkeypatch.setattr(notice, "total", 0.0)
    monkeypatch.setattr(notice, "said", False)


def compiling(seconds):
    with notice.compiling():
        time.sleep(seconds)


def test_a_quick_compilation_is_silent(capsys):
    compiling(0.0)
    assert capsys.readouterr().err == "" and notice.compiling_seconds() > 0


@pytest.mark.parametrize("kept, said", [(True, "compiling kernels for this machine, once ...\n"),
                                        (False, "compiling kernels for this machine ...\n")])
def test_slow_compilations_are_announced_once(kept, said, capsys, monkeypatch):
    monkeypatch.setattr(notice, "AFTER", 0.05)
    monkeypatch.setattr(cache, "kept", kept)
    compiling(0.3)
    compiling(0.3)
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_rests_while_a_kernel_compiles(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with notice.compiling():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
