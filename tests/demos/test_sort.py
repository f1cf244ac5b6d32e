"""The Transformer that sorts: its strings, its training, and its attention maps."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import nn
from demos import attention, sort
from demos.networks import Seq2Seq
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.training import load_weights


def test_training_and_test_strings_are_disjoint():
    train, test = sort.strings(6, 5000, 200, np.random.default_rng(0))
    assert not set(train) & set(test)
    assert len(set(train)) == len(train) and len(set(test)) == len(test)
    lengths = [[sum(len(word) == n for word in part) for n in range(1, 7)] for part in (train, test)]
    assert lengths[1] == [1, 10, 100, 200, 200, 200]
    assert lengths[0][:3] == [9, 90, 900] and sum(lengths[0]) == 5000
    assert all(word.isdecimal() for word in train + test)


def test_writing_stops_at_the_end_token():
    class Net:
        def generate(self, source, start, end, max_new_tokens):
            assert source.shape == (2, 4) and (start, end, max_new_tokens) == (11, 12, 5)
            return Tensor([[11, 1, 2, 1, 2, 2], [11, 0, 12, 12, 12, 12]])  # one and two are no end

    assert sort.write(Net(), ["121", "0"]) == ["12122", "0"]


def test_the_model_learns_short_strings(tmp_path, capsys):
    right = sort.main(["--task", "sort", "--length", "3", "--examples", "800", "--epochs", "12", "--batch-size", "32",
                       "--d-model", "32", "--layers", "1", "--lr", "5e-3", "--out", str(tmp_path / "new")])
    printed = capsys.readouterr().out
    assert right > 0.5
    assert "     3      100 " in printed and f"   all      111  {right:7.2%}" in printed
    assert " -> " in printed
    assert (tmp_path / "new" / "sort.png").read_bytes().startswith(b"\x89PNG")
    net = Seq2Seq(sort.VOCABULARY, sort.VOCABULARY, 32, 4, 1, 128, dropout=0.0, padding_idx=sort.PAD)
    load_weights(net, tmp_path / "new" / "sort.safetensors")
    _, test = sort.strings(3, 800, 200, np.random.default_rng(0))
    assert sort.exact(net, test, "sort").mean() == right


def test_attention_maps_are_the_layers_and_hooks_are_removed():
    manual_seed(0)
    model = nn.ViT(8, 4, 10, 16, 2, 2, channels=1).eval()
    images = Tensor.randn(3, 1, 8, 8)
    plain = model(images).detach().numpy()
    with attention.attention_maps(layer.self_attn for layer in model.layers) as maps:
        assert np.array_equal(model(images).detach().numpy(), plain)
    model(images)
    assert [m.shape for m in maps] == [(3, 2, 5, 5)] * 2
    np.testing.assert_allclose([m.sum(axis=-1) for m in maps], 1, rtol=1e-5)
    assert not np.allclose(maps[0], maps[1])
