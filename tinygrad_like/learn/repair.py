"""The smallest change to a rule's source that makes it right: each is tried by running the rule that it makes.

A repair is a proof by example: at every point the changed rule gives what differences give. `CHANGES` lists what is
tried, the likely mistakes first: a name for another, a condition, a sign, one function for another, a factor, a sum.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import ops
from ..transforms.codegen import execute
from .source import Source, namespace

PATIENCE = 1.0  # how many times as long a search may take, as on a machine that has other work

# A kind of mistake, what stands there, and what may be meant. A, B and C are any expressions, E is a name, a call or
# two operands, N a name of an array and M each other one, K a number. `<` is any comparison, f any function.
CHANGES = """
name        N           M
condition   A < B       A < B | A <= B | A > B | A >= B
condition   f(A, B, C)  f(A, C, B)
name        N           M
sign        A + B       A - B
sign        A - B       A + B
operator    A * B       A / B | A + B | A - B
operator    A / B       A * B | A + B | A - B
operator    A // B      A / B
sign        -A          A
sign        E           -E
calls
order       A - B       B - A
order       A / B       B / A
order       A ** B      B ** A
order       A @ B       B @ A
transposed  A.T         A
constant    K           0 | 1 | 2 | 3 | 0.5 | -K | K + 1 | K - 1 | 2 * K | K / 2 | 1 / K
name        K           M
term        K           K + M | K - M
term        A + B       A | B
term        A - B       A | B
factor      A * B       A | B
factor      A / B       A | B
operator    A + B       A * B
operator    A - B       A * B
factor      E           E * M | E / M | 2 * E | 3 * E | 0.5 * E
factor      N           N * N
term        E           1 + E | 1 - E | E - 1 | E + 1 | E - 0.5 | E + 0.5
term        N           N - M | N + M
sum         E           _ops.sum(E, axis=axis, keepdim=True)
mean        E           _ops.mean(E, axis=axis, keepdim=True)
sum         E           _ops.sum(E, axis=-1, keepdim=True) | _ops.sum(E, axis=0, keepdim=True)
mean        E           _ops.mean(E, axis=-1, keepdim=True) | _ops.mean(E, axis=0, keepdim=True)
transposed  E           _ops.transpose(E, -1, -2) | _ops.flip(E, axis=axis)
sum         E           _ops.cumsum(E, axis=axis)
function    E           _ops.exp(E) | _ops.log(E) | _ops.sign(E) | _ops.square(E) | _ops.sqrt(E)
term        E           g - E | out - E
name        E           M
"""
_RELATED = [
    {"sin", "cos", "tan", "tanh", "sinh", "cosh"}, {"exp", "log", "expm1", "log1p", "exp2", "log2"},
    {"sqrt", "rsqrt", "square", "reciprocal", "abs", "sign"}, {"log", "reciprocal"},
    {"sum", "mean", "max", "min", "cumsum", "prod"}, {"sum_over", "mean_over"}, {"maximum", "minimum"},
    {"tril", "triu"}, {"sigmoid", "tanh", "relu", "softplus"}, {"fold", "unfold"},
    {"sin", "cos", "exp", "log", "sqrt", "square", "neg"},
]
_SHAPES = {"transpose", "permute", "flip", "roll", "reshape", "inverse", "swapaxes", "T"}
_SUMS = {"sum", "mean", "sum_over", "mean_over", "sum_to", "spread"}


class Row(NamedTuple):
    """A line of `CHANGES`."""

    kind: str
    old: Any
    new: Sequence[str]


def _rows(text: str) -> Iterator[Row]:
    for line in text.strip().splitlines():
        kind, old, new = (*re.split(r"\s{2,}", line), "f", "")[:3]
        yield Row(kind, ast.parse(old, mode="eval").body, new.split(" | "))


ROWS = tuple(_rows(CHANGES))
NAMES, CONDITIONS, REST = ROWS[:1], ROWS[1:4], ROWS[1:]


class Repair(NamedTuple):
    """A kind of mistake, the wrong text, and the right one."""

    kind: str
    old: str
    new: str
    line: int


def find(rule: Callable, where: Source, names: Sequence[str], available: Sequence[str], arrays: Sequence[str],
         right: Callable[[Callable, list[str]], bool], rows: Sequence[Row], seconds: float) -> Repair | None:
    """The first change among `rows` that is `right`, called with the changed rule and its parameters after g.

    available: all that a rule may name; arrays: those that stand for floating numbers, which may stand for each other.
    """
    if where.tree is None:
        return None
    seen, until = {ast.dump(where.tree)}, time.thread_time() + PATIENCE * seconds
    space, known = {**namespace(rule), "_ops": ops}, [*arrays, "g"]
    tree: Any = ast.parse(ast.unparse(where.tree)).body[0]  # a copy
    tree = tree.value if isinstance(tree, ast.Expr) else tree
    line_of = {id(b): a.lineno for a, b in zip(_expressions(where.tree), _expressions(tree), strict=True)}

    def fits() -> bool:
        made = _made(tree, space, names, available)
        return made is not None and right(*made)

    for row in rows:
        if rows is NAMES and (found := _everywhere(tree, arrays, fits)) is not None:
            return Repair("name", *found, where.line)
        for parent, field, k, node in list(_slots(tree)):
            if rows is NAMES and isinstance(parent, ast.Compare):
                continue  # where a condition on another name happens to hold, another mistake is more likely
            for kind, new in _calls(node, available, space) if row.kind == "calls" else _changed(row, node, known):
                if time.thread_time() > until:
                    return None
                _put(parent, field, k, new)
                key = ast.dump(tree)
                if key not in seen and not seen.add(key) and fits():  # type: ignore[func-returns-value]
                    return Repair(kind, *_told(parent, field, k, node, new), line_of.get(id(node), where.line))
                _put(parent, field, k, node)
    return None


def _told(parent: Any, field: str, k: int | None, node: Any, new: Any) -> tuple[str, str]:
    """The wrong text and the right one; a number with its surroundings."""
    if not isinstance(node, ast.Constant) or not isinstance(parent, ast.expr):
        return ast.unparse(node), ast.unparse(new)
    after = ast.unparse(parent)
    _put(parent, field, k, node)
    return ast.unparse(parent), after


def _everywhere(tree: Any, known: Sequence[str], fits: Callable[[], bool]) -> tuple[str, str] | None:
    """A name, and the one that should stand in all places where it stands."""
    places = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    for old in dict.fromkeys(n.id for n in places if n.id in known):
        here = [n for n in places if n.id == old]
        for new in known if len(here) > 1 else ():
            for n in here:
                n.id = new
            found = new != old and fits()
            for n in here:
                n.id = old
            if found:
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
            if isinstance(parent, ast.arguments | ast.arg) or field in ("decorator_list", "returns", "annotation") or \
                    isinstance(parent, ast.Call) and field == "func":
                continue
            for k, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(part, ast.expr) and not isinstance(getattr(part, "ctx", None), ast.Store):
                    yield parent, field, k, part


def _put(parent: Any, field: str, k: int | None, node: Any) -> None:
    if k is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[k] = node


# What may stand there instead -----------------------------------------------------------------------------------------


def _changed(row: Row, node: Any, known: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The variants of an expression by a row of the table."""
    found: dict[str, Any] = {}
    if not _matches(row.old, node, found, known):
        return
    for text in row.new:
        for name in known if "M" in text else [""]:
            filled = _Filled({**found, "M": ast.Name(name, ast.Load())}).visit(ast.parse(text, mode="eval").body)
            if "K" in found and "M" not in text:
                try:
                    filled = ast.parse(repr(eval(compile(ast.fix_missing_locations(ast.Expression(filled)), "", "eval"),
                                                 {})), mode="eval").body
                except ZeroDivisionError:
                    continue
            yield row.kind, filled


