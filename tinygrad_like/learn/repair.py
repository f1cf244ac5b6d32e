"""Find the smallest change of a rule's source that makes it right, by running changed rules.

A repair is a proof by example: at every point, the changed rule agrees with finite differences. `CHANGES` lists the
attempts, likely mistakes first: a wrong name, condition, sign or function, a missing factor or sum.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from .rule import Diagnosis, Rule, unsaid
from .source import function_of, namespace, with_others

PATIENCE = 1.0  # multiplies the time limit of a search, for busy machines

# A kind of mistake, the wrong expression, and possible right ones. A, B and C are any expressions; E is a name, a call
# or an operation; N is the name of an array, M each other one, and K a number. `<` is any comparison, f any function.
# Inside a comparison only conditions and constants are changed, since other mistakes are more likely elsewhere.
CHANGES = """
name        N           M
condition   A < B       A < B | A <= B | A > B | A >= B
condition   f(A, B, C)  f(A, C, B)
sign        A + B       A - B
sign        A - B       A + B
operator    A * B       A / B | A + B | A - B
operator    A / B       A * B | A + B | A - B
operator    A // B      A / B
mean        A.size      A.shape[axis] | A.shape[-1] | A.shape[0] | A.shape[1] | out.size
mean        len(A)      A.shape[-1] | A.size
sign        -A          A
sign        E           -E
calls
order       A - B       B - A
order       A / B       B / A
order       A ** B      B ** A
order       A @ B       B @ A | A.T @ B | A @ B.T | B.T @ A | B @ A.T
transposed  A.T         A
shape       N           N[..., None]
constant    K           0 | 1 | 2 | 3 | 0.5 | -K | K + 1 | K - 1 | 2 * K | K / 2 | 1 / K
constant    K           M
term        K           K + M | K - M
term        A + B       A | B
term        A - B       A | B
factor      A * B       A | B
factor      A / B       A | B
operator    A + B       A * B
operator    A - B       A * B
factor      E           E * M | E / M | 2 * E | 3 * E | 0.5 * E
factor      N           N * N
condition   E           E * (M > 0) | E * (M < 0)
factor      E           E * _ops.sign(M)
term        E           1 + E | 1 - E | E - 1 | E + 1 | E - 0.5 | E + 0.5
term        N           N - M | N + M
term        N           N - _ops.mean(N, axis=0, keepdim=True) | N - _ops.mean(N, axis=-1, keepdim=True)
sum         E           _ops.sum(E, axis=axis, keepdim=True)
mean        E           _ops.mean(E, axis=axis, keepdim=True)
sum         E           _ops.sum(E, axis=-1, keepdim=True) | _ops.sum(E, axis=0, keepdim=True)
mean        E           _ops.mean(E, axis=-1, keepdim=True) | _ops.mean(E, axis=0, keepdim=True)
transposed  E           _ops.transpose(E, -1, -2) | _ops.flip(E, axis=axis) | _ops.flip(E, axis=-1)
transposed  N           _ops.flip(N, axis=0) | _ops.flip(N, axis=(-2, -1)) | 0.5 * (N + N.T)
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
    """A row of `CHANGES`."""

    kind: str
    old: Any
    new: Sequence[str]


def _rows(text: str) -> Iterator[Row]:
    for line in text.strip().splitlines():
        kind, old, new = (*re.split(r"\s{2,}", line), "f", "")[:3]
        yield Row(kind, _parsed(old), new.split(" | "))


def _parsed(text: str) -> Any:
    return ast.parse(text, mode="eval").body


ROWS = tuple(_rows(CHANGES))
NAMES, REST = ROWS[:1], ROWS[1:]


