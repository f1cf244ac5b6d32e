import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import norm_geometry
from demos.norm_geometry import BEST, CURVATURE


def test_l1_and_spred_make_weights_zero(tmp_path, capsys):
    found = norm_geometry.main(["--steps", "1500", "--out", str(tmp_path / "figure.png")])
    assert np.abs(found["spred"] - found["l1"]).max() < 5e-3
    assert (found["l1"][20:, 1] == 0).all() and found["l2"].min() > 0.1
    assert capsys.readouterr().out.count("\n") == 12
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("c", [0.1, 0.7, 1.5])
def test_minima_are_where_the_gradient_is_that_of_the_penalty(c):
    w = norm_geometry.ridge(c)
    np.testing.assert_allclose((w - BEST) @ CURVATURE + 2 * c * w, 0, atol=1e-12)
    w = norm_geometry.lasso(c)
    slope = (w - BEST) @ CURVATURE
    np.testing.assert_allclose(slope[w != 0], -c * np.sign(w[w != 0]), atol=1e-9)
    assert (np.abs(slope[w == 0]) <= c).all()
