"""Values and gradients of random calls against NumPy: any shape (also empty and 0-d), axes, index and formula."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tinygrad_like import Tensor, ops

quick = settings(max_examples=50, deadline=None, derandomize=True, database=None)  # the same examples in every run

shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
small = st.integers(-4, 4)  # integers, many of them equal: sums are exact, and ties occur


def array(shape, dtype="float64"):
    elements = st.booleans() if dtype == "bool" else small.map(float) if dtype.startswith("f") else small
    return hnp.arrays(dtype, shape, elements=elements, fill=st.nothing())


arrays = shapes.flatmap(array)
dtypes = st.sampled_from(["float32", "float64", "int64", "int32", "bool"])
any_arrays = st.tuples(shapes, dtypes).flatmap(lambda a: array(*a))
nonempty = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4).flatmap(array)


def axis_of(x, none=True):
    """None, one axis, or several, from the front or the back."""
    if x.ndim == 0:
        return st.none() if none else st.nothing()
    one = st.integers(-x.ndim, x.ndim - 1)
    several = st.lists(st.integers(0, x.ndim - 1), unique=True, min_size=1).map(
        lambda a: tuple(i - x.ndim if i % 2 else i for i in a))
    return st.one_of(st.none(), one, several) if none else one


def same(actual, expected, dtype=None):
    """Equal values, shape and dtype, which is NumPy's by default."""
    expected = np.asarray(expected)
    actual = actual.detach().numpy()
    assert actual.shape == expected.shape
    assert actual.dtype == (dtype or expected.dtype)
    np.testing.assert_array_equal(actual, expected)


def close(actual, expected, rtol=1e-12, atol=1e-12):
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual.numpy(), expected, rtol=rtol, atol=atol)


def gradients(f, *inputs, seed=0):
    """f's value, a random cotangent, and the gradients as arrays."""
    xs = [Tensor(x, requires_grad=True, dtype="float64") for x in inputs]
    y = f(*xs)
    g = np.random.default_rng(seed).integers(-5, 6, y.shape).astype("float64")
    return y, g, [t.numpy() for t in y.gradient(*xs, gradient=g, materialize_grads=True)]


def unbroadcast(g, shape):
    """Sum g down to a shape that broadcasts to g's."""
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)


# Elementwise ----------------------------------------------------------------------------------------------------------


@quick
@given(st.data())
def test_arithmetic_broadcasts_as_in_numpy(data):
    found = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=4, min_side=0, max_side=4))
    a, b = (data.draw(array(s)) for s in found.input_shapes)
    for op, numpy, da, db in (
        (ops.add, np.add, lambda g: g, lambda g: g),
        (ops.sub, np.subtract, lambda g: g, lambda g: -g),
        (ops.mul, np.multiply, lambda g: g * b, lambda g: g * a),
    ):
        y, g, found = gradients(op, a, b)
        same(y, numpy(a, b))
        for actual, wanted, x in zip(found, (da(g), db(g)), (a, b), strict=True):
            assert np.array_equal(actual, unbroadcast(np.broadcast_to(wanted, g.shape), x.shape))


@quick
@given(st.data())
def test_arithmetic_has_numpys_dtypes(data):
    """Except that only a float64 input makes a float64."""
    a = data.draw(any_arrays)
    b = data.draw(array(a.shape, data.draw(dtypes)))
    for op, numpy in ((ops.add, np.add), (ops.mul, np.multiply), (ops.maximum, np.maximum), (ops.eq, np.equal),
                      (ops.lt, np.less)):
        expected = numpy(a, b)
        narrowed = expected.dtype == "float64" and "float64" not in (a.dtype, b.dtype)
        same(op(Tensor(a), Tensor(b)), expected, "float32" if narrowed else None)


@quick
@given(any_arrays, small, st.booleans())
def test_python_scalars_are_weak(x, k, whole):
    k = k if whole else k + 0.5
    expected = x + k
    same(Tensor(x) + k, expected, "float32" if expected.dtype == "float64" and x.dtype != "float64" else None)
    same(k + Tensor(x), expected, "float32" if expected.dtype == "float64" and x.dtype != "float64" else None)


# Reductions -----------------------------------------------------------------------------------------------------------


@quick
@given(st.data(), st.booleans())
def test_reductions_equal_numpys(data, keepdim):
    x = data.draw(arrays)
    axis = data.draw(axis_of(x))
    for name in ("sum", "prod", "any", "all"):
        same(getattr(Tensor(x), name)(axis=axis, keepdim=keepdim), getattr(np, name)(x, axis=axis, keepdims=keepdim))
    y, g, (dx,) = gradients(lambda x: x.sum(axis=axis, keepdim=keepdim), x)
    expected = np.sum(x, axis=axis, keepdims=True)
    assert np.array_equal(dx, np.broadcast_to(g.reshape(expected.shape), x.shape))


