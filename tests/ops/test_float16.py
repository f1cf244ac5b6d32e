"""float16 stores numbers and moves them; ops compute in float32, of it and of small integers."""

import numpy as np
import pytest

from tinygrad_like import Tensor, ops

X = np.array([[0.5, -1.25, 3.0], [2.0, 0.125, -4.0]])
MOVES = {
    "reshape": lambda x: x.reshape(3, 2), "T": lambda x: x.T, "slice": lambda x: x[:, ::-1],
    "index": lambda x: x[[1, 1]],
    "cat": lambda x: x.cat(x), "stack": lambda x: x.stack(x), "expand": lambda x: x[:, None].expand(2, 4, 3),
    "flip": lambda x: x.flip(), "roll": lambda x: x.roll(1), "pad": lambda x: x.pad((1, 1)), "tril": lambda x: x.tril(),
    "clone": lambda x: x.clone(), "repeat": lambda x: x.repeat(2, 2), "sort": lambda x: x.sort()[0],
    "cast": lambda x: x.float().half(),
}
COMPUTED = {
    "add": lambda x: x + x, "scalar": lambda x: 2 * x, "exp": lambda x: x.exp(), "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(), "matmul": lambda x: x @ x.T, "softmax": lambda x: x.softmax(),
    "gelu": lambda x: x.gelu(),
    "layer_norm": lambda x: ops.layer_norm(x), "max": lambda x: x.max(axis=1), "cumprod": lambda x: x.cumprod(axis=1),
    "norm": lambda x: x.norm(), "where": lambda x: ops.where(X > 0, x, 0.0), "with float32": lambda x: x * x.float(),
}


@pytest.mark.parametrize("name", MOVES)
def test_moves_keep_it(name):
    x, wide = Tensor(X, dtype="float16", requires_grad=True), Tensor(X, dtype="float32", requires_grad=True)
    y, other = MOVES[name](x), MOVES[name](wide)
    assert y.dtype == np.float16 and y.tolist() == other.tolist()
    g = np.random.default_rng(0).integers(-4, 5, y.shape)
    y.backward(g)
    other.float().backward(g)
    assert x.grad.dtype == np.float16 and x.grad.tolist() == wide.grad.tolist()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", COMPUTED)
def test_ops_compute_in_float32(name, create_graph):
    x, wide = Tensor(X, dtype="float16", requires_grad=True), Tensor(X, dtype="float32", requires_grad=True)
    y, other = COMPUTED[name](x), COMPUTED[name](wide)
    assert y.dtype == np.float32 and y.tolist() == other.tolist()
    for found, expected in zip(y.gradient(x, gradient=np.ones(y.shape), create_graph=create_graph),
                               other.gradient(wide, gradient=np.ones(y.shape), create_graph=create_graph), strict=True):
        assert found.dtype == np.float16
        np.testing.assert_array_equal(found.numpy(), expected.numpy().astype(np.float16))


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered")  # in NumPy's first try
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_functions_of_small_integers_are_float32_all_the_way(dtype):
    """NumPy's exp of uint8 is float16, and infinite from 12 on; and -x of uint8 is no negative number."""
    x = Tensor(np.array([0, 1, 20, 88]), dtype=dtype)
    for f in (ops.exp, ops.sigmoid, ops.tanh, ops.sqrt, ops.silu, ops.softplus, ops.mish, ops.log1p, ops.asinh):
        y = f(x)
        assert y.dtype == np.float32
        np.testing.assert_allclose(y.numpy(), f(x.double()).numpy(), rtol=1e-6)


def test_it_takes_half_of_the_memory_and_rounds():
    x = Tensor([1.0, 1.0001, 60001.0]).half()
    assert x.nbytes == 6 and x.element_size() == 2 and x.tolist() == [1, 1, 60000] and "float16" in repr(x)
    with pytest.raises(AttributeError, match="NumPy has no bfloat16"):
        x.bfloat16()
    assert Tensor(np.ones(2, np.float16)).dtype == Tensor.zeros(2, dtype="float16").dtype == np.float16
