"""The steps of steps.py and more_steps.py, with nothing changed but imports: captured as eager, and as in PyTorch."""

from pathlib import Path

import numpy as np
import pytest

import tinygrad_like
import tinygrad_like.distributions
from tests.compat.test_programs import load, ours, shared_noise

SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*steps.py"))
           if not path.name.startswith("test")}
PATHS = {name: path for path, source in SOURCES.items() for name in load(path, ours(source)).PROGRAMS}


COUNT = "alibi",  # which counts in Python, and so runs as it is, and says so


@pytest.mark.filterwarnings("ignore:capture. step runs without capture.*is changed by the function itself")
@pytest.mark.parametrize("name", PATHS)
def test_captured_it_loses_as_without(name):
    losses = []
    for kind in (lambda step: step, tinygrad_like.capture):
        tinygrad_like.manual_seed(0)
        step, inputs, _ = load(PATHS[name], ours(SOURCES[PATHS[name]])).PROGRAMS[name]()
        step = kind(step)
        losses.append([step(*inputs).item() for _ in range(6)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4, atol=1e-6)
    assert losses[0][0] != losses[0][-1]
    assert ("calls of kernels" in str(step)) != (name in COUNT)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch's own parts
@pytest.mark.parametrize("name", PATHS)
def test_losses_are_pytorchs(name, monkeypatch):
    torch = pytest.importorskip("torch")
    programs = []
    text = SOURCES[PATHS[name]]
    for lib, wrap, source in ((torch, torch.from_numpy, text), (tinygrad_like, tinygrad_like.tensor, ours(text))):
        torch.manual_seed(0)
        module = load(PATHS[name], source)
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
