"""Weights, checkpoints and other values as safetensors files: arrays by name, and JSON for the rest. Unlike a pickle,
nothing in them is executed."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..nn import Linear, Module
from ..nn.state import Keys
from ..random import generator, get_rng_state
from .safetensors import WRITER, advice, decoded, encoded, parsed, previous, read, serialized, write

FORMAT = "tinygrad_like checkpoint 2"
VALUE = "tinygrad_like value 1"
OURS = "sha256", "writer"
GENERATOR = "package generator"  # no part can have this name, since parts are identifiers

# Weights --------------------------------------------------------------------------------------------------------------


def save_weights(module: Module, path: str | os.PathLike, metadata: Mapping[str, str] | None = None) -> None:
    """Write the state_dict of `module` to a safetensors file with PyTorch's names, so PyTorch can load it.

    A tied parameter is written once, under its alphabetically first name; the metadata lists its other names. This is
    the convention of `safetensors.torch.save_model` and `load_model`.

    metadata: strings by name, which `read_metadata` returns; the names "sha256" and "writer" are reserved.

    In an MPI job, only rank 0 writes. Raises OSError if it cannot write; an existing file then stays unharmed.
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

    Raises FileNotFoundError, and ValueError if the file is damaged or does not fit; the module then stays unchanged.
    """
    arrays, metadata = read("load_weights", Path(path))
    tied = {name: arrays[metadata[name]] for name in module.state_dict() if metadata.get(name) in arrays}
    try:
        return module.load_state_dict({**tied, **arrays}, strict)
    except ValueError as error:
        raise ValueError(f"load_weights: {path}: {error}") from None


def _untied(state: Mapping[str, Tensor]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a state_dict by name, each once; and for every other name of an array, the name it is stored
    under."""
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


def read_metadata(path: str | os.PathLike) -> dict[str, str]:
    """The metadata of `save_weights`, and for each other name of a tied parameter, the name it is stored under.

    Raises like `load_weights`.
    """
    return {name: text for name, text in read("read_metadata", Path(path))[1].items() if name not in OURS}


def replace_head(model: Module, classes: int) -> Linear:
    """Replace the model's last nn.Linear with a new one that has `classes` outputs, and return it.

    To train only the head, first freeze everything:

        model.requires_grad_(False)
        head = replace_head(model, classes=5)
        optimizer = optim.AdamW(head.parameters())

    A frozen norm still updates its running statistics, except in evaluation mode. The last Linear is the one defined
    last. Raises ValueError if there is none.
    """
    layers = [name for name, module in model.named_modules() if isinstance(module, Linear) and name]
    if not layers:
        raise ValueError(f"replace_head: this {type(model).__name__} has no nn.Linear to replace")
    path, _, name = layers[-1].rpartition(".")
    old: Linear = model.get_submodule(layers[-1])  # type: ignore[assignment]
    head = Linear(old.in_features, classes, bias=old.bias is not None).to(old.weight.dtype)
    setattr(model.get_submodule(path), name, head)
    return head


# Checkpoints ----------------------------------------------------------------------------------------------------------


def save_checkpoint(path: str | os.PathLike, **parts: Any) -> None:
    """Write everything that a run needs to resume as if it had never stopped.

        save_checkpoint("run.ckpt", model=model, optimizer=optimizer, ema=ema, epoch=3)

    parts: objects with a state_dict, NumPy Generators, or values that `save` takes. The state of the package's own
    generator is always saved. An existing file becomes `previous(path)`. In an MPI job, only rank 0 writes.

    Raises TypeError for anything else, and OSError if it cannot write the file; existing files then stay unharmed.
    """
    states = {name: _state(part) for name, part in {**parts, GENERATOR: get_rng_state()}.items()}
    arrays, tree = encoded("save_checkpoint", states)
    write("save_checkpoint", Path(path), arrays, {"format": FORMAT, "tree": tree}, backup=previous(path))


