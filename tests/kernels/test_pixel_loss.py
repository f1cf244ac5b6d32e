"""Cross-entropy of columns against that of rows."""

import numpy as np
import pytest

from tinygrad_like.kernels.softmax import cross_entropy, cross_entropy_vjp


def turned(x):
    """Classes last."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)).reshape(-1, x.shape[1])


@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("shape", [(2, 4, 50, 60), (3, 10, 700), (1, 3, 1), (2, 300, 40)])
def test_columns_are_what_rows_are(shape, soft, smoothing, reduction):
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal(shape, np.float32) * 3, rng.random(shape[1], np.float32)
    target = rng.random(shape, np.float32) if soft else rng.integers(-1, shape[1], (shape[0], *shape[2:]))
    x.flat[::17], x[0, :, 0] = -np.inf, 0
    g = rng.random((shape[0], *shape[2:]) if reduction == "none" else (), np.float32)
    options = {"ignore_index": -1, "reduction": reduction, "label_smoothing": smoothing}
    loss, kept = cross_entropy(x, target, weight, **options)
    there = turned(target) if soft else target.ravel()
    expected, kept_there = cross_entropy(turned(x), there, weight, **options)
    np.testing.assert_allclose(loss.ravel(), expected.ravel(), rtol=1e-5, atol=1e-6)
    assert loss.shape == g.shape
    last = -1, reduction, smoothing
    dx = cross_entropy_vjp(x, g, target, weight, kept["stats"], kept["totals"], *last)
    there = cross_entropy_vjp(turned(x), g.ravel() if g.ndim else g, there, weight, kept_there["stats"],
                              kept_there["totals"], *last)
    np.testing.assert_allclose(turned(dx), there, rtol=1e-4, atol=1e-6)


def test_a_label_out_of_range_is_an_error():
    x, labels = np.zeros((2, 3, 40), np.float32), np.zeros((2, 40), np.int64)
    labels[1, 7] = 3
    with pytest.raises(IndexError, match="label 3 is out of range for 3 classes"):
        cross_entropy(x, labels)
