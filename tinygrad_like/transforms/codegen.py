"""Compile source text into functions. All code generated at run time is compiled here, and nowhere else."""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_compile = partial(compile, mode="exec", dont_inherit=True)  # else this file's __future__ imports would apply
_compiled = lru_cache(256)(_compile)  # compiling is slow, and texts repeat, for instance for models of the same kind


def execute(source: Any, file: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run source text, or its tree, under a file name. Returns `names`, with the source's definitions added."""
    exec((_compiled if isinstance(source, str) else _compile)(source, file), names)
    return names


def define(name: str, text: str, file: str, names: dict[str, Any], owner: Any = None) -> Callable:
    """The function of this name that a text defines, with `names` as its globals.

    Tracebacks, debuggers and `inspect.getsource` show the lines of the text while its owner lives.
    """
    if owner is not None:
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        weakref.finalize(owner, linecache.cache.pop, file, None)
    return execute(text, file, names).pop(name)  # else a function and its globals would be a cycle


def run_file(path: Path, names: dict[str, Any]) -> dict[str, Any]:
    """Run a Python file's current source, not its cached bytecode. Returns its definitions."""
    return execute(path.read_text(encoding="utf-8"), str(path), names)
