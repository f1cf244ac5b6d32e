"""Puzzles: 24 ops, each with its forward and without its rule.

pages.json has the forward and the solution, extracted by `handbook/op_pages.py`: for simple ops their source in
`tinygrad_like/ops`, for others the plain formulas under "In NumPy" on the op's page.
"""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from . import exercises
from .files import Report


@lru_cache(maxsize=1)
def pages() -> dict[str, dict]:
    """Name of an op -> its formula, the formula and rules as mathematics, its derivation in three hints, a puzzle's
    code."""
    return json.loads((Path(__file__).parent / "pages.json").read_text(encoding="utf-8"))


_PAIR = ["(2, 3), (2, 3)", "(3, 3), (3, 3)"]
_ROWS = [*_PAIR, "(2, 3), (3,)"]
_ONE = ["(2, 3)", "(3, 3)", "(4,)"]
# name -> the calls to check
PUZZLES: dict[str, list[str]] = {
    "add": _ROWS, "sub": _ROWS, "mul": _ROWS, "div": _ROWS, "square": _ONE, "exp": _ONE, "log": _ONE, "cos": _ONE,
    "sqrt": _ONE, "sigmoid": _ONE, "tanh": _ONE, "relu": _ONE, "maximum": _PAIR,
    "where": ["np.array([[True, False, True], [False, False, True]]), (2, 3), (2, 3)"],
    "permute": ["(2, 3, 4), axes=(1, 2, 0)", "(3, 3), axes=(1, 0)"],
    "expand": ["(2, 1), shape=(2, 3)", "(3,), shape=(2, 3)"],
    "sum": ["(2, 3), axis=0", "(3, 3), axis=1", "(2, 3, 4), axis=(0, 2), keepdim=True"],
    "mean": ["(2, 3), axis=0", "(3, 3), axis=1", "(2, 3, 4), axis=(0, 2), keepdim=True"],
    "max": ["(2, 3), axis=0", "(3, 3), axis=1, keepdim=True"],
    "cumsum": ["(2, 3), axis=0", "(3, 3), axis=1"],
    "batched_matmul": ["(2, 3), (3, 4)", "(3, 3), (3, 3)", "(2, 2, 3), (2, 3, 2)"],
    "softmax": ["(2, 3), axis=0", "(3, 3), axis=1"],
    "batch_norm": ["(5, 3), (3,), (3,)", "(2, 3, 2, 2), (3,), (3,)"],
    "conv2d": ["(2, 2, 3, 4), (3, 2, 2, 3)", "(1, 1, 3, 3), (1, 1, 2, 2)"],
}

_IMPORTS = """\
import numpy as np

from tinygrad_like import ops, primitive
from tinygrad_like.learn import example
from tinygrad_like.ops import *  # noqa: F403"""


def text(name: str, solved: bool = False) -> str:
    """The text of a puzzle's file, with its rule if `solved`."""
    forward, answer = pages()[name]["code"]
    tree: Any = ast.parse(answer).body[-1]
    rules = [f"{k.arg}=lambda g: ..." for k in tree.value.keywords]
    parts = [_opening(name, forward), _IMPORTS, forward, answer if solved else vjp(name, rules),
             "\n".join(f"example({name}, {e})" for e in PUZZLES[name])]
    return "\n\n".join(part.rstrip() for part in parts) + "\n" + ("" if solved else _hints(name))


def vjp(name: str, rules: Sequence[str]) -> str:
    """A call of `vjp`, one argument per line."""
    return f"{name}.vjp(" + (",\n" + " " * (len(name) + 5)).join(rules) + ")"


def _opening(name: str, forward: str) -> str:
    op: Any = ast.parse(forward).body[0]
    inputs, options = ([a.arg for a in args] for args in (op.args.args, op.args.kwonlyargs))
    named = [*inputs, "out", *options, *(f"{n}_shape" for n in inputs)]
    return f'''"""Puzzle {number(name)} of {len(PUZZLES)}: {name}

    {pages()[name]["formula"]}

Write the rule, which computes the cotangent of each input from g, the cotangent of the output. After g a rule
may name any of: {", ".join(named)}.
Write it with operators and ops (exp(x), sum(x, axis=0) ...). The engine undoes broadcasting.

Run `python -m tinygrad_like.learn puzzles FOLDER --watch` with the folder of this file: when you save the
file, it says what is right or wrong. The three hints at the end reveal more and more of the derivation.
"""'''


def _hints(name: str) -> str:
    told = ["\n\n" + "\n" * 20]
    for n, hint in enumerate(pages()[name]["hints"], 1):
        lines = [f"#   {line}".rstrip() for line in hint.splitlines()]
        told.append(f"# Hint {n}\n" + "\n".join(lines) + "\n" * (15 if n < 3 else 1))
    return "\n".join(told)


def number(name: str) -> int:
    return [*PUZZLES].index(name) + 1


def file_name(name: str) -> str:
    return f"{number(name):02}_{name}.py"


def make(folder: Path) -> list[Path]:
    """Write the missing puzzles; returns the paths of all."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {file_name(name): text(name) for name in PUZZLES}
    for k, name in enumerate(exercises.NAMES, len(PUZZLES) + 1):
        texts[f"{k}_{name}.py"] = exercises.text(name)
    for name, puzzle in texts.items():
        if not (folder / name).exists():
            (folder / name).write_text(puzzle, encoding="utf-8")
    return [folder / name for name in texts]


def _saved(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


@cache
def _report(path: Path, saved: int) -> Report:
    """The report on a file as it was saved."""
    return exercises.checked(path)


def status(paths: Sequence[Path]) -> str:
    """The solved puzzles, and the next one."""
    reports = [(path, _report(path, _saved(path))) for path in paths if path.exists()]
    solved = [path for path, report in reports if report.right]
    lines = [f"{len(solved)} of {len(paths)} solved in {paths[0].parent}"]
    for path, report in reports:
        kinds = sorted({f.kind for f in report.findings}) or ["cannot be checked"]
        lines.append(f"    {path.name:24} {'solved' if report.right else ', '.join(kinds)}")
    left = [path for path in paths if path not in solved]
    if left:
        lines.append(f"Next: open {left[0]} in an editor, and run this command with --watch.")
    return "\n".join(lines)


def watch(paths: Sequence[Path], show: Callable[[str], None] = print, pause: float = 0.3) -> None:
    """Check each puzzle when it is saved, until interrupted; existing files count as seen."""
    show(f"Open {paths[0]} in an editor, write the rule, and save. Every file of this folder is checked when you save "
         "it. Ctrl-C ends.")
    seen = {path: _saved(path) for path in paths}
    while True:
        time.sleep(pause)
        for path in paths:
            if (now := _saved(path)) != seen[path] and now:
                report = _report(path, now)
                solved = f"\nSolved. {status(paths).splitlines()[0]}" if report.right else ""
                show(f"\n{path.name}\n{report}{solved}")
            seen[path] = now
