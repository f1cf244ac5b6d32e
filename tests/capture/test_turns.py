"""Calls of a captured function that take turns: flags that flip, counts of which Python looks at the remainder."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import optim
from tests.capture.test_places import weight
from tinygrad_like import Tensor, capture

CALLS = 36


def rivals(turn):
    """Two weights with an optimizer each; `turn` makes a step of the state and of what updates one of them."""
    def make():
        a, b = weight(5, 3), weight(5, 3, seed=1)
        first, second = optim.Adam([a], lr=0.05), optim.SGD([b], lr=0.1, momentum=0.9)
        state = SimpleNamespace(i=0, phase="a", turn=True, once=None)

        def update(x, one):
            optimizer = first if one else second
            optimizer.zero_grad()
            loss = ((x @ a - x @ b.detach()) if one else (x @ a.detach() - x @ b).tanh()).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return turn(state, update), lambda: [a.tolist(), b.tolist(), *vars(state).values()]

    return make


def word_from_outside(state, update):
    def step(x):
        return update(x, state.phase == "a")

    def before(i):
        state.phase = "ab"[i % 2]

    return step, before


def word_set_inside(state, update):
    def step(x):
        loss = update(x, state.phase == "a")
        state.phase = "b" if state.phase == "a" else "a"
        return loss

    return step, None


def flag_set_inside(state, update):
    def step(x):
        state.turn = not state.turn
        return update(x, state.turn)

    return step, None


def flag_in_a_closure(state, update):
    turn = True

    def step(x):
        return update(x, turn)

    def before(i):
        nonlocal turn
        turn = i % 3 == 0

    return step, before


def set_for_good(state, update):
    def step(x):
        loss = update(x, state.once is None)
        state.once = "later"
        return loss

    return step, None


def count_in_an_attribute(state, update):
    def step(x):
        state.i += 1
        loss = update(x, True)
        return update(x, False) if state.i % 5 == 0 else loss

    return step, None


def three_counts(state, update):
    def step(x):
        state.i += 1
        loss = update(x, state.i % 2 == 0)
        if state.i % 3 == 0:
            update(x, True)
        return update(x, False) if state.i % 5 == 0 else loss

    return step, None


TURNS = {  # and for how many programs
    "word from outside": (word_from_outside, 2), "word set inside": (word_set_inside, 2),
    "flag set inside": (flag_set_inside, 2), "flag in a closure": (flag_in_a_closure, 2),
    "set for good": (set_for_good, 1), "count": (count_in_an_attribute, 3), "three counts": (three_counts, 8),
}


def played(make, decorate, calls=CALLS):
    (step, before), state = make()
    step, found = decorate(step), []
    for i in range(calls):
        if before is not None:
            before(i)
        found.append((step(Tensor(np.random.default_rng(i).standard_normal((4, 5)).astype("f"))).item(), state()))
    return found, step


@pytest.mark.parametrize("turn, programs", TURNS.values(), ids=TURNS)
def test_the_same_to_the_bit(monkeypatch, turn, programs):
    calls = 90 if turn is three_counts else CALLS
    eager, _ = played(rivals(turn), lambda f: f, calls)
    recorded, record = [], capture._record
    monkeypatch.setattr(capture, "_record", lambda *given: recorded.append(given[1]) or record(*given))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        captured, step = played(rivals(turn), lambda f: capture(f, fuse=False), calls)
    assert captured == eager
    assert len(step.programs) == programs
    assert len(recorded) <= 2 * (programs + 2)


@pytest.mark.parametrize("accumulate", ["argument", "attribute", "zeroed first"])
def test_gradients_of_several_calls(accumulate):
    found = []
    for decorate in (lambda f: f, lambda f: capture(f, fuse=False)):
        w, state = weight(5, 3), SimpleNamespace(i=0)
        optimizer = optim.AdamW([w], lr=0.05)

        def step(x, i=None):
            i = state.i if i is None else i  # noqa: B023
            if accumulate == "zeroed first" and i % 4 == 0:
                optimizer.zero_grad()  # noqa: B023
            loss = (x @ w).tanh().square().mean() / 4  # noqa: B023
            loss.backward()
            if (i + 1) % 4 == 0:
                optimizer.step()  # noqa: B023
                if accumulate != "zeroed first":
                    optimizer.zero_grad()  # noqa: B023
            state.i += 1  # noqa: B023
            return loss.detach()

        step, rows = decorate(step), []
        for i in range(CALLS):
            x = Tensor(np.random.default_rng(i).standard_normal((4, 5)).astype("f"))
            loss = step(x, i) if accumulate == "argument" else step(x)
            rows.append((loss.item(), w.tolist(), None if w.grad is None else w.grad.tolist()))
        found.append(rows)
    assert found[0] == found[1] and 2 <= len(step.programs) <= 4 and not step.gave_up


def test_what_was_played_is_kept_where_there_are_too_many_kinds():
    state = SimpleNamespace(scale=2.0)

    def step(x, i):
        return x * state.scale if i % 4 else x * float(state.scale)

    captured, x = capture(step, fuse=False), Tensor([1.0, 3.0])
    with pytest.warns(UserWarning, match=r"calls of step like this one run without capture.* looks at .*scale"):
        for i in range(120):
            state.scale = 1 + i / 7
            assert captured(x, i).tolist() == step(x, i).tolist()
    assert len(captured.programs) == 1
    assert captured(Tensor([1.0]), 1).tolist() == step(Tensor([1.0]), 1).tolist()  # of a shape that is new
    assert len(captured.kinds) == 1
