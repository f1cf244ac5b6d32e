"""float16 and bfloat16 are for storage: ops compute in float32 and round the result once."""

import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import tinygrad_like as tg
from tinygrad_like import Tensor, ops

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
NARROW = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
NAMES = {"float16": "torch.HalfTensor", "bfloat16": "torch.BFloat16Tensor"}  # of `x.type()`
X = np.array([[0.5, -1.25, 3.0], [2.0, 0.125, -4.0]])
MOVES = {
    "reshape": lambda x: x.reshape(3, 2), "T": lambda x: x.T, "slice": lambda x: x[:, ::-1],
    "index": lambda x: x[[1, 1]], "item": lambda x: x[0, 1], "split": lambda x: x.split([1, 2], axis=1)[1],
    "cat": lambda x: x.cat(x), "stack": lambda x: x.stack(x), "expand": lambda x: x[:, None].expand(2, 4, 3),
    "flip": lambda x: x.flip(), "roll": lambda x: x.roll(1), "pad": lambda x: x.pad((1, 1)), "tril": lambda x: x.tril(),
    "clone": lambda x: x.clone(), "repeat": lambda x: x.repeat(2, 2), "sort": lambda x: x.sort()[0],
    "cast": lambda x: x.float().cast(x.dtype), "where": lambda x: ops.where(X > 0, x, 0.0),
}
COMPUTED = {
    "add": lambda x: x + x, "scalar": lambda x: 2.3 * x, "exp": lambda x: x.exp(), "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(), "matmul": lambda x: x @ x.T, "softmax": lambda x: x.softmax(),
    "gelu": lambda x: x.gelu(), "integers": lambda x: x * Tensor([1, 2, 3]), "var": lambda x: x.var(),
    "layer_norm": lambda x: ops.layer_norm(x), "max": lambda x: x.max(axis=1), "cumprod": lambda x: x.cumprod(axis=1),
    "norm": lambda x: x.norm(), "attention": lambda x: x.scaled_dot_product_attention(x, x),
    "cross_entropy": lambda x: x.cross_entropy(Tensor([0, 2])), "solve": lambda x: (x @ x.T).inverse(),
    "einsum": lambda x: ops.einsum("ij,kj->ik", x, x), "normalize": lambda x: x.normalize(),
}


def pair(dtype):
    x = Tensor(X, dtype=dtype, requires_grad=True)
    return x, Tensor(X, dtype="float32", requires_grad=True)


@NARROW
@pytest.mark.parametrize("name", MOVES)
def test_moves_keep_the_dtype(name, dtype):
    x, wide = pair(dtype)
    y, other = MOVES[name](x), MOVES[name](wide)
    assert y.dtype == x.dtype == dtype and y.tolist() == other.tolist()
    g = np.random.default_rng(0).integers(-4, 5, y.shape)
    y.backward(g)
    other.backward(g)
    assert x.grad.dtype is x.dtype and x.grad.tolist() == wide.grad.tolist()


@NARROW
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", COMPUTED)
def test_ops_compute_in_float32(name, create_graph, dtype):
    """Results and cotangents are rounded; here only the last ones need it."""
    x, wide = pair(dtype)
    y, other = COMPUTED[name](x), COMPUTED[name](wide)
    steps = 1 if name not in ("norm", "solve", "normalize", "cross_entropy", "var") else 4  # of several ops
    eps = steps * float(ml_dtypes.finfo(x.dtype).eps)
    assert y.dtype is x.dtype
    np.testing.assert_allclose(y.detach().float().numpy(), other.detach().numpy(), rtol=eps, atol=eps)
    if steps == 1:
        np.testing.assert_array_equal(y.detach().numpy(), other.detach().numpy().astype(x.dtype))
    for found, expected in zip(y.gradient(x, gradient=np.ones(y.shape), create_graph=create_graph),
                               other.gradient(wide, gradient=np.ones(y.shape), create_graph=create_graph), strict=True):
        size = np.abs(expected.detach().numpy()).max()
        assert found.dtype is x.dtype and found.requires_grad == (create_graph and expected.requires_grad)
        np.testing.assert_allclose(found.detach().float().numpy(), expected.detach().numpy(), rtol=2 * eps,
                                   atol=2 * eps * max(size, 1))


