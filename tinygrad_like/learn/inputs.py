"""At what inputs an op is checked: those its author names with `example`, or small ones that are found by trying."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..primitive import Primitive
from .measure import Point

_examples: WeakKeyDictionary[Primitive, list[tuple[tuple, dict]]] = WeakKeyDictionary()

# By the number of inputs, families of shapes: the first whose first member the op takes is what it is for. All sizes
# differ there, so that a wrong axis is an error; then square ones, where it is none but the numbers are wrong.
_ROW, _SQUARE, _MATRIX, _CUBE, _IMAGE = (4,), (3, 3), (2, 3), (2, 3, 4), (1, 2, 4, 5)
_SHAPES: dict[int, list[list[tuple]]] = {
    1: [[(_MATRIX,), (_SQUARE,), (_ROW,), (_CUBE,)], [(_SQUARE,)], [(_CUBE,)], [(_IMAGE,)], [(_ROW,)], [((),)]],
    2: [[(_MATRIX, _MATRIX), (_SQUARE, _SQUARE), (_MATRIX, (3,)), ((2, 1), (1, 3))],
        [(_MATRIX, (3, 4)), (_SQUARE, _SQUARE)], [(_MATRIX, (4, 3)), (_SQUARE, _SQUARE)], [(_CUBE, (2, 4, 2))],
        [(_MATRIX, (3,)), (_SQUARE, (3,))], [(_IMAGE, (3, 2, 2, 3))], [(_ROW, _ROW)], [(_ROW, (3,))], [((), ())]],
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


def points(op: Primitive) -> list[Point]:
    """Some points at which to check an op. Raises ValueError if none was found, and says what to do."""
    named = _examples.get(op)
    if named:
        return [point for inputs, options in named if (point := _filled(op, inputs, options, loud=True)) is not None]
    found: list[Point] = []
    count = 2 if op.variadic else len(op.inputs)
    for options in _options(op):
        for family in _SHAPES.get(count, [[(_MATRIX,) * count, (_SQUARE,) * count]]):
            if _filled(op, family[0], options) is not None:
                found = [point for shapes in family if (point := _filled(op, shapes, options)) is not None]
                break
        if found:
            break
    for point in found:
        point.tried = True
    if not found:
        raise ValueError(f"found no inputs that {op!r} takes; name some beside it: "
                         f"example({op.name}, {', '.join(['(3, 4)'] * max(len(op.inputs), 1))})")
    return found


def others(op: Primitive) -> list[Point]:
    """All inputs that were tried and that the op takes, if nobody named any."""
    if op in _examples:
        return []
    count = 2 if op.variadic else len(op.inputs)
    shapes = dict.fromkeys(shapes for family in _SHAPES.get(count, []) for shapes in family if any(shapes))
    return [point for s in shapes if (point := _filled(op, s, next(_options(op)))) is not None]


def _options(op: Primitive) -> Iterator[dict]:
    """Values for options without a default."""
    fills: list[dict] = [{}]
    for n, default in op.options.items():
        if default is inspect.Parameter.empty:
            fills = [{**fill, n: value} for fill in fills for value in (1, 0, 2, 0.5, (2, 3))][:25]
    yield from fills


def _filled(op: Primitive, inputs: tuple, options: dict, loud: bool = False) -> Point | None:
    """The point with its shapes filled, from the first domain on which the op is finite."""
    error: Exception | None = None
    for domain in _DOMAINS:
        rng = np.random.default_rng(3)
        try:
            point = Point(op, [domain(rng, x) if _is_shape(x) else x for x in inputs], options)
        except Exception as problem:
            error = problem
            continue
        if point.out.dtype.kind == "f" and point.vary and np.isfinite(point.out).all():
            return point
        error = None
    if loud:
        raise ValueError(f"the example of {op.name} does not work: {error}" if error else
                         f"the example of {op.name} gives no finite floating output, or has no floating input")
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


_DOMAINS = (_real, _positive, _unit)
