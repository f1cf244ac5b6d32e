import numpy as np
import pytest

pytest.importorskip("matplotlib")

import nn
from demos import neural_ode
from tinygrad_like import Tensor


def test_more_blocks_come_closer_to_the_flow(tmp_path, capsys):
    found = neural_ode.main(["--points", "60", "--hidden", "8", "--steps", "4", "--updates", "150",
                             "--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "128 blocks" in capsys.readouterr().out
    assert found[4][0] > 0.8
    assert found[128][1] < found[16][1] < found[2][1]
    assert found[16][1] / found[64][1] == pytest.approx(4, rel=0.25), "the error of Euler's method is like 1 / n"


def test_flow_is_eulers_method():
    flow = neural_ode.Flow(2, 8, 3)
    x = Tensor.randn(5, 2)
    z = x
    for _ in range(3):
        z = z + flow.f(z) / 3
    np.testing.assert_allclose(flow(x).numpy(), z.numpy(), rtol=1e-5, atol=1e-6)
    assert len(list(flow.parameters())) == 6, "one f for all steps"


def test_flow_of_a_linear_equation():
    """dz/dt = -z from 1 gives (1 - 1/n)^n after n steps, and 1/e in the limit."""
    flow = neural_ode.Flow(1, 4, 1000)
    flow.f = nn.Linear(1, 1, bias=False)
    flow.f.weight.assign(-np.ones((1, 1), np.float32))
    assert flow(Tensor([[1.0]])).item() == pytest.approx(np.exp(-1), rel=1e-3)
