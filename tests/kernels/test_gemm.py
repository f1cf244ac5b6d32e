"""The product kernel against plain NumPy, on every kind of operand; its parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygrad_like.core.graph import setting
from tinygrad_like.kernels import gemm, machine, simd


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def matmul(a, b, out=None, bias=None, accumulate=False):
    """a @ b + bias, or a @ b added to out."""
    if out is None:
        out = np.empty((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), np.float32)
    return gemm.product(a, b, out, out if accumulate else bias)


def exact(a, b, start=0.0):
    """The product in float64, and a bound on the error: k float32 roundings, relative to the sum of magnitudes."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    magnitude = np.abs(a) @ np.abs(b) + np.abs(start)
    return start + a @ b, 1e-7 * (a.shape[-1] + 2) * magnitude


def check(result, a, b, start=0.0):
    expected, bound = exact(a, b, start)
    assert result.dtype == np.float32 and result.shape == expected.shape
    assert (np.abs(result - expected) <= bound).all()


def guarded(shape):
    """An array surrounded by NaN: reads outside it show in the result, writes outside it in `memory`."""
    size, border = int(np.prod(shape)), 64
    memory = np.full(size + 2 * border, np.nan, np.float32)
    return memory[border : border + size].reshape(shape), memory


@st.composite
def operands(draw, batches=((), ())):
    """a and b of any sizes, transposed, cut out of larger arrays with steps of either sign, surrounded by NaN."""
    m, k, n = (draw(st.integers(0, 70)) for _ in range(3))
    pair = []
    for batch, shape, seed in (batches[0], (m, k), 1), (batches[1], (k, n), 2):
        steps = [draw(st.sampled_from([1, 1, 1, 2, -1, -3])) for _ in shape]
        whole = tuple(abs(step) * size for step, size in zip(steps, shape, strict=True))
        transposed = draw(st.booleans())
        x, _ = guarded((*batch, *(whole[::-1] if transposed else whole)))
        x = x.swapaxes(-1, -2) if transposed else x
        x = x[..., :: steps[0], :: steps[1]]
        x[...] = random(*x.shape, seed=seed)
        pair.append(x)
    return pair


@settings(max_examples=150, deadline=None)
@given(operands(), st.sampled_from(["plain", "bias", "accumulate"]))
def test_operands_may_have_any_sizes_and_strides(pair, mode):
    a, b = pair
    m, n = len(a), b.shape[1]
    out, memory = guarded((m, n))
    if mode == "plain":
        check(matmul(a, b), a, b)
        check(matmul(a, b, out=out), a, b)
    elif mode == "bias":
        bias = random(2 * n, seed=3)[::2]
        check(matmul(a, b, out=out, bias=bias), a, b, bias)
    elif mode == "accumulate":
        before = random(m, n, seed=4)
        out[...] = before
        check(matmul(a, b, out=out, accumulate=True), a, b, before)
    assert np.isnan(memory).sum() == memory.size - out.size


BATCHES = [((3,), (3,)), ((2, 3), (2, 3)), ((3,), ()), ((), (2, 1)), ((2, 1, 3), (4, 1)), ((17,), (17,)), ((0,), (0,))]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(BATCHES).flatmap(operands), st.booleans())
def test_batches_broadcast(pair, expanded):
    a, b = pair
    if expanded:  # batch axes of stride 0
        a = np.broadcast_to(a, (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *a.shape[-2:]))
    bias = random(b.shape[-1], seed=3)
    check(matmul(a, b, bias=bias), a, b, bias)


@pytest.mark.parametrize(
    "m, k, n", [(131, 1300, 197), (1100, 70, 90), (64, 2500, 33), (2, 700, 1500), (1500, 600, 1), (45, 20, 300),
                (5, 2100, 77), (301, 9, 2300), (3, 11, 2100), (1, 1, 40_000)]
)
@pytest.mark.parametrize("a_transposed", [False, True])
@pytest.mark.parametrize("b_transposed", [False, True])
def test_products_larger_than_a_block_run_on_all_threads(m, k, n, a_transposed, b_transposed):
    a = random(k, m).T if a_transposed else random(m, k)
    b = random(n, k, seed=1).T if b_transposed else random(k, n, seed=1)
    check(matmul(a, b), a, b)
    bias, out = random(n, seed=2), np.empty((m, n), np.float32)
    check(gemm.product(a, b, out, bias), a, b, bias)
    check(gemm.product(a, b, out, out), a, b, exact(a, b, bias)[0])


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_values_reach_only_their_row_or_column(special):
    a, b = np.abs(random(37, 21)), np.abs(random(21, 45, seed=1))
    a[36, 20] = special
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isfinite(matmul(a, b)), np.isfinite(a @ b))
        np.testing.assert_array_equal(np.isnan(matmul(b.T, a.T)), np.isnan(b.T @ a.T))


