"""Layers and functions that PyTorch has: the same results and gradients from the same weights; and what they refuse."""

import numpy as np
import pytest

import nn
import nn.functional as F
from tinygrad_like import Tensor, gradcheck, gradgradcheck, ops

rng = np.random.default_rng(3)
SIGNAL, IMAGE, VOLUME = (2, 4, 9), (2, 4, 6, 8), (2, 4, 4, 6, 5)
LAYERS = {  # what makes it -> shapes of the inputs
    "Hardshrink(0.3)": [IMAGE], "Softshrink(0.3)": [IMAGE],
    "Softmin(1)": [IMAGE],
    "Dropout3d().eval()": [VOLUME],
    "Unfold(3, padding=1, stride=2)": [IMAGE],
    "Fold((6, 8), 2, stride=2)": [(2, 16, 12)],
    "UpsamplingNearest2d(scale_factor=2)": [IMAGE], "UpsamplingBilinear2d((9, 5))": [IMAGE],
    "Conv3d(4, 6, (2, 3, 2), stride=2, padding=1, groups=2)": [VOLUME],
    "Conv3d(4, 2, 3, padding='same', padding_mode='replicate')": [VOLUME],
    "ConvTranspose3d(4, 3, 3, stride=2, output_padding=1)": [VOLUME], "MaxPool3d(2, padding=1)": [VOLUME],
    "AvgPool3d((2, 3, 2), count_include_pad=False, padding=1)": [VOLUME],
    "BatchNorm3d(4)": [VOLUME],
    "BatchNorm3d(4, affine=False).eval()": [VOLUME], "InstanceNorm3d(4, affine=True)": [VOLUME],
    "ConstantPad1d((1, 2), 3.5)": [SIGNAL], "ConstantPad2d(1, -1.0)": [IMAGE],
    "ConstantPad3d((0, 1, 2, 0, 1, 1), 0.5)": [VOLUME], "ZeroPad3d(1)": [VOLUME], "ReflectionPad3d(1)": [VOLUME],
    "ReplicationPad3d((1, 0, 2, 1, 0, 1))": [VOLUME],
    "CircularPad3d(2)": [VOLUME], "DataParallel(LIB.Linear(4, 2))": [(3, 4)],
}


def both(lib_torch):
    return ((nn, Tensor), (lib_torch.nn, lib_torch.tensor))


@pytest.mark.torch
@pytest.mark.parametrize("text", LAYERS)
def test_as_in_pytorch(text):
    torch = pytest.importorskip("torch")
    made = [eval(f"LIB.{text}", {"LIB": lib}) for lib in (nn, torch.nn)]
    made[1].load_state_dict({k: torch.tensor(v.detach().numpy()) for k, v in made[0].state_dict().items()})
    arrays, found = [rng.standard_normal(s).astype(np.float32) for s in LAYERS[text]], []
    for layer, tensor in zip(made, (Tensor, torch.tensor), strict=True):
        xs = [tensor(a, requires_grad=True) for a in arrays]
        y = layer(*xs)
        (y * y.detach().cos()).sum().backward()
        found.append([y, *[x.grad for x in xs], *[p.grad for p in layer.parameters()], *layer.state_dict().values()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-4, atol=2e-5)


SMOOTH = {
    "instance_norm": (F.instance_norm, (2, 3, 5)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name):
    f, *shapes = SMOOTH[name]
    xs = [rng.standard_normal(s) for s in shapes]
    assert gradcheck(f, *xs) and gradgradcheck(f, *xs)


@pytest.mark.torch
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpooling_what_was_pooled(rank):
    torch = pytest.importorskip("torch")
    x, found = rng.standard_normal((2, 3, 6, 8, 4)[:2 + rank]).astype(np.float32), []
    for lib, tensor in both(torch):
        y, index = getattr(lib, f"MaxPool{rank}d")(2, return_indices=True)(tensor(x))
        back = ops.max_unpool(y, index, 2, rank=rank) if lib is nn else getattr(lib, f"MaxUnpool{rank}d")(2)(y, index)
        found.append((y, index, back))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_whole_channels_of_volumes_are_dropped():
    volumes = F.dropout3d(Tensor.ones(10, 20, 2, 3, 2), 0.5).numpy()
    assert sorted(np.unique(volumes)) == [0, 2] and np.ptp(volumes.reshape(200, -1), axis=1).max() == 0


def test_embeddings_from_elsewhere():
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    frozen = nn.Embedding.from_pretrained(Tensor(table))
    assert not frozen.weight.requires_grad and frozen(Tensor([2])).tolist() == [[4, 5]]
    assert nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0).weight.requires_grad
    assert nn.Embedding(3, 2, sparse=True, _weight=table).weight.tolist() == table.tolist()
    for make in (lambda: nn.Embedding(3, 3, _weight=table), lambda: nn.Embedding.from_pretrained(table[0])):
        with pytest.raises(ValueError, match="Embedding"):
            make()


X = Tensor(np.ones((2, 3), np.float32))


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: nn.Softshrink(-1.0), ValueError, "must be >= 0"),
    (lambda: F.dropout3d(X), ValueError, "dropout3d"),
])
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_instance_norm_by_running_statistics():
    x = Tensor.rand(2, 3, 4)
    y = F.instance_norm(x, Tensor.zeros(3), Tensor.ones(3), use_input_stats=False)
    np.testing.assert_allclose(y.numpy(), x.numpy(), rtol=1e-4)
    assert F.upsample(x, scale_factor=2).shape == (2, 3, 8)