class _Filled(ast.NodeTransformer):
    """A pattern with expressions in place of its letters."""

    def __init__(self, found: dict[str, Any]):
        self.found = found

    def visit_Name(self, node: ast.Name) -> Any:
        return self.found.get(node.id, node)


def _matches(pattern: Any, node: Any, found: dict[str, Any], known: Sequence[str]) -> bool:
    """Whether an expression has the form of a pattern; `found` gets what its letters stand for."""
    if isinstance(pattern, ast.Name) and len(pattern.id) == 1:
        found[pattern.id] = node
        return {"N": isinstance(node, ast.Name) and node.id in known,
                "K": isinstance(node, ast.Constant) and type(node.value) in (int, float),
                "E": isinstance(node, ast.Name | ast.Call | ast.BinOp)}.get(pattern.id, isinstance(node, ast.expr))
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(map(lambda p, n: _matches(p, n, found, known), pattern, node))
    if isinstance(pattern, ast.cmpop | ast.expr_context) or not isinstance(pattern, ast.AST):
        return isinstance(pattern, ast.AST) or pattern == node
    return type(pattern) is type(node) and all(
        _matches(getattr(pattern, f), getattr(node, f), found, known)
        for f in pattern._fields if f != "keywords" and getattr(pattern, f, None) is not None)


