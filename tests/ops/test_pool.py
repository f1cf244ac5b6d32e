"""Pooling of any configuration against its definition, window by window; NaN, ties, integers, index dtypes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tinygrad_like import Tensor, ops

quick = settings(max_examples=100, deadline=None, derandomize=True, database=None)


def positions(n, kernel, stride, padding, dilation=1, ceil_mode=False):
    """The positions of each window's taps on an axis of n elements, padding included (PyTorch's documentation)."""
    steps = (n + 2 * padding - dilation * (kernel - 1) - 1) / stride
    count = (math.ceil if ceil_mode else math.floor)(steps) + 1
    if ceil_mode and (count - 1) * stride >= n + padding:
        count -= 1
    return [[i * stride - padding + a * dilation for a in range(kernel)] for i in range(count)]


def define(x, rows, columns, f):
    """f of every window, passed as a list of (row, column, element) in order, without the padding."""
    h, w = x.shape[-2:]
    y = np.zeros((*x.shape[:-2], len(rows), len(columns)))
    for at in np.ndindex(x.shape[:-2]):
        for (i, r), (j, c) in itertools.product(enumerate(rows), enumerate(columns)):
            y[(*at, i, j)] = f([(a, b, x[(*at, a, b)]) for a in r for b in c if 0 <= a < h and 0 <= b < w], r, c)
    return y


@st.composite
def axis(draw, dilated):
    kernel, stride = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    return kernel, stride, draw(st.integers(0, kernel // 2)), draw(st.integers(1, 3)) if dilated else 1


values = st.sampled_from([-math.inf, -2.0, -1.0, 0.0, 1.0, 2.0])  # few values, so many ties
finite = st.integers(-3, 3).map(float)


def images(elements):
    shapes = hnp.array_shapes(min_dims=3, max_dims=4, min_side=1, max_side=8)
    return shapes.flatmap(lambda s: hnp.arrays("float64", s, elements=elements, fill=st.nothing()))


def both_paths(x):
    """x in float64, and repeated until it is large enough for the float32 kernels."""
    yield x, slice(None)
    times = 1 + 2048 // x.size
    yield np.tile(x.astype(np.float32), (times, *(1,) * (x.ndim - 1))), slice(0, x.shape[0])


@quick
@given(images(values), axis(True), axis(True), st.booleans())
def test_max_pool2d_equals_its_definition(x, rows, columns, ceil_mode):
    r, c = (positions(n, *a, ceil_mode) for n, a in zip(x.shape[-2:], (rows, columns), strict=True))
    empty = any(all(not 0 <= k < n for k in taps) for n, windows in zip(x.shape[-2:], (r, c), strict=True)
                for taps in windows)
    arguments = [*zip(rows, columns, strict=True), ceil_mode]
    if not r or not c or empty:
        with pytest.raises(ValueError, match="max_pool2d: .*(exceeds size|only padding)"):
            ops.max_pool2d(Tensor(x), *arguments)
        return
    expected = define(x, r, c, lambda window, *_: max(v for *_, v in window))
    g = np.random.default_rng(0).integers(-5, 6, expected.shape).astype(float)
    gradient = np.zeros(x.shape)
    for at in np.ndindex(expected.shape):
        *image, i, j = at
        window = [(*image, a, b) for a in r[i] for b in c[j] if 0 <= a < x.shape[-2] and 0 <= b < x.shape[-1]]
        gradient[next(k for k in window if x[k] == expected[at])] += g[at]  # the first of those that tie
    for array, part in both_paths(x):
        t = Tensor(array, requires_grad=True)
        y = ops.max_pool2d(t, *arguments)
        np.testing.assert_array_equal(y.detach().numpy()[part], expected)
        dx, = y.gradient(t, gradient=np.tile(g, (len(array) // len(x), *(1,) * (g.ndim - 1))))
        np.testing.assert_array_equal(dx.numpy()[part], gradient)


@quick
@given(images(finite), axis(False), axis(False), st.booleans(), st.booleans())
def test_avg_pool2d_equals_its_definition(x, rows, columns, ceil_mode, count_include_pad):
    r, c = (positions(n, *a, ceil_mode) for n, a in zip(x.shape[-2:], (rows, columns), strict=True))
    arguments = [*zip(rows[:3], columns[:3], strict=True), ceil_mode, count_include_pad]
    if not r or not c:
        with pytest.raises(ValueError, match="avg_pool2d: kernel_size .* exceeds"):
            ops.avg_pool2d(Tensor(x), *arguments)
        return

    def mean(window, r, c):
        counted = len(window)
        if count_include_pad:  # padding counts, elements that ceil_mode adds beyond it do not
            counted = math.prod(sum(k < n + p for k in taps)
                                for n, p, taps in zip(x.shape[-2:], (rows[2], columns[2]), (r, c), strict=True))
        return sum(v for *_, v in window) / counted

    expected = define(x, r, c, mean)
    for array, part in both_paths(x):
        np.testing.assert_allclose(ops.avg_pool2d(Tensor(array), *arguments).numpy()[part], expected, rtol=1e-5,
                                   atol=1e-6)


@quick
@given(images(finite), st.integers(1, 6), st.integers(1, 6))
def test_adaptive_pooling_equals_its_definition(x, m, n):
    def shares(length, count):
        return [range(i * length // count, math.ceil((i + 1) * length / count)) for i in range(count)]

    r, c = shares(x.shape[-2], m), shares(x.shape[-1], n)
    expected = define(x, r, c, lambda window, *_: np.mean([v for *_, v in window]))
    for array, part in both_paths(x):
        found = ops.adaptive_avg_pool2d(Tensor(array), (m, n)).numpy()
        np.testing.assert_allclose(found[part], expected, rtol=1e-5, atol=1e-6)


def test_max_pool_keeps_nan_and_never_takes_padding():
    for dtype in ("float32", "float64"):
        x = np.full((40, 2, 6, 6), -np.inf, dtype)
        x[:, :, 2, 3] = np.nan
        t = Tensor(x, requires_grad=True)
        y = ops.max_pool2d(t, 3, 2, 1)
        assert np.isnan(y.detach().numpy()[:, :, 1]).all(axis=(0, 1)).tolist() == [False, True, True]
        y.backward(np.ones(y.shape))
        assert (t.grad.numpy().sum(axis=(2, 3)) == 9).all()  # each of the 3 x 3 windows gave its cotangent to a pixel


def test_1d_pooling_equals_2d_with_a_unit_axis():
    x = np.random.default_rng(0).standard_normal((2, 3, 20))
    for name, arguments in (("max_pool", (3, 2, 1)), ("avg_pool", (3, 2, 1)), ("adaptive_avg_pool", (4,))):
        pairs = [(1 if k == 0 else (0, a) if k == 2 else (1, a)) for k, a in enumerate(arguments)]
        pairs[0] = (1, arguments[0])
        one = getattr(ops, f"{name}1d")(Tensor(x), *arguments)
        two = getattr(ops, f"{name}2d")(Tensor(x[:, :, None]), *pairs)
        np.testing.assert_array_equal(one.numpy(), two.numpy()[:, :, 0])


def test_the_saved_index_has_the_smallest_dtype():
    for (kernel, dtype), of_x in itertools.product(((16, np.uint8), (17, np.uint16)), (np.float32, np.float64)):
        x = Tensor(np.zeros((1, 64, 64), of_x), requires_grad=True)
        saved = ops.max_pool2d(x, kernel).node.saved
        assert [a.dtype for a in saved if isinstance(a, np.ndarray)] == [dtype]
        assert not any(isinstance(a, Tensor) for a in saved)  # the input is not kept


def test_the_last_of_257_taps_gets_its_cotangent():
    x = Tensor(np.arange(257.0)[None], requires_grad=True)
    ops.max_pool1d(x, 257).sum().backward()
    assert x.grad.argmax().item() == 256


def test_a_dilation_may_exceed_255():
    x = np.random.default_rng(0).standard_normal((1, 3000))
    expected = define(x[:, None], [[0]], positions(3000, 4, 100, 2, 300), lambda w, *_: max(v for *_, v in w))
    for dtype in (np.float32, np.float64):
        y = ops.max_pool1d(Tensor(x.astype(dtype)), 4, 100, 2, 300).numpy()
        np.testing.assert_allclose(y, expected[:, 0], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_in_a_window_of_minus_infinities_the_first_element_gets_the_gradient(dtype):
    for how, first in ((3, 2, 1, 1), [0, 1, 3, 5]), ((3, 1, 1, 2), [1, 0, 1, 2, 3]):
        x = Tensor(np.full((1, 1, 7), -np.inf, dtype), requires_grad=True)
        dx, = ops.max_pool1d(x, *how).sum().gradient(x)
        assert dx.tolist() == [[np.bincount(first, minlength=7).tolist()]]


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_max_pool_takes_integers_and_avg_pool_refuses_them(dtype):
    x = np.random.default_rng(0).integers(-9, 9, (2, 3, 7, 6, 5)).astype(dtype)
    for rank, pool, array in ((1, ops.max_pool1d, x[:, :, 0, 0]), (2, ops.max_pool2d, x[:, :, 0]),
                              (3, ops.max_pool3d, x)):
        y, wide = pool(Tensor(array), 3, 2, 1), pool(Tensor(array.astype(np.float64)), 3, 2, 1)
        assert y.dtype == dtype and y.tolist() == wide.tolist()
        if rank < 3:
            values, index = ops.max_pool_with_indices(Tensor(array), 3, 2, 1, rank=rank)
            assert values.dtype == dtype and values.tolist() == y.tolist()
            assert index.tolist() == ops.max_pool_with_indices(Tensor(array.astype(np.float64)), 3, 2, 1,
                                                               rank=rank)[1].tolist()
    with pytest.raises(TypeError, match="avg_pool2d: x must be floating point, got"):
        ops.avg_pool2d(Tensor(x[:, :, 0]), 2)