@NARROW
def test_second_derivatives_keep_16_bits(dtype):
    x = Tensor(2.0, dtype=dtype, requires_grad=True)
    dx, = (x * x * x).gradient(x, create_graph=True)
    ddx, = dx.gradient(x)
    assert dx.item() == ddx.item() == 12 and ddx.dtype is x.dtype


def test_16_bits_are_promoted_as_in_pytorch():
    b, h, s = (Tensor([1.5], dtype=d) for d in ("bfloat16", "float16", "float32"))
    d, i = s.double(), Tensor([3])
    for a, c, expected in ((b, b, "bfloat16"), (h, h, "float16"), (b, h, "float32"), (b, s, "float32"),
                           (h, s, "float32"), (b, d, "float64"), (b, i, "bfloat16"), (i, h, "float16"),
                           (b, 2.5, "bfloat16"), (b, True, "bfloat16")):
        assert (a * c).dtype == expected and ops.cat(*[x for x in (a, c) if isinstance(x, Tensor)]).dtype == (
            expected if isinstance(c, Tensor) else a.dtype)
    assert (b > 1).dtype == b.isnan().dtype == "bool" and b.argmax().dtype == "int64"


@NARROW
def test_many_cotangents_are_added_up_in_float32(dtype):
    """A thousand ones, added one by one in bfloat16, would stay at 256."""
    x = Tensor([0.5], dtype=dtype, requires_grad=True)
    x.expand(1000).backward(np.ones(1000))
    y = Tensor([0.5], dtype=dtype, requires_grad=True)
    y[[0] * 1000].backward(np.ones(1000))
    assert x.grad.item() == y.grad.item() == 1000
    z = Tensor.zeros(2, dtype=dtype).scatter_add(0, Tensor([1] * 1000), Tensor.ones(1000, dtype=dtype))
    assert z.tolist() == [0, 1000] and z.dtype == dtype


def test_rounding_is_to_the_nearest_even():
    x = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 3.4e38, -np.inf, np.nan, -0.0, 1e-45], np.float32)
    y = Tensor(x).bfloat16()
    np.testing.assert_array_equal(y.float().numpy(), np.array(
        [1, 1 + 2**-6, 1 + 2**-7, np.inf, -np.inf, np.nan, -0.0, 0], np.float32))
    assert np.signbit(y.numpy()[6]) and y.isnan().tolist() == [False] * 5 + [True, False, False]


def test_a_result_is_rounded_once_and_not_twice():
    """1 + 2^-8 + 2^-16 is above the middle; rounded to float16 first, it would be the middle, and then 1."""
    a, b = Tensor([1.0, 1.0]).bfloat16(), Tensor([2.0**-8, 2.0**-8 + 2.0**-15]).bfloat16()
    assert (a + b).tolist() == [1, 1 + 2**-7]


@NARROW
def test_16_bit_tensors_are_created_pickled_changed_and_shown(dtype):
    d = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
    x = Tensor([1.0, 1.001, 60001.0], dtype=dtype)
    assert x.dtype is d and x.nbytes == 6 and x.element_size() == 2 and f"dtype={dtype}" in repr(x)
    assert x.to(dtype) is x and x.is_floating_point() and x.type() == NAMES[dtype] and getattr(tg, dtype) == d
    for made in (Tensor.zeros(2, dtype=dtype), Tensor.full((2,), 0.5, dtype=d), Tensor.randn(2, dtype=dtype),
                 Tensor.arange(2, dtype=dtype), Tensor.eye(2, dtype=dtype), Tensor(np.ones(2, d)), x.zeros_like(),
                 Tensor.from_numpy(np.ones(2, d)), pickle.loads(pickle.dumps(x)), Tensor([True]).to(dtype),
                 tg.tensor([1.0], dtype=getattr(tg, dtype)), tg.bernoulli(0.5 * x.zeros_like())):
        assert made.dtype is d
    y = Tensor.zeros(2, 3, dtype=dtype)
    y[0] = Tensor([1.0, 2.0, 3.0])
    y += 0.5
    y.mul_(2)
    assert y.dtype is d and y.tolist() == [[3, 5, 7], [1, 1, 1]] and y[0, 1].item() == 5 and float(y[0, 0]) == 3


