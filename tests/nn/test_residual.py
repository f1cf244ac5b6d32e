import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, ops
from tinygrad_like.gradcheck import gradcheck, gradgradcheck

X = np.random.default_rng(0).standard_normal((5, 4))


def as_function(module):
    """The module as a function of its input and parameters."""
    names = [n for n, _ in module.named_parameters()]
    return lambda x, *p: nn.functional_call(module, dict(zip(names, p, strict=True)), x)


def test_residual_adds_scaled_f_to_the_input():
    x = Tensor([1.0, 2.0])
    assert nn.Residual(nn.Identity())(x).tolist() == [2.0, 4.0]
    assert nn.Residual(lambda x: x * x, scale=0.5)(x).tolist() == [1.5, 4.0]
    assert nn.Residual(lambda x: x * x, projection=lambda x: -x)(x).tolist() == [0.0, 2.0]


def test_residual_with_projection_owns_its_parameters():
    m = nn.Residual(nn.Linear(4, 3), scale=0.1, projection=nn.Linear(4, 3, bias=False))
    assert list(m.state_dict()) == ["f.weight", "f.bias", "projection.weight"]
    expected = X @ m.projection.weight.numpy().T + 0.1 * (X @ m.f.weight.numpy().T + m.f.bias.numpy())
    np.testing.assert_allclose(m(Tensor(X.astype(np.float32))).numpy(), expected, rtol=1e-5, atol=1e-5)
    assert repr(m).startswith("Residual(\n  scale=0.1\n  (f): Linear")
    m = m.double()
    gradcheck(as_function(m), X, *m.parameters())


@pytest.mark.parametrize(("f", "projection", "shape", "said"), [
    (nn.Linear(4, 3), None, (5, 4), r"f maps \(5, 4\) to \(5, 3\), .*projection=nn.Linear\(4, 3\)"),
    (lambda x: x[:, :1], None, (5, 4), r"f maps \(5, 4\) to \(5, 1\)"),  # would broadcast
    (lambda x: x[:, :, ::2, ::2], None, (1, 2, 4, 4), "1x1 convolution from 2 to 2 channels with f's stride"),
    (lambda x: x.flatten(), None, (5, 4), r"a layer that maps \(5, 4\) to \(20,\)"),
    (nn.Linear(4, 3), nn.Linear(4, 2), (5, 4), r"f makes \(5, 3\) but projection \(5, 2\)"),
])
def test_residual_shape_mismatch_says_what_to_do(f, projection, shape, said):
    with pytest.raises(ValueError, match=f"Residual: .*{said}"):
        nn.Residual(f, projection=projection)(Tensor.ones(*shape))


def test_res_is_equation_7_38():
    m = nn.Res(4, nn.Tanh).double()
    assert [n for n, _ in m.named_children()] == ["mm2", "mm1", "activation"]
    w1, b1, w2, b2 = (t.numpy() for t in (m.mm1.weight, m.mm1.bias, m.mm2.weight, m.mm2.bias))
    expected = X + np.tanh(np.tanh(X @ w2.T + b2) @ w1.T + b1)
    np.testing.assert_allclose(m(Tensor(X)).numpy(), expected, rtol=1e-12)
    m.scale = 0.25
    np.testing.assert_allclose(m(Tensor(X)).numpy(), X + 0.25 * (expected - X), rtol=1e-12)
    assert repr(m).startswith("Res(\n  scale=0.25\n  (mm2): Linear")
    assert sum(p.size for p in m.parameters()) == 2 * 5 * 4
    assert m(Tensor.ones(2, 3, 4).double()).shape == (2, 3, 4)


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh, nn.GELU])
def test_res_gradient(activation):
    m = nn.Res(4, activation, scale=0.5).double()
    gradcheck(as_function(m), X, *m.parameters())
    gradgradcheck(as_function(m), X, *m.parameters())


def test_identity_path_carries_the_gradient():
    """dy/dx = I + dF/dx (003): with F = 0 the gradient passes unchanged, at any depth."""
    m = nn.Sequential(*[nn.Res(4, nn.Tanh, zero_init=True) for _ in range(50)])
    x = Tensor(X.astype(np.float32), requires_grad=True)
    y = m(x)
    np.testing.assert_array_equal(y.numpy(), x.numpy())
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones_like(X))
    assert m[0].mm1.weight.grad.data.any(), "and the block can learn"


def test_zero_init_refuses_activations_with_which_it_cannot_work():
    with pytest.raises(ValueError, match="the block could not learn, since ReLU has slope 0 at 0; use GELU"):
        nn.Res(4, zero_init=True)
    with pytest.raises(ValueError, match=r"Sigmoid\(0\) = 0.5"):
        nn.Res(4, nn.Sigmoid, zero_init=True)


def test_res_wants_a_factory():
    with pytest.raises(TypeError, match="Res: activation must make a Module when called"):
        nn.Res(4, ops.relu)
