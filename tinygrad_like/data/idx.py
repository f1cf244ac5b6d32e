"""The IDX format of MNIST and Fashion-MNIST, plain or gzipped.

A file is: two zero bytes, one byte for the element type, one for the number of axes, each axis length as a big-endian
uint32, then the elements, big-endian, in C order. (Y. LeCun, C. Cortes, C. Burges, the MNIST database.)
"""

from __future__ import annotations

import gzip
import math
import os
import zlib
from pathlib import Path

import numpy as np

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | os.PathLike) -> np.ndarray:
    """The array stored in one IDX file, in the machine's byte order.

    Raises FileNotFoundError, or ValueError if the file is not IDX, or is shorter or longer than its header says.
    """
    content = Path(path).read_bytes()
    if content[:2] == b"\x1f\x8b":  # by content, not by name: some tools unpack and keep the .gz
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"read_idx: {path} is a damaged gzip file ({error}); download it again") from None
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _TYPES:
        raise ValueError(f"read_idx: {path} is no IDX file: it begins with {content[:4].hex(' ') or 'nothing'}, not "
                         "with 00 00, an element type (08, 09, 0b, 0c, 0d or 0e) and the number of axes")
    start = 4 + 4 * content[3]
    shape = tuple(int(n) for n in np.frombuffer(content[4:start].ljust(start - 4, b"\0"), ">u4"))
    dtype = np.dtype(_TYPES[content[2]])
    expected = start + math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise ValueError(f"read_idx: {path} holds {len(content)} bytes, but its header (shape {shape}, {dtype.name}) "
                         f"makes it {expected}; download it again")
    return np.frombuffer(content, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))


def load_mnist(folder: str | os.PathLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """MNIST, Fashion-MNIST, or another set under the same four file names, from `folder`.

    Returns training images (n, 1, height, width), float32 in [0, 1], training labels (n,), int64, and the same of the
    test set. Raises FileNotFoundError naming what was looked for, ValueError if a file is damaged or images and labels
    do not belong together.
    """
    return *_load_part(Path(folder), "train"), *_load_part(Path(folder), "t10k")


def _load_part(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    images_path = _find(folder, f"{part}-images", "idx3-ubyte")
    labels_path = _find(folder, f"{part}-labels", "idx1-ubyte")
    images, labels = read_idx(images_path), read_idx(labels_path)
    for path, array, ndim in ((images_path, images, 3), (labels_path, labels, 1)):
        if array.ndim != ndim or array.dtype != np.uint8:
            raise ValueError(f"load_mnist: {path} holds {array.dtype} of shape {array.shape}; expected uint8 with "
                             f"{ndim} axes. Are images and labels swapped?")
    if len(images) != len(labels):
        raise ValueError(f"load_mnist: {images_path} has {len(images)} images but {labels_path} has {len(labels)} "
                         "labels; take both from the same data set")
    scaled = images[:, None].astype(np.float32)
    scaled /= 255
    return scaled, labels.astype(np.int64)


def _find(folder: Path, stem: str, suffix: str) -> Path:
    names = [f"{stem}{joint}{suffix}{packed}" for joint in "-." for packed in ("", ".gz")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    state = "has none of" if folder.is_dir() else "does not exist; it should hold one of"
    raise FileNotFoundError(f"load_mnist: folder {str(folder)!r} {state} {', '.join(names)}; put the four files of the "
                            "data set (images and labels, train and t10k) there, or name the folder that has them")
