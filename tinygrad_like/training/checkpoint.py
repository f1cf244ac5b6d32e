"""Weights and checkpoints as safetensors files: arrays by name, and JSON for the rest. Nothing in them is executed.

A file is written under another name and then renamed, so that at any moment, even in a power failure, either the old
file or the new one is there. It contains a SHA-256 of its contents, which reading checks. The same contents give the
same file, byte by byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nn import Module
from nn.state import Keys

from .. import Tensor, distributed, get_rng_state
from ..data.download import folder_lock
from ..dtypes import bfloat16
from ..random import generator, prepare_rng_state

FORMAT = "tinygrad_like checkpoint 1"
WRITER = "tinygrad_like"  # of weights: a damaged header must not make them look like another program's, unchecked
OURS = "sha256", "writer"
GENERATOR = "package generator"  # cannot be the name of a part, which is an identifier
DTYPES = {"BOOL": "?", "U8": "u1", "I8": "<i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
          "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8"}
CODES = {np.dtype(text): code for code, text in DTYPES.items()}

# Weights --------------------------------------------------------------------------------------------------------------


def save_weights(module: Module, path: str | os.PathLike, metadata: Mapping[str, str] | None = None) -> None:
    """Write the state_dict of `module` to a safetensors file under the names PyTorch uses: PyTorch can load it.

    metadata: strings by name, which `read_metadata` returns; the names "sha256" and "writer" are taken.

    In an MPI job only rank 0 writes it. Raises OSError if it cannot be written; an existing file is then unharmed.
    """
    metadata = dict(metadata or {})
    for name, text in metadata.items():
        if not isinstance(name, str) or not isinstance(text, str) or name in OURS:
            raise TypeError(f"save_weights: metadata {name!r}: {text!r} must be a string, its name a string other than "
                            f"{' and '.join(OURS)}")
    arrays = {name: t.data for name, t in module.state_dict().items()}
    write("save_weights", Path(path), arrays, {**metadata, "writer": WRITER})


def load_weights(module: Module, path: str | os.PathLike, strict: bool = True) -> Keys:
    """Read a safetensors file, written here or by PyTorch, into `module`, by name; see Module.load_state_dict.

    Raises FileNotFoundError, and ValueError if the file is damaged or does not fit; the module is then unchanged.
    """
    arrays = read_arrays("load_weights", Path(path))
    try:
        return module.load_state_dict(arrays, strict)
    except ValueError as error:
        raise ValueError(f"load_weights: {path}: {error}") from None


def read_arrays(who: str, path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file, by name, read for `who`."""
    return read(who, path)[0]


def read_metadata(path: str | os.PathLike) -> dict[str, str]:
    """The strings that `save_weights` was given. Raises as `load_weights` does."""
    return {name: text for name, text in read("read_metadata", Path(path))[1].items() if name not in OURS}


# Checkpoints ----------------------------------------------------------------------------------------------------------


def save_checkpoint(path: str | os.PathLike, **parts: Any) -> None:
    """Write everything a run needs to go on exactly as without an interruption.

        save_checkpoint("run.ckpt", model=model, optimizer=optimizer, ema=ema, epoch=3)

    parts: each is an object with a state_dict, a NumPy Generator, or a value made of numbers, strings, None, arrays,
    lists and dicts. The state of the package's own generator is always saved. An existing file becomes
    `previous(path)`. In an MPI job only rank 0 writes it.

    Raises TypeError for anything else, and OSError if the file cannot be written; existing files are then unharmed.
    """
    path = Path(path)
    arrays: dict[str, np.ndarray] = {}
    try:
        tree = {name: _encoded(name, _state(part), arrays) for name, part in parts.items()}
    except RecursionError:
        raise ValueError("save_checkpoint: a value is nested too deep, or contains itself") from None
    tree[GENERATOR] = _encoded(GENERATOR, dict(get_rng_state()), arrays)
    write("save_checkpoint", path, arrays, {"format": FORMAT, "tree": json.dumps(tree)}, backup=previous(path))


def load_checkpoint(path: str | os.PathLike, **parts: Any) -> dict[str, Any]:
    """Restore the given objects, and the package's generator, from a checkpoint; return all other saved values by name.

        epoch = load_checkpoint("run.ckpt", model=model, optimizer=optimizer, ema=ema)["epoch"]

    Raises FileNotFoundError, and ValueError if the file is damaged, is not a checkpoint, lacks one of the parts, or has
    one that does not fit. Then nothing is changed, provided that objects of your own have `prepare_load`, which checks
    a state and returns the function that loads it. To go on from the checkpoint before, load `previous(path)`.
    """
    return restore(Path(path), read_checkpoint(Path(path)), **parts)


