"""MNIST and Fashion-MNIST, from small files of their names."""

import gzip
import hashlib

import numpy as np
import pytest

import tinygrad_like.data.mnist as module
from tests.data.test_idx import idx_bytes
from tinygrad_like.data import load_fashion_mnist, load_mnist

NAMES = tuple(module.MNIST_SHA256)


@pytest.fixture
def files():
    """Name to array: three training and two test images of 4x5 pixels."""
    rng = np.random.default_rng(0)
    shapes = [(3, 4, 5), (3,), (2, 4, 5), (2,)]
    return {name: rng.integers(0, 10, shape, np.uint8) for name, shape in zip(NAMES, shapes, strict=True)}


def write(folder, files):
    folder.mkdir(exist_ok=True)
    for name, array in files.items():
        packed = gzip.compress(idx_bytes(array)) if name.endswith(".gz") else idx_bytes(array)
        (folder / name).write_bytes(packed)


def check(loaded, files):
    for array, stored in zip(loaded, files.values(), strict=True):
        if stored.ndim == 3:
            assert array.dtype == np.float32 and np.array_equal(array, stored[:, None].astype(np.float32) / 255)
        else:
            assert array.dtype == np.int64 and np.array_equal(array, stored)


@pytest.mark.parametrize("load", [load_mnist, load_fashion_mnist])
@pytest.mark.parametrize("rename", [
    lambda name: name,
    lambda name: name.removesuffix(".gz"),
    lambda name: name.removesuffix(".gz").replace("-idx", ".idx"),
])
def test_files_are_read_from_a_folder(tmp_path, files, load, rename):
    write(tmp_path, {rename(name): array for name, array in files.items()})
    check(load(tmp_path, download=False), files)
    check(load(str(tmp_path)), files)


def test_files_are_read_from_the_default_folder(tmp_path, files, monkeypatch):
    monkeypatch.setenv("TINYGRAD_LIKE_DATA", str(tmp_path))
    write(tmp_path / "mnist", files)
    check(load_mnist(), files)
    with pytest.raises(FileNotFoundError, match="fashion_mnist' should hold train-images"):
        load_fashion_mnist(download=False)


def test_missing_files_are_named(tmp_path, files):
    write(tmp_path, files)
    (tmp_path / NAMES[3]).unlink()
    with pytest.raises(FileNotFoundError, match=rf"lacks {NAMES[3]} \(gzipped or not\); get the missing files from "
                                                "https://ossci.*download=True"):
        load_mnist(tmp_path, download=False)


def test_missing_files_are_downloaded(tmp_path, files, server, monkeypatch):
    write(tmp_path / "published", files)
    server.files |= {name: (tmp_path / "published" / name).read_bytes() for name in files}
    monkeypatch.setattr(module, "MNIST_MIRRORS", (server.url,))
    monkeypatch.setattr(module, "MNIST_SHA256", {n: hashlib.sha256(c).hexdigest() for n, c in server.files.items()})
    write(tmp_path / "cache", {NAMES[0]: files[NAMES[0]]})
    check(load_mnist(tmp_path / "cache"), files)
    assert server.requests == list(NAMES[1:])


def test_all_four_files_have_checksums():
    for digests in (module.MNIST_SHA256, module.FASHION_SHA256):
        assert tuple(digests) == NAMES and {len(bytes.fromhex(d)) for d in digests.values()} == {32}


def test_damaged_files_are_named(tmp_path, files):
    write(tmp_path, files)
    whole = (tmp_path / NAMES[2]).read_bytes()
    (tmp_path / NAMES[2]).write_bytes(whole[:30] + bytes([whole[30] ^ 1]) + whole[31:])
    with pytest.raises(ValueError, match=f"{NAMES[2]} is a damaged gzip file .* delete it"):
        load_mnist(tmp_path)


def test_images_and_labels_must_match(tmp_path, files):
    write(tmp_path, files | {NAMES[1]: np.zeros(4, np.uint8)})
    with pytest.raises(ValueError, match="load_mnist: .* 3 images but .* 4 labels"):
        load_mnist(tmp_path)
    write(tmp_path, {NAMES[1]: files[NAMES[0]]})
    with pytest.raises(ValueError, match="expected uint8 with 1 axes. Are images and labels swapped?"):
        load_mnist(tmp_path)
    write(tmp_path, files | {NAMES[2]: np.zeros((2, 5, 4), np.uint8)})
    with pytest.raises(ValueError, match=r"load_mnist: .* have shape \(4, 5\), those in .* \(5, 4\)"):
        load_mnist(tmp_path)
