"""Rules as mathematics: what the source of a rule says, in the signs of a textbook."""

from __future__ import annotations

import ast
from typing import Any

_SIGNS = {"sum": "Σ {}", "sum_over": "Σ {}", "mean": "mean({})", "mean_over": "mean({})", "exp": "e^{}", "log": "ln {}",
          "square": "{}²", "abs": "|{}|", "sqrt": "√{}", "rsqrt": "1 / √{}", "reciprocal": "1 / {}", "neg": "−{}",
          "matmul": "{} {}", "batched_matmul": "{} {}", "dot": "{} {}", "mul": "{} · {}", "add": "({} + {})",
          "sub": "({} − {})", "div": "{} / {}", "where": "{1} where {0}, else {2}", "eq": "{} = {}",
          "gelu_slope": "(Φ({0}) + {0} φ({0}))", "softmax_vjp": "{1} · ({0} − Σ {0} · {1})",
          "log_softmax_vjp": "{0} − e^{1} · Σ {0}"}
_AS_IS = {"reshape": "{} in the shape of the input", "expand": "{} repeated", "spread": "{} repeated",
          "permute": "{} with its axes put back", "put": "{} in its places, 0 elsewhere", "fresh": "{}"}
_OPERATORS: dict[type, tuple[str, int]] = {
    ast.Add: ("{} + {}", 1), ast.Sub: ("{} − {}", 1), ast.Mult: ("{} · {}", 2), ast.Div: ("{} / {}", 2),
    ast.MatMult: ("{} {}", 2), ast.Pow: ("{}^{}", 4)}
_COMPARED: dict[type, str] = {ast.Gt: ">", ast.GtE: "≥", ast.Lt: "<", ast.LtE: "≤", ast.Eq: "=", ast.NotEq: "≠"}

# Rules of ops that a kernel computes, or that others define: those of their pages.
KNOWN = {
    "batched_matmul": ("da = g bᵀ", "db = aᵀ g"),
    "linear": ("dx = g W", "dW = gᵀ x", "db = Σ g, over the rows"),
    "layer_norm": ("u = weight · g", "dx = (u − mean(u) − x̂ · mean(u · x̂)) / σ", "dweight = Σ g · x̂, over the rows",
                   "dbias = Σ g, over the rows"),
    "batch_norm": ("u = weight · g", "dx = (u − mean(u) − x̂ · mean(u · x̂)) / σ", "dweight = Σ g · x̂, of a channel",
                   "dbias = Σ g, of a channel"),
    "cross_entropy": ("dx = g · (softmax(x) − y) / n, where y is 1 at the label and 0 elsewhere",),
    "attention": ("dV = Pᵀ g", "dP = g Vᵀ", "dS = P · (dP − Σ dP · P)", "dQ = dS K · scale", "dK = dSᵀ Q · scale"),
    "conv2d": ("dx: every g times the weights, added up where their patch was", "dweight = Σ g · patch", "dbias = Σ g"),
}


def mathematics(tree: Any, of: str) -> str:
    """`d<input> = ...` of a rule's syntax tree; nothing if it has more than one expression."""
    body = tree.body if isinstance(tree, ast.Lambda) else tree.body[-1].value if isinstance(
        tree, ast.FunctionDef) and len(tree.body) == 1 and isinstance(tree.body[-1], ast.Return) else None
    return f"d{of} = {_written(body)[0]}" if body is not None else ""


def _written(node: Any, least: int = 0) -> tuple[str, int]:
    """An expression, and how strongly it binds: in brackets if that is less than what is around it."""
    text, strength = _said(node)
    return (f"({text})", 9) if strength < least else (text, strength)


def _said(node: Any) -> tuple[str, int]:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        form, strength = _OPERATORS[type(node.op)]
        right = _written(node.right, strength + isinstance(node.op, ast.Sub | ast.Div))[0]
        if isinstance(node.op, ast.Pow) and right in "23":
            form, right = "{}{}", {"2": "²", "3": "³"}[right]
        return form.format(_written(node.left, strength + isinstance(node.op, ast.Pow))[0], right), strength
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"−{_written(node.operand, 2)[0]}", 2
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        return f"{_written(node.left)[0]} {_COMPARED[type(node.ops[0])]} {_written(node.comparators[0])[0]}", 0
    if isinstance(node, ast.IfExp):
        return f"{_written(node.body)[0]} if {_written(node.test)[0]}, else {_written(node.orelse)[0]}", 0
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return f"{_written(node.value, 9)[0]}ᵀ", 9
    if isinstance(node, ast.Call):
        return _called(node)
    return ast.unparse(node), 9 if not isinstance(node, ast.BoolOp) else 0


def _called(node: ast.Call) -> tuple[str, int]:
    method = isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    args = [*([node.func.value] if method and isinstance(node.func, ast.Attribute) else []), *node.args]
    if name in ("transpose", "swapaxes") and args:
        return f"{_written(args[0], 9)[0]}ᵀ", 9
    if name in _AS_IS and args:
        return _AS_IS[name].format(_written(args[0], 1)[0]), 0
    form = _SIGNS.get(name)
    if form is None or len(args) < max(form.count("{}"), 1 + any(f"{{{n}}}" in form for n in (1, 2)) + ("{2}" in form)):
        return ast.unparse(node), 9
    whole = form in ("mean({})", "|{}|") or name == "where"
    return form.format(*(_written(a, 0 if whole else 2 if name.endswith("_vjp") else 4)[0] for a in args)), \
        0 if name == "where" else 2
