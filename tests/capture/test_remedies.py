"""What a captured function says where it runs eagerly: why, where, and what to write instead, which is played."""

import random

import numpy as np
import pytest

import nn
import tinygrad_like as tg
from tinygrad_like import Tensor, capture

LENGTHS = Tensor(np.array([2, 1]))
RNN = nn.RNN(5, 3, batch_first=True)
LOSSES: list = []
ITEMS = iter(range(10**6))


def forced(x):
    return x * 2 if random.random() < 0.5 else x


def added(x):
    LOSSES.append(x.detach())
    return x * 2 if len(LOSSES) < 100 else x


SAID = {
    "mask": (lambda x: x[x > 0].sum(), r"a mask selects .*x\[x > 0\].*use where, or multiply",
             lambda x: (x * (x > 0)).sum()),
    "masked_select": (lambda x: tg.masked_select(x, x > 0).sum(), r"masked_select gives .*use where",
                      lambda x: x.where(x > 0, 0.0).sum()),
    "nonzero": (lambda x: (x > 0).nonzero().sum(), "nonzero gives .*nonzero.*use where, or a mask", None),
    "random": (forced, "the generator of Python's random .*draw outside, and pass what was drawn as an argument",
               lambda x: (x * 2).where(Tensor.rand(()) < 0.5, x)),
    "numpy's": (lambda x: x * np.random.beta(1, 1), "the generator of np.random .*draw outside", None),
    "next": (lambda x: x * next(ITEMS), "the place in ITEMS .*take what comes next outside, and pass it", None),
    "added": (added, "it appends to LOSSES, which it reads .*len.*return what is to be", lambda x: (x * 2, x * 1)),
}


@pytest.mark.parametrize("wrong, said, right", SAID.values(), ids=SAID)
def test_what_it_says(wrong, said, right):
    def called(function):
        with tg.no_grad():
            for i in range(12):
                function(Tensor(np.random.default_rng(i).standard_normal((4, 5)).astype("f")))
        return function

    with pytest.warns(UserWarning, match=said):
        assert not called(capture(wrong)).programs
    if right is not None:
        assert called(capture(right)).programs


LOOKS = {
    "float": (lambda x, v: x * float(v), r"Python looks at number 1 .*float\(v\).*compute with the number as it is"),
    "text": (lambda x, v: (f"{v}", x)[1], "Python looks at number 1 .*f\"{v}\""),
    "type": (lambda x, v: x * v if type(x) is Tensor else x, r"its code uses type\(\) .*ask isinstance\(\)"),
}


@pytest.mark.parametrize("function, said", LOOKS.values(), ids=LOOKS)
def test_what_it_says_of_numbers(function, said):
    captured = capture(function)
    with pytest.warns(UserWarning, match=said):
        for i in range(12):
            assert captured(Tensor([1.0, 2.0]), i / 7).tolist() == function(Tensor([1.0, 2.0]), i / 7).tolist()


def test_a_draw_outside_is_played():
    """Teacher forcing: a program for each way."""
    def step(x, chance):
        return x * 2 if chance < 0.5 else x + 1

    played, x, draws = capture(step, fuse=False), Tensor([1.0, 2.0]), random.Random(3)
    for _ in range(24):
        chance = draws.random()
        assert played(x, chance).tolist() == step(x, chance).tolist()
    assert len(played.programs) == 2 and not played.gave_up
