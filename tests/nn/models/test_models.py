"""Nets for vectors and images: their equations, names and parts, and that they learn."""

import numpy as np
import pytest

import nn
import optim
from demos.networks import CNN
from nn import models
from nn.functional import cross_entropy
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import load_digits

rng = np.random.default_rng(0)
IMAGE_NETS = {
    "CNN": lambda: CNN([1, 1], (8, 16), 10, 1), "ResNet": lambda: models.resnet8(num_classes=10, in_channels=1),
    "ViT": lambda: nn.ViT(8, 2, 10, 32, 2, 4, channels=1),
    "ViT, mean": lambda: nn.ViT(8, 2, 10, 32, 2, 4, channels=1, pool="mean"),
    "ResNetS": lambda: nn.Sequential(nn.Flatten(), nn.ResNetS(64, 32, 2, 10)),
}


@pytest.mark.parametrize("name", IMAGE_NETS)
def test_image_nets_learn_digits_and_treat_each_image_alone(name):
    manual_seed(0)
    images, labels = load_digits()[:2]
    x, y = Tensor(np.asarray(images)[:100].reshape(-1, 1, 8, 8), dtype="float32"), Tensor(np.asarray(labels)[:100])
    x = (x - x.mean()) / x.std()
    model = IMAGE_NETS[name]()
    optimizer = optim.AdamW(model.parameters(), lr=1e-2 if name == "CNN" else 3e-3)
    for _ in range(60):
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    logits = model(x[:3])
    assert logits.shape == (3, 10) and (model(x).argmax(axis=1) == y).numpy().mean() > 0.9
    one_by_one = np.concatenate([model(x[i:i + 1]).detach().numpy() for i in range(3)])
    np.testing.assert_allclose(logits.detach().numpy(), one_by_one, rtol=1e-3, atol=1e-3)


# Vectors --------------------------------------------------------------------------------------------------------------


def test_an_mlp_is_equations_7_22_and_7_36():
    m = nn.MLP([3, 5, 4, 2]).double()
    m[4].bias.assign(m[4].bias.detach() - 1)  # or all outputs might be positive
    x = a = rng.standard_normal((6, 3))
    for layer in (m[0], m[2]):
        a = np.maximum(a @ layer.weight.detach().numpy().T + layer.bias.detach().numpy(), 0)
    expected = a @ m[4].weight.detach().numpy().T + m[4].bias.detach().numpy()
    np.testing.assert_allclose(m(Tensor(x)).detach().numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(m[:-1](Tensor(x)).detach().numpy(), a, rtol=1e-12)  # the features phi(x) of (7.34)
    assert (expected < 0).any(), "the last layer is linear"


@pytest.mark.parametrize("sizes", [[7, 3], [2, 16, 16, 1], [784, 512, 512, 10]])
def test_the_parameter_count_equals_001s(sizes):
    # (d + 1) m_1 + (m_1 + 1) m_2 + ... + (m_{r-1} + 1) m_r
    count = sum((n + 1) * m for n, m in zip(sizes, sizes[1:], strict=False))
    assert sum(p.size for p in nn.MLP(sizes).parameters()) == count


def test_the_parts_of_an_mlp_are_in_003s_order():
    m = nn.MLP([2, 3, 4, 1], nn.GELU, norm=nn.LayerNorm, dropout=0.25)
    assert [type(layer).__name__ for layer in m] == ["Linear", "LayerNorm", "GELU", "Dropout"] * 2 + ["Linear"]
    assert m[1].normalized_shape == (3,) and m[5].normalized_shape == (4,) and m[3].p == 0.25
    assert list(nn.MLP([2, 3, 1], norm=nn.BatchNorm1d).state_dict())[2:5] == ["1.weight", "1.bias", "1.running_mean"]
    m = nn.MLP([2, 3, 3, 1], activation=lambda: nn.LeakyReLU(0.2))
    assert m[1].negative_slope == 0.2 and m[1] is not m[3]


def test_resnet_s_is_equation_7_39():
    m = nn.ResNetS(4, 4, 3, 2, nn.Tanh).double()
    assert isinstance(m.project, nn.Identity), "no projection where in_features is the width"
    z = expected = Tensor(rng.standard_normal((5, 4)))
    for block in m.blocks:
        expected = expected + (block.mm1(block.mm2(expected).tanh())).tanh()
    np.testing.assert_allclose(m(z).detach().numpy(), m.head(expected).detach().numpy(), rtol=1e-12)
    m = nn.ResNetS(784, 256, 8, 10)
    assert sum(p.size for p in m.parameters()) == 785 * 256 + 8 * 2 * 257 * 256 + 257 * 10
    assert list(m.state_dict())[:4] == ["project.weight", "project.bias", "blocks.0.mm2.weight", "blocks.0.mm2.bias"]
    assert nn.ResNetS(3, 5, 0, 2)(Tensor.ones(2, 7, 3)).shape == (2, 7, 2)
    m = nn.ResNetS(3, 4, 2, 2, norm=nn.LayerNorm, dropout=0.2, small_init=0.0)
    for b in m.blocks:
        assert isinstance(b.norm, nn.LayerNorm) and b.dropout.p == 0.2 and not b.mm1.weight._data.any()


@pytest.mark.parametrize("activation", [nn.GELU, nn.ReLU])
def test_zero_init_starts_as_a_linear_model(activation):
    m = nn.ResNetS(3, 4, 5, 2, activation, zero_init=True)
    x = Tensor.randn(6, 3)
    np.testing.assert_array_equal(m(x).detach().numpy(), m.head(m.project(x)).detach().numpy())
    m(x).sum().backward()
    for block in m.blocks:
        assert all(p.grad._data.any() for p in (block.mm1.parameters() if block.gain is None else [block.gain]))


def test_scale_keeps_the_variance_of_the_stream():
    x = Tensor.randn(64, 32)

    def growth(blocks, scale):
        m = nn.ResNetS(32, 32, blocks, 1, nn.Tanh, scale=scale)
        return m.blocks(x).detach().numpy().var() / x.detach().numpy().var()

    assert growth(64, 64**-0.5) < 1.5 < 5 < growth(64, 1.0)


# Images ---------------------------------------------------------------------------------------------------------------

NORM = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]


