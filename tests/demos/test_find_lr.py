import pytest

pytest.importorskip("matplotlib")

from demos import find_lr


def test_the_rate_it_finds_learns_better_than_a_tenth_of_it(tmp_path, capsys):
    runs = find_lr.main(["--epochs", "4", "--steps", "60", "--out", str(tmp_path / "new" / "lr.png")])
    losses = list(runs.values())
    assert losses[1][-1] < losses[0][-1] and [len(run) for run in losses] == [4] * 4
    assert (tmp_path / "new" / "lr.png").read_bytes().startswith(b"\x89PNG")
    assert "the loss falls fastest at" in capsys.readouterr().out
