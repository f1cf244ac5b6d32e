"""RMSProp by hand: alpha 0.75, gradients 2 then 4, so v = 1 then 4.75."""

import math

import numpy as np
import pytest

from optim import RMSProp
from tinygrad_like import Tensor


def path(**options):
    x = Tensor([1.0], requires_grad=True, dtype="float64")
    optimizer, values = RMSProp([x], lr=0.1, alpha=0.75, **options), []
    for g in (2.0, 4.0):
        x.grad = Tensor([g], dtype="float64")
        optimizer.step()
        values.append(x.item())
    return values


D1, D2 = 2 / (1 + 0.1), 4 / (math.sqrt(4.75) + 0.1)
C1, C2 = 2 / (math.sqrt(1 - 0.5**2) + 0.1), 4 / (math.sqrt(4.75 - 1.375**2) + 0.1)  # grad_avg = 0.5, 0.375 + 1


@pytest.mark.parametrize("options, expected", [
    ({}, [1 - 0.1 * D1, 1 - 0.1 * (D1 + D2)]),
    (dict(maximize=True), [1 + 0.1 * D1, 1 + 0.1 * (D1 + D2)]),
    (dict(momentum=0.5), [1 - 0.1 * D1, 1 - 0.1 * (1.5 * D1 + D2)]),
    (dict(centered=True), [1 - 0.1 * C1, 1 - 0.1 * (C1 + C2)]),
])
def test_by_hand(options, expected):
    assert path(eps=0.1, **options) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_centered_survives_a_constant_gradient(dtype):
    """The variance tends to 0, and v - a^2, rounded, below it."""
    x = Tensor(np.zeros(50, dtype), requires_grad=True)
    x.grad = Tensor(np.random.default_rng(0).uniform(0.1, 1, 50).astype(dtype))
    optimizer = RMSProp([x], lr=1e-6, alpha=0.5, centered=True)
    for _ in range(100):
        optimizer.step()
    assert np.isfinite(x.data).all()


def test_weight_decay_joins_the_gradient():
    x = Tensor([2.0], requires_grad=True, dtype="float64")
    x.grad = Tensor([1.0], dtype="float64")
    RMSProp([x], lr=0.1, alpha=0.75, weight_decay=0.5, eps=0.0).step()
    assert x.item() == pytest.approx(2 - 0.1 * 2 / 1, rel=1e-12)  # g = 1 + 0.5 * 2, v = 0.25 * 4
