"""Rules for every op: it changes no input, shares no result's memory, keeps dtypes, and takes any shape."""

import pickle

import numpy as np
import pytest

from tests.ops.samples import CASES
from tinygrad_like import Tensor, ops
from tinygrad_like.core.dispatch import declared
from tinygrad_like.core.graph import Node, setting
from tinygrad_like.ops.composite import Composite
from tinygrad_like.ops.pointwise import Ufunc


def one_sample_of_each():
    """For each op the first sample whose graph contains it, in float32, which kernels take, and in float64."""
    chosen, seen = {}, set()
    for name, (f, *inputs) in CASES.items():
        found, dtypes = set(), set()
        for dtype in "float32", "float64":
            with setting("compiled", True):
                y = first(f(*[Tensor(x, dtype=dtype, requires_grad=True) for x in inputs]))
            stack = [y.node]
            while stack:
                if isinstance(node := stack.pop(), Node):
                    found.add((dtype, node.op.name))
                    stack += node.parents
            dtypes.add(y.dtype.name)
        if found - seen and len(dtypes) == 2:
            chosen[name], seen = (f, inputs), seen | found
    return chosen


def first(y):
    return next(x for x in y if x.requires_grad) if isinstance(y, tuple | list) else y


OPS = one_sample_of_each()


def run(name, dtype="float32", arrays=None, **how):
    """The inputs, output, cotangent and gradients of one op."""
    f, inputs = OPS[name]
    xs = [Tensor.from_numpy(x).requires_grad_() for x in (arrays or [x.astype(dtype) for x in inputs])]
    y = first(f(*xs))
    g = Tensor(np.random.default_rng(1).standard_normal(y.shape), dtype=dtype)
    return xs, y, g, y.gradient(*xs, gradient=g, retain_graph=True, materialize_grads=True, **how)


@pytest.fixture(params=OPS)
def name(request):
    return request.param


@pytest.mark.parametrize("create_graph", [False, True])
def test_inputs_and_cotangents_are_not_changed(name, create_graph):
    """The arrays are read-only, so that a write raises; they are also compared, since a kernel ignores the flag."""
    arrays = [x.astype(np.float32) for x in OPS[name][1]]
    copies = [x.copy() for x in arrays]
    for x in arrays:
        x.flags.writeable = False
    xs, y, g, _ = run(name, arrays=arrays, create_graph=create_graph)
    before = g._data.copy()
    value = y._data.copy()
    g._data.flags.writeable = False
    y.backward(g, create_graph=create_graph)
    assert all(np.array_equal(x, c) for x, c in zip(arrays, copies, strict=True))
    assert np.array_equal(g._data, before) and np.array_equal(y._data, value)


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_share_no_memory(name, create_graph):
    xs, y, g, gradients = run(name, create_graph=create_graph)
    y.backward(g, create_graph=create_graph)
    grads = gradients + [x.grad for x in xs if x.grad is not None]
    others = [*xs, y, g]
    for i, grad in enumerate(grads):
        for other in others + grads[:i]:
            assert not np.shares_memory(grad._data, other._data)
        assert grad._data.flags.writeable


def arrays_in(value):
    if isinstance(value, tuple | list):
        return [x for part in value for x in arrays_in(part)]
    return [value._data if isinstance(value, Tensor) else value] if isinstance(value, Tensor | np.ndarray) else []


@pytest.mark.parametrize("dtype, graph", [("float32", False), ("float64", False), ("float64", True)])
def test_cotangents_declared_fresh_are_fresh(dtype, graph, monkeypatch):
    """They share no memory with the rule's arguments, each other, or an earlier call's cotangents."""
    earlier = {}

    def checking(op):
        def pull(node, g, parents):
            given = arrays_in([g, *node.saved])
            cotangents = type(op).pull(op, node, g, parents)
            made = earlier.setdefault(op.name, [])
            for c in arrays_in(cotangents):
                assert not any(np.shares_memory(c, x) for x in given + made), op
                assert c.flags.writeable
                made.append(c)
            return cotangents

        return pull

    for op in declared:
        if op.fresh:
            monkeypatch.setattr(op, "pull", checking(op))
    for name in OPS:
        with setting("compiled", True):  # kernels also take small arrays
            _, y, g, _ = run(name, dtype)
        y.backward(g, create_graph=graph)
    assert earlier.keys() >= {op.name for op in declared if op.fresh and op.__wrapped__.__module__.startswith(
        ops.__name__) and (op.rules or op.joint and (dtype == "float32" or not isinstance(op, Composite)))}


LARGE = sorted([op for op in declared if isinstance(op, Ufunc) and op.large[1]], key=lambda op: op.name)


