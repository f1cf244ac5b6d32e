"""`save` and `load`: any value made of Tensors, numbers, strings, lists and dicts as one file, as `torch.save` has it.

The file is a safetensors file. A Tensor in a dict lies in it under its key, so that a saved state_dict is what other
programs call the weights of a model; the rest is JSON in the header. Nothing in it is executed when it is read, unlike
a pickle.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .checkpoint import read, write
from .safetensors import WRITER, parsed, serialized

FORMAT = "tinygrad_like value 1"


def save(value: Any, file: Any) -> None:
    """Write a value made of Tensors, arrays, numbers, strings, None, lists, tuples and dicts: `load` gives it back.

        save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, "run.pt")

    file: a path, whose file is replaced as a whole or not at all, or an open binary file. `save_checkpoint` also keeps
    the state of the random numbers and the file before.

    Raises TypeError for any other value, and OSError if the file cannot be written.
    """
    arrays: dict[str, np.ndarray] = {}
    try:
        tree = json.dumps(_encoded("", value, arrays))
    except RecursionError:
        raise ValueError("save: the value is nested too deep, or contains itself") from None
    metadata = {"format": FORMAT, "tree": tree, "writer": WRITER}
    if hasattr(file, "write"):
        file.write(b"".join(serialized("save", arrays, metadata)))
    else:
        write("save", Path(file), arrays, metadata)


def load(file: Any, map_location: Any = None, weights_only: bool = True) -> Any:
    """What `save` was given; of another safetensors file its Tensors by name.

    map_location, weights_only: for programs that pass them; there is one device, and nothing is ever executed.

    Raises FileNotFoundError, and ValueError if the file is damaged or of another kind.
    """
    if hasattr(file, "read"):
        name, (arrays, metadata) = "the file", parsed("load", "the file", file.read())
    else:
        name, (arrays, metadata) = os.fspath(file), read("load", Path(file))
    if "tree" not in metadata:
        return {name: Tensor(array) for name, array in arrays.items()}
    if metadata.get("format") != FORMAT:
        raise ValueError(f"load: {name} was written by save_checkpoint; use load_checkpoint")
    try:
        return _decoded(json.loads(metadata["tree"]), arrays)
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"load: {name} is damaged: its tree of values makes no sense ({error!r})") from None


def _encoded(name: str, node: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The JSON of a value; arrays go to `arrays`. What JSON does not have is a dict of one entry, its kind."""
    if isinstance(node, np.generic):
        node = node.item()
    if isinstance(node, Tensor | np.ndarray):
        while name in arrays or name in ("", "__metadata__"):  # {"a": {"b": x}, "a/b": y}
            name += "_"
        arrays[name] = node._data if isinstance(node, Tensor) else node
        return {("leaf" if node.requires_grad else "tensor") if isinstance(node, Tensor) else "array": name}
    inside = f"{name}/" if name else ""
    if isinstance(node, Mapping):
        return {"dict": [[_encoded(f"{inside}key", key, arrays), _encoded(f"{inside}{key}", value, arrays)]
                         for key, value in node.items()]}
    if isinstance(node, list | tuple):
        values = [_encoded(f"{inside}{i}", value, arrays) for i, value in enumerate(node)]
        return values if isinstance(node, list) else {"tuple": values}
    if node is None or isinstance(node, bool | int | float | str):
        return node
    state = "; save its state_dict()" if hasattr(node, "state_dict") else ""
    raise TypeError(f"save: {name or 'the value'} is a {type(node).__name__}{state}; a file holds Tensors, arrays, "
                    "numbers, strings, None, and lists, tuples and dicts of these")


def _decoded(node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    match node:
        case list():
            return [_decoded(value, arrays) for value in node]
        case {"tensor": str(name)}:
            return Tensor(arrays[name])
        case {"leaf": str(name)}:
            return Tensor(arrays[name], requires_grad=True)
        case {"array": str(name)}:
            return arrays[name]
        case {"tuple": list(values)}:
            return tuple(_decoded(values, arrays))
        case {"dict": list(entries)}:
            return {_decoded(key, arrays): _decoded(value, arrays) for key, value in entries}
        case dict():
            raise ValueError(f"{list(node)} is no kind of value")
    return node
