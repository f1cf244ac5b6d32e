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
            raise ValueError(f"read_idx: {path} is a damaged gzip file ({error}); delete it, and get it "
                             "again") from None
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _TYPES:
        raise ValueError(f"read_idx: {path} is no IDX file: it begins with {content[:4].hex(' ') or 'nothing'}, not "
                         "with 00 00, an element type (08, 09, 0b, 0c, 0d or 0e) and the number of axes")
    start = 4 + 4 * content[3]
    shape = tuple(int(n) for n in np.frombuffer(content[4:start].ljust(start - 4, b"\0"), ">u4"))
    dtype = np.dtype(_TYPES[content[2]])
    expected = start + math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise ValueError(f"read_idx: {path} holds {len(content)} bytes, but its header (shape {shape}, {dtype.name}) "
                         f"makes it {expected}; delete it, and get it again")
    return np.frombuffer(content, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))