@pytest.mark.parametrize("op", LARGE, ids=lambda op: op.name)
def test_rules_with_a_kernel_also_serve_large_float64_arrays(op):
    inputs, few = ([Tensor(np.full(n, 0.5), requires_grad=True) for _ in op.inputs] for n in (2 * op.large[0], 1))
    for _ in range(3):  # from the second call on each op has its own code
        for found, expected in zip(op(*inputs).sum().gradient(*inputs), op(*few).sum().gradient(*few), strict=True):
            np.testing.assert_allclose(found.numpy(), np.broadcast_to(expected.numpy(), found.shape))


def test_gradients_have_their_inputs_dtype_and_shape(name):
    for dtype in ("float32", "float64"):
        xs, y, _, gradients = run(name, dtype)
        assert y.dtype == dtype
        for x, grad in zip(xs, gradients, strict=True):
            assert grad.dtype == dtype and grad.shape == x.shape


def test_results_do_not_depend_on_the_memory_layout(name):
    def odd(x):
        """The same values in Fortran order, every second element of a larger array."""
        wide = np.empty([2 * n for n in x.shape], np.float32, order="F")
        out = wide[tuple(slice(None, None, 2) for _ in x.shape)]
        out[...] = x
        return out

    _, y, _, gradients = run(name)
    _, y2, _, gradients2 = run(name, arrays=[odd(x) for x in OPS[name][1]])
    for a, b in zip([y, *gradients], [y2, *gradients2], strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)
        assert b.shape == a.shape


def test_without_a_leaf_there_is_no_graph(name):
    f, inputs = OPS[name]
    y = f(*[Tensor(x) for x in inputs])
    assert all(x.node is None and not x.requires_grad for x in (y if isinstance(y, tuple | list) else [y]))


# Dtypes ---------------------------------------------------------------------------------------------------------------

f32, f64 = Tensor([1.5, 2.5]), Tensor([1.5, 2.5], dtype="float64")
i64, i32, u8, bools = (Tensor([1, 2], dtype=d) for d in ("int64", "int32", "uint8", "bool"))


