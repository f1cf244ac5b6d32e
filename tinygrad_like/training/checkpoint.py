"""Weights and checkpoints as safetensors files: arrays by name, and JSON for the rest. Nothing in them is executed.

A file is written under another name and then renamed, so that at any moment, even in a power failure, either the old
file or the new one is there. It contains a SHA-256 of its contents, which reading checks.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import distributed
from ..core.tensor import Tensor
from ..data.download import folder_lock
from ..nn import Module
from ..nn.state import Keys
from ..random import generator, get_rng_state
from .safetensors import WRITER, parsed, serialized

FORMAT = "tinygrad_like checkpoint 1"
OURS = "sha256", "writer"
GENERATOR = "package generator"  # cannot be the name of a part, which is an identifier

# Weights --------------------------------------------------------------------------------------------------------------


def save_weights(module: Module, path: str | os.PathLike, metadata: Mapping[str, str] | None = None) -> None:
    """Write the state_dict of `module` to a safetensors file under the names PyTorch uses: PyTorch can load it.

    A tied parameter is written under the first of its names in the alphabet; the metadata says so of the others. This
    is what `safetensors.torch.save_model` does, and `load_model` reads.

    metadata: strings by name, which `read_metadata` returns; the names "sha256" and "writer" are taken.

    In an MPI job only rank 0 writes it. Raises OSError if it cannot be written; an existing file is then unharmed.
    """
    metadata = dict(metadata or {})
    for name, text in metadata.items():
        if not isinstance(name, str) or not isinstance(text, str) or name in OURS:
            raise TypeError(f"save_weights: metadata {name!r}: {text!r} must be a string, its name a string other than "
                            f"{' and '.join(OURS)}")
    arrays, tied = _untied(module.state_dict())
    write("save_weights", Path(path), arrays, {**tied, **metadata, "writer": WRITER})


def load_weights(module: Module, path: str | os.PathLike, strict: bool = True) -> Keys:
    """Read a safetensors file, written here or by PyTorch, into `module`, by name; see Module.load_state_dict.

    Raises FileNotFoundError, and ValueError if the file is damaged or does not fit; the module is then unchanged.
    """
    arrays, metadata = read("load_weights", Path(path))
    tied = {name: arrays[metadata[name]] for name in module.state_dict() if metadata.get(name) in arrays}
    try:
        return module.load_state_dict({**tied, **arrays}, strict)
    except ValueError as error:
        raise ValueError(f"load_weights: {path}: {error}") from None


def _untied(state: Mapping[str, Tensor]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a state_dict by name, each once, and the name that an array has there for every other name."""
    arrays: dict[str, np.ndarray] = {}
    tied: dict[str, str] = {}
    first: dict[Any, str] = {}
    for name, tensor in sorted(state.items()):
        a = tensor._data
        memory = (a.__array_interface__["data"][0], a.dtype, a.shape, a.strides) if a.size else name
        kept = first.setdefault(memory, name)
        if kept == name:
            arrays[name] = a
        else:
            tied[name] = kept
    return arrays, tied


def read_arrays(who: str, path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file, by name, read for `who`."""
    return read(who, path)[0]


def read_metadata(path: str | os.PathLike) -> dict[str, str]:
    """The metadata of `save_weights`, and for each further name of a tied parameter the name it was stored under.

    Raises as `load_weights` does.
    """
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
    tree[GENERATOR] = _encoded(GENERATOR, get_rng_state(), arrays)
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
    """Restore objects from a checkpoint that has been read."""
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
            return _prepared_numpy(part, state)
        return part.prepare_load(state) if _checks(part) else lambda: part.load_state_dict(state)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = error if isinstance(error, ValueError) else f"it raises {error!r}"
        raise ValueError(f"load_checkpoint: {path} does not fit {name!r}, and nothing was loaded: {why}") from None


def _prepared_numpy(part: np.random.Generator, state: Any) -> Callable[[], None]:
    trial = type(part.bit_generator)(0)
    trial.state = state  # where NumPy finds out what is wrong

    def load() -> None:
        part.bit_generator.state = trial.state

    return load


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
        arrays[name] = node._data if isinstance(node, Tensor) else node
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
    """The contents of a checkpoint, by name; nothing is restored."""
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
    return parsed(who, str(path), path.read_bytes(), _advice(path))


def _advice(path: Path) -> str:
    backup = previous(path)
    return f"; the checkpoint before it is {backup}" if backup.exists() else ""
