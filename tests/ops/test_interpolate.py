"""The elements that interpolation reads: odd sizes and factors, unchanged sizes, integers."""


import numpy as np
import pytest

from tinygrad_like import Tensor, ops

FACTORS = [0.3, 1 / 3, 0.37, 0.5, 0.6, 2 / 3, 0.7, 0.9, 1.0, 1.05, 1.1, 1.2, 1.3, 4 / 3, 1.5, 1.7, 2, 2.3, 2.7, 3, 3.1]


def places(n, **options):
    x = Tensor(np.arange(n, dtype=np.float32).reshape(1, 1, n))
    return ops.interpolate(x, **options).numpy().astype(int)[0, 0].tolist()


@pytest.mark.parametrize(("n", "options", "expected"), [
    (5, {"scale_factor": 1.1}, [0, 0, 1, 2, 3]), (3, {"scale_factor": 1.0}, [0, 1, 2]),
    (3, {"scale_factor": 2.5}, [0, 0, 0, 1, 1, 2, 2]), (4, {"scale_factor": 0.7}, [0, 1]),
    (3, {"size": 3}, [0, 1, 2]), (2, {"size": 6}, [0, 0, 0, 1, 1, 1]), (6, {"size": 4}, [0, 1, 3, 4]),
    (5, {"scale_factor": 1.1, "mode": "nearest-exact"}, [0, 1, 2, 3, 4]),
    (5, {"scale_factor": 1.19, "mode": "nearest-exact"}, [0, 1, 2, 2, 3]),
    (5, {"scale_factor": 1.1, "recompute_scale_factor": True}, [0, 1, 2, 3, 4])])
def test_nearest_reads_these_elements(n, options, expected):
    assert places(n, **options) == expected


def test_nearest_rounds_in_float32_as_pytorch_does():
    assert places(30, size=22)[11] == 15  # 14.999999999999998 in float64


@pytest.mark.parametrize("mode", ["linear", "bilinear", "trilinear", "bicubic", "area"])
def test_a_factor_may_leave_the_size_unchanged(mode):
    rank = {"linear": 1, "trilinear": 3}.get(mode, 2)
    x = Tensor(np.random.default_rng(0).standard_normal((2, 3, *(5,) * rank), np.float32))
    y = ops.interpolate(x, scale_factor=1.1, mode=mode)
    assert y.shape == x.shape and (np.array_equal(y.numpy(), x.numpy()) == (mode != "bicubic"))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "area"])
@pytest.mark.parametrize("rank", [1, 3])
def test_an_unchanged_size_returns_a_copy(mode, rank):
    x = Tensor(np.ones((1, 2, *(3,) * rank)))
    y = ops.interpolate(x, size=3, mode=mode)
    y += 1
    assert (x == 1).all() and (y == 2).all()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_nearest_keeps_integers_and_other_modes_refuse_them(dtype):
    x = Tensor(np.arange(12).reshape(1, 1, 3, 4), dtype=dtype)
    for mode in "nearest", "nearest-exact":
        for size in (6, 8), (5, 3):
            y = ops.interpolate(x, size, mode=mode)
            assert y.dtype == dtype and y.tolist() == ops.interpolate(x.float(), size, mode=mode).int().tolist()
    with pytest.raises(TypeError, match="interpolate: x must be floating point, got .*; cast with"):
        ops.interpolate(x, (6, 8), mode="bilinear")


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_of_every_size_equals_pytorchs(mode):
    import torch
    import torch.nn.functional as F

    for n in range(1, 48):
        x = np.arange(4 * n * 3, dtype=np.float32).reshape(1, 4, n, 3)
        for m in range(1, 48):
            theirs = F.interpolate(torch.from_numpy(x), (m, 2), mode=mode).numpy()
            np.testing.assert_array_equal(ops.interpolate(Tensor(x), (m, 2), mode=mode).numpy(), theirs, f"{n} {m}")
        line = x[..., 0].copy()
        for factor in FACTORS:
            if n * factor >= 1:
                theirs = F.interpolate(torch.from_numpy(line), scale_factor=factor, mode=mode).numpy()
                np.testing.assert_array_equal(ops.interpolate(Tensor(line), scale_factor=factor, mode=mode).numpy(),
                                              theirs, f"{n} {factor}")
