import pytest

from tinygrad_like.learn import repair


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """What a search finds does not depend on how busy the machine is."""
    monkeypatch.setattr(repair, "PATIENCE", 20.0)
