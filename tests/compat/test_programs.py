"""Programs written for PyTorch run here with only their import lines changed, and have the same losses."""

import re
import types
from pathlib import Path

import numpy as np
import pytest

import tinygrad_like
import tinygrad_like.distributions

PROGRAMS = sorted((Path(__file__).resolve().parents[2] / "docs" / "programs").glob("*.py"))
MODULES = {"torch": "tinygrad_like", "torch.nn": "nn", "torch.nn.functional": "nn.functional", "torch.optim": "optim",
           "torch.distributions": "tinygrad_like.distributions", "torch.autograd": "tinygrad_like.autograd",
           "torch.func": "tinygrad_like.func", "torch.nn.utils": "nn.utils", "torch.utils.data": "tinygrad_like.data",
           "torch.amp": "tinygrad_like.amp", "torch.utils.checkpoint": "tinygrad_like.utils.checkpoint"}


def ours(source):
    """The program, with other modules in its import lines."""
    source = re.sub(r"^import torch$", "import tinygrad_like as torch", source, flags=re.M)
    return re.sub(r"^(import|from) (torch[\w.]*)(?= (as|import) )", lambda m: f"{m[1]} {MODULES[m[2]]}", source,
                  flags=re.M)


def load(path, source):
    module = types.ModuleType(path.stem)
    exec(compile(source, str(path), "exec"), vars(module))
    return module


def shared_noise(monkeypatch, lib, wrap, distributions):
    """Have a library draw its random numbers from one NumPy generator, so that both draw the same."""
    rng = np.random.default_rng(5)

    def shaped(draw):
        def make(*size, **options):
            size = tuple(size[0]) if len(size) == 1 and isinstance(size[0], tuple | list) else size
            return wrap(draw(size).astype(np.float32))

        return make

    normal, uniform = shaped(rng.standard_normal), shaped(rng.random)
    for name, f in (("randn", normal), ("rand", uniform), ("randn_like", lambda x, **options: normal(tuple(x.shape))),
                    ("rand_like", lambda x, **options: uniform(tuple(x.shape))),
                    ("randperm", lambda n: wrap(rng.permutation(n))),
                    ("randint", lambda *args, **options: wrap(rng.integers(0, args[-2], args[-1])))):
        monkeypatch.setattr(lib, name, f, raising=False)

    def sample(self):
        sums = np.cumsum(np.asarray(self.probs.detach().tolist()))
        return wrap(np.asarray(np.searchsorted(sums / sums[-1], rng.random())))

    monkeypatch.setattr(distributions.Categorical, "sample", sample)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs(path):
    """With its own random numbers; its losses are finite."""
    program = load(path, ours(path.read_text()))
    losses = program.train(program.build())
    assert len(losses) > 5 and np.isfinite(losses).all()


@pytest.mark.torch
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_programs_losses_equal_pytorchs(path, monkeypatch):
    torch = pytest.importorskip("torch")
    theirs, here = load(path, path.read_text()), load(path, ours(path.read_text()))
    torch.manual_seed(0)
    modules = {"theirs": theirs.build(), "ours": here.build()}
    for name, module in modules["theirs"].items():
        modules["ours"][name].load_state_dict({k: v.detach().numpy() for k, v in module.state_dict().items()})
    shared_noise(monkeypatch, torch, torch.from_numpy, torch.distributions)
    expected = theirs.train(modules["theirs"])
    shared_noise(monkeypatch, tinygrad_like, tinygrad_like.tensor, tinygrad_like.distributions)
    found = here.train(modules["ours"])
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(found[:5], expected[:5], rtol=1e-4, atol=1e-5)
