"""The IDX format."""

import gzip
import struct

import numpy as np
import pytest

from tinygrad_like.data import read_idx


def idx_bytes(array, code=0x08):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("code, dtype", [(8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")])
def test_idx_types_round_trip(tmp_path, code, dtype):
    array = np.arange(-3, 9).reshape(3, 2, 2).astype(dtype)
    (tmp_path / "x").write_bytes(idx_bytes(array, code))
    read = read_idx(tmp_path / "x")
    assert read.dtype == np.dtype(dtype) and read.dtype.isnative
    assert np.array_equal(read, array)


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
