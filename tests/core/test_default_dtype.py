"""`set_default_dtype`: the dtype of Python's floats, of Tensors created without a dtype, and of results of integers."""

import numpy as np
import pytest

import nn
import nn.functional as F
import optim
import tinygrad_like as tg
from tinygrad_like import Tensor, capture


@pytest.fixture(autouse=True)
def _float64():
    tg.set_default_dtype(tg.float64)
    yield
    tg.set_default_dtype(tg.float32)


def test_tensors_made_without_a_dtype_have_the_default():
    made = [Tensor(1.5), Tensor([0.1, 0.2]), tg.tensor([1.0]), tg.as_tensor([0.5]), tg.zeros(2), tg.ones(2, 2),
            tg.eye(2), tg.full((2,), 0.1), tg.empty(2), Tensor(2, 3), tg.rand(3), tg.rand(300), tg.randn(3),
            tg.randn(300), tg.arange(0.0, 1.0, 0.1), tg.linspace(0, 1, 3), Tensor.uniform(2), tg.normal(0.0, 1.0, (2,))]
    assert {t.dtype for t in made} == {np.dtype(np.float64)} == {tg.get_default_dtype()}
    assert Tensor([0.1]).item() == 0.1  # not rounded in between
    assert "dtype" not in repr(Tensor([0.5])) and "dtype=float32" in repr(Tensor([0.5], dtype="float32"))
    assert tg.arange(3).dtype == np.int64 and Tensor([True]).dtype == bool and Tensor([1]).dtype == np.int64
    assert Tensor(np.zeros(2, np.float32)).dtype == np.float32


def test_float_results_of_integers_have_the_default():
    i, short, truth = Tensor([1, 2]), Tensor(np.array([1, 2], np.uint8)), Tensor([True, False])
    given = [i / 2, i * 0.5, i / i, i.sqrt(), i.exp(), i.float().double() / 2, truth * 0.5, short.sqrt(), short / 2,
             tg.where(truth, 1.0, 0.0), tg.where(truth, i, 0.5), i ** 0.5, 2.0 ** i,
             i.logsumexp(0), i.sigmoid(), F.softmax(i.double(), 0), i.erfinv(), tg.logaddexp(i, i)]
    assert {t.dtype for t in given} == {np.dtype(np.float64)}
    single = Tensor([1.0, 2.0], dtype="float32")
    assert {t.dtype for t in [single / 3, single * 0.1, single + i, single.sqrt(), tg.where(truth, single, 0.0)]} == {
        np.dtype(np.float32)}


def test_captured_calls_follow_the_default():
    model = nn.Linear(2, 1)
    optimizer = optim.Adam(model.parameters(), lr=0.1)

    @capture
    def step(x):
        loss = ((model(x) - tg.ones(x.shape[0], 1) * Tensor([0.1])) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    @capture
    def made():
        return tg.ones(2) * 0.1

    x = tg.randn(4, 2)
    losses = [step(x) for _ in range(6)]
    assert all(loss.dtype == np.float64 for loss in losses) and losses[-1].item() < losses[0].item()
    assert [made().dtype for _ in range(4)][-1] == np.float64
    tg.set_default_dtype(tg.float32)
    assert [made().dtype for _ in range(4)] == [np.float32] * 4
    tg.set_default_dtype("float64")
    assert made().dtype == np.float64 and len(made.programs) == 2


def test_only_float32_and_float64_may_be_the_default():
    for dtype in (tg.float16, tg.int64, "float17"):
        with pytest.raises(TypeError, match="set_default_dtype"):
            tg.set_default_dtype(dtype)
    assert tg.get_default_dtype() == np.float64
