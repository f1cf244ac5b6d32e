"""Hypotheses on where numbers stand: reordered, summed once too often or too seldom, not repeated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from .measure import Point, close
from .rule import Array, Diagnosis, Rule


def _orders(ndim: int) -> Iterator[tuple[str, Callable[..., Array]]]:
    for axes in itertools.permutations(range(ndim)) if ndim <= 4 else ():
        if axes != tuple(range(ndim)):
            text = "transposed" if ndim == 2 else f"permuted, by {axes}"
            yield text, lambda c, axes=axes: c.transpose(axes)
    for a in range(ndim):
        yield f"reversed along axis {a}", lambda c, a=a: np.flip(c, a)
    if ndim > 1:
        yield "reversed along all axes", np.flip
    for a in range(ndim):
        for n in (1, -1, 2, -2):
            yield f"shifted along axis {a} by {-n}", lambda c, a=a, n=n: np.roll(c, n, a)


def reordered(rule: Rule) -> Diagnosis | None:
    """The right numbers in other places: of the result, or of the g the rule is given."""
    if not rule.running and not rule.points:
        return None
    for text, order in _orders(rule.points[0].inputs[rule.i].ndim):
        if rule.explains(lambda p, order=order: order(rule.raw(p))):
            return Diagnosis("transposed", f"the gradient is {text}: the right numbers stand in other places.")
    for text, order in _orders(rule.points[0].out.ndim):
        if rule.explains(lambda p, order=order: rule.raw(p, np.ascontiguousarray(order(p.g)))):
            return Diagnosis("transposed", f"g is used {text}: the right numbers stand in other places.")
    for text, order in _orders(rule.points[0].inputs[rule.i].ndim):
        if rule.explains_running(lambda p, order=order: order(rule.raw(p))):
            return Diagnosis("transposed", f"the gradient is {text}: where the sizes differ, that is an error; "
                             "where they agree, the right numbers stand in other places.")
    if len(rule.running) == len(rule.points) and all(_same_numbers(p, rule.i) for p, _ in rule.running):
        return Diagnosis("transposed", "the gradient is permuted: every row of the Jacobian has the right numbers, in "
                         "other places.")
    return None


def reordered_shape(rule: Rule) -> Diagnosis | None:
    """The same, of a rule that gives a wrong shape at every point."""
    for text, order in _orders(max((c.ndim for p in rule.points if (c := rule.raw(p)) is not None), default=0)):
        if rule.explains(lambda p, order=order: order(rule.raw(p))):
            return Diagnosis("transposed", f"the gradient is {text}, so it has not the shape of {rule.input!r}.")
    return None


def _same_numbers(point: Point, i: int) -> bool:
    right, given = point.numeric(i), point.analytic(i)
    return right.shape[1] > 1 and close(np.sort(given, 1), np.sort(right, 1)) and np.ptp(right) > 0 and \
        not close(given, right)


def _sums(ndim: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for n in range(1, ndim + 1):
        for over in itertools.combinations(range(ndim), n):
            yield ("axis " if n == 1 else "axes ") + " and ".join(map(str, over)), over


def summed(rule: Rule) -> Diagnosis | None:
    """A sum over axes that is missing or one too many, of the result or of g; or a missing repetition."""
    ndim, first = rule.points[0].inputs[rule.i].ndim, rule.points[0]
    raw = rule.raw(first)
    if raw is not None and raw.ndim < ndim:
        for over in itertools.combinations(range(ndim), ndim - raw.ndim):
            def repeated(p, over=over):
                return np.broadcast_to(np.expand_dims(rule.raw(p), over), p.inputs[rule.i].shape)
            axes = " and ".join(map(str, over))
            if rule.explains(repeated):
                return Diagnosis("sum", f"g must be repeated along axis {axes}: the output has lost it, the gradient "
                                 "must have the shape of the input again (`spread`, `expand` or `unsqueeze`).")
    for text, over in _sums(ndim):
        if rule.explains(lambda p, over=over: _spread(rule.raw(p), over)):
            return Diagnosis("sum", f"a sum over {text} of the gradient is missing.")
        if _extra(rule, over, 1):
            return Diagnosis("sum", f"the gradient is summed over {text}, and should not be.")
        if _extra(rule, over, 0):
            return Diagnosis("mean", f"the gradient is averaged over {text}, and should not be.")
    for text, over in _sums(first.out.ndim):
        if rule.explains(lambda p, over=over: rule.raw(p, _spread(p.g, over))):
            return Diagnosis("sum", f"a sum of g over {text} is missing.")
    return None


def _spread(c: Array | None, over: tuple[int, ...]) -> Array | None:
    return None if c is None else np.broadcast_to(c.sum(over, keepdims=True), c.shape).copy()


def _extra(rule: Rule, over: tuple[int, ...], total: int) -> bool:
    """Whether the rule gives the right gradient, summed (or averaged) over axes."""
    told = False
    for point in rule.points:
        c, wanted = rule.raw(point), point.wanted(rule.i)
        if c is None or over[-1] >= wanted.ndim:
            return False
        less = wanted.sum(over, keepdims=True) if total else wanted.mean(over, keepdims=True)
        fits = [np.broadcast_to(less, wanted.shape), less, less.squeeze(over)]
        if not any(c.shape == f.shape and close(c, f) for f in fits):
            return False
        told = told or wanted.size != less.size
    return told
