"""Puzzles: the shipped ops, each with its forward and without its rule.

The forward and the solution are the source of `tinygrad_like/ops`, cut out as it stands. Of ops that run in kernels
(`TEXTBOOK`) they are the formulas of the op's page, in NumPy; the tests compare them with the op.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import textwrap
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .. import ops
from . import exercises
from .files import Report, changes
from .source import source

Tree = Any


class Puzzle(NamedTuple):
    """An op to find the rule of: its name, the calls at which it is checked, the page with its derivation."""

    name: str
    examples: Sequence[str]
    page: str = ""

    @property
    def derivation(self) -> dict:
        return pages()[self.page or self.name]


@lru_cache(maxsize=1)
def pages() -> dict[str, dict]:
    """Name of an op -> its formula, the same in signs, and its derivation in three hints: what docs/ops say."""
    return json.loads((Path(__file__).parent / "pages.json").read_text(encoding="utf-8"))


_PAIR = ["(2, 3), (2, 3)", "(3, 3), (3, 3)"]
_ROWS = [*_PAIR, "(2, 3), (3,)"]
_ONE = ["(2, 3)", "(3, 3)", "(4,)"]
PUZZLES = [
    Puzzle("add", _ROWS), Puzzle("sub", _ROWS), Puzzle("mul", _ROWS), Puzzle("div", _ROWS), Puzzle("square", _ONE),
    Puzzle("exp", _ONE), Puzzle("log", _ONE), Puzzle("cos", _ONE), Puzzle("sqrt", _ONE), Puzzle("sigmoid", _ONE),
    Puzzle("tanh", _ONE), Puzzle("relu", _ONE), Puzzle("maximum", _PAIR),
    Puzzle("where", ["np.array([[True, False, True], [False, False, True]]), (2, 3), (2, 3)"]),
    Puzzle("permute", ["(2, 3, 4), axes=(1, 2, 0)", "(3, 3), axes=(1, 0)"]),
    Puzzle("expand", ["(2, 1), shape=(2, 3)", "(3,), shape=(2, 3)"]),
    Puzzle("sum", ["(2, 3), axis=0", "(3, 3), axis=1", "(2, 3, 4), axis=(0, 2), keepdim=True"]),
    Puzzle("mean", ["(2, 3), axis=0", "(3, 3), axis=1", "(2, 3, 4), axis=(0, 2), keepdim=True"]),
    Puzzle("max", ["(2, 3), axis=0", "(3, 3), axis=1, keepdim=True"]),
    Puzzle("cumsum", ["(2, 3), axis=0", "(3, 3), axis=1"]),
    Puzzle("batched_matmul", ["(2, 3), (3, 4)", "(3, 3), (3, 3)", "(2, 2, 3), (2, 3, 2)"]),
    Puzzle("softmax", ["(2, 3), axis=0", "(3, 3), axis=1"]),
    Puzzle("batch_norm", ["(5, 3), (3,), (3,)", "(2, 3, 2, 2), (3,), (3,)"], "layer_norm"),
    Puzzle("conv2d", ["(2, 2, 3, 4), (3, 2, 2, 3)", "(1, 1, 3, 3), (1, 1, 2, 2)"]),
]

# name -> (what the puzzle has, the rule, the rule without what is to be found)
TEXTBOOK = {
    "softmax": ('''\
@primitive
def softmax(x, *, axis=-1):
    """e^x / (the sum of e^x) along an axis. To shift x does not change that, and keeps e^x below 1."""
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)
''', '''\
softmax.vjp(x=lambda g, out, axis: out * (g - sum(g * out, axis=axis, keepdim=True)))
''', '''\
softmax.vjp(x=lambda g: ...)
'''),
    "batched_matmul": ('''\
@primitive
def batched_matmul(a, b):
    """Products of the matrices in the last two axes; the axes before them broadcast. a (..., m, k), b (..., k, n)."""
    return np.matmul(a, b)
''', '''\
batched_matmul.vjp(a=lambda g, b: batched_matmul(g, transpose(b, -1, -2)),
                   b=lambda g, a: batched_matmul(transpose(a, -1, -2), g))
''', '''\
batched_matmul.vjp(a=lambda g: ...,
                   b=lambda g: ...)
'''),
    "batch_norm": ('''\
@composite
def batch_norm(x, weight, bias, *, eps=1e-5):
    """weight * xhat + bias with xhat = rstd (x - mean): each channel by itself, over the batch and the pixels.

    It is defined by ops, from which come the derivatives of every order. What follows computes the same, and its
    gradient, in NumPy, and stands in for it.
    """
    over = (0, *range(2, x.ndim))
    centred = x - mean(x, axis=over, keepdim=True)
    xhat = centred * rsqrt(mean(square(centred), axis=over, keepdim=True) + eps)
    return xhat * per_channel(weight, x) + per_channel(bias, x)


def per_channel(p, x):
    """p (channels,) as (1, channels, 1, ...)."""
    return p.reshape((1, -1, *[1] * (x.ndim - 2)))


def forward(x, weight, bias, *, eps):
    """The output, and what the rule gets as `kept`: xhat, rstd and `over`, the axes of the means."""
    over = (0, *range(2, x.ndim))
    rstd = 1 / np.sqrt(x.var(over, keepdims=True) + eps)
    xhat = rstd * (x - x.mean(over, keepdims=True))
    return xhat * per_channel(weight, x) + per_channel(bias, x), (xhat, rstd, over)
''', '''\
def rule(g, wanted, x, weight, bias, eps, kept):
    xhat, rstd, over = kept
    u = g * per_channel(weight, x)
    dx = rstd * (u - u.mean(over, keepdims=True) - xhat * (u * xhat).mean(over, keepdims=True))
    return [dx, (g * xhat).sum(over), g.sum(over)]


batch_norm.accelerate(forward, rule)
''', '''\
def rule(g, wanted, x, weight, bias, eps, kept):  # one rule for all inputs; g and the others are NumPy arrays here
    xhat, rstd, over = kept
    dx = ...
    dweight = ...
    dbias = ...
    return [dx, dweight, dbias]


batch_norm.accelerate(forward, rule)
'''),
    "conv2d": ('''\
def windows(x, weight):
    """Every patch as a column: (batch, in * kh * kw, patches)."""
    return unfold(x, kernel_size=weight.shape[2:])


@composite
def conv2d(x, weight):
    """x (batch, in, height, width), weight (out, in, kh, kw): every output pixel is the weights times a patch.

    It is defined by ops, from which come the derivatives of every order. What follows computes the same gradient in
    NumPy, and stands in for it.
    """
    n, out, kh, kw = x.shape[0], *weight.shape[0:1], *weight.shape[2:]
    y = matmul(weight.reshape((out, -1)), windows(x, weight))
    return y.reshape((n, out, x.shape[2] - kh + 1, x.shape[3] - kw + 1))


def forward(x, weight):
    """The output; and what the rule gets as `kept`, which is nothing."""
    return conv2d.definition(x, weight), None
''', '''\
def rule(g, wanted, x, weight, kept):
    pixels = g.reshape(*g.shape[:2], -1)
    columns = weight.reshape(weight.shape[0], -1).T @ pixels
    dx = fold(columns, output_size=x.shape[2:], kernel_size=weight.shape[2:])
    dweight = (pixels @ windows(x, weight).transpose(0, 2, 1)).sum(0).reshape(weight.shape)
    return [dx, dweight]


conv2d.accelerate(forward, rule)
''', '''\
def rule(g, wanted, x, weight, kept):  # one rule for both inputs; g, x and weight are NumPy arrays here
    pixels = g.reshape(*g.shape[:2], -1)  # (batch, out, patches)
    dx = ...       # fold(columns, output_size=..., kernel_size=...) adds columns to where their patches were
    dweight = ...  # windows(x, weight) has the patches as columns
    return [dx, dweight]


conv2d.accelerate(forward, rule)
'''),
}


def text(puzzle: Puzzle, solved: bool = False) -> str:
    """The file of a puzzle; with its rule, if it is to be solved."""
    number = PUZZLES.index(puzzle) + 1
    if puzzle.name in TEXTBOOK:
        forward, answer, blank = TEXTBOOK[puzzle.name]
    else:
        forward, answer, blank = _forward(puzzle), _answer(puzzle), _blank(puzzle)
    used = f"{forward}\n\n{answer}"
    parts = [_opening(puzzle, number), _imports(puzzle, used), forward, answer if solved else blank,
             "\n".join(f"example({puzzle.name}, {e})" for e in puzzle.examples)]
    return "\n\n".join(part.rstrip() for part in parts) + "\n" + ("" if solved else _hints(puzzle))


def _opening(puzzle: Puzzle, number: int) -> str:
    formula = pages()[puzzle.name]["formula"]
    return f'''"""Puzzle {number} of {len(PUZZLES)}: {puzzle.name}

    {formula}

