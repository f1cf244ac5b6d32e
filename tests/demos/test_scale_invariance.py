import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import scale_invariance


def test_norms_make_the_scale_irrelevant(tmp_path, capsys):
    scales = [0.1, 3.0, 50.0]
    found = scale_invariance.main(["--scales", *map(str, scales), "--width", "16",
                                   "--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "picture:" in capsys.readouterr().out
    for norm in ("LayerNorm", "RMSNorm", "BatchNorm"):
        change, gradient = found[norm].T
        assert change.max() < 1e-12
        np.testing.assert_allclose(gradient, 1 / np.array(scales), rtol=1e-9)
    change, gradient = found["no norm"].T
    assert change.min() > 0.1 and gradient[2] > 1


def test_weights_are_left_as_they_were():
    model = scale_invariance.build("LayerNorm", 8, 2)
    before = {name: t.numpy().copy() for name, t in model.state_dict().items()}
    x, y = (scale_invariance.Tensor(a) for a in (np.ones((4, 64)) * np.arange(4)[:, None], np.arange(4)))
    scale_invariance.measure(model, 4.0, x, y)
    for name, t in model.state_dict().items():
        np.testing.assert_array_equal(t.numpy(), before[name])
