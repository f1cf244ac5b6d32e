"""What stands around the engine can be taken away: without kernels, the rest works in NumPy alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = "tinygrad_like", "nn", "optim", "demos", "tests", "pyproject.toml"
TRAINING = """
import sys

import numpy as np

from tinygrad_like import Tensor, capture, nn, ops, optim, training
from tinygrad_like.data import RandAugment

rng = np.random.default_rng(0)
x, y = rng.standard_normal((512, 64)), rng.integers(0, 10, 512)
x[range(512), y] += 4
x, y = Tensor(x, dtype="float32"), Tensor(y)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 10))
optimizer = optim.Adam(model.parameters(), lr=1e-2)


@capture
def step():
    optimizer.zero_grad()
    loss = ops.cross_entropy(model(x), y)
    loss.backward()
    optim.clip_grad_norm(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


losses = [step() for _ in range(40)]
assert losses[-1] < losses[0] / 2, losses
assert len({float(z) for z in Tensor.randn(1000).numpy()}) > 990
images = rng.random((4, 3, 8, 8), np.float32)
assert RandAugment()(images, rng).shape == images.shape
assert not {"numba", "llvmlite", "tinygrad_like.kernels"} & {*sys.modules}
"""
# Part of what tests ops and layers; those that try capture, or kernels themselves, cannot run.
TESTS = "tests/ops/test_gradients.py", "tests/ops/test_conv.py", "tests/nn/test_linear.py", "tests/nn/test_recurrent.py"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the project without kernels."""
    folder = tmp_path_factory.mktemp("tree")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, symlinks=True, ignore=lambda at, names: {
                "__pycache__", *["kernels"] * (Path(at) == ROOT / "tinygrad_like")})
        else:
            shutil.copy(ROOT / part, folder / part)
    return folder


def run(tree, *arguments):
    done = subprocess.run([sys.executable, *arguments], cwd=tree, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(tree)})
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.slow
def test_a_model_is_trained_without_kernels_and_without_numba(tree):
    run(tree, "-W", "error", "-c", TRAINING)


@pytest.mark.slow
def test_the_demo_trains_without_kernels(tree):
    assert "test accuracy" in run(tree, "-m", "demos.train", "--model", "mlp", "--data", "digits", "--epochs", "1")


@pytest.mark.slow
def test_tests_of_ops_and_layers_pass_without_kernels(tree):
    run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not captured", *TESTS)
