"""Trained nets on disk."""

import json

import numpy as np
import pytest

from demos import recipes
from demos.recipes import MODELS, load_net
from tinygrad_like import Tensor
from tinygrad_like.training import save_weights

NET = {"model": "mlp", "shape": [1, 8, 8], "classes": recipes.DIGITS, "width": 16, "depth": 2}


def save(path, net):
    built = {**NET, **net} if isinstance(net, dict) else NET
    name = built["model"] if built["model"] in ("cnn", "mlp", "vit", "resnet_s", "resnet8") else "mlp"
    model = MODELS[name].build((1, 8, 8), 10, 16, 2)
    save_weights(model, path, {"net": net if isinstance(net, str) else json.dumps(built)})


@pytest.mark.parametrize("name, norm", [(name, norm) for name, model in MODELS.items()
                                        for norm in [None, *model.norms]])
def test_a_saved_net_is_restored(tmp_path, name, norm):
    parts = {"norm": norm, "activation": "silu", "dropout": 0.25} if norm else {}
    for width, depth in ((16, 1), (32, 3)):
        model = MODELS[name].build((1, 8, 8), 10, width, depth, **parts)
        assert not norm or any(type(m).__name__.startswith("Dropout") and m.p == 0.25 for m in model.modules())
        recipes.save_net(tmp_path / "n", model, name, "digits", (1, 8, 8), {"width": width, "depth": depth, **parts})
        loaded, net = load_net(tmp_path / "n")
        x = Tensor.randn(2, 1, 8, 8)
        assert np.array_equal(loaded(x).detach().numpy(), model.eval()(x).detach().numpy())
        assert (net["width"], net.get("norm")) == (width, norm)


@pytest.mark.parametrize("net", [
    "", "[]", "null", "3", "{}", "[" * 100_000, "NaN", {"model": "unknown"}, {"model": ["mlp"]}, {"model": None},
    {"shape": []}, {"shape": [1, 8]}, {"shape": 3}, {"shape": [1, 8, -8]}, {"shape": [1, 8, 8.0]}, {"shape": None},
    {"shape": [1, 4096, 4096]}, {"classes": 3}, {"classes": [1]}, {"classes": None}, {"width": -1}, {"width": "16"},
    {"width": 1.5}, {"width": 4096}, {"width": 10**30}, {"depth": 4096}, {"depth": [2]}, {"width": 10**5, "depth": 1},
    {"model": "vit", "width": 8}, {"model": "vit", "shape": [1, 0, 8]}, {"model": "resnet8", "width": 1000},
    {"model": "resnet_s", "depth": 1000}, {"width": 4000, "depth": 1},
    {"norm": "unknown"}, {"norm": ["batch"]}, {"activation": "unknown"}, {"dropout": 2}, {"dropout": "0.1"},
    {"model": "resnet8", "norm": "rms"},
], ids=str)
def test_a_malformed_description_is_refused(tmp_path, net):
    save(tmp_path / "n", net)
    with pytest.raises(ValueError, match=f"{tmp_path}/n has an invalid description of its net"):
        load_net(tmp_path / "n")


def test_other_weights_are_refused(tmp_path):
    save_weights(MODELS["mlp"].build((1, 8, 8), 10, 4, 1), tmp_path / "n")
    with pytest.raises(ValueError, match="does not describe the net of its weights"):
        load_net(tmp_path / "n")
    save(tmp_path / "n", {"width": 15})
    with pytest.raises(ValueError, match="the state does not fit"):
        load_net(tmp_path / "n")
