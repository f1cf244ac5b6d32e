"""The steps of steps.py, with only their imports changed: captured as eager, and as in PyTorch."""

from pathlib import Path

import numpy as np
import pytest

import tinygrad_like
import tinygrad_like.distributions
from tests.compat.test_programs import load, ours, shared_noise

PATH = Path(__file__).with_name("steps.py")
SOURCE = PATH.read_text(encoding="utf-8")
NAMES = list(load(PATH, ours(SOURCE)).PROGRAMS)
COUNTING = "alibi"  # counts in Python, so it runs without capture and says so


@pytest.mark.filterwarnings("ignore:capture. step runs eagerly.*it changes")
@pytest.mark.parametrize("name", NAMES)
def test_a_captured_step_has_the_eager_losses(name):
    losses = []
    for kind in (lambda step: step, tinygrad_like.capture):
        tinygrad_like.manual_seed(0)
        step, inputs, _ = load(PATH, ours(SOURCE)).PROGRAMS[name]()
        step = kind(step)
        losses.append([step(*inputs).item() for _ in range(6)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4, atol=1e-6)
    assert losses[0][0] != losses[0][-1]
    assert ("calls of kernels" in str(step)) != (name == COUNTING)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch's own parts
@pytest.mark.parametrize("name", NAMES)
def test_a_steps_losses_equal_pytorchs(name, monkeypatch):
    torch = pytest.importorskip("torch")
    programs = []
    for lib, wrap, source in ((torch, torch.from_numpy, SOURCE), (tinygrad_like, tinygrad_like.tensor, ours(SOURCE))):
        torch.manual_seed(0)
        module = load(PATH, source)
        shared_noise(monkeypatch, lib, wrap, lib.distributions)
        programs.append(module.PROGRAMS[name]())
    (theirs, their_inputs, their_weights), (step, inputs, weights) = programs
    for mine, other in zip(weights, their_weights, strict=True):
        mine.data[...] = other.detach().numpy()
    found, expected = [], []
    for lib, wrap, run, given, losses in ((torch, torch.from_numpy, theirs, their_inputs, expected),
                                          (tinygrad_like, tinygrad_like.tensor, step, inputs, found)):
        shared_noise(monkeypatch, lib, wrap, lib.distributions)
        losses += [float(run(*given)) for _ in range(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-6)
