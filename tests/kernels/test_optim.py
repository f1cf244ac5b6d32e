"""Optimizer updates against their formulas in float64 over several steps, small and spread over the threads."""

import numpy as np
import pytest

from tinygrad_like.kernels import optim as k
from tinygrad_like.kernels.table import Table

SIZES = [(5,), (200, 301)]
STEPS = 4


def start(shape):
    """A parameter and its gradients, float32."""
    rng = np.random.default_rng(0)
    return rng.standard_normal(shape).astype(np.float32), rng.standard_normal((STEPS, *shape)).astype(np.float32)


def check(x, exact, atol=2e-6):
    np.testing.assert_allclose(x, exact, rtol=2e-6, atol=atol)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("momentum, dampening, nesterov",
                         [(0, 0, False), (0.9, 0, False), (0.9, 0, True), (0.8, 0.3, False)])
@pytest.mark.parametrize("decay, scale", [(0, 1), (0.1, 1.0), (0.1, -0.5)])
def test_sgd(shape, momentum, dampening, nesterov, decay, scale):
    x, gradients = start(shape)
    exact, b, exact_b = x.astype(np.float64), np.zeros_like(x) if momentum else None, 0.0
    for t, g in enumerate(gradients):
        fresh = 1.0 if t == 0 else 1.0 - dampening
        k.sgd(Table([(x, g, b)]), 0.1, momentum, fresh, decay, nesterov, scale)
        d = scale * g + decay * exact
        exact_b = momentum * exact_b + fresh * d
        exact -= 0.1 * (d if not momentum else d + momentum * exact_b if nesterov else exact_b)
    check(x, exact)
    if momentum:
        check(b, exact_b)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("decay, decoupled, scale",
                         [(0, False, 1), (0.1, False, 1.0), (0.1, True, 1.0), (0.1, True, -0.5)])
@pytest.mark.parametrize("ahead, amsgrad", [(0.0, False), (0.005, True)])
def test_adam(shape, decay, decoupled, scale, ahead, amsgrad):
    x, gradients = start(shape)
    m, v, largest = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x) if amsgrad else None
    exact, exact_m, exact_v, exact_largest = x.astype(np.float64), 0.0, 0.0, 0.0
    lr, beta1, beta2, eps = 0.01, 0.9, 0.999, 1e-8
    for t, g in enumerate(gradients, 1):
        k.adam(Table([(x, g, m, v, largest)]), lr / (1 - beta1**t), ahead, beta1, beta2, (1 - beta2**t) ** -0.5, eps,
               0.0 if decoupled else decay, 1 - lr * decay if decoupled else 1.0, scale)
        exact *= 1 - lr * decay if decoupled else 1
        d = scale * g + (0 if decoupled else decay) * exact
        exact_m = beta1 * exact_m + (1 - beta1) * d
        exact_v = beta2 * exact_v + (1 - beta2) * d**2
        exact_largest = np.maximum(exact_largest, exact_v) if amsgrad else exact_v
        exact -= (lr * exact_m / (1 - beta1**t) + ahead * d) / (np.sqrt(exact_largest / (1 - beta2**t)) + eps)
    check(x, exact, atol=1e-5)  # where scale g and decay x cancel, few digits are left, and the step has full size
    check(m, exact_m)
    np.testing.assert_allclose(v, exact_v, rtol=2e-6)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("momentum", [0, 0.9])