def _calls(node: Any, known: Sequence[str], space: dict) -> Iterator[tuple[str, Any]]:
    """cos for sin, mean for sum; arguments in the wrong order; options; a call that should not be there."""
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for family in _RELATED:
        for other in sorted(family - {name}) if name in family else ():
            owner = node.func.value if isinstance(node.func, ast.Attribute) else ast.Name("_ops", ast.Load())
            func: Any = ast.Name(other, ast.Load()) if isinstance(node.func, ast.Name) and other in space else \
                ast.Attribute(owner, other, ast.Load())
            yield ("mean" if {name, other} <= _SUMS else "function"), ast.Call(func, node.args, node.keywords)
    if len(node.args) > 1:
        yield "order", ast.Call(node.func, [*node.args[1::-1], *node.args[2:]], node.keywords)
    kind = "transposed" if name in _SHAPES else "sum" if name in _SUMS else "function"
    inside = [node.func.value] if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name) \
        else []
    for part in [*node.args, *inside]:
        yield kind, part
    if name in _SUMS and not any(k.arg in ("keepdim", "keepdims") for k in node.keywords):
        for option in ("keepdim", "keepdims"):
            kept = ast.keyword(option, ast.Constant(True))
            yield "option", ast.Call(node.func, node.args, [*node.keywords, kept])
    operands = node.args or ([node.func.value] if isinstance(node.func, ast.Attribute) else [])
    if name in ("sum", "mean") and not node.keywords and len(operands) == 1:
        for axis in "axis", "-1", "0":
            along: Any = ast.parse(f"_ops.{name}(A, axis={axis}, keepdim=True)", mode="eval").body
            yield "sum", _Filled({"A": operands[0]}).visit(along)
    for i, keyword in enumerate(node.keywords):
        for value in _options(keyword, known):
            changed = [ast.keyword(keyword.arg, value) if j == i else k for j, k in enumerate(node.keywords)]
            yield "option", ast.Call(node.func, node.args, changed)
        yield "option", ast.Call(node.func, node.args, node.keywords[:i] + node.keywords[i + 1:])


def _options(keyword: Any, known: Sequence[str]) -> Iterator[Any]:
    value = keyword.value
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        yield ast.Constant(not value.value)
    elif keyword.arg in known and not (isinstance(value, ast.Name) and value.id == keyword.arg):
        yield ast.Name(keyword.arg, ast.Load())
    elif keyword.arg not in ("shape", "index"):
        yield ast.UnaryOp(ast.USub(), value)
        for n in ("0", "1", "-1"):
            yield ast.parse(n, mode="eval").body
