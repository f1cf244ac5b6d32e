"""Loops that are done as a part of the product before them give the same bits as eager code."""

import numpy as np
import pytest

import tinygrad_like as tl
from tinygrad_like import Tensor, capture, no_grad

RNG = np.random.default_rng(0)
M, K, N = 131, 97, 150  # no multiple of a tile, and large enough for kernels in eager code as well


def normal(*shape):
    return Tensor(RNG.standard_normal(shape).astype(np.float32))


def epilogues(step):
    return sum("+ loop" in line for line in str(step).splitlines())


def twice_the_same(function, make, count=None, threads=2):
    """Calls of the function, captured and not, give the same; so many loops are epilogues."""
    before, step = tl.get_num_threads(), capture(function, fuse=False)
    tl.set_num_threads(min(threads, before))
    try:
        for args in [make() for _ in range(5)]:
            other = [a.clone() for a in args]
            expected, found = function(*args), step(*other)
            for x, y in zip([*expected, *args], [*found, *other], strict=True):
                np.testing.assert_array_equal(x.numpy(), y.numpy())
    finally:
        tl.set_num_threads(before)
    assert step.programs
    if count is not None:
        assert epilogues(step) == count, str(step)


def inputs():
    return normal(M, K), normal(K, N), normal(M, N)


ROW, COLUMN = normal(N), normal(M, 1)
BATCH, AGAIN = normal(7, 1, 1), normal(30, 30)


def relu(x, w, y):
    return [(x @ w).relu()]


def read_later_too(x, w, y):
    z = x @ w
    return z.relu(), z * 2, z.sum()


def result_itself(x, w, y):
    z = x @ w
    return z, z - y


def several_operands(x, w, y):
    return [((x @ w) * COLUMN + ROW - y * 0.5).clip(-1, 1)]


def of_another_dtype(x, w, y):
    return [(x @ w) > y]


def in_place(x, w, y):
    return [(x @ w).add_(y)]


def added_to_what_was_there(x, w, y):
    y += x @ w
    return [y.square()]


def two_products(x, w, y):
    return [x @ w + (2 * x) @ (w + 1)]


def through_a_view(x, w, y):
    z = (x @ w)[: 7 * 18].view(7, 18, N)
    return [z + 1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function, count", [
    (relu, 1), (read_later_too, 1), (result_itself, 1), (several_operands, 1), (of_another_dtype, 1), (in_place, 1),
    (added_to_what_was_there, 1), (two_products, 1), (through_a_view, 0),
])  # fmt: skip
def test_loop_over_the_result_is_an_epilogue(function, count, threads):
    with no_grad():
        twice_the_same(function, inputs, count, threads)


def turned(x, w, y):
    return [(x @ w).T + y.T]


def turned_beside_itself(x, w, y):
    z = x @ w[:, :M]
    return [z + z.T]


def other_rows(x, w, y):
    z = x @ w
    return [z[1:] - z[:-1]]


def changes_what_is_multiplied(x, w, y):
    z = x @ w[:, :K]
    x += z
    return [z]


def reads_what_comes_later(x, w, y):
    z = x @ w
    y = y.sum(0)
    return [z + y]


def of_a_sum(x, w, y):
    z = x @ w
    return [z / z.sum(1, keepdim=True)]


@pytest.mark.parametrize("function", [turned, turned_beside_itself, other_rows, changes_what_is_multiplied,
                                      reads_what_comes_later, of_a_sum])  # fmt: skip
def test_what_cannot_be_an_epilogue_is_right(function):
    with no_grad():
        twice_the_same(function, inputs)


def test_batches_of_products():
    def batch():
        return normal(7, 30, K), normal(7, K, 30), normal(7, 30, 30)

    with no_grad():
        twice_the_same(lambda x, w, y: [(x @ w) * y], batch, 1)
        twice_the_same(lambda x, w, y: [(x @ w + BATCH).relu()], batch, 0)  # one number for 30 rows
        twice_the_same(lambda x, w, y: [(x @ w - AGAIN).relu()], batch, 0)  # the same in each product


@pytest.mark.parametrize("m, k, n", [(1, 600, 512), (2, 600, 512), (512, 600, 1), (300, 9, 130), (5, 300, 257),
                                     (40, 800, 33)])  # fmt: skip
def test_every_way_to_multiply(m, k, n):
    with no_grad():
        twice_the_same(lambda x, w, y: [(x @ w - y).relu()], lambda: (normal(m, k), normal(k, n), normal(m, n)))


def test_large_arrays_have_a_loop_of_their_own():
    with no_grad():
        twice_the_same(relu, lambda: (normal(1024, 16), normal(16, 512), normal(1)), 0)


def test_gradients_are_multiplied_where_the_product_is():
    weights = [normal(K, K).requires_grad_() for _ in range(4)]
    copies = [w.detach().clone().requires_grad_() for w in weights]

    def made(weights):
        def step(x, y):
            z = x
            for i, w in enumerate(weights):
                z = (z @ w / K**0.5).relu() + (z if i % 2 else 0)
            loss = (z - y).square().mean()
            for w in weights:
                w.grad = None
            loss.backward()
            with no_grad():
                for w in weights:
                    w -= 0.1 * w.grad
            return loss

        return step

    step, eager = capture(made(weights), fuse=False), made(copies)
    for _ in range(6):
        x, y = normal(M, K), normal(M, K)
        assert step(x, y).item() == eager(x, y).item()
    for a, b in zip(weights, copies, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    assert epilogues(step) >= 5


OPERATIONS = [
    lambda z, y: z.relu(), lambda z, y: z + y, lambda z, y: z * ROW, lambda z, y: z * z, lambda z, y: y - z * 0.5,
    lambda z, y: z.clip(-1, 1), lambda z, y: tl.where(z > 0, y, z), lambda z, y: z.add_(1), lambda z, y: z.mul_(y),
    lambda z, y: z + z.sum(0), lambda z, y: (z @ z.T) @ y / 1000, lambda z, y: z.abs().sqrt(), lambda z, y: y.add_(z),
    lambda z, y: z.T.contiguous().T, lambda z, y: z.flip(0), lambda z, y: (z @ (y.T @ z)) / 1000,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed):
    chosen = np.random.default_rng(seed).integers(0, len(OPERATIONS), 8)

    def function(x, w, y):
        z = x @ w
        seen = [z.sum()]
        for i in chosen:
            z = OPERATIONS[i](z, y)
            seen.append(z[0])
        return [z, *seen]

    with no_grad():
        twice_the_same(function, inputs)
