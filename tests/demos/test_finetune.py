import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import finetune, recipes, train
from tinygrad_like import Tensor, manual_seed


def test_prints_a_table_and_draws_it(tmp_path, capsys):
    scores = finetune.main(["--examples", "2", "20", "--seeds", "2", "--steps", "60",
                            "--out", str(tmp_path / "new" / "f.png")])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("a net that reads 0, 1, 2, 3, 4: 9")
    assert list(scores) == ["new head", "whole net", "from scratch"]
    for line, (name, values) in zip(printed[3:6], scores.items(), strict=True):
        assert values.shape == (2, 2) and values[:, 1].mean() > max(0.6, values[:, 0].mean())
        assert line.split() == [*name.split(), *(f"{v:.1%}" for v in values.mean(axis=0))]
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