def restore(path: Path, tree: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """What `load_checkpoint` does with what it has read."""
    for name in parts:
        if name not in tree:
            raise ValueError(f"load_checkpoint: {path} has no {name!r}, only {', '.join(tree)}")
    parts = {**parts, GENERATOR: generator}
    names = sorted(parts, key=lambda name: _checks(parts[name]))  # those that may still raise first
    for load in [_prepared(path, name, parts[name], tree.pop(name)) for name in names]:
        load()
    return tree


def _checks(part: Any) -> bool:
    return isinstance(part, np.random.Generator) or hasattr(part, "prepare_load")


def _prepared(path: Path, name: str, part: Any, state: Any) -> Callable[[], Any]:
    """The function that loads a part. If the part can check its state, the state fits."""
    try:
        if isinstance(part, np.random.Generator):
            return prepare_rng_state(state, part)
        return part.prepare_load(state) if _checks(part) else lambda: part.load_state_dict(state)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = error if isinstance(error, ValueError) else f"it raises {error!r}"
        raise ValueError(f"load_checkpoint: {path} does not fit {name!r}, and nothing was loaded: {why}") from None


def previous(path: str | os.PathLike) -> Path:
    """Where `save_checkpoint` keeps the checkpoint before the latest: run.ckpt -> run.ckpt.previous."""
    path = Path(path)
    return path.with_name(path.name + ".previous")


def _state(part: Any) -> Any:
    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    return part.state_dict() if hasattr(part, "state_dict") else part


def _encoded(name: str, node: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The JSON of a value; arrays go to `arrays`, and their names into the JSON."""
    if isinstance(node, np.generic):
        node = node.item()
    if isinstance(node, Tensor | np.ndarray):
        if name in arrays:
            raise ValueError(f"save_checkpoint: two arrays would have the name {name}")
        arrays[name] = node.data if isinstance(node, Tensor) else node
        return {"array": name}
    if isinstance(node, Mapping):
        entries = {str(key): _encoded(f"{name}/{key}", value, arrays) for key, value in node.items()}
        if len(entries) < len(node):
            raise ValueError(f"save_checkpoint: {name} has keys that are equal as strings: {list(node)}")
        return {"dict": entries}
    if isinstance(node, list | tuple):
        return [_encoded(f"{name}/{i}", value, arrays) for i, value in enumerate(node)]
    if node is None or isinstance(node, bool | int | float | str):
        return node
    raise TypeError(f"save_checkpoint: {name} is a {type(node).__name__}; a checkpoint holds objects with a "
                    "state_dict, NumPy Generators, arrays, numbers, strings, None, and lists and dicts of these")


def read_checkpoint(path: Path) -> dict[str, Any]:
    """All that a checkpoint holds, by name; nothing is restored."""
    arrays, metadata = read("load_checkpoint", path)
    if metadata.get("format") != FORMAT:
        raise ValueError(f"load_checkpoint: {path} has weights but is not a checkpoint; use load_weights")
    try:
        tree = _decoded({"dict": json.loads(metadata["tree"])}, arrays)
        if not isinstance(tree[GENERATOR], dict):
            raise ValueError("the generator's state is not a dict")
    except (KeyError, RecursionError, ValueError) as error:
        raise ValueError(f"load_checkpoint: {path} is damaged, or written by another program: its tree of values "
                         f"makes no sense ({type(error).__name__}: {error}){_advice(path)}") from None
    return tree


def _decoded(node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    match node:
        case list():
            return [_decoded(value, arrays) for value in node]
        case {"array": str(name)}:
            return arrays[name]
        case {"dict": dict(entries)}:
            return {key: _decoded(value, arrays) for key, value in entries.items()}
        case dict():
            raise ValueError(f"{list(node)} is neither an array nor a dict")
    return node


# Files ----------------------------------------------------------------------------------------------------------------


def write(who: str, path: Path, arrays: Mapping[str, np.ndarray], metadata: dict[str, str],
           backup: Path | None = None) -> None:
    """Write a safetensors file, whole or not at all; in an MPI job by rank 0 only."""
    if distributed.rank:
        return
    parts = serialized(who, arrays, metadata)
    fresh, old = path.with_name(path.name + ".new"), path.with_name(path.name + ".old")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with folder_lock(path.parent):
            try:
                with fresh.open("wb") as file:
                    file.writelines(parts)
                    file.flush()
                    os.fsync(file.fileno())  # the rename must not reach the disk before the contents
                # The old file gets a second name before the new one replaces it: one of the two is always whole.
                if backup is not None and path.exists():
                    old.unlink(missing_ok=True)
                    try:
                        os.link(path, old)
                    except OSError:  # a file system without links
                        shutil.copyfile(path, old)
                os.replace(fresh, path)
            except BaseException:
                fresh.unlink(missing_ok=True)
                raise
            if backup is not None and old.exists():
                os.replace(old, backup)
            _sync_folder(path.parent)
    except OSError as error:
        raise OSError(error.errno, f"{who}: {path} could not be written ({error.strerror or error}); what was there "
                                   "before is unharmed") from None


def serialized(who: str, arrays: Mapping[str, np.ndarray], metadata: dict[str, str]) -> list[bytes | memoryview]:
    """The parts of a safetensors file that states the SHA-256 of its contents. Raises TypeError for other dtypes."""
    arrays = {name: np.asarray(a, a.dtype.newbyteorder("<"), order="C") for name, a in arrays.items()}
    for name, a in arrays.items():
        if _code(a.dtype) is None:
            raise TypeError(f"{who}: {name} is an array of {a.dtype}; a file holds arrays of bools, integers, "
                            "bfloat16, and float16, 32 or 64")
    return [*_parts(arrays, {**metadata, "sha256": _digest(arrays, metadata)})]


def _parts(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """The parts of a safetensors file: the length of its header, the header in JSON, and the arrays, widest first.

    The safetensors library itself writes the metadata in another order each time.
    """
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    ordered, end = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])), 0
    for name, a in ordered:
        header[name] = {"dtype": _code(a.dtype), "shape": a.shape, "data_offsets": [end, end := end + a.nbytes]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for _, a in ordered:
        yield a.reshape(-1).view(np.uint8).data


def _code(dtype: np.dtype) -> str | None:
    return "BF16" if dtype.name == "bfloat16" else CODES.get(dtype)


def _sync_folder(folder: Path) -> None:
    """Make renames durable: a folder is a file too. (Windows cannot open one, and does not need this.)"""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read(who: str, path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the metadata of a safetensors file."""
    _safetensors()
    if not path.is_file():
        raise FileNotFoundError(f"{who}: there is no file {str(path)!r}")
    return parsed(who, str(path), path.read_bytes(), _advice(path))


def parsed(who: str, path: str, content: bytes, advice: str = "") -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the metadata of the contents of a safetensors file."""
    if content[:4] == b"PK\3\4":
        raise ValueError(f"{who}: {path} is a file of torch.save, a pickle, which may execute anything when read; "
                         "write it again in PyTorch with safetensors.torch.save_file(state_dict, path)")
    safetensors = _safetensors()
    try:
        entries = safetensors.deserialize(content)
    except safetensors.SafetensorError as error:
        raise ValueError(f"{who}: {path} is damaged, or not a safetensors file ({error}){advice}") from None
    header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])  # 8 bytes of length, JSON, the arrays
    metadata = header.get("__metadata__") or {}
    arrays = {}
    for name, entry in entries:
        try:
            arrays[name] = _array(**entry)
        except ValueError as error:
            raise ValueError(f"{who}: {name} in {path} cannot be read: {error}") from None
    if "sha256" in metadata:  # PyTorch's files have no checksum
        rest = {name: text for name, text in metadata.items() if name != "sha256"}
        if _digest(arrays, rest) != metadata["sha256"]:
            raise ValueError(f"{who}: {path} is damaged: its contents do not have the SHA-256 it states{advice}")
    elif metadata.get("format") == FORMAT or metadata.get("writer") == WRITER:
        raise ValueError(f"{who}: {path} is damaged: its SHA-256 is missing{advice}")
    return {name: _from_bfloat16(a) if a.dtype.kind == "V" else a for name, a in arrays.items()}, metadata


def _advice(path: Path) -> str:
    backup = previous(path)
    return f"; the checkpoint before it is {backup}" if backup.exists() else ""


def _array(dtype: str, shape: list[int], data: bytearray) -> np.ndarray:
    if dtype == "BF16":
        return np.frombuffer(data, "V2").reshape(shape)
    if dtype not in DTYPES:
        raise ValueError(f"its numbers are {dtype}, which NumPy does not have; save them as F32")
    return np.frombuffer(data, DTYPES[dtype]).reshape(shape)


def _from_bfloat16(bits: np.ndarray) -> np.ndarray:
    """As bfloat16; or without the package that has it as float32, of which it is the upper half."""
    try:
        return bits.view(bfloat16())
    except ImportError:
        return (bits.view("<u2").astype(np.uint32) << 16).view(np.float32)


def _digest(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    """SHA-256 of all names, dtypes, shapes and values, sorted by name, since safetensors reorders the arrays."""
    sha = hashlib.sha256(json.dumps(sorted(metadata.items())).encode())
    for name in sorted(arrays):
        a = arrays[name]
        sha.update(json.dumps([name, "BF16" if a.dtype.kind == "V" else a.dtype.str, a.shape]).encode())
        sha.update(a.reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError("weight files need safetensors: pip install 'tinygrad-like[checkpoints]'") from None
    return safetensors
