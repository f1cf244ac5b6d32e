import numpy as np
import pytest

pytest.importorskip("matplotlib")

import nn
import optim
from demos import regularization
from demos.regularization import METHODS, ProductLinear
from tinygrad_like import Tensor


def test_prints_a_table_and_draws_it(tmp_path, capsys):
    results = regularization.main(["--each", "5", "--epochs", "60", "--width", "32", "--seeds", "2",
                                   "--out", str(tmp_path / "new" / "r.png")])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "50 training images, 359 test images, mean of 2 seeds"
    assert [line[:16].strip() for line in printed[2:-1]] == list(results) == list(METHODS)
    plain = results["none"]
    assert plain[:, 1].mean() > 0.6
    for name, values in results.items():
        assert np.isfinite(values).all() and (name == "none" or not np.array_equal(values, plain)), name
    assert (tmp_path / "new" / "r.png").read_bytes().startswith(b"\x89PNG")


def test_a_product_starts_as_a_linear_layer_and_has_the_penalty_of_l1():
    layer = ProductLinear(5, 3)
    weight = layer.weight.detach().numpy()
    l1 = optim.l1_penalty([layer.weight]).item()
    assert 0.5 * optim.l2_penalty([layer.a, layer.b]).item() == pytest.approx(l1, rel=1e-5)
    assert np.abs(weight).max() <= 5 ** -0.5 and np.abs(weight).max() > 0.1
    x = Tensor.randn(4, 5)
    np.testing.assert_allclose(layer(x).data, x.data @ weight.T + layer.bias.data, atol=1e-6)


def test_a_product_under_l2_becomes_sparse_where_a_plain_weight_only_shrinks():
    """min (w - 1)^2 / 2 + c |w| is at max(0, 1 - c): zero exactly, from c = 1 on."""
    a, b = (nn.Parameter(np.full(3, 0.9, np.float32)) for _ in range(2))
    target, c = Tensor([1.0, 0.3, -0.1]), 0.5
    optimizer = optim.SGD([a, b], lr=0.1)
    for _ in range(600):
        optimizer.zero_grad()
        (0.5 * ((a * b - target) ** 2).sum() + 0.5 * c * optim.l2_penalty([a, b])).backward()
        optimizer.step()
    np.testing.assert_allclose((a * b).detach().numpy(), [0.5, 0, 0], atol=1e-4)
