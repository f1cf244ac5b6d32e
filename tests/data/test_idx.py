"""The IDX format."""

import gzip
import struct

import numpy as np
import pytest

from tinygrad_like.data import mnist as module
from tinygrad_like.data import read_idx


def idx_bytes(array, code=0x08):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("code, dtype", [(8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")])
def test_every_idx_type_is_read(tmp_path, code, dtype):
    array = np.arange(-3, 9).reshape(3, 2, 2).astype(dtype)
    (tmp_path / "x").write_bytes(idx_bytes(array, code))
    read = read_idx(tmp_path / "x")
    assert read.dtype == np.dtype(dtype) and read.dtype.isnative
    assert np.array_equal(read, array)


@pytest.mark.parametrize("content, message", [
    (b"", "begins with nothing"),
    (b"\x89PNG and so on", "begins with 89 50 4e 47"),
    (b"\0\0\x07\x01\0\0\0\0", "not an IDX file"),
    (idx_bytes(np.zeros((3, 2), np.uint8))[:-1], r"17 bytes, but its header \(shape \(3, 2\), uint8\) needs 18"),
    (idx_bytes(np.zeros((3, 2), np.uint8)) + b"\0", r"19 bytes, but its header .* needs 18"),
    (b"\0\0\x08\x03\0\0\0\x01\0\0", "ends within its header"),
    (gzip.compress(idx_bytes(np.zeros((3, 2), np.uint8)), mtime=0)[:-9], "damaged gzip"),
    (gzip.compress(idx_bytes(np.zeros((3, 2), np.uint8)), mtime=0)[:-8] + b"?" * 8, "damaged gzip.*CRC"),
    (gzip.compress(idx_bytes(np.zeros((3, 2), np.uint8)) + b"\0", mtime=0), "holds 19 bytes"),
    (gzip.compress(idx_bytes(np.zeros((3, 2), np.uint8))[:-1], mtime=0), "holds 17 bytes"),
    (b"\0\0\x08\x41" + 65 * b"\0\0\0\x01" + b"x", "NumPy cannot hold shape"),
    (b"\0\0\x08\x04" + bytes(4) + 3 * b"\xff\xff\xff\xff", "NumPy cannot hold shape"),
])
def test_damaged_idx_is_refused(tmp_path, content, message):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_idx(tmp_path / "x")


def test_the_size_of_a_file_is_limited(tmp_path, monkeypatch):
    """Some kilobytes may unpack to gigabytes, whatever the header says."""
    monkeypatch.setattr(module, "MOST", 1000)
    for size, fits in (992, True), (993, False), (10**6, False):
        (tmp_path / "x").write_bytes(gzip.compress(idx_bytes(np.zeros(size, np.uint8))))
        if fits:
            assert read_idx(tmp_path / "x").shape == (size,)
        else:
            with pytest.raises(ValueError, match=f"holds more than 1000 bytes, but its header .* needs {size + 8}"):
                read_idx(tmp_path / "x")
