"""Source text made into functions. All code that is written while a program runs is compiled here, and nowhere else."""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

_compile = partial(compile, mode="exec", dont_inherit=True)  # or annotations would be as in this file
_compiled = lru_cache(256)(_compile)  # it takes long, and a text comes again: of another model of the same kind


def execute(source: Any, file: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run source text, or its tree, as that of a file. Returns `names`, with the definitions of the source added."""
    exec((_compiled if isinstance(source, str) else _compile)(source, file), names)
    return names


def define(name: str, text: str, file: str, names: dict[str, Any], owner: Any = None) -> Callable:
    """The function of this name that a text defines; its global names are `names`.

    Tracebacks, debuggers and `inspect.getsource` show the lines of the text, as long as its owner lives.
    """
    if owner is not None:
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        weakref.finalize(owner, linecache.cache.pop, file, None)
    return execute(text, file, names)[name]


def run_file(path: Path, names: dict[str, Any]) -> dict[str, Any]:
    """Run a Python file as it is now, not its cached bytecode. Returns its definitions."""
    return execute(path.read_text(encoding="utf-8"), str(path), names)
