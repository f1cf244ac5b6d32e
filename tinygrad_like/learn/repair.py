"""The smallest change to a rule's source that makes it right: each is tried by running the rule that it makes.

A repair is a proof by example: at every point the changed rule gives what differences give. Changes come in families,
the likely mistakes first: a name for another, a sign, a comparison, one function for another, a factor, a sum.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import ops
from ..transforms.codegen import execute
from .source import Source, namespace

_RELATED = [
    {"sin", "cos", "tan", "tanh", "sinh", "cosh"}, {"exp", "log", "expm1", "log1p", "exp2", "log2"},
    {"sqrt", "rsqrt", "square", "reciprocal", "abs", "sign"}, {"log", "reciprocal"},
    {"sum", "mean", "max", "min", "cumsum", "prod"},
    {"sum_over", "mean_over"}, {"maximum", "minimum"}, {"tril", "triu"}, {"sigmoid", "tanh", "relu", "softplus"},
    {"fold", "unfold"}, {"sin", "cos", "exp", "log", "sqrt", "square", "neg"},
]
_SHAPES = {"transpose", "permute", "flip", "roll", "reshape", "inverse", "swapaxes", "T"}
PATIENCE = 1.0  # how many times as long a search may take, as on a machine that has other work
_SUMS = {"sum", "mean", "sum_over", "mean_over", "sum_to", "spread"}


class Repair(NamedTuple):
    """What kind of mistake it was, what stands there, and what should."""

    kind: str
    old: str
    new: str
    line: int


def find(rule: Callable, where: Source, names: Sequence[str], available: Sequence[str], arrays: Sequence[str],
         right: Callable[[Callable, list[str]], bool], families: Sequence[Callable], seconds: float) -> Repair | None:
    """The first change among `families` that is `right`, called with the changed rule and its parameters after g.

    available: all that a rule may name; arrays: those that stand for floating numbers, which may stand for each other.
    """
    if where.tree is None:
        return None
    seen, until = {ast.dump(where.tree)}, time.thread_time() + PATIENCE * seconds
    space = {**namespace(rule), "_ops": ops}
    shapes, known = [n for n in available if n.endswith("_shape")], [*arrays]
    tree: Any = ast.parse(ast.unparse(where.tree)).body[0]  # a copy
    tree = tree.value if isinstance(tree, ast.Expr) else tree
    lines = [(a.lineno, b) for a, b in zip(_expressions(where.tree), _expressions(tree), strict=True)]
    line_of = {id(b): n for n, b in lines}
    for family in families:
        if family is other_names:
            found = _everywhere(tree, known, lambda: _made(tree, space, names, [*available, *shapes]), right)
            if found is not None:
                return Repair("name", *found, where.line)
        for parent, field, k, node in list(_slots(tree)):
            if family is other_names and isinstance(parent, ast.Compare):
                continue  # where a condition on another name happens to hold, another mistake is more likely
            for kind, new in family(node, available if family in (functions, sums) else known, space):
                if time.thread_time() > until:
                    return None
                _put(parent, field, k, new)
                key = ast.dump(tree)
                if key not in seen:
                    seen.add(key)
                    made = _made(tree, space, names, [*available, *shapes])
                    if made is not None and right(*made):
                        line = line_of.get(id(node), where.line)
                        return Repair(kind.split()[-1], *_told(parent, field, k, node, new), line)
                _put(parent, field, k, node)
    return None


def _told(parent: Any, field: str, k: int | None, node: Any, new: Any) -> tuple[str, str]:
    """What stood there and what should; a number with what is around it."""
    if not isinstance(node, ast.Constant) or not isinstance(parent, ast.expr):
        return ast.unparse(node), ast.unparse(new)
    after = ast.unparse(parent)
    _put(parent, field, k, node)
    return ast.unparse(parent), after


def _everywhere(tree: Any, known: Sequence[str], made: Callable, right: Callable) -> tuple[str, str] | None:
    """A name, and the one that should stand in all places where it stands."""
    places = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    for old in dict.fromkeys(n.id for n in places if n.id in known):
        here = [n for n in places if n.id == old]
        for new in known if len(here) > 1 else ():
            for n in here:
                n.id = new
            changed = made()
            fits = new != old and changed is not None and right(*changed)
            for n in here:
                n.id = old
            if fits:
                return old, new
    return None


def _made(tree: Any, space: dict, names: Sequence[str], available: Sequence[str]) -> tuple[Callable, list[str]] | None:
    """The function of a changed tree, with parameters for names that it did not use before."""
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    own = [a.arg for a in tree.args.args]
    extra = [n for n in available if n in used and n not in own]
    before = tree.args.args
    tree.args.args = [*before, *(ast.arg(n) for n in extra)]
    try:
        if isinstance(tree, ast.Lambda):
            body: ast.stmt = ast.Assign([ast.Name("made_", ast.Store())], tree)
        else:
            body = ast.FunctionDef("made_", tree.args, tree.body, decorator_list=[])
        module = ast.fix_missing_locations(ast.Module([body], []))
        made = execute(module, "<repair>", {**space})["made_"]
    except (SyntaxError, ValueError, TypeError):
        return None
    finally:
        tree.args.args = before
    return made, [*names, *extra]


def _expressions(tree: ast.AST) -> list[Any]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.expr)]


def _slots(tree: Any) -> Iterator[tuple[Any, str, int | None, Any]]:
    """Every place that holds an expression, but for what is called, defaults and annotations."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(parent, ast.arguments | ast.arg) or field in ("decorator_list", "returns", "annotation"):
                continue
            if isinstance(value, ast.expr) and not (isinstance(parent, ast.Call) and field == "func"):
                if not isinstance(getattr(value, "ctx", None), ast.Store):
                    yield parent, field, None, value
            elif isinstance(value, list):
                for k, part in enumerate(value):
                    if isinstance(part, ast.expr) and not isinstance(getattr(part, "ctx", None), ast.Store):
                        yield parent, field, k, part


