import numpy as np
import pytest

pytest.importorskip("matplotlib")

import nn
from demos import filters, train
from demos.recipes import MODELS
from tinygrad_like import Tensor


def test_filters_of_a_net_trained_here(tmp_path, capsys):
    maps = filters.main(["--quick", "--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert {name: m.shape for name, m in maps.items()} == {
        "conv1": (16, 8, 8), "layer1": (16, 8, 8), "layer2": (32, 4, 4), "layer3": (64, 2, 2)}
    assert "layer3    64 maps of 2 x 2" in capsys.readouterr().out


def test_filters_of_a_saved_net(tmp_path, capsys):
    for name in ("resnet8", "mlp"):
        train.main(["--model", name, "--epochs", "1", "--limit", "512", "--width", "4", "--depth", "1",
                    "--out", str(tmp_path)])
    net = tmp_path / "resnet8_digits_split0.safetensors"
    maps = filters.main(["--net", str(net), "--out", str(tmp_path / "f.png")])
    assert maps["layer3"].shape == (16, 2, 2)
    with pytest.raises(SystemExit):
        filters.main(["--net", str(tmp_path / "mlp_digits_split0.safetensors")])
    assert "whose features are no images; use a resnet" in capsys.readouterr().err


def test_feature_maps_are_what_the_layers_make():
    model = MODELS["resnet8"].build((1, 8, 8), 10, 4, 1).eval()
    image = np.random.default_rng(0).random((1, 8, 8), np.float32)
    model.train()
    maps = filters.feature_maps(model, image)
    assert model.training and all(m._hooks is None for m in model.modules())
    model.eval()
    y = model.conv1(Tensor(image[None]))
    np.testing.assert_allclose(maps["conv1"], y.detach().numpy()[0], rtol=1e-5)
    np.testing.assert_allclose(maps["layer3"], model.features(Tensor(image[None]))._data[0], rtol=1e-4, atol=1e-5)
    assert isinstance(model, nn.ResNet)


@pytest.mark.parametrize("name", filters.KINDS)
def test_a_filter_resembles_itself_and_its_negative(name):
    kernel = np.asarray(filters.KINDS[name], float)
    for sign in (1, -2):
        found, cosine = filters.resembles(sign * kernel)
        assert found == name and cosine == pytest.approx(np.sign(sign))
