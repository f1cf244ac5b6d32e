import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import gradient_depth
from tinygrad_like import Tensor, manual_seed, ops


def test_gradients_reach_the_first_block_only_past_skips(tmp_path, capsys):
    norms = gradient_depth.main(["--blocks", "2", "16", "--out", str(tmp_path / "figure.png")])
    assert "picture:" in capsys.readouterr().out
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert {key: len(values) for key, values in norms.items()} == {
        (kind, depth): depth for kind in gradient_depth.KINDS for depth in (2, 16)}
    reach = {key: values[0] / values[-1] for key, values in norms.items()}
    assert reach["plain", 16] < 1e-6 < 0.5 < reach["residual", 16]
    assert reach["scaled", 16] == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("kind", gradient_depth.KINDS)
def test_gradient_norms_are_those_of_the_blocks_outputs(kind):
    manual_seed(0)
    model = gradient_depth.build(kind, 3, 8, "kaiming")
    x, y = Tensor.randn(5, 64), Tensor(np.arange(5))
    z, outputs = model.project(x), []
    for block in model.blocks:
        z = block(z)
        z.retain_grad()
        outputs.append(z)
    ops.cross_entropy(model.head(z), y).backward()
    expected = [np.linalg.norm(z.grad.numpy()) for z in outputs]
    np.testing.assert_allclose(gradient_depth.gradient_norms(model, x, y), expected, rtol=1e-4)