Write the rule: from g, the cotangent of the output, the cotangent of each input. {_may_name(puzzle)}
Write it with operators and ops (exp(x), sum(x, axis=0) ...). Broadcasting is undone for you.

Save the file, and `python -m tinygrad_like.learn puzzles FOLDER --watch`, where FOLDER is that of this file, says
what is right or wrong. Three hints are at the end, each with more of the derivation.
"""'''


def _may_name(puzzle: Puzzle) -> str:
    if "accelerate" in TEXTBOOK.get(puzzle.name, ("",) * 3)[1]:
        return ""
    op = getattr(ops, puzzle.name)
    names = [*op.inputs, "out", *op.options, *(f"{n}_shape" for n in op.inputs)]
    return f"After g a rule\nmay name any of: {', '.join(names)}."


@lru_cache(maxsize=32)
def _module(name: str) -> tuple[Any, str, Tree]:
    op = getattr(ops, name)
    module = inspect.getmodule(op.__wrapped__)
    assert module is not None and module.__file__ is not None
    source = Path(module.__file__).read_text(encoding="utf-8")
    return module, source, ast.parse(source)


def _function(puzzle: Puzzle, name: str) -> Tree:
    return next(n for n in _module(puzzle.name)[2].body if isinstance(n, ast.FunctionDef) and n.name == name)


def _lines(puzzle: Puzzle, first: int, last: int) -> str:
    return "\n".join(_module(puzzle.name)[1].splitlines()[first - 1:last])


def _forward(puzzle: Puzzle) -> str:
    op = getattr(ops, puzzle.name)
    tree = source(op.forward).tree
    if isinstance(tree, ast.Lambda):  # declared by ufunc
        told = op.__doc__.partition("\n\n>>>")[0]  # without the example, which came later
        return (f'@primitive\ndef {op.name}({ast.unparse(tree.args)}):\n    """{told}"""\n'
                f"    return {ast.unparse(tree.body)}")
    return "@primitive\n" + _lines(puzzle, tree.lineno, tree.end_lineno)


def _statement(puzzle: Puzzle) -> Tree:
    """`op.vjp(...)` in the source."""
    for n in _module(puzzle.name)[2].body:
        call = getattr(n, "value", None)
        if isinstance(n, ast.Expr) and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if call.func.attr == "vjp" and getattr(call.func.value, "id", "") == puzzle.name:
                return n
    raise LookupError(f"no rule of {puzzle.name} in its file")


def _answer(puzzle: Puzzle) -> str:
    """The rule as it stands in the source, with a helper that only it uses."""
    statement = _statement(puzzle)
    answer = _lines(puzzle, statement.lineno, statement.end_lineno)
    if "fresh" in answer:  # which only spares a copy
        answer = _without_fresh(puzzle, statement)
    for keyword in statement.value.keywords:
        if isinstance(keyword.value, ast.Name):
            f = _function(puzzle, keyword.value.id)
            answer = f"{_lines(puzzle, f.lineno, f.end_lineno)}\n\n\n{answer}"
    return answer


def _without_fresh(puzzle: Puzzle, statement: Tree) -> str:
    rules = []
    for keyword in statement.value.keywords:
        if isinstance(keyword.value, ast.Call) and getattr(keyword.value.func, "id", "") == "fresh":
            keyword.value = keyword.value.args[0]
        rules.append(f"{keyword.arg}={ast.get_source_segment(_module(puzzle.name)[1], keyword.value)}")
    return f"{puzzle.name}.vjp(" + (",\n" + " " * (len(puzzle.name) + 5)).join(rules) + ")"


def _blank(puzzle: Puzzle) -> str:
    rules = [f"{k.arg}=lambda g: ..." for k in _statement(puzzle).value.keywords]
    return f"{puzzle.name}.vjp(" + (",\n" + " " * (len(puzzle.name) + 5)).join(rules) + ")"


def _imports(puzzle: Puzzle, code: str) -> str:
    """Imports for what a file uses; the same with and without the rule, for the names alone give little away."""
    module = _module(puzzle.name)[0] if puzzle.name not in TEXTBOOK else None
    tree = ast.parse(code)
    bound = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} | {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} | {
        n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    used = sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - bound)
    private = [n for n in used if module is not None and hasattr(module, n)
               and getattr(module, n) is not getattr(ops, n, getattr(builtins, n, None))
               and n not in ("np", "primitive", "math")]
    lines = ["import math"] if "math" in used else []
    lines += ["import numpy as np", "",
              "from tinygrad_like import " + ("composite" if "@composite" in code else "primitive"),
              "from tinygrad_like.learn import example", "from tinygrad_like.ops import *  # noqa: F403"]
    if private and module is not None:
        lines.append(f"from {module.__name__} import {', '.join(private)}")
        told = [(n, (inspect.getdoc(getattr(module, n)) or "").partition("\n")[0]) for n in private]
        lines += [""] + [f"# {n}: {doc}" for n, doc in told if doc and n not in ("axes", "one_axis", "nonempty")]
    return "\n".join(lines)


def _hints(puzzle: Puzzle) -> str:
    told = ["\n\n" + "\n" * 20]
    for n, hint in enumerate(puzzle.derivation["hints"], 1):
        lines = [f"#   {line}".rstrip() for line in _wrapped(hint)]
        told.append(f"# Hint {n}\n" + "\n".join(lines) + "\n" * (15 if n < 3 else 1))
    return "\n".join(told)


def _wrapped(text: str, width: int = 110) -> list[str]:
    """Lines that are too long broken, what is left of one put before the next; formulas keep their lines."""
    lines, rest = [], ""
    for line in text.splitlines():
        if rest and not line.strip():
            lines.append(rest)
            rest = ""
        *full, last = textwrap.wrap(f"{rest} {line}" if rest else line, width) or [""]
        lines += full
        rest = last if full else ""
        if not rest:
            lines.append(last)
    return lines + [rest] * bool(rest)


def file_name(puzzle: Puzzle) -> str:
    return f"{PUZZLES.index(puzzle) + 1:02}_{puzzle.name}.py"


def make(folder: Path) -> list[Path]:
    """Write the puzzles that are not there yet; returns the paths of all."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {file_name(puzzle): text(puzzle) for puzzle in PUZZLES}
    for number, name in enumerate(exercises.NAMES, len(PUZZLES) + 1):
        texts[f"{number}_{name}.py"] = exercises.text(name)
    for name, puzzle in texts.items():
        if not (folder / name).exists():
            (folder / name).write_text(puzzle, encoding="utf-8")
    return [folder / name for name in texts]


