import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import grokking
from tinygrad_like import manual_seed


def test_the_test_pairs_are_understood_long_after_the_others(tmp_path, capsys):
    found = grokking.main(["--p", "31", "--part", "0.7", "--width", "64", "--steps", "700", "--weight-decay", "1",
                           "--out", str(tmp_path / "figure.png")])
    decayed, plain = found.values()
    learned = grokking.passes(decayed, 2)
    assert learned < 150 and decayed[decayed[:, 0] == learned][0, 4] < 0.05
    assert decayed[-1, 4] > 0.5 > 0.1 > plain[-1, 4] and plain[-1, 2] == 1
    assert "99 % of the training pairs at step" in capsys.readouterr().out
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_each_pair_is_learned_or_tested():
    pairs, sums, test_pairs, test_sums = grokking.all_pairs(5, 0.4, 0)
    assert len(pairs) == 10
    assert sorted(map(tuple, [*pairs, *test_pairs])) == [(a, b) for a in range(5) for b in range(5)]
    np.testing.assert_array_equal(sums, pairs.sum(axis=1) % 5)
    np.testing.assert_array_equal(test_sums, test_pairs.sum(axis=1) % 5)


def test_the_strongest_frequency_of_a_wave_is_its_own():
    manual_seed(0)
    net, n = grokking.Adder(11, 4), np.arange(11)[:, None]
    for table in (net.a, net.b):
        table.weight.assign(np.cos(2 * np.pi * n * np.array([[1, 2, 3, 5]]) / 11).astype(np.float32) + 3)
    power = grokking.frequencies(net)
    assert power.shape == (5,) and power[0] > 0.999 and power.sum() == pytest.approx(1)