def load_checkpoint(path: str | os.PathLike, **parts: Any) -> dict[str, Any]:
    """Restore the given objects and the package's generator from a checkpoint; returns all other saved values by name.

        epoch = load_checkpoint("run.ckpt", model=model, optimizer=optimizer, ema=ema)["epoch"]

    Raises FileNotFoundError, and ValueError if the file is damaged, is not a checkpoint, lacks a part, or has one that
    does not fit; all objects then keep their state. To continue from the checkpoint before, load `previous(path)`.
    """
    return restore(Path(path), read_checkpoint(Path(path)), **parts)


def restore(path: Path, tree: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """Restore objects from a checkpoint's contents; if one does not fit, reset all to their previous state."""
    for name in parts:
        if name not in tree:
            raise ValueError(f"load_checkpoint: {path} has no {name!r}, only {', '.join(tree)}")
    parts = {**parts, GENERATOR: generator}
    before = {name: copy.deepcopy(_state(part)) for name, part in parts.items()}
    loaded: list[str] = []
    try:
        for name in parts:
            loaded.append(name)
            _load(parts[name], tree.pop(name))
    except BaseException as error:
        for name in loaded:
            with suppress(Exception):
                _load(parts[name], before[name])
        if not isinstance(error, ArithmeticError | AttributeError | LookupError | TypeError | ValueError):
            raise
        why = error if isinstance(error, ValueError) else f"it raises {error!r}"
        raise ValueError(f"load_checkpoint: {path} does not fit {name!r}, and nothing was loaded: {why}") from None
    return tree


def _state(part: Any) -> Any:
    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    return part.state_dict() if hasattr(part, "state_dict") else part


def _load(part: Any, state: Any) -> None:
    if isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    else:
        part.load_state_dict(state)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The contents of a checkpoint by name; restores nothing."""
    arrays, metadata = read("load_checkpoint", path)
    if metadata.get("format") != FORMAT:
        raise ValueError(f"load_checkpoint: {path} has weights but is not a checkpoint; use load_weights")
    tree = _value("load_checkpoint", str(path), arrays, metadata, advice(path))
    if not isinstance(tree, dict) or not isinstance(tree.get(GENERATOR), dict):
        raise ValueError(f"load_checkpoint: {path} is damaged, or written by another program: it does not have the "
                         f"state of random numbers{advice(path)}")
    return tree


def _value(who: str, path: str, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str], advice: str = "") -> Any:
    try:
        return decoded(metadata["tree"], arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{who}: {path} is damaged, or written by another program: its tree of values makes no sense "
                         f"({error!r}){advice}") from None


# Values, like torch.save -----------------------------------------------------------------------------------------


def save(value: Any, file: Any) -> None:
    """Write a value made of Tensors, arrays, numbers, strings, None, lists, tuples and dicts, which `load` returns.

        save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, "run.pt")

    A Tensor in a dict is stored under its key, so other programs can read a saved state_dict as a model's weights.
    file: a path, whose file is replaced atomically, or an open binary file. `save_checkpoint` also keeps the random
    state and the previous file.

    Raises TypeError for any other value, and OSError if it cannot write the file.
    """
    arrays, tree = encoded("save", value)
    metadata = {"format": VALUE, "tree": tree, "writer": WRITER}
    if hasattr(file, "write"):
        file.write(b"".join(serialized("save", arrays, metadata)))
    else:
        write("save", Path(file), arrays, metadata)


def load(file: Any, map_location: Any = None, weights_only: bool = True) -> Any:
    """The value that `save` wrote; for another safetensors file, its Tensors by name.

    map_location, weights_only: accepted without effect: there is one device, and nothing is ever executed.

    Raises FileNotFoundError, and ValueError if the file is damaged or of another kind.
    """
    if hasattr(file, "read"):
        name, (arrays, metadata) = "the file", parsed("load", "the file", file.read())
    else:
        name, (arrays, metadata) = os.fspath(file), read("load", Path(file))
    if "tree" not in metadata:
        return {name: Tensor(array) for name, array in arrays.items()}
    if metadata.get("format") != VALUE:
        raise ValueError(f"load: {name} was written by save_checkpoint; use load_checkpoint")
    return _value("load", name, arrays, metadata)
