"""Neural ODEs: methods of their order, gradients of the steps and of the adjoint equation."""

import math

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.transforms.gradcheck import gradcheck, gradgradcheck

ORDERS = {"euler": 1, "midpoint": 2, "rk4": 4}


class Field(nn.Module):
    """f(x, t) = MLP([x, t])."""

    def __init__(self, features=3):
        self.net = nn.MLP([features + 1, 8, features], nn.Tanh)

    def forward(self, x, t):
        time = Tensor(np.full((*x.shape[:-1], 1), t, dtype=x.dtype))
        return self.net(x.cat(time, axis=-1))


def field():
    manual_seed(0)
    return Field().double()


X = np.random.default_rng(0).standard_normal((4, 3))


@pytest.mark.parametrize("method", ORDERS)
def test_the_error_is_of_the_methods_order(method):
    """dx/dt = x cos t from 1: x = e^(sin t)."""
    errors = []
    for steps in (10, 20):
        found = nn.odeint(lambda x, t: x * math.cos(t), Tensor(np.ones(1)), [0, 1, 2.5], steps, method)
        assert found.shape == (3, 1) and found[0].item() == 1
        errors.append(np.abs(found.numpy()[1:, 0] - np.exp(np.sin([1, 2.5]))).max())
    assert errors[0] / errors[1] == pytest.approx(2 ** ORDERS[method], rel=0.25)


def test_euler_is_a_stack_of_residual_blocks():
    f, x = field(), Tensor(X)
    y = x
    for i in range(5):
        y = y + f(y, i / 5) / 5
    np.testing.assert_allclose(nn.NeuralODE(f, 5, "euler")(x).detach().numpy(), y.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("method", ORDERS)
def test_gradient_of_the_steps(method):
    f = field()
    names = [n for n, _ in f.named_parameters()]

    def run(x, *p):
        return nn.functional_call(Unrolled(f, method), {f"f.{n}": w for n, w in zip(names, p, strict=True)}, x)

    assert gradcheck(run, X, *f.parameters()) and gradgradcheck(run, X, *f.parameters())


class Unrolled(nn.NeuralODE):
    def __init__(self, f, method):
        super().__init__(f, 2, method)


def gradients(f, method, steps, adjoint, times=(0.0, 0.4, 1.0)):
    """Of a loss of the states at all times."""
    x = Tensor(X, requires_grad=True)
    f.zero_grad()
    states = nn.odeint(f, x, times, steps, method, adjoint)
    (states * Tensor(np.random.default_rng(1).standard_normal(states.shape))).sum().backward()
    return np.concatenate([t.grad.numpy().ravel() for t in (x, *f.parameters())])


@pytest.mark.parametrize("method", ORDERS)
def test_the_adjoint_approaches_the_gradient_of_the_steps(method):
    """Both approach the gradient of the equation, with an error like h^order; so their difference does."""
    f = field()
    exact = gradients(f, "rk4", 200, False)
    errors = [np.abs(gradients(f, method, steps, True) - exact).max() for steps in (8, 16)]
    assert errors[0] / errors[1] == pytest.approx(2 ** ORDERS[method], rel=0.35)
    np.testing.assert_allclose(gradients(f, "rk4", 60, True), gradients(f, "rk4", 60, False), rtol=1e-6, atol=1e-8)


def test_the_adjoint_records_one_node():
    f = field()
    y = nn.odeint(f, Tensor(X, requires_grad=True), [0, 1], 50, adjoint=True)
    assert y.node.op.name == "odeint" and all(not hasattr(p, "parents") for p in y.node.parents)
    frozen = field().requires_grad_(False)
    x = Tensor(X, requires_grad=True)
    nn.odeint(frozen, x, [0, 1], 5, adjoint=True).sum().backward()
    assert x.grad is not None and all(p.grad is None for p in frozen.parameters())
    assert not nn.odeint(frozen, Tensor(X), [0, 1], 5, adjoint=True).requires_grad


def test_errors():
    f = field()
    for call, text in ((lambda: nn.odeint(f, Tensor(X), [0, 1], method="heun"), "method must be one of euler, mid"),
                       (lambda: nn.NeuralODE(f, method="heun"), "NeuralODE: method must be one of euler"),
                       (lambda: nn.odeint(f, Tensor(X), [0]), "needs at least 2 times and 1 step"),
                       (lambda: nn.odeint(f, Tensor(X), [0, 1], 0), "needs at least 2 times and 1 step"),
                       (lambda: nn.odeint(lambda x, t: x[:, :1], Tensor(X), [0, 1]), "f must keep the shape")):
        with pytest.raises(ValueError, match=text):
            call()
    x = Tensor(X, requires_grad=True)
    y = nn.odeint(f, x, [0, 1], 3, adjoint=True).sum()
    with pytest.raises(RuntimeError, match="the adjoint has no second derivative; use adjoint=False"):
        y.gradient(x, create_graph=True)
    y = nn.odeint(f, x, [0, 1], 3, adjoint=True).sum()
    next(f.parameters()).assign(next(f.parameters()).data * 2)
    with pytest.raises(RuntimeError, match="was changed in place after odeint used it"):
        y.backward()
