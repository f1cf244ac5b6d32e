import numpy as np
import pytest

pytest.importorskip("matplotlib")

import nn
from demos import neural_ode
from tinygrad_like import Tensor


@pytest.mark.parametrize("options", [[], ["--method", "midpoint"], ["--adjoint"]])
def test_more_steps_come_closer_to_the_flow(tmp_path, capsys, options):
    found = neural_ode.main(["--points", "60", "--hidden", "8", "--steps", "4", "--updates", "100", *options,
                             "--out", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    table = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip().startswith("4 ")]
    assert float(table[0][1].rstrip("%")) > 80
    assert found["euler"][16] / found["euler"][64] == pytest.approx(4, rel=0.25), "the error is like 1 / n"
    assert found["midpoint"][16] / found["midpoint"][64] == pytest.approx(16, rel=0.5), "like 1 / n^2"
    assert found["rk4"][8] < found["midpoint"][8] < found["euler"][8]


def test_the_path_is_eulers_method():
    flow = nn.NeuralODE(neural_ode.Field(2, 8), 3, "euler")
    x = Tensor.randn(5, 2)
    z = x
    for i in range(3):
        z = z + flow.f(z, i / 3) / 3
    found = neural_ode.path(flow, x)
    assert len(found) == 4
    np.testing.assert_allclose(found[-1], z.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert len(list(flow.parameters())) == 6, "one f for all steps"
