"""Adam and AdamW by hand."""

import math

import numpy as np
import pytest

from optim import Adam, AdamW
from tinygrad_like import Tensor


def path(cls, x0, gradients, **options):
    x = Tensor([x0], requires_grad=True, dtype="float64")
    optimizer, values = cls([x], **options), []
    for g in gradients:
        x.grad = Tensor([g], dtype="float64")
        optimizer.step()
        values.append(x.item())
    return values


def test_the_first_step_is_lr_whatever_the_gradient():
    """m / (1 - beta1) = g and v / (1 - beta2) = g^2, so the step is lr g / |g|."""
    for g in (1e-3, -7.0, 1e5):
        assert path(Adam, 0.0, [g], lr=0.1, eps=0.0) == pytest.approx([-0.1 * np.sign(g)], rel=1e-9)


def test_two_steps_by_hand():
    """betas (0.5, 0.75), g = 2 then 4: m = 1, 2.5; v = 1, 4.75; corrected by 1 - 0.5^2 and 1 - 0.75^2 at the second."""
    second = (2.5 / 0.75) / (math.sqrt(4.75 / 0.4375) + 0.1)
    expected = [1 - 0.1 * 2 / 2.1, 1 - 0.1 * 2 / 2.1 - 0.1 * second]
    assert path(Adam, 1.0, [2.0, 4.0], lr=0.1, betas=(0.5, 0.75), eps=0.1) == pytest.approx(expected, rel=1e-12)


def test_adam_decays_through_the_moments_and_adamw_beside_them():
    adam = path(Adam, 10.0, [0.0], lr=0.1, weight_decay=0.5, eps=0.0)
    adamw = path(AdamW, 10.0, [0.0], lr=0.1, weight_decay=0.5)
    assert adam == pytest.approx([10 - 0.1], rel=1e-9)  # the decay 5 is a gradient, normalised to 1
    assert adamw == pytest.approx([10 * (1 - 0.1 * 0.5)], rel=1e-12)


def test_maximize():
    assert path(Adam, 0.0, [3.0], lr=0.1, maximize=True) == pytest.approx([0.1], rel=1e-6)
    assert path(AdamW, 0.0, [3.0], lr=0.1, maximize=True) == pytest.approx([0.1], rel=1e-6)


def test_a_gradient_of_zero_is_no_division_by_zero():
    for cls in (Adam, AdamW):
        assert path(cls, 1.0, [0.0], lr=0.1, weight_decay=0.0) == [1.0]


def test_state_has_the_gradients_moments():
    x = Tensor([1.0, 2.0], requires_grad=True)
    x.grad = Tensor([2.0, -4.0])
    optimizer = Adam([x], lr=0.1, betas=(0.5, 0.75))
    optimizer.step()
    state = optimizer.state_dict()["state"][0]
    assert state["step"] == 1
    np.testing.assert_allclose(state["exp_avg"], [1.0, -2.0])
    np.testing.assert_allclose(state["exp_avg_sq"], [1.0, 4.0])