def test_bfloat16_shows_only_its_digits():
    assert repr(Tensor([0.1, 2.5]).bfloat16()) == "Tensor([0.1001, 2.5   ], dtype=bfloat16)"


@pytest.mark.needs("compat")
def test_without_ml_dtypes_only_bfloat16_fails(tmp_path):
    """The error says what to install."""
    program = f"""
import sys
sys.path.insert(0, {tg.__path__[0].removesuffix("tinygrad_like")!r})
sys.modules["ml_dtypes"] = None
import tinygrad_like as tg
x = tg.Tensor([1.0, 2.0])
assert (x.half() * 2).tolist() == [2, 4]
for f in (x.bfloat16, lambda: tg.bfloat16, lambda: x.to("bfloat16"), lambda: tg.zeros(2, dtype="bfloat16")):
    try:
        f()
    except ImportError as error:
        assert "pip install 'tinygrad-like[bfloat16]'" in str(error)
    else:
        raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


@pytest.mark.torch
def test_16_bits_equal_pytorchs():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    values = rng.standard_normal(4000) * 10.0**rng.integers(-40, 39, 4000)
    values = np.concatenate([values, [np.nan, np.inf, 0.0, -0.0]])
    for name in ("bfloat16", "float16"):
        with np.errstate(over="ignore"):
            x, t = Tensor(values, dtype="float32"), torch.tensor(values.astype(np.float32))
            x, t = x.to(name).reshape(2, -1), t.to(getattr(torch, name)).reshape(2, -1)

        def bits(a):
            return a.detach().numpy().view(np.uint16)[~a.detach().isnan().numpy()]

        def same(a, b, bits=bits):
            assert str(b.dtype) == f"torch.{a.dtype}" and np.array_equal(a.isnan().numpy(), b.isnan().numpy())
            assert np.array_equal(bits(a), b.detach().view(torch.int16).numpy().view(np.uint16)[~b.isnan().numpy()])

        with np.errstate(all="ignore"):
            same(x, t)
            same(x[0] + x[1], t[0] + t[1])
            same(x[0] * x[1], t[0] * t[1])
            same(x[0] / x[1], t[0] / t[1])
            same(x.abs().sqrt(), t.abs().sqrt())
    a = rng.standard_normal((5, 7)).astype(np.float32)
    x, t = Tensor(a, dtype="bfloat16", requires_grad=True), torch.tensor(a).bfloat16().requires_grad_()
    ((x * x).relu() * 1.5).sum().backward()
    ((t * t).relu() * 1.5).sum().backward()
    np.testing.assert_array_equal(x.grad.float().numpy(), t.grad.float().numpy())


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered")  # in NumPy's first try
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_functions_of_small_integers_are_float32_all_the_way(dtype):
    """NumPy's exp of uint8 is float16, infinite from 12 on; and -x of a uint8 wraps around."""
    x = Tensor(np.array([0, 1, 20, 88]), dtype=dtype)
    for f in (ops.exp, ops.sigmoid, ops.tanh, ops.sqrt, ops.silu, ops.softplus, ops.mish, ops.log1p, ops.asinh):
        y = f(x)
        assert y.dtype == np.float32
        np.testing.assert_allclose(y.numpy(), f(x.double()).numpy(), rtol=1e-6)
