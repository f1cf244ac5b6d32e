"""Hypotheses on where numbers stand: reordered, summed once too often or too seldom, not repeated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from .measure import Point, close
from .rule import Array, Diagnosis, Rule

_FORWARD = Diagnosis("transposed", "the rule multiplies by the Jacobian, not by its transpose: it carries a change of "
                     "the input forward, where g has to be carried back.")


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
    ndim = rule.points[0].out.ndim
    same = ndim == rule.points[0].inputs[rule.i].ndim  # if not, an axis that g is summed over is more likely wrong
    for text, order in _orders(ndim) if same else ():
        if rule.explains(lambda p, order=order: rule.raw(p, np.ascontiguousarray(order(p.g)))):
            return Diagnosis("transposed", f"g is used {text}: the right numbers stand in other places.")
    for a in range(rule.points[0].out.ndim):
        if all(_shifted(p, rule, a) for p in rule.points):
            return Diagnosis("transposed", f"g is used shifted along axis {a}: the rule takes another part of g than "
                             f"that which {rule.input!r} went into.")
    for text, order in _orders(rule.points[0].inputs[rule.i].ndim):
        if rule.explains_running(lambda p, order=order: order(rule.raw(p))):
            return Diagnosis("transposed", f"the gradient is {text}: where the sizes differ, that is an error; "
                             "where they agree, the right numbers stand in other places.")
    if rule.running and len(rule.running) == len(rule.points) and all(_forward(p, rule.i) for p in rule.points):
        return _FORWARD
    if all(_permuted(p, rule) for p in rule.points) and not rule.explains(rule.raw):
        return Diagnosis("transposed", "the gradient is permuted: with its axes in another order it is right; the rule "
                         "must put back the order that the forward changed.")
    return _reshaped(rule)


def mixed(rule: Rule) -> Diagnosis | None:
    """The right numbers in other places, nobody knows which."""
    if rule.running and all(_forward(p, rule.i) for p, _ in rule.running):  # elsewhere it raises, if sizes differ
        return _FORWARD
    if len(rule.running) == len(rule.points) and all(_same_numbers(p, rule.i) for p, _ in rule.running):
        return Diagnosis("transposed", "the gradient is permuted: every row of the Jacobian has the right numbers, in "
                         "other places.")
    return None


def reordered_shape(rule: Rule) -> Diagnosis | None:
    """The same, of a rule that gives a wrong shape at every point."""
    for text, order in _orders(max((c.ndim for p in rule.points if (c := rule.raw(p)) is not None), default=0)):
        if rule.explains(lambda p, order=order: order(rule.raw(p))):
            return Diagnosis("transposed", f"the gradient is {text}, so it has not the shape of {rule.input!r}.")
    if all(_permuted(p, rule) for p in rule.points) and not rule.explains(rule.raw):
        return Diagnosis("transposed", "the gradient is permuted: with its axes in another order it is right; the rule "
                         "must put back the order that the forward changed.")
    return _reshaped(rule)


def _reshaped(rule: Rule) -> Diagnosis | None:
    if rule.explains(lambda p: np.asarray(rule.raw(p)).reshape(p.inputs[rule.i].shape)):
        return Diagnosis("shape", "the numbers are right, but they must have the shape of the input again: "
                         f".reshape({rule.input}_shape), with {rule.input}_shape among the rule's parameters.")
    return None


def _forward(point: Point, i: int) -> bool:
    right = point.numeric(i)
    return right.shape[0] == right.shape[1] and not close(right.T, right) and close(point.analytic(i), right.T)


def _permuted(point: Point, rule: Rule) -> bool:
    """Whether some order of the axes makes it right at this point."""
    c, wanted = rule.raw(point), point.wanted(rule.i)
    if c is None or sorted(c.shape) != sorted(wanted.shape) or not 1 < c.ndim < 5:
        return False
    return any(close(c.transpose(axes), wanted) for axes in itertools.permutations(range(c.ndim)))


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
    for text, over in _sums(first.out.ndim) if ndim < first.out.ndim else ():
        if rule.explains(lambda p, over=over: np.asarray(rule.raw(p)).sum(over)) and len(over) == first.out.ndim - ndim:
            return Diagnosis("sum", f"a sum over {text} is missing: {rule.input!r} has no such axis. By itself the "
                             "engine sums over axes that broadcasting put in front, and over those of size 1.")
    if all(_selection(p.numeric(rule.i)) for p in rule.points) and not rule.explains(rule.raw):
        return Diagnosis("places", f"the output is some of the elements of {rule.input!r}: g belongs in the places of "
                         "these, and 0 in all others (`where` with a condition, `put`, `surround`).")
    if rule.running and all(_kept_once(p.numeric(rule.i), p.analytic(rule.i)) for p, _ in rule.running):
        return Diagnosis("sum", f"an element of {rule.input!r} that went into several outputs must get the sum of what "
                         "these send back; here one of them overwrites the others (`ops.scatter_add` adds).")
    if all(_repeatable(p, rule) for p in rule.points) and any(
            (c := rule.raw(p)) is not None and c.size < p.inputs[rule.i].size for p in rule.points):
        return Diagnosis("sum", "g must be repeated along the axes that the output has lost: the gradient must have "
                         "the shape of the input again (`spread`, `expand` or `unsqueeze`).")
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


def less_mean(rule: Rule) -> Diagnosis | None:
    """The rule of something that does not change if all elements are shifted by the same, without what makes it so."""
    if not all(_off_by_mean(p, rule) for p in rule.points):
        return None
    return Diagnosis("term", "a term is missing that takes off the mean of the gradient: the output does not change "
                     "when all elements are shifted by the same, so the gradient adds up to 0.")


def _shifted(point: Point, rule: Rule, axis: int) -> bool:
    return any(rule._right(point, lambda p, n=n: rule.raw(p, np.ascontiguousarray(np.roll(p.g, n, axis))))
               for n in range(1, point.out.shape[axis]))


def _selection(jacobian: Array) -> bool:
    """Whether every output is another element of the input, and some elements are none."""
    ones = np.isclose(jacobian, 1, atol=1e-6)
    return bool((ones | np.isclose(jacobian, 0, atol=1e-6)).all() and (ones.sum(1) == 1).all() and
                ones.sum(0).max(initial=0) == 1 and ones.sum(0).min(initial=1) == 0)


def _kept_once(right: Array, given: Array) -> bool:
    """Whether every output is an element of the input, some are several times, and all but one of these is lost."""
    ones, once = np.isclose(right, 1, atol=1e-6), np.isclose(given, 1, atol=1e-6)
    return bool((ones | np.isclose(right, 0, atol=1e-6)).all() and (ones.sum(1) == 1).all() and ones.sum(0).max() > 1
                and np.array_equal(once.sum(0), ones.any(0)) and (ones[once]).all() and not given[~once].any())


def _repeatable(point: Point, rule: Rule) -> bool:
    """Whether the rule's result, repeated along some axes, is right at this point."""
    c, wanted = rule.raw(point), point.wanted(rule.i)
    if c is None or c.ndim > wanted.ndim:
        return False
    for over in itertools.combinations(range(wanted.ndim), wanted.ndim - c.ndim):
        try:
            if close(np.broadcast_to(np.expand_dims(c, over), wanted.shape), wanted):
                return True
        except ValueError:
            continue
    return False


def _off_by_mean(point: Point, rule: Rule) -> bool:
    c, wanted = rule.raw(point), point.wanted(rule.i)
    return c is not None and c.shape == wanted.shape and any(
        close(c - c.mean(over, keepdims=True), wanted) for _, over in _sums(c.ndim))


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
        # Of equal numbers the sum is a multiple, which is told as a mean or a factor.
        told = told or not close(wanted, np.broadcast_to(wanted.mean(over, keepdims=True), wanted.shape))
    return told