def keys(convolutions, layers, projected):
    """torchvision's names for the stem, for each block's convolutions, norms and projection, and for the head."""
    def pair(prefix, n):
        return [f"{prefix}conv{n}.weight", *(f"{prefix}bn{n}.{name}" for name in NORM)]

    names = pair("", 1)
    for stage, count in enumerate(layers, 1):
        for block in range(count):
            prefix = f"layer{stage}.{block}."
            for n in range(1, convolutions + 1):
                names += pair(prefix, n)
            if block == 0 and stage in projected:
                names += [f"{prefix}downsample.0.weight", *(f"{prefix}downsample.1.{name}" for name in NORM)]
    return [*names, "fc.weight", "fc.bias"]


@pytest.mark.parametrize(("make", "convolutions", "layers", "projected", "parameters"), [
    (models.resnet18, 2, [2, 2, 2, 2], [2, 3, 4], 11_689_512),
    (models.resnet34, 2, [3, 4, 6, 3], [2, 3, 4], 21_797_672),
    (models.resnet50, 3, [3, 4, 6, 3], [1, 2, 3, 4], 25_557_032),
    (models.resnext50_32x4d, 3, [3, 4, 6, 3], [1, 2, 3, 4], 25_028_904),
])
def test_names_and_sizes_of_resnets_are_torchvisions(make, convolutions, layers, projected, parameters):
    """torchvision documents these numbers of parameters."""
    model = make()
    assert list(model.state_dict()) == keys(convolutions, layers, projected)
    assert sum(p.size for p in model.parameters()) == parameters


@pytest.mark.parametrize(("make", "layers"), [(models.resnet8, 8), (models.resnet20, 20), (models.resnet56, 56)])
def test_cifar_networks_have_the_papers_layers_widths_and_init(make, layers):
    model = make()
    main = [m for name, m in model.named_modules() if "downsample" not in name]
    assert sum(isinstance(m, nn.Conv2d | nn.Linear) for m in main) == layers
    widths = [m.out_channels for m in main if isinstance(m, nn.Conv2d)]
    assert widths == sorted(widths) and set(widths) == {16, 32, 64}
    for m in main:
        if isinstance(m, nn.Conv2d) and m.weight.size > 2000:
            std = (2 / (m.out_channels * m.kernel_size[0] * m.kernel_size[1])) ** 0.5
            assert m.weight.detach().numpy().std() == pytest.approx(std, rel=0.08)
    assert make(num_classes=7, in_channels=1).features(Tensor.randn(2, 1, 32, 32)).shape == (2, 64, 8, 8)


@pytest.mark.parametrize(("block", "width"), [(nn.BasicBlock, 32), (nn.Bottleneck, 128)])
def test_a_large_stem_divides_the_size_by_8_and_a_small_one_by_2(block, width):
    for stem, size in (("large", 4), ("small", 16)):
        model = nn.ResNet(block, [1, 2], (16, 32), num_classes=5, in_channels=2, stem=stem)
        assert model.features(Tensor.randn(2, 2, 32, 32)).shape == (2, width, size, size)