def test_rmsprop(shape, centered, momentum):
    x, gradients = start(shape)
    v, a, b = np.zeros_like(x), np.zeros_like(x) if centered else None, np.zeros_like(x) if momentum else None
    exact, exact_v, exact_a, exact_b = x.astype(np.float64), 0.0, 0.0, 0.0
    lr, alpha, eps, decay = 0.01, 0.9, 1e-3, 0.1
    for g in gradients:
        k.rmsprop(Table([(x, g, v, a, b)]), lr, alpha, 1 - alpha, eps, decay, momentum, 1.0)
        d = g + decay * exact
        exact_v = alpha * exact_v + (1 - alpha) * d**2
        exact_a = alpha * exact_a + (1 - alpha) * d if centered else 0.0
        exact_b = momentum * exact_b + d / (np.sqrt(exact_v - exact_a**2) + eps)
        exact -= lr * exact_b
    np.testing.assert_allclose(x, exact, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(v, exact_v, rtol=2e-6)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("decay, scale", [(0.0, 1.0), (0.1, -0.5)])
def test_adamax(shape, decay, scale):
    x, gradients = start(shape)
    m, u = np.zeros_like(x), np.zeros_like(x)
    exact, exact_m, exact_u = x.astype(np.float64), 0.0, 0.0
    for t, g in enumerate(gradients, 1):
        lr = 0.01 / (1 - 0.9**t)
        k.adamax(Table([(x, g, m, u)]), lr, 0.9, 0.5, 1e-3, decay, scale)
        d = scale * g + decay * exact
        exact_m = 0.9 * exact_m + (1 - 0.9) * d
        exact_u = np.maximum(0.5 * exact_u, np.abs(d) + 1e-3)
        exact -= lr * exact_m / exact_u
    check(x, exact, atol=1e-5)
    check(m, exact_m)
    check(u, exact_u)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("decay, scale", [(0.0, 1.0), (0.1, -0.5)])
def test_adadelta(shape, decay, scale):
    x, gradients = start(shape)
    v, u = np.zeros_like(x), np.zeros_like(x)
    exact, exact_v, exact_u, rho, eps = x.astype(np.float64), 0.0, 0.0, 0.9, 1e-3
    for g in gradients:
        k.adadelta(Table([(x, g, v, u)]), 0.5, rho, 1 - rho, eps, decay, scale)
        d = scale * g + decay * exact
        exact_v = rho * exact_v + (1 - rho) * d**2
        d = d * np.sqrt(exact_u + eps) / np.sqrt(exact_v + eps)
        exact_u = rho * exact_u + (1 - rho) * d**2
        exact -= 0.5 * d
    check(x, exact, atol=1e-5)
    np.testing.assert_allclose(v, exact_v, rtol=2e-5, atol=1e-9)
    np.testing.assert_allclose(u, exact_u, rtol=2e-5, atol=1e-9)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_rprop(shape, scale):
    x, gradients = start(shape)
    gradients[2].flat[:3] = 0
    before, s = np.zeros_like(x), np.full_like(x, 0.3)
    exact, exact_before, exact_s = x.astype(np.float64), 0.0, 0.3
    for g in gradients:
        k.rprop(Table([(x, g, before, s)]), 0.4, 1.5, 0.1, 0.4, scale)
        same = scale * g * exact_before
        exact_s = np.clip(exact_s * np.where(same > 0, 1.5, np.where(same < 0, 0.4, 1.0)), 0.1, 0.4)
        exact_before = np.where(same < 0, 0, scale * g)
        exact -= np.sign(exact_before) * exact_s
    check(x, exact)
    check(s, exact_s)
    np.testing.assert_array_equal(before, exact_before)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("decay, scale", [(0.0, 1.0), (0.1, -0.5)])
def test_asgd(shape, decay, scale):
    x, gradients = start(shape)
    a, exact, exact_a = np.full_like(x, np.nan), x.astype(np.float64), 0.0
    for g, mu in zip(gradients, (1.0, 1.0, 0.5, 0.25), strict=True):
        k.asgd(Table([(x, g, a)]), 0.1, 0.9, mu, decay, scale)
        exact = 0.9 * exact - 0.1 * (scale * g + decay * exact)
        exact_a = exact if mu == 1 else exact_a + mu * (exact - exact_a)
    check(x, exact)
    check(a, exact_a)


def test_nan_stays_nan():
    for update, numbers, arrays in (k.adamax, (0.1, 0.9, 0.9, 1e-3, 0.0, 1.0), 2), (
            k.rprop, (0.5, 1.5, 0.1, 1.0, 1.0), 2):
        x, g, *state = np.ones((arrays + 2, 3), np.float32)
        g[1] = np.nan
        for _ in range(2):
            update(Table([(x, g, *state)]), *numbers)
        assert np.isnan(x).tolist() == [False, True, False]


def test_gradients_are_only_read():
    x, gradients = start((200, 301))
    g = gradients[0].copy()
    g.flags.writeable = False
    for _ in range(2):
        k.adam(Table([(x, g, np.zeros_like(x), np.zeros_like(x), None)]), 0.1, 0.0, 0.9, 0.999, 1.0, 1e-8, 0.1, 0.9,
               -1.0)
    np.testing.assert_array_equal(g, gradients[0])


def test_one_call_updates_many_parameters():
    rng = np.random.default_rng(1)
    rows = [tuple(rng.random(shape, np.float32) for _ in range(5)) for shape in ((3, 4), (), (0, 2), (150, 200), (7,))]
    alone = [tuple(a.copy() for a in row) for row in rows]
    numbers = 0.1, 0.05, 0.9, 0.999, 1.5, 1e-8, 0.1, 0.9, 1.0
    k.adam(Table(rows), *numbers)
    for row, expected in zip(rows, alone, strict=True):
        k.adam(Table([expected]), *numbers)
        for a, b in zip(row, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def locked(a):
    a.flags.writeable = False
    return a


@pytest.mark.parametrize("wrong", [
    np.zeros((3, 4)), np.zeros((3, 4), ">f4"), np.zeros((4, 3), np.float32).T, np.zeros((3, 8), np.float32)[:, ::2],
    np.zeros((4, 3), np.float32), np.zeros(3, np.float32), np.zeros((3, 4, 1), np.float32), np.zeros(12, np.float32),
    np.zeros((3, 5), np.float32), np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.float32(0),
    np.zeros((3, 4), np.float32).view(np.recarray), np.zeros(13, np.int8)[1:].view(np.float32).reshape(3, 1),
    np.zeros(49, np.int8)[1:].view(np.float32).reshape(3, 4), [0.0] * 12, None, 3,
])
def test_rows_that_do_not_suit_are_known(wrong):
    right = np.zeros((3, 4), np.float32)
    good = (right,) * 4
    for i in range(2 if wrong is None else 4):
        assert not Table([good, (*good[:i], wrong, *good[i + 1:])]).suited
        assert not Table([(*good[:i], wrong, *good[i + 1:]), good]).suited


def test_rows_that_suit_are_known():
    right, other = np.zeros((3, 4), np.float32), np.zeros((), np.float32)
    good = (right, locked(np.zeros((3, 4), np.float32)), right, None)
    assert Table([good]).suited and Table([good, (other, other, None, other), good]).suited
    assert not Table([(right, right, locked(np.zeros((3, 4), np.float32)), right)]).suited
    assert not Table([(good[1], right, right, right)]).suited
    assert not Table([(right, None, right, right)]).suited


@pytest.mark.parametrize("shape", SIZES)
def test_rows_tell_whether_they_were_updated(shape):
    x, (g, *_) = start(shape)
    rows = Table([(x, g, None)])
    assert not rows.begun
    k.sgd(rows, 0.1, 0.0, 1.0, 0.0, False, 1.0)
    assert rows.begun
