"""The inputs at which an op is checked: those named by `example`, or small ones found by trial.

They include options away from their defaults, and larger and smaller inputs.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..core.primitive import Primitive
from .measure import Point, close
from .source import source

_examples: WeakKeyDictionary[Primitive, list[tuple[tuple, dict]]] = WeakKeyDictionary()

# Families of shapes by the number of inputs. The checker takes the first family whose first member the op accepts and
# whose output has no extra axes. Its sizes all differ, so a wrong axis raises; then come square ones, where a wrong
# axis yields wrong numbers.
_ROW, _SQUARE, _MATRIX, _CUBE, _IMAGE = (4,), (3, 3), (2, 3), (2, 3, 4), (1, 2, 4, 5)
_SHAPES: dict[int, list[list[tuple]]] = {
    1: [[(_MATRIX,), (_SQUARE,), (_ROW,), (_CUBE,)], [(_SQUARE,)], [(_CUBE,)], [(_IMAGE,)], [(_ROW,)], [((),)]],
    2: [[(_MATRIX, _MATRIX), (_SQUARE, _SQUARE), (_MATRIX, (3,)), ((2, 1), (1, 3))],
        [(_MATRIX, (3, 4)), (_SQUARE, _SQUARE)], [(_MATRIX, (4, 3)), (_SQUARE, _SQUARE)], [(_CUBE, (2, 4, 2))],
        [(_MATRIX, (3,)), (_SQUARE, (3,))], [(_MATRIX, (2,)), (_SQUARE, (3,))], [(_IMAGE, (3, 2, 2, 3))],
        [(_ROW, (3,))], [(_ROW, _ROW)], [((), ())]],
    3: [[(_MATRIX, (4, 3), (4,)), (_SQUARE, _SQUARE, (3,))], [(_MATRIX, (3, 4), (4,)), (_SQUARE, _SQUARE, (3,))],
        [(_MATRIX, _MATRIX, _MATRIX), (_SQUARE, _SQUARE, _SQUARE)], [(_MATRIX, (3,), (3,)), (_SQUARE, (3,), (3,))],
        [(_CUBE, (2, 5, 4), (2, 5, 3))], [((5, 3, 2), (3,), (3,))], [(_IMAGE, (3, 2, 2, 3), (3,))], [(_ROW,) * 3]],
}


def example(op: Primitive, *inputs: Any, **options: Any) -> Primitive:
    """Name inputs at which to check `op`: arrays and Tensors, or shapes to fill with random numbers.

        example(softmax, (3, 4), axis=0)

    A tuple of integers is a shape. May be called several times; returns the op.
    """
    _examples.setdefault(op, []).append((inputs, options))
    return op


class NotTaken(ValueError):
    """An op accepts none of the tried inputs; the cause is the forward's error, if any."""


class NoGradient(ValueError):
    """An op has no rules and needs none."""


def points(op: Primitive) -> list[Point]:
    """Points at which to check an op. Raises NotTaken, with a remedy, if there is none; or NoGradient."""
    if named := _examples.get(op):
        try:
            return [_filled(op, inputs, options) for inputs, options in named]
        except NotTaken as error:
            raise NotTaken(f"the example of {op.name} does not work" + f": {error}" * bool(str(error))
                           ) from error.__cause__
    count, first = 2 if op.variadic else len(op.inputs), NotTaken()
    families = _SHAPES.get(count, [[(_MATRIX,) * count, (_SQUARE,) * count]])
    for options in _options(op):
        chosen = None
        for family in families:
            try:
                point = _filled(op, family[0], options)
            except NotTaken as error:
                first = error if first.__cause__ is None and not str(first) else first
                continue
            meant = point.out.ndim <= max(np.ndim(x) for x in point.inputs)  # x[:, None] with another x has more axes
            chosen = family if meant or chosen is None else chosen
            if meant:
                break
        if chosen is not None and (any(chosen[0]) or first.__cause__ is None):  # `if x > 0` works for single numbers
            return [_tried(p) for shapes in chosen if (p := _taken(op, shapes, options)) is not None]
    if str(first):
        raise first
    required = [n for n, default in op.options.items() if default is inspect.Parameter.empty]
    given = ["(3, 4)"] * max(len(op.inputs), 1) + [f"{n}=..." for n in required]
    raise NotTaken(f"found no inputs that {op!r} takes; name some below it: example({op.name}, {', '.join(given)})"
                   ) from first.__cause__


