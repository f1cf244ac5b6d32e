"""Neural ODEs: methods of their order, and gradients of the steps."""

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
        return nn.functional_call(nn.NeuralODE(f, 3, method), {f"f.{n}": w for n, w in zip(names, p, strict=True)}, x)

    assert gradcheck(run, X, *f.parameters()) and gradgradcheck(run, X, *f.parameters())


def test_errors():
    f = field()
    for call, text in ((lambda: nn.odeint(f, Tensor(X), [0, 1], method="heun"), "method must be one of euler, mid"),
                       (lambda: nn.NeuralODE(f, method="heun"), "NeuralODE: method must be one of euler"),
                       (lambda: nn.odeint(f, Tensor(X), [0]), "needs at least 2 times and 1 step"),
                       (lambda: nn.odeint(f, Tensor(X), [0, 1], 0), "needs at least 2 times and 1 step"),
                       (lambda: nn.odeint(lambda x, t: x[:, :1], Tensor(X), [0, 1]), "f must keep the shape")):
        with pytest.raises(ValueError, match=text):
            call()
