import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import finetune, recipes, train
from tinygrad_like import Tensor, manual_seed


def test_features_carry_over(tmp_path, capsys):
    scores = finetune.main(["--quick", "--out", str(tmp_path / "new" / "f.png")])
    assert capsys.readouterr().out.startswith("a net that reads 0, 1, 2, 3, 4, 5, 6: 9")
    assert list(scores) == ["new head", "whole net", "from scratch"]
    means = {method: values.mean(axis=0) for method, values in scores.items()}
    assert all(values.shape == (2, 2) for values in scores.values()) and means["whole net"][1] > 0.7
    assert means["whole net"].mean() > means["from scratch"].mean() - 0.03
    assert (tmp_path / "new" / "f.png").read_bytes().startswith(b"\x89PNG")


def test_a_net_from_disk(tmp_path, capsys, no_pictures):
    train.main(["--model", "resnet_s", "--width", "32", "--epochs", "1", "--out", str(tmp_path)])
    net = tmp_path / "resnet_s_digits_split0.safetensors"
    finetune.main(["--net", str(net), "--classes", "1", "7", "--examples", "3", "--seeds", "1", "--steps", "20",
                   "--out", str(tmp_path / "f.png")])
    assert (tmp_path / "f.png").exists()
    assert "note: --net was trained on 1, 7 already" in capsys.readouterr().out


@pytest.mark.parametrize("method", finetune.METHODS)
def test_what_each_method_trains(method):
    manual_seed(0)
    trained = recipes.mlp((1, 8, 8), 5, 16, 2)
    net = {"model": "mlp", "shape": [1, 8, 8], "classes": list("01234"), "width": 16, "depth": 2}
    before = {name: t.numpy().copy() for name, t in trained.state_dict().items()}
    x = np.random.default_rng(0).random((8, 1, 8, 8), dtype=np.float32)
    model = finetune.learn(method, trained, net, 3, x, np.arange(8) % 3, steps=5)
    same = [np.array_equal(before[name], t.numpy()) for name, t in model.state_dict().items()]
    assert same == [method == "new head"] * 4 + [False] * 2
    assert model(Tensor(x)).shape == (8, 3)
    assert all(np.array_equal(before[name], t.numpy()) for name, t in trained.state_dict().items())
