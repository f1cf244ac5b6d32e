"""The embedded digits, and the stratified split."""

from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygrad_like import manual_seed
from tinygrad_like.data import digits as module
from tinygrad_like.data import load_digits, stratified_split


def test_digits_are_the_uci_set():
    images, labels = load_digits()
    assert images.shape == (1797, 1, 8, 8) and images.dtype == np.float32
    assert labels.shape == (1797,) and labels.dtype == np.int64
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert images.min() == 0 and images.max() == 1
    assert (images * 16).sum() == 561718  # every pixel, as in the original table
    assert labels[:10].tolist() == list(range(10))
    assert (images[0, 0, 0] * 16).tolist() == [0, 0, 5, 13, 9, 1, 0, 0]


def test_a_damaged_file_is_noticed(tmp_path, monkeypatch):
    content = files("tinygrad_like.data").joinpath("digits.npz").read_bytes()
    monkeypatch.setattr(module, "files", lambda package: tmp_path)
    for damaged in b"", content[:-1], content[:1000] + b"?" + content[1001:]:
        (tmp_path / "digits.npz").write_bytes(damaged)
        with pytest.raises(ValueError, match="load_digits: .*digits.npz is damaged; install the package again"):
            load_digits()


@given(st.lists(st.integers(5, 40), min_size=1, max_size=6), st.floats(0.15, 0.85), st.integers(0, 2**32))
def test_a_stratified_split_keeps_class_proportions(counts, fraction, seed):
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    train, test = stratified_split(labels, fraction, seed)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(labels)))
    for label, count in enumerate(counts):
        assert abs((labels[test] == label).sum() - fraction * count) <= 0.5


def test_a_split_depends_on_its_seed_only():
    labels = load_digits()[1]
    first = stratified_split(labels, seed=3)[1]
    manual_seed(99)
    assert np.array_equal(first, stratified_split(labels, seed=3)[1])
    assert not np.array_equal(first, stratified_split(labels, seed=4)[1])


@pytest.mark.parametrize("labels, fraction, message", [
    (np.zeros((2, 2)), 0.2, "one axis"),
    (np.zeros(10), 0.0, "between 0 and 1"),
    (np.zeros(10), 1.0, "between 0 and 1"),
    (np.array([0] * 10 + [7]), 0.2, "class 7 has 1 members"),
])
def test_a_split_refuses_bad_arguments(labels, fraction, message):
    with pytest.raises(ValueError, match=message):
        stratified_split(labels, fraction)
