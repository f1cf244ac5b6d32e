import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import gradient_depth
from tinygrad_like import Tensor, manual_seed, ops


def test_gradients_reach_the_first_block_only_past_skips(tmp_path, capsys):
    found = gradient_depth.main(["--blocks", "2", "16", "--width", "32", "--out", str(tmp_path / "figure.png")])
    printed = capsys.readouterr().out
    assert printed.count("\n") == 15 and "picture:" in printed
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    reach = {key: values[0][0] / values[0][-1] for key, values in found.items()}
    for depth in (2, 16):
        assert all(found[kind, depth].shape == (2, depth) for kind in gradient_depth.KINDS)
    assert reach["plain", 16] < 1e-6 and all(0.3 < reach[kind, 16] < 20 for kind in gradient_depth.KINDS
                                             if kind != "plain")
    assert reach["scaled", 16] == pytest.approx(1, abs=0.3)
    variance = {kind: found[kind, 16][1] for kind in gradient_depth.KINDS}
    for kind in ("post-norm", "sandwich"):
        np.testing.assert_allclose(variance[kind], 1, atol=1e-3)
    assert variance["pre-norm"][-1] > 2 * variance["pre-norm"][0]


def test_weights_that_suit_the_activation_keep_gradients(tmp_path):
    found = gradient_depth.main(["--blocks", "12", "--width", "32", "--out", str(tmp_path / "figure.png")])
    reach = {key: gradient_depth.reach(found[key][0]) for key in found}
    assert reach["relu", "kaiming"] > 0.03 > reach["relu", "xavier"] > 1e-6 > reach["relu", "default"]
    assert reach["tanh", "xavier"] > 0.03 > 1e-3 > reach["tanh", "default"]
    assert max(reach["sigmoid", init] for init in gradient_depth.INITS) < 1e-9


@pytest.mark.parametrize("kind", gradient_depth.KINDS)
def test_gradients_and_variances_are_those_of_the_blocks_outputs(kind):
    manual_seed(0)
    model = gradient_depth.build(kind, 3, 8, "kaiming")
    x, y = Tensor(np.random.default_rng(0).standard_normal((5, 64))), Tensor(np.arange(5))
    z, outputs = model.project(x), []
    for block in model.blocks:
        z = block(z)
        z.retain_grad()
        outputs.append(z)
    ops.cross_entropy(model.head(z), y).backward()
    gradient, variance = gradient_depth.measure(model, x, y)
    np.testing.assert_allclose(gradient, [np.linalg.norm(z.grad.numpy()) for z in outputs], rtol=1e-9)
    np.testing.assert_allclose(variance, [z.detach().numpy().var() for z in outputs], rtol=1e-9)
