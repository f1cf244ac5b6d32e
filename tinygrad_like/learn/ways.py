"""The paths from an input to the output: its gradient if one use in the forward were constant.

A rule that lacks a term is right for such a forward; for softmax, for instance, if the sum were constant.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .measure import Point, differences
from .source import function_of, namespace, source, with_others


def ways(op: Any, name: str) -> Iterator[tuple[str, Callable[[Point, int], np.ndarray]]]:
    """For each use of input `name` in the forward: a description, and the gradient if that use were constant, or if all
    others were."""
    own = source(op.__wrapped__)
    if own.tree is None:
        return
    space = namespace(op.__wrapped__)
    called = {n.id for n in ast.walk(own.tree) if isinstance(n, ast.Name)}
    helpers = {n: at for n in called if inspect.isfunction(space.get(n)) and (at := source(space[n])).file == own.file}
    trees = {"": own.tree, **{n: at.tree for n, at in helpers.items() if at.tree is not None}}
    places: list[tuple[str, ast.Name]] = []
    for function, tree in trees.items():
        inside = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
        moving = {n.id for n in inside if isinstance(n.ctx, ast.Store)}
        moving |= {a.arg for a in tree.args.args} if function else {name}
        stored = [n.value for n in ast.walk(tree) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
        places += [(function, n) for n in inside if isinstance(n.ctx, ast.Load) and n.id in moving and n not in stored]
    if len(places) < 2:
        return
    texts = [_text(trees[function], place) for function, place in places]
    first = {k for k, (function, place) in enumerate(places) if not function and place.id == name}
    kept: dict[int, Any] = {}
    held: set[int] = set()

    def hold(k: int, value: Any) -> Any:
        if not held:
            kept[k] = np.array(value)
        return kept[k] if k in held else value

    calls = {place: ast.Call(ast.Name("_held", ast.Load()), [ast.Constant(k), place], [])
             for k, (_, place) in enumerate(places)}
    space["_held"] = hold
    try:
        for function in [*[n for n in trees if n], ""]:
            space[function] = function_of(with_others(trees[function], calls), "<forward>", space)
    except Exception:  # such as an unknown default
        return
    forward = space[""]

    def gradient(point: Point, i: int) -> np.ndarray:
        nonlocal held
        x, now = point.inputs[i], held

        def moved(d: Any) -> np.ndarray:
            out = forward(*[x + d if n == i else other for n, other in enumerate(point.inputs)], **point.options)
            return np.asarray(out[0] if isinstance(out, tuple) else out)

        held = set()
        moved(0.0)
        held = now
        if any(kept[k].dtype.kind != "f" for k in held):
            raise ValueError("a shape or a condition is constant in any case")
        return (point.g.reshape(-1) @ differences(moved, x.shape)).reshape(x.shape)

    for k, text in enumerate(texts):
        held = {k}
        yield f"treats {text} of the forward as constant, but it depends on {name!r} too", gradient
    for k in first if len(first) > 2 else ():
        held = first - {k}
        yield f"goes back only through {texts[k]} of the forward, but {name!r} is used elsewhere too", gradient


def _text(tree: Any, place: ast.AST) -> str:
    """A use of an input, with the operations on it alone, and the expression around them."""
    above = {part: node for node in ast.walk(tree) for part in ast.iter_child_nodes(node)}
    outer = above[place]
    while isinstance(outer, ast.Attribute | ast.UnaryOp) or \
            isinstance(outer, ast.Subscript) and outer.value is place or \
            isinstance(outer, ast.Call) and (outer.func is place or outer.args == [place]) or \
            isinstance(outer, ast.BinOp) and isinstance((outer.left, outer.right)[outer.left is place], ast.Constant):
        place, outer = outer, above[outer]
    while ast.unparse(tree).count(ast.unparse(outer)) > 1 and isinstance(above[outer], ast.expr):
        outer = above[outer]
    return f"{ast.unparse(place)!r}" + (f" in {ast.unparse(outer)!r}" if isinstance(outer, ast.expr) else "")