def _put(parent: Any, field: str, k: int | None, node: Any) -> None:
    if k is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[k] = node


def _name(n: str) -> ast.Name:
    return ast.Name(n, ast.Load())


def _call(f: str, *args: Any, **options: Any) -> ast.Call:
    return ast.Call(ast.Attribute(_name("_ops"), f, ast.Load()), list(args),
                    [ast.keyword(k, v) for k, v in options.items()])


def _constant(value: Any) -> Any:
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


# Families: each gives (kind, what should stand there) for an expression that stands there -----------------------------


def other_names(node: Any, known: Sequence[str], space: dict) -> Iterator[tuple[str, Any]]:
    """x where out was meant, and the like."""
    if isinstance(node, ast.Name) and node.id in (*known, "g"):
        for n in (*known, "g"):
            if n != node.id:
                yield "name", _name(n)


def signs(node: Any, known: Sequence[str], space: dict) -> Iterator[tuple[str, Any]]:
    """A minus that is missing or one too many, plus for minus, times for divided by."""
    swaps: dict[type, Any] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
                              ast.FloorDiv: ast.Div}
    if isinstance(node, ast.BinOp) and type(node.op) in swaps:
        kind = "sign" if isinstance(node.op, ast.Add | ast.Sub) else "operator"
        yield kind, ast.BinOp(node.left, swaps[type(node.op)](), node.right)
        if kind == "operator":
            yield "operator", ast.BinOp(node.left, ast.Add(), node.right)
            yield "operator", ast.BinOp(node.left, ast.Sub(), node.right)
        elif not (isinstance(node.left, ast.Constant) and node.left.value == 1):  # 1 * x is a term one too many
            yield "operator", ast.BinOp(node.left, ast.Mult(), node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand
    elif isinstance(node, ast.Name | ast.Call | ast.BinOp):
        yield "sign", ast.UnaryOp(ast.USub(), node)


def comparisons(node: Any, known: Sequence[str], space: dict) -> Iterator[tuple[str, Any]]:
    """The wrong side of a condition."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for op in (ast.Lt, ast.LtE, ast.Gt, ast.GtE):
            if not isinstance(node.ops[0], op):
                yield "condition", ast.Compare(node.left, [op()], node.comparators)
    if isinstance(node, ast.Call) and len(node.args) == 3:
        a, b, c = node.args
        yield "condition", ast.Call(node.func, [a, c, b], node.keywords)
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
        for n in known:
            if n != node.left.id:
                yield "name", ast.Compare(_name(n), node.ops, node.comparators)


def functions(node: Any, known: Sequence[str], space: dict) -> Iterator[tuple[str, Any]]:
    """cos for sin, mean for sum; arguments in the wrong order; a call that should not be there."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for family in _RELATED:
            for other in sorted(family - {name}) if name in family else ():
                func = ast.Attribute(node.func.value, other, ast.Load()) if isinstance(node.func, ast.Attribute) else \
                    _name(other) if other in space else ast.Attribute(_name("_ops"), other, ast.Load())
                yield ("mean" if {name, other} <= _SUMS else "function"), ast.Call(func, node.args, node.keywords)
        if len(node.args) > 1:
            yield "order", ast.Call(node.func, [*node.args[1::-1], *node.args[2:]], node.keywords)
        kind = "extra " + ("transposed" if name in _SHAPES else "sum" if name in _SUMS else "function")
        for part in node.args:
            yield kind, part
        if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
            yield kind, node.func.value
        if name in _SUMS and not any(k.arg in ("keepdim", "keepdims") for k in node.keywords):
            for option in ("keepdim", "keepdims"):
                kept = ast.keyword(option, ast.Constant(True))
                yield "option", ast.Call(node.func, node.args, [*node.keywords, kept])
        if name in ("std", "var") and not any(k.arg in ("correction", "ddof") for k in node.keywords):
            for c in (0, 1):  # by n, as NumPy does, or by n - 1, as ops do
                given = ast.keyword("correction", ast.Constant(c))
                yield "option", ast.Call(node.func, node.args, [*node.keywords, given])
        for i, keyword in enumerate(node.keywords):
            for value in _options(keyword, known):
                changed = [ast.keyword(keyword.arg, value) if j == i else k for j, k in enumerate(node.keywords)]
                yield "option", ast.Call(node.func, node.args, changed)
            yield "option", ast.Call(node.func, node.args, node.keywords[:i] + node.keywords[i + 1:])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.Pow | ast.MatMult):
        yield "order", ast.BinOp(node.right, node.op, node.left)
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield "transposed", node.value


