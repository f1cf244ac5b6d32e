"""Optimizers and schedules by their formulas, one number at a time, as their authors wrote them."""

import math

import numpy as np
import pytest

import optim
from optim import lr_scheduler
from tinygrad_like import Tensor

G = [0.5, -1.0, 0.25, 0.25, -0.125, 2.0, 0.0, 1.5]


def walked(make, **options):
    """Where each step leads from 2, with a weight decay or none."""
    x, found = Tensor(np.array([2.0, -3.0]), requires_grad=True), []
    optimizer = make([x], **options)
    for g in G:
        x.grad = Tensor(np.array([g, 1.0]))
        optimizer.step()
        found.append(x.detach().numpy()[0].item())
    return found


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("sign", [1, -1])
def test_adamax(decay, sign):
    x, m, u, found = 2.0, 0.0, 0.0, []
    for t, g in enumerate(G, 1):
        g = sign * g + decay * x
        m, u = 0.8 * m + 0.2 * g, max(0.9 * u, abs(g) + 1e-3)
        x -= 0.05 / (1 - 0.8**t) * m / u
        found.append(x)
    assert walked(optim.Adamax, lr=0.05, betas=(0.8, 0.9), eps=1e-3, weight_decay=decay, maximize=sign < 0
                  ) == pytest.approx(found)


def test_adafactor_of_a_vector():
    x, v, found = np.array([2.0, -3.0]), 0.0, []
    for t, g in enumerate(G, 1):
        g = np.array([g, 1.0])
        v = v + t**-0.5 * (g * g - v)
        alpha = max(0.1, math.sqrt((x * x).mean())) * min(0.4, 1 / math.sqrt(t))
        x = x * (1 - 0.4 * 0.1)
        u = g / np.maximum(np.sqrt(v), 0.3)
        x = x - alpha * u / max(1, math.sqrt((u * u).mean()) / 1.1)
        found.append(x[0])
    assert walked(optim.Adafactor, lr=0.4, beta2_decay=-0.5, eps=(0.3, 0.1), d=1.1, weight_decay=0.1
                  ) == pytest.approx(found)


def test_adafactor_remembers_rows_and_columns_of_a_matrix():
    x, g = Tensor(np.ones((2, 3)), requires_grad=True), np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])
    optimizer = optim.Adafactor([x], lr=0.1)
    for _ in range(3):  # of the same gradient the means are those of its squares
        x.grad = Tensor(g)
        optimizer.step()
    state = optimizer.state[x]
    np.testing.assert_allclose(state["row_var"], (g * g).mean(1, keepdims=True))
    np.testing.assert_allclose(state["col_var"], (g * g).mean(0, keepdims=True))
    tree = optimizer.state_dict()
    tree["state"][0]["row_var"] = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"row_var of parameter 0 has shape \(2, 3\), but that of a param"):
        optimizer.load_state_dict(tree)


def test_muon_makes_the_step_orthogonal():
    """With the coefficients of a Newton-Schulz iteration that converges."""
    rng = np.random.default_rng(0)
    for shape in ((3, 5), (5, 3)):
        x, g = Tensor(np.zeros(shape), requires_grad=True), rng.standard_normal(shape)
        x.grad = Tensor(g)
        optim.Muon([x], lr=0.5, weight_decay=0.0, ns_steps=30, ns_coefficients=(1.5, -0.5, 0.0)).step()
        u, _, vt = np.linalg.svd(g, full_matrices=False)
        r = math.sqrt(max(1, shape[0] / shape[1]))
        np.testing.assert_allclose(x.detach().numpy(), -0.5 * r * u @ vt, atol=1e-12)


# Schedules ------------------------------------------------------------------------------------------------------------


def rates(make, steps=8, momentum=False, **options):
    x = Tensor([1.0], requires_grad=True)
    x.grad = Tensor([0.0])
    optimizer = optim.SGD([x], lr=0.5, momentum=0.9)
    scheduler, found = make(optimizer, **options), []
    for _ in range(steps):
        group = optimizer.param_groups[0]
        found.append((group["lr"], group["momentum"]) if momentum else group["lr"])
        optimizer.step()
        scheduler.step()
    return found


