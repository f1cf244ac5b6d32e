"""Einsum: permute, reshape and matmul in disguise."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..core.tensor import Tensor
from ..errors import refusal
from .axes import plain_shape
from .elementwise import mul
from .matmul import matmul, operand
from .movement import diagonal
from .reduce import sum
from .shape import expand, permute, reshape


def einsum(formula: str, *operands) -> Tensor:
    """Sums of products over named axes: `einsum("bij,bjk->bik", a, b)`. Without "->" it keeps the axes named once,
    sorted.

    The operands may come in a list. A formula that only permutes axes or takes diagonals returns a view.
    Raises ValueError for a formula that does not fit the operands.
    """
    if not isinstance(formula, str):
        raise refusal("einsum", TypeError('the formula comes first, as in einsum("ij,jk->ik", a, b); '
                                          f"got {type(formula).__name__}"))
    values = [operand("einsum", x) for x in plain_shape(operands)]
    for op, places, options in _steps(formula, tuple([x.shape for x in values])):
        values.append(op(*[values[i] for i in places], **options))
    return values[-1]


class _Value:
    """An operand or intermediate result, known by its shape, while the steps are planned."""

    def __init__(self, shape: tuple[int, ...], place: int, steps: list, operands: int):
        self.shape, self.place, self.steps, self.operands = shape, place, steps, operands

    def then(self, op: Callable, shape: tuple[int, ...], /, *others: _Value, **options: Any) -> _Value:
        """The result, of this shape, of an op on this and other operands."""
        self.steps.append((op, (self.place, *[x.place for x in others]), options))
        return _Value(shape, self.operands + len(self.steps) - 1, self.steps, self.operands)


@lru_cache(maxsize=1024)
def _steps(formula: str, shapes: tuple[tuple[int, ...], ...]) -> list[tuple]:
    """The ops that a formula stands for, with the places of their operands; the formula's operands come first."""
    inputs, output, sizes = _parse(formula, shapes)
    steps: list[tuple] = []
    operands = [_Value(shape, i, steps, len(shapes)) for i, shape in enumerate(shapes)]
    pairs = [_diagonal(names, _stretch(names, x, sizes)) for names, x in zip(inputs, operands, strict=True)]
    names, y = pairs[0]
    for i in range(1, len(pairs)):
        later = set(output).union(*(n for n, _ in pairs[i + 1 :]))
        names, y = _contract(names, y, pairs[i][0], pairs[i][1], later)
    y, names = _sum_out(y, names, set(output))
    _ordered(names, y, output, always=y.place < len(shapes))  # a new Tensor, never the operand itself
    return steps