def edited(rule: Rule, rows: Sequence[Row] = REST) -> Diagnosis | None:
    """The first change among `rows` that makes a rule right at every point; within a row, rather one that is right at
    zeros and ties too."""
    tree, values = rule.source.tree, rule.points[0].values
    if tree is None:
        return None
    seen, until = {ast.dump(tree)}, time.thread_time() + 0.5 * PATIENCE
    space = {**namespace(rule.function), "_ops": ops}
    known = [n for n, v in values.items() if isinstance(v, float) or isinstance(v, np.ndarray) and v.dtype.kind == "f"]
    known.append("g")  # names that may stand for each other

    def right(made: Callable, names: list[str]) -> bool:
        for point, i in [(p, i) for p in rule.points for i in (p.vary if rule.joint else [rule.i])]:
            try:
                c = point.call_rule(made, names, i, point.g.copy(), rule.joint, copies=True)
            except Exception:
                if not unsaid(point, rule.points):
                    return False
                continue
            if not rule.fits(point, c, i):
                return False
        return True

    def left(new: dict[Any, Any]) -> str | None:
        """The zeros or ties where a changed rule is wrong; None if it is wrong elsewhere."""
        changed = with_others(tree, new)
        key = ast.dump(changed)
        if key in seen:
            return None
        seen.add(key)
        made = _made(changed, space, rule.names, list(values))
        return rule.left(made[0]) if made is not None and right(*made) else None

    compared = {n for c in ast.walk(tree) if isinstance(c, ast.Compare) for n in ast.walk(c) if n is not c}
    alike: dict[str, list] = {}  # equal expressions, since a mistake is often made twice
    for parent, node in _expressions(tree):
        alike.setdefault(ast.unparse(node), []).append((parent, node))
    for row in rows:
        found: list[Diagnosis] = []
        for parent, node in _expressions(tree):
            if node in compared and row.kind not in ("condition", "constant", "calls"):
                continue
            same = alike[ast.unparse(node)]
            for kind, new in _calls(node, list(values), space) if row.kind == "calls" else _changed(row, node, known):
                for places in ([(parent, node)], same)[:1 + (node is same[0][1] and len(same) > 1)]:
                    if time.thread_time() > until:
                        return found[0] if found else None
                    changes = {at: new for _, at in places}
                    if (wrong := left(changes)) is not None:
                        found.append(_told(rule, kind, places, changes, wrong))
                        if not wrong:
                            return found[-1]
        if found:
            return found[0]
    return None


def _told(rule: Rule, kind: str, places: list, changes: dict, left: str) -> Diagnosis:
    """A change of one expression, shown in as much around it as makes it unique; or of all equal ones."""
    told, tree = places[0][1], rule.source.tree
    line, above = told.lineno, {part: node for node in ast.walk(tree) for part in ast.iter_child_nodes(node)}
    texts = [ast.unparse(n) for n in above if isinstance(n, ast.expr | ast.keyword)]
    while len(places) == 1 and isinstance(above.get(told), ast.expr | ast.keyword) and (
            _constant(told) is not None or texts.count(ast.unparse(told)) > 1):
        told = above[told]
    new = ast.unparse(with_others(told, changes)).replace("_ops.", "ops.")
    every = {1: "", 2: ", in both places"}.get(len(places), f", in all {len(places)} places")
    shared = [rule.op.inputs[k] for k, (f, _) in rule.op.rules.items() if f is rule.function and k != rule.i]
    also = f" The function is also the rule of {shared[0]!r}." if shared and not rule.op.variadic else ""
    return Diagnosis(kind, f"{ast.unparse(told)!r} should be {new!r}{every}; with that the rule is right{left}.{also}",
                     line)


def _made(tree: Any, space: dict, names: Sequence[str], available: Sequence[str]) -> tuple[Callable, list[str]] | None:
    """The function of a changed tree, with parameters for names that it did not use before."""
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    own = [a.arg for a in tree.args.args]
    extra = [n for n in available if n in used and n not in own]
    tree.args.args += [ast.arg(n) for n in extra]
    try:
        return function_of(tree, "<repair>", space), [*names, *extra]
    except (SyntaxError, ValueError, TypeError):
        return None


