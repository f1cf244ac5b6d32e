"""MNIST and Fashion-MNIST, from their four published IDX files, plain or gzipped.

An IDX file is: two zero bytes, one byte for the element type, one for the number of axes, each axis length as a
big-endian uint32, then the elements, big-endian, in C order. (Y. LeCun, C. Cortes, C. Burges, the MNIST database.)
"""

from __future__ import annotations

import gzip
import math
import os
import zlib
from pathlib import Path

import numpy as np

from .download import data_folder, download

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

MNIST_MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/",
                 "https://storage.googleapis.com/cvdf-datasets/mnist/")
MNIST_SHA256 = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
FASHION_MIRRORS = ("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
                   "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/")
FASHION_SHA256 = {
    "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}


def load_mnist(folder: str | os.PathLike | None = None, *, download: bool = True) -> Split:
    """MNIST: 60,000 + 10,000 handwritten digits.

    Returns training images (n, 1, 28, 28), float32 in [0, 1], training labels (n,), int64 in 0, ..., 9, and the same
    for the test set. It reads the published files, gzipped or not, in `folder`, by default `data_folder("mnist")`,
    after downloading missing ones (11 MB). It also reads other data sets with these file names.

    Raises ConnectionError, with instructions, if a download fails, FileNotFoundError if a file is missing and
    download=False, ValueError if a file is damaged or images and labels do not match.
    Source: Y. LeCun, C. Cortes, C. Burges, the MNIST database of handwritten digits.
    """
    return _load("load_mnist", folder or data_folder("mnist"), MNIST_MIRRORS, MNIST_SHA256, download)


def load_fashion_mnist(folder: str | os.PathLike | None = None, *, download: bool = True) -> Split:
    """Fashion-MNIST: 60,000 + 10,000 images of clothing, in MNIST's format (31 MB).

    As `load_mnist`, by default from `data_folder("fashion_mnist")`. Labels: T-shirt, trousers, pullover, dress, coat,
    sandal, shirt, sneaker, bag, ankle boot. Source: H. Xiao, K. Rasul, R. Vollgraf, Fashion-MNIST, 2017 (MIT licence).
    """
    return _load("load_fashion_mnist", folder or data_folder("fashion_mnist"), FASHION_MIRRORS, FASHION_SHA256,
                 download)


def _load(who: str, folder: str | os.PathLike, mirrors: tuple[str, ...], digests: dict[str, str],
          may_download: bool) -> Split:
    folder = Path(folder).expanduser()
    missing = {name: digest for name, digest in digests.items() if not _path(folder, name).is_file()}
    if missing and not may_download:
        raise FileNotFoundError(f"{who}: folder {str(folder)!r} {'lacks' if folder.is_dir() else 'should hold'} "
                                f"{', '.join(missing)} (gzipped or not); get the missing files from "
                                f"{' or '.join(mirrors)}, or pass download=True")
    if missing:
        download(folder, missing, mirrors)
    paths = [_path(folder, name) for name in digests]
    x, y, x_test, y_test = *_read(who, *paths[:2]), *_read(who, *paths[2:])
    if x.shape[1:] != x_test.shape[1:]:
        raise ValueError(f"{who}: the images in {paths[0]} have shape {x.shape[2:]}, those in {paths[2]} "
                         f"{x_test.shape[2:]}; take both from the same data set")
    return x, y, x_test, y_test


def _path(folder: Path, name: str) -> Path:
    """The file of this name, or its unpacked form, which some tools call `train-images.idx3-ubyte`."""
    unpacked = name.removesuffix(".gz")
    candidates = [folder / name, folder / unpacked, folder / unpacked.replace("-idx", ".idx")]
    return next((path for path in candidates if path.is_file()), candidates[0])


def _read(who: str, images_path: Path, labels_path: Path) -> tuple[np.ndarray, np.ndarray]:
    images, labels = read_idx(images_path), read_idx(labels_path)
    for path, array, ndim in ((images_path, images, 3), (labels_path, labels, 1)):
        if array.ndim != ndim or array.dtype != np.uint8:
            raise ValueError(f"{who}: {path} holds {array.dtype} of shape {array.shape}; expected uint8 with "
                             f"{ndim} axes. Are images and labels swapped?")
    if len(images) != len(labels):
        raise ValueError(f"{who}: {images_path} has {len(images)} images but {labels_path} has {len(labels)} "
                         "labels; take both from the same data set")
    scaled = images[:, None].astype(np.float32)
    scaled /= 255
    return scaled, labels.astype(np.int64)


# The format -----------------------------------------------------------------------------------------------------------

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

MOST = 600_000_000  # bytes: EMNIST, the largest data set in this format, has 0.55e9


def read_idx(path: str | os.PathLike) -> np.ndarray:
    """The array stored in one IDX file, in the machine's byte order.

    Raises FileNotFoundError, or ValueError if the file is not IDX, is shorter or longer than its header says, or
    unpacks to more than 600 MB.
    """
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"  # by content, not by name: some tools unpack and keep the .gz
        file.seek(0)
        stream, chunks, size = gzip.GzipFile(fileobj=file) if packed else file, list[bytes](), 0
        try:
            while size <= MOST and (chunk := stream.read(1 << 20)):
                chunks.append(chunk)
                size += len(chunk)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"read_idx: {path} is a damaged gzip file ({error}); delete it, and get it "
                             "again") from None
    content = b"".join(chunks)
    start, count = content[:4], content[3] if len(content) > 3 else 0
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES:
        raise ValueError(f"read_idx: {path} is not an IDX file: it begins with {start.hex(' ') or 'nothing'}, not "
                         "with 00 00, an element type (08, 09, 0b, 0c, 0d or 0e) and the number of axes")
    end = 4 + 4 * count
    if len(content) < end:
        raise ValueError(f"read_idx: {path} ends within its header; delete it, and get it again")
    shape, dtype = tuple(np.frombuffer(content[4:end], ">u4").tolist()), np.dtype(_TYPES[start[2]])
    expected = end + math.prod(shape) * dtype.itemsize
    if len(content) != expected or expected > MOST:
        held = f"more than {MOST}" if len(content) > MOST else len(content)
        raise ValueError(f"read_idx: {path} holds {held} bytes, but its header (shape {shape}, {dtype.name}) needs "
                         f"{expected}; delete it, and get it again")
    try:
        return np.frombuffer(content, dtype, offset=end).reshape(shape).astype(dtype.newbyteorder("="))
    except ValueError as error:  # too many axes, or too long ones next to one of length 0
        raise ValueError(f"read_idx: {path} cannot be read: NumPy cannot hold shape {shape} ({error})") from None
