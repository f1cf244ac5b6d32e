"""Damaged and hostile files: every reader returns exactly the file's contents, or raises a ValueError that names it.

Files are mutated at random, the same way in every run: bits flipped, pieces cut out, doubled, swapped, overwritten, and
numbers of the header replaced by extreme ones. In each case memory stays small and a failed read changes nothing.
TINYGRAD_LIKE_MUTATIONS is the number of mutations for each reader.

If a format has a checksum, no mutation may give other contents. IDX, unpacked CIFAR-10 records and other programs'
weights have none, so a mutated file may be another valid file. Its contents must then equal those that an independent
reader in this file finds.
"""

import gzip
import io
import json
import os
import re
import struct
import tarfile
import time
import tracemalloc
import zlib
from collections import Counter

import numpy as np
import pytest

import nn
import optim
import tinygrad_like
from tests.data.test_idx import idx_bytes
from tinygrad_like.data import load_cifar10, load_mnist, read_idx
from tinygrad_like.data.cifar import ARCHIVE, BATCHES
from tinygrad_like.data.mnist import MNIST_SHA256

pytest.importorskip("safetensors")

import safetensors.numpy

from tinygrad_like.training import (
    EarlyStopping,
    checkpoint,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    save_weights,
)

MUTATIONS = int(os.environ.get("TINYGRAD_LIKE_MUTATIONS", 300))
SECONDS = 1  # limit for reading one file, which usually takes milliseconds


# Mutations ----------------------------------------------------------------------------------------------------------

