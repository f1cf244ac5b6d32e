"""Plans: joined loops, formulas in loops, gradients of slices."""

from collections import Counter

import numpy as np
import pytest

import nn.functional as F
import tinygrad_like as tl
from tinygrad_like import Tensor, capture, no_grad

RNG = np.random.default_rng(0)
M, K, N = 131, 97, 150  # no multiple of a tile, and large enough for kernels in eager code as well


@pytest.fixture(autouse=True)
def same_numbers():
    """Each test gets the same numbers, whichever ran before it: a loss near 0 has few correct digits."""
    global RNG
    RNG = np.random.default_rng(0)


def normal(*shape):
    return Tensor(RNG.standard_normal(shape).astype(np.float32))


def calls(step):
    """The number of calls of each kind."""
    return Counter(line.split("  ")[0].strip() for line in [each[6:] for each in str(step).splitlines()[1:]])


def check_same_bits(function):
    """Captured and eager calls of the function return the same bits."""
    step = capture(function, fuse=False)
    for args in [(normal(M, K), normal(K, N), normal(M, N)) for _ in range(5)]:
        other = [a.clone() for a in args]
        expected, found = function(*args), step(*other)
        for x, y in zip([*expected, *args], [*found, *other], strict=True):
            np.testing.assert_array_equal(x.numpy(), y.numpy())
    assert step.programs


ROW = normal(N)


def read_later_too(x, w, y):
    z = x @ w
    return z.relu(), z * 2, z.sum()


def added_to_what_was_there(x, w, y):
    y += x @ w
    return [y.square()]


def through_a_view(x, w, y):
    z = (x @ w)[: 7 * 18].view(7, 18, N)
    return [z + 1]


def turned_beside_itself(x, w, y):
    z = x @ w[:, :M]
    return [z + z.T]


def other_rows(x, w, y):
    z = x @ w
    return [z[1:] - z[:-1]]


def changes_a_factor(x, w, y):
    z = x @ w[:, :K]
    x += z
    return [z]


def reads_a_later_result(x, w, y):
    z = x @ w
    y = y.sum(0)
    return [z + y]


@pytest.mark.parametrize("function", [read_later_too, added_to_what_was_there, through_a_view, turned_beside_itself,
                                      other_rows, changes_a_factor, reads_a_later_result])  # fmt: skip
def test_loops_over_a_product_give_the_same_bits(function):
    with no_grad():
        check_same_bits(function)


