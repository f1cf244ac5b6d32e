"""Check rules where a function has no derivative: the slope must lie between the slopes on both sides, and not be NaN.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .measure import Point, symmetric

_STEP = 1e-6
Moves = dict[int, np.ndarray]  # number of an input -> its direction


def wrong_at_special_points(point: Point) -> Iterator[tuple[int, str, str]]:
    """(input, entry, sentence) where a rule is wrong: elements are 0 or equal, inside the op's domain.

    Along any direction u, the rules' slope J u must lie between the slopes on both sides.
    """
    for what, changed, directions in _special(point):
        here = point.at([changed.get(k, x) for k, x in enumerate(point.inputs)])
        if here is None:
            continue
        for moves, text in directions:
            slopes = _both_sides(here, moves)
            if slopes is None:
                continue
            low, high = slopes
            given = _along(here, moves)
            if given is None:
                break
            wrong = ~_between(given, low, high, 1e-4)
            if wrong.any():
                wrong &= ~_as_nearby(here, moves, given)
            if wrong.any():
                j = np.unravel_index(int(np.argmax(wrong)), wrong.shape) if wrong.shape else ()
                sides = f"{low[j]:.4g}" if abs(high[j] - low[j]) < 1e-3 else f"between {low[j]:.4g} and {high[j]:.4g}"
                entry = f"{what}: along {text} the rule gives {given[j]:.4g}, differences give {sides}"
                yield next(iter(moves)), entry, _sentence(what, float(given[j]), len(moves))


def _along(point: Point, moves: Moves) -> np.ndarray | None:
    """The rules' change of the output; None if they raise."""
    try:
        parts = [(point.analytic(i), u.reshape(-1)) for i, u in moves.items()]
    except Exception:
        return None
    with np.errstate(all="ignore"):
        return np.sum([j[:, u != 0] @ u[u != 0] for j, u in parts], 0).reshape(point.out.shape)


def _between(x: np.ndarray, low: np.ndarray, high: np.ndarray, slack: float) -> np.ndarray:
    slack = slack * (1 + np.abs(low) + np.abs(high))
    return (x >= low - slack) & (x <= high + slack)


def _as_nearby(point: Point, moves: Moves, given: np.ndarray) -> np.ndarray:
    """Where the result agrees with the rules at nearby points, which are right, or lies between their results."""
    rng, found = np.random.default_rng(0), []
    for _ in range(4):
        there = point.at([x + 1e-5 * rng.standard_normal(moves[i].shape) if i in moves else x
                          for i, x in enumerate(point.inputs)])
        near = None if there is None else _along(there, moves)
        if there is None or near is None or any(np.abs(there.analytic(i)).max(initial=0) > 1e3 * (
                1 + np.abs(point.out).max(initial=0)) for i in moves):
            return np.ones(given.shape, bool)  # a pole, such as singular vectors at equal singular values
        found.append(near)
    return _between(given, np.min(found, 0), np.max(found, 0), 1e-3)


def _sentence(what: str, along: float, inputs: int) -> str:
    told = f"wrong at some points only: where {what}"
    if not np.isfinite(along):
        return (f"{told} the rule gives {along}, such as from 0 / 0 or 0 * inf; replace the divisor there with "
                "ops.where before dividing.")
    if inputs > 1:
        return f"{told}; together the rules must pass all of g, for instance half to each."
    if "equal" in what:
        return (f"{told}; if several elements are the extreme, they must share g (in equal parts), not each get all of "
                "it or none.")
    return f"{told}; elsewhere the rule is right. Which side does the condition take?"


def _special(point: Point) -> Iterator[tuple[str, Moves, list[tuple[Moves, str]]]]:
    """A special point: its kind, its inputs, and directions that lead away from it."""
    pairs = [(i, k) for i in point.vary for k in point.vary
             if k > i and point.inputs[k].shape == point.inputs[i].shape]
    for i in point.vary:
        x, name = point.inputs[i], point.input_name(i)
        for what, there in _of_one(x) if x.size and not symmetric(x) else ():
            if not symmetric(there):  # else the slopes would be treated as those of symmetric matrices
                yield f"elements of {name} are {what}", {i: there}, list(_directions(i, x))
    for i, k in pairs:
        x, what = point.inputs[i], f"{point.input_name(i)} and {point.input_name(k)} are equal"
        half = x.copy()
        half.reshape(-1)[::2] = point.inputs[k].reshape(-1)[::2]
        if not symmetric(half):
            yield what, {i: half}, list(_directions(i, half))
        yield what, {k: x}, [({i: np.ones(x.shape), k: np.ones(x.shape)}, "a change of both by the same")]


def _of_one(x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    zero = x.copy()
    zero.reshape(-1)[::2] = 0.0
    yield "0", zero
    for extreme in (np.argmax, np.argmin) if x.size > 1 else ():
        tied, at = x.copy(), np.unravel_index(int(extreme(x)), x.shape)
        for a in range(x.ndim):
            tied[tuple((n + 1) % x.shape[a] if b == a else n for b, n in enumerate(at))] = x[at]
        yield "equal", tied


def _directions(i: int, x: np.ndarray) -> Iterator[tuple[Moves, str]]:
    yield {i: np.ones(x.shape)}, "a change of all elements by the same"
    for k in range(min(x.size, 6)):
        u = np.zeros(x.shape)
        u.reshape(-1)[k] = 1.0
        yield {i: u}, f"element {[int(n) for n in np.unravel_index(k, x.shape)]}" if x.shape else "it"
    yield {i: np.random.default_rng(0).standard_normal(x.shape)}, "a random direction"


def _both_sides(point: Point, moves: Moves) -> tuple[np.ndarray, np.ndarray] | None:
    """The smaller and the larger slope; None if the op is not continuous, or its domain ends there."""
    def at(h: float) -> np.ndarray:
        return point.forward([x + h * moves[k] if k in moves else x for k, x in enumerate(point.inputs)])

    with np.errstate(all="ignore"):
        (a, b), (c, d) = [((at(h) - point.out) / h, (point.out - at(-h)) / h) for h in (_STEP, _STEP / 16)]
        # A slope that depends on h means a jump, or is infinite. After a jump, such as a new sign of a singular vector,
        # the other entries may belong to another branch. If a side is not finite, the domain ends there.
        jumps = any([(np.abs(near - far) > 0.2 * np.abs(far) + 1e-2).any() for far, near in ((a, c), (b, d))])
    return None if jumps or not np.isfinite([a, b, c, d]).all() else (np.minimum(a, b), np.maximum(a, b))
