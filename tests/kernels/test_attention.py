"""The attention kernel against plain NumPy in float64: odd sizes, masks, strides, dropout, long sequences."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygrad_like import Tensor, ops
from tinygrad_like.kernels import attention as k
from tinygrad_like.ops.dropout import kept


def plain(q, key, v, mask, causal, scale, factors=1.0):
    """Output and weights."""
    s = scale * q @ np.swapaxes(key, -1, -2) + (0 if mask is None else mask)
    s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf) if causal else s
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(top), top, 0))
    p = e / np.maximum(e.sum(-1, keepdims=True), 1e-300)
    return (factors * p) @ v, p


def plain_backward(g, q, key, v, mask, causal, scale, factors=1.0):
    _, p = plain(q, key, v, mask, causal, scale, factors)
    dp = factors * (g @ np.swapaxes(v, -1, -2))
    ds = p * (dp - (dp * p).sum(-1, keepdims=True))
    return scale * ds @ key, scale * np.swapaxes(ds, -1, -2) @ q, np.swapaxes(factors * p, -1, -2) @ g


def close(found, expected, error=4e-6):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=error * max(1, np.abs(b).max(initial=0)))


def check(arrays, mask=None, causal=False, scale=0.4, p=0.0, seed=0, spread=0, **how):
    """Forward and backward, twice: the first call is one task, whatever the size."""
    seed = np.array(seed)
    q, key, v, g = arrays
    exact = [x.astype(np.float64) for x in arrays]
    factors = kept((*g.shape[:-1], key.shape[-2]), p, seed, spread) / (1 - p) if p else 1.0
    expected, _ = plain(*exact[:3], mask, causal, scale, factors)
    gradients = plain_backward(exact[3], *exact[:3], mask, causal, scale, factors)
    for _ in range(2):
        out, stats = k.attention(q, key, v, mask, causal, scale, p, seed, spread)
        found = k.attention_backward(g, q, key, v, out, stats, mask, causal, scale, p, seed, spread)
        close([out, *found], [expected, *gradients], **how)
    return out, found


def laid_out(rng, shape, layout):
    """Random numbers of this shape, contiguous or as a view of an array in another order or with gaps."""
    if layout == "heads inside":
        return np.swapaxes(rng.standard_normal((shape[0], shape[2], shape[1], shape[3])).astype(np.float32), 1, 2)
    if layout == "columns":
        return np.swapaxes(rng.standard_normal((*shape[:2], shape[3], shape[2])).astype(np.float32), 2, 3)
    if layout == "gaps":
        return rng.standard_normal((*shape[:3], 3 * shape[3])).astype(np.float32)[..., shape[3] : 2 * shape[3]]
    return rng.standard_normal(shape).astype(np.float32)


LAYOUTS = ["contiguous", "heads inside", "columns", "gaps"]
lengths, sizes = st.integers(1, 140), st.integers(1, 70)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(1, 3), st.integers(2, 140), lengths, sizes, sizes, st.booleans(),
       st.sampled_from([None, "full", "queries", "keys", "heads"]), st.integers(0, 2**32 - 1))
def test_any_shape_mask_and_layout_is_exact(data, batch, heads, queries, keys, size, width, causal, masked, seed):
    rng = np.random.default_rng(seed)
    shapes = (queries, size), (keys, size), (keys, width), (queries, width)
    arrays = [laid_out(rng, (batch, heads, *shape), data.draw(st.sampled_from(LAYOUTS))) for shape in shapes]
    mask = None
    if masked:
        shape = {"full": (batch, heads, queries, keys), "queries": (queries, 1), "keys": (batch, 1, 1, keys),
                 "heads": (heads, 1, keys)}[masked]
        mask = np.where(rng.random(shape) < 0.3, -np.inf, rng.standard_normal(shape)).astype(np.float32)
    check(arrays, mask, causal, scale=size**-0.5, error=3e-5)  # the sums cancel


def test_maxima_may_grow_from_block_to_block():
    """The running softmax is rescaled at each block; scores reach 200, where e^s is far beyond float32."""
    rng = np.random.default_rng(0)
    q, key, v, g = (rng.standard_normal((1, 1, 500, 16)).astype(np.float32) for _ in range(4))
    q[...], key[...] = 1, np.linspace(-12, 12, 500)[:, None]
    check((q, key, v, g), scale=1.0, error=1e-4)  # the rounding error of a score of 200
    check((q, key[:, :, ::-1].copy(), v, g), scale=1.0, error=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_queries_without_a_visible_key_return_exactly_0(causal):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((2, 2, 90, 16)).astype(np.float32) for _ in range(4)]
    mask = np.where(rng.random((90, 90)) < 0.5, -np.inf, 0).astype(np.float32)
    mask[[0, 40, 89]] = -np.inf
    mask[:, 7] = -np.inf  # nor does key 7 get a gradient
    out, (dq, dk, dv) = check(arrays, mask, causal)
    assert not out[:, :, [0, 40, 89]].any() and not dq[:, :, [0, 40, 89]].any()
    assert not dk[:, :, 7].any() and not dv[:, :, 7].any()


@pytest.mark.parametrize("causal", [False, True])
def test_a_mask_may_hold_the_lowest_float(causal):
    """Keys that all have it get equal weights; only -inf hides a key, and -inf for all keys hides the query."""
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((2, n, 9)).astype(np.float32) for n in (70, 150, 150, 70)]
    mask, lowest = np.zeros((70, 150), np.float32), np.finfo(np.float32).min
    mask[rng.random(mask.shape) < 0.5] = lowest
    mask[5], mask[40:60] = lowest, lowest
    mask[50, 1::2] = mask[6] = mask[41, 1:] = -np.inf
    out, (dq, _, _) = check(arrays, mask, causal)
    v = arrays[2]
    np.testing.assert_allclose(out[:, 45], v[:, : 46 if causal else 150].mean(1), atol=1e-5)
    np.testing.assert_allclose(out[:, 50], v[:, : 51 if causal else 150 : 2].mean(1), atol=1e-5)
    np.testing.assert_allclose(out[:, 41], v[:, 0], atol=1e-6)
    assert (out[:, 6] == 0).all() and (dq[:, 6] == 0).all()


def test_nan_stays_in_its_row():
    rng = np.random.default_rng(0)
    q, key, v = (rng.standard_normal((1, 2, 40, 8)).astype(np.float32) for _ in range(3))
    q[0, 0, 3] = np.nan
    out, _ = k.attention(q, key, v)
    assert np.isnan(out[0, 0, 3]).all() and np.isfinite(np.delete(out, 3, 2)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("queries", "keys", "size"), [(0, 5, 4), (5, 0, 4), (1, 0, 4), (0, 0, 4), (5, 6, 0)])
def test_attention_without_keys_is_0(queries, keys, size, dtype):
    shapes = (2, queries, size), (2, keys, size), (2, keys, 3)
    q, key, v = (Tensor(np.ones(shape), dtype=dtype, requires_grad=True) for shape in shapes)
    y = ops.scaled_dot_product_attention(q, key, v, scale=1.0)
    np.testing.assert_allclose(y.detach().numpy(), np.full((2, queries, 3), float(keys > 0)), rtol=1e-6)
    dq, dk, dv = (x.numpy() for x in y.sum().gradient(q, key, v))
    assert not dq.any() and not dk.any()
    np.testing.assert_allclose(dv, np.full(v.shape, queries / max(keys, 1)), rtol=1e-6)


# Dropout --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [False, True])
def test_dropout_is_the_same_in_forward_and_backward(causal):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((2, 2, n, 16)).astype(np.float32) for n in (70, 150, 150, 70)]
    for spread in 0, 2 * 70 * 150 + (3 << 32):  # of a whole batch, every third example
        check(arrays, None, causal, p=0.3, seed=2**61 + 12345, spread=spread)


# Memory ---------------------------------------------------------------------------------------------------------------


def test_memory_is_linear_in_the_length():
    def peak(length):
        x = Tensor(np.zeros((1, 1, length, 16)), dtype="float32", requires_grad=True)
        tracemalloc.start()
        ops.scaled_dot_product_attention(x, x, x, is_causal=True).sum().backward()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    for _ in range(2):  # compiles the kernel and then the parallel loop, which do not count
        peak(8192)
    short, long = peak(1024), peak(8192)
    assert long < 10 * short
    assert long < 24 * 8192 * 16 * 4  # 24 arrays like x; the scores alone would take 256 MiB


def test_the_output_has_the_memory_order_of_the_query():
    x = np.zeros((2, 50, 3, 16), np.float32).swapaxes(1, 2)
    out, stats = k.attention(x, x, x)
    assert out.swapaxes(1, 2).flags.c_contiguous
    gradients = k.attention_backward(out, x, x, x, out, stats)
    assert all(d.swapaxes(1, 2).flags.c_contiguous for d in gradients)
