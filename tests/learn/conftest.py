import pytest

from tinygrad_like.learn import repair


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A search finds the same on a busy machine."""
    monkeypatch.setattr(repair, "PATIENCE", 20.0)
