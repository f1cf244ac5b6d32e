"""Safetensors files: the library reads ours, and we read its files, or refuse them as it does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nn
from tinygrad_like.training import load_weights
from tinygrad_like.training.safetensors import DTYPES, parsed, serialized

DATA = np.arange(6, dtype=np.float32).tobytes()
GOOD = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "U8", "shape": [4, 4], "data_offsets": [8, 24]}}
ROOT = Path(__file__).parents[2]


def packed(header, data=DATA):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def read(content):
    return parsed("load_weights", "w", content)


def changed(name="a", **entry):
    return {**GOOD, name: {**GOOD[name], **entry}}


@pytest.mark.parametrize("code", [code for code in DTYPES if code != "BF16"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3), (2, 3, 4)])
def test_every_dtype_is_restored(code, shape):
    rng = np.random.default_rng(0)
    array = rng.integers(0, 2, shape).astype(DTYPES[code])
    content = b"".join(serialized("save", {"x": array, "between": np.int8([1])}, {"key": "value"}))
    stop = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:stop])
    assert stop % 8 == 0 and stop < 8 + len(json.dumps(header))  # aligned, with little padding
    assert list(header)[1:] == (["x", "between"] if array.itemsize > 1 else ["between", "x"])  # widest first
    arrays, metadata = read(content)
    assert arrays["x"].dtype == array.dtype and arrays["x"].shape == shape and np.array_equal(arrays["x"], array)
    assert arrays["x"].flags.writeable and metadata["key"] == "value"
    library = pytest.importorskip("safetensors.numpy").load(content)
    assert library["x"].dtype == array.dtype and np.array_equal(library["x"], array)


def test_arrays_may_come_in_any_order():
    arrays, metadata = read(packed(dict(reversed(GOOD.items()))))
    assert arrays["a"].tolist() == [0, 1] and arrays["b"].tobytes() == DATA[8:] and metadata == {}
    assert arrays["a"].flags.aligned and read(packed(GOOD, bytes(24)))[0]["a"].tolist() == [0, 0]
    assert read(packed({})[:10]) == ({}, {})


WRONG = {
    "nothing": (b"", "0 bytes"), "a short length": (b"\2\0\0", "3 bytes"),
    "a header that is cut": (packed(GOOD)[:40], "its header should end after"),
    "a length beyond all": (b"\xff" * 8 + b"{}", "its header should end after 18446744073709551623"),
    "no JSON": (packed(b"[1,"), "Expecting value"),
    "deep": (packed(b"[" * 100_000), "recursion"), "a list": (packed(b"[1]"), ""),
    "a name twice": (packed(b'{"a": %b, "a": %b}' % (*(json.dumps(e).encode() for e in GOOD.values()),)),
                     "a has shape .4, 4. .* ends at 0"),
    "metadata of numbers": (packed({**GOOD, "__metadata__": {"a": 1}}), "metadata is not a dict of strings"),
    "metadata that are a list": (packed({**GOOD, "__metadata__": [["a", "b"]]}), ""),
    "no entry": (packed({"a": 3}), "not subscriptable"),
    "an unknown dtype": (packed(changed(dtype="F31")), "a has dtype F31"),
    "a negative size": (packed(changed(shape=[-2, -1])), "a has shape"),
    "another size": (packed(changed(shape=[3])), r"a has shape \[3\] of F32 at bytes 0 to 8"),
    "a size that overflows": (packed(changed(shape=[2**32, 2**32, 2])), "of F32 at bytes 0 to 8"),
    "a place that ends before it begins": (packed(changed("b", data_offsets=[24, 8])), "b has shape"),
    "a place beyond the end": (packed(changed("b", data_offsets=[8, 25])), "at bytes 8 to 25"),
    "a dtype that NumPy lacks": (packed(changed(dtype="F8_E4M3")), "a has dtype F8_E4M3"),
    "65 axes": (packed({"a": {"dtype": "U8", "shape": [1] * 65, "data_offsets": [0, 1]}}, b"1"), "maximum supported"),
    "two that overlap": (packed(changed("b", shape=[20], data_offsets=[4, 24])), "at bytes 4 to 24"),
    "a gap": (packed(changed("b", shape=[12], data_offsets=[12, 24])), "at bytes 12 to 24"),
    "more at the end": (packed(GOOD, DATA + b"\0"), "its arrays end at byte 24, but it has 25"),
    "less at the end": (packed(GOOD, DATA[:-1]), "too small"),
    "a bool of 2": (packed({"a": {"dtype": "BOOL", "shape": [24], "data_offsets": [0, 24]}}), "neither 0 nor 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_damaged_files_are_refused_with_the_reason(tmp_path, name):
    content, message = WRONG[name]
    with pytest.raises(ValueError, match=f"^load_weights: w is damaged, or not a safetensors file: .*{message}"):
        read(content)
    library = pytest.importorskip("safetensors")
    if name not in ("a bool of 2", "a name twice", "65 axes", "a dtype that NumPy lacks"):
        with pytest.raises((library.SafetensorError, ValueError)):
            library.deserialize(content)
    (tmp_path / "w").write_bytes(content)
    with pytest.raises(ValueError, match=f"^load_weights: {tmp_path}/w is damaged"):
        load_weights(nn.Linear(1, 1), tmp_path / "w")


def test_an_array_cannot_have_the_metadatas_name():
    with pytest.raises(ValueError, match="save: an array cannot have the name __metadata__"):
        serialized("save", {"__metadata__": np.zeros(1)}, {})


def test_files_are_read_and_written_without_the_library(tmp_path):
    """A plain installation has NumPy and numba."""
    code = """
import sys
sys.modules["safetensors"] = None
import tinygrad_like, nn
from tinygrad_like.training import load_checkpoint, load_weights, read_metadata, save_checkpoint, save_weights
model, other = nn.Linear(3, 2), nn.Linear(3, 2)
save_weights(model, "w", {"a": "b"})
assert load_weights(other, "w") == ([], []) and (model.weight == other.weight).all()
assert read_metadata("w") == {"a": "b"}
save_checkpoint("c", model=model, epoch=3)
assert load_checkpoint("c", model=other) == {"epoch": 3}
tinygrad_like.save(model.state_dict(), "s")
assert tinygrad_like.load("s").keys() == {"weight", "bias"}
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
