"""Adagrad and Adadelta by hand: gradients 2, then 4."""

import math

import pytest

from optim import Adadelta, Adagrad
from tinygrad_like import Tensor


def path(make):
    x = Tensor([1.0], requires_grad=True, dtype="float64")
    optimizer, values = make([x]), []
    for g in (2.0, 4.0):
        x.grad = Tensor([g], dtype="float64")
        optimizer.step()
        values.append(x.item())
    return values


def test_adagrad():
    first = 1 - 0.1 * 2 / 2
    assert path(lambda p: Adagrad(p, lr=0.1, eps=0.0)) == pytest.approx([first, first - 0.1 * 4 / math.sqrt(20)])
    first = 1 - 0.1 * 2 / math.sqrt(5)
    assert path(lambda p: Adagrad(p, lr=0.1, eps=0.0, initial_accumulator_value=1.0, lr_decay=0.5)) == pytest.approx(
        [first, first - 0.1 / 1.5 * 4 / math.sqrt(21)])


def test_adadelta():
    d1 = 2 * math.sqrt(0.1 / (0.5 * 4 + 0.1))
    u, v = 0.5 * d1**2, 0.5 * 0.5 * 4 + 0.5 * 16
    d2 = 4 * math.sqrt((u + 0.1) / (v + 0.1))
    assert path(lambda p: Adadelta(p, rho=0.5, eps=0.1)) == pytest.approx([1 - d1, 1 - d1 - d2])


@pytest.mark.parametrize("make", [lambda p: Adagrad(p, lr_decay=-1), lambda p: Adagrad(p, eps=-1),
                                  lambda p: Adadelta(p, rho=1.5), lambda p: Adadelta(p, weight_decay=-1)])
def test_options_out_of_range(make):
    with pytest.raises(ValueError, match=r"Ada\w+: \w+=.* must be"):
        make([Tensor([1.0], requires_grad=True)])
