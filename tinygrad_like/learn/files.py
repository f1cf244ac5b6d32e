"""Check all ops that a file declares."""

from __future__ import annotations

import importlib
import linecache
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..core.dispatch import declared
from ..core.primitive import Primitive
from ..transforms.codegen import run_file
from .check import Finding, check_op, not_taken
from .inputs import NoGradient, NotTaken, points, varied
from .measure import Point
from .remedy import certain
from .source import source


class Report:
    """The findings in a file: lines to print, and whether everything is right."""

    def __init__(self, lines: list[str], findings: list[Finding], right: bool):
        self.lines, self.findings, self.right = lines, findings, right

    def __str__(self) -> str:
        return "\n".join(self.lines)


def check_file(path: str | Path) -> Report:
    """Check every op that a Python file declares with @primitive, @pointwise or @composite."""
    path = Path(path).resolve()
    if not path.is_file():
        return Report([f"{path}: no such file"], [], False)
    linecache.checkcache()
    try:
        module = load(path)
    except (Exception, SystemExit) as error:
        return Report(_broken(path, error), [], False)
    ops = sorted((op for op in _declared_in(module)), key=lambda op: source(op.__wrapped__).line)
    if not ops:
        return Report([f"{path.name}: declares no op; write one with @primitive (see CONTRIBUTING.md, \"Add an op\")"],
                      [], False)
    lines, findings, right = [], [], True
    for op in ops:
        found, text = check_one(op)
        lines.append(text)
        findings += found
        right &= not found
    return Report(lines, findings, right)


def check_one(op: Primitive) -> tuple[list[Finding], str]:
    """The mistakes of an op, and their text."""
    try:
        where = points(op)
    except NoGradient as error:
        return [], f"{op.name}: right without rules: {error}"
    except NotTaken as error:
        cause = error.__cause__
        finding = not_taken(op, cause if isinstance(cause, Exception) else None, str(error))
        return [finding], str(finding)
    alike = [p for p in where if len({np.shape(x) for x in p.inputs}) == 1]  # others broadcast, perhaps unintentionally
    first, untried = varied(op, alike if alike and alike[0] is where[0] else where)
    found = check_op(op, first) or (check_op(op, where) if len(alike) < len(where) else [])
    if found:
        guess = ", ".join(f"{n}={value!r}" for n, value in where[0].options.items()) if where[0].tried else ""
        told = [f"    It was called with {guess}, which is a guess; name other values with example({op.name}, ...)."
                ] if guess and found[0].input else []
        return found, "\n".join([*map(str, found), *told])
    return [], "\n".join([_right(op, where, first), *(f"    Not tried: {text}." for text in untried)])


def _right(op: Primitive, where: list[Point], tried: list[Point]) -> str:
    """The inputs and options at which an op is right."""
    shapes = "; ".join(", ".join(str(p.inputs[i].shape) for i in p.vary) for p in where)
    values: dict[str, list[str]] = {}
    for p in tried:
        for name, value in p.changed.items() if len(p.changed) == 1 else ():
            if repr(value) not in values.setdefault(name, []):
                values[name].append(repr(value))
    numbers = np.concatenate([p.inputs[i].reshape(-1) for p in tried for i in p.vary])
    also = "".join(f", with {n}={' and '.join(v)}" for n, v in values.items())
    return (f"{op.name}: right in first and second order, at inputs of shape {shapes}{also}, of numbers from "
            f"{numbers.min(initial=0):.3g} to {numbers.max(initial=0):.3g}")


def load(path: Path) -> Any:
    """The module in a file, executed again; a package's module, which may import its neighbours, is imported
    instead."""
    name, folder = path.stem, path.parent
    while (folder / "__init__.py").exists():
        name, folder = f"{folder.name}.{name}", folder.parent
    before = sys.dont_write_bytecode, list(sys.path)
    sys.dont_write_bytecode = True  # cached bytecode would miss an edit within the same second
    sys.path.insert(0, str(folder))
    try:
        if folder != path.parent:
            return importlib.import_module(name.removesuffix(".__init__"))
        module = ModuleType(f"checked_{name}")
        module.__file__ = str(path)
        run_file(path, vars(module))
        return module
    finally:
        sys.dont_write_bytecode, sys.path[:] = before


def _declared_in(module: Any) -> list[Primitive]:
    named = [v for v in vars(module).values() if isinstance(v, Primitive)]
    return [op for op in {id(op): op for op in [*named, *declared]}.values()
            if getattr(op, "__wrapped__", None) is not None and op.__wrapped__.__globals__ is vars(module)]


def _broken(path: Path, error: BaseException) -> list[str]:
    """The error in one sentence, with its line in the file."""
    line = error.lineno if isinstance(error, SyntaxError) else next(
        (frame.lineno for frame in reversed(traceback.extract_tb(error.__traceback__)) if frame.filename == str(path)),
        None)
    text = linecache.getline(str(path), line).rstrip() if line else ""
    told = [f"{path.name}: cannot be run: {type(error).__name__}: {error}"]
    if isinstance(error, SystemExit):
        told.append("    the file exits Python; put code that must not run on import below if __name__ == '__main__':")
    elif known := certain(error):
        told.append(f"    {known[1]}")
    return told + ([f"    {path.name}:{line}", f"      {text}"] if line else [])
