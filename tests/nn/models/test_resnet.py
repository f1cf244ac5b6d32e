import numpy as np
import pytest

import nn
import optim
from nn import models
from tinygrad_like import Tensor, manual_seed

NORM = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]


def keys(convolutions, layers, projected):
    """torchvision's names: of the stem, of each block's convolutions and norms, of its projection, of the head."""
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
def test_names_and_sizes_are_torchvisions(make, convolutions, layers, projected, parameters):
    """The numbers of parameters are those torchvision documents."""
    model = make()
    assert list(model.state_dict()) == keys(convolutions, layers, projected)
    assert sum(p.size for p in model.parameters()) == parameters


@pytest.mark.parametrize(("make", "layers"), [(models.resnet8, 8), (models.resnet20, 20), (models.resnet56, 56)])
def test_cifar_networks(make, layers):
    model = make()
    main = [m for name, m in model.named_modules() if "downsample" not in name]
    assert sum(isinstance(m, nn.Conv2d | nn.Linear) for m in main) == layers
    widths = [m.out_channels for m in main if isinstance(m, nn.Conv2d)]
    assert widths == sorted(widths) and set(widths) == {16, 32, 64}
    model = make(num_classes=7, in_channels=1)
    assert model(Tensor.randn(2, 1, 28, 28)).shape == (2, 7)
    assert model.features(Tensor.randn(2, 1, 32, 32)).shape == (2, 64, 8, 8)


@pytest.mark.parametrize(("block", "width"), [(nn.BasicBlock, 32), (nn.Bottleneck, 128), (nn.PreActBlock, 32)])
def test_stems_and_stages(block, width):
    for stem, size in (("large", 4), ("small", 16)):
        model = nn.ResNet(block, [1, 2], (16, 32), num_classes=5, in_channels=2, stem=stem)
        assert model.features(Tensor.randn(2, 2, 32, 32)).shape == (2, width, size, size)
        assert model(Tensor.randn(2, 2, 32, 32)).shape == (2, 5)


def test_preactivation_ends_with_a_norm():
    model = nn.ResNet(nn.PreActBlock, [1, 1], (4, 8), num_classes=3, stem="small")
    x = Tensor.randn(4, 3, 8, 8)
    stream = model.layer2(model.layer1(model.conv1(x)))
    assert (stream.detach().numpy() < 0).any()
    np.testing.assert_allclose(model.features(x).detach().numpy(), model.bn1(stream).relu().detach().numpy(), atol=1e-5)


@pytest.mark.parametrize("block", [nn.BasicBlock, nn.Bottleneck, nn.PreActBlock, nn.ResidualBlock])
@pytest.mark.parametrize("norm", [None, nn.InstanceNorm2d, lambda n: nn.GroupNorm(2, n)])
def test_parts(block, norm):
    model = nn.ResNet(block, [1, 1], (4, 8), 3, stem="small", norm=norm, activation=nn.SiLU, dropout=0.3)
    kinds = {type(m) for m in model.modules()}
    assert nn.SiLU in kinds and nn.Dropout2d in kinds and not kinds & {nn.BatchNorm2d, nn.ReLU}
    assert (nn.GroupNorm in kinds, nn.InstanceNorm2d in kinds) == (norm not in (None, nn.InstanceNorm2d),
                                                                  norm is nn.InstanceNorm2d)
    assert (model.conv1.bias is None) == (norm is not None)
    x = Tensor.randn(4, 3, 8, 8)
    assert (model(x) - model(x)).detach().numpy().any(), "dropout"
    model.eval()
    one_by_one = np.concatenate([model(x[i:i + 1]).detach().numpy() for i in range(4)])
    np.testing.assert_allclose(model(x).detach().numpy(), one_by_one, rtol=1e-4, atol=1e-5)


def test_initialisation():
    manual_seed(0)
    model = models.resnet20()
    for m in model.modules():
        if isinstance(m, nn.Conv2d) and m.weight.size > 2000:
            fan_out = m.out_channels * m.kernel_size[0] * m.kernel_size[1]
            assert m.weight.detach().numpy().std() == pytest.approx((2 / fan_out) ** 0.5, rel=0.08)