@quick
@given(st.data(), st.booleans())
def test_reductions_of_nonempty_arrays_equal_numpys(data, keepdim):
    x = data.draw(nonempty)
    axis = data.draw(axis_of(x))
    for name in ("max", "min"):
        y, g, (dx,) = gradients(lambda x: getattr(x, name)(axis=axis, keepdim=keepdim), x)  # noqa: B023
        same(y, getattr(np, name)(x, axis=axis, keepdims=keepdim))
        hit = x == getattr(np, name)(x, axis=axis, keepdims=True)
        share = hit / hit.sum(axis=axis, keepdims=True)
        np.testing.assert_allclose(dx, share * g.reshape(share.sum(axis=axis, keepdims=True).shape), rtol=1e-12)
    close(Tensor(x).mean(axis=axis, keepdim=keepdim), x.mean(axis=axis, keepdims=keepdim))
    close(Tensor(x).var(axis=axis, keepdim=keepdim, correction=0), x.var(axis=axis, keepdims=keepdim))
    close(Tensor(x).std(axis=axis, keepdim=keepdim, correction=0), x.std(axis=axis, keepdims=keepdim))
    if not isinstance(axis, tuple):
        same(Tensor(x).argmax(axis=axis, keepdim=keepdim), x.argmax(axis=axis, keepdims=keepdim))
        same(Tensor(x).argmin(axis=axis, keepdim=keepdim), x.argmin(axis=axis, keepdims=keepdim))
    close(Tensor(x).logsumexp(axis=axis, keepdim=keepdim), np.log(np.exp(x).sum(axis=axis, keepdims=keepdim)))
    close(Tensor(x).norm(axis=axis, keepdim=keepdim), np.sqrt((x * x).sum(axis=axis, keepdims=keepdim)))
    if isinstance(axis, int):
        e = np.exp(x)
        close(Tensor(x).softmax(axis=axis), e / e.sum(axis=axis, keepdims=True))
        close(Tensor(x).log_softmax(axis=axis), x - np.log(e.sum(axis=axis, keepdims=True)))


# Shape ----------------------------------------------------------------------------------------------------------------


def moved(f, numpy, x):
    """f moves elements as numpy does, and its gradient moves them back."""
    y, g, (dx,) = gradients(f, x)
    same(y, numpy(x))
    places = numpy(np.arange(x.size).reshape(x.shape))
    expected = np.zeros(x.size)
    np.add.at(expected, places, g)
    assert np.array_equal(dx, expected.reshape(x.shape))


@quick
@given(st.data())
def test_reshape_equals_numpys(data):
    x = data.draw(arrays)
    factors = [n for n in range(1, x.size + 1) if x.size % n == 0] or [0, 3]
    n = data.draw(st.sampled_from(factors))
    shape = (n, x.size // n) if x.size else (n, 0)
    moved(lambda x: x.reshape(shape), lambda x: x.reshape(shape), x)
    if n and x.size:
        moved(lambda x: x.reshape(n, -1), lambda x: x.reshape(n, -1), x)


# Indices --------------------------------------------------------------------------------------------------------------


@st.composite
def any_index(draw, shape):
    """Integers, slices, None, an Ellipsis, integer arrays that broadcast and a boolean mask, in any mix."""
    start, stop = sorted((draw(st.integers(0, len(shape))), draw(st.integers(0, len(shape)))))
    if draw(st.booleans()):
        axes = [*range(start), ..., *range(stop, len(shape))]
    else:
        axes = list(range(stop))
    wide = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3))  # of the integer arrays
    parts, masked = [], False
    while axes:
        axis = axes.pop(0)
        n = 0 if axis is ... else shape[axis]
        kind = draw(st.sampled_from(["int", "slice", "array", "list", "mask"]))
        if draw(st.integers(0, 5)) == 0:
            parts.append(None)
        if axis is ...:
            parts.append(...)
        elif kind == "mask" and not masked:
            two = axes[:1] == [axis + 1] and draw(st.booleans())
            mask = draw(array(shape[axis : axis + 1 + two], "bool"))
            parts.append(mask)
            masked, wide, axes = True, (int(mask.sum()),), axes[two:]
        elif kind == "slice" or n == 0:
            parts.append(draw(st.slices(n)))
        elif kind == "int":
            parts.append(draw(st.integers(-n, n - 1)))
        else:
            parts.append((n, kind))  # drawn below: its shape must fit a later mask's
    for i, part in enumerate(parts):
        if isinstance(part, tuple):
            n, kind = part
            dtype = draw(st.sampled_from(["int64", "int32", "uint8"]))
            index = draw(hnp.arrays(dtype, wide, elements=st.integers(0 if dtype == "uint8" else -n, n - 1)))
            parts[i] = index.tolist() if kind == "list" and index.size else index
    return tuple(parts) if len(parts) != 1 or draw(st.booleans()) else parts[0]