def _options(keyword: Any, known: Sequence[str]) -> Iterator[Any]:
    value = keyword.value
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        yield ast.Constant(not value.value)
    elif keyword.arg in known and not (isinstance(value, ast.Name) and value.id == keyword.arg):
        yield _name(keyword.arg)
    elif keyword.arg not in ("shape", "index"):
        yield ast.UnaryOp(ast.USub(), value)
        for n in (0, 1, -1):
            yield _constant(n)


def constants(node: Any, known: Sequence[str], space: dict) -> Iterator[tuple[str, Any]]:
    """Another number, or a name in its place."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        c = node.value
        for new in dict.fromkeys([0, 1, 2, 3, 0.5, -c, c + 1, c - 1, 2 * c, c / 2, *([1 / c] if c else [])]):
            if new != c:
                yield "constant", _constant(new)
        for n in known:
            yield "name", _name(n)
            yield "missing term", ast.BinOp(node, ast.Add(), _name(n))
            yield "missing term", ast.BinOp(node, ast.Sub(), _name(n))


def removals(node: Any, known: Sequence[str], space: dict) -> Iterator[tuple[str, Any]]:
    """A factor or a term one too many."""
    if isinstance(node, ast.BinOp):
        kind = "extra term" if isinstance(node.op, ast.Add | ast.Sub) else "extra factor"
        yield kind, node.left
        yield kind, node.right


def factors(node: Any, known: Sequence[str], space: dict) -> Iterator[tuple[str, Any]]:
    """A factor or a power that is missing."""
    if not isinstance(node, ast.Name | ast.Call | ast.BinOp | ast.UnaryOp):
        return
    for n in ("g", *known):
        yield "missing factor", ast.BinOp(node, ast.Mult(), _name(n))
        yield "missing factor", ast.BinOp(node, ast.Div(), _name(n))
    for c in (2, 3, 0.5):
        yield "factor", ast.BinOp(ast.Constant(c), ast.Mult(), node)
    if isinstance(node, ast.Name):
        yield "missing factor", ast.BinOp(node, ast.Mult(), node)
    for c in (1, -1):
        yield "missing term", ast.BinOp(ast.Constant(1), ast.Add() if c > 0 else ast.Sub(), node)
    for c in (1, 0.5):
        yield "missing term", ast.BinOp(node, ast.Sub(), ast.Constant(c))
        yield "missing term", ast.BinOp(node, ast.Add(), ast.Constant(c))
    for n in known:
        if isinstance(node, ast.Name) and n != node.id:
            yield "missing term", ast.BinOp(node, ast.Sub(), _name(n))
            yield "missing term", ast.BinOp(node, ast.Add(), _name(n))


def sums(node: Any, known: Sequence[str], space: dict) -> Iterator[tuple[str, Any]]:
    """A sum, a mean or a transposition that is missing."""
    if not isinstance(node, ast.Name | ast.Call | ast.BinOp):
        return
    keep = ast.Constant(True)
    for axis in [_name("axis")] if "axis" in known else [_constant(-1), _constant(0)]:
        yield "missing sum", _call("sum", node, axis=axis, keepdim=keep)
        yield "mean", _call("mean", node, axis=axis, keepdim=keep)
    yield "transposed", _call("transpose", node, _constant(-1), _constant(-2))
    for f in ("flip", "cumsum"):
        if "axis" in known:
            yield "transposed" if f == "flip" else "missing sum", _call(f, node, axis=_name("axis"))
    for f in ("exp", "log", "sign", "square", "sqrt"):
        yield "function", _call(f, node)
    for n in ("g", "out"):
        if ast.unparse(node) != n:
            yield "missing term", ast.BinOp(_name(n), ast.Sub(), node)


NAMES: tuple[Callable, ...] = (other_names,)
REST: tuple[Callable, ...] = (comparisons, signs, functions, constants, removals, factors, sums)
