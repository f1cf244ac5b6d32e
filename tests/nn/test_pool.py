import numpy as np
import pytest

import nn
from tinygrad_like import Tensor

X = np.random.default_rng(0).standard_normal((2, 3, 9, 8))

LAYERS = {
    "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)": lambda n: n.MaxPool2d(2),
    "MaxPool2d(kernel_size=(3, 2), stride=(1, 2), padding=(1, 0), dilation=2, ceil_mode=True)":
        lambda n: n.MaxPool2d((3, 2), (1, 2), padding=(1, 0), dilation=2, ceil_mode=True),
    "AvgPool2d(kernel_size=3, stride=2, padding=1, ceil_mode=False, count_include_pad=True)":
        lambda n: n.AvgPool2d(3, 2, 1),
    "AvgPool2d(kernel_size=3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)":
        lambda n: n.AvgPool2d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
    "AdaptiveAvgPool2d(output_size=1)": lambda n: n.AdaptiveAvgPool2d(1),
    "AdaptiveAvgPool2d(output_size=(None, 3))": lambda n: n.AdaptiveAvgPool2d((None, 3)),
    "Upsample(size=None, scale_factor=2, mode='nearest', align_corners=None)": lambda n: n.Upsample(scale_factor=2),
    "Upsample(size=(20, 3), scale_factor=None, mode='nearest', align_corners=None)": lambda n: n.Upsample((20, 3)),
    "Upsample(size=None, scale_factor=1.5, mode='bilinear', align_corners=None)":
        lambda n: n.Upsample(scale_factor=1.5, mode="bilinear"),
    "Upsample(size=(5, 12), scale_factor=None, mode='bicubic', align_corners=True)":
        lambda n: n.Upsample((5, 12), mode="bicubic", align_corners=True),
    "ZeroPad1d(padding=2)": lambda n: n.ZeroPad1d(2),
    "ZeroPad2d(padding=(1, 0, -2, 3))": lambda n: n.ZeroPad2d((1, 0, -2, 3)),
    "ReflectionPad1d(padding=(3, 0))": lambda n: n.ReflectionPad1d((3, 0)),
    "ReflectionPad2d(padding=2)": lambda n: n.ReflectionPad2d(2),
    "ReplicationPad1d(padding=2)": lambda n: n.ReplicationPad1d(2),
    "ReplicationPad2d(padding=(1, 2, 3, 0))": lambda n: n.ReplicationPad2d((1, 2, 3, 0)),
    "CircularPad1d(padding=2)": lambda n: n.CircularPad1d(2),
    "CircularPad2d(padding=(1, 2, 0, 3))": lambda n: n.CircularPad2d((1, 2, 0, 3)),
    "MaxPool1d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)": lambda n: n.MaxPool1d(3, 2, 1),
    "AvgPool1d(kernel_size=2, stride=2, padding=0, ceil_mode=False, count_include_pad=True)": lambda n: n.AvgPool1d(2),
    "AdaptiveAvgPool1d(output_size=4)": lambda n: n.AdaptiveAvgPool1d(4),
}


@pytest.mark.parametrize("text", LAYERS)
def test_repr_and_no_parameters(text):
    layer = LAYERS[text](nn)
    assert repr(layer) == text and layer.__doc__ and type(layer).__module__ == "nn.pool" and not layer.state_dict()


@pytest.mark.torch
@pytest.mark.parametrize("text", LAYERS)
def test_equal_to_pytorch(text):
    import torch

    a = X[0] if "1d" in text else X
    for dtype in (np.float64, np.float32):
        x, t = Tensor(a.astype(dtype), requires_grad=True), torch.tensor(a.astype(dtype), requires_grad=True)
        y, u = LAYERS[text](nn)(x), LAYERS[text](torch.nn)(t)
        np.testing.assert_allclose(y.detach().numpy(), u.detach().numpy(), rtol=1e-5, atol=1e-6)
        (y * y).sum().backward()
        (u * u).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_a_small_convolutional_shape_contract():
    pool = nn.Sequential(nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    assert pool(Tensor(X)).shape == (2, 3)
    expected = X[:, :, :8].reshape(2, 3, 4, 2, 4, 2).max((3, 5)).mean((2, 3))
    np.testing.assert_allclose(pool(Tensor(X)).numpy(), expected)


def test_pooling_undoes_upsampling():
    x = Tensor(X)
    for pool in (nn.MaxPool2d(3), nn.AvgPool2d(3), nn.AdaptiveAvgPool2d((9, 8))):
        np.testing.assert_allclose(pool(nn.Upsample(scale_factor=3)(x)).numpy(), X)


def test_errors():
    with pytest.raises(ValueError, match="Upsample: give either size or scale_factor, got size=None"):
        nn.Upsample()
    with pytest.raises(ValueError, match="interpolate: mode 'trilinear' does not fit 2 spatial axes"):
        nn.Upsample(2, mode="trilinear")(Tensor(X))
    with pytest.raises(ValueError, match="ReflectionPad2d: padding must be an integer or 4 of them, got"):
        nn.ReflectionPad2d((1, 2))(Tensor(X))
    with pytest.raises(ValueError, match="max_pool2d: kernel_size 10 exceeds size 9"):
        nn.MaxPool2d(10)(Tensor(X))


@pytest.mark.parametrize(("kind", "mode"), [("Zero", "constant"), ("Reflection", "reflect"), ("Replication", "edge"),
                                            ("Circular", "wrap")])
def test_paddings_are_numpys(kind, mode):
    image, signal = getattr(nn, f"{kind}Pad2d"), getattr(nn, f"{kind}Pad1d")
    for padding, (left, right, top, bottom) in ((2, (2, 2, 2, 2)), ((1, 2, 0, 3), (1, 2, 0, 3))):
        expected = np.pad(X, ((0, 0), (0, 0), (top, bottom), (left, right)), mode=mode)
        np.testing.assert_array_equal(image(padding)(Tensor(X)).numpy(), expected)
    expected = np.pad(X[0], ((0, 0), (0, 0), (3, 1)), mode=mode)
    np.testing.assert_array_equal(signal((3, 1))(Tensor(X[0])).numpy(), expected)
