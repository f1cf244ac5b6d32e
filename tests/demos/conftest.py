from importlib import import_module

import pytest


@pytest.fixture
def no_pictures(monkeypatch):
    """Skip drawing, which takes longer than training."""
    from demos import figures

    for name in ("training_curves", "training_report"):
        monkeypatch.setattr(figures, name, lambda path, *args: path)


@pytest.fixture
def shown(tmp_path, capsys):
    """Run a demo that draws a picture into a new folder; return its result and the lines that it prints."""
    def run(name, *options):
        path = tmp_path / "new" / f"{name}.png"
        found = import_module(f"demos.{name}").main([*options, "--out", str(path)])
        lines = capsys.readouterr().out.splitlines()
        assert lines.pop() == f"picture: {path}"
        assert path.read_bytes().startswith(b"\x89PNG")
        return found, lines

    return run
