import numpy as np
import pytest

import nn
from optim import EMA
from tinygrad_like import Tensor


class Model(nn.Module):
    """A weight, a running mean and a counter."""

    def __init__(self):
        self.linear = nn.Linear(3, 2)
        self.tied = self.linear
        self.register_buffer("mean", Tensor([1.0, 2.0]))
        self.register_buffer("count", Tensor([0]))


def change(model, seed):
    rng = np.random.default_rng(seed)
    for tensor in [*model.parameters(), model.mean]:
        tensor.assign(rng.standard_normal(tensor.shape).astype(np.float32))
    model.count.assign(model.count.numpy() + 1)


def values(model):
    return {name: t.numpy().copy() for name, t in model.state_dict().items()}


@pytest.mark.parametrize("warmup", [False, True])
def test_averages_follow_the_formula(warmup):
    model = Model()
    ema = EMA(model, 0.9, warmup)
    expected = {name: a.astype(np.float64) for name, a in values(model).items()}
    for n in range(120):
        change(model, n)
        ema.update()
        d = min(0.9, (1 + n) / (10 + n)) if warmup else 0.9
        expected = {name: d * a + (1 - d) * values(model)[name] for name, a in expected.items()}
    with ema.swapped():
        averaged = values(model)
    for name in ("linear.weight", "linear.bias", "mean"):
        np.testing.assert_allclose(averaged[name], expected[name], atol=1e-6)
    assert averaged["count"] == 120


def test_swapping_restores_every_bit_even_after_an_error():
    model = Model()
    ema = EMA(model, 0.5, warmup=False)
    change(model, 0)
    ema.update()
    before = values(model)
    with pytest.raises(KeyError), ema.swapped():
        assert not np.array_equal(model.linear.weight.detach().numpy(), before["linear.weight"])
        assert model.tied.weight is model.linear.weight
        raise KeyError
    assert all(np.array_equal(before[name], a) for name, a in values(model).items())


def test_backward_through_swapped_weights_is_noticed():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    ema = EMA(model)
    loss = model(Tensor.ones(1, 2)).sum()
    with ema.swapped(), pytest.raises(RuntimeError, match="changed"):
        loss.backward()


def test_a_loaded_ema_continues():
    one, two = Model(), Model()
    first = EMA(one, 0.9)
    for n in range(3):
        change(one, n)
        first.update()
    second = EMA(two, 0.9)
    second.load_state_dict(first.state_dict())
    change(one, 9)
    change(two, 9)
    first.update()
    second.update()
    assert all(np.array_equal(first.averages[n], second.averages[n]) for n in first.averages if n != "count")
    assert first.updates == second.updates == 4


def test_bad_arguments_raise():
    with pytest.raises(ValueError, match=r"EMA: decay=1.0 must lie in \[0, 1\)"):
        EMA(Model(), 1.0)
    model = Model()
    ema = EMA(model)
    model.double()
    with pytest.raises(ValueError, match="linear.weight was .*float32 and is now .*float64"):
        ema.update()
    with pytest.raises(ValueError, match="does not fit the model, at linear.bias, linear.weight, mean"):
        EMA(Model()).load_state_dict({"averages": {"mean": np.zeros(3), "count": np.zeros(1, int)}, "updates": 0})


def test_another_tensor_in_the_model_is_noticed():
    model = Model()
    ema = EMA(model)
    model.linear = model.tied = nn.Linear(3, 2)
    for use in (ema.copy_to_model, ema.swapped().__enter__):
        with pytest.raises(ValueError, match="EMA: linear.* is not the Tensor that was averaged"):
            use()
    del model.mean
    with pytest.raises(ValueError, match="is not the Tensor that was averaged"):
        ema.copy_to_model()
