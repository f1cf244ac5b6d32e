import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import depth


def test_only_plain_nets_get_worse_with_depth(tmp_path, capsys):
    found = depth.main(["--blocks", "1", "12", "--epochs", "5", "--seeds", "1", "--out", str(tmp_path / "figure.png")])
    assert set(found) == {(kind, blocks) for kind in depth.KINDS for blocks in (1, 12)}
    assert all(errors.shape == (6,) for errors in found.values())
    train = {key: errors[-2] for key, errors in found.items()}
    assert train["plain", 1] + 0.3 < train["plain", 12]
    assert train["residual", 12] < train["residual", 1] + 0.05 < 0.35
    assert train["residual with norms", 12] < 0.15
    assert f"{'plain':20}{100 * train['plain', 1]:8.1f}{100 * train['plain', 12]:8.1f}" in capsys.readouterr().out
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_all_kinds_have_the_same_layers():
    sizes = {kind: sum(p.size for p in depth.build(kind, 3, 8).parameters() if p.ndim > 1) for kind in depth.KINDS}
    assert len(set(sizes.values())) == 1
    assert np.all([sum(p.ndim == 2 for p in depth.build(kind, 3, 8).parameters()) == 8 for kind in depth.KINDS])
