"""Two more kinds of puzzle: layers, compared with the built-in ones, and training scripts with one mistake.

Their texts stand in exercises.md.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable
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
    """A section of exercises.md: what is told, and its blocks of code."""

    told: str
    blocks: list[str]


@cache
def sections() -> dict[str, Exercise]:
    """Name -> a layer with its task, what is open and the body; the script; or a mistake with hints and its lines."""
    page = (Path(__file__).parent / "exercises.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\w+)\n", page, flags=re.M)[1:]
    return {name: Exercise(re.sub(_BLOCK, "", text, flags=re.M | re.S).strip(), re.findall(_BLOCK, text, re.M | re.S))
            for name, text in zip(parts[::2], parts[1::2], strict=True)}


_BLOCK = r"^```py\n(.*?)^```\n"
NAMES = [name for name in sections() if name != "script"]


def text(name: str, solved: bool = False) -> str:
    """The file of an exercise; solved, if it is to be."""
    kind, _, which = name.partition("_")
    told, blocks = sections()[name]
    if kind == "layer":
        layer, body = blocks
        code = layer.replace("        ...\n", body) if solved else layer
        return f'"""Write a layer: {which}\n\n{told}\n"""\n\nimport nn\nfrom tinygrad_like import Tensor\n\n\n{code}'
    script = sections()["script"].blocks[0]
    hints = (8 * "\n").join(f"# Hint {n}: {hint}\n" for n, hint in enumerate(told.split("\n\n"), 1))
    task = "This script has one mistake, of those that people make most. Find it and mend it; change nothing else."
    right, wrong = blocks
    code = script if solved else script.replace(right, wrong) + 15 * "\n" + hints
    return f'"""Find the bug: {which}\n\n{task}\n"""\n\n{code}'


def checked(path: Path) -> Report:
    """The report on an exercise, or on a file of ops."""
    name = path.stem.partition("_")[2]
    if name not in NAMES:
        return check_file(path)
    if path.read_text(encoding="utf-8") == text(name):
        return _told(name, path, "is as it was made", "open")
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            module = load(path)
            wrong = _wrong_layer(name, module) if name.startswith("layer") else _wrong_script(vars(module))
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    return _told(name, path, wrong, "wrong")


def _told(name: str, path: Path, wrong: str, kind: str) -> Report:
    found = [Finding(name, "", kind, "", wrong, str(path), "")] if wrong else []
    return Report([f"{name}: {wrong or 'right'}"], found, not wrong)


def _wrong_layer(name: str, module: Any) -> str:
    from .. import nn

    if name == "layer_dropout":
        return _wrong_dropout(module.Dropout)
    mine, built_in = module.BatchNorm(3, eps=0.1, momentum=0.3), nn.BatchNorm1d(3, eps=0.1, momentum=0.3)
    rng = np.random.default_rng(0)
    for training in (True, True, False):
        x, g = rng.normal(2, 3, (6, 3)).astype(np.float32), rng.normal(size=(6, 3)).astype(np.float32)
        seen = []
        layer: Any
        for layer in (mine, built_in):
            layer.train(training)
            start = Tensor(x, requires_grad=True)
            y = layer(start)
            if not isinstance(y, Tensor):
                return "forward must return a Tensor"
            y.backward(Tensor(g))
            seen.append({"the output": y, "the gradient of x": start.grad, "weight.grad": layer.weight.grad,
                         "bias.grad": layer.bias.grad, "running_mean": layer.running_mean,
                         "running_var": layer.running_var})
        for what, value in seen[0].items():
            if value is None or not np.allclose(value._data, seen[1][what]._data, rtol=1e-3, atol=1e-4):
                return f"in {'training' if training else 'evaluation'} {what} differs from that of nn.BatchNorm1d"
    return ""


def _wrong_dropout(layer: Callable) -> str:
    manual_seed(0)
    p, x = 0.2, Tensor(np.full((100, 100), 3.0, np.float32), requires_grad=True)
    mine = layer(p)
    y = mine(x)
    if not isinstance(y, Tensor):
        return "forward must return a Tensor"
    kept = y._data != 0
    if not np.allclose(y._data[kept], 3 / (1 - p), rtol=1e-4):
        return "in training what is not dropped must be x / (1 - p), as nn.Dropout does"
    if abs(kept.mean() - (1 - p)) > 0.02:
        return f"in training a share p = {p} must be dropped; here it is {1 - kept.mean():.2f}"
    if kept.all(0).any() or kept.all(1).any() or (mine(x)._data == y._data).all():
        return "each element is dropped by itself, and anew in each call"
    y.sum().backward()
    if x.grad is None or not np.allclose(x.grad._data, kept / (1 - p), rtol=1e-4):
        return "the gradient must be that of what was kept: g / (1 - p) there, else 0"
    mine.eval()
    return "" if np.array_equal(mine(x)._data, x._data) else "in evaluation the layer must give x as it is"


def _wrong_script(space: dict) -> str:
    """Whether the script behaves as without its mistake: losses, accuracies, and the state it leaves behind."""
    right, history = _reference(), space.get("history", [])
    if any(type(v) is not float for row in history for v in row):
        return "the history must be numbers, and not Tensors, which hold their graphs"
    if space["accuracy"]() != space["accuracy"]():
        return "two evaluations of one model must agree"
    if len(history) != len(right) or not np.allclose(history, right, rtol=1e-2, atol=1e-3):
        at = next((k for k, (a, b) in enumerate(zip(history, right, strict=False))
                   if not np.allclose(a, b, rtol=1e-2, atol=1e-3)), 0)
        return f"from epoch {at + 1} on it does something else than without its mistake"
    return ""


@cache
def _reference() -> list:
    space: dict[str, Any] = {"__name__": "reference"}
    execute(sections()["script"].blocks[0], "<reference>", space)
    return space["history"]
