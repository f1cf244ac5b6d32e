"""At what inputs an op is checked: those its author names with `example`, or small ones that are found by trying."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..core.primitive import Primitive
from .measure import Point

_examples: WeakKeyDictionary[Primitive, list[tuple[tuple, dict]]] = WeakKeyDictionary()

# By the number of inputs, families of shapes: the first whose first member the op takes, without an output of more axes
# than they have, is what it is for. All sizes differ there, so that a wrong axis is an error; then square ones, where
# it is none but the numbers are wrong.
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
    """Name inputs at which the checker is to call `op`: arrays and Tensors as they are, or a shape to be filled.

        example(softmax, (3, 4), axis=0)

    A tuple of whole numbers is a shape. May be called several times; the op itself is returned.
    """
    _examples.setdefault(op, []).append((inputs, options))
    return op


class NotTaken(ValueError):
    """An op works at none of the inputs that were tried; the cause is what its forward raised, if it did."""


class NoGradient(ValueError):
    """An op has no rules and needs none."""


def points(op: Primitive) -> list[Point]:
    """Some points at which to check an op. Raises NotTaken if none was found, and says what to do; or NoGradient."""
    named, trouble = _examples.get(op), []  # type: ignore[var-annotated]
    if named:
        found = [_filled(op, inputs, options, trouble) for inputs, options in named]
        if None in found:
            told = f": {trouble[0]}" if isinstance(trouble[0], str) else ""
            raise NotTaken(f"the example of {op.name} does not work{told}") from _cause(trouble)
        return [point for point in found if point is not None]
    count = 2 if op.variadic else len(op.inputs)
    families = _SHAPES.get(count, [[(_MATRIX,) * count, (_SQUARE,) * count]])
    for options in _options(op):
        chosen = None
        for family in families:
            point = _filled(op, family[0], options, trouble)
            if point is not None and (chosen is None or _of_its_axes(point)):
                chosen = family
                if _of_its_axes(point):
                    break
        if chosen is not None and (any(chosen[0]) or _cause(trouble) is None):  # an `if x > 0` takes single numbers
            taken = [p for p in (_filled(op, shapes, options) for shapes in chosen) if p is not None]
            return _tried(taken)
    if trouble and isinstance(trouble[0], str):
        raise NotTaken(trouble[0])
    given = ["(3, 4)"] * max(len(op.inputs), 1) + [f"{n}=..." for n in _required(op)]
    raise NotTaken(f"found no inputs that {op!r} takes; name some beside it: example({op.name}, {', '.join(given)})"
                   ) from _cause(trouble)


def chosen_options(op: Primitive) -> set[str]:
    """The options of an op for which its examples name values."""
    return {name for _, options in _examples.get(op, ()) for name in options}


def _tried(taken: list[Point]) -> list[Point]:
    found = [_with_conditions(point) for point in taken]
    for point in found:
        point.tried = True
    return found


def _with_conditions(point: Point) -> Point:
    """The point with True and False for those inputs without a rule of which the output takes nothing but that."""
    op: Any = point.op
    lacking = [i for i in point.vary if op.rules and not op.variadic and op.joint is None and i not in op.rules
               and not point.numeric(i).any()]
    if not lacking or len(lacking) == len(point.vary):
        return point
    rng = np.random.default_rng(3)
    inputs = [rng.permutation(np.arange(x.size) % 2 == 0).reshape(x.shape) if i in lacking else x
              for i, x in enumerate(point.inputs)]
    try:
        there = Point(op, inputs, point.options)
        there.filled = point.filled - {*lacking}
        return there
    except Exception:
        return point


def resized(point: Point) -> Point | None:
    """The same op at other sizes; None if arrays were given for `point`, or the op does not take them."""
    if len(point.filled) < len(point.inputs):
        return None
    other = {2: 5, 3: 4, 4: 6, 5: 7}
    shapes = tuple(tuple(other.get(n, n) for n in np.shape(x)) for x in point.inputs)
    return _filled(point.op, shapes, point.options)  # type: ignore[arg-type]


def _cause(trouble: list) -> Exception | None:
    return next((t for t in trouble if isinstance(t, Exception)), None)


def _of_its_axes(point: Point) -> bool:
    """Whether the output has no more axes than the inputs: more come of x[:, None] with an x not meant for it."""
    return point.out.ndim <= max(np.ndim(x) for x in point.inputs)


def _required(op: Primitive) -> list[str]:
    return [n for n, default in op.options.items() if default is inspect.Parameter.empty]


def _options(op: Primitive) -> Iterator[dict]:
    """Values for options without a default."""
    fills: list[dict] = [{}]
    for n in _required(op):
        first = [(1, 0)] if n in ("axes", "order", "perm", "dims") else []
        fills = [{**fill, n: value} for fill in fills for value in (*first, 1, 0, 2, 0.5, (2, 3))][:25]
    yield from fills


def _filled(op: Primitive, inputs: tuple, options: dict, trouble: list | None = None) -> Point | None:
    """The point with its shapes filled, from the first domain on which the op is finite.

    If there is none, `trouble` gets what the forward raised, or what is wrong with what it gave.
    """
    found: list[Exception | str] = []
    for domain in _DOMAINS:
        rng = np.random.default_rng(3)
        try:
            point = Point(op, [domain(rng, x) if _is_shape(x) else x for x in inputs], options)
        except Exception as problem:
            found.append(problem)
            continue
        point.filled = frozenset(i for i, x in enumerate(inputs) if _is_shape(x))
        if not point.vary:
            found.append("it has no floating input, so there is nothing to differentiate")
        elif point.out.dtype.kind == "O":
            found.append("the forward gives None: is a `return` missing?" if point.out.shape == () and
                         point.out[()] is None else "the forward gives no array of numbers")
        elif point.out.dtype.kind != "f":
            if not op.differentiable:
                raise NoGradient(f"it gives {point.out.dtype}, of which there is no gradient")
            found.append(f"the forward gives {point.out.dtype}, of which there is no gradient")
        elif not point.out.size:
            found.append("the forward gives an empty array at the inputs that were tried; name larger ones: "
                         f"example({op.name}, np.array(...))")
        elif not np.isfinite(point.out).all():
            found.append("the forward gives inf or NaN at inputs of both signs, between 0.3 and 2, between -0.9 and "
                         f"0.9 and between 1.2 and 3; name others: example({op.name}, np.array(...))")
        else:
            return point
    if trouble is not None:
        trouble += found
    return None


def _is_shape(x: Any) -> bool:
    return isinstance(x, tuple) and all(type(n) is int for n in x)


def _real(rng: np.random.Generator, shape: tuple) -> np.ndarray:
    """Distinct numbers of both signs, away from 0 and 1 where functions have kinks."""
    n = int(np.prod(shape))
    steps = rng.permutation(n) - n // 2 + 0.37
    return (steps * min(0.31, 3.4 / max(n, 1)) + 0.013 * rng.random(n)).reshape(shape)


def _positive(rng: np.random.Generator, shape: tuple) -> np.ndarray:
    return rng.uniform(0.3, 2.0, shape)


def _unit(rng: np.random.Generator, shape: tuple) -> np.ndarray:
    return rng.uniform(-0.9, 0.9, shape)


def _beyond(rng: np.random.Generator, shape: tuple) -> np.ndarray:
    return rng.uniform(1.2, 3.0, shape)


_DOMAINS = (_real, _positive, _unit, _beyond)
