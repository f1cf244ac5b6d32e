import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import uncertainty


def test_the_net_is_less_certain_where_it_is_wrong(tmp_path, capsys):
    found, right = uncertainty.main(["--epochs", "15", "--width", "64", "--samples", "30", "--show", "3",
                                     "--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    entropy = found.entropy.numpy()
    assert 0.9 < right.mean() < 1
    assert entropy[~right].mean() > 1.5 * entropy[right].mean()
    assert f"{right.mean():.1%} of {len(right)} test images" in capsys.readouterr().out


def test_retained_accuracy():
    kept = uncertainty.retained_accuracy(np.array([0.3, 0.1, 0.2, 0.9]), np.array([False, True, True, True]))
    np.testing.assert_allclose(kept, [1, 1, 2 / 3, 3 / 4])