OPERATIONS = [
    lambda z, y: z.relu(), lambda z, y: z + y, lambda z, y: z * ROW, lambda z, y: z * z, lambda z, y: y - z * 0.5,
    lambda z, y: z.clip(-1, 1), lambda z, y: tl.where(z > 0, y, z), lambda z, y: z.add_(1), lambda z, y: z.mul_(y),
    lambda z, y: z + z.sum(0), lambda z, y: (z @ z.T) @ y / 1000, lambda z, y: z.abs().sqrt(), lambda z, y: y.add_(z),
    lambda z, y: z.T.contiguous().T, lambda z, y: z.flip(0), lambda z, y: (z @ (y.T @ z)) / 1000,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_over_a_product_give_the_same_bits(seed):
    chosen = np.random.default_rng(seed).integers(0, len(OPERATIONS), 8)

    def function(x, w, y):
        z = x @ w
        seen = [z.sum()]
        for i in chosen:
            z = OPERATIONS[i](z, y)
            seen.append(z[0].clone())
        return [z, *seen]

    with no_grad():
        check_same_bits(function)


# --- Formulas ---------------------------------------------------------------------------------------------------------


FORMULAS = {
    "tanh": lambda x, y: x.tanh() * y + 1, "sigmoid": lambda x, y: (x + y).sigmoid() * y,
    "exp": lambda x, y: (x - y).exp() - y,
    "log": lambda x, y: (x.abs() + 1).log() * y, "gelu": lambda x, y: F.gelu(x + y) * 2,
    "silu": lambda x, y: y * F.silu(x),
    "softplus": lambda x, y: F.softplus(x * y) - x, "elu": lambda x, y: F.elu(x * y, 0.5) - x,
    "gates": lambda x, y: (x.sigmoid() * y + y.sigmoid() * x.tanh()).tanh() * x.sigmoid(),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("shape", [(300, 400), (5, 7)])
def test_formulas_become_parts_of_loops(name, shape):
    """So do their gradients' formulas. Eager code leaves small arrays to NumPy, whose last bits differ."""
    function = FORMULAS[name]

    def step(x, y):
        z = function(x, y)
        return [z, *z.gradient(x, y, gradient=y.detach())]

    captured = capture(step)
    for _ in range(5):
        x, y = normal(*shape), normal(*shape)
        other = [t.clone().requires_grad_() for t in (x, y)]
        for a, b in zip(step(x.requires_grad_(), y.requires_grad_()), captured(*other), strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=3e-5, atol=3e-6)
    assert not calls(captured).keys() - {"loop"}, str(captured)


# --- Slices -----------------------------------------------------------------------------------------------------------


def gates(x):
    i, f, g, o = x.chunk(4, axis=1)
    return (f.sigmoid() * i * g.tanh()).tanh() * o


PARTS = {
    "gates": gates, "halves": lambda x: x[:, :3] * x[:, 3:6], "overlapping": lambda x: x[:, :5] * x[:, 2:7],
    "some of it": lambda x: x[1:3] * 2 + x[4:6], "steps": lambda x: x[::2] * x[1::2] * 3,
    "backwards": lambda x: x.flip(0)[:3] * x[3:], "twice": lambda x: x[:2] * 3 + x[:2].exp(),
    "one after another": lambda x: sum((k + 1) * x[:, k].square() for k in range(8)),
    "unbound": lambda x: sum(k * t.sin() for k, t in enumerate(x.unbind(0))),
    "a number": lambda x: x[0, 1] * x[-1, 2] * x[0],
    "new axes": lambda x: x[:, None, :4] * x[None, ..., 4:],
    "and all of it": lambda x: x[:, :4].sum() * x + x[2:4].sum(),
    "parts of parts": lambda x: x[:, 2:][1:].square().sum() + x[:2].sum() + (x[:, 2:][:1] * 3).sum(),
    "nothing": lambda x: x[3:3].sum() + x[:, 1:].square(), "rows": lambda x: x[tl.tensor([0, 0, 2])] * x[1],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PARTS)
def test_gradients_of_slices_equal_eager_ones(name, dtype):
    def step(x):
        y = 2 * x
        loss = (PARTS[name](y) * weights[name]).sum()
        return [loss, *loss.gradient(x, y)]

    shape, captured = (6, 8), capture(step)
    weights = {name: normal(*np.shape(PARTS[name](normal(*shape)).numpy())).cast(dtype)}
    for _ in range(5):
        x = normal(*shape).cast(dtype)
        for a, b in zip(step(x.clone().requires_grad_()), captured(x.requires_grad_()), strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert captured.programs


def test_the_cotangent_of_a_slice_is_materialized_where_it_is_read():
    class Twice(tl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    def step(x):
        y, z = Twice.apply(x), x * 3
        z.register_hook(lambda g: g * 2)
        y.retain_grad()
        ((y[1:3] * z[:, :2].sum()).sum() + z[0].sum()).backward()
        x.grad, g = None, x.grad
        return g, y.grad

    captured = capture(step)
    for _ in range(5):
        x = normal(4, 5).requires_grad_()
        copy = x.detach().clone().requires_grad_()
        for a, b in zip(step(x), captured(copy), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    assert captured.programs


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "bool"])
def test_whole_numbers_of_any_size_equal_eager_ones(dtype):
    """Of signed and unsigned types; and casts of fractions to them, also of such that do not fit."""
    def step(x, y, z):
        return (x.maximum(y), x.minimum(y), x > y, (x > 100).where(x, y), x + y, x + True, x * y, x > 300, x % 3,
                x.clip(0, 300), x.clip(-1, 1), x.long() % 5, x.long() % -3, (z * z).cast(dtype), z.cast(dtype), z % 3,
                z % 0.7, z % -1.5, x - y if dtype != "bool" else x)

    captured = capture(step)
    for most in [2] * 4 + [256] * 4:  # the audits see only small ones
        x, y = [Tensor(RNG.integers(-most * (dtype[0] == "i"), most, 50)).cast(dtype) for _ in range(2)]
        for a, b in zip(step(x, y, z := normal(50) * most), captured(x, y, z), strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert len(captured.programs) == 1 and str(captured).count("Python") == {"uint8": 7, "bool": 5}.get(dtype, 3)