NUMBERS = [0, 1, 2, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
WORDS = [b"-1", b"0", b"NaN", b"nan", b"-Infinity", b"inf", b"1e999", b"null", b"true", b"[]", b"{}", b'""', b"BOOL",
         b"[" * 3000, b"[" * 400 + b"]" * 400, b"9" * 30, b"9" * 5000, b"4294967296", b"18446744073709551615",
         b'"\\ud800"', b"\0", b"\xff\xfe", b"../", b"'", b'"a" = 1\n', b'"__metadata__"', b"F64", b"BF16", b"I8"]


def flip(content, rng):
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    return bytes(content)


def cut_end(content, rng):
    return content[:rng.integers(len(content))]


def piece(content, rng):
    start = rng.integers(len(content))
    return start, start + rng.integers(1, rng.choice([2, 9, 100, len(content)]) + 1)


def cut(content, rng):
    start, stop = piece(content, rng)
    return content[:start] + content[stop:]


def insert(content, rng):
    at = rng.integers(len(content) + 1)
    new = rng.bytes(rng.integers(1, 20)) if rng.integers(2) else bytes(rng.integers(1, 5000))
    return content[:at] + new + content[at:]


def double(content, rng):
    start, stop = piece(content, rng)
    return content[:stop] + content[start:]


def swap(content, rng):
    a, b, c, d = sorted(rng.integers(0, len(content) + 1, 4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def number(content, rng):
    """Near the beginning, where headers are, or anywhere: a number of 1 to 8 bytes becomes another."""
    packed = struct.pack(rng.choice(["<", ">"]) + "Q", int(rng.choice(np.array(NUMBERS, dtype=np.uint64))))
    size = rng.choice([1, 2, 4, 8])
    packed = packed[-size:] if rng.integers(2) else packed[:size]
    at = rng.integers(min(len(content), rng.choice([16, 300, 10**9])))
    return content[:at] + packed + content[at + len(packed):]


def word(content, rng):
    """A number, a string or the like of a text becomes something else."""
    pieces = [m.span() for m in WORD.finditer(content[:5000])]
    start, stop = pieces[rng.integers(len(pieces))] if pieces else (0, 0)
    return content[:start] + WORDS[rng.integers(len(WORDS))] + content[stop:]


WORD = re.compile(rb'-?[0-9.]+|"[^"]*"|[A-Za-z_]+|[\[\]{}=,:]')
KINDS = [flip, cut_end, cut, insert, double, swap, number, word]


def mutated(content, rng):
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if content:
            content = KINDS[rng.integers(len(KINDS))](content, rng)
    return content


# Readers ------------------------------------------------------------------------------------------------------------
#
# Each is a function of a folder. It returns the path of a file to mutate, a function that reads it, and a function from
# bytes to the right contents, which are None for an invalid file. If a failed read must leave some state unchanged, two
# more functions follow: one resets the state, one returns it.


def equal(a, b):
    """Whether two trees of arrays and values are equal; NaN equals NaN."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return isinstance(b, list | tuple) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
    return type(a) is type(b) and (a == b or a != a)


def only(original):
    """Only the original contents are right, since the format has a checksum."""
    return lambda content: original


def idx_array(content):
    """An IDX file, read with struct alone."""
    formats = {8: "u1", 9: "i1", 11: "i2", 12: "i4", 13: "f4", 14: "f8"}
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in formats or len(content) < 4 + 4 * content[3]:
        return None
    shape = struct.unpack_from(f">{content[3]}I", content, 4)
    elements, count = content[4 + 4 * len(shape):], 1
    for n in shape:
        count *= n
    if len(elements) != count * int(formats[content[2]][1]) or len(shape) > 64:
        return None
    dtype = np.dtype(formats[content[2]])
    return np.frombuffer(elements, dtype.newbyteorder(">")).astype(dtype).reshape(shape)


def idx(folder):
    path = folder / "x"
    path.write_bytes(idx_bytes(np.random.default_rng(1).integers(0, 256, (4, 7, 5), np.uint8)))
    return path, lambda: read_idx(path), idx_array


def idx_gz(folder):
    path, read, _ = idx(folder)
    original = read()
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return path, read, only(original)


def mnist(folder, which):
    rng = np.random.default_rng(2)
    arrays = [rng.integers(0, 10, shape, np.uint8) for shape in [(5, 6, 4), (5,), (2, 6, 4), (2,)]]
    names = [name.removesuffix(".gz") for name in MNIST_SHA256]
    for name, array in zip(names, arrays, strict=True):
        (folder / name).write_bytes(idx_bytes(array))

    def right(content):
        found = idx_array(content)
        if found is None or found.dtype != np.uint8 or found.ndim != arrays[which].ndim:
            return None
        if len(found) != len(arrays[which]) or (which == 0 and found.shape[1:] != (6, 4)):
            return None
        now = [*arrays[:which], found, *arrays[which + 1:]]
        return [a[:, None].astype(np.float32) / np.float32(255) if a.ndim == 3 else a.astype(np.int64) for a in now]

    return folder / names[which], lambda: list(load_mnist(folder, download=False)), right


def cifar(folder, packed=False):
    rng = np.random.default_rng(3)
    files = {name: rng.integers(0, 10, (2, 3073), np.uint8) for name in BATCHES}
    if packed:
        with tarfile.open(folder / ARCHIVE, "w:gz") as tar:
            for name, records in files.items():
                member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
                member.size = records.size
                tar.addfile(member, io.BytesIO(records.tobytes()))
    else:
        for name, records in files.items():
            (folder / name).write_bytes(records.tobytes())

    def read():
        return list(load_cifar10(folder, download=False))

    def right(content):
        records = np.frombuffer(content[:len(content) // 3073 * 3073], np.uint8).reshape(-1, 3073)
        if not content or len(content) % 3073 or (records[:, 0] > 9).any():
            return None
        training = np.concatenate([records if name == BATCHES[1] else files[name] for name in BATCHES[:-1]])
        return [part for r in (training, files[BATCHES[-1]]) for part in
                (r[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / np.float32(255), r[:, 0].astype(np.int64))]

    return (folder / ARCHIVE, read, only(read())) if packed else (folder / BATCHES[1], read, right)


def values(module):
    return {name: t.numpy().copy() for name, t in module.state_dict().items()}


def weights(folder, ours=True):
    path, model = folder / "w", nn.MLP([3, 4, 2])
    original, start = values(model), values(nn.MLP([3, 4, 2]))
    if ours:
        save_weights(model, path, {"classes": "2"})
    else:
        path.write_bytes(safetensors.numpy.save(original, {"format": "pt"}))

    def read():
        load_weights(model, path)
        return values(model)

    def right(content):
        try:
            found = safetensors.numpy.load(content)
        except Exception:
            return None
        fits = found.keys() == start.keys() and all(found[name].shape == start[name].shape for name in start)
        with np.errstate(all="ignore"):
            return {name: found[name].astype(np.float32) for name in start} if fits else None

    return path, read, only(original) if ours else right, lambda: model.load_state_dict(start), lambda: values(model)


def parts(seed):
    """All that a checkpoint can hold, after a step; the seed also sets the package's generator."""
    tinygrad_like.manual_seed(seed)
    model = nn.MLP([3, 4, 2])
    plateau = optim.schedule.ReduceOnPlateau(0.1, patience=0)
    made = dict(model=model, optimizer=optim.AdamW(model.parameters(), lr=plateau), ema=optim.EMA(model),
                stopper=EarlyStopping(model, patience=3), plateau=plateau, other=np.random.default_rng(seed))
    (model(tinygrad_like.Tensor.randn(2, 3)) ** 2).sum().backward()
    made["optimizer"].step()
    made["ema"].update()
    made["stopper"].update(1.0)
    plateau.update(1.0)
    return made


def state(made):
    """The contents of a checkpoint of the parts."""
    arrays, tree = checkpoint.encoded("state", {name: checkpoint._state(part) for name, part in made.items()})
    return json.dumps([tree, tinygrad_like.get_rng_state()]), {name: a.copy() for name, a in arrays.items()}


def whole_checkpoint(folder):
    path, saved = folder / "c", parts(1)
    save_checkpoint(path, **saved, rows=[{"loss": float("nan"), "note": None}])
    original = [state(saved), {"rows": [{"loss": float("nan"), "note": None}]}]
    made = parts(2)
    save_checkpoint(folder / "start", **made)

    def read():
        rest = load_checkpoint(path, **made)
        return [state(made), rest]

    return path, read, only(original), lambda: load_checkpoint(folder / "start", **made), lambda: state(made)


def signed_tree(folder):
    """The JSON of a checkpoint, mutated, with a right checksum: any value may be intended."""
    path, (_, read, _, *outside) = folder / "tree", whole_checkpoint(folder)
    arrays, metadata = checkpoint.read("", folder / "c")
    path.write_text(metadata["tree"])

    def read_signed():
        tree = path.read_bytes().decode("utf-8", "replace").replace("\ud800", "?")
        checkpoint.write("", folder / "c", arrays, {"format": checkpoint.FORMAT, "tree": tree})
        return read()

    return path, read_signed, None, *outside


READERS = {
    "idx": idx, "idx.gz": idx_gz, "mnist images": lambda folder: mnist(folder, 0),
    "mnist labels": lambda folder: mnist(folder, 1), "cifar": cifar, "cifar.tar.gz": lambda folder: cifar(folder, True),
    "weights": weights, "weights of PyTorch": lambda folder: weights(folder, ours=False),
    "checkpoint": whole_checkpoint, "signed tree": signed_tree,
}


@pytest.mark.parametrize("name", READERS)
def test_a_mutated_file_is_read_correctly_or_refused(tmp_path, capsys, name):
    path, read, right, *outside = READERS[name](tmp_path)
    reset, look = outside or [lambda: None] * 2
    content, rng, counts = path.read_bytes(), np.random.default_rng(zlib.crc32(name.encode())), Counter()
    original = read()
    assert right is None or equal(original, right(content))
    for _ in range(MUTATIONS):
        now = mutated(content, rng)
        path.write_bytes(now)
        for _ in range(3):  # other code may allocate meanwhile, but not each time
            reset()
            before, error = look(), None
            tracemalloc.start()
            start = time.process_time()
            try:
                found = read()
            except ValueError as caught:
                error = caught
            seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            if little := seconds < SECONDS and peak < 4e6 + 30 * max(len(content), len(now)):
                break
        assert little, (seconds, peak)
        capsys.readouterr()
        if error is not None:
            assert str(tmp_path) in str(error), error
            assert equal(look(), before)
            counts["refused"] += 1
        elif equal(found, original):
            counts["the same"] += 1
        else:
            assert right is None or equal(found, right(now))
            counts["another that is valid"] += 1
    with capsys.disabled():
        if "TINYGRAD_LIKE_MUTATIONS" in os.environ:
            print(f"\n{name}: {dict(counts)}")
    assert counts["refused"] > MUTATIONS / 10