def integers_first(x, index):
    """The view of x that an index's integers name, and the rest of the index. PyTorch indexes in this order."""
    parts = index if isinstance(index, tuple) else (index,)
    axes = [0 if i is None or i is ... else i.ndim if getattr(i, "dtype", None) is np.dtype(bool) else 1 for i in parts]
    first, rest = [], []
    for i, n in zip(parts, axes, strict=True):
        if i is ...:
            before = [slice(None)] * (x.ndim - sum(axes))
            first += before
            rest += [...] if before else []
        elif n and np.ndim(i) == 0 and not isinstance(i, slice):
            first.append(int(i))
        else:
            first += [slice(None)] * n
            rest.append(i)
    return x[(*first, ...)], tuple(rest)


def item(x, index):
    part, rest = integers_first(x, index)
    return part[rest]


@settings(quick, max_examples=300)
@given(st.data())
def test_any_index_reads_as_pytorchs(data):
    x = data.draw(arrays)
    index = data.draw(any_index(x.shape))
    moved(lambda x: x[index], lambda x: item(x, index), x)
    parts = index if isinstance(index, tuple) else (index,)
    same(Tensor(x)[tuple(Tensor(i) if isinstance(i, np.ndarray) else i for i in parts)], item(x, index))


@settings(quick, max_examples=200)
@given(st.data())
def test_any_index_writes_as_pytorchs(data):
    x = data.draw(any_arrays)
    index = data.draw(any_index(x.shape))
    t, expected = Tensor(x), x.copy()
    part, rest = integers_first(expected, index)  # a view
    value = np.arange(part[rest].size).reshape(part[rest].shape) % 2
    t[index], part[rest] = value, value
    same(t, expected)
    t[index], part[rest] = 1, 1
    same(t, expected)


def places(shape):
    return itertools.product(*[range(n) for n in shape])


@st.composite
def gather_case(draw):
    x = draw(nonempty)
    axis = draw(axis_of(x, none=False))
    length = draw(st.integers(0, 4))
    shape = tuple(length if a == axis % x.ndim else draw(st.integers(0, n)) for a, n in enumerate(x.shape))
    n = x.shape[axis]
    return x, axis, draw(hnp.arrays("int64", shape, elements=st.integers(0, n - 1)))


@quick
@given(gather_case())
def test_gather_equals_a_loop(case):
    x, axis, index = case

    def loop(x):
        out = np.empty(index.shape, x.dtype)
        for p in places(index.shape):
            source = list(p)
            source[axis] = index[p]
            out[p] = x[tuple(source)]
        return out

    moved(lambda x: x.gather(axis, index), loop, x)


@quick
@given(gather_case(), st.data())
def test_scatter_equals_a_loop(case, data):
    x, axis, index = case
    src = data.draw(array(index.shape))
    added, written = x.copy(), x.copy()
    owner = np.full(x.shape, -1)
    numbers = np.arange(index.size).reshape(index.shape)
    for p in places(index.shape):
        target = list(p)
        target[axis] = index[p]
        added[tuple(target)] += src[p]
        written[tuple(target)], owner[tuple(target)] = src[p], numbers[p]

    y, g, (dx, dsrc) = gradients(lambda x, s: x.scatter_add(axis, index, s), x, src)
    same(y, added)
    assert np.array_equal(dx, g)
    along = [index if a == axis % x.ndim else i for a, i in enumerate(np.indices(index.shape))]
    assert np.array_equal(dsrc, g[tuple(along)])

    y, g, (dx, dsrc) = gradients(lambda x, s: x.scatter(axis, index, s), x, src)
    same(y, written)
    assert np.array_equal(dx, np.where(owner < 0, g, 0))
    assert np.array_equal(dsrc, np.where(owner[tuple(along)] == numbers, g[tuple(along)], 0))

    k = data.draw(small)
    same(Tensor(x).scatter(axis, index, float(k)), np.where(owner < 0, x, k))


