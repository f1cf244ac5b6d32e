"""Masks and lengths that a captured function reads: its programs hold for these values alone."""

import warnings

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, capture, no_grad


def trained(loss, calls, given, fuse=True):
    """The captured step, after it descended; its losses and weights must be those of the eager step."""
    found, last = [], None
    for captured in (True, False):
        w = Tensor(np.arange(12.0, dtype=np.float32).reshape(6, 2), requires_grad=True)

        def step(*args, w=w):
            out = loss(w, *args)
            (g,) = out.gradient(w)
            with no_grad():
                w.sub_(0.01 * g)
            return out

        run = capture(step, fuse=fuse) if captured else step
        found.append([run(*given(i)).item() for i in range(calls)] + [w.detach().numpy().copy()])
        last = run if captured else last
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    return last


MASK = Tensor([True, False, True, True, False, False])
KINDS = Tensor([0, 1, 2, 1, 1, 0])


@pytest.mark.parametrize("loss", [
    lambda w: (w[MASK] ** 2).sum(),
    lambda w: (w[KINDS == 1] ** 2).sum() + w[(KINDS != 2) & MASK].mean(),
    lambda w: w[MASK, 1].sum() * w[:, Tensor([True, False])].sum(),
    lambda w: (w * w).masked_select(MASK.unsqueeze(1)).sum(),
    lambda w: (w[MASK.nonzero()[:, 0]] ** 2).sum(),
], ids=["mask", "computed", "beside others", "masked_select", "nonzero"])
@pytest.mark.parametrize("fuse", [True, False])
def test_a_mask_from_outside_may_select_elements(loss, fuse):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(trained(loss, 5, lambda i: (), fuse=fuse).programs) == 1


def test_each_value_of_a_mask_argument_gets_a_program():
    labels = [Tensor([0, -1, 1, 1, -1, 0]), Tensor([-1, -1, 1, 0, -1, -1])]

    def loss(w, labels):
        keep = labels >= 0
        return nn.functional.cross_entropy(w[keep], labels[keep])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(trained(loss, 10, lambda i: (labels[i % 2],)).programs) == 2


def test_a_mask_may_select_where_to_assign():
    def loss(w):
        y = w * 2
        y[MASK] = w[~MASK] * 3
        return (y * y).sum()

    assert len(trained(loss, 5, lambda i: ()).programs) == 1


def test_a_change_of_a_mask_between_calls_is_noticed():
    mask, x = Tensor([True, False, True]), Tensor([1.0, 2.0, 4.0])
    step = capture(lambda: x[mask].sum())
    assert [step().item() for _ in range(4)] == [5.0] * 4 and step.programs
    mask[1] = True
    assert step().item() == 7.0
    mask[1] = False
    assert step().item() == 5.0


@pytest.mark.parametrize("change", [
    lambda w, state: w[w > 5].sum(),
    lambda w, state: w[Tensor.rand(6) > 0.5].sum(),
    lambda w, state: w[nn.functional.dropout(state + 1.0) > 0].sum(),
    lambda w, state: w[nn.functional.dropout(state.repeat(1000) + 1.0)[:6] > 0].sum(),
    lambda w, state: w[Tensor.randint(6, low=0, high=3) > 1].sum(),
    lambda w, state: w[state.add_(1.0) > 8.0].sum() + w.sum(),
    lambda w, state: w[state > 8.0].sum() + w.sum() + 0 * state.add_(1.0).sum(),
], ids=["parameter", "drawn", "dropout", "large dropout", "integers", "changed before", "changed after"])
def test_a_mask_computed_from_changing_values_is_refused(change):
    w, state = Tensor(np.arange(6.0, dtype=np.float32), requires_grad=True), Tensor.arange(6.0)

    @capture
    def step():
        out = change(w, state)
        (g,) = out.gradient(w)
        with no_grad():
            w.sub_(0.01 * g)
        return out

    with pytest.warns(UserWarning, match="a mask selects a number of elements that depends on its values"):
        for _ in range(6):
            step()
    assert not step.programs


def test_numbers_read_from_constant_tensors_are_replayed():
    batch, limit = Tensor([0, 0, 1, 2]), Tensor(2.5)

    def loss(w):
        size = int(batch.max()) + 1
        y = Tensor.zeros(size, 2).index_add(0, batch, w[:4])
        return (y * limit.item()).sum() if (batch >= 0).all() else y.sum()

    assert len(trained(loss, 5, lambda i: ()).programs) == 1


def test_a_number_that_the_function_changes_is_refused():
    pointer, queue = Tensor([0]), Tensor.zeros(6)

    @capture
    def step(x):
        at = int(pointer)
        queue[at:at + 2] = x
        pointer[0] = (at + 2) % 6
        return queue.sum()

    with pytest.warns(UserWarning, match="it looks at values: item.*which are others in each call"):
        for i in range(7):
            step(Tensor([1.0, i]))
    assert queue.tolist() == [1, 6, 1, 4, 1, 5] and not step.programs


def test_an_array_on_the_memory_of_a_tensor_that_the_function_changes_cannot_be_read():
    t = Tensor.zeros(2)
    table = t.numpy()

    @capture(strict=False)
    def step(x):
        t.copy_(x)
        return t * (2 if table[0] > 1 else 1)

    for i in range(6):
        n = 3.0 if i == 4 else 1.0  # not a replay that an audit checks
        assert step(Tensor([n, n])).tolist() == [n * (2 if n > 1 else 1)] * 2
    assert not step.programs
