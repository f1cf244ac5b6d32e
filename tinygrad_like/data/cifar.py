"""CIFAR-10's binary version: each record has one byte for the label and 3 x 32 x 32 for the image."""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .download import data_folder, download

ARCHIVE, INSIDE = "cifar-10-binary.tar.gz", "cifar-10-batches-bin"
BATCHES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
MIRRORS = (
    "https://www.cs.toronto.edu/~kriz/",
    "https://cave.cs.toronto.edu/kriz/",
    "https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10/",
)
SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
RECORD = 1 + 3 * 32 * 32
MOST_RECORDS = 10_000  # per published file


def load_cifar10(folder: str | os.PathLike | None = None, *, download: bool = True
                 ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """CIFAR-10: 50,000 + 10,000 colour images of 32x32 pixels.

    Returns training images (n, 3, 32, 32), float32 in [0, 1] (0.6 GB), training labels (n,), int64, and the same for
    the test set. Labels: airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck. It reads `folder`, by
    default `data_folder("cifar10")`: the unpacked data_batch_1.bin, ..., test_batch.bin, there or in its subfolder
    cifar-10-batches-bin, or else cifar-10-binary.tar.gz, which it downloads (170 MB) if missing.

    Raises ConnectionError, with instructions, if the download fails, FileNotFoundError if download=False or an unpacked
    file is missing, ValueError if a file is damaged. Source: A. Krizhevsky, Learning Multiple Layers of Features from
    Tiny Images, 2009.
    """
    folder = data_folder("cifar10") if folder is None else Path(folder).expanduser()
    records = [_records(path, content) for path, content in _contents(folder, download)]
    return *_images_and_labels(records[:-1]), *_images_and_labels(records[-1:])


def _contents(folder: Path, may_download: bool) -> Iterator[tuple[Path, bytes]]:
    """Path and content of each of the six files."""
    for place in (folder, folder / INSIDE):
        present = [name for name in BATCHES if (place / name).is_file()]
        if present:
            if missing := [name for name in BATCHES if name not in present]:
                raise FileNotFoundError(f"load_cifar10: folder {str(place)!r} has {present[0]} but lacks "
                                        f"{', '.join(missing)}; unpack all of {ARCHIVE} there")
            for path in (place / name for name in BATCHES):
                _check_size(path, path.stat().st_size)
                yield path, path.read_bytes()
            return
    archive = folder / ARCHIVE
    if not archive.is_file():
        if not may_download:
            state = "lacks" if folder.is_dir() else "should hold"
            raise FileNotFoundError(f"load_cifar10: folder {str(folder)!r} {state} "
                                    f"{ARCHIVE}, or its contents; get it from {' or '.join(MIRRORS)}, or pass "
                                    "download=True")
        download(folder, {ARCHIVE: SHA256}, MIRRORS)
    found = {}
    try:
        with gzip.open(archive) as unpacked:
            with tarfile.open(fileobj=unpacked, mode="r|") as tar:  # unpacks nothing to disk
                for member in tar:
                    if member.isfile() and (name := Path(member.name).name) in BATCHES:
                        _check_size(archive / name, member.size)
                        found[name] = tar.extractfile(member).read()  # type: ignore[union-attr]
            while unpacked.read(1 << 20):  # to the end, where the checksum is
                pass
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise ValueError(f"load_cifar10: {archive} is damaged ({error}); delete it, and get it again") from None
    if missing := [name for name in BATCHES if name not in found]:
        raise ValueError(f"load_cifar10: {archive} lacks {', '.join(missing)}; use the binary version, not the "
                         "one for Python")
    yield from ((archive / name, found[name]) for name in BATCHES)


def _check_size(path: Path, size: int) -> None:
    if size % RECORD or not 0 < size <= MOST_RECORDS * RECORD:
        raise ValueError(f"load_cifar10: {path} holds {size} bytes, not a whole number of records of {RECORD}, "
                         f"from 1 to {MOST_RECORDS}; delete it, and get it again")


def _records(path: Path, content: bytes) -> np.ndarray:
    _check_size(path, len(content))
    records = np.frombuffer(content, np.uint8).reshape(-1, RECORD)
    if records[:, 0].max() > 9:
        raise ValueError(f"load_cifar10: {path} is damaged: it has label {records[:, 0].max()}, but there are 10 "
                         "classes; delete it, and get it again")
    return records


def _images_and_labels(records: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    images = np.concatenate([r[:, 1:].reshape(-1, 3, 32, 32) for r in records], dtype=np.float32)
    images /= 255
    return images, np.concatenate([r[:, 0] for r in records], dtype=np.int64)