# Products -------------------------------------------------------------------------------------------------------------


@quick
@given(st.data())
def test_matmul_equals_numpys(data):
    found = data.draw(hnp.mutually_broadcastable_shapes(
        signature="(m?,k),(k,n?)->(m?,n?)", max_dims=2, min_side=0, max_side=3))
    a, b = (data.draw(array(s)) for s in found.input_shapes)
    y, g, (da, db) = gradients(ops.matmul, a, b)
    same(y, np.matmul(a, b))
    a2, b2 = a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b
    g = g.reshape(np.matmul(a2, b2).shape)
    assert np.array_equal(da, unbroadcast(g @ b2.swapaxes(-1, -2), a2.shape).reshape(a.shape))
    assert np.array_equal(db, unbroadcast(a2.swapaxes(-1, -2) @ g, b2.shape).reshape(b.shape))
    same(Tensor(a.astype("int64")) @ Tensor(b.astype("int64")), np.matmul(a, b).astype("int64"))


@settings(quick, max_examples=150)
@given(st.data())
def test_einsum_equals_numpys(data):
    letters = "ijkl"
    sizes = dict(zip(letters, data.draw(st.lists(st.integers(0, 3), min_size=4, max_size=4)), strict=True))
    terms = data.draw(st.lists(st.text(letters, max_size=3), min_size=1, max_size=3))
    hidden = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=2))
    dots = [data.draw(st.booleans()) for _ in terms]
    sides = [data.draw(st.booleans()) for _ in terms]
    dotted = [t if not d else "..." + t if left else t + "..." for t, d, left in zip(terms, dots, sides, strict=True)]
    formula = ",".join(dotted)
    used = sorted(set("".join(terms)))
    if data.draw(st.booleans()):
        kept = data.draw(st.permutations(used).map(lambda p: p[: len(p) // 2 + 1]))
        formula += "->" + ("..." if any(dots) else "") + "".join(kept)
    xs = []
    for term, dot in zip(dotted, dots, strict=True):
        own = hidden[data.draw(st.integers(0, len(hidden))):] if dot else ()
        before, _, after = term.partition("...")
        xs.append(data.draw(array((*(sizes[c] for c in before), *own, *(sizes[c] for c in after)))))
    y, g, found = gradients(lambda *xs: ops.einsum(formula, *xs), *xs)
    same(y, np.einsum(formula, *xs))
    # The gradient with respect to each operand is linear in it: <g, einsum(..., h, ...)> = <dx, h>.
    for i, dx in enumerate(found):
        h = np.arange(xs[i].size, dtype="float64").reshape(xs[i].shape) % 5 - 2
        assert np.vdot(g, np.einsum(formula, *xs[:i], h, *xs[i + 1 :])) == np.vdot(dx, h)


# Creation -------------------------------------------------------------------------------------------------------------


@quick
@given(small, small, st.integers(1, 3), st.integers(1, 5), shapes)
def test_creation_equals_numpys(start, stop, step, steps, shape):
    same(Tensor.arange(start, stop, step), np.arange(start, stop, step))
    same(Tensor.arange(stop, start, -step), np.arange(stop, start, -step))
    close(Tensor.linspace(start, stop, steps), np.linspace(start, stop, steps), rtol=1e-6)
    same(Tensor.zeros(shape), np.zeros(shape, "float32"))
    same(Tensor.ones(shape, dtype="int64"), np.ones(shape, "int64"))
    same(Tensor.full(shape, start), np.full(shape, start))
    same(Tensor.full(shape, start + 0.5), np.full(shape, start + 0.5, "float32"))
    same(Tensor.eye(steps, step), np.eye(steps, step, dtype="float32"))
    for t in (Tensor.rand(shape), Tensor.randn(*shape), Tensor.uniform(shape, low=2, high=3),
              Tensor.randint(shape, low=-1, high=2)):
        assert t.shape == shape
    assert np.array_equal(np.sort(Tensor.randperm(steps).numpy()), np.arange(steps))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_arrays_go_to_numpy_and_back(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    t = Tensor(x)
    assert np.array_equal(t.numpy(), x) and not np.shares_memory(t.numpy(), x) and not t.numpy().flags.writeable
    assert np.shares_memory(Tensor.from_numpy(x).numpy(), x) and np.shares_memory(np.asarray(t), t._data)
    assert t.tolist() == x.tolist() and np.array_equal(np.array(t), x) and np.array_equal(np.from_dlpack(t), x)
    assert np.shares_memory(Tensor.from_dlpack(x).numpy(), x)
