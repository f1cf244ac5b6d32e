"""Characters as numbers, n-grams, and texts for training and test."""

import sysconfig
from pathlib import Path

import numpy as np
import pytest

from demos import text
from demos.text import UNKNOWN, Characters, NGram, Windows
from tinygrad_like import manual_seed


def test_characters_are_encoded_and_decoded():
    characters = Characters.of("abracadabra é" * 3, least=6)
    assert characters.characters == UNKNOWN + "abr" and len(characters) == 4
    tokens = characters.encode("bad é")
    assert tokens.tolist() == [2, 1, 0, 0, 0]
    assert characters.decode(tokens) == "ba" + 3 * UNKNOWN


def test_a_bigram_model_equals_one_computed_by_hand():
    """Of 0 1 0 0 1 2: the pairs are 01 twice, 10, 00 and 12 once. Discount of pairs: 3 / (3 + 2) = 0.6.

    0 comes after two different tokens (1, 0), 1 after one (0), 2 after one (1): of 4 kinds of pairs. Discount of single
    tokens: two have count 1, one has 2, so 2 / (2 + 2) = 0.5, and p(0) = (2 - 0.5) / 4 + 0.5 * 3 / 4 / 3.
    """
    model = NGram(np.array([0, 1, 0, 0, 1, 2]), vocabulary=3, order=2)
    p0, p1, p2 = (2 - 0.5) / 4 + 0.125, (1 - 0.5) / 4 + 0.125, (1 - 0.5) / 4 + 0.125
    assert p0 + p1 + p2 == 1
    after_0 = [(1 - 0.6) / 3 + 0.6 * 2 / 3 * p0, (2 - 0.6) / 3 + 0.6 * 2 / 3 * p1, 0.6 * 2 / 3 * p2]
    after_1 = [(1 - 0.6) / 2 + 0.6 * p0, 0.6 * p1, (1 - 0.6) / 2 + 0.6 * p2]
    after_2 = [p0, p1, p2]  # nothing was seen after it
    pairs = np.array([[[h, c] for c in range(3)] for h in range(3)])
    np.testing.assert_allclose(model.probabilities(pairs)[..., 0], [after_0, after_1, after_2], rtol=1e-12)
    np.testing.assert_allclose(model.probabilities(np.array([0, 1, 1])), [after_0[1], after_1[1]], rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_probabilities_sum_to_one(order):
    rng = np.random.default_rng(0)
    tokens = (rng.random(2000) ** 3 * 12).astype(np.int64)
    model = NGram(tokens, vocabulary=13, order=order)  # 12 never occurs
    contexts = np.concatenate([rng.integers(13, size=(200, order - 1)),  # most of them not seen either
                               np.lib.stride_tricks.sliding_window_view(tokens, order)[:200, :-1]])
    rows = np.concatenate([np.repeat(contexts[:, None], 13, axis=1),
                           np.broadcast_to(np.arange(13)[:, None], (400, 13, 1))], axis=2)
    p = model.probabilities(rows)[..., 0]
    assert (p > 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


def test_standard_library_trains_on_some_files_and_tests_on_others(monkeypatch):
    read = []
    original = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda self, **options: (read.append(self), original(self, **options))[1])
    train, test = text.standard_library(300_000, 100_000)
    assert len(train) == 300_000 and len(test) == 100_000
    assert len(set(read)) == len(read) > 6
    first_of_test = next(i for i, path in enumerate(read) if test.startswith(original(path, encoding="utf-8")[:2000]))
    assert first_of_test > 0 and train.startswith(original(read[0], encoding="utf-8")[:2000])
    root = Path(sysconfig.get_path("stdlib"))
    assert all(path.is_relative_to(root) and "site-packages" not in path.parts for path in read)
    longest_common = 2000  # a licence may stand in many files, but no page of code
    pages = {train[i:i + longest_common] for i in range(len(train) - longest_common)}
    assert not any(test[i:i + longest_common] in pages for i in range(0, len(test) - longest_common, 7))
    assert (train, test) == text.standard_library(300_000, 100_000)


def test_a_file_is_split_into_beginning_and_end(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("".join(f"{i:04}" for i in range(1000)))
    train, test = text.split_text(path, 10_000, 100)
    assert train == path.read_text()[:3600] and test == path.read_text()[3600:3700]
    path.write_text("short")
    with pytest.raises(ValueError, match="x.txt has 5 characters"):
        text.split_text(path, 100, 100)


def test_windows_are_random_pieces_with_their_next_characters():
    manual_seed(0)
    windows = Windows(np.arange(100), context=8, batch=5, steps=3)
    batches = [(x.numpy(), y.numpy()) for x, y in windows]
    assert len(batches) == len(windows) == 3
    for x, y in batches:
        assert x.shape == y.shape == (5, 8)
        assert (np.diff(x) == 1).all() and (y == x + 1).all()
    manual_seed(0)
    assert all((x.numpy() == a).all() for (x, _), (a, _) in zip(windows, batches, strict=True))
    with pytest.raises(ValueError, match="context=8 must be shorter than the text, 8"):
        Windows(np.arange(8), context=8, batch=5, steps=3)
