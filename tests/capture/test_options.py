"""Options and inputs of ops that are other numbers in each call of a captured function: p of dropout, an exponent."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import nn
import nn.functional as F
import tinygrad_like as tg
from tests.capture.test_places import weight
from tinygrad_like import Tensor, capture
from tinygrad_like.capture.numbers import Number

LABELS, TARGETS = Tensor(np.array([0, 2, 1, 1])), Tensor(np.float32(np.arange(12).reshape(4, 3) / 6))

OF_A_FLOAT = {
    "dropout": lambda y, v: F.dropout(y, v), "dropout2d": lambda y, v: F.dropout2d(y[:, :, None, None], v),
    "dropout of many": lambda y, v: F.dropout(y[:, None].expand(4, 400, 3), v),
    "label smoothing": lambda y, v: F.cross_entropy(y, LABELS, label_smoothing=v),
    "huber": lambda y, v: F.huber_loss(y, TARGETS, delta=v),
    "smooth l1": lambda y, v: F.smooth_l1_loss(y, TARGETS, beta=v),
    "leaky relu": F.leaky_relu, "elu": F.elu, "celu": F.celu, "softplus": lambda y, v: F.softplus(y, beta=v),
    "attention": lambda y, v: F.scaled_dot_product_attention(y[None], y[None], y[None], scale=v),
    "dropout of attention": lambda y, v: F.scaled_dot_product_attention(y[None], y[None], y[None], dropout_p=v),
    "power": lambda y, v: (y.abs() + 0.1) ** v, "base": lambda y, v: v**y, "power in place": lambda y, v: (
        y.abs() + 0.1).pow_(v), "focal": lambda y, v: (1 - y.softmax(-1)) ** v * y.log_softmax(-1),
    "gumbel softmax": lambda y, v: F.gumbel_softmax(y, tau=v) + F.gumbel_softmax(y, tau=2 * v, hard=True),
    "linspace": lambda y, v: y * tg.linspace(v, 1.0, 3), "scatter": lambda y, v: y.scatter(0, LABELS[None, :3], v),
    "alpha": lambda y, v: tg.add(y, TARGETS, alpha=v).sub_(TARGETS, alpha=v * v), "lerp": lambda y, v: tg.lerp(
        y, TARGETS, weight=v), "pad": lambda y, v: F.pad(y, (1, 1), value=v), "remainder": lambda y, v: y % v,
    "fmod": lambda y, v: tg.fmod(y, v), "floor divided": lambda y, v: y * (TARGETS // v),
    "beside integers": lambda y, v: y * (F.one_hot(LABELS, 3) * (1 - v) + v / 3),
    "norm": lambda y, v: y.norm(p=2 + v) + F.normalize(y, p=1 + v),
    "normal": lambda y, v: y + tg.normal(0.0, v, (4, 3)),
    "much noise": lambda y, v: y + Tensor.normal(4, 100, 3, mean=v, std=1 + v).mean(1),
    "uniform in place": lambda y, v: y + tg.zeros(4, 3).uniform_(-v, v), "normal in place": lambda y, v: y + tg.zeros(
        4, 3).normal_(v, 2 * v), "exponential in place": lambda y, v: y * tg.zeros(4, 3).exponential_(v),
    "running statistics": lambda y, v: y + moved(y, v), "interp": lambda y, v: y * np.interp(v, [0, 1], [0, 5]),
    "clip": lambda y, v: y * np.clip(v, 0.1, 0.3), "floor": lambda y, v: y * 0.5 ** math.floor(8 * v),
    "round": lambda y, v: y * round(v, 1) + round(4 * v), "decay": lambda y, v: y * min(0.9, (1 + v) / (10 + v)),
    "the same or not": lambda y, v: F.leaky_relu(y, v) + F.leaky_relu(y, 0.2), "of a module": lambda y, v: DROP(y, v),
    "checkpoint": lambda y, v: tg.utils.checkpoint.checkpoint(lambda x: F.celu(x, v), y, use_reentrant=False),
}
OF_AN_INTEGER = {"power": lambda y, n: y**n, "base": lambda y, n: (1 + n) ** y, "remainder": lambda y, n: y % n,
                 "shift": lambda y, n: y * (LABELS[:, None] << n), "and": lambda y, n: y * (LABELS[:, None] & n),
                 "floor divided": lambda y, n: y * (LABELS[:, None] // n)}


class Drop(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x, p):
        self.drop.p = p
        return self.drop(x)


DROP = Drop()


def moved(y, momentum):
    mean, var = Tensor.zeros(3), Tensor.ones(3)
    return F.batch_norm(y, mean, var, training=True, momentum=momentum) + mean + var


def trained(use, decorate, values):
    """Losses and gradients of steps in which `use` takes one value after the other."""
    tg.manual_seed(0)
    w = weight(5, 3)

    def step(x, v):
        w.grad = None
        loss = use(x @ w, v).square().sum()
        loss.backward()
        return loss.detach(), w.grad * 1

    step, found = decorate(step), []
    for i, v in enumerate(values):
        x = Tensor(np.random.default_rng(i).standard_normal((4, 5)).astype("f"))
        found.append([t.tolist() for t in step(x, v)])
    return found, step


def compared(use, values, programs=1):
    eager, _ = trained(use, lambda f: f, values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        captured, step = trained(use, lambda f: capture(f, fuse=False), values)
    assert captured == eager
    assert len(step.programs) == programs and not step.gave_up


@pytest.mark.parametrize("use", OF_A_FLOAT)
def test_a_float(use):
    compared(OF_A_FLOAT[use], [0.05 + 0.04 * i for i in range(10)])


@pytest.mark.parametrize("use", ["dropout", "power", "linspace", "label smoothing", "pad", "normal"])
def test_a_float_of_numpys(use):
    compared(OF_A_FLOAT[use], list(np.linspace(0.05, 0.4, 10)))


@pytest.mark.parametrize("use", OF_AN_INTEGER)
def test_an_integer(use):
    compared(OF_AN_INTEGER[use], [1, 3, 2, 4, 5, 2, 1, 3, 7])


@pytest.mark.parametrize("first", [0.0, 1.0, 0.3])
def test_at_the_ends(first):
    """dropout gives what it was given if p is 0, and zeros if it is 1: other ways to go."""
    compared(OF_A_FLOAT["dropout"], [first, 0.2, 0.0, 0.5, 1.0, 0.4, 0.0, 1.0, 0.3, 0.0, 1.0, 0.1, 0.7], 3)


def test_powers_that_are_the_base_itself_or_a_product_of_it():
    compared(lambda y, v: (y.abs() + 0.1) ** v, [2.0, 0.5, 1.0, 3.0, 0.0, -1.0, 4.0, 1.5, 1.0, 2.0])


def test_an_option_that_is_a_shape_is_a_kind_of_its_own():
    compared(lambda y, n: tg.cat([y, y]).chunk(2)[0].repeat(n, 1) * Tensor.ones(4 * n, 1), [1, 2, 3] * 5, 3)


def test_the_graph_of_a_gradient_holds_for_one_number():
    def use(y, v):
        return tg.func.grad(lambda x: F.leaky_relu(x, v).square().sum())(y)

    values = [0.05 + 0.04 * i for i in range(12)]
    with pytest.warns(UserWarning, match=r"Python looks at number 1 .*grad\(lambda"):
        captured, step = trained(use, lambda f: capture(f, fuse=False), values)
    assert captured == trained(use, lambda f: f, values)[0]


@pytest.mark.parametrize("use", [F.leaky_relu, F.elu, F.softplus, F.dropout,
                                 lambda x, v: F.huber_loss(x, x * 2, "sum", v)])
def test_a_number_of_numpys_in_eager_code(use):
    found = []
    for v in 0.25, np.float64(0.25):
        tg.manual_seed(0)
        w = weight(3, 4)
        y = use(w, v)
        y.sum().backward()
        found.append((y.dtype, y.tolist(), w.grad.dtype, w.grad.tolist()))
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:capture")
def test_a_graph_that_is_walked_outside():
    """What a recorded call has saved for it are numbers, which later calls do not change."""
    found = []
    for decorate in (lambda f: f, lambda f: capture(f, fuse=False)):
        w, losses = weight(5, 3), []
        step = decorate(lambda x, v: F.leaky_relu(x @ w, v).sum())  # noqa: B023
        for i in range(4):
            losses.append(step(Tensor.ones(2, 5), 0.1 + i / 7))
        for node in [loss.node for loss in losses]:
            while node is not None and hasattr(node, "saved"):
                assert Number not in map(type, node.saved)
                node = node.parents[0]
        for loss in losses:
            loss.backward()
        found.append(w.grad.tolist())
    assert found[0] == found[1]


def test_an_option_out_of_range_is_an_error_of_the_call():
    step, x = capture(lambda x, p: F.dropout(x, p)), Tensor.ones(3)
    for i in range(6):
        step(x, 0.1 * i)
    with pytest.raises(ValueError, match=r"dropout: p, the probability"):
        step(x, 1.5)
    assert step(x, 0.3).shape == (3,)


def test_an_error_of_what_draws_that_is_caught():
    def step(x, v):
        try:
            x = x + Tensor.normal(2, mean=0.0, std=v, dtype=tg.int64)
        except TypeError:
            x = x * 2
        return x * float(v)

    captured, x = capture(step), Tensor([1.0, 2.0])
    with pytest.warns(UserWarning, match="Python looks at number 1"):
        for i in range(12):
            assert captured(x, i / 7).tolist() == step(x, i / 7).tolist()


def test_what_is_drawn_does_not_add_up():
    """What a play asks of numbers is not noted as what Python has seen."""
    state = SimpleNamespace(std=1.0)
    step = capture(lambda x: x + Tensor.normal(2, mean=0.0, std=state.std) + tg.zeros(2).exponential_(state.std))
    for i in range(30):
        state.std = 1 + i / 7
        step(Tensor.ones(2))
    assert len(step.programs) == 1
    assert all([len(kind.places.seen) < 10 for kinds in step.kinds.values() for kind in kinds])
