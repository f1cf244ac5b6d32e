import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import attention_pictures


def test_the_decoder_looks_backwards(tmp_path, capsys):
    encoding, maps, right = attention_pictures.main([
        "--length", "4", "--examples", "1500", "--epochs", "8", "--dim", "32", "--positions", "40",
        "--out", str(tmp_path / "figure.png")])
    assert encoding.shape == (40, 32) and right > 0.8
    near = encoding @ encoding.T
    assert all(np.ptp(np.diagonal(near, k)) < 1e-4 for k in range(39)) and near.argmax(axis=1).tolist() == [*range(40)]
    assert {name: value.shape for name, value in maps.items()} == dict.fromkeys(maps, (2, 5, 5))
    for value in maps.values():
        np.testing.assert_allclose(value.sum(axis=-1), 1, atol=1e-5)
    assert not np.triu(maps["decoder"], 1).any() and np.triu(maps["encoder"], 1).any()
    assert max(np.mean([head[t, 3 - t] for t in range(4)]) for head in maps["cross"]) > 0.4
    assert capsys.readouterr().out.count("\n") == 12
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_size_of_a_head_is_even(capsys):
    with pytest.raises(SystemExit):
        attention_pictures.main(["--dim", "6", "--heads", "2"])
    assert "argument --dim: must be a multiple of twice --heads 2" in capsys.readouterr().err
