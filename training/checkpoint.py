"""Weights and checkpoints as safetensors files: arrays by name, and JSON for the rest. Nothing in them is executed.

A file is written beside its place and renamed into it, so that at any moment, a power failure included, there is either
the old file or the new one. It carries a SHA-256 of its contents, which is checked when it is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nn import Module
from nn.module import Keys
from tinygrad_like import Tensor, get_rng_state
from tinygrad_like.random import generator, prepare_rng_state

FORMAT = "tinygrad_like checkpoint 1"
GENERATOR = "package generator"  # no name of a part: those are identifiers
DTYPES = {"BOOL": "?", "U8": "u1", "I8": "<i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
          "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8"}

# Weights --------------------------------------------------------------------------------------------------------------


def save_weights(module: Module, path: str | os.PathLike, metadata: Mapping[str, str] | None = None) -> None:
    """Write the state_dict of `module` to a safetensors file, by the names PyTorch uses: it loads there as well.

    metadata: strings to keep with it, which `read_metadata` returns.
    """
    _write(Path(path), {name: t.data for name, t in module.state_dict().items()}, dict(metadata or {}))


def load_weights(module: Module, path: str | os.PathLike, strict: bool = True) -> Keys:
    """Read a safetensors file, written here or by PyTorch, into `module`, by name; see Module.load_state_dict.

    Raises FileNotFoundError, and ValueError if the file is damaged or does not fit; the module is unchanged then.
    """
    return module.load_state_dict(_read("load_weights", Path(path))[0], strict)


def read_metadata(path: str | os.PathLike) -> dict[str, str]:
    """The strings that `save_weights` was given. Raises as `load_weights` does."""
    return {name: text for name, text in _read("read_metadata", Path(path))[1].items() if name != "sha256"}


# Checkpoints ----------------------------------------------------------------------------------------------------------


def save_checkpoint(path: str | os.PathLike, **parts: Any) -> None:
    """Write all that a run needs to go on exactly as if it had not been interrupted.

        save_checkpoint("run.ckpt", model=model, optimizer=optimizer, ema=ema, epoch=3)

    parts: each is an object with a state_dict, a NumPy Generator, or a value made of numbers, strings, None, arrays,
    lists and dicts. The state of the package's own generator is always saved. The file that was there is kept, as
    `previous(path)`. Raises TypeError for anything else.
    """
    path = Path(path)
    arrays: dict[str, np.ndarray] = {}
    tree = {name: _encoded(name, _state(part), arrays) for name, part in parts.items()}
    tree[GENERATOR] = _encoded(GENERATOR, dict(get_rng_state()), arrays)
    _write(path, arrays, {"format": FORMAT, "tree": json.dumps(tree)}, keep=previous(path))


def load_checkpoint(path: str | os.PathLike, **parts: Any) -> dict[str, Any]:
    """Restore the given objects, and the package's generator, from a checkpoint; return all other saved values by name.

        epoch = load_checkpoint("run.ckpt", model=model, optimizer=optimizer, ema=ema)["epoch"]

    Raises FileNotFoundError, and ValueError if the file is damaged, is no checkpoint, lacks one of the parts, or has
    one that does not fit. Nothing is changed then; of objects of your own, this is true if they have `prepare_load`,
    which checks a state and returns the function that loads it. To go on from the one before, load `previous(path)`.
    """
    path = Path(path)
    arrays, metadata = _read("load_checkpoint", path)
    if metadata.get("format") != FORMAT:
        raise ValueError(f"load_checkpoint: {path} is no checkpoint but other weights; use load_weights")
    tree = {name: _decoded(node, arrays) for name, node in json.loads(metadata["tree"]).items()}
    for name in parts:
        if name not in tree:
            raise ValueError(f"load_checkpoint: {path} has no {name!r}, only {', '.join(tree)}")
    parts = {**parts, GENERATOR: generator}
    names = sorted(parts, key=lambda name: _checks(parts[name]))  # first those that may yet raise
    for load in [_prepared(path, name, parts[name], tree.pop(name)) for name in names]:
        load()
    return tree


def _checks(part: Any) -> bool:
    return isinstance(part, np.random.Generator) or hasattr(part, "prepare_load")


def _prepared(path: Path, name: str, part: Any, state: Any) -> Callable[[], Any]:
    """The function that loads a part, which has been found to fit where that can be found out."""
    try:
        if isinstance(part, np.random.Generator):
            return prepare_rng_state(state, part)
        return part.prepare_load(state) if _checks(part) else lambda: part.load_state_dict(state)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = error if isinstance(error, ValueError) else f"it makes {error!r}"
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
    """The JSON for a value; arrays go to `arrays`, and their names into the JSON."""
    if isinstance(node, Tensor | np.ndarray):
        if name in arrays:
            raise ValueError(f"save_checkpoint: two arrays would be called {name}")
        arrays[name] = node.data if isinstance(node, Tensor) else node
        return {"array": name}
    if isinstance(node, Mapping):
        return {"dict": {str(key): _encoded(f"{name}/{key}", value, arrays) for key, value in node.items()}}
    if isinstance(node, list | tuple):
        return [_encoded(f"{name}/{i}", value, arrays) for i, value in enumerate(node)]
    if isinstance(node, np.generic):
        return node.item()
    if node is None or isinstance(node, bool | int | float | str):
        return node
    raise TypeError(f"save_checkpoint: {name} is a {type(node).__name__}; a checkpoint holds objects with a "
                    "state_dict, NumPy Generators, arrays, numbers, strings, None, and lists and dicts of these")


def _decoded(node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(node, list):
        return [_decoded(value, arrays) for value in node]
    if isinstance(node, dict):
        if "array" in node:
            return arrays[node["array"]]
        return {key: _decoded(value, arrays) for key, value in node["dict"].items()}
    return node


# Files ----------------------------------------------------------------------------------------------------------------


def _write(path: Path, arrays: Mapping[str, np.ndarray], metadata: dict[str, str], keep: Path | None = None) -> None:
    save = _safetensors().numpy.save
    arrays = {name: np.asarray(a, order="C") for name, a in arrays.items()}  # it writes the memory of views as it lies
    content = save(arrays, {**metadata, "sha256": _digest(arrays, metadata)})
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh, old = path.with_name(path.name + ".new"), path.with_name(path.name + ".old")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # the rename must not reach the disk before the contents
    # A second name for the old file, before the new one takes its place: at each moment, one of the two is whole.
    if keep is not None and path.exists():
        old.unlink(missing_ok=True)
        try:
            os.link(path, old)
        except OSError:  # a file system without links
            shutil.copyfile(path, old)
    os.replace(fresh, path)
    if keep is not None and old.exists():
        os.replace(old, keep)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make renames last: a folder is a file too. (Windows cannot open one, and needs none of it.)"""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read(who: str, path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the metadata of a safetensors file."""
    safetensors = _safetensors()
    if not path.is_file():
        raise FileNotFoundError(f"{who}: there is no file {str(path)!r}")
    content = path.read_bytes()
    try:
        arrays = {name: _array(**entry) for name, entry in safetensors.deserialize(content)}
    except safetensors.SafetensorError as error:
        raise ValueError(f"{who}: {path} is damaged, or no safetensors file ({error}){_advice(path)}") from None
    header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])  # 8 bytes of length, JSON, the arrays
    metadata = header.get("__metadata__", {})
    if "sha256" in metadata:  # PyTorch's files have none
        rest = {name: text for name, text in metadata.items() if name != "sha256"}
        if _digest(arrays, rest) != metadata["sha256"]:
            raise ValueError(f"{who}: {path} is damaged: its contents do not have the SHA-256 it states{_advice(path)}")
    elif "format" in metadata and metadata["format"] == FORMAT:
        raise ValueError(f"{who}: {path} is damaged: its SHA-256 is missing{_advice(path)}")
    return arrays, metadata


def _advice(path: Path) -> str:
    kept = previous(path)
    return f"; the checkpoint before it is {kept}" if kept.exists() else ""


def _array(dtype: str, shape: list[int], data: bytearray) -> np.ndarray:
    if dtype == "BF16":  # the upper half of a float32
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if dtype not in DTYPES:
        raise ValueError(f"load_weights: the file holds {dtype} numbers, which NumPy does not have; save them as F32")
    return np.frombuffer(data, DTYPES[dtype]).reshape(shape)


def _digest(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    """SHA-256 of all names, dtypes, shapes and values, in an order of its own: safetensors reorders the arrays."""
    sha = hashlib.sha256(json.dumps(sorted(metadata.items())).encode())
    for name in sorted(arrays):
        a = arrays[name]
        sha.update(json.dumps([name, a.dtype.str, a.shape]).encode())
        sha.update(a.reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError("weight files need safetensors: pip install 'tinygrad-like[checkpoints]'") from None
    return safetensors
