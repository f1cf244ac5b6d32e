"""Softmax, its relatives and cross-entropy against plain NumPy in float64."""

import numpy as np
import pytest

from tinygrad_like.kernels import cross_entropy as ce
from tinygrad_like.kernels import softmax as k


def random(*shape, seed=0, scale=3.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def log_softmax(x):
    z = x.astype(np.float64) - x.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


@pytest.mark.parametrize("n", [10, 300])
def test_softmax_takes_huge_and_masked_logits(n):
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


@pytest.mark.parametrize("shape, axis", [((5, 1, 7), 1), ((200, 3), 0), ((2, 130, 700), 1), ((3, 300, 5), -2),
                                         ((70, 4, 3), 0), ((4, 65), -2)])
def test_softmax_of_columns_equals_that_of_rows(shape, axis):
    x, g = random(*shape), random(*shape, seed=1, scale=1)
    x[-1, 0, 0 if len(shape) == 3 else ...] = np.inf
    x[0, :, 0 if len(shape) == 3 else ...] = -np.inf
    x[(1, 0, -1)[: len(shape)]] = np.nan
    rows, g_rows = (np.ascontiguousarray(np.moveaxis(a, axis, -1)) for a in (x, g))
    for name in "softmax", "log_softmax":
        y = getattr(k, name)(x, axis=axis)
        expected = getattr(k, name)(rows)
        np.testing.assert_allclose(np.moveaxis(y, axis, -1), expected, rtol=1e-6, atol=1e-6)
        dx, expected = getattr(k, f"{name}_vjp")(g, y, axis=axis), getattr(k, f"{name}_vjp")(g_rows, expected)
        np.testing.assert_allclose(np.moveaxis(dx, axis, -1), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape, over", [((5, 1, 7), (1,)), ((200, 3), (0,)), ((2, 130, 700), (1,)), ((40, 5000), (1,)),
                                         ((3, 20, 50), (1, 2)), ((6, 5, 4, 3), (0, 2)), ((60, 4), (0, 1))])
def test_logsumexp_over_any_axes_equals_numpys(shape, over):
    x, special = random(*shape), random(*shape)
    special.flat[0], special.flat[-1], special[1, 0] = np.inf, np.nan, -np.inf
    for a in x, special:
        with np.errstate(all="ignore"):
            top = a.max(over, keepdims=True).astype(float)
            top[~np.isfinite(top)] = 0
            total = np.exp(a - top).sum(over, keepdims=True)
            y = k.logsumexp_over(a, over)
            np.testing.assert_allclose(y, np.log(total) + top, rtol=1e-6, atol=1e-6)
            g, p = random(*y.shape, seed=1), np.exp(a.astype(float) - y)
            p /= np.where(y == np.inf, 1, p.sum(over, keepdims=True))
            np.testing.assert_allclose(k.logsumexp_vjp(a, y, g, over=over), g * p, rtol=1e-5, atol=1e-6)


def plain_cross_entropy(x, t, weight, ignore_index, smoothing):
    """The losses, their gradients, and the divisor of a mean."""
    rows, classes = x.shape
    w, valid, divisor = np.ones(classes) if weight is None else weight.astype(np.float64), np.ones(rows, bool), rows
    if t.dtype.kind != "f":
        valid = t != ignore_index
        divisor, t = w[t[valid]].sum(), np.eye(classes)[np.where(valid, t, 0)]
    q = w * ((1 - smoothing) * t + smoothing / classes) * valid[:, None]
    log_p = log_softmax(x)
    return -(q * log_p).sum(-1), q.sum(-1, keepdims=True) * np.exp(log_p) - q, divisor


def vjp(x, g, target, residuals, weight=None, ignore_index=-100, reduction="none", smoothing=0.0):
    wanted = True, False, False
    return ce.cross_entropy_vjp(g, wanted, x, target, weight, ignore_index, reduction, smoothing, residuals)[0]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("target", [-100, 2, "probabilities"])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (130, 10), (2000, 10), (60, 300), (9, 2500)])
def test_cross_entropy_equals_its_definition(shape, target, weighted, smoothing):
    rng = np.random.default_rng(0)
    rows, classes = shape
    x, labels, ignore_index = random(*shape), rng.integers(0, classes, rows), -100
    if target == "probabilities":
        labels = rng.dirichlet(np.ones(classes), rows).astype(np.float32)
    else:
        ignore_index = target
        labels[rng.random(rows) < 0.2] = ignore_index
    weight = rng.uniform(0.5, 2, classes).astype(np.float32) if weighted else None
    losses, gradient, divisor = plain_cross_entropy(x, labels, weight, ignore_index, smoothing)
    for reduction, expected in ("none", losses), ("sum", losses.sum()), ("mean", losses.sum() / divisor):
        y, kept = ce.cross_entropy(x, labels, weight, ignore_index=ignore_index, reduction=reduction,
                                  label_smoothing=smoothing)
        np.testing.assert_allclose(y, expected, rtol=3e-6, atol=3e-6)
        g = random(rows, seed=2, scale=1) if reduction == "none" else np.array(0.5, np.float32)
        expected = (g[:, None] if g.ndim else g) * gradient / (divisor if reduction == "mean" else 1)
        found = vjp(x, g, labels, kept, weight, ignore_index, reduction, smoothing)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_cross_entropy_of_huge_logits_keeps_its_digits(smoothing):
    x = random(40, 10) + np.float32(30_000)
    labels = np.arange(40) % 10
    for target in labels, np.eye(10, dtype=np.float32)[labels]:
        losses, gradient, _ = plain_cross_entropy(x, target, None, -100, smoothing)
        y, kept = ce.cross_entropy(x, target, reduction="none", label_smoothing=smoothing)
        np.testing.assert_allclose(y, losses, rtol=1e-5)
        dx = vjp(x, np.ones(1, np.float32), target, kept, smoothing=smoothing)
        np.testing.assert_allclose(dx, gradient, atol=1e-6)


