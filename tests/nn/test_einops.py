import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, gradcheck

pytest.importorskip("einops", reason="pip install 'tinygrad-like[einops]'")

from nn.einops import EinMix, Rearrange, Reduce, einsum, pack, rearrange, reduce, repeat, unpack  # noqa: E402

HERE = Path(__file__).parent


def test_einops_own_tests_pass():
    pytest.importorskip("einops.tests")
    done = subprocess.run([sys.executable, str(HERE / "einops_suite.py")], capture_output=True, text=True, cwd=HERE,
                          env={**os.environ, "PYTHONPATH": str(HERE.parent.parent)})
    assert done.returncode == 0, done.stdout + done.stderr
    used = done.stdout.rpartition("ours: ")[2].split()
    assert {"test_concatenations_and_stacking", "test_ellipsis_ops_imperative", "test_functional",
            "test_gradients_imperatives", "test_pack_unpack_against_numpy", "test_rearrange_imperative",
            "test_reduce_imperative", "test_reduction_imperatives", "test_repeat_imperatives",
            "test_tiling_imperatives"} <= set(used), used


def test_functions_are_differentiable():
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 6))
    assert gradcheck(lambda x: rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=3), x)
    assert gradcheck(lambda x: reduce(x, "b c (h 2) w -> b h c", "mean"), x)
    assert gradcheck(lambda x: repeat(x, "b c h w -> b (c 2) w h"), x)
    assert gradcheck(lambda a, b: einsum(a, b, "b c h w, w out -> b out h"), x, x[0, 0].T)
    both, shapes = pack([Tensor(x), Tensor(x[0])], "* h w")
    assert [y.shape for y in unpack(both, shapes, "* h w")] == [(2, 3, 4, 6), (3, 4, 6)]


def test_layers_in_a_model():
    patches = nn.Sequential(Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4), nn.Linear(32, 8),
                            EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=8, d=5),
                            Reduce("b t d -> b d", "mean"))
    x = Tensor.randn(3, 2, 8, 8)
    y = patches(x)
    assert y.shape == (3, 5)
    y.sum().backward()
    assert all(p.grad is not None for p in patches.parameters())
    assert "Rearrange('b c (h p) (w q) -> b (h w) (p q c)', p=4, q=4)" in repr(patches)
    for again in copy.deepcopy(patches), pickle.loads(pickle.dumps(patches)):
        assert np.array_equal(again(x).detach().numpy(), y.detach().numpy())


@pytest.mark.filterwarnings("ignore:EinMix. weight has no dimensions")
def test_einmix_has_the_shapes_and_sums_of_einops():
    from einops.tests.test_einsum import test_layer_cases

    for make, given, made in test_layer_cases:
        layer = make(EinMix).to("float64")
        x = np.random.default_rng(0).random(given)
        y = layer(Tensor(x)).detach().numpy()
        assert y.shape == made
        z = x if layer.before is None else rearrange(x, layer.before.pattern, **layer.before.axes_lengths)
        z = np.einsum(layer.einsum_pattern, z, layer.weight.detach().numpy())
        z = z if layer.bias is None else z + layer.bias.detach().numpy()
        np.testing.assert_allclose(y, z.reshape(made), atol=1e-12)
