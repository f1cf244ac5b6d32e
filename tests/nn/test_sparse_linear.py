"""spred: weight decay of two factors is an l1 penalty of their product (002)."""

import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor, manual_seed

rng = np.random.default_rng(0)


def lasso(x, y, c):
    """The least of |x w - y|^2 / (2 n) + c |w|_1, by coordinate descent: w_j <- S(rho_j, c) / z_j."""
    n, w = len(x), np.zeros(x.shape[1])
    z = (x * x).sum(0) / n
    for _ in range(500):
        for j in range(len(w)):
            rho = x[:, j] @ (y - x @ w + x[:, j] * w[j]) / n
            w[j] = np.sign(rho) * max(abs(rho) - c, 0) / z[j]
    return w


@pytest.mark.parametrize("c", [0.05, 0.3])
def test_it_finds_the_lasso(c):
    x = rng.standard_normal((100, 12))
    y = x @ np.array([3, -2, 0.5, *[0] * 9]) + 0.3 * rng.standard_normal(100)
    expected = lasso(x, y, c)
    assert (expected == 0).sum() >= 5
    manual_seed(0)
    layer = nn.SparseLinear(12, 1, bias=False).double()
    optimizer = optim.SGD(layer.parameters(), lr=0.05, momentum=0.9, weight_decay=c)
    a, b = Tensor(x), Tensor(y[:, None])
    for _ in range(1500):
        optimizer.zero_grad()
        (((layer(a) - b) ** 2).mean() * 0.5).backward()
        optimizer.step()
    found = layer.weight(threshold=1e-4).detach().numpy()[0]
    np.testing.assert_allclose(found, expected, atol=2e-3)
    assert ((found == 0) == (expected == 0)).all()
    plain = nn.Linear(12, 1, bias=False).double()
    optimizer = optim.SGD(plain.parameters(), lr=0.05, momentum=0.9)
    for _ in range(300):
        optimizer.zero_grad()
        (((plain(a) - b) ** 2).mean() * 0.5 + c * optim.l1_penalty(plain.parameters())).backward()
        optimizer.step()
    assert (np.abs(plain.weight.data) > 1e-4).all(), "the subgradient of |w| leaves all weights near 0, none at 0"


def test_it_starts_as_a_linear():
    manual_seed(0)
    layer = nn.SparseLinear(50, 40)
    w = layer.weight().detach().numpy()
    assert w.shape == (40, 50) and abs(w.mean()) < 0.01
    assert w.std() == pytest.approx((1 / 50 / 3) ** 0.5, rel=0.06)
    x = Tensor.randn(3, 2, 50)
    np.testing.assert_allclose(layer(x).data, x.data @ w.T + layer.bias.data, rtol=1e-4, atol=1e-5)
    assert list(layer.state_dict()) == ["a", "b", "bias"]
    assert repr(layer) == "SparseLinear(in_features=50, out_features=40, bias=True)"
    with pytest.raises(ValueError, match="SparseLinear: in_features must be a positive integer"):
        nn.SparseLinear(0, 3)
