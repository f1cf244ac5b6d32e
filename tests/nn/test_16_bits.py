"""Weights stored in 16 bits take half the memory; ops compute with them in float32 and round."""

import copy

import ml_dtypes
import numpy as np
import pytest

import nn
import optim
from demos.networks import CNN
from tinygrad_like import Tensor, capture, ops
from tinygrad_like.training import load_checkpoint, load_weights, save_checkpoint, save_weights

NARROW = pytest.mark.parametrize("narrow", ["float16", "bfloat16"])
MODELS = {
    "mlp": (lambda: nn.MLP([4, 8, 3], nn.GELU, norm=nn.LayerNorm), (5, 4)),
    "resnet_s": (lambda: nn.ResNetS(4, 8, 2, 3), (5, 4)),
    "cnn": (lambda: CNN([1, 1], (4, 8), 3), (5, 3, 8, 8)),
    "swiglu": (lambda: nn.FeedForward(4, activation="swiglu"), (2, 5, 4)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu"), (2, 5, 8)),
    "batch_norm": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
                   (5, 3, 6, 6)),
}


def draw(shape, dtype="float32", seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape), dtype=dtype)


@NARROW
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_models_with_16_bit_weights_equal_float32_ones(name, stored, narrow):
    """From float32 inputs they compute float32 outputs: only the weights are stored in 16 bits."""
    make, shape = MODELS[name]
    half, whole = getattr(make(), narrow.replace("float16", "half").replace("bhalf", "bfloat16"))(), make()
    whole.load_state_dict(half.state_dict())
    x = draw(shape, narrow if stored else "float32")
    y, expected = half(x), whole(x.float())
    tolerance = float(ml_dtypes.finfo(narrow).eps) * 8 if stored else 2e-5
    assert y.dtype == (narrow if stored else "float32")
    assert {t.dtype for t in half.state_dict().values() if t.is_floating_point()} == {next(half.parameters()).dtype}
    np.testing.assert_allclose(y.detach().float().numpy(), expected.detach().numpy(), rtol=tolerance,
                               atol=tolerance * np.abs(expected.detach().numpy()).max())
    g = draw(y.shape, y.dtype, seed=1)
    y.backward(g)
    expected.backward(g.float())
    eps = float(ml_dtypes.finfo(narrow).eps)
    for p, q in zip(half.parameters(), whole.parameters(), strict=True):
        scale = max(np.abs(q.grad.numpy()).max(), 1e-2)
        assert p.grad.dtype is p.dtype
        np.testing.assert_allclose(p.grad.float().numpy(), q.grad.numpy(),
                                   atol=scale * eps * (16 if tolerance > 2e-5 else 1))


def test_float64_weights_refuse_float32_inputs():
    with pytest.raises(TypeError, match="linear: x is float32 but weight float64"):
        nn.Linear(4, 3).double()(Tensor.ones(2, 4))


@NARROW
def test_a_step_is_computed_in_float32_and_rounded(narrow):
    p, q = nn.Parameter(np.ones(3), dtype=narrow), nn.Parameter(np.ones(3, np.float32))
    ours, other = optim.AdamW([p], 0.1), optim.AdamW([q], 0.1)
    p.grad, q.grad = Tensor(np.ones(3), dtype=narrow), Tensor.ones(3)
    ours.step()
    other.step()
    np.testing.assert_array_equal(p.detach().numpy(), q._data.astype(p.dtype))
    assert all(a.dtype == np.float32 for name, a in ours._states[p].items() if name != "step")
    p.data = p._data.astype(np.float32)
    ours.step()
    assert p.dtype == "float32"


@NARROW
def test_clipping_and_ema_compute_in_float32(narrow):
    p = nn.Parameter(np.full(1000, 3.0), dtype=narrow)
    p.grad = Tensor(np.full(1000, 0.7), dtype=narrow)
    value = p.grad.float().numpy()[0]
    assert optim.clip_grad_norm([p], 1.0).item() == pytest.approx(value * 1000**0.5, rel=1e-6)
    assert p.grad.dtype is p.dtype and p.grad.float().numpy()[0] == pytest.approx(
        1000**-0.5, rel=float(ml_dtypes.finfo(narrow).eps) / 2 + 1e-6)
    layer = nn.Linear(1, 1, bias=False).to(narrow)
    layer.weight.assign(np.zeros((1, 1)))
    ema = optim.EMA(layer, 0.999, warmup=False)
    layer.weight.assign(np.ones((1, 1)))
    for _ in range(1000):
        ema.update()
    with ema.swapped():
        assert layer.weight.dtype == narrow and layer.weight.item() == pytest.approx(1 - 0.999**1000, rel=4e-3)
    assert layer.weight.item() == 1


@NARROW
@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, 0.1, momentum=0.9), lambda p: optim.Adam(p, 0.01)])
def test_a_captured_step_equals_the_eager_one(make, narrow):
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 3)).to(narrow)
    twin = copy.deepcopy(model)

    def step_of(model):
        optimizer = make(model.parameters())

        def step(x, y):
            loss = ops.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return step

    eager, replayed = step_of(model), capture(step_of(twin))
    rng = np.random.default_rng(0)
    for _ in range(6):
        x, y = Tensor(rng.standard_normal((16, 4)), dtype=narrow), Tensor(rng.integers(0, 3, 16))
        assert eager(x, y).item() == replayed(x, y).item()
    assert replayed.programs
    for a, b in zip(model.state_dict().values(), twin.state_dict().values(), strict=True):
        assert a.dtype is b.dtype and a.numpy().tobytes() == b.numpy().tobytes()


@NARROW
def test_weights_and_checkpoints_keep_16_bits(tmp_path, narrow):
    model = nn.Linear(4, 3).to(narrow)
    optimizer = optim.Adam(model.parameters(), 0.1)
    model(draw((2, 4), narrow)).sum().backward()
    optimizer.step()
    save_weights(model, tmp_path / "w.safetensors")
    same, wider = nn.Linear(4, 3).to(narrow), nn.Linear(4, 3)
    for other in same, wider:
        load_weights(other, tmp_path / "w.safetensors")
        assert other.weight.tolist() == model.weight.tolist()
    assert same.weight.dtype == narrow and wider.weight.dtype == "float32"
    save_checkpoint(tmp_path / "c.ckpt", model=model, optimizer=optimizer, x=model.weight.detach())
    other = nn.Linear(4, 3).to(narrow)
    again = optim.Adam(other.parameters(), 0.1)
    x = load_checkpoint(tmp_path / "c.ckpt", model=other, optimizer=again)["x"]
    assert x.dtype == model.weight.dtype and x.tolist() == other.weight.tolist() == model.weight.tolist()
    np.testing.assert_array_equal(again.state[other.weight]["exp_avg"], optimizer.state[model.weight]["exp_avg"])


def test_bfloat16_files_load_without_ml_dtypes(tmp_path, monkeypatch):
    model, other = nn.Linear(4, 3).bfloat16(), nn.Linear(4, 3)
    save_weights(model, tmp_path / "w.safetensors")
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    load_weights(other, tmp_path / "w.safetensors")
    monkeypatch.undo()
    assert other.weight.tolist() == model.weight.tolist()
