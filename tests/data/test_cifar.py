"""CIFAR-10, from small files in its binary format."""

import hashlib
import io
import tarfile
import tracemalloc

import numpy as np
import pytest

import tinygrad_like.data.cifar as module
from tinygrad_like.data import load_cifar10


@pytest.fixture
def files():
    """The six files, of two to seven records each."""
    rng = np.random.default_rng(0)
    return {name: np.concatenate([rng.integers(0, 10, (n, 1), np.uint8), rng.integers(0, 256, (n, 3072), np.uint8)], 1)
            for n, name in enumerate(module.BATCHES, start=2)}


def archive(files, inside="cifar-10-batches-bin/"):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, records in {"readme.html": np.zeros(9, np.uint8), **files}.items():
            member = tarfile.TarInfo(inside + name)
            member.size = records.size
            tar.addfile(member, io.BytesIO(records.tobytes()))
    return packed.getvalue()


def check(loaded, files):
    *training, test = files.values()
    for images, labels, records in ((*loaded[:2], np.concatenate(training)), (*loaded[2:], test)):
        assert images.dtype == np.float32 and images.shape == (len(records), 3, 32, 32)
        assert labels.dtype == np.int64 and np.array_equal(labels, records[:, 0])
        # a record: the label, 1024 bytes of red, of green, of blue, each row by row
        assert np.array_equal(images[1, 2, 3], records[1, 1 + 2048 + 3 * 32:][:32].astype(np.float32) / 255)
        assert np.array_equal(images.reshape(len(records), -1), records[:, 1:].astype(np.float32) / 255)


@pytest.mark.parametrize("inside", ["", "cifar-10-batches-bin"])
def test_unpacked_files_are_read(tmp_path, files, inside):
    (tmp_path / inside).mkdir(exist_ok=True)
    for name, records in files.items():
        (tmp_path / inside / name).write_bytes(records.tobytes())
    check(load_cifar10(tmp_path, download=False), files)
    (tmp_path / inside / "data_batch_4.bin").unlink()
    with pytest.raises(FileNotFoundError, match="has data_batch_1.bin but lacks data_batch_4.bin"):
        load_cifar10(tmp_path)


@pytest.mark.parametrize("inside", ["", "./", "cifar-10-batches-bin/", "/etc/../"])
def test_an_archive_is_read_without_unpacking(tmp_path, files, inside):
    (tmp_path / module.ARCHIVE).write_bytes(archive(files, inside))
    check(load_cifar10(tmp_path, download=False), files)
    assert [p.name for p in tmp_path.iterdir()] == [module.ARCHIVE]


def test_the_archive_is_downloaded_once(tmp_path, files, server, monkeypatch):
    server.files[module.ARCHIVE] = archive(files)
    monkeypatch.setattr(module, "MIRRORS", (server.url,))
    monkeypatch.setattr(module, "SHA256", hashlib.sha256(server.files[module.ARCHIVE]).hexdigest())
    monkeypatch.setenv("TINYGRAD_LIKE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="should hold cifar-10-binary.tar.gz, or its contents; get it"):
        load_cifar10(download=False)
    for _ in range(2):
        check(load_cifar10(), files)
    assert len(server.requests) == 1 and (tmp_path / "cifar10" / module.ARCHIVE).is_file()


@pytest.mark.parametrize("spoil", [
    lambda packed: packed[:len(packed) // 2],
    lambda packed: b"no archive",
    lambda packed: packed[:5000] + bytes(10) + packed[5010:],
])
def test_a_damaged_archive_is_named(tmp_path, files, spoil):
    (tmp_path / module.ARCHIVE).write_bytes(spoil(archive(files)))
    with pytest.raises(ValueError, match=f"{module.ARCHIVE} is damaged .* delete it"):
        load_cifar10(tmp_path)


def test_another_archive_is_refused(tmp_path):
    (tmp_path / module.ARCHIVE).write_bytes(archive({"data_batch_1": np.zeros(9, np.uint8)}))
    with pytest.raises(ValueError, match="lacks data_batch_1.bin, .* use the binary version"):
        load_cifar10(tmp_path)


@pytest.mark.parametrize("content, message", [
    (bytes(3073 * 2 - 1), "data_batch_3.bin holds 6145 bytes, not a whole number of records of 3073, from 1 to"),
    (b"", "holds 0 bytes"),
    (bytes(3073 * 10_001), "holds 30733073 bytes"),
    (b"\x0a" + bytes(3072), "data_batch_3.bin is damaged: it has label 10"),
])
def test_damaged_records_are_refused(tmp_path, files, content, message):
    for name, records in files.items():
        (tmp_path / name).write_bytes(records.tobytes())
    (tmp_path / "data_batch_3.bin").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_cifar10(tmp_path)


def test_a_member_of_the_wrong_size_is_refused_unread(tmp_path, files):
    """100 kB may unpack to 100 MB."""
    (tmp_path / module.ARCHIVE).write_bytes(archive({**files, "data_batch_2.bin": np.zeros(100_000_000, np.uint8)}))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="_2.bin holds 100000000"):
            load_cifar10(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()
