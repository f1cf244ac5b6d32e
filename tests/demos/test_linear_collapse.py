import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import linear_collapse
from tinygrad_like import Tensor, manual_seed


def test_only_an_activation_makes_layers_more_than_one(tmp_path, capsys):
    right, difference, rest = linear_collapse.main(["--points", "200", "--steps", "150", "--layers", "3", "--width",
                                                    "16", "--depths", "1", "4", "--out", str(tmp_path / "figure.png")])
    line, deep, relu, tanh = right.values()
    assert max(line, deep) < 0.75 < 0.95 < min(relu, tanh)
    assert difference < 1e-5
    assert max(rest["nothing"]) < 1e-10 and min(rest["ReLU"][1], rest["tanh"][1]) > 0.05
    assert f"3 layers, ReLU between     {relu:6.1%} right" in capsys.readouterr().out
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_collapsed_is_the_product_of_the_layers():
    manual_seed(0)
    model, x = linear_collapse.build(3, 8, 4, 2, "nothing"), Tensor.randn(5, 3)
    np.testing.assert_allclose(linear_collapse.collapsed(model)(x).data, model(x).data, atol=1e-6)


def test_a_disc_in_a_ring():
    manual_seed(0)
    points, label = linear_collapse.disc_in_ring(1000)
    radius = np.linalg.norm(points, axis=1)
    assert radius[label == 0].max() <= 1 and 1.4 <= radius[label == 1].min() <= radius[label == 1].max() <= 2.0001
    assert np.abs(points.mean(axis=0)).max() < 0.1 and label.mean() == 0.5