def _parse(formula: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[list[list[str]], list[str], dict[str, int]]:
    """The axis names of every operand and of the output, and their sizes. Raises ValueError if they do not fit."""
    left, arrow, right = formula.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise refusal("einsum", f"{formula!r} names {len(terms)} operands but {len(shapes)} were given")
    for t in [*terms, right]:
        if not all(c.isalpha() for c in t.replace("...", "", 1)):
            raise refusal("einsum", f"{t!r} must be letters, with at most one '...'")
    # An ellipsis stands for the axes without a letter, counted from the last: ".1" is the last, ".2" the one before.
    hidden = [len(s) - len(t.replace("...", "")) if "..." in t else 0 for t, s in zip(terms, shapes, strict=True)]
    inputs, sizes = [_names(t, h) for t, h in zip(terms, hidden, strict=True)], dict[str, int]()
    for t, names, shape in zip(terms, inputs, shapes, strict=True):
        if len(names) != len(shape):
            raise refusal("einsum", f"{t!r} of {formula!r} names {len(t.replace('...', ''))} axes but its operand has "
                                    f"shape {shape}")
        for name, n in zip(names, shape, strict=True):
            if sizes.setdefault(name, n) != n and 1 not in (n, sizes[name]):
                raise refusal("einsum", f"axis {name!r} of {formula!r} has size {n} in shape {shape} but {sizes[name]} "
                                        "before")
            sizes[name] = n if sizes[name] == 1 else sizes[name]
    every = [n for names in inputs for n in names]
    output = _names(right, max(hidden)) if arrow else [
        *_names("...", max(hidden)), *sorted(n for n in sizes if every.count(n) == 1 and n[0] != ".")]
    if len(set(output)) != len(output):
        raise refusal("einsum", f"the output of {formula!r} names an axis twice")
    if missing := [n for n in output if n not in sizes]:
        raise refusal("einsum", f"output axis {missing[0]!r} of {formula!r} is in no input")
    return inputs, output, sizes


def _names(term: str, hidden: int) -> list[str]:
    before, dots, after = term.partition("...")
    return [*before, *([f".{i}" for i in range(hidden, 0, -1)] if dots else []), *after]


def _stretch(names: list[str], x: _Value, sizes: dict[str, int]) -> _Value:
    """Broadcast axes of size 1 to the sizes that their names have elsewhere."""
    shape = tuple(sizes[n] for n in names)
    return x if shape == x.shape else x.then(expand, shape, shape=shape)


def _diagonal(names: list[str], x: _Value) -> tuple[list[str], _Value]:
    """Take diagonals: where an operand repeats an axis, keep the elements whose two indices agree."""
    names = list(names)
    for name in sorted(set(names)):
        while names.count(name) > 1:
            a, b = names.index(name), len(names) - 1 - names[::-1].index(name)
            others = [i for i in range(len(names)) if i not in (a, b)]
            x = x.then(diagonal, (*[x.shape[i] for i in others], x.shape[a]), axis1=a, axis2=b)
            names = [*[names[i] for i in others], name]
    return names, x


def _contract(left: list[str], a: _Value, right: list[str], b: _Value, later: set[str]) -> tuple[list[str], _Value]:
    """Multiply two operands and sum over axes that are not named later, as one batched matrix product."""
    a, left = _sum_out(a, left, later.union(right))
    b, right = _sum_out(b, right, later.union(left))
    batch = [n for n in left if n in right and n in later]
    inner = [n for n in left if n in right and n not in later]
    rows, columns = [n for n in left if n not in right], [n for n in right if n not in left]

    sizes = dict(zip(left, a.shape, strict=True)) | dict(zip(right, b.shape, strict=True))
    a, b = _ordered(left, a, batch + rows + inner), _ordered(right, b, batch + inner + columns)
    names, shape = batch + rows + columns, tuple([sizes[n] for n in batch + rows + columns])
    if not inner or not (rows or columns):  # np.matmul would loop over many tiny products
        many = tuple([sizes[n] for n in inner])
        a = _shaped(a, (*a.shape[: len(batch) + len(rows)], *[1] * len(columns), *many))
        y = a.then(mul, shape + many, _shaped(b, (*b.shape[: len(batch)], *[1] * len(rows), *b.shape[len(batch) :])))
        return names, y.then(sum, shape, axis=tuple(range(len(shape), len(y.shape)))) if inner else y
    m, n, k = (math.prod([sizes[i] for i in axes]) for axes in (rows, columns, inner))
    outer = tuple([sizes[i] for i in batch])
    return names, _shaped(_shaped(a, (*outer, m, k)).then(matmul, (*outer, m, n), _shaped(b, (*outer, k, n))), shape)


def _permuted(x: _Value, order: list[int]) -> _Value:
    return x.then(permute, tuple([x.shape[i] for i in order]), axes=tuple(order))


def _ordered(names: list[str], x: _Value, wanted: list[str], always: bool = False) -> _Value:
    return x if names == wanted and not always else _permuted(x, [names.index(n) for n in wanted])


def _shaped(x: _Value, shape: tuple[int, ...]) -> _Value:
    return x if x.shape == shape else x.then(reshape, shape, shape=shape)


def _sum_out(x: _Value, names: list[str], needed: set[str]) -> tuple[_Value, list[str]]:
    gone = tuple(i for i, n in enumerate(names) if n not in needed)
    if not gone:
        return x, names
    shape = tuple([size for i, size in enumerate(x.shape) if i not in gone])
    return x.then(sum, shape, axis=gone), [n for n in names if n in needed]
