"""The source of a rule: its file, line and syntax tree."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import textwrap
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from ..transforms.codegen import execute


class Source(NamedTuple):
    """A function in a file. `tree` is its Lambda or FunctionDef, or None if the file cannot be read."""

    file: str
    line: int
    tree: Any

    def text(self) -> str:
        """Its source lines."""
        if self.tree is None:
            return linecache.getline(self.file, self.line).rstrip()
        first = min([self.tree.lineno, *(d.lineno for d in getattr(self.tree, "decorator_list", []))])
        return "".join(linecache.getline(self.file, n) for n in range(first, self.tree.end_lineno + 1)).rstrip()

    def own_text(self) -> str:
        """Its own text: without decorators, and without the code around a lambda."""
        if self.tree is None:
            return self.text().strip()
        whole = "".join(linecache.getlines(self.file))
        return textwrap.dedent(ast.get_source_segment(whole, self.tree, padded=True) or "").strip()

    def raised(self, error: BaseException) -> int | None:
        """The line of this function that an error came through, however deep."""
        trace, found = error.__traceback__, None
        last = self.tree.end_lineno if self.tree is not None else self.line
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.file and self.line <= trace.tb_lineno <= last:
                found = trace.tb_lineno
            trace = trace.tb_next
        return found or (self.raised(error.__cause__) if error.__cause__ is not None else None)

    def where(self) -> str:
        short = os.path.relpath(self.file) if os.path.exists(self.file) else self.file
        return f"{self.file if short.startswith('..') else short}:{self.line}"


def source(function: Callable) -> Source:
    """The source of a rule; for a lambda, its position in the line, even among other lambdas."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return Source("", 0, None)
    lines = linecache.getlines(code.co_filename)
    found = [t for t in _functions("".join(lines)) if _first(t) == code.co_firstlineno]
    same = [t for t in found if _compiled(t, code)] if len(found) > 1 else found
    return Source(code.co_filename, code.co_firstlineno, same[0] if same else None)


def namespace(function: Any) -> dict[str, Any]:
    """The names a rule can see: those of its module and those it closes over."""
    function = inspect.unwrap(function)
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not set yet
            pass
    return names


def with_others(tree: Any, new: dict[Any, Any]) -> Any:
    """A copy of a tree with some parts replaced."""
    if isinstance(tree, list):
        return [with_others(part, new) for part in tree]
    if not isinstance(tree, ast.AST) or tree in new:
        return new.get(tree, tree) if isinstance(tree, ast.AST) else tree
    parts = {field: with_others(part, new) for field, part in ast.iter_fields(tree)}
    return ast.copy_location(type(tree)(**parts), tree)


def function_of(tree: Any, file: str, names: dict[str, Any]) -> Callable:
    """The function that a changed tree defines, with these global names."""
    body = ast.Assign([ast.Name("made_", ast.Store())], tree) if isinstance(tree, ast.Lambda) else \
        ast.FunctionDef("made_", tree.args, tree.body, decorator_list=[])
    return execute(ast.fix_missing_locations(ast.Module([body], [])), file, {**names})["made_"]


def parameters(function: Callable) -> list[str]:
    return list(inspect.signature(function).parameters)


@lru_cache(maxsize=32)
def _functions(text: str) -> list:
    try:
        return [t for t in ast.walk(ast.parse(text)) if isinstance(t, ast.Lambda | ast.FunctionDef)]
    except SyntaxError:
        return []


def _first(tree: Any) -> int:
    return min([tree.lineno, *(d.lineno for d in getattr(tree, "decorator_list", []))])


def _compiled(tree: Any, code: Any) -> bool:
    """Whether the tree compiles to this code."""
    if not isinstance(tree, ast.Lambda):
        return tree.name == code.co_name
    body = tree.body
    return code.co_name == "<lambda>" and (
        body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in code.co_positions()
