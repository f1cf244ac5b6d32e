"""Lists to which a captured function appends: a play appends to them too, unless they are read."""

import warnings
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest

import optim
from tests.capture.test_places import weight
from tinygrad_like import Tensor, capture
from tinygrad_like.capture.proxies import Growing

CALLS = 14


def plain(value):
    if isinstance(value, Tensor):
        return value.shape, value.dtype, value.requires_grad, value.tolist()
    return [plain(x) for x in value] if isinstance(value, list | tuple) else (
        {n: plain(x) for n, x in value.items()} if isinstance(value, dict) else (type(value), value))


def trained(append, decorate, before=lambda state, i: None):
    w = weight(5, 3)
    optimizer, state = optim.SGD([w], lr=0.1), SimpleNamespace(log=[], i=0, history={"loss": [], "norm": []})

    def step(x):
        state.i += 1
        optimizer.zero_grad()
        loss = (x @ w).tanh().square().mean()
        loss.backward()
        optimizer.step()
        return append(state, x, loss, w)

    step, found = decorate(step), []
    for i in range(CALLS):
        before(state, i)
        given = Tensor(np.random.default_rng(i).standard_normal((4, 5)).astype("f"))
        found.append(plain(step(given)))
        assert type(state.log) is list and not any(type(x) is Growing for x in vars(state).values())
        found.append(plain([state.log, state.history]))
        state.given = given
    return found, step, state


def of_a_dict(state, x, loss, w):
    state.history["loss"].append(loss.detach())
    state.history["norm"].append(w.grad.norm())
    return loss.detach()


def several(state, x, loss, w):
    state.log.append((state.i, {"loss": loss.detach()}, "word"))
    state.log.extend([w.grad * 2, 0.5 * state.i])
    state.log += [w.detach()[0] + 0]


def now_and_then(state, x, loss, w):
    if state.i % 3 == 0:
        state.log.append(loss)
    return loss.detach()


def cleared(state, i):
    if i % 4 == 3:
        state.log.clear()
        if state.history["loss"]:
            state.history["loss"] = []


APPENDED = {  # and for how many programs
    "loss": (lambda state, x, loss, w: state.log.append(loss), 1),
    "detached": (lambda state, x, loss, w: state.log.append(loss.detach()), 1),
    "of a dict": (of_a_dict, 1), "several": (several, 1), "now and then": (now_and_then, 3),
    "what it is given": (lambda state, x, loss, w: state.log.append(x), 1),
    "a parameter": (lambda state, x, loss, w: state.log.append(w), 1),
    "a number": (lambda state, x, loss, w: state.log.append(state.i / 2), 1),
}


@pytest.mark.parametrize("before", [lambda state, i: None, cleared], ids=["growing", "cleared"])
@pytest.mark.parametrize("append, programs", APPENDED.values(), ids=APPENDED)
def test_the_same_to_the_bit(append, programs, before):
    eager, *_ = trained(append, lambda f: f, before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        captured, step, state = trained(append, lambda f: capture(f, fuse=False), before)
    assert captured == eager
    assert 1 <= len(step.programs) <= programs and not step.gave_up
    if append is APPENDED["what it is given"][0]:
        assert state.log[-1] is state.given


def read(state, x, loss, w):
    state.log.append(loss.detach())
    return sum(state.log) / len(state.log)


def shortened(state, x, loss, w):
    state.log.append(loss.detach())
    if len(state.log) > 3:
        state.log.pop(0)


def under_another_name(state, x, loss, w):
    state.log.append(loss.detach())
    return (state.twin or [loss.detach()])[-1] * 1


def kept_elsewhere(state, x, loss, w):
    state.log.append(loss.detach())
    state.again = [state.log]
    return state.log


def given_a_name(state, i):
    if i == 8:
        state.twin = state.log
    elif i == 0:
        state.twin = None


READ = {  # what is said
    "read": (read, None, r"it appends to state.log, which it reads or changes at .*sum\(state.log\)"),
    "shortened": (shortened, None, "it appends to state.log, which it reads or changes at .*len"),
    "twice": (under_another_name, lambda state, i: setattr(state, "twin", state.log),
              "the length of state.* return what is to be added"),
    "twice, later": (under_another_name, given_a_name, "state.*is changed by the function itself"),
    "kept elsewhere": (kept_elsewhere, None, "the length of state.log is changed by the function itself"),
}


@pytest.mark.parametrize("append, before, said", READ.values(), ids=READ)
def test_what_is_read_runs_eagerly(append, before, said):
    before = before or (lambda state, i: None)
    eager, *_ = trained(append, lambda f: f, before)
    with pytest.warns(UserWarning, match=said):
        captured, *_ = trained(append, lambda f: capture(f, fuse=False), before)
    assert captured == eager


def test_what_an_error_leaves():
    """What was appended before an error in a recorded call is there; and nothing twice, where it begins anew."""
    log, state = [], SimpleNamespace(fails=False, looks=False)

    def step(x):
        log.append(x * 2)
        if state.fails:
            raise ValueError("of the user's")
        return x.sum().item() if state.looks else x + 1

    captured, x = capture(step, strict=False), Tensor([1.0, 2.0])
    for _ in range(6):
        captured(x)
    assert len(log) == 6 and len(captured.programs) == 1
    state.fails = True
    for _ in range(3):
        with pytest.raises(ValueError, match="of the user's"):
            captured(x)
    assert len(log) == 9 and type(log) is list and [y.tolist() for y in log] == [[2.0, 4.0]] * 9
    state.fails, state.looks = False, True
    assert captured(x) == 3.0 and captured(x) == 3.0 and len(log) == 11


def test_every_way_to_read_a_list_is_noted():
    ways = [len, list, tuple, bool, repr, sorted, lambda x: x[0], lambda x: x[:1], lambda x: 1 in x, lambda x: [*x],
            lambda x: x + [1], lambda x: [1] + x, lambda x: x * 2, lambda x: 2 * x, lambda x: x == [1],
            lambda x: x < [2],
            lambda x: x.index(1), lambda x: x.count(1), lambda x: x.copy(), lambda x: x.pop(), lambda x: x.sort(), sum,
            lambda x: x.insert(0, 2), lambda x: x.clear(), lambda x: x.remove(1), lambda x: x.reverse(), reversed, max,
            lambda x: x.__setitem__(0, 2), lambda x: x.__delitem__(0), np.array, iter, deepcopy, lambda x: [].extend(x)]
    for way in ways:
        of = [1]
        x = Growing(of, "x")
        x.append(1)
        x.extend([1])
        assert not x.read and x.new() == [1, 1] and not x.trouble()
        way(x)
        assert "test_growing" in x.read and x.new() == [] and x.trouble(), way
    others = "__new__ __init__ __getattribute__ __sizeof__ __iadd__ __class_getitem__ __hash__ append extend".split()
    assert {n for n in vars(list) if callable(getattr(list, n))} <= {*vars(Growing), *others}
