"""Where a function has no derivative, its rule may choose; but only between what both sides say, and never NaN."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .measure import Point, symmetric

_STEP = 1e-6


def wrong_at_special_points(point: Point) -> tuple[int, str, str] | None:
    """(input, entry, sentence) if a rule is wrong where elements are 0, or equal, and the op goes on to both sides.

    Along any direction u, what the rule says, J u, must lie between the slopes to both sides.
    """
    for what, i, x in _special(point):
        if symmetric(x):  # which it was not before: its slopes would be taken for those of symmetric matrices
            continue
        try:
            here = Point(point.op, point.like([x if k == i else v for k, v in enumerate(point.inputs)]),
                         point.options)
            if not np.isfinite(here.out).all():
                continue
            given = here.analytic(i)
        except Exception:
            continue
        for u, text in _directions(x):
            slopes = _both_sides(here, i, u)
            if slopes is None:
                continue
            low, high, known = slopes
            with np.errstate(all="ignore"):
                along = (given[:, u.reshape(-1) != 0] @ u[u != 0]).reshape(here.out.shape)
            slack = 1e-4 * (1 + np.abs(low) + np.abs(high))
            wrong = known & ~((along >= low - slack) & (along <= high + slack))
            if wrong.any():
                wrong &= ~_as_nearby(here, i, u, along)
            if wrong.any():
                j = np.unravel_index(int(np.argmax(wrong)), wrong.shape) if wrong.shape else ()
                sides = f"{low[j]:.4g}" if abs(high[j] - low[j]) < 1e-3 else f"between {low[j]:.4g} and {high[j]:.4g}"
                entry = f"{what}: along {text} the rule gives {along[j]:.4g}, differences give {sides}"
                return i, entry, _sentence(what, float(along[j]))
    return _shared(point)


def _as_nearby(point: Point, i: int, u: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Where the rule says what it says, or lies between what it says, at points beside this one, where it is right."""
    rng, found = np.random.default_rng(0), []
    for _ in range(4):
        x = point.inputs[i] + 1e-5 * rng.standard_normal(point.inputs[i].shape)
        there = Point(point.op, point.like([x if k == i else v for k, v in enumerate(point.inputs)]), point.options)
        jacobian = there.analytic(i)
        if np.abs(jacobian).max(initial=0) > 1e3 * (1 + np.abs(point.out).max(initial=0)):
            return np.ones(along.shape, bool)  # a pole, as of singular vectors where singular values are equal
        found.append((jacobian @ u.reshape(-1)).reshape(point.out.shape))
    low, high = np.min(found, 0), np.max(found, 0)
    slack = 1e-3 * (1 + np.abs(low) + np.abs(high))
    return (along >= low - slack) & (along <= high + slack)


def _shared(point: Point) -> tuple[int, str, str] | None:
    """Where two inputs are equal: a change of both by the same must be carried by both rules together."""
    for i in point.vary:
        for k in point.vary:
            if k <= i or point.inputs[k].shape != point.inputs[i].shape:
                continue
            same = [point.inputs[i] if n == k else x for n, x in enumerate(point.inputs)]
            here = Point(point.op, point.like(same), point.options)
            if not np.isfinite(here.out).all():
                continue
            sides = []
            for h in (_STEP, -_STEP):
                moved = [x + h if n in (i, k) else x for n, x in enumerate(here.inputs)]
                sides.append((here.forward(moved) - here.out) / h)
            along = (here.analytic(i).sum(1) + here.analytic(k).sum(1)).reshape(here.out.shape)
            low, high = np.minimum(*sides), np.maximum(*sides)
            slack = 1e-4 * (1 + np.abs(low) + np.abs(high))
            wrong = np.isfinite(sides).all(0) & ~((along >= low - slack) & (along <= high + slack))
            wrong &= np.abs(sides[0] - sides[1]) < 1 / np.sqrt(_STEP)  # no jump
            if wrong.any():
                a, b = point.input_name(i), point.input_name(k)
                j = np.unravel_index(int(np.argmax(wrong)), wrong.shape) if wrong.shape else ()
                return i, (f"{a} and {b} are equal: along a change of both by the same the rules together give "
                           f"{along[j]:.4g}, differences give {low[j]:.4g}"), (
                    f"wrong at some points only: where {a} and {b} are equal; together the rules must pass all of g, "
                    "for instance half to each.")
    return None


def _sentence(what: str, along: float) -> str:
    if not np.isfinite(along):
        return (f"wrong at some points only: where {what} the rule gives {along}, as of 0 / 0 or 0 * inf; "
                "replace the divisor there with ops.where before dividing.")
    if "equal" in what:
        return (f"wrong at some points only: where {what}; if several elements are the extreme, they must share g "
                "(in equal parts), not each get all of it or none.")
    return f"wrong at some points only: where {what}; elsewhere the rule is right. Which side does the condition take?"


def _special(point: Point) -> Iterator[tuple[str, int, np.ndarray]]:
    for i in point.vary:
        x, name = point.inputs[i], point.input_name(i)
        if not x.size or symmetric(x):
            continue
        zero = x.copy()
        zero.reshape(-1)[::2] = 0.0
        yield f"elements of {name} are 0", i, zero
        if x.size > 1:
            tied = x.copy()
            top = np.unravel_index(int(np.argmax(x)), x.shape)
            for a in range(x.ndim):
                other = tuple((n + 1) % x.shape[a] if b == a else n for b, n in enumerate(top))
                tied[other] = x[top]
            yield f"elements of {name} are equal", i, tied
            low = x.copy()
            bottom = np.unravel_index(int(np.argmin(x)), x.shape)
            for a in range(x.ndim):
                low[tuple((n + 1) % x.shape[a] if b == a else n for b, n in enumerate(bottom))] = x[bottom]
            yield f"elements of {name} are equal", i, low
        for k in point.vary:
            if k > i and point.inputs[k].shape == x.shape:
                equal = x.copy()
                equal.reshape(-1)[::2] = point.inputs[k].reshape(-1)[::2]
                yield f"{name} and {point.input_name(k)} are equal", i, equal


def _directions(x: np.ndarray) -> Iterator[tuple[np.ndarray, str]]:
    yield np.ones(x.shape), "a change of all elements by the same"
    for k in range(min(x.size, 6)):
        u = np.zeros(x.shape)
        u.reshape(-1)[k] = 1.0
        yield u, f"element {[int(n) for n in np.unravel_index(k, x.shape)]}" if x.shape else "it"
    yield np.random.default_rng(0).standard_normal(x.shape), "a random direction"


def _both_sides(point: Point, i: int, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The smaller and the larger slope along u, and where both are finite; None if the op is not continuous there."""
    slopes = []
    with np.errstate(all="ignore"):
        for h in (_STEP, _STEP / 16):
            slopes.append((point.moved(i, h * u) - point.out) / h)
            slopes.append((point.out - point.moved(i, -h * u)) / h)
        known: np.ndarray = np.asarray(np.isfinite(slopes).all(0))
        # A slope that depends on h is a jump, or infinite. After a jump, as of the sign of a singular vector, the other
        # entries may belong to another branch.
        jumps = [np.abs(slopes[k + 2] - slopes[k]) > 0.2 * np.abs(slopes[k]) + 1e-2 for k in (0, 1)]
        # Where a side is not finite, the domain ends: slopes may be infinite, of which a rule makes 0 * inf.
        if not known.all() or (jumps[0] | jumps[1]).any():
            return None
        return np.minimum(slopes[0], slopes[1]), np.maximum(slopes[0], slopes[1]), known
