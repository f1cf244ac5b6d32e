"""Softmax, its relatives and cross-entropy against their plain reading in float64."""

import numpy as np
import pytest

from tinygrad_like.kernels import softmax as k

SHAPES = [(1, 1), (5, 10), (130, 10), (2000, 10), (300, 65), (100, 256), (40, 1000), (3, 5000), (4, 3, 50)]


def random(*shape, seed=0, scale=3.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def log_softmax(x):
    z = x.astype(np.float64) - x.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_and_relatives(shape):
    x, g = random(*shape), random(*shape, seed=1, scale=1)
    log_p = log_softmax(x)
    p = np.exp(log_p)
    for _ in range(2):  # the first call of all is one task, whatever the size
        y, log_y = k.softmax(x), k.log_softmax(x)
        np.testing.assert_allclose(y, p, rtol=3e-6, atol=1e-9)
        np.testing.assert_allclose(log_y, log_p, rtol=2e-6, atol=2e-6)
        np.testing.assert_allclose(k.logsumexp(x), np.log(np.exp(x.astype(np.float64)).sum(-1)), rtol=2e-6, atol=1e-6)
        np.testing.assert_allclose(k.softmax_backward(g, y), p * (g - (g * p).sum(-1, keepdims=True)), atol=3e-6)
        expected = g - p * g.sum(-1, keepdims=True, dtype=np.float64)
        np.testing.assert_allclose(k.log_softmax_backward(g, log_y), expected, atol=1e-5 * max(1, abs(expected).max()))


@pytest.mark.parametrize("n", [10, 300])
def test_softmax_of_huge_and_masked_logits(n):
    x = random(50, n)
    huge = x + np.float32(8192)
    np.testing.assert_allclose(k.softmax(huge), k.softmax(huge - np.float32(8192)), rtol=1e-6)
    x[:, ::3] = -np.inf
    y = k.softmax(x)
    assert (y[:, ::3] == 0).all()
    np.testing.assert_allclose(y.sum(-1), 1, rtol=1e-5)
    np.testing.assert_array_equal(k.log_softmax(x)[:, ::3], -np.inf)
    x[0], x[1, 1] = -np.inf, np.nan
    y = k.softmax(x)
    assert np.isnan(y[:2]).all() and np.isfinite(y[2:]).all()
    assert k.logsumexp(x)[0] == -np.inf


def plain_cross_entropy(x, labels, weight, ignore_index, smoothing):
    rows, classes = x.shape
    w = np.ones(classes) if weight is None else weight.astype(np.float64)
    valid = labels != ignore_index
    q = w * ((1 - smoothing) * np.eye(classes)[np.where(valid, labels, 0)] + smoothing / classes) * valid[:, None]
    log_p = log_softmax(x)
    return -(q * log_p).sum(-1), q.sum(-1, keepdims=True) * np.exp(log_p) - q, w[labels[valid]].sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignore_index", [-100, 2])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (130, 10), (2000, 10), (60, 300)])
def test_cross_entropy(shape, ignore_index, weighted, smoothing):
    rng = np.random.default_rng(0)
    rows, classes = shape
    x, labels = random(*shape), rng.integers(0, classes, rows)
    labels[rng.random(rows) < 0.2] = ignore_index
    weight = rng.uniform(0.5, 2, classes).astype(np.float32) if weighted else None
    losses, gradient, divisor = plain_cross_entropy(x, labels, weight, ignore_index, smoothing)
    g = random(rows, seed=2, scale=1)
    for _ in range(2):
        y, stats, total, weights = k.cross_entropy(x, labels, weight, ignore_index, smoothing)
        np.testing.assert_allclose(y, losses, rtol=3e-6, atol=3e-6)
        np.testing.assert_allclose([total, weights], [losses.sum(), divisor], rtol=3e-6, atol=1e-6)
        options = (x, labels, stats, weight, ignore_index, smoothing)
        np.testing.assert_allclose(k.cross_entropy_backward(g, *options), g[:, None] * gradient, rtol=1e-5, atol=3e-6)
        one = k.cross_entropy_backward(np.ones(1, np.float32), *options, scale=0.5)
        np.testing.assert_allclose(one, 0.5 * gradient, rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_cross_entropy_of_huge_logits_keeps_its_digits(smoothing):
    x = random(40, 10) + np.float32(30_000)
    labels = np.arange(40) % 10
    losses, gradient, _ = plain_cross_entropy(x, labels, None, -100, smoothing)
    y, stats, *_ = k.cross_entropy(x, labels, label_smoothing=smoothing)
    np.testing.assert_allclose(y, losses, rtol=1e-5)
    np.testing.assert_allclose(k.cross_entropy_backward(np.ones(1, np.float32), x, labels, stats,
                                                        label_smoothing=smoothing), gradient, atol=1e-6)


def test_cross_entropy_of_masked_classes_and_ignored_rows():
    x, labels = random(6, 4), np.array([0, 1, 2, 0, 1, -1])
    x[:, 3], x[5] = -np.inf, np.nan
    weight = np.array([1, 1, 1, 0], np.float32)
    for smoothing in (0.0, 0.1):
        losses, stats, total, _ = k.cross_entropy(x, labels, weight, -1, smoothing)
        assert np.isfinite(losses).all() and losses[5] == 0 and np.isfinite(total)
        dx = k.cross_entropy_backward(np.ones(1, np.float32), x, labels, stats, weight, -1, smoothing)
        assert np.isfinite(dx).all() and (dx[5] == 0).all() and (dx[:, 3] == 0).all()


@pytest.mark.parametrize("rows", [20, 3000])
@pytest.mark.parametrize("label", [-1, 10])
def test_a_label_out_of_range_is_an_error(rows, label):
    labels = np.zeros(rows, np.int32)
    labels[rows // 3] = label
    for _ in range(2):
        with pytest.raises(IndexError, match=rf"label {label} is out of range for 10 classes \(0 to 9\)"):
            k.cross_entropy(random(rows, 10), labels)


def test_empty_rows_and_batches():
    assert k.softmax(np.empty((0, 3), np.float32)).shape == (0, 3)
    with pytest.raises(ValueError, match=r"last axis of shape \(3, 0\) is empty"):
        k.softmax(np.empty((3, 0), np.float32))
    losses, stats, total, weights = k.cross_entropy(np.empty((0, 3), np.float32), np.empty(0, np.int64))
    assert losses.shape == (0,) and (total, weights) == (0, 0)


def test_a_cotangent_of_another_shape_is_refused():
    y = k.softmax(random(3, 5))
    with pytest.raises(ValueError, match=r"shape \(5,\).*\(3, 5\)"):
        k.softmax_backward(y[0], y)


def test_out_receives_the_result():
    x, out = random(300, 65), np.empty((300, 65), np.float32)
    for function in (k.softmax, k.log_softmax, lambda x, out: k.softmax_backward(x, x, out)):
        expected = function(x, None)
        assert function(x, out) is out
        np.testing.assert_array_equal(out, expected)
