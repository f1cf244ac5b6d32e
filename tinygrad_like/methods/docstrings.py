"""What `help` and editors say of Tensor's methods and of ops: a sentence, and an example whose result a test checks.

The sentence is that of the docstring in the code. `docstrings.txt` has the examples, and the sentences of what has no
docstring in the code, such as the methods of one line.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import ops
from ..core.tensor import Tensor
from .in_place import InPlace
from .of_ops import Methods

FILES = [Path(__file__).with_name("docstrings.txt")]  # `compat` adds its own


def entries() -> Iterator[tuple[str, str, str, str, str]]:
    """(name, sentence or "", example, its result, its shapes): a method of Tensor, or a function, as "ops.glu"."""
    for line in [line for file in FILES for line in file.read_text(encoding="utf-8").splitlines()]:
        if line and line[0] != "#":
            name, sentence, example, result, *shapes = (part.strip() for part in line.split(" | "))
            yield name, sentence, example, result, "".join(shapes)


def attach() -> None:
    """Give all of them their docstrings, once the ops are there."""
    of_ops = {name: op.__doc__ for name, op in vars(ops).items() if callable(op)}
    for name, method in vars(Methods).items():
        method = getattr(method, "__func__", method)
        if inspect.isfunction(method) and not method.__doc__:
            method.__doc__ = of_ops.get(name)
    in_place = {name: f for name, f in vars(InPlace).items() if name[-1] == "_" and f.__doc__}
    # As inspect.getattr_static finds them, sooner.
    members = {name: member for cls in reversed(Tensor.__mro__) for name, member in vars(cls).items()}
    for name, sentence, example, result, shapes in entries():
        shown = f"\n\n>>> {example}{f'  # {shapes}' if shapes else ''}\n{result}".removesuffix("\nNone")
        place, _, function = name.rpartition(".")
        if place:
            _add(getattr(ops.linalg if place == "linalg" else ops, function), sentence, shown)
            continue
        member = members[name]
        member = getattr(member, "__func__", member)
        if callable(member) or isinstance(member, property):
            _add(member, sentence, shown)
            if of_ops.get(name):
                _add(getattr(ops, name), "", shown)
        if f"{name}_" in in_place:
            _add(in_place[f"{name}_"], "", shown.replace(f".{name}(", f".{name}_("))


def _add(target: Any, sentence: str, example: str) -> None:
    target.__doc__ = inspect.cleandoc(sentence or target.__doc__) + example