@pytest.mark.parametrize("block", [nn.BasicBlock, nn.Bottleneck])
@pytest.mark.parametrize("norm", [None, nn.InstanceNorm2d, lambda n: nn.GroupNorm(2, n)])
def test_the_parts_of_a_resnet_can_be_chosen(block, norm):
    model = nn.ResNet(block, [1, 1], (4, 8), 3, stem="small", norm=norm, activation=nn.SiLU, dropout=0.3)
    kinds = {type(m) for m in model.modules()}
    assert nn.SiLU in kinds and nn.Dropout2d in kinds and not kinds & {nn.BatchNorm2d, nn.ReLU}
    assert kinds & {nn.GroupNorm, nn.InstanceNorm2d} == (set() if norm is None else {type(norm(4))})
    assert (model.conv1.bias is None) == (norm is not None)


def test_the_parts_of_a_cnn_can_be_chosen():
    model = CNN([1, 1], (4, 8), 3, 1, norm=None, activation=nn.GELU, dropout=0.2)
    assert [type(m).__name__ for m in model] == ["Conv2d", "GELU", "Dropout2d", "Conv2d", "GELU", "AdaptiveAvgPool2d",
                                                 "Flatten", "Linear"]
    assert model[0].bias is not None and CNN([1], (4,))[0].bias is None
    models = CNN([2, 2], (8, 16), 5), nn.ResNet(nn.BasicBlock, [1, 1], (8, 16), 5, stem="small")
    plain, residual = ([m.weight.shape for name, m in model.named_modules() if isinstance(m, nn.Conv2d)
                        and "down" not in name] for model in models)
    assert plain[1:] == residual[2:]  # a ResNet without skips
    assert CNN([2, 2], (8, 16), 5)[:-3](Tensor.randn(2, 3, 32, 32)).shape == (2, 16, 16, 16)
    conv = CNN([2, 1], (32, 64))[-6]
    assert conv.weight.detach().numpy().std() == pytest.approx((2 / (64 * 9)) ** 0.5, rel=0.05)


def test_patches_are_embedded_by_a_strided_convolution():
    layer, x = models.vit.PatchEmbedding(3, 5, 4), rng.standard_normal((2, 3, 8, 12)).astype(np.float32)
    y = layer(Tensor(x)).detach().numpy()
    assert y.shape == (2, 6, 5) and layer.weight.shape == (5, 3, 4, 4)
    for n, (i, j) in enumerate(np.ndindex(2, 3)):
        patch = x[:, :, 4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
        expected = np.einsum("bcij,ocij->bo", patch, layer.weight.detach().numpy()) + layer.bias.detach().numpy()
        np.testing.assert_allclose(y[:, n], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: nn.MLP(5), ValueError, "MLP: sizes .* at least 2, got 5"),
    (lambda: nn.MLP([3]), ValueError, r"MLP: sizes .* at least 2, got \[3\]"),
    (lambda: nn.MLP([3, 4, 2], activation="relu"), TypeError, "MLP: activation must return a Module"),
    (lambda: nn.MLP([2, 3, 1], norm=nn.ReLU()), TypeError, "MLP: norm must return a Module for a number of channels"),
    (lambda: nn.MLP([2, 3, 1], norm=lambda n: n), TypeError, "MLP: norm must return a Module for a number of channels"),
    (lambda: nn.MLP([2, 3, 1], dropout=1.5), ValueError, "p"),
    (lambda: nn.ResNetS(3, 4, -1, 2), ValueError, "ResNetS: blocks must not be negative, got -1"),
    (lambda: CNN([1, 2], (4,)), ValueError, "CNN: layers and widths need one positive integer per stage"),
    (lambda: nn.ResNet(nn.BasicBlock, [1], (4,), stem="tiny"), ValueError, "ResNet: stem must be \"small\" or"),
    (lambda: nn.ResNet(nn.BasicBlock, [0, 1], (4, 8)), ValueError, "ResNet: layers and widths need one positive"),
    (lambda: nn.ResNet(nn.BasicBlock, [], ()), ValueError, "ResNet: layers and widths need one positive"),
    (lambda: nn.LayerNorm2d(4)(Tensor.ones(2, 3, 5, 5)), ValueError, r"LayerNorm2d: expected \(batch, 4, height, w"),
    (lambda: nn.ViT(8, 3, 10, 16, 1, 2), ValueError, "patch_size=3 must divide image_size=8"),
    (lambda: nn.ViT(8, 2, 10, 16, 1, 2, pool="max"), ValueError, 'pool must be "cls" or "mean", got \'max\''),
    (lambda: nn.ViT(8, 2, 10, 16, 1, 2)(Tensor.zeros(1, 3, 8, 6)), ValueError, r"\(batch, channels, 8, 8\), got "),
    (lambda: nn.ViT(8, 2, 10, 16, 1, 2)(Tensor.zeros(1, 1, 8, 8)), ValueError, r"must be \(batch, 3, height, width\) "),
])
def test_bad_arguments_raise(call, error, text):
    with pytest.raises(error, match=text):
        call()