def test_cross_entropy_of_masked_classes_and_ignored_rows_is_finite():
    x, labels = random(6, 4), np.array([0, 1, 2, 0, 1, -1])
    x[:, 3], x[5] = -np.inf, np.nan
    weight = np.array([1, 1, 1, 0], np.float32)
    for smoothing in (0.0, 0.1):
        losses, kept = ce.cross_entropy(x, labels, weight, ignore_index=-1, reduction="none", label_smoothing=smoothing)
        assert np.isfinite(losses).all() and losses[5] == 0
        assert np.isfinite(ce.cross_entropy(x, labels, weight, ignore_index=-1, label_smoothing=smoothing)[0])
        dx = vjp(x, np.ones(1, np.float32), labels, kept, weight, -1, smoothing=smoothing)
        assert np.isfinite(dx).all() and (dx[5] == 0).all() and (dx[:, 3] == 0).all()


@pytest.mark.parametrize("rows", [20, 3000])
@pytest.mark.parametrize("label", [-1, 10])
def test_a_label_out_of_range_raises(rows, label):
    labels = np.zeros(rows, np.int32)
    labels[rows // 3], labels[rows // 2] = label, 12
    for _ in range(2):
        with pytest.raises(IndexError, match=rf"label {label} is out of range for 10 classes \(0 to 9\)"):
            ce.cross_entropy(random(rows, 10), labels)
    x, kept = random(rows, 10), ce.cross_entropy(random(rows, 10), np.zeros(rows, int))[1]
    with pytest.raises(IndexError, match="is out of range for 10 classes"):  # it was in range at forward
        vjp(x, np.ones(1, np.float32), labels, kept)
    assert np.isfinite(vjp(x, np.ones(1, np.float32), np.zeros(rows, int), kept)).all()


def classes_last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)).reshape(-1, x.shape[1])


@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("shape", [(2, 4, 50, 60), (3, 10, 700), (1, 3, 1), (2, 300, 40)])
def test_cross_entropy_of_columns_equals_that_of_rows(shape, soft, smoothing, reduction):
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal(shape, np.float32) * 3, rng.random(shape[1], np.float32)
    target = rng.random(shape, np.float32) if soft else rng.integers(-1, shape[1], (shape[0], *shape[2:]))
    x.flat[::17], x[0, :, 0] = -np.inf, 0
    g = rng.random((shape[0], *shape[2:]) if reduction == "none" else (), np.float32)
    options = {"ignore_index": -1, "reduction": reduction, "label_smoothing": smoothing}
    loss, kept = ce.cross_entropy(x, target, weight, **options)
    there = classes_last(target) if soft else target.ravel()
    expected, kept_there = ce.cross_entropy(classes_last(x), there, weight, **options)
    np.testing.assert_allclose(loss.ravel(), expected.ravel(), rtol=1e-5, atol=1e-6)
    assert loss.shape == g.shape
    last = weight, -1, reduction, smoothing
    dx = vjp(x, g, target, kept, *last)
    there = vjp(classes_last(x), g.ravel() if g.ndim else g, there, kept_there, *last)
    np.testing.assert_allclose(classes_last(dx), there, rtol=1e-4, atol=1e-6)


def test_batches_may_be_empty():
    assert k.softmax(np.empty((0, 3), np.float32)).shape == (0, 3)
    losses, _ = ce.cross_entropy(np.empty((0, 3), np.float32), np.empty(0, np.int64), reduction="none")
    assert losses.shape == (0,) and ce.cross_entropy(np.empty((0, 3), np.float32), np.empty(0, np.int64),
                                                    reduction="sum")[0] == 0


def test_arrays_of_other_shapes_and_dtypes_are_left_to_numpy_or_refused():
    y = k.softmax(random(3, 5))
    for g in y[0], y[:, :1], y.T, y.astype(np.float64):
        assert k.softmax_vjp(y, g) is NotImplemented
    assert k.softmax(y, axis=2) is NotImplemented is k.log_softmax(y, axis=-3)
    for labels, weight in ((np.zeros(4, int), None), (np.zeros(3, int), random(4)), (random(3, 4), None)):
        with pytest.raises(ValueError, match="cross entropy: arrays do not fit"):
            ce.cross_entropy(random(3, 5), labels, weight)
    assert ce.cross_entropy(y, y.astype(np.float64)) is NotImplemented
    kept = ce.cross_entropy(y, np.zeros(3, int))[1]
    with pytest.raises(ValueError, match="cross entropy vjp: arrays do not fit"):
        vjp(y, random(2), np.zeros(3, int), kept)


@pytest.mark.parametrize("n", [3, 4, 5, 7, 8, 300])
def test_sums_do_not_depend_on_where_the_result_lies(n):
    room, x, y = np.empty(8 * n + 16, np.float32), random(4, n), np.float32([[1.0], [0.5], [2.0], [0.0]])
    found = set()
    for gap in (0, 1, 4, 8, 16):
        close, dx = [room[i : i + 4 * n].reshape(4, n) for i in (0, 4 * n + gap)]
        close[...] = x
        k._logsumexp_vjp(y, close, y, n, dx)
        found.add(dx.tobytes())
    assert len(found) == 1