@pytest.mark.parametrize("block", [nn.BasicBlock, nn.Bottleneck, nn.PreActBlock])  # ResidualBlock: in test_blocks
def test_zero_init_residual_leaves_the_skips(block):
    model = nn.ResNet(block, [2, 2], (4, 8), num_classes=3, stem="small", zero_init_residual=True)
    x = Tensor.randn(4, 3, 8, 8)
    y = model.conv1(x) if model.preactivation else model.bn1(model.conv1(x)).relu()
    for stage in (model.layer1, model.layer2):
        skip = stage[0].downsample
        if model.preactivation:
            y = y if skip is None else skip(stage[0].bn1(y).relu())
        else:
            y = (y if skip is None else skip(y)).relu()
    y = model.bn1(y).relu() if model.preactivation else y
    np.testing.assert_allclose(model.features(x).detach().numpy(), y.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_folded_for_evaluation_it_computes_the_same():
    model = models.resnet8()
    x = Tensor.randn(4, 3, 16, 16)
    for _ in range(5):
        model(x)
    folded = nn.fold_batch_norm(model, x)
    assert not any(isinstance(m, nn.BatchNorm2d) for m in folded.modules())
    np.testing.assert_allclose(folded(x).detach().numpy(), model.eval()(x).detach().numpy(), rtol=1e-3, atol=1e-4)


def test_it_learns():
    manual_seed(0)
    x = Tensor.randn(32, 1, 8, 8)
    labels = Tensor((x.numpy()[:, 0, :4].mean((1, 2)) > x.numpy()[:, 0, 4:].mean((1, 2))).astype(np.int64))
    model, loss_function = models.resnet8(num_classes=2, in_channels=1), nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = loss_function(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_errors():
    with pytest.raises(ValueError, match='ResNet: stem must be "small" or "large", got \'tiny\''):
        nn.ResNet(nn.BasicBlock, [1], (4,), stem="tiny")
    for layers, widths in (([1, 2], (4,)), ([], ()), ([0, 1], (4, 8))):
        with pytest.raises(ValueError, match="ResNet: layers and widths have one positive integer per stage each"):
            nn.ResNet(nn.BasicBlock, layers, widths)


@pytest.mark.torch
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", ["basic", "bottleneck", "resnext"])
def test_equal_to_pytorch(kind, training):
    import torch
    import torch.nn.functional as F
    from torch import nn as tnn

    groups, base_width = (4, 32) if kind == "resnext" else (1, 64)

    class Block(tnn.Module):
        def __init__(self, before, channels, stride):
            super().__init__()
            if kind == "basic":
                after, shapes = channels, [(before, channels, 3, stride, 1), (channels, channels, 3, 1, 1)]
            else:
                inner, after = channels * base_width // 64 * groups, 4 * channels
                shapes = [(before, inner, 1, 1, 1), (inner, inner, 3, stride, groups), (inner, after, 1, 1, 1)]
            self.count = len(shapes)
            for i, (a, b, kernel, s, g) in enumerate(shapes, 1):
                setattr(self, f"conv{i}", tnn.Conv2d(a, b, kernel, s, kernel // 2, groups=g, bias=False))
                setattr(self, f"bn{i}", tnn.BatchNorm2d(b))
            self.downsample = None
            if stride != 1 or before != after:
                self.downsample = tnn.Sequential(tnn.Conv2d(before, after, 1, stride, bias=False),
                                                 tnn.BatchNorm2d(after))

        def forward(self, x):
            y = x
            for i in range(1, self.count + 1):
                y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
                if i < self.count:
                    y = F.relu(y)
            return F.relu(y + (x if self.downsample is None else self.downsample(x)))

    class Net(tnn.Module):
        def __init__(self):
            super().__init__()
            wide = 1 if kind == "basic" else 4
            self.conv1, self.bn1 = tnn.Conv2d(3, 8, 7, 2, 3, bias=False), tnn.BatchNorm2d(8)
            self.layer1 = tnn.Sequential(Block(8, 8, 1), Block(8 * wide, 8, 1))
            self.layer2 = tnn.Sequential(Block(8 * wide, 16, 2))
            self.fc = tnn.Linear(16 * wide, 5)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
            return self.fc(self.layer2(self.layer1(x)).mean((2, 3)))

    torch.manual_seed(0)
    theirs = Net()
    for m in theirs.modules():
        if isinstance(m, tnn.BatchNorm2d):
            tnn.init.uniform_(m.weight, 0.5, 1.5)
            tnn.init.uniform_(m.running_var, 0.5, 1.5)
    block = nn.BasicBlock if kind == "basic" else nn.Bottleneck
    ours = nn.ResNet(block, [2, 1], (8, 16), 5, groups=groups, width_per_group=base_width)
    ours.load_state_dict(theirs.state_dict())
    ours.train(training)
    theirs.train(training)
    a = np.random.default_rng(0).standard_normal((4, 3, 45, 38)).astype(np.float32)
    y, u = ours(Tensor(a)), theirs(torch.tensor(a))
    np.testing.assert_allclose(y.detach().numpy(), u.detach().numpy(), rtol=1e-3, atol=1e-3)
    (y * y).mean().backward()
    (u * u).mean().backward()
    for (name, p), (other, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert name == other
        q = q.grad.numpy()
        np.testing.assert_allclose(p.grad.numpy(), q, rtol=1e-3, atol=2e-3 * np.abs(q).max(), err_msg=name)
    for (name, p), (other, q) in zip(ours.named_buffers(), theirs.named_buffers(), strict=True):
        assert name == other
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)
