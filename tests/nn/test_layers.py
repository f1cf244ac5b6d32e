"""One table of layers: values, gradients and statistics equal PyTorch's, gradients equal finite differences, and a
layer's repr constructs its like."""

import copy
import math
import pickle

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.transforms.gradcheck import gradcheck

ROWS, SIGNAL, IMAGE, VOLUME = (4, 6), (2, 4, 9), (2, 4, 5, 6), (1, 4, 3, 4, 3)
LAYERS = {  # constructor: input shapes
    **dict.fromkeys("""ReLU() LeakyReLU(0.2) ELU(0.7) Sigmoid() LogSigmoid() Tanh() GELU() GELU("tanh") SiLU()
        Softplus(2.0) Softmax(1) LogSoftmax(0) Softmin(1) GLU(1) CELU(0.7) SELU() Mish() Softsign() ReLU6()
        Hardsigmoid() Hardswish() Hardtanh(-2,1) Hardshrink(0.3) Softshrink(0.3) Flatten(0) Unflatten(1,(2,3))
        PReLU(6,0.3) Linear(6,3) Linear(6,3,bias=False) Identity() Dropout(0.0) BatchNorm1d(6) RMSNorm(6)
        LayerNorm((4,6))
    """.split(), [ROWS]),
    "Conv1d(4, 6, 3, padding='same', padding_mode='circular')": [SIGNAL],
    "Conv1d(4, 2, 4, padding='same', padding_mode='replicate')": [SIGNAL],
    "Conv2d(4, 6, (3, 2), stride=2, padding=(1, 0), groups=2)": [IMAGE],
    "Conv2d(4, 2, 3, padding=2, padding_mode='reflect', bias=False)": [IMAGE],
    "Conv3d(4, 6, (2, 3, 2), stride=2, padding=1, groups=2)": [VOLUME],
    "Conv3d(4, 2, 3, padding='same', padding_mode='replicate')": [VOLUME],
    "ConvTranspose1d(4, 6, 3, stride=2, output_padding=1)": [SIGNAL],
    "ConvTranspose2d(4, 6, 4, stride=2, padding=1, groups=2)": [IMAGE],
    "ConvTranspose3d(4, 3, 3, stride=2, output_padding=1)": [VOLUME],
    "MaxPool1d(3, 2, 1)": [SIGNAL], "AvgPool1d(2)": [SIGNAL], "AdaptiveAvgPool1d(4)": [SIGNAL], "MaxPool2d(2)": [IMAGE],
    "MaxPool2d((3, 2), (1, 2), padding=(1, 0), dilation=2, ceil_mode=True)": [IMAGE], "AvgPool2d(3, 2, 1)": [IMAGE],
    "AvgPool2d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)": [IMAGE],
    "AdaptiveAvgPool2d(1)": [IMAGE], "AdaptiveAvgPool2d((None, 3))": [IMAGE], "MaxPool3d(2, padding=1)": [VOLUME],
    "AvgPool3d((2, 3, 2), count_include_pad=False, padding=1)": [VOLUME],
    "Upsample(scale_factor=2)": [IMAGE], "Upsample((10, 3))": [IMAGE],
    "Upsample(scale_factor=1.5, mode='bilinear')": [IMAGE],
    "Upsample((5, 8), mode='bicubic', align_corners=True)": [IMAGE],
    "UpsamplingNearest2d(scale_factor=2)": [IMAGE], "UpsamplingBilinear2d((9, 5))": [IMAGE],
    "Unfold(3, padding=1, stride=2)": [IMAGE], "Fold((4, 6), 2, stride=2)": [(2, 16, 6)],
    "ZeroPad1d(2)": [SIGNAL], "ZeroPad2d((1, 0, -2, 3))": [IMAGE], "ZeroPad3d(1)": [VOLUME],
    "ReflectionPad1d((3, 0))": [SIGNAL], "ReflectionPad2d(2)": [IMAGE], "ReflectionPad3d(1)": [VOLUME],
    "ReplicationPad1d(2)": [SIGNAL], "ReplicationPad2d((1, 2, 3, 0))": [IMAGE],
    "ReplicationPad3d((1, 0, 2, 1, 0, 1))": [VOLUME], "CircularPad1d(2)": [SIGNAL],
    "CircularPad2d((1, 2, 0, 3))": [IMAGE], "CircularPad3d(2)": [VOLUME], "ConstantPad1d((1, 2), 3.5)": [SIGNAL],
    "ConstantPad2d(1, -1.0)": [IMAGE], "ConstantPad3d((0, 1, 2, 0, 1, 1), 0.5)": [VOLUME],
    "LayerNorm(5, bias=False)": [(3, 4, 5)], "GroupNorm(2, 4)": [(3, 4, 5), (3, 4)], "GroupNorm(1, 4, affine=False)": [
        IMAGE], "BatchNorm1d(4)": [(3, 4, 5), (40, 4, 30)], "BatchNorm1d(4, momentum=None)": [(6, 4), (3, 4)],
    "BatchNorm1d(4, affine=False, track_running_stats=False)": [(6, 4)],
    "BatchNorm2d(4, eps=0.1, momentum=0.3)": [(3, 4, 5, 6), (5, 4, 2, 2)], "BatchNorm3d(4)": [VOLUME],
    "InstanceNorm1d(4, affine=True)": [(3, 4, 5), (4, 5)], "InstanceNorm2d(4)": [(3, 4, 5, 6), (4, 5, 6)],
    "InstanceNorm2d(4, track_running_stats=True)": [(3, 4, 5, 6)], "InstanceNorm3d(4, affine=True)": [VOLUME],
}
OWN = {  # layers that PyTorch does not have
    "Res(4)": [(5, 4)], "Res(4, GELU, scale=0.5)": [(5, 4)],
    "FeedForward(4, 3, 'swiglu')": [(2, 4)], "Residual(Linear(4, 3), 0.1, Linear(4, 3, bias=False))": [(5, 4)],
    "BasicBlock(4, 4)": [IMAGE], "BasicBlock(4, 6, stride=2)": [IMAGE], "Bottleneck(8, 2)": [(2, 8, 3, 3)],
    "Bottleneck(4, 4, stride=2, groups=2, base_width=32)": [(2, 4, 3, 3)],
    "BasicBlock(4, 4, norm=InstanceNorm2d, activation=SiLU)": [IMAGE],
    "Bottleneck(4, 2, 2, norm=None, activation=Tanh)": [IMAGE], "ConvNeXtBlock(4, layer_scale=0.5)": [(1, 4, 3, 3)],
    "MLP([3, 4, 2], Tanh)": [(10, 3)], "ResNetS(3, 4, 2, 2, GELU)": [(5, 3)],
    "ViT(4, 2, 2, 4, 1, 2, channels=1)": [(2, 1, 4, 4)],
}


