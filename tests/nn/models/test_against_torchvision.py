"""ResNets with torchvision's layout, against torchvision and the same nets written in PyTorch."""

import numpy as np
import pytest

from nn import models
from tinygrad_like import Tensor, no_grad
from tinygrad_like.training import load_weights

torch = pytest.importorskip("torch")
files = pytest.importorskip("safetensors.torch")
T = torch.nn
pytestmark = pytest.mark.torch

LAYERS = {"resnet18": [2, 2, 2, 2], "resnet50": [3, 4, 6, 3], "resnext50_32x4d": [3, 4, 6, 3]}


class Block(T.Module):
    """torchvision's BasicBlock or Bottleneck, which strides in its 3x3 convolution."""

    def __init__(self, inputs, width, stride, bottleneck, groups, per_group):
        super().__init__()
        out, inner = (4 * width, width * per_group // 64 * groups) if bottleneck else (width, width)
        sizes = [(inputs, inner, 1), (inner, inner, 3), (inner, out, 1)] if bottleneck else [
            (inputs, out, 3), (out, out, 3)]
        strided = 1 if bottleneck else 0
        for i, (a, b, kernel) in enumerate(sizes):
            conv = T.Conv2d(a, b, kernel, stride if i == strided else 1, kernel // 2, bias=False,
                            groups=groups if kernel == 3 else 1)
            setattr(self, f"conv{i + 1}", conv)
            setattr(self, f"bn{i + 1}", T.BatchNorm2d(b))
        self.count = len(sizes)
        self.downsample = None if stride == 1 and inputs == out else T.Sequential(
            T.Conv2d(inputs, out, 1, stride, bias=False), T.BatchNorm2d(out))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            y = y.relu() if i < self.count else y
        return (y + (x if self.downsample is None else self.downsample(x))).relu()


class Net(T.Module):
    def __init__(self, layers, bottleneck, groups=1, per_group=64, num_classes=1000):
        super().__init__()
        self.conv1, self.bn1 = T.Conv2d(3, 64, 7, 2, 3, bias=False), T.BatchNorm2d(64)
        inputs = 64
        for i, count in enumerate(layers):
            blocks = []
            for j in range(count):
                stride = 2 if i and not j else 1
                blocks.append(Block(inputs, 64 << i, stride, bottleneck, groups, per_group))
                inputs = (64 << i) * (4 if bottleneck else 1)
            setattr(self, f"layer{i + 1}", T.Sequential(*blocks))
        self.fc = T.Linear(inputs, num_classes)

    def forward(self, x):
        x = T.functional.max_pool2d(self.bn1(self.conv1(x)).relu(), 3, 2, 1)
        for i in range(1, 5):
            x = getattr(self, f"layer{i}")(x)
        return self.fc(x.mean((2, 3)))


def written_out(name, library):
    groups = (32, 4) if name.startswith("resnext") else (1, 64)
    return Net(LAYERS[name], name != "resnet18", *groups)


def torchvisions(name, library):
    if library is None:
        pytest.skip("torchvision is not installed")
    return getattr(library.models, name)(weights=None)


@pytest.mark.parametrize("source", [written_out, torchvisions])
@pytest.mark.parametrize("name", LAYERS)
def test_weights_load_by_name_and_give_the_same_logits(tmp_path, name, source, torchvision):
    torch.manual_seed(0)
    theirs = source(name, torchvision)
    with torch.no_grad():
        for key, t in theirs.state_dict().items():  # as after training
            if "bn" in key or "downsample.1" in key:
                if key.endswith("running_var"):
                    t.uniform_(0.5, 1.5)
                elif t.is_floating_point():
                    t.add_(0.2 * torch.randn_like(t))
    theirs.eval()
    files.save_file(theirs.state_dict(), tmp_path / "w.safetensors")
    ours = getattr(models, name)()
    assert load_weights(ours, tmp_path / "w.safetensors") == ([], [])
    x = np.random.default_rng(0).standard_normal((2, 3, 64, 64)).astype(np.float32)
    with no_grad():
        y, z = ours.eval()(Tensor(x)).numpy(), theirs(torch.from_numpy(x)).detach().numpy()
    scale = np.abs(z).max()
    np.testing.assert_allclose(y / scale, z / scale, atol=1e-4)
