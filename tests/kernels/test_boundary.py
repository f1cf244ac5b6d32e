"""The checks between arrays and compiled code, which checks nothing: any layout is taken, wrong arrays are refused."""

import mmap
import tempfile

import numpy as np
import pytest

from tinygrad_like import Tensor, ops
from tinygrad_like.kernels import attention, conv, gemm, norm, pool, reduce

rng = np.random.default_rng(0)


def random(*shape):
    return rng.standard_normal(shape, np.float32)


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def misaligned(x):
    raw = np.empty(x.nbytes + 1, np.uint8)
    y = np.frombuffer(raw.data, x.dtype, x.size, 1).reshape(x.shape)
    y[...] = x
    return y


def mapped(x):
    with tempfile.TemporaryFile() as file:
        y = np.memmap(file, x.dtype, "w+", shape=x.shape)
    y[...] = x
    return y


def stepped(x):
    y = np.repeat(np.repeat(x, 2, 0), 3, -1)[::2, ..., ::3]
    assert not y.flags.c_contiguous
    return y


def behind_a_map(x):
    """Memory that the system protects: a write to it ends the process."""
    with tempfile.TemporaryFile() as file:
        file.write(x.tobytes())
        file.flush()
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(memory, x.dtype).reshape(x.shape)


LAYOUTS = {
    "frozen": frozen,
    "misaligned": misaligned,
    "of a subclass": mapped,
    "stepped": stepped,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "Fortran": np.asfortranarray,
    "in a read-only map": behind_a_map,
    "of another dtype object": lambda x: x.astype(np.dtype("<f4", metadata={"of": "mine"})),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_kernels_take_any_layout(layout):
    x = random(5, 7)
    given = LAYOUTS[layout](x)
    np.testing.assert_array_equal(reduce.over_rows(reduce.SUM, given), reduce.over_rows(reduce.SUM, x))
    with pytest.raises(ValueError, match="rows: arrays do not fit, or are not aligned float32: "):
        reduce.over_rows(reduce.SUM, x.astype(">f4"))
    with pytest.raises(ValueError, match="rows: arrays do not fit, or are not aligned float32: "):
        reduce._rows(reduce.MAX, x, 7, frozen(x[:, 0].copy()))


# Wrong arrays are refused; a kernel would read or write outside of them -----------------------------------------------

M, K, N = 20, 30, 40
R = 50  # enough rows for the kernels of a layer's gradients


@pytest.mark.parametrize("change", [
    lambda p: p | {"a": p["a"].astype(np.float64)}, lambda p: p | {"b": p["b"].astype(np.int32)},
    lambda p: p | {"b": p["b"][:-1]}, lambda p: p | {"b": p["b"][:, :-1]}, lambda p: p | {"a": p["a"][:-1]},
    lambda p: p | {"a": p["a"].tolist()}, lambda p: p | {"a": Tensor(p["a"])}, lambda p: p | {"b": None},
    lambda p: p | {"out": frozen(p["out"])}, lambda p: p | {"out": np.asfortranarray(p["out"])},
    lambda p: p | {"out": p["out"][:-1]}, lambda p: p | {"a": np.stack([p["a"]] * 2)},
    lambda p: p | {"start": random(N - 1)},
    lambda p: p | {"start": random(1)},
    lambda p: p | {"start": random(N).astype(np.float64)},
])  # fmt: skip
def test_a_product_of_wrong_arrays_is_refused(change):
    parts = {"a": random(M, K), "b": random(K, N), "out": np.zeros((M, N), np.float32), "start": random(N)}
    gemm.product(**parts)
    with pytest.raises(ValueError, match="arrays do not fit, or are not aligned float32: "):
        gemm.product(**change(parts))


@pytest.mark.parametrize("change", [
    lambda p: p | {"g": random(R, N).T}, lambda p: p | {"g": random(R, N + 1)},
    lambda p: p | {"x": random(R - 1, K)},
    lambda p: p | {"weight": random(N, K - 1)}, lambda p: p | {"weight": random(N, K).astype(np.float64)},
    lambda p: p | {"x": random(R, K).astype(np.float64)},
])  # fmt: skip
def test_a_layers_gradients_of_wrong_arrays_are_refused(change):
    parts = {"g": random(R, N), "x": random(R, K), "weight": random(N, K), "wanted": (1, 1, 1)}
    gemm.linear_vjp(**parts)
    with pytest.raises(ValueError, match="arrays do not fit, or are not aligned float32: "):
        gemm.linear_vjp(**change(parts))


def test_inputs_may_be_misaligned_and_outputs_may_not():
    a, b, out = random(M, K), random(K, N), np.zeros((M, N), np.float32)
    np.testing.assert_array_equal(gemm.product(misaligned(a), b, out), gemm.product(a, b, out.copy()))
    with pytest.raises(ValueError, match="matrix product: arrays do not fit"):
        gemm.product(a, b, misaligned(out))
    q, k, v = random(2, 5, 8), random(2, 6, 8), random(2, 6, 9)
    np.testing.assert_array_equal(attention.attention(misaligned(q), k, v)[0], attention.attention(q, k, v)[0])


@pytest.mark.parametrize("change", [
    {"q": random(2, 5, 8).astype(np.float64)}, {"k": random(2, 6, 7)}, {"v": random(2, 5, 9)}, {"q": [[[1.0]]]},
    {"mask": random(4, 6)}, {"mask": random(5, 6).astype(np.float64)}, {"mask": np.ones((5, 6), bool)},
])  # fmt: skip
def test_attention_of_wrong_arrays_is_refused(change):
    parts = {"q": random(2, 5, 8), "k": random(2, 6, 8), "v": random(2, 6, 9), "mask": random(5, 6)}
    attention.attention(**parts)
    with pytest.raises((ValueError, AttributeError)):
        attention.attention(**parts | change)


@pytest.mark.parametrize("change", [
    {"g": random(2, 5, 8)}, {"g": random(2, 5, 9).astype(np.float64)}, {"q": random(2, 4, 8)}, {"k": random(2, 5, 8)},
    {"v": random(2, 6, 9).astype(np.float64)}, {"into": [random(2, 5, 8), random(2, 5, 8), random(2, 6, 9)]},
    {"into": [random(2, 5, 8), random(6, 8), random(2, 6, 9)]}, {"q": random(3, 5, 8)},
    {"into": [random(2, 5, 8), random(2, 6, 8), random(2, 6, 8)]},
    {"into": [random(2, 5, 8), random(2, 6, 8), frozen(random(2, 6, 9))]},
])  # fmt: skip
def test_attentions_gradients_of_wrong_arrays_are_refused(change):
    q, k, v = random(2, 5, 8), random(2, 6, 8), random(2, 6, 9)
    out, stats = attention.attention(q, k, v)
    parts = {"g": random(2, 5, 9), "q": q, "k": k, "v": v, "out": out, "stats": stats}
    attention.attention_backward(**parts)
    with pytest.raises(ValueError, match="attention.*: arrays do not fit, or are not aligned float32: "):
        attention.attention_backward(**parts | change)


def test_gradients_of_another_shape_are_refused():
    plan = (1, 1), ((1, 1), (1, 1)), (1, 1), 1
    with pytest.raises(ValueError, match=r"convolution: .* but its gradient has shape \(1, 4, 5, 6\)"):
        conv.weight_gradient(random(1, 4, 5, 6), random(1, 3, 5, 5), (4, 3, 3, 3), *plan)
    with pytest.raises(ValueError, match=r"convolution: .* but its gradient has shape \(1, 4, 5, 4\)"):
        conv.input_gradient(random(1, 4, 5, 4), random(4, 3, 3, 3), (1, 3, 5, 5), *plan)
    axis = 2, 2, 0, 1, 3
    with pytest.raises(ValueError, match=r"pooling: the gradient has shape \(1, 4, 3\)"):
        pool.put_taps(random(1, 4, 3), np.zeros((1, 4, 3), np.uint8), (1, 6, 6), (axis, axis))
    y, stats = norm.layer_norm(random(8, 10), None, None, normalized_shape=None, eps=1e-5)
    with pytest.raises(ValueError, match=r"normalisation: the gradient has shape \(8, 10\), .* \(9, 10\)"):
        norm.layer_norm_vjp(y, [True] * 3, random(9, 10), None, None, None, 1e-5, stats)
    with pytest.raises(ValueError, match="normalisation: weight and bias must have 10 elements"):
        norm.layer_norm_vjp(y, [True] * 3, y, random(9), None, None, 1e-5, stats)
    y, stats = norm.batch_norm(random(4, 6, 5), None, None, eps=1e-5)
    with pytest.raises(ValueError, match=r"normalisation: the gradient has shape \(4, 6, 5\), .* \(4, 6, 6\)"):
        norm.channels_vjp(y, random(4, 6, 6), None, None, stats)


def test_arrays_exchanged_between_forward_and_backward_are_refused():
    """Whichever check comes first: none of them reaches a kernel."""
    for exchanged in random(1, 1), random(50, 60).astype(np.float64), random(60, 50):
        x, w = Tensor(random(70, 60)), Tensor(random(50, 60), requires_grad=True)
        x.requires_grad_()
        y = ops.linear(x, w)
        w.data = exchanged
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            y.sum().backward()
