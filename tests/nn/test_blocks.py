import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, ops

rng = np.random.default_rng(3)

BLOCKS = {
    "basic": lambda: nn.BasicBlock(4, 4),
    "basic, projected": lambda: nn.BasicBlock(4, 6, stride=2),
    "bottleneck": lambda: nn.Bottleneck(8, 2),
    "bottleneck, projected": lambda: nn.Bottleneck(4, 2, stride=2),
    "resnext": lambda: nn.Bottleneck(4, 16, groups=4, base_width=8),
    "basic, other parts": lambda: nn.BasicBlock(4, 4, norm=lambda n: nn.GroupNorm(2, n), activation=nn.SiLU),
    "bottleneck, other parts": lambda: nn.Bottleneck(4, 2, 2, norm=None, activation=nn.Tanh),
    "convnext": lambda: nn.ConvNeXtBlock(4, layer_scale=0.5),
}


def made(name):
    """A block whose norms have random weights and statistics, and an input for it."""
    block = BLOCKS[name]()
    for module in block.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias)
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    first = next(m for m in block.modules() if isinstance(m, nn.Conv2d))
    return block, rng.standard_normal((4, first.in_channels, 5, 7)).astype(np.float32)


def run(block, x):
    """The output, the gradients of input and parameters, and the buffers afterward."""
    x = Tensor(x, requires_grad=True)
    y = block(x)
    block.zero_grad()
    (y * y).sum().backward()
    return [t.detach().numpy().copy() for t in (y, x.grad, *(p.grad for p in block.parameters()), *block.buffers())]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_computes_the_same_with_and_without_hooks(name, training):
    """With a hook on each inner module every layer runs by itself; without hooks they are fused."""
    block, x = made(name)
    block.train(training)
    state = {key: t.clone() for key, t in block.state_dict().items()}
    fused = run(block, x)
    block.load_state_dict(state)
    seen = []
    for module in list(block.modules())[1:]:
        module.register_forward_hook(lambda module, args, y: seen.append(type(module).__name__))
    alone = run(block, x)
    expected = {"basic": 2, "bottleneck": 3, "resnext": 3, "convnext": 0}
    assert seen.count("ReLU") == (0 if "other parts" in name else expected[name.split(",")[0]])
    for a, b in zip(fused, alone, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * max(1, np.abs(b).max()))


@pytest.mark.parametrize("make", [nn.BasicBlock, lambda a, b: nn.Bottleneck(a, b // 4),
                                  lambda a, b: nn.BasicBlock(a, b, norm=None)])
def test_zero_init_leaves_only_the_skip(make):
    block = make(4, 4)
    block.zero_init()
    x = Tensor.randn(2, 4, 5, 5)
    np.testing.assert_array_equal(block(x).detach().numpy(), x.relu().detach().numpy())
    block(x).sum().backward()
    assert list(block.parameters())[-2].grad._data.any(), "and the block can learn"


@pytest.mark.parametrize("make", [nn.BasicBlock, lambda *a, **k: nn.Bottleneck(4, 1, **k)])
def test_the_parts_of_a_block_can_be_chosen(make):
    block = make(4, 4, norm=lambda n: nn.GroupNorm(1, n), activation=nn.GELU, dropout=0.5)
    kinds = [type(m).__name__ for m in block.modules()]
    assert "GroupNorm" in kinds and "GELU" in kinds and "Dropout2d" in kinds and "BatchNorm2d" not in kinds
    x = Tensor.randn(3, 4, 5, 5)
    assert (block(x) - block(x)).detach().numpy().any(), "dropout"
    block.eval()
    np.testing.assert_array_equal(block(x).detach().numpy(), block(x).detach().numpy())
    bare = make(4, 4, norm=None)
    convs = [m for m in bare.modules() if isinstance(m, nn.Conv2d)]
    assert all(c.bias is not None for c in convs) and len(list(bare.parameters())) == 2 * len(convs)
    with pytest.raises(TypeError, match="norm must return a Module for a number of channels"):
        make(4, 4, norm=nn.BatchNorm2d(4))
    with pytest.raises(TypeError, match="activation must return a Module"):
        make(4, 4, activation=ops.relu)


def test_convnext_treats_pixels_alone_except_in_its_convolution():
    block = nn.ConvNeXtBlock(6)
    names = ["layer_scale", "block.0.weight", "block.0.bias", "block.2.weight", "block.2.bias", "block.3.weight",
             "block.3.bias", "block.5.weight", "block.5.bias"]
    assert list(block.state_dict()) == names, "torchvision's"
    x = Tensor.randn(2, 6, 9, 9)
    assert np.abs((block(x) - x).detach().numpy()).max() < 1e-4
    block.layer_scale.assign(np.ones((6, 1, 1), np.float32))
    pixel = block.block[0](x)[1, :, 4, 5]
    pixel = (pixel - pixel.mean()) / (pixel.var(correction=0) + 1e-6).sqrt()
    expected = x[1, :, 4, 5] + block.block[5](block.block[3](pixel).gelu())
    np.testing.assert_allclose(block(x)[1, :, 4, 5].detach().numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_bad_arguments_raise():
    with pytest.raises(ValueError, match="BasicBlock: has no groups, got groups=2 .*; use Bottleneck"):
        nn.BasicBlock(4, 4, groups=2)
    with pytest.raises(ValueError, match="conv2d: x must be .* and in=4 as in weight of shape"):
        nn.BasicBlock(4, 4)(Tensor.ones(2, 3, 8, 8))


def test_resnext_equals_parallel_branches():
    """One block of g groups is the sum of g blocks, each with its share of the channels (Xie et al., figure 3)."""
    groups, width = 4, 2
    block = nn.Bottleneck(16, 4, groups=groups, base_width=32)
    assert block.conv2.weight.shape == (groups * width, width, 3, 3)
    block.eval()
    x = Tensor.randn(2, 16, 5, 5)
    z = block.bn2(block.conv2(block.bn1(block.conv1(x)).relu())).relu()
    branches = []
    for i in range(groups):
        part = slice(i * width, (i + 1) * width)
        inner = nn.Conv2d(16, width, 1, bias=False)
        inner.weight.assign(block.conv1.weight[part])
        middle = nn.Conv2d(width, width, 3, padding=1, bias=False)
        middle.weight.assign(block.conv2.weight[part])
        outer = nn.Conv2d(width, 16, 1, bias=False)
        outer.weight.assign(block.conv3.weight[:, part])
        norm = (1 + block.bn1.eps) ** -0.5  # an untrained norm only divides
        branches.append(outer((middle((inner(x) * norm).relu()) * norm).relu()))
    np.testing.assert_allclose(sum(branches[1:], branches[0])._data, block.conv3(z)._data, rtol=1e-4, atol=1e-5)
