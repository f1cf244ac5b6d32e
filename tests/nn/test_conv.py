import math

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, manual_seed

rng = np.random.default_rng(2)


def tensor(*shape):
    return Tensor(rng.standard_normal(shape).astype(np.float32))


def test_shapes_parameters_and_initialisation():
    manual_seed(0)
    layer = nn.Conv2d(6, 8, (3, 5), stride=2, padding=(1, 2), groups=2)
    assert layer.weight.shape == (8, 3, 3, 5) and layer.bias.shape == (8,)
    assert layer(tensor(2, 6, 9, 9)).shape == (2, 8, 5, 5)
    bound = 1 / math.sqrt(3 * 3 * 5)
    assert 0.8 * bound < np.abs(layer.weight.data).max() <= bound
    assert nn.Conv2d(3, 4, 3, bias=False).bias is None
    assert nn.Conv1d(2, 4, 3, padding="same")(tensor(5, 2, 7)).shape == (5, 4, 7)
    assert nn.ConvTranspose2d(4, 6, 4, stride=2, padding=1)(tensor(1, 4, 8, 8)).shape == (1, 6, 16, 16)
    assert nn.ConvTranspose2d(4, 6, 4, groups=2).weight.shape == (4, 3, 4, 4)
    assert nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1)(tensor(1, 4, 8)).shape == (1, 6, 18)
    assert repr(nn.Conv2d(3, 8, 3, padding=1, bias=False)) == (
        "Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)")


@pytest.mark.parametrize(("mode", "numpy"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_padding_modes_pad_before_the_convolution(mode, numpy):
    x = tensor(2, 3, 6, 7)
    layer = nn.Conv2d(3, 4, 3, padding=(1, 2), padding_mode=mode)
    padded = Tensor(np.pad(x.data, ((0, 0), (0, 0), (1, 1), (2, 2)), mode=numpy))
    expected = nn.functional.conv2d(padded, layer.weight, layer.bias)
    assert np.array_equal(layer(x).data, expected.data)
    assert nn.Conv2d(3, 4, 3, padding="same", padding_mode=mode)(x).shape == (2, 4, 6, 7)
    assert nn.Conv1d(3, 4, 4, padding="same", padding_mode=mode)(x[:, :, 0]).shape == (2, 4, 7)
    assert nn.Conv2d(3, 4, 3, padding="valid", padding_mode=mode)(x).shape == (2, 4, 4, 5)
    for padding, text in ("same", 'padding="same" is for stride 1'), ("all", "padding must be numbers"):
        with pytest.raises(ValueError, match=f"Conv2d: {text}"):
            nn.Conv2d(3, 4, 3, stride=2, padding=padding, padding_mode=mode)


def test_a_convolution_learns_a_filter():
    manual_seed(1)
    import optim

    target = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], np.float32)[None, None]
    layer = nn.Conv2d(1, 1, 3, bias=False)
    optimizer = optim.Adam(layer.parameters(), lr=0.1)
    x = tensor(8, 1, 10, 10)
    y = nn.functional.conv2d(x, Tensor(target))
    for _ in range(200):
        optimizer.zero_grad()
        nn.functional.mse_loss(layer(x), y).backward()
        optimizer.step()
    np.testing.assert_allclose(layer.weight.data, target, atol=0.05)


def test_errors():
    for arguments, text in [((3, 4, 0), "Conv2d: kernel_size must be a number or a pair of numbers, at least 1"),
                            ((0, 4, 3), "Conv2d: in_channels must be a positive integer, got 0"),
                            ((3, 4, 3, -1), "Conv2d: stride"), ((3, 4, (3, 3, 3)), "Conv2d: kernel_size")]:
        with pytest.raises(ValueError, match=text):
            nn.Conv2d(*arguments)
    with pytest.raises(ValueError, match="3 input and 4 output channels must both be divisible by groups=2"):
        nn.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match="padding_mode must be one of"):
        nn.Conv2d(3, 4, 3, padding_mode="mirror")
    with pytest.raises(ValueError, match=r"Conv2d: takes \(batch, channels, height, width\) or .*, got shape \(8, 8\)"):
        nn.Conv2d(3, 4, 3)(tensor(8, 8))
    with pytest.raises(ValueError, match=r"Conv1d: takes \(batch, channels, length\)"):
        nn.Conv1d(3, 4, 3)(tensor(8))
