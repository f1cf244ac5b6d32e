"""Each ring can be missing: the rest imports nothing of it, names what is missing, and trains. See rings.py."""

import pytest

from tests.rings import run, without
from tinygrad_like import rings

TRAINING = """
import sys

import numpy as np

import tinygrad_like
from tinygrad_like import Tensor, nn, ops, optim, rings

ring, = sys.argv[1:]
rng = np.random.default_rng(0)
x, y = rng.standard_normal((512, 64)), rng.integers(0, 10, 512)
x[range(512), y] += 4
x, y = Tensor(x, dtype="float32"), Tensor(y)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1), nn.BatchNorm1d(32), nn.Linear(32, 10))
optimizer, losses = optim.Adam(model.parameters(), lr=1e-2), []
for _ in range(40):
    optimizer.zero_grad()
    loss = ops.cross_entropy(model(x), y)
    loss.backward()
    optim.clip_grad_norm(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 2, losses
assert not [name for name in sys.modules if f"{name}.".startswith(f"tinygrad_like.{ring}.")]
if ring == "kernels":
    assert not {"numba", "llvmlite"} & {*sys.modules}
exec("from tinygrad_like import *")
for name, place in rings.NAMES.items():
    if not rings.missing(place):
        getattr(tinygrad_like, name)
        continue
    for ask in lambda: getattr(tinygrad_like, name), lambda: exec(f"from tinygrad_like import {name}"):
        try:
            ask()
        except (AttributeError, ImportError) as error:
            assert f"tinygrad_like.{ring} is not installed here" in str(error), error
        else:
            raise AssertionError(name)
"""


@pytest.mark.parametrize("ring", rings.RINGS)
def test_the_rest_trains_without_a_ring(tmp_path, ring):
    if rings.missing(ring):
        pytest.skip("the ring is missing anyway")
    run(without(ring, folder=tmp_path / "tree"), "-W", "error", "-c", TRAINING, ring, check=True)


@pytest.mark.slow
@pytest.mark.needs("training", "data", "distributed")
def test_the_demo_trains_without_kernels(tmp_path):
    out = run(without("kernels", folder=tmp_path / "tree"), "-m", "demos.train", "--model", "mlp", "--data", "digits",
              "--epochs", "1", check=True, capture_output=True, text=True).stdout
    assert "test accuracy" in out