@cache
def _report(path: Path, saved: int) -> Report:
    """The report on a file as it was saved."""
    return exercises.checked(path)


def status(paths: Sequence[Path]) -> str:
    """Which puzzles are solved, and which is next."""
    reports = [(path, _report(path, path.stat().st_mtime_ns)) for path in paths if path.exists()]
    solved = [path for path, report in reports if report.right]
    lines = [f"{len(solved)} of {len(paths)} solved in {paths[0].parent}"]
    for path, report in reports:
        kinds = sorted({f.kind for f in report.findings}) or ["cannot be checked"]
        lines.append(f"    {path.name:24} {'solved' if report.right else ', '.join(kinds)}")
    left = [path for path in paths if path not in solved]
    if left:
        lines.append(f"Next: open {left[0]}, and run this with --watch beside it.")
    return "\n".join(lines)


def watch(paths: Sequence[Path], show: Callable[[str], None] = print, pause: float = 0.3) -> None:
    """Check each puzzle when it is saved, until interrupted; those that lie there first count as seen."""
    show(f"Open {paths[0]} in an editor, write the rule, and save. Every file of this folder is checked when you save "
         "it. Ctrl-C ends.")
    saved = changes(lambda: list(paths), pause)
    next(saved)
    for files in saved:
        for path in files:
            report = exercises.checked(path)
            show(f"\n{path.name}\n{report}" + (f"\nSolved. {status(paths).splitlines()[0]}" if report.right else ""))