def _tried(point: Point) -> Point:
    """The point, with booleans for inputs that have no rule and act only as conditions."""
    op: Any = point.op
    point.tried = True
    lacking = {i for i in point.vary if op.rules and not op.variadic and op.joint is None and i not in op.rules
               and not point.numeric(i).any()}
    if not lacking or len(lacking) == len(point.vary):
        return point
    rng = np.random.default_rng(3)
    there = point.at([rng.permutation(np.arange(x.size) % 2 == 0).reshape(x.shape) if i in lacking else x
                      for i, x in enumerate(point.inputs)])
    if there is not None:
        there.filled -= lacking
    return there or point


def resized(point: Point) -> list[Point]:
    """The same op at other sizes, or at least at other numbers: rows, columns and so on repeated in another order."""
    for other in {2: 5, 3: 4, 4: 6, 5: 7}, {}:
        rng, inputs = np.random.default_rng(5), []
        for k, x in enumerate(point.inputs):
            sizes = [(other.get(n, n), n) for n in np.shape(x)]
            there = x[np.ix_(*[rng.permutation(m) % n for m, n in sizes])] if sizes else x
            inputs.append(there * rng.uniform(0.9, 1, there.shape) if k in point.vary else there)
        there = point.at(inputs)
        if there is not None and _smooth(there):
            there.tried = True
            return [there]
    return []


def _taken(op: Any, inputs: tuple, options: dict) -> Point | None:
    try:
        return _filled(op, inputs, options)
    except NotTaken:
        return None


def _options(op: Primitive) -> Iterator[dict]:
    """Values for options without a default."""
    fills: list[dict] = [{}]
    for n, default in op.options.items():
        if default is not inspect.Parameter.empty:
            continue
        first = [(1, 0)] if n in ("axes", "order", "perm", "dims") else []
        fills = [{**fill, n: value} for fill in fills for value in (*first, 1, 0, 2, 0.5, (2, 3))][:25]
    yield from fills


def _filled(op: Primitive, inputs: tuple, options: dict) -> Point:
    """The point with its shapes filled with numbers from the first domain where the op is finite.

    Raises NotTaken if there is none, from the forward's error, or naming the fault of its result.
    """
    trouble: list[tuple[str, Exception | None]] = []
    for domain in _DOMAINS:
        rng = np.random.default_rng(3)
        try:
            point = Point(op, [domain(rng, x) if _is_shape(x) else x for x in inputs], options)
        except Exception as problem:
            trouble.append(("", problem))
            continue
        point.filled = frozenset(i for i, x in enumerate(inputs) if _is_shape(x))
        out = point.out
        if out.dtype.kind in "biu" and point.vary and not op.differentiable:
            raise NoGradient(f"it returns {out.dtype}, which has no gradient")
        wrong = ("it has no floating-point input, so there is nothing to differentiate" if not point.vary else
                 "the forward returns None: is a `return` missing?" if out.dtype.kind == "O" and not out.shape and
                 out[()] is None else
                 "the forward does not return an array of numbers" if out.dtype.kind == "O" else
                 f"the forward returns {out.dtype}, which has no gradient" if out.dtype.kind != "f" else
                 "the forward returns an empty array for the inputs tried; name larger ones: "
                 f"example({op.name}, np.array(...))" if not out.size else
                 "the forward returns inf or NaN for inputs of both signs, between 0.3 and 2, between -0.9 and "
                 f"0.9 and between 1.2 and 3; name others: example({op.name}, np.array(...))"
                 if not np.isfinite(out).all() else "")
        if not wrong:
            return point
        trouble.append((wrong, None))
    text, cause = trouble[0]
    raise NotTaken(text) from cause


