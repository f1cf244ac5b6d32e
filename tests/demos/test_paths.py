from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import lesion, paths
from tinygrad_like import Tensor, manual_seed, ops


def test_short_paths_carry_the_gradient(tmp_path, capsys):
    found, left = paths.main(["--blocks", "8", "--width", "32", "--epochs", "5", "--draws", "3",
                              "--out", str(tmp_path / "figure.png")])
    for values in found.values():
        assert values[:5].sum() > 0.9 * values.sum()
    assert left[0] > 0.85 and left[1] > 0.75 and left[0] - 0.1 > left[-1] and len(left) == 9
    printed = capsys.readouterr().out
    assert "256 paths through 8 blocks" in printed and "     4              70" in printed
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_lengths_add_up_to_the_gradient_and_are_sums_over_paths():
    manual_seed(0)
    model, x, y = lesion.residual(6, 4).double(), Tensor(np.random.default_rng(0).random((3, 64))), Tensor([1, 2, 3])
    parts = paths.gradient_by_length(model, x, y)
    z = model.project(x).detach().requires_grad_()
    inputs, h = [], z
    for block in model.units:
        inputs.append(h)
        h = block(h)
    ops.cross_entropy(model.head(h), y).backward()
    np.testing.assert_allclose(parts.sum(axis=0), z.grad.numpy(), rtol=1e-9, atol=1e-15)

    last = h.detach().requires_grad_()
    start, = ops.cross_entropy(model.head(last), y).gradient(last)
    total = 0.0
    for chosen in combinations(range(4), 2):  # each path of length 2, one by one
        v = start
        for i in reversed(chosen):
            at = inputs[i].detach().requires_grad_()
            v, = (model.units[i](at) - at).gradient(at, gradient=v)
        total = total + v.numpy()
    np.testing.assert_allclose(parts[2], total, rtol=1e-9, atol=1e-15)
