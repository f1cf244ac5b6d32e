"""Two more kinds of puzzle: layers, compared with the built-in ones, and training scripts with one mistake.

exercises.md has their texts.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Tensor
from ..random import manual_seed
from ..transforms.codegen import execute
from .check import Finding
from .files import Report, check_file, load


class Exercise(NamedTuple):
    """A section of exercises.md: its text and its blocks of code."""

    told: str
    blocks: list[str]


@cache
def sections() -> dict[str, Exercise]:
    """Name -> a layer with its task, unfinished code, solution and check; the script and its check; or a mistake with
    hints and its lines. A check is code with assertions that runs after the file."""
    page = (Path(__file__).parent / "exercises.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\w+)\n", page, flags=re.M)[1:]
    return {name: Exercise(re.sub(_BLOCK, "", text, flags=re.M | re.S).strip(), re.findall(_BLOCK, text, re.M | re.S))
            for name, text in zip(parts[::2], parts[1::2], strict=True)}


_BLOCK = r"^```py\n(.*?)^```\n"
NAMES = [name for name in sections() if name != "script"]


def text(name: str, solved: bool = False) -> str:
    """The text of an exercise's file, with its solution if `solved`."""
    kind, _, which = name.partition("_")
    told, blocks = sections()[name]
    if kind == "layer":
        layer, body, _ = blocks
        code = layer.replace("        ...\n", body) if solved else layer
        return f'"""Write a layer: {which}\n\n{told}\n"""\n\nimport nn\nfrom tinygrad_like import Tensor\n\n\n{code}'
    script = sections()["script"].blocks[0]
    hints = (8 * "\n").join(f"# Hint {n}: {hint}\n" for n, hint in enumerate(told.split("\n\n"), 1))
    task = "This script has one common mistake. Find and fix it; change nothing else."
    right, wrong = blocks
    code = script if solved else script.replace(right, wrong) + 15 * "\n" + hints
    return f'"""Find the bug: {which}\n\n{task}\n"""\n\n{code}'


def checked(path: Path) -> Report:
    """The report on an exercise, or on a file of ops."""
    name = path.stem.partition("_")[2]
    if name not in NAMES:
        return check_file(path)
    if path.read_text(encoding="utf-8") == text(name):
        return _told(name, path, "is unchanged", "open")
    from .. import nn  # only here: the tools themselves need no layers

    kind = name.partition("_")[0]
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            space = {**vars(load(path)), "np": np, "nn": nn, "Tensor": Tensor, "manual_seed": manual_seed}
            space["reference"] = _reference() if kind == "bug" else None
            execute(sections()[name if kind == "layer" else "script"].blocks[-1], "<check>", space)
            wrong = ""
    except Exception as error:
        wrong = str(error) if isinstance(error, AssertionError) and str(error) else f"{type(error).__name__}: {error}"
    return _told(name, path, wrong, "wrong")


def _told(name: str, path: Path, wrong: str, kind: str) -> Report:
    found = [Finding(name, "", kind, "", wrong, str(path), "")] if wrong else []
    return Report([f"{name}: {wrong or 'right'}"], found, not wrong)


@cache
def _reference() -> list:
    space: dict[str, Any] = {"__name__": "reference"}
    execute(sections()["script"].blocks[0], "<reference>", space)
    return space["history"]
