"""The IDX format of MNIST and Fashion-MNIST, plain or gzipped.

A file is: two zero bytes, one byte for the element type, one for the number of axes, each axis length as a big-endian
uint32, then the elements, big-endian, in C order. (Y. LeCun, C. Cortes, C. Burges, the MNIST database.)
"""

from __future__ import annotations

import gzip
import math
import os
import zlib
from typing import IO

import numpy as np

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

# The bytes a gzip file may unpack to, whatever its header says: EMNIST, the largest set in this format, has 0.55e9.
MOST = 600_000_000
CHUNK = 1 << 20
DEFLATE = 1032  # the most bytes that one compressed byte can unpack to


def read_idx(path: str | os.PathLike) -> np.ndarray:
    """The array stored in one IDX file, in the machine's byte order.

    Raises FileNotFoundError, or ValueError if the file is not IDX, is shorter or longer than its header says, or
    unpacks to more than 600 MB.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        packed = file.read(2) == b"\x1f\x8b"  # by content, not by name: some tools unpack and keep the .gz
        file.seek(0)
        if not packed:
            return _read(path, file, size)
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                return _read(path, unpacked, min(DEFLATE * size, MOST))
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"read_idx: {path} is a damaged gzip file ({error}); delete it, and get it "
                             "again") from None


def _read(path: str | os.PathLike, file: IO[bytes] | gzip.GzipFile, most: int) -> np.ndarray:
    """The array of a file that holds at most `most` bytes, so that no header makes us allocate more than that."""
    start = file.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES:
        raise ValueError(f"read_idx: {path} is not an IDX file: it begins with {start.hex(' ') or 'nothing'}, not "
                         "with 00 00, an element type (08, 09, 0b, 0c, 0d or 0e) and the number of axes")
    lengths = file.read(4 * start[3])
    if len(lengths) < 4 * start[3]:
        raise ValueError(f"read_idx: {path} ends within its header; delete it, and get it again")
    shape, dtype = tuple(np.frombuffer(lengths, ">u4").tolist()), np.dtype(_TYPES[start[2]])
    count = math.prod(shape) * dtype.itemsize
    expected = 4 + len(lengths) + count
    header = f"its header (shape {shape}, {dtype.name}) makes it {expected}; delete it, and get it again"
    if expected > most:
        raise ValueError(f"read_idx: {path} holds at most {most} bytes, but {header}")
    try:
        array = np.empty(shape, dtype)
    except ValueError as error:  # too many axes, or too long ones beside one of length 0
        raise ValueError(f"read_idx: {path} cannot be read: NumPy has no arrays of shape {shape} ({error})") from None
    elements, done = array.reshape(-1).view(np.uint8).data, 0
    while chunk := file.read(min(count - done, CHUNK)):
        elements[done:done + len(chunk)] = chunk
        done += len(chunk)
    if done < count:
        raise ValueError(f"read_idx: {path} holds {4 + len(lengths) + done} bytes, but {header}")
    if file.read(1):  # at the end, gzip compares its checksum
        raise ValueError(f"read_idx: {path} holds more bytes, but {header}")
    return array.astype(dtype.newbyteorder("="), copy=False)
