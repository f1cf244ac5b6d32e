import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import lesion
from tinygrad_like import Tensor


def test_the_residual_net_survives(tmp_path, capsys):
    found = lesion.main(["--blocks", "4", "--width", "32", "--epochs", "10", "--draws", "3",
                         "--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    (whole, single, several), (plain_whole, plain_single, plain_several) = found["residual"], found["plain"]
    assert len(single) == 4 and len(plain_single) == 8 and len(several) == 5 and len(plain_several) == 9
    assert whole > 0.93 and plain_whole > 0.85
    assert [several[0], plain_several[0]] == pytest.approx([whole, plain_whole], rel=1e-12)  # means of equal draws
    assert single.mean() > 0.8 > 0.5 > plain_single.mean()
    printed = capsys.readouterr().out
    assert f"residual, 8 layers: {whole:.1%}" in printed and f"worst {plain_single.min():.1%}" in printed


@pytest.mark.parametrize("build", [lesion.residual, lesion.plain])
def test_without_takes_out_units_and_shares_the_weights(build):
    model = build(8, 3)
    x = Tensor.randn(2, 1, 8, 8)
    np.testing.assert_array_equal(lesion.without(model, set())(x).detach().numpy(), model(x).detach().numpy())
    z = model.project(model.flatten(x))
    np.testing.assert_array_equal(lesion.without(model, {0, 1, 2})(x).detach().numpy(), model.head(z).detach().numpy())
    np.testing.assert_array_equal(lesion.without(model, {0, 2})(x).data, model.head(model.units[1](z)).data)
    assert len(model.units) == 3 and set(lesion.without(model, {1}).parameters()) < set(model.parameters())