def made(text, lib=nn):
    return eval(text, vars(lib))


def drawn(layer, rng):
    """The layer with random parameters, running mean and variance."""
    for name, t in layer.state_dict().items():
        if t.is_floating_point():
            t.assign(rng.uniform(0.5, 2, t.shape).astype(t.numpy().dtype) * (1 if "var" in name else -1))
    return layer


@pytest.mark.torch
@pytest.mark.parametrize("text", LAYERS)
def test_layers_equal_pytorchs(text):
    """Outputs, gradients and running statistics over training steps, and then in evaluation."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    ours, theirs = drawn(made(text), rng), made(text.replace("PReLU(6,", "PReLU(6,init="), torch.nn)
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for training in (True, True, True, False) if "Norm" in text else (True,):
        for shape in LAYERS[text]:
            a, found = 2 * rng.standard_normal(shape).astype("f") + 1, []
            for layer, tensor in (ours, Tensor), (theirs, torch.tensor):
                x = tensor(a, requires_grad=True)
                layer.zero_grad()
                y = layer.train(training)(x)
                g = np.random.default_rng(1).standard_normal(y.shape).astype("f")
                y.backward(tensor(g))
                found.append([y.detach(), x.grad, *(p.grad for p in layer.parameters()), *layer.state_dict().values()])
            for mine, other in zip(*found, strict=True):
                np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("text", [*LAYERS, *OWN])
def test_gradients_are_right_and_copies_equal(text):
    layer, x = drawn(made(text), np.random.default_rng(0)).double(), np.random.default_rng(2).standard_normal(
        {**LAYERS, **OWN}[text][0])
    names = [name for name, _ in layer.named_parameters()]
    assert gradcheck(lambda x, *p: nn.functional_call(layer, dict(zip(names, p, strict=True)), x), x,
                     *layer.parameters())
    expected = layer.eval()(Tensor(x)).detach().numpy()
    for again in copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), made(text).double().eval():
        again.load_state_dict(layer.state_dict())
        np.testing.assert_array_equal(again(Tensor(x)).detach().numpy(), expected)
    assert layer.float()(Tensor(x.astype("f"))).dtype == "float32"


@pytest.mark.parametrize("text", LAYERS)
def test_a_layers_repr_constructs_its_like(text):
    layer = made(text)
    again = made(repr(layer))
    assert repr(again) == repr(layer) and {k: v.shape for k, v in again.state_dict().items()} == {
        k: v.shape for k, v in layer.state_dict().items()}


ARGUMENTS = [
    (nn.MultiheadAttention(4, 2, dropout=0.1), "MultiheadAttention(\n  4, num_heads=2, dropout=0.1, batch_first=False"),
    (nn.SinusoidalEncoding(4), "SinusoidalEncoding(4)"), (nn.LearnedEncoding(5, 4), "LearnedEncoding(5, 4)"),
    (nn.RotaryEncoding(4, base=500.0), "RotaryEncoding(4, base=500)"),
    (nn.TransformerEncoderLayer(4, 2, 8, norm_first=True), "TransformerEncoderLayer(\n  pre-norm\n"),
    (nn.TransformerEncoderLayer(4, 2, 8, residual_scale=0.5), "TransformerEncoderLayer(\n  post-norm, residual_scale="),
    (nn.ViT(8, 4, 10, dim=6, num_layers=1, num_heads=2, pool="mean"), "ViT(\n  pool='mean'\n"),
    (nn.ViT(8, 4, 10, dim=6, num_layers=1, num_heads=2).patches, "PatchEmbedding(3, 6, patch_size=4)"),
    (nn.LSTM(3, 4, 2, bidirectional=True), "LSTM(3, 4, num_layers=2, bidirectional=True)"),
    (nn.GRUCell(3, 4, bias=False), "GRUCell(3, 4, bias=False)"),
    (nn.Embedding(5, 3, -1), "Embedding(5, 3, padding_idx=4)"),
    (nn.DropConnect(3, 2, p=0.25), "DropConnect(in_features=3, out_features=2, bias=True, p=0.25)"),
    (nn.Permute((2, 0, 1)), "Permute(dims=(2, 0, 1))"), (nn.Dropout(0.1), "Dropout(p=0.1)"),
    (nn.CrossEntropyLoss(label_smoothing=0.1), "CrossEntropyLoss(ignore_index=-100, reduction='mean', label_smoothing"),
    (nn.KLDivLoss(reduction="batchmean"), "KLDivLoss(reduction='batchmean', log_target=False)"),
]


@pytest.mark.parametrize(("layer", "text"), ARGUMENTS, ids=[type(layer).__name__ for layer, _ in ARGUMENTS])
def test_other_layers_show_their_arguments(layer, text):
    assert repr(layer).startswith(text)


# By definition --------------------------------------------------------------------------------------------------------

X = np.random.default_rng(0).standard_normal((2, 3, 9, 8))


def test_linear_is_x_w_t_plus_b_over_any_leading_axes():
    layer = nn.Linear(3, 2)
    w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    for shape in [(3,), (4, 3), (2, 4, 3), (0, 3), (2, 1, 5, 3)]:
        x = Tensor.randn(*shape)
        np.testing.assert_allclose(layer(x).detach().numpy(), x.detach().numpy() @ w.T + b, rtol=1e-5, atol=1e-6)
    assert nn.Linear(3, 2, bias=False)(Tensor.zeros(1, 3)).tolist() == [[0, 0]]


@pytest.mark.parametrize("make, bound", [(lambda: nn.Linear(400, 300), 1 / 20),
                                         (lambda: nn.Conv2d(60, 80, (3, 5), groups=2), 1 / math.sqrt(30 * 3 * 5))])
def test_initial_weights_are_uniform_within_one_over_root_fan_in_and_follow_the_seed(make, bound):
    manual_seed(3)
    layer = make()
    manual_seed(3)
    for values, again in zip(layer.parameters(), make().parameters(), strict=True):
        values = values.detach().numpy()
        assert np.abs(values).max() <= bound and values.std() == pytest.approx(bound / math.sqrt(3), rel=0.12)
        np.testing.assert_array_equal(values, again.detach().numpy())


def test_flatten_unflatten_and_permute_change_the_shape():
    x = Tensor(np.arange(24.0).reshape(2, 3, 4))
    assert nn.Flatten()(x).shape == (2, 12) and nn.Flatten(0, 1)(x).shape == (6, 4)
    assert nn.Unflatten(1, (3, -1))(nn.Flatten()(x)).tolist() == x.tolist()
    assert nn.Permute((2, 0, 1))(x).tolist() == x.numpy().transpose(2, 0, 1).tolist()
    assert nn.Identity(3, unused=True)(x) is x


def conv(*given, x=None, **how):
    return lambda: nn.Conv2d(*given, **how) if x is None else nn.Conv2d(*given, **how)(Tensor.ones(*x))


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: nn.Unflatten(2, 8), TypeError, r"Unflatten: unflattened_size=8 must be sizes, such as \(2, 4\)"),
    (lambda: nn.Permute(2), TypeError, r"Permute: dims=2 must be all axes in their new order"),
    (lambda: nn.Linear(0, 2), ValueError, "Linear: in_features must be a positive integer, got 0"),
    (lambda: nn.Linear(2, 2.0), ValueError, "Linear: out_features must be a positive integer, got 2.0"),
    (lambda: nn.Linear(3, 2)(Tensor.ones(4, 5)), ValueError, r"linear: .*\(2, 3\).*\(4, 5\)"),
    (lambda: nn.Upsample(), ValueError, "Upsample: give either size or scale_factor, got size=None"),
    (lambda: nn.Upsample(2, mode="trilinear")(Tensor(X)), ValueError, "mode 'trilinear' does not fit 2 spatial axes"),
    (lambda: nn.ReflectionPad2d((1, 2))(Tensor(X)), ValueError, "padding must be an integer or 4 of them, got"),
    (lambda: nn.MaxPool2d(10)(Tensor(X)), ValueError, "max_pool2d: kernel_size 10 exceeds size 9"),
    (lambda: nn.Softshrink(-1.0), ValueError, "must be >= 0"),
    (conv(3, 4, 0), ValueError, "Conv2d: kernel_size must be a number or a pair of numbers, at least 1"),
    (conv(0, 4, 3), ValueError, "Conv2d: in_channels must be a positive integer, got 0"),
    (conv(3, 4, 3, -1), ValueError, "Conv2d: stride"), (conv(3, 4, (3, 3, 3)), ValueError, "Conv2d: kernel_size"),
    (conv(3, 4, 3, groups=2), ValueError, "3 input and 4 output channels must both be divisible by groups=2"),
    (conv(3, 4, 3, padding_mode="mirror"), ValueError, "padding_mode must be one of"),
    (conv(3, 4, 3, 2, "same", padding_mode="reflect"), ValueError, 'Conv2d: padding="same" needs stride 1'),
    (conv(3, 4, 3, padding="all", padding_mode="reflect"), ValueError, "Conv2d: padding must be numbers"),
    (conv(3, 4, 3, x=(8, 8)), ValueError, r"Conv2d: takes \(batch, channels, height, width\) or .*, got shape "),
    (lambda: nn.Conv1d(3, 4, 3)(Tensor.ones(8)), ValueError, r"Conv1d: takes \(batch, channels, length\)"),
])
def test_bad_arguments_raise(call, error, text):
    with pytest.raises(error, match=text):
        call()
