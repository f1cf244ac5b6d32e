import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, manual_seed, ops

X = np.random.default_rng(0).standard_normal((5, 4))


def test_residual_adds_scaled_f_to_the_input():
    x = Tensor([1.0, 2.0])
    assert nn.Residual(nn.Identity())(x).tolist() == [2.0, 4.0]
    assert nn.Residual(lambda x: x * x, scale=0.5)(x).tolist() == [1.5, 4.0]
    assert nn.Residual(lambda x: x * x, projection=lambda x: -x)(x).tolist() == [0.0, 2.0]


def test_residual_with_projection_owns_its_parameters():
    m = nn.Residual(nn.Linear(4, 3), scale=0.1, projection=nn.Linear(4, 3, bias=False))
    assert list(m.state_dict()) == ["f.weight", "f.bias", "projection.weight"]
    expected = X @ m.projection.weight._data.T + 0.1 * (X @ m.f.weight._data.T + m.f.bias._data)
    np.testing.assert_allclose(m(Tensor(X.astype(np.float32))).detach().numpy(), expected, rtol=1e-5, atol=1e-5)
    assert repr(m).startswith("Residual(\n  scale=0.1\n  (f): Linear")


@pytest.mark.parametrize(("f", "projection", "shape", "said"), [
    (nn.Linear(4, 3), None, (5, 4), r"f maps \(5, 4\) to \(5, 3\), .*projection=nn.Linear\(4, 3\)"),
    (lambda x: x[:, :1], None, (5, 4), r"f maps \(5, 4\) to \(5, 1\)"),  # would broadcast
    (lambda x: x[:, :, ::2, ::2], None, (1, 2, 4, 4), "1x1 convolution from 2 to 2 channels with f's stride"),
    (lambda x: x.flatten(), None, (5, 4), r"a layer that maps \(5, 4\) to \(20,\)"),
    (nn.Linear(4, 3), nn.Linear(4, 2), (5, 4), r"f returns \(5, 3\) but projection \(5, 2\)"),
])
def test_residual_shape_mismatch_says_what_to_do(f, projection, shape, said):
    with pytest.raises(ValueError, match=f"Residual: .*{said}"):
        nn.Residual(f, projection=projection)(Tensor.ones(*shape))


def test_res_is_equation_7_38():
    m = nn.Res(4, nn.Tanh).double()
    assert [n for n, _ in m.named_children()] == ["mm2", "mm1", "activation"]
    w1, b1, w2, b2 = (t.detach().numpy() for t in (m.mm1.weight, m.mm1.bias, m.mm2.weight, m.mm2.bias))
    expected = X + np.tanh(np.tanh(X @ w2.T + b2) @ w1.T + b1)
    np.testing.assert_allclose(m(Tensor(X)).detach().numpy(), expected, rtol=1e-12)
    m.scale = 0.25
    np.testing.assert_allclose(m(Tensor(X)).detach().numpy(), X + 0.25 * (expected - X), rtol=1e-12)
    assert repr(m).startswith("Res(\n  scale=0.25\n  (mm2): Linear")
    assert sum(p.size for p in m.parameters()) == 2 * 5 * 4
    assert m(Tensor.ones(2, 3, 4).double()).shape == (2, 3, 4)


def test_the_identity_path_carries_the_gradient():
    """dy/dx = I + dF/dx (003): with F = 0 the gradient passes unchanged, at any depth."""
    m = nn.Sequential(*[nn.Res(4, nn.Tanh, zero_init=True) for _ in range(50)])
    x = Tensor(X.astype(np.float32), requires_grad=True)
    y = m(x)
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy())
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones_like(X))
    assert m[0].mm1.weight.grad._data.any(), "and the block can learn"


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Sigmoid, nn.Softplus])
def test_zero_init_with_an_activation_that_needs_a_gain(activation):
    """relu'(0) = 0 and sigmoid(0) = 1/2: with MM_1 = 0 there would be no gradient, or no identity."""
    m = nn.Sequential(*[nn.Res(4, activation, zero_init=True) for _ in range(3)])
    x = Tensor(X.astype(np.float32), requires_grad=True)
    y = m(x)
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy())
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * x.detach().numpy())
    assert all(block.gain.grad._data.any() for block in m), "and the blocks can learn"
    m[0].gain.assign(np.ones(1, np.float32))
    plain = nn.Res(4, activation)
    plain.load_state_dict({k: v for k, v in m[0].state_dict().items() if k != "gain"})
    np.testing.assert_allclose(m[0](x).detach().numpy(), plain(x).detach().numpy(), rtol=1e-6)


def test_small_init_is_near_the_identity():
    """F(z) = sigma(s (W z + b)) is of size s: 004's small weights."""
    def moved(s):
        manual_seed(0)
        block = nn.Res(64, nn.Tanh, small_init=s)
        z = Tensor.randn(32, 64)
        return (block(z) - z).detach().numpy().std()

    assert moved(1.0) > 0.2 > 0.04 > moved(0.1) > 0.01
    assert moved(0.001) == pytest.approx(moved(0.01) / 10, rel=1e-3)


@pytest.mark.parametrize("norm", [nn.LayerNorm, nn.BatchNorm1d, nn.RMSNorm])
def test_res_with_a_norm_and_dropout(norm):
    m = nn.Res(4, nn.Tanh, norm=norm, dropout=0.5)
    x = Tensor(X.astype(np.float32))
    m.eval()
    expected = x + m.mm1(m.mm2(m.norm(x)).tanh()).tanh()
    np.testing.assert_allclose(m(x).detach().numpy(), expected.detach().numpy(), rtol=1e-6)
    m.train()
    change = (m(x) - x).detach().numpy()
    m.dropout.p = 0.0
    whole = (m(x) - x).detach().numpy()
    kept = change != 0
    assert kept.any() and (~kept & (whole != 0)).any()
    np.testing.assert_allclose(change[kept], 2 * whole[kept], rtol=1e-3, atol=1e-5)
    with pytest.raises(TypeError, match="Res: norm must return a Module"):
        nn.Res(4, norm=nn.LayerNorm(4))


def test_res_takes_an_activation_factory_only():
    with pytest.raises(TypeError, match="Res: activation must return a Module when called"):
        nn.Res(4, ops.relu)
