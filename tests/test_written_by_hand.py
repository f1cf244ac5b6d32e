"""The programs of benchmarks/programs take the same steps here and in PyTorch."""

import numpy as np
import pytest

from benchmarks.programs import programs

torch = pytest.importorskip("torch")


@pytest.mark.torch
@pytest.mark.parametrize("name", list(programs()))
def test_losses_and_weights_are_pytorchs(name):
    program = programs()[name]
    ours, our_inputs, our_weights = program.make("ours")
    theirs, their_inputs, their_weights = program.make("torch")
    before = {name: w.detach().numpy().copy() for name, w in our_weights.items()}
    for i in range(4):
        assert ours(*our_inputs).item() == pytest.approx(theirs(*their_inputs).item(), rel=1e-4, abs=1e-5), f"step {i}"
    for name, w in our_weights.items():
        assert (w.detach().numpy() != before[name]).any(), f"{name} does not learn"
        w, expected = w.detach().numpy(), their_weights[name].detach().numpy()
        # Adam's step keeps its size if a gradient is nearly zero, and rounding decides the sign.
        assert w == pytest.approx(expected, rel=1e-4, abs=1e-3), name
        assert (~np.isclose(w, expected, rtol=1e-4, atol=1e-4)).mean() < 1e-3, name
