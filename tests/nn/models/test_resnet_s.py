import numpy as np
import pytest

import nn
from tinygrad_like import Tensor
from tinygrad_like.transforms.gradcheck import gradcheck


def test_is_equation_7_39():
    m = nn.ResNetS(4, 4, 3, 2, nn.Tanh).double()
    assert isinstance(m.project, nn.Identity), "no projection where in_features is the width"
    z = Tensor(np.random.default_rng(0).standard_normal((5, 4)))
    expected = z
    for block in m.blocks:
        expected = expected + (block.mm1(block.mm2(expected).tanh())).tanh()
    np.testing.assert_allclose(m(z).detach().numpy(), m.head(expected).detach().numpy(), rtol=1e-12)


def test_projection_and_parameter_count():
    m = nn.ResNetS(784, 256, 8, 10)
    assert sum(p.size for p in m.parameters()) == 785 * 256 + 8 * 2 * 257 * 256 + 257 * 10
    assert list(m.state_dict())[:4] == ["project.weight", "project.bias", "blocks.0.mm2.weight", "blocks.0.mm2.bias"]
    assert "project.weight" not in nn.ResNetS(256, 256, 1, 10).state_dict()
    assert nn.ResNetS(3, 5, 0, 2)(Tensor.ones(2, 7, 3)).shape == (2, 7, 2)


@pytest.mark.parametrize("activation", [nn.GELU, nn.ReLU])
def test_zero_init_starts_as_a_linear_model(activation):
    m = nn.ResNetS(3, 4, 5, 2, activation, zero_init=True)
    x = Tensor.randn(6, 3)
    np.testing.assert_array_equal(m(x).detach().numpy(), m.head(m.project(x)).detach().numpy())
    m(x).sum().backward()
    for block in m.blocks:
        assert all(p.grad.data.any() for p in (block.mm1.parameters() if block.gain is None else [block.gain]))


def test_norm_and_dropout_are_of_every_block():
    m = nn.ResNetS(3, 4, 2, 2, norm=nn.LayerNorm, dropout=0.2, small_init=0.0)
    for b in m.blocks:
        assert isinstance(b.norm, nn.LayerNorm) and b.dropout.p == 0.2 and not b.mm1.weight.data.any()


def test_scale_keeps_the_variance_of_the_stream():
    x = Tensor.randn(64, 32)

    def growth(blocks, scale):
        m = nn.ResNetS(32, 32, blocks, 1, nn.Tanh, scale=scale)
        return m.blocks(x).detach().numpy().var() / x.detach().numpy().var()

    assert growth(64, 64**-0.5) < 1.5 < 5 < growth(64, 1.0)


@pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU])
def test_gradient(activation):
    m = nn.ResNetS(3, 4, 2, 2, activation).double()
    names = [n for n, _ in m.named_parameters()]
    x = np.random.default_rng(0).standard_normal((5, 3))
    gradcheck(lambda x, *p: nn.functional_call(m, dict(zip(names, p, strict=True)), x), x, *m.parameters())


def test_it_learns():
    x = Tensor.randn(64, 4)
    target = (x * x).sum(axis=1, keepdim=True)
    m, loss = nn.ResNetS(4, 16, 2, 1), nn.MSELoss()
    losses = []
    for _ in range(60):
        m.zero_grad()
        error = loss(m(x), target)
        error.backward()
        losses.append(error.item())
        for p in m.parameters():
            p.assign(p.data - 0.02 * p.grad.data)
    assert losses[-1] < 0.2 * losses[0]


def test_errors():
    with pytest.raises(ValueError, match="ResNetS: blocks must not be negative, got -1"):
        nn.ResNetS(3, 4, -1, 2)


@pytest.mark.torch
def test_equal_to_pytorch():
    import torch

    class Res(torch.nn.Module):
        def __init__(self, n):
            super().__init__()
            self.mm2, self.mm1 = torch.nn.Linear(n, n), torch.nn.Linear(n, n)

        def forward(self, z):
            return z + torch.relu(self.mm1(torch.relu(self.mm2(z))))

    class ResNetS(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.project = torch.nn.Linear(6, 8)
            self.blocks = torch.nn.Sequential(*[Res(8) for _ in range(3)])
            self.head = torch.nn.Linear(8, 4)

        def forward(self, x):
            return self.head(self.blocks(self.project(x)))

    theirs, ours = ResNetS(), nn.ResNetS(6, 8, 3, 4)
    ours.load_state_dict(theirs.state_dict())
    a = np.random.default_rng(0).standard_normal((16, 6)).astype(np.float32)
    y, u = ours(Tensor(a)), theirs(torch.tensor(a))
    np.testing.assert_allclose(y.detach().numpy(), u.detach().numpy(), rtol=1e-4, atol=1e-5)
    (y * y).mean().backward()
    (u * u).mean().backward()
    for (name, p), (other, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert name == other
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-6)