# Python's and NumPy's scalars are weak: they take the Tensor's dtype, but a float turns integers into floats. Arrays
# are Tensors of their dtype. Functions of integers are float32; their sums and products are int64.
DTYPES = {
    "float32": """
        f32 + f32; f32 * i64; i32 * f32; u8 - f32; f32 * bools; i64 / i64; u8 / 255; 1 / i64; i64**0.5; f32 * 2;
        f32 * 2.5; 2.5 - f32; f32 + True; f32 / np.sqrt(2); np.float64(2) * f32; f32 * np.float32(2); i64 * 2.5;
        i64 * np.float64(2.5); bools * 2.5; f32.maximum(0); ops.where(bools, f32, 0.0); ops.where(bools, i64, 0.5);
        ops.where(bools, 1.0, 0.0); ops.where(bools, f32, i64); np.ones(2, np.float32) * f32; f32 + [1.0, 2.0];
        [0.1, 0.3] * f32; ops.mul(f32, np.float32(0.1));
        i64.exp(); u8.exp(); bools.exp(); i32.sqrt(); i64.erf(); i64.sigmoid(); i64.leaky_relu(); i64.softmax();
        i64.mean(); i64.var(); i64 @ f32; f32.sum(); f64.float()""",
    "float64": """
        f64 + f64; f32 + f64; f64 * i64; bools * f64; f64 * np.float32(2); f64 * 2.5; f64 * [0.1, 0.3];
        f64 * np.int64(2);
        f64.clip(0, 1); ops.where(bools, f64, 0); f32 * np.ones(2); f64.mean(); f32.double();
        ops.cast(f32, dtype="float64"); f32.to(np.float64)""",
    "int64": """
        i64 + i64; i32 + i64; i64 + bools; i64 // 2; i64 % 2; i64**2; i64 * 2; i64.clip(0, 1);
        ops.where(bools, i64, 0); i64.relu(); i64.abs(); bools.sum(); u8.sum(); i32.sum(); u8.cumsum(); u8.prod();
        f32.argmax(); f32.argsort(); i64.one_hot(3); f32.sort()[1]; f32.long(); i64.scatter(0, [0], Tensor([5]));
        i64.scatter(0, [0], 5); i64.scatter_add(0, [0], 5)""",
    "int32": """
        i32 + i32; i32 * np.int64(2); -i32; f32.int(); ops.cat(i32, i32); i32.pad((1, 1))""",
    "uint8": """
        u8 + u8; u8 + 1; u8.max(); f32.cast("uint8"); u8.reshape(2, 1); u8.T""",
    "bool": """
        bools + bools; f32 > 1; i64 == i64; f32.isnan(); ~bools; bools & bools; f32.any(); f32.bool(); bools[0];
        bools.scatter(0, [0], True)""",
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_have_the_listed_dtype(dtype):
    for call in DTYPES[dtype].split(";"):
        for _ in range(3):  # from the second call on each op has its own code
            assert eval(call.strip()).dtype == dtype, call


@pytest.mark.parametrize(("data", "dtype"), [
    (1, "int64"), (1.5, "float32"), (True, "bool"), ([1, 2], "int64"), ([1.0, 2], "float32"), ([[True]], "bool"),
    ([], "float32"),
    (np.arange(2), "int64"), (np.arange(2.0), "float64"), (np.float64(1), "float64"), (np.float32(1), "float32"),
    (np.zeros(2, np.uint8), "uint8"), (np.zeros(2, ">f4"), "float32"), ([np.float64(1)], "float32"),
    (range(3), "int64"), (Tensor([1.0], dtype="float64"), "float64"),
])
def test_data_determines_the_dtype(data, dtype):
    assert Tensor(data).dtype == dtype
    assert Tensor(data).dtype is np.dtype(dtype)  # the same object, since dtypes are compared with `is`
    assert Tensor(data, dtype="float64").dtype == "float64"


def test_unpickled_dtypes_become_numpys_own_objects():
    """An unpickled dtype equals np.dtype("float32") but is another object."""
    for name in ("float32", "float64", "int64", "bool"):
        array = pickle_round_trip(np.ones(2, name))
        for t in (Tensor(array), Tensor.from_numpy(array), Tensor(array.tolist(), dtype=array.dtype), f32 * 0 + 1):
            assert t.dtype is np.dtype(t.dtype.name)
    weight, x = Tensor(pickle_round_trip(np.ones((1, 2), np.float32))), Tensor([1.0, 2.0], requires_grad=True)
    ops.linear(x, weight).sum().backward()
    mask = pickle_round_trip(np.array([True, False]))
    assert x[mask].shape == (1,) and ops.where(Tensor(mask), x, 0.0).dtype == "float32"


def pickle_round_trip(array):
    return pickle.loads(pickle.dumps(array))


def test_inputs_of_mixed_dtypes_get_gradients_in_their_own():
    a, b, k = Tensor([1.5], requires_grad=True), Tensor([2.5], requires_grad=True, dtype="float64"), Tensor([3])
    da, db = (a * b * k).sum().gradient(a, b)
    assert (da.dtype, db.dtype) == ("float32", "float64") and da.item() == 7.5 and db.item() == 4.5
    da, db = ops.where([True], a, b).sum().gradient(a, b)
    assert (da.dtype, db.dtype) == ("float32", "float64")
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    for y in (x * [[1, 2]], x / Tensor([1, 2]), x ** Tensor([1, 2]), x @ Tensor([[1], [2]]), x.maximum(Tensor([1, 2]))):
        for how in ({}, {"create_graph": True}):
            g, = y.sum().gradient(x, retain_graph=True, **how)
            assert y.dtype == g.dtype == "float32" and np.isfinite(g.detach().numpy()).all()


def test_weak_scalars_lose_no_digits():
    """The logarithm of the base is computed in double precision."""
    for base in (2, 2.0, np.float32(2)):
        x = Tensor([1.5], requires_grad=True, dtype="float64")
        g, = (base**x).gradient(x)
        assert g.item() == pytest.approx(2**1.5 * np.log(2), rel=1e-15)


def test_a_cast_to_integers_ends_the_graph():
    x = Tensor([1.7], requires_grad=True)
    assert not x.int().requires_grad and not (x > 1).requires_grad and not x.argmax().requires_grad
    y = x.double().float() * 2
    assert y.gradient(x)[0].dtype == "float32"


# Empty and 0-d --------------------------------------------------------------------------------------------------------


def empty(*shape):
    return Tensor(np.zeros(shape, np.float32), requires_grad=True)


EMPTY = {  # the shape of x, or those of a, b and c: calls -> the shape of the result
    "(0,)": """
        x + 1 -> (0,); x.erf() -> (0,); x.gelu() -> (0,); x.sum() -> (); x.prod() -> (); x.norm() -> ();
        x.sigmoid() -> (0,); x.expand(4, 0) -> (4, 0); x.roll(1) -> (0,); x.pad((1, 2)) -> (3,);
        ops.where(np.zeros((0,), bool), x, 0.0) -> (0,); x.clip(0, 1) -> (0,)""",
    "(0, 3), (3,)": "a * b -> (0, 3)",
    "(0, 1), (1, 2)": "a / b -> (0, 2)",
    "(2, 0)": "x.exp() -> (2, 0)",
    "(0, 3)": """
        x.sum(axis=0) -> (3,); x.sum(axis=1) -> (0,); x.mean(axis=1) -> (0,); x.max(axis=1) -> (0,);
        x.prod(axis=0) -> (3,); x.prod(axis=1) -> (0,); x.cumsum() -> (0, 3); x.var(axis=1) -> (0,);
        x.norm(axis=0) -> (3,); x.softmax() -> (0, 3); x.log_softmax(axis=1) -> (0, 3);
        x.logsumexp(axis=1) -> (0,); ops.cross_entropy(x, np.zeros(0, int), reduction="sum") -> ();
        ops.cross_entropy(x, np.zeros(0, int), reduction="none") -> (0,);
        ops.nll_loss(x, np.zeros(0, int), reduction="sum") -> ();
        ops.mse_loss(x, np.zeros((0, 3), np.float32), reduction="sum") -> ()""",
    "(2, 0), (0, 3)": 'ops.matmul(a, b) -> (2, 3); ops.einsum("ij,jk->ik", a, b) -> (2, 3)',
    "(0, 2), (2, 3)": "ops.matmul(a, b) -> (0, 3)",
    "(0,), (0,)": "ops.matmul(a, b) -> (); ops.cat(a, b) -> (0,)",
    "(0, 2, 3), (3, 4)": "ops.matmul(a, b) -> (0, 2, 4)",
    "(0, 2, 3), (0, 3, 4)": "ops.matmul(a, b) -> (0, 2, 4)",
    "(0, 3), (2, 3), (2,)": "ops.linear(a, b, c) -> (0, 2)",
    "(2, 0), (3, 0), (3,)": "ops.linear(a, b, c) -> (2, 3)",
    "(0,), (3,)": "ops.outer(a, b) -> (0, 3)",
    "(0, 3), (2, 3)": "ops.cat(a, b) -> (2, 3)",
    "(0, 3), (0, 3)": "ops.stack(a, b) -> (2, 0, 3)",
    "(0, 2)": """
        x.reshape(3, 0) -> (3, 0); x.reshape(-1, 2) -> (0, 2); x.flatten() -> (0,); x.T -> (2, 0);
        x.flip(0) -> (0, 2); x.repeat(2, 3) -> (0, 6); x.split(2)[0] -> (0, 2); x.tril() -> (0, 2);
        x[:, None] -> (0, 1, 2); x.sort()[0] -> (0, 2)""",
    "(1, 3)": "x.expand(0, 3) -> (0, 3)",
    "(3, 2)": """
        x.repeat(0, 1) -> (0, 2); x[1:1] -> (0, 2); x[[]] -> (0, 2); x[np.zeros(3, bool)] -> (0, 2);
        x.gather(0, np.zeros((0, 2), int)) -> (0, 2)""",
    "(3,)": "x.topk(0)[0] -> (0,)",
    "(0, 3, 5)": 'ops.cross_entropy(x, np.zeros((0, 5), int), reduction="none") -> (0, 5)',
    "(0, 4)": "ops.glu(x) -> (0, 2)",
    **{f"({n}, {c}, 4, 4)": f"ops.max_pool2d(x, 2) -> ({n}, {c}, 2, 2); ops.avg_pool2d(x, 2) -> ({n}, {c}, 2, 2); "
       f"ops.adaptive_avg_pool2d(x, 3) -> ({n}, {c}, 3, 3); ops.interpolate(x, scale_factor=2) -> ({n}, {c}, 8, 8)"
       for n, c in ((0, 3), (2, 0))},
    "(0, 3, 8, 8), (4, 3, 3, 3)": "ops.conv2d(a, b) -> (0, 4, 6, 6)",
    "(0, 4, 5, 5), (4, 3, 3, 3), (3,)": "ops.conv_transpose2d(a, b, c, stride=2) -> (0, 3, 11, 11)",
    "(0, 4), (4,), (4,)": "ops.layer_norm(a, b, c) -> (0, 4)",
    "(3, 0, 4), (4,), (4,)": "ops.layer_norm(a, b, c) -> (3, 0, 4)",
    "(0, 2, 4), (2, 4), (2, 4)": "ops.layer_norm(a, b, c) -> (0, 2, 4)",
    "(0, 4), (4,)": "ops.rms_norm(a, b) -> (0, 4)",
    "(0, 4, 3), (4,), (4,)": "ops.group_norm(a, b, c, num_groups=2) -> (0, 4, 3)",
    "(0, 4, 3, 3), (4,), (4,)": """
        ops.instance_norm(a, b, c) -> (0, 4, 3, 3);
        ops.batch_norm(a, b, c, np.zeros(4, np.float32), np.ones(4, np.float32)) -> (0, 4, 3, 3)""",
    "(5, 4)": "ops.embedding(np.zeros(0, int), x) -> (0, 4)",
}


@pytest.mark.parametrize("shapes", EMPTY)
@pytest.mark.parametrize("create_graph", [False, True])
def test_empty_inputs_have_results_and_gradients(shapes, create_graph):
    for case in EMPTY[shapes].split(";"):
        call, shape = case.strip().split(" -> ")
        xs = [empty(*s) for s in eval(f"[{shapes}]")]
        y = eval(call, globals(), dict(zip("x" if len(xs) == 1 else "abc", xs, strict=False)))
        assert y.shape == eval(shape) and y.dtype == "float32", case
        gradients = y.gradient(*xs, gradient=np.ones(y.shape), create_graph=create_graph, materialize_grads=True)
        assert [g.shape for g in gradients] == [x.shape for x in xs], case
        assert all(np.isfinite(g.numpy(force=True)).all() for g in gradients), case
        assert y.size or not any(g.numpy(force=True).any() for g in gradients), case


def test_an_empty_sum_is_0_and_an_empty_product_1():
    assert empty(0).sum().item() == 0 and empty(0).prod().item() == 1
    assert (empty(2, 0) @ empty(0, 3)).detach().numpy().tolist() == [[0, 0, 0]] * 2
    assert ops.linear(empty(1, 0), empty(2, 0), Tensor([1.0, 2.0])).detach().numpy().tolist() == [[1, 2]]


def test_a_mean_over_no_labels_is_nan_with_gradient_0():
    """A batch whose labels are all ignored does not disturb the weights, as in PyTorch."""
    for loss in (ops.cross_entropy, ops.nll_loss):
        for how in ({}, {"create_graph": True}):
            x = Tensor(np.ones((2, 3)), requires_grad=True, dtype="float32")
            y = loss(x, [-100, -100])
            assert np.isnan(y.item())
            assert y.gradient(x, **how)[0].detach().numpy().tolist() == [[0, 0, 0]] * 2


def test_masked_classes_do_not_disturb_the_others():
    """A logit of -inf excludes a class: unless it is the label, loss and gradient are finite."""
    x = Tensor([[0.0, -np.inf, 1.0], [-np.inf, 0.0, 0.0]], requires_grad=True)
    for loss in (ops.cross_entropy, lambda x, t: ops.nll_loss(x.log_softmax(), t)):
        for how in ({}, {"create_graph": True}):
            y = loss(x, [0, -100])
            assert y.item() == pytest.approx(np.log(1 + np.e))
            g, = y.gradient(x, **how)
            p = 1 / (1 + np.e)
            np.testing.assert_allclose(g.detach().numpy(), [[p - 1, 0, 1 - p], [0, 0, 0]], atol=1e-6)


NUMBERS = {  # value and slope -> calls on x = 2
    (2, 1): """x.sum(); x.mean(); x.max(); x.prod(); x.norm(); x.logsumexp(); x.reshape(1)[0]; x.unsqueeze(0).squeeze();
        x[None].sum(); x[...]; x[()]; x.flatten().sum(); ops.where(True, x, 0.0); x.T; x.flip(); x[True].sum()""",
    (4, 4): 'x * x; ops.einsum(",->", x, x)', (1, 0): "x.clip(0, 1)", (4, 2): "ops.stack(x, x).sum()",
    (6, 3): "x.expand(3).sum()", (1, 2): "ops.mse_loss(x, Tensor(1.0))", (np.exp(2), np.exp(2)): "x.exp()",
    (np.log1p(np.exp(2)), 1 / (1 + np.exp(-2))): "x.softplus()",
}


@pytest.mark.parametrize("found", NUMBERS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_0d_results_stay_arrays_with_the_right_slope(found, create_graph):
    for call in NUMBERS[found].split(";"):
        x = Tensor(2.0, requires_grad=True)
        y = eval(call.strip())
        g, = y.gradient(x, create_graph=create_graph)
        assert x.shape == y.shape == g.shape == () and y.dtype == g.dtype == "float32", call
        assert isinstance(y._data, np.ndarray) and isinstance(g._data, np.ndarray), call
        assert (y.item(), g.item()) == pytest.approx(found, rel=1e-6), call
