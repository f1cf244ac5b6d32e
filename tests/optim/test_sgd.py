"""SGD by hand: x = 1, gradients 2, 3, 1, lr 0.1."""

import pytest

from optim import SGD, SGDW
from tinygrad_like import Tensor


def path(gradients=(2.0, 3.0, 1.0), **options):
    x = Tensor([1.0], requires_grad=True, dtype="float64")
    optimizer, values = SGD([x], lr=0.1, **options), []
    for g in gradients:
        x.grad = Tensor([g], dtype="float64")
        optimizer.step()
        values.append(x.item())
    return values


@pytest.mark.parametrize("options, expected", [
    ({}, [0.8, 0.5, 0.4]),
    (dict(maximize=True), [1.2, 1.5, 1.6]),
    # g = 2 + 0.5 * 1 = 2.5, x = 0.75; g = 3 + 0.375, x = 0.4125; g = 1 + 0.20625, x = 0.291875
    (dict(weight_decay=0.5), [0.75, 0.4125, 0.291875]),
    # b = 2; 0.5 * 2 + 3 = 4; 0.5 * 4 + 1 = 3
    (dict(momentum=0.5), [0.8, 0.4, 0.1]),
    # b = 2, undamped at first; 1 + 0.25 * 3 = 1.75; 0.875 + 0.25 = 1.125
    (dict(momentum=0.5, dampening=0.75), [0.8, 0.625, 0.5125]),
    # b as with momentum alone; g + 0.5 b = 3; 5; 2.5
    (dict(momentum=0.5, nesterov=True), [0.7, 0.2, -0.05]),
])
def test_by_hand(options, expected):
    assert path(**options) == pytest.approx(expected, abs=1e-12)


def test_plain_sgd_keeps_nothing():
    x = Tensor([1.0], requires_grad=True)
    x.grad = Tensor([1.0])
    optimizer = SGD([x], lr=0.1)
    optimizer.step()
    assert optimizer.state_dict()["state"] == {}


def test_momentum_may_be_switched_on_later():
    x = Tensor([1.0], requires_grad=True, dtype="float64")
    optimizer = SGD([x], lr=0.1)
    for g, momentum in [(2.0, 0.0), (3.0, 0.5), (1.0, 0.5)]:
        optimizer.param_groups[0]["momentum"] = momentum
        x.grad = Tensor([g], dtype="float64")
        optimizer.step()
    assert x.item() == pytest.approx(1 - 0.2 - 0.3 - 0.25, abs=1e-12)


@pytest.mark.parametrize("options, expected", [
    # keep 0.95: 0.95 - 0.2 = 0.75; b = 4: 0.7125 - 0.4 = 0.3125; b = 3: 0.296875 - 0.3
    (dict(momentum=0.5), [0.75, 0.3125, -0.003125]),
    # with Nesterov steps of 3, 5, 2.5: 0.95 - 0.3; 0.6175 - 0.5; 0.111625 - 0.25
    (dict(momentum=0.5, nesterov=True), [0.65, 0.1175, -0.138375]),
    ({}, [0.75, 0.4125, 0.291875]),  # without momentum as SGD
])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_decoupled_decay_by_hand(options, expected, dtype):
    """002's generalised weight decay: w <- w - g(gradient) - decay w."""
    x = Tensor([1.0], requires_grad=True, dtype=dtype)
    optimizer, values = SGDW([x], lr=0.1, weight_decay=0.5, **options), []
    for g in (2.0, 3.0, 1.0):
        x.grad = Tensor([g], dtype=dtype)
        optimizer.step()
        values.append(x.item())
    assert values == pytest.approx(expected, abs=1e-12 if dtype == "float64" else 1e-6)
