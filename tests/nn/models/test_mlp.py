import numpy as np
import pytest

import nn
from tinygrad_like import Tensor
from tinygrad_like.transforms.gradcheck import gradcheck


def test_is_equations_7_22_and_7_36():
    m = nn.MLP([3, 5, 4, 2]).double()
    m[4].bias.assign(m[4].bias.detach() - 1)  # or all outputs might be positive
    x = np.random.default_rng(0).standard_normal((6, 3))
    a = x
    for layer in (m[0], m[2]):
        a = np.maximum(a @ layer.weight.detach().numpy().T + layer.bias.detach().numpy(), 0)
    expected = a @ m[4].weight.detach().numpy().T + m[4].bias.detach().numpy()
    np.testing.assert_allclose(m(Tensor(x)).detach().numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(m[:-1](Tensor(x)).detach().numpy(), a, rtol=1e-12)  # the features phi(x) of (7.34)
    assert (m(Tensor(x)).detach().numpy() < 0).any(), "the last layer is linear"


def test_norm_and_dropout_stand_where_003_puts_them():
    m = nn.MLP([2, 3, 4, 1], nn.GELU, norm=nn.LayerNorm, dropout=0.25)
    assert [type(layer).__name__ for layer in m] == ["Linear", "LayerNorm", "GELU", "Dropout"] * 2 + ["Linear"]
    assert m[1].normalized_shape == (3,) and m[5].normalized_shape == (4,) and m[3].p == 0.25
    assert list(nn.MLP([2, 3, 1], norm=nn.BatchNorm1d).state_dict())[2:5] == ["1.weight", "1.bias", "1.running_mean"]
    for norm in (nn.ReLU(), "batch", lambda n: n):
        with pytest.raises(TypeError, match="MLP: norm must make a Module from a number of channels"):
            nn.MLP([2, 3, 1], norm=norm)
    with pytest.raises(ValueError, match="p"):
        nn.MLP([2, 3, 1], dropout=1.5)


@pytest.mark.parametrize("sizes", [[7, 3], [2, 16, 16, 1], [784, 512, 512, 10]])
def test_parameter_count_is_that_of_001(sizes):
    # (d + 1) m_1 + (m_1 + 1) m_2 + ... + (m_{r-1} + 1) m_r
    count = sum((n + 1) * m for n, m in zip(sizes, sizes[1:], strict=False))
    assert sum(p.size for p in nn.MLP(sizes).parameters()) == count
    assert len(list(nn.MLP(sizes).parameters())) == 2 * (len(sizes) - 1)


def test_activation():
    m = nn.MLP([2, 3, 3, 1], activation=lambda: nn.LeakyReLU(0.2))
    assert [type(layer).__name__ for layer in m] == ["Linear", "LeakyReLU", "Linear", "LeakyReLU", "Linear"]
    assert m[1].negative_slope == 0.2 and m[1] is not m[3]


def test_gradient():
    m = nn.MLP([3, 4, 2], nn.Tanh).double()
    names = [n for n, _ in m.named_parameters()]
    x = np.random.default_rng(0).standard_normal((2, 5, 3))
    gradcheck(lambda x, *p: nn.functional_call(m, dict(zip(names, p, strict=True)), x), x, *m.parameters())


def test_errors():
    for sizes in (5, None):
        with pytest.raises(ValueError, match=rf"MLP: sizes .* at least 2, got {sizes}"):
            nn.MLP(sizes)
    with pytest.raises(ValueError, match=r"MLP: sizes .* at least 2, got \[3\]"):
        nn.MLP([3])
    with pytest.raises(TypeError, match="MLP: activation must make a Module"):
        nn.MLP([3, 4, 2], activation="relu")


@pytest.mark.torch
def test_equal_to_the_same_sequential_in_pytorch():
    import torch

    theirs = torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8), torch.nn.ReLU(),
                                 torch.nn.Linear(8, 4))
    ours = nn.MLP([20, 16, 8, 4])
    ours.load_state_dict(theirs.state_dict())
    a = np.random.default_rng(0).standard_normal((32, 20)).astype(np.float32)
    labels = np.arange(32) % 4
    y, u = ours(Tensor(a)), theirs(torch.tensor(a))
    np.testing.assert_allclose(y.detach().numpy(), u.detach().numpy(), rtol=1e-4, atol=1e-6)
    nn.CrossEntropyLoss()(y, Tensor(labels)).backward()
    torch.nn.CrossEntropyLoss()(u, torch.tensor(labels)).backward()
    for (name, p), (other, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert name == other
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-6)
