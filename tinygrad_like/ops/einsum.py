"""Einsum: permute, reshape and matmul in disguise."""

from __future__ import annotations

import math

import numpy as np

from .elementwise import mul
from .index import take
from .matmul import matmul, operand
from .reduce import sum
from .shape import expand, permute, reshape


def einsum(formula: str, *operands):
    """Sums of products over named axes, as in `einsum("bij,bjk->bik", a, b)`; without "->" the axes named once, sorted.

    The operands may come in a list. Raises ValueError for a formula that does not fit the operands.
    """
    if not isinstance(formula, str):
        raise TypeError('einsum: the formula comes first, as in einsum("ij,jk->ik", a, b); '
                        f"got {type(formula).__name__}")
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    operands = tuple([operand("einsum", x) for x in operands])
    inputs, output = _parse(formula, operands)
    sizes: dict[str, int] = {}
    for names, x in zip(inputs, operands, strict=True):
        for name, n in zip(names, x.shape, strict=True):
            if sizes.setdefault(name, n) != n and 1 not in (n, sizes[name]):
                raise ValueError(f"einsum: axis {name!r} of {formula!r} has size {n} in shape {x.shape} "
                                 f"but {sizes[name]} before")
            sizes[name] = max(sizes[name], n)
    pairs = [_diagonal(names, _stretch(names, x, sizes)) for names, x in zip(inputs, operands, strict=True)]
    names, y = pairs[0]
    for i in range(1, len(pairs)):
        later = set(output).union(*(n for n, _ in pairs[i + 1 :]))
        names, y = _contract(names, y, pairs[i][0], pairs[i][1], later)
    gone = tuple(a for a, name in enumerate(names) if name not in output)
    if gone:
        y, names = sum(y, axis=gone), [n for n in names if n in output]
    missing = [n for n in output if n not in names]
    if missing:
        raise ValueError(f"einsum: output axis {missing[0]!r} of {formula!r} is in no input")
    return permute(y, axes=tuple(names.index(n) for n in output)) if y is operands[0] else _ordered(names, y, output)


def _parse(formula: str, operands) -> tuple[list[list[str]], list[str]]:
    left, arrow, right = formula.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum: {formula!r} names {len(terms)} operands but {len(operands)} were given")
    # An ellipsis stands for the axes no letter names, counted from the last: ".1" is the last, ".2" the one before.
    hidden = [x.ndim - len(t.replace("...", "")) if "..." in t else 0 for t, x in zip(terms, operands, strict=True)]
    inputs = [_names(t, h) for t, h in zip(terms, hidden, strict=True)]
    for t, names, x in zip(terms, inputs, operands, strict=True):
        if len(names) != x.ndim:
            raise ValueError(f"einsum: {t!r} of {formula!r} names {len(t.replace('...', ''))} axes "
                             f"but its operand has shape {x.shape}")
    every = [n for names in inputs for n in names]
    dots = _names("...", max(hidden))
    if not arrow:
        return inputs, dots + sorted(n for n in set(every) if every.count(n) == 1 and n[0] != ".")
    output = _names(right, max(hidden))
    if len(set(output)) != len(output):
        raise ValueError(f"einsum: the output of {formula!r} names an axis twice")
    return inputs, output


def _names(term: str, hidden: int) -> list[str]:
    before, dots, after = term.partition("...")
    if not all(c.isalpha() for c in before + after):
        raise ValueError(f"einsum: {term!r} must be letters, with at most one '...'")
    return [*before, *([f".{i}" for i in range(hidden, 0, -1)] if dots else []), *after]


def _stretch(names: list[str], x, sizes: dict[str, int]):
    """An axis of size 1 broadcasts to the size its name has elsewhere."""
    shape = tuple(sizes[n] for n in names)
    return x if shape == x.shape else expand(x, shape=shape)


def _diagonal(names: list[str], x):
    """An axis named twice in one operand: keep the elements where both indices agree."""
    names = list(names)
    for name in sorted(set(names)):
        while names.count(name) > 1:
            a, b = names.index(name), len(names) - 1 - names[::-1].index(name)
            order = [a, b] + [i for i in range(len(names)) if i not in (a, b)]
            both = np.arange(x.shape[a])
            x = take(permute(x, axes=tuple(order)), index=(both, both))
            names = [name] + [names[i] for i in order[2:]]
    return names, x


def _contract(left: list[str], a, right: list[str], b, later: set[str]):
    """Multiply two operands and sum over what nobody names later, as one batched matrix product."""
    a, left = _sum_out(a, left, later.union(right))
    b, right = _sum_out(b, right, later.union(left))
    batch = [n for n in left if n in right and n in later]
    inner = [n for n in left if n in right and n not in later]
    rows, columns = [n for n in left if n not in right], [n for n in right if n not in left]

    sizes_a, sizes_b = dict(zip(left, a.shape, strict=True)), dict(zip(right, b.shape, strict=True))
    a, b = _ordered(left, a, batch + rows + inner), _ordered(right, b, batch + inner + columns)
    if not inner or not (rows or columns):  # NumPy multiplies many matrices of one number, or one row, each by itself
        a = _shaped(a, (*a.shape[: len(batch) + len(rows)], *[1] * len(columns), *[sizes_a[n] for n in inner]))
        y = mul(a, _shaped(b, (*b.shape[: len(batch)], *[1] * len(rows), *b.shape[len(batch) :])))
        return batch + rows + columns, sum(y, axis=tuple(range(y.ndim - len(inner), y.ndim))) if inner else y
    m, n, k = (math.prod([s[i] for i in names]) for s, names in ((sizes_a, rows), (sizes_b, columns), (sizes_a, inner)))
    y = matmul(_shaped(a, (*(sizes_a[i] for i in batch), m, k)), _shaped(b, (*(sizes_a[i] for i in batch), k, n)))
    return batch + rows + columns, _shaped(
        y, (*y.shape[:-2], *(sizes_a[i] for i in rows), *(sizes_b[i] for i in columns)))


def _ordered(names: list[str], x, wanted: list[str]):
    return x if names == wanted else permute(x, axes=tuple([names.index(n) for n in wanted]))


def _shaped(x, shape: tuple[int, ...]):
    return x if x.shape == shape else reshape(x, shape=shape)


def _sum_out(x, names: list[str], needed: set[str]):
    gone = tuple(i for i, n in enumerate(names) if n not in needed)
    return (sum(x, axis=gone), [n for n in names if n in needed]) if gone else (x, names)