def _is_shape(x: Any) -> bool:
    return isinstance(x, tuple) and all(type(n) is int for n in x)


def _real(rng: np.random.Generator, shape: tuple) -> np.ndarray:
    """Distinct numbers of both signs, away from 0 and 1 where functions have kinks."""
    n = int(np.prod(shape))
    steps = rng.permutation(n) - n // 2 + 0.37
    return (steps * min(0.31, 3.4 / max(n, 1)) + 0.013 * rng.random(n)).reshape(shape)


# Domains of random numbers, tried until the op is finite.
_DOMAINS = (_real, *(lambda rng, shape, ends=ends: rng.uniform(*ends, shape)
                     for ends in ((0.3, 2.0), (-0.9, 0.9), (1.2, 3.0))))


# More points of an op -------------------------------------------------------------------------------------------------

_SCALES = (1.0, 3.0, -1.0, 0.3, 10.0, -10.0, 0.1, 100.0, -100.0)  # tried until an option makes a difference
_BEYOND = (10.0, -10.0, 0.1)  # scales of inputs, to reach both sides of most branches


def varied(op: Primitive, base: Sequence[Point]) -> tuple[list[Point], list[str]]:
    """The points and variations of them, and descriptions of the options that could not be tried."""
    options, untried = _with_options(op, base)
    found = [*base, *options, *(resized(base[0]) if len(base[0].filled) == len(base[0].inputs) else [])]
    for point in (base[0], *options):
        found += [there for scale in _BEYOND if (there := _scaled(point, scale)) is not None and _smooth(there)]
    return found, untried


def _smooth(point: Point) -> bool:
    """Whether finite differences with two step sizes agree there."""
    return all(close(point.numeric(i), point.with_step(i, 3), 1e-7) for i in point.vary)


def _scaled(point: Point, scale: float) -> Point | None:
    """The point with its filled inputs scaled; None if the op is not finite there."""
    inputs = [x * scale if k in point.filled else x for k, x in enumerate(point.inputs)]
    return point.at(inputs) if point.filled and scale != 1 else None


def _with_options(op: Any, base: Sequence[Point]) -> tuple[list[Point], list[str]]:
    """For every option left at its default, a point with another value; and one where all have other values."""
    found: list[Point] = []
    values: dict[str, Any] = {}
    untried = []
    chosen = {*base[0].options, *(name for _, options in _examples.get(op, ()) for name in options)}
    for name, default in op.options.items():
        if name in chosen:
            continue
        others = _with_others(base, name, _others(op, name, default))
        if not others:
            untried.append(f"{name} other than {default!r}")
        else:
            values[name] = others[0].options[name]
            found += others
    if len(values) > 1:
        found += [there for there in [base[0].at(base[0].inputs, **values)] if there is not None]
    return found, untried


def _with_others(base: Sequence[Point], name: str, values: Sequence[Any]) -> list[Point]:
    """Points at which one or two other values of an option make a difference."""
    for scale in _SCALES:
        for point in base:
            before = point if scale == 1 else _scaled(point, scale)
            others = [before.at(before.inputs, **{name: value}) for value in values] if before is not None else []
            if found := [p for p in others if p and before and not np.array_equal(p.out, before.out)]:
                return found[:2]
    return []


def _others(op: Any, name: str, default: Any) -> list[Any]:
    """Values that an option may have instead of its default."""
    if isinstance(default, bool):
        return [not default]
    if "axis" in name or "dim" in name:
        return [n for n in (0, 1, -1, -2) if n != default]
    if isinstance(default, int):
        return [default + 1, default - 1, default + 2]
    if isinstance(default, float):
        if abs(default) < 0.05:
            return [0.3, -0.3, 0.7]
        return [0.6 * default, 1.7 * default] if 0 < default < 1 else [1.7 * default, 0.6 * default]
    if isinstance(default, str):
        tree = source(op.__wrapped__).tree
        written = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
                   and n.value.isidentifier()] if tree is not None else []
        return [w for w in dict.fromkeys([*written, "sum", "mean", "none"]) if w != default]
    return []