OTHER_MACHINE = """
import json, numpy as np
from tinygrad_like.kernels import gemm, machine, simd
rng = np.random.default_rng(0)
worst = 0.0
for m, k, n in (1, 1, 1), (7, 9, 33), (50, 60, 70), (9, 300, 17):
    for a in rng.standard_normal((m, k), np.float32), rng.standard_normal((k, m), np.float32).T:
        for b in rng.standard_normal((k, n), np.float32), rng.standard_normal((n, k), np.float32).T:
            found = gemm.product(a, b, np.empty((m, n), np.float32))
            worst = max(worst, float(np.abs(found - a.astype("d") @ b.astype("d")).max()))
cached = int(gemm._matrix_product.entry.found)
print(json.dumps([simd.FLOATS, simd.ROWS, worst, cached]))
"""


@pytest.mark.slow
def test_other_machines_have_other_vectors_and_share_no_cached_kernel(python, tmp_path):
    """AVX2 and SSE code also run on this machine, if it has AVX2; one cache folder serves both without mixing them."""
    if simd.FLOATS < 8 or "+fma" not in machine.FEATURES:
        pytest.skip("this machine cannot run AVX2")
    here = {"NUMBA_CACHE_DIR": str(tmp_path)}
    avx2 = {**here, "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+sse2,+sse4.1,+sse4.2,+ssse3"}
    sse = {**here, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+sse2"}
    for environment, tile in (avx2, [8, 6]), (sse, [4, 6]):
        for cached in (0, 1):
            *found, worst, hits = python(OTHER_MACHINE, **environment)
            assert found == tile and hits == cached and worst < 1e-3


def test_an_operand_may_be_passed_as_its_transpose():
    for batch, m, k, n in (((), 7, 5, 33), ((), 130, 600, 70), ((3,), 20, 30, 40), ((2, 3), 1, 9, 1),
                           ((4, 1, 9), 8, 8, 1), ((70,), 3, 3, 3), ((70,), 8, 1, 8), ((2, 5), 4, 0, 4)):
        a, b = random(*batch, m, k), random(*batch, n, k, seed=1)
        check(gemm.product(a, b, np.empty((*batch, m, n), np.float32), transposed=True), a, b.swapaxes(-1, -2))


def check_linear_vjp(g, x, weight, wanted):
    with setting("compiled", True):  # also where NumPy is faster
        found = gemm.linear_vjp(g, x, weight, wanted)
    assert [c is not None for c in found] == wanted
    wide, rows = g.astype(float), x.astype(float)
    dx, dw, db = wide @ weight.astype(float), wide.T @ rows, wide.sum(0)
    if wanted[0]:
        np.testing.assert_array_equal(found[0].shape, dx.shape)
        check(found[0], g, weight)
    if wanted[1]:
        np.testing.assert_array_equal(found[1].shape, dw.shape)
        check(found[1], g.T, x)
    if wanted[2]:
        check(found[2][None], np.ones((1, len(g)), np.float32), g)
        np.testing.assert_allclose(found[2], db, atol=1e-6 * (len(g) + 2))


@settings(max_examples=150, deadline=None)
@given(operands(), st.lists(st.booleans(), min_size=3, max_size=3))
def test_linear_vjp_takes_any_sizes_and_strides(pair, wanted):
    weight, x = pair[0], pair[1].T[: pair[0].shape[0]]  # (out, in) and (m, in), with m <= out
    g = guarded((x.shape[0], weight.shape[0]))[0]
    g[...] = random(*g.shape, seed=3)
    check_linear_vjp(g, x, weight, wanted)


@pytest.mark.parametrize("m, features, out", [(128, 256, 256), (1, 700, 300), (300, 1, 700), (700, 300, 1), (1, 1, 1),
                                              (600, 40, 1100), (1100, 530, 40), (0, 5, 6), (5, 0, 6), (5, 6, 0)])
def test_linear_vjp_runs_on_all_threads(m, features, out):
    check_linear_vjp(random(m, out), random(m, features, seed=2), random(out, features, seed=3), [True, True, True])
