import pytest


@pytest.fixture
def no_pictures(monkeypatch):
    """Drawing takes longer than what is drawn."""
    from demos import figures

    for name in ("training_curves", "training_report"):
        monkeypatch.setattr(figures, name, lambda path, *args: path)
