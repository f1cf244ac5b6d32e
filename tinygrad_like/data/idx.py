"""The IDX format of MNIST and Fashion-MNIST, plain or gzipped.

A file is: two zero bytes, one byte for the element type, one for the number of axes, each axis length as a big-endian
uint32, then the elements, big-endian, in C order. (Y. LeCun, C. Cortes, C. Burges, the MNIST database.)
"""

from __future__ import annotations

import gzip
import math
import os
import zlib

import numpy as np

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

MOST = 600_000_000  # bytes of the largest file that is read: EMNIST, the largest set in this format, has 0.55e9


def read_idx(path: str | os.PathLike) -> np.ndarray:
    """The array stored in one IDX file, in the machine's byte order.

    Raises FileNotFoundError, or ValueError if the file is not IDX, is shorter or longer than its header says, or
    unpacks to more than 600 MB.
    """
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"  # by content, not by name: some tools unpack and keep the .gz
        file.seek(0)
        try:
            content = (gzip.GzipFile(fileobj=file) if packed else file).read(MOST + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"read_idx: {path} is a damaged gzip file ({error}); delete it, and get it "
                             "again") from None
    start, count = content[:4], content[3] if len(content) > 3 else 0
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES:
        raise ValueError(f"read_idx: {path} is not an IDX file: it begins with {start.hex(' ') or 'nothing'}, not "
                         "with 00 00, an element type (08, 09, 0b, 0c, 0d or 0e) and the number of axes")
    end = 4 + 4 * count
    if len(content) < end:
        raise ValueError(f"read_idx: {path} ends within its header; delete it, and get it again")
    shape, dtype = tuple(np.frombuffer(content[4:end], ">u4").tolist()), np.dtype(_TYPES[start[2]])
    expected = end + math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        held = f"more than {MOST}" if len(content) > MOST else len(content)
        raise ValueError(f"read_idx: {path} holds {held} bytes, but its header (shape {shape}, {dtype.name}) makes it "
                         f"{expected}; delete it, and get it again")
    try:
        return np.frombuffer(content, dtype, offset=end).reshape(shape).astype(dtype.newbyteorder("="))
    except ValueError as error:  # too many axes, or too long ones beside one of length 0
        raise ValueError(f"read_idx: {path} cannot be read: NumPy has no arrays of shape {shape} ({error})") from None