def test_one_cycle():
    line = dict(max_lr=1.0, total_steps=9, pct_start=1 / 3, div_factor=10, final_div_factor=10, momentum=True, steps=9)
    found = rates(lr_scheduler.OneCycleLR, anneal_strategy="linear", base_momentum=0.8, max_momentum=0.9, **line)
    assert [lr for lr, _ in found] == pytest.approx([0.1, 0.55, 1.0, *[1 - 0.99 * i / 6 for i in range(1, 7)]])
    assert [m for _, m in found] == pytest.approx([0.9, 0.85, 0.8, *[0.8 + 0.1 * i / 6 for i in range(1, 7)]])
    cosine = rates(lr_scheduler.OneCycleLR, **line)
    assert cosine[1][0] == pytest.approx(0.55) and cosine[5][0] == pytest.approx((1 + 0.01) / 2)
    three = rates(lr_scheduler.OneCycleLR, anneal_strategy="linear", three_phase=True, **line)
    last = [0.1 - 0.09 * i / 4 for i in range(1, 5)]
    assert [lr for lr, _ in three] == pytest.approx([0.1, 0.55, 1.0, 0.55, 0.1, *last])
    by_epochs = rates(lr_scheduler.OneCycleLR, 9, max_lr=1.0, epochs=3, steps_per_epoch=3, anneal_strategy="linear")
    assert max(by_epochs) > 0.9 and by_epochs[-1] < 1e-4


@pytest.mark.parametrize(("call", "message"), [
    (lambda o: lr_scheduler.OneCycleLR(o, 0.1), "OneCycleLR: give total_steps, or epochs and steps_per_epoch"),
    (lambda o: lr_scheduler.OneCycleLR(o, 0.1, 2), "OneCycleLR: 2 steps and pct_start=0.3 put the peak at"),
    (lambda o: lr_scheduler.OneCycleLR(o, 0.1, 9, anneal_strategy="step"), "anneal_strategy='step' must be"),
    (lambda o: lr_scheduler.OneCycleLR(o, 0.1, epochs=3), "OneCycleLR: give total_steps, or epochs and steps"),
    (lambda o: lr_scheduler.OneCycleLR(o, 0.1, steps_per_epoch=3), "OneCycleLR: give total_steps, or epochs and"),
    (lambda o: optim.Adamax(o.param_groups[0]["params"], betas=(0.9, 1.0)), r"betas=\(0.9, 1.0\) must be two numbers"),
    (lambda o: optim.Adafactor(o.param_groups[0]["params"], eps=(None, None)), "eps=.* must be two numbers"),
    (lambda o: optim.Adafactor(o.param_groups[0]["params"], d=0.5), "d=0.5 must be >= 1"),
    (lambda o: optim.Adafactor(o.param_groups[0]["params"], beta2_decay=0.5), "beta2_decay=0.5 must be <= 0"),
    (lambda o: optim.Muon(o.param_groups[0]["params"]), r"Muon: a parameter of shape \(1,\) is no matrix; give those"),
    (lambda o: optim.Muon([Tensor([[1.0]], requires_grad=True)], adjust_lr_fn="rms"), "adjust_lr_fn='rms' must be 'or"),
    (lambda o: optim.Muon([Tensor([[1.0]], requires_grad=True)], ns_steps=100), "ns_steps=100 must be an integer from"),
    (lambda o: lr_scheduler.ExponentialLR(o, gamma=float("nan")).step(), "ExponentialLR: the rate would be nan"),
    (lambda o: lr_scheduler.LambdaLR(o, lambda epoch: -1.0), "LambdaLR: the rate would be -0.5"),
    (lambda o: lr_scheduler.StepLR([1], 3), "StepLR: takes an Optimizer, got list"),
    (lambda o: lr_scheduler.ReduceLROnPlateau(o, threshold_mode="rough"), "threshold_mode='rough' must be"),
    (lambda o: lr_scheduler.OneCycleLR(optim.Adagrad(o.param_groups[0]["params"]), 0.1, 20),
     "OneCycleLR: Adagrad has no momentum to cycle; pass cycle_momentum=False"),
])
def test_what_is_refused(call, message):
    optimizer = optim.SGD([Tensor([1.0], requires_grad=True)], lr=0.5, momentum=0.9)
    with pytest.raises((ValueError, TypeError), match=message):
        call(optimizer)


def test_after_a_rate_that_is_none_the_schedule_goes_on():
    optimizer, broken = optim.SGD([Tensor([1.0], requires_grad=True)], lr=0.5), [False]
    scheduler = lr_scheduler.LambdaLR(optimizer, lambda epoch: float("nan") if broken[0] else 1 / (1 + epoch))
    broken[0] = True
    with pytest.raises(ValueError, match="the rate would be nan"):
        scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.5 and scheduler.last_epoch == 0
    broken[0] = False
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.25
