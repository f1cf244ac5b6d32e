"""Embedded digits, stratified split, IDX reader, loader, augmentation."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import DataLoader, load_digits, load_mnist, random_shift, read_idx, stratified_split

# Digits -------------------------------------------------------------------------------------------------------------


def test_digits_are_the_uci_set():
    images, labels = load_digits()
    assert images.shape == (1797, 1, 8, 8) and images.dtype == np.float32
    assert labels.shape == (1797,) and labels.dtype == np.int64
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert images.min() == 0 and images.max() == 1
    assert (images * 16).sum() == 561718  # every pixel, as in the original table
    assert labels[:10].tolist() == list(range(10))
    assert (images[0, 0, 0] * 16).tolist() == [0, 0, 5, 13, 9, 1, 0, 0]


# Split --------------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(5, 40), min_size=1, max_size=6), st.floats(0.15, 0.85), st.integers(0, 2**32))
def test_split_is_a_partition_in_proportion(counts, fraction, seed):
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    train, test = stratified_split(labels, fraction, seed)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(labels)))
    for label, count in enumerate(counts):
        assert abs((labels[test] == label).sum() - fraction * count) <= 0.5


def test_split_depends_on_its_seed_only():
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
def test_split_refuses(labels, fraction, message):
    with pytest.raises(ValueError, match=message):
        stratified_split(labels, fraction)


# IDX ----------------------------------------------------------------------------------------------------------------


def idx_bytes(array, code=0x08):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.fixture
def mnist(tmp_path):
    """A folder with three training and two test images of 4x5 pixels; one file gzipped, one with a dot in its name."""
    rng = np.random.default_rng(0)
    parts = {name: (rng.integers(0, 256, (n, 4, 5), np.uint8), rng.integers(0, 10, n, np.uint8))
             for name, n in (("train", 3), ("t10k", 2))}
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx_bytes(parts["train"][0])))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx_bytes(parts["train"][1]))
    (tmp_path / "t10k-images.idx3-ubyte").write_bytes(idx_bytes(parts["t10k"][0]))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(parts["t10k"][1]))
    return tmp_path, parts


@pytest.mark.parametrize("code, dtype", [(8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")])
def test_idx_types_round_trip(tmp_path, code, dtype):
    array = np.arange(-3, 9).reshape(3, 2, 2).astype(dtype)
    (tmp_path / "x").write_bytes(idx_bytes(array, code))
    read = read_idx(tmp_path / "x")
    assert read.dtype == np.dtype(dtype) and read.dtype.isnative
    assert np.array_equal(read, array)


def test_mnist_folder(mnist):
    folder, parts = mnist
    x_train, y_train, x_test, y_test = load_mnist(folder)
    for x, y, (images, labels) in ((x_train, y_train, parts["train"]), (x_test, y_test, parts["t10k"])):
        assert x.dtype == np.float32 and y.dtype == np.int64
        assert np.array_equal(x, images[:, None].astype(np.float32) / 255)
        assert np.array_equal(y, labels)


def test_missing_files_are_named(mnist):
    folder, _ = mnist
    (folder / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(FileNotFoundError, match="none of t10k-labels-idx1-ubyte, .*put the four files"):
        load_mnist(folder)
    with pytest.raises(FileNotFoundError, match="does not exist; it should hold one of train-images-idx3-ubyte"):
        load_mnist(folder / "nowhere")


@pytest.mark.parametrize("content, message", [
    (b"", "begins with nothing"),
    (b"\x89PNG and so on", "begins with 89 50 4e 47"),
    (b"\0\0\x07\x01\0\0\0\0", "no IDX file"),
    (idx_bytes(np.zeros((3, 2), np.uint8))[:-1], r"17 bytes, but its header \(shape \(3, 2\), uint8\) makes it 18"),
    (idx_bytes(np.zeros((3, 2), np.uint8)) + b"\0", "holds 19 bytes"),
    (b"\0\0\x08\x03\0\0\0\x01\0\0", "holds 10 bytes"),
    (gzip.compress(idx_bytes(np.zeros((3, 2), np.uint8)))[:-9], "damaged gzip"),
    (gzip.compress(bytes(99))[:12] + b"?" * 20, "damaged gzip"),
])
def test_damaged_idx_is_refused(tmp_path, content, message):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_idx(tmp_path / "x")


def test_images_and_labels_must_belong_together(mnist):
    folder, parts = mnist
    (folder / "train-labels-idx1-ubyte").write_bytes(idx_bytes(np.zeros(4, np.uint8)))
    with pytest.raises(ValueError, match="3 images but .* 4 labels"):
        load_mnist(folder)
    (folder / "train-labels-idx1-ubyte").write_bytes(idx_bytes(parts["train"][0]))
    with pytest.raises(ValueError, match="expected uint8 with 1 axes. Are images and labels swapped?"):
        load_mnist(folder)


# Loader -------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 30), st.integers(1, 12), st.booleans(), st.booleans())
def test_loader_gives_each_row_once_and_pairs_stay_together(n, batch_size, shuffle, drop_last):
    x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    loader = DataLoader(x, np.arange(n), batch_size=batch_size, shuffle=shuffle, drop_last=drop_last)
    batches = list(loader)
    assert len(batches) == len(loader)
    sizes = [len(y) for _, y in batches]
    assert sizes == [batch_size] * (n // batch_size) + [n % batch_size] * (not drop_last and n % batch_size > 0)
    rows = [int(i) for _, y in batches for i in y.numpy()]
    assert len(set(rows)) == len(rows)
    assert shuffle or rows == list(range(len(rows)))
    for a, b in batches:
        assert isinstance(a, Tensor) and np.array_equal(a.numpy(), x[b.numpy()])


def test_loader_order_follows_the_seed():
    loader = DataLoader(np.arange(50), batch_size=50, shuffle=True)
    manual_seed(5)
    first, second = (next(iter(loader))[0].tolist() for _ in range(2))
    manual_seed(5)
    assert next(iter(loader))[0].tolist() == first != second


@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_are_copies(shuffle):
    x = np.zeros((4, 2), np.float32)
    for (batch,) in DataLoader(x, batch_size=2, shuffle=shuffle):
        batch.assign(np.ones((2, 2)))
    assert not x.any()


def test_loader_transforms_whole_batches():
    loader = DataLoader(np.ones((3, 2)), np.zeros(3), batch_size=2, transform=lambda x, y: (x + y[:, None], y + 7))
    assert [(x.tolist(), y.tolist()) for x, y in loader] == [([[1, 1], [1, 1]], [7, 7]), ([[1, 1]], [7])]


@pytest.mark.parametrize("arrays, batch_size, message", [
    ((), 1, "one or more arrays"),
    ((np.zeros(3), np.zeros(4)), 1, r"\[\(3,\), \(4,\)\]"),
    ((np.float32(1),), 1, "same number of rows"),
    ((np.zeros(3),), 0, "batch_size=0"),
])
def test_loader_refuses(arrays, batch_size, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(*arrays, batch_size=batch_size)


# Augmentation -------------------------------------------------------------------------------------------------------


def test_random_shift_moves_whole_images():
    images = np.zeros((400, 2, 5, 6), np.float32)
    images[:, 0, 2, 3] = 1
    images[:, 1, 2, 3] = 2
    moved = random_shift(images, 2)
    assert moved.shape == images.shape and moved.dtype == images.dtype
    assert np.array_equal(moved[:, 1], 2 * moved[:, 0])  # channels move together
    positions = {tuple(np.argwhere(image[0])[0]) for image in moved}
    assert positions == {(row, column) for row in range(5) for column in range(1, 6)}
    assert images[:, 0, 2, 3].all()


def test_random_shift_fills_with_zeros():
    moved = random_shift(np.ones((100, 1, 3, 3), np.float32), 1)
    assert {int(image.sum()) for image in moved} == {4, 6, 9}


def test_random_shift_refuses():
    with pytest.raises(ValueError, match=r"got shape \(8, 8\)"):
        random_shift(np.zeros((8, 8)))