def _expressions(tree: Any) -> Iterator[tuple[Any, Any]]:
    """(parent, expression) for every expression to change: no called functions, defaults or annotations."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(parent, ast.arguments | ast.arg) or field in ("decorator_list", "returns", "annotation") or \
                    isinstance(parent, ast.Call) and field == "func":
                continue
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.expr) and not isinstance(getattr(part, "ctx", None), ast.Store):
                    yield parent, part


# Variants of expressions ----------------------------------------------------------------------------------------------


def _changed(row: Row, node: Any, known: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The variants of an expression by a row of the table."""
    found: dict[str, Any] = {}
    if not _matches(row.old, node, found, known):
        return
    for text in row.new:
        pattern = _parsed(text)
        for name in known if "M" in text else [""]:
            found["M"] = ast.Name(name, ast.Load())
            filled = with_others(pattern, {n: found[n.id] for n in ast.walk(pattern)
                                     if isinstance(n, ast.Name) and n.id in found})
            if "K" in found and "M" not in text:
                try:
                    number = eval(compile(ast.fix_missing_locations(ast.Expression(filled)), "", "eval"), {})
                except ZeroDivisionError:
                    continue
                filled = _parsed(repr(number))
            yield row.kind, filled


def _matches(pattern: Any, node: Any, found: dict[str, Any], known: Sequence[str]) -> bool:
    """Whether an expression has the form of a pattern; adds the meaning of the pattern's letters to `found`."""
    if isinstance(pattern, ast.Name) and len(pattern.id) == 1:
        found[pattern.id] = node
        return {"N": isinstance(node, ast.Name) and node.id in known,
                "K": _constant(node) is not None,
                "E": isinstance(node, ast.Name | ast.Call | ast.BinOp)}.get(pattern.id, isinstance(node, ast.expr))
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(map(lambda p, n: _matches(p, n, found, known), pattern, node))
    if isinstance(pattern, ast.cmpop | ast.expr_context) or not isinstance(pattern, ast.AST):
        return isinstance(pattern, ast.AST) or pattern == node
    return type(pattern) is type(node) and all(
        _matches(getattr(pattern, f), getattr(node, f), found, known)
        for f in pattern._fields if f != "keywords" and getattr(pattern, f, None) is not None)


def _constant(node: Any) -> float | None:
    """The number that an expression is, with its sign."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) in (int, float) else None


def _calls(node: Any, known: Sequence[str], space: dict) -> Iterator[tuple[str, Any]]:
    """Variants of a call: cos for sin, mean for sum; other options; swapped arguments; an argument in its place."""
    if not isinstance(node, ast.Call):
        return
    func: Any = node.func
    args, options = node.args, node.keywords
    method = isinstance(func, ast.Attribute)
    name = func.attr if method else getattr(func, "id", "")
    for family in _RELATED:
        for other in sorted(family - {name}) if name in family else ():
            owner = func.value if method else ast.Name("_ops", ast.Load())
            made = ast.Name(other, ast.Load()) if not method and other in space else \
                ast.Attribute(owner, other, ast.Load())
            yield ("mean" if {name, other} <= _SUMS else "function"), ast.Call(made, args, options)
    for i, option in enumerate(options):
        arg: Any = option.arg
        if isinstance(option.value, ast.Constant) and isinstance(option.value.value, bool):
            meant: Any = ast.Constant(not option.value.value)
        else:
            meant = ast.Name(arg, ast.Load()) if arg in known else option.value
        yield "option", ast.Call(func, args, [*options[:i], ast.keyword(arg=arg, value=meant), *options[i + 1:]])
        yield "option", ast.Call(func, args, options[:i] + options[i + 1:])
    if name in _SUMS and not any(k.arg in ("keepdim", "keepdims") for k in options):
        for kept in "keepdim", "keepdims":
            yield "option", ast.Call(func, args, [*options, ast.keyword(kept, ast.Constant(True))])
    if len(args) > 1:
        yield "order", ast.Call(func, [*args[1::-1], *args[2:]], options)
    kind = "transposed" if name in _SHAPES else "sum" if name in _SUMS else "function"
    for part in [*args, *([func.value] if method and not isinstance(func.value, ast.Name) else [])]:
        yield kind, part
    operands = args or ([func.value] if method else [])
    reduces = name in ("sum", "mean", "max", "min") and not options and len(operands) == 1
    for axis in ("axis", "-1", "0") if reduces else ():
        along = _parsed(f"_ops.{name}(A, axis={axis}, keepdim=True)")
        yield "sum", with_others(along, {along.args[0]: operands[0]})
