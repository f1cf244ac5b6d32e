"""Safetensors files: 8 bytes for the header's length, the header in JSON, and the arrays' data.

The header holds each array's dtype, shape and position, and strings under "__metadata__". Equal contents give equal
files, byte by byte. Our files hold a SHA-256 of their contents, which reading verifies. A file is written under another
name and then renamed, so at any moment, even in a power failure, either the old file or the new one exists. Format:
https://github.com/huggingface/safetensors
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import distributed
from ..core.tensor import Tensor
from ..dtypes import bfloat16
from ..environment import locked

WRITER = "tinygrad_like"  # marks our files, so damage cannot pass one off as another program's, which has no checksum
DTYPES = {"BOOL": "?", "U8": "u1", "I8": "<i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
          "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "V2"}
CODES = {np.dtype(text): code for code, text in DTYPES.items()}

# Writing ------------------------------------------------------------------------------------------------------------


def serialized(who: str, arrays: Mapping[str, np.ndarray], metadata: dict[str, str]) -> list[bytes | memoryview]:
    """The parts of a file: the length of the header, the header, and the arrays, widest first.

    (The safetensors library writes the metadata in a different order each time.) Raises TypeError for other dtypes.
    """
    arrays = {name: np.asarray(a, a.dtype.newbyteorder("<"), order="C") for name, a in arrays.items()}
    for name, a in arrays.items():
        if name == "__metadata__":
            raise ValueError(f"{who}: an array cannot have the name {name}")
        if _code(a.dtype) is None:
            raise TypeError(f"{who}: {name} is an array of {a.dtype}; a file holds arrays of bools, integers, "
                            "bfloat16, and float16, 32 or 64")
    metadata = {**metadata, "sha256": _digest(arrays, metadata)}
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    ordered, end = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])), 0
    for name, a in ordered:
        header[name] = {"dtype": _code(a.dtype), "shape": a.shape, "data_offsets": [end, end := end + a.nbytes]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *[a.reshape(-1).view(np.uint8).data for _, a in ordered]]


def _code(dtype: np.dtype) -> str | None:
    return "BF16" if dtype.name == "bfloat16" else CODES.get(dtype) if dtype.kind != "V" else None


# Reading ------------------------------------------------------------------------------------------------------------


def parsed(who: str, path: str, content: bytes, advice: str = "") -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the metadata of the contents of a file. Raises ValueError, naming `who` and `path`."""
    if content[:4] == b"PK\3\4":
        raise ValueError(f"{who}: {path} is a torch.save file, a pickle, which may execute code when read; "
                         "write it again in PyTorch with safetensors.torch.save_file(state_dict, path)")
    try:
        stop = 8 + int.from_bytes(content[:8], "little")
        if len(content) < max(stop, 10):
            raise ValueError(f"it has {len(content)} bytes, but its header should end after {max(stop, 10)}")
        header = json.loads(content[8:stop].decode())
        metadata = header.pop("__metadata__", None) or {}
        if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
            raise ValueError("its metadata is not a dict of strings")
        arrays = _arrays(header, memoryview(content)[stop:])
    except (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{who}: {path} is damaged, or not a safetensors file: {why}{advice}") from None
    ours = str(metadata.get("format")).startswith(WRITER) or metadata.get("writer") == WRITER
    stated = metadata.get("sha256")  # PyTorch's files have no checksum
    if ours and stated is None:
        raise ValueError(f"{who}: {path} is damaged: its SHA-256 is missing{advice}")
    if stated is not None and stated != _digest(arrays, {k: v for k, v in metadata.items() if k != "sha256"}):
        raise ValueError(f"{who}: {path} is damaged: its contents do not match its SHA-256{advice}")
    return {name: _from_bfloat16(a) if a.dtype.kind == "V" else a for name, a in arrays.items()}, metadata


def _arrays(header: Mapping[str, Any], data: memoryview) -> dict[str, np.ndarray]:
    """The arrays, which must fill `data` without gaps."""
    arrays, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        code, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
        if code not in DTYPES:
            raise ValueError(f"{name} has dtype {code}, which NumPy does not support; save it as F32")
        size = math.prod(shape) * np.dtype(DTYPES[code]).itemsize
        if not all(type(n) is int and n >= 0 for n in (*shape, start, stop)) or (start, stop) != (end, end + size):
            raise ValueError(f"{name} has shape {shape} of {code} at bytes {start} to {stop}, but the array "
                             f"before it ends at {end}")
        arrays[name], end = np.ndarray(tuple(shape), DTYPES[code], data[start:stop]).copy(), stop
        if code == "BOOL" and (arrays[name].view("u1") > 1).any():
            raise ValueError(f"{name} has bools that are neither 0 nor 1")
    if end != len(data):
        raise ValueError(f"its arrays end at byte {end}, but it has {len(data)}")
    return arrays


def _from_bfloat16(bits: np.ndarray) -> np.ndarray:
    """As bfloat16, or, without ml_dtypes, as float32, of which it is the upper half."""
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


# Values as arrays and a tree -----------------------------------------------------------------------------------------


def encoded(who: str, value: Any) -> tuple[dict[str, np.ndarray], str]:
    """A value as arrays by name and a JSON tree, in which a dict of one entry, the kind, encodes what JSON lacks.

    Raises TypeError for anything but Tensors, arrays, numbers, strings, None, and lists, tuples and dicts of these.
    """
    arrays: dict[str, np.ndarray] = {}
    try:
        return arrays, json.dumps(_encoded(who, "", value, arrays))
    except RecursionError:
        raise ValueError(f"{who}: the value is nested too deep, or contains itself") from None


def _encoded(who: str, name: str, node: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(node, np.generic):
        node = node.item()
    if isinstance(node, Tensor | np.ndarray):
        while name in arrays or name in ("", "__metadata__"):  # {"a": {"b": x}, "a/b": y}
            name += "_"
        arrays[name] = node._data if isinstance(node, Tensor) else node
        return {("leaf" if node.requires_grad else "tensor") if isinstance(node, Tensor) else "array": name}
    inside = f"{name}/" if name else ""
    if isinstance(node, Mapping):
        return {"dict": [[_encoded(who, f"{inside}key", key, arrays), _encoded(who, f"{inside}{key}", value, arrays)]
                         for key, value in node.items()]}
    if isinstance(node, list | tuple):
        values = [_encoded(who, f"{inside}{i}", value, arrays) for i, value in enumerate(node)]
        return values if isinstance(node, list) else {"tuple": values}
    if node is None or isinstance(node, bool | int | float | str):
        return node
    state = "; save its state_dict()" if hasattr(node, "state_dict") else ""
    raise TypeError(f"{who}: {name or 'the value'} is a {type(node).__name__}{state}; a file holds Tensors, arrays, "
                    "numbers, strings, None, and lists, tuples and dicts of these")


def decoded(tree: str, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value that `encoded` encoded. Raises KeyError, TypeError or ValueError for an invalid tree."""
    def value(node: dict) -> Any:
        match node:
            case {"tensor": str(name)}:
                return Tensor(arrays[name])
            case {"leaf": str(name)}:
                return Tensor(arrays[name], requires_grad=True)
            case {"array": str(name)}:
                return arrays[name]
            case {"tuple": list(values)}:
                return tuple(values)
            case {"dict": list(entries)}:
                return dict(entries)
        raise ValueError(f"{list(node)} is not a kind of value")

    try:
        return json.loads(tree, object_hook=value)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


# Files ----------------------------------------------------------------------------------------------------------------


def previous(path: str | os.PathLike) -> Path:
    """The path of the checkpoint before the latest of `save_checkpoint`: run.ckpt -> run.ckpt.previous."""
    path = Path(path)
    return path.with_name(path.name + ".previous")


def write(who: str, path: Path, arrays: Mapping[str, np.ndarray], metadata: dict[str, str],
           backup: Path | None = None) -> None:
    """Write a safetensors file atomically; in an MPI job, only on rank 0."""
    if distributed.rank:
        return
    parts = serialized(who, arrays, metadata)
    fresh, old = path.with_name(path.name + ".new"), path.with_name(path.name + ".old")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent):
            try:
                with fresh.open("wb") as file:
                    file.writelines(parts)
                    file.flush()
                    os.fsync(file.fileno())  # the rename must not reach the disk before the contents
                # The old file gets a second name before the new one replaces it, so one of the two is always complete.
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
        raise OSError(error.errno, f"{who}: {path} could not be written ({error.strerror or error}); an earlier file "
                                   "is unharmed") from None


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
    if not path.is_file():
        raise FileNotFoundError(f"{who}: there is no file {str(path)!r}")
    return parsed(who, str(path), path.read_bytes(), advice(path))


def advice(path: Path) -> str:
    backup = previous(path)
    return f"; the checkpoint before it is {backup}" if backup.exists() else ""
