"""L-BFGS finds a minimum that gradient descent does not, and takes PyTorch's steps."""

import numpy as np
import pytest

import optim
from optim.lbfgs import _cubic, _strong_wolfe
from tinygrad_like import Tensor


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def minimize(optimizer, x, loss=rosenbrock, steps=10):
    def closure():
        optimizer.zero_grad()
        value = loss(x)
        value.backward()
        return value

    return [optimizer.step(closure).item() for _ in range(steps)]


def start(dtype="float64"):
    return Tensor(np.array([-1.2, 1.0, 0.5, -0.3]), requires_grad=True, dtype=dtype)


def test_lbfgs_finds_the_minimum_of_rosenbrocks_function():
    x = Tensor([-1.2, 1.0], requires_grad=True, dtype="float64")
    losses = minimize(optim.LBFGS([x], line_search_fn="strong_wolfe"), x)
    assert losses[-1] < 1e-8
    np.testing.assert_allclose(x._data, 1, atol=1e-4)


def test_a_loaded_state_continues():
    x = start()
    optimizer = optim.LBFGS([x], lr=0.1, max_iter=3)
    minimize(optimizer, x, steps=3)
    y = Tensor(x._data, requires_grad=True)
    other = optim.LBFGS([y], lr=0.1, max_iter=3)
    other.load_state_dict(optimizer.state_dict())
    assert minimize(optimizer, x, steps=3) == minimize(other, y, steps=3)
    z = Tensor([1.0], requires_grad=True)
    with pytest.raises(ValueError, match="history|numbers|shape"):
        optim.LBFGS([z]).load_state_dict(optimizer.state_dict())


def test_an_exception_changes_nothing():
    x = start()
    optimizer = optim.LBFGS([x], max_iter=4, lr=0.1)
    minimize(optimizer, x, steps=1)
    before, calls = x._data.copy(), []

    def closure():
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        optimizer.zero_grad()
        value = rosenbrock(x)
        value.backward()
        return value

    iterations = optimizer.iterations
    with pytest.raises(KeyboardInterrupt):
        optimizer.step(closure)
    assert np.array_equal(x._data, before) and optimizer.iterations == iterations


CURVES = {  # the loss and its slope at t along a line, falling at 0
    "quadratic": lambda t: ((t - 3) ** 2, 2 * (t - 3)),
    "steep": lambda t: ((1e4 * t - 1) ** 2, 2e4 * (1e4 * t - 1)),
    "flat": lambda t: ((1e-4 * t - 1) ** 2, 2e-4 * (1e-4 * t - 1)),
    "two valleys": lambda t: ((t**2 - 1) ** 2 - t, 4 * t * (t**2 - 1) - 1),
    "waves": lambda t: (np.cos(3 * t) - 0.3 * t, -3 * np.sin(3 * t) - 0.3),
    "an edge": lambda t: (np.hypot(t - 0.7, 1e-3), (t - 0.7) / np.hypot(t - 0.7, 1e-3)),
    "a valley far out": lambda t: (-np.exp(-((t - 8) ** 2) / 20), (t - 8) / 10 * np.exp(-((t - 8) ** 2) / 20)),
}


@pytest.mark.parametrize("first", [1e-3, 0.9, 30.0])
@pytest.mark.parametrize("curve", CURVES)
def test_a_line_search_ends_where_the_loss_and_its_slope_are_small_enough(curve, first):
    calls = []

    def at(t):
        calls.append(t)
        f, slope = CURVES[curve](float(t))
        return f, np.array([slope])

    direction = np.array([1.0])
    f0, g0 = at(0)
    f, g, t = _strong_wolfe(at, first, direction, f0, g0, float(g0[0]), tolerance=1e-12)
    assert (f, g) == at(t) and len(calls) <= 27
    assert f <= f0 + 1e-4 * t * g0[0] and abs(g[0]) <= 0.9 * abs(g0[0])


@pytest.mark.parametrize("first", [(0.0, 1.0, -1.0), (2.0, -1.0, -1.0), (0.0, -1.0, 1.0), (0.0, 0.0, 0.0)])
@pytest.mark.parametrize("second", [(1.0, 0.0, -1.0), (1.0, 0.0, 1.0), (0.0, 0.0, 0.0), (1.0, np.inf, 1.0),
                                    (1.0, np.nan, np.nan), (1.0, 1e300, -1e300)])
def test_the_lowest_point_of_a_cubic_lies_within_its_bounds(first, second):
    for a, b in ((first, second), (second, first)):
        low, high = sorted((a[0], b[0]))
        assert low <= _cubic(*a, *b) <= high
        assert 5 <= _cubic(*a, *b, (5, 7)) <= 7
    assert _cubic(0.0, 1.0, -1.0, 1.0, 0.0, -1.0, (2, 9)) == 9 and _cubic(0.0, 0.0, 1.0, 1.0, 1.0, 1.0, (2, 9)) == 2


def test_bad_arguments_raise():
    x = start()
    with pytest.raises(TypeError, match="needs a closure"):
        optim.LBFGS([x]).step()
    with pytest.raises(ValueError, match="line_search_fn"):
        optim.LBFGS([x], line_search_fn="wolfe")
    with pytest.raises(ValueError, match="one group"):
        optim.LBFGS([{"params": [x]}, {"params": [start()]}])
    optimizer = optim.LBFGS([x])
    minimize(optimizer, x, steps=1)
    x.data = np.zeros(7)
    with pytest.raises(ValueError, match="LBFGS.step: the parameters have 7 elements, but had 4 before"):
        minimize(optimizer, x, steps=1)


@pytest.mark.torch
@pytest.mark.parametrize("options", [dict(lr=0.01), dict(lr=0.1, max_iter=4), dict(line_search_fn="strong_wolfe"),
                                     dict(line_search_fn="strong_wolfe", max_iter=5, history_size=3),
                                     dict(lr=0.02, max_iter=7, history_size=2)])
def test_losses_equal_pytorchs(options):
    torch = pytest.importorskip("torch")
    x, y = start(), torch.tensor(start().tolist(), requires_grad=True, dtype=torch.float64)
    y.data.copy_(torch.tensor(x._data))
    ours, theirs = optim.LBFGS([x], **options), torch.optim.LBFGS([y], **options)
    np.testing.assert_allclose(minimize(ours, x, steps=6), minimize(theirs, y, steps=6), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(x._data, y.detach().numpy(), rtol=1e-6)
