"""Indices: those changed after the forward, of any layout, out of range, and in sorting and searching."""

import numpy as np
import pytest

from tinygrad_like import Tensor, capture, ops

BAD = [9, 10**6, -1, -(2**62), 2**62]  # of 9


def changed(make, index, bad):
    """Run backward of `make(index)` after the index changed in the caller's memory."""
    index = np.array(index)
    y = make(Tensor.from_numpy(index))
    index[len(index) // 2] = bad
    y.sum().backward()


@pytest.mark.needs("kernels")
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("rows", [6, 9000])
@pytest.mark.parametrize(("name", "options"), [
    ("cross_entropy", {}), ("cross_entropy", {"reduction": "none"})], ids=str)
def test_labels_changed_before_backward_are_checked_again(name, options, rows, bad):
    x = Tensor.randn(rows, 9, requires_grad=True)
    with pytest.raises(IndexError, match=f"{name}: label .* is out of range for 9 classes"):
        changed(lambda labels: getattr(ops, name)(x, labels, **options), np.arange(rows) % 9, bad)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("rows", [6, 4000])
def test_an_embeddings_index_changed_before_backward_is_checked_again(rows, bad):
    weight = Tensor.randn(9, 16, requires_grad=True)
    with pytest.raises(IndexError, match=r"embedding: index .* is out of range for .* 9[ \d(]"):
        changed(lambda index: ops.embedding(index, weight), np.arange(rows) % 9, bad)


@pytest.mark.parametrize("name", ["gather", "scatter", "scatter_add", "getitem"])
@pytest.mark.parametrize("rows", [6, 4000])
def test_other_indices_are_copied(name, rows):
    calls = {
        "gather": lambda x, i: x.gather(1, i.reshape(-1, 1)),
        "scatter": lambda x, i: x.scatter(1, i.reshape(-1, 1), 0.0),
        "scatter_add": lambda x, i: (x * 1).scatter_add(1, i.reshape(-1, 1), x[:, :1]),
        "getitem": lambda x, i: x[np.arange(rows), i],
    }
    gradients = []
    for bad in (None, 10**6):
        x, index = Tensor.ones(rows, 9, requires_grad=True), np.arange(rows) % 9
        y = calls[name](x, Tensor.from_numpy(index))
        if bad is not None:
            index[:] = bad
        y.sum().backward()
        gradients.append(x.grad.numpy())
    np.testing.assert_array_equal(*gradients)


def test_an_invalid_tap_writes_nowhere():
    x = Tensor.randn(2, 3, 40, 40, requires_grad=True)
    windows = ops.pool.windows_of("max_pool2d", x, 2, 3, 2, 0, 1, False)
    _, residuals = ops.pool.max_windows.forward(x.detach().numpy().copy(), windows=windows)
    index = residuals["index"].copy()
    index[0, 0, 0, 0] = 255
    g = np.ones(index.shape, np.float32)
    put = ops.pool.put_taps.forward(g, index=index, shape=x.shape, windows=windows)
    assert put.sum() == index.size - 1


def test_one_hot_takes_small_integers():
    for dtype in ("uint8", "int8", "int32"):
        assert Tensor([0, 2], dtype=dtype).one_hot().tolist() == [[1, 0, 0], [0, 0, 1]]
        assert Tensor(np.zeros(0, dtype)).one_hot().shape == (0, 0)


S = slice(None)


def entries(n, *shape):
    return np.random.default_rng(n).integers(-n, n, shape)


@pytest.mark.parametrize("shape, index", [
    ((48, 40), (entries(48, 30, 30), entries(40, 30, 30))),
    ((9, 80), (entries(9, 40, 1), entries(80, 1, 30))),
    ((1000, 8), entries(1000, 2000)),
    ((5000, 8), entries(5000, 300)),
    ((4096,), entries(4096, 5000)),
    ((30, 40, 5), (S, entries(40, 77))),
    ((30, 40, 5), (S, entries(40, 77), entries(5, 77))),
    ((2, 700), (..., entries(700, 900))),
    ((30, 40, 5), (entries(30, 50), entries(40, 50), entries(5, 50))),
    ((30, 40, 5), (entries(30, 50), S, entries(5, 50))),
    ((30, 40, 5), (entries(30, 60), slice(0, 20))),
    ((600, 3), (entries(600, 0),)),
], ids=str)
def test_integer_arrays_read_and_their_gradients_add_up(shape, index):
    rng = np.random.default_rng(0)
    array = rng.standard_normal(shape).astype(np.float32)
    x = Tensor(array, requires_grad=True)
    y = x[index]
    np.testing.assert_array_equal(y.detach().numpy(), array[index])
    g = rng.standard_normal(y.shape).astype(np.float32)
    y.backward(g)
    expected = np.zeros(shape)
    np.add.at(expected, index, g)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted_of_rows_is_that_of_each_row(right):
    rng = np.random.default_rng(0)
    for n in 1, 2, 7, 8, 33:
        x, values = np.sort(rng.integers(0, 9, (3, 4, n)), -1), rng.integers(-1, 10, (3, 4, 6))
        rows = [np.searchsorted(a, v, "right" if right else "left") for a, v in
                zip(x.reshape(-1, n), values.reshape(-1, 6), strict=True)]
        found = Tensor(x).searchsorted(Tensor(values), right=right)
        np.testing.assert_array_equal(found.numpy(), np.reshape(rows, (3, 4, 6)))
    with pytest.raises(ValueError, match="all axes must agree except the last"):
        Tensor(x).searchsorted(Tensor(values[0]))
    one = x[0, 0]
    for wanted in values, values[0], 3:  # of any shape, for a row by itself
        found = Tensor(one).searchsorted(Tensor(wanted), side="right" if right else "left")
        np.testing.assert_array_equal(found.numpy(), np.searchsorted(one, wanted, "right" if right else "left"))
        assert found.shape == np.shape(wanted)
    for two in Tensor(x[0]), Tensor(1.0):
        with pytest.raises(ValueError, match="all axes must agree except the last"):
            two.searchsorted(Tensor(3))
    with pytest.raises(ValueError, match='side must be "left" or "right", got \'middle\''):
        Tensor(one).searchsorted(Tensor(3), side="middle")


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted_of_rows_treats_nan_as_the_largest(right):
    row, values = np.array([1.0, 2.0, np.nan, np.nan]), np.array([np.nan, 1.0, 2.5])
    found = Tensor(row[None]).searchsorted(Tensor(values[None]), right=right)
    assert found[0].tolist() == Tensor(row).searchsorted(Tensor(values), right=right).tolist()


@pytest.mark.parametrize("n", [200, 3000])  # few are sorted as they are
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sorting_is_stable_with_zeros_infinities_and_nan(dtype, descending, n):
    x = np.random.default_rng(0).choice([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.5, -1.5, 1e-45], (5, n))
    x = np.copysign(x, np.random.default_rng(1).standard_normal(x.shape)).astype(dtype)
    kept = np.where(np.isnan(x), np.inf, x)  # NaN behind infinity
    order = np.lexsort((np.broadcast_to(np.arange(n), x.shape), *((-kept, ~np.isnan(x)) if descending else
                                                                   (kept, np.isnan(x)))), axis=1)
    np.testing.assert_array_equal(Tensor(x).argsort(1, descending).numpy(), order)
    for k in 1, 7, 16, 17, 80:  # by the kernel, by a partition, and by sorting all
        np.testing.assert_array_equal(Tensor(x).topk(k, 1, largest=descending)[1].numpy(), order[:, :k])
        np.testing.assert_array_equal(Tensor(x.T).topk(k, 0, largest=descending)[1].numpy(), order[:, :k].T)


def test_assigning_out_of_range_writes_nothing():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    for index, value in ((Tensor([0, 2]), 5.0), ((0, 2), 5.0), (Tensor([0, 2]), np.zeros(3, "f")), ([1, -3], x[:1])):
        with pytest.raises(IndexError, match="out of range for axis") as caught:
            x[index] = value
        assert caught.value.__context__ is None and x.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match=r"value of shape \(3,\) does not broadcast to \(1, 2\)") as caught:
        x[[0]] = np.zeros(3, "f")
    assert caught.value.__context__ is None
    y = Tensor([1, 2, 3])
    y[Tensor([0, 2])] = 7
    assert y.tolist() == [7, 2, 7] and y.dtype == np.int64


X, ROW = Tensor(np.arange(9, dtype=np.float32).reshape(3, 3)), Tensor(np.arange(3, dtype=np.float32))
BY_INDEX = {  # calls with an index along an axis, where -1 is invalid
    "gather": lambda i: X.gather(0, Tensor([[i, 0, 1]])),
    "gather a row": lambda i: ROW.gather(0, Tensor([i])),
    "gather slices": lambda i: X.gather(0, Tensor([[i], [0]]).expand(2, 3)),
    "gather a part": lambda i: X.gather(0, Tensor([[i]])),
    "gather integers": lambda i: X.long().gather(1, Tensor([[i, 0], [0, 0], [1, 1]])),
    "gather many": lambda i: Tensor.zeros(3, 999).gather(0, Tensor(np.full((3, 999), i))),
    "gather many of float64": lambda i: Tensor(np.zeros((3, 999))).double().gather(0, Tensor(np.full((3, 999), i))),
    "scatter": lambda i: X.scatter(0, Tensor([[0, i, 1]]), 2.0),
    "scatter_": lambda i: X.clone().scatter_(0, Tensor([[0, i, 1]]), Tensor.ones(1, 3)),
    "scatter many": lambda i: Tensor.zeros(3, 999).scatter(0, Tensor(np.full((3, 999), i)), Tensor.ones(3, 999)),
    "scatter with add": lambda i: X.scatter(0, Tensor([[0, i, 1]]), Tensor.ones(1, 3), reduce="add"),
    "scatter_add": lambda i: X.scatter_add(0, Tensor([[0, i, 1]]), Tensor.ones(1, 3)),
    "scatter_add all": lambda i: X.scatter_add(0, Tensor(np.full((3, 3), i)), Tensor.ones(3, 3)),
    "scatter_add slices": lambda i: X.scatter_add(0, Tensor([[0], [i]]).expand(2, 3), Tensor.ones(2, 3)),
    **{f"scatter_reduce {r}, {own}": lambda i, r=r, own=own: X.scatter_reduce(
        0, Tensor([[0, i, 1]]), Tensor.ones(1, 3), reduce=r, include_self=own)
       for r in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)},
    **{f"scatter_reduce slices, {r}": lambda i, r=r: X.scatter_reduce(
        0, Tensor([[0], [i]]).expand(2, 3), Tensor.ones(2, 3), reduce=r) for r in ("sum", "prod", "mean", "amax")},
    "index_select": lambda i: X.index_select(0, Tensor([0, i])),
    "index_select, last axis": lambda i: X.index_select(-1, Tensor([i])),
    "index_add": lambda i: X.index_add(0, Tensor([i, 0]), Tensor.ones(2, 3)),
    "index_add_": lambda i: X.clone().index_add_(1, Tensor([i]), Tensor.ones(3, 1)),
    "max_unpool1d": lambda i: ops.max_unpool(Tensor.ones(1, 1, 1), Tensor([[[i]]]), 3, rank=1),
    "max_unpool2d": lambda i: ops.max_unpool(Tensor.ones(1, 1, 1, 1), Tensor([[[[i]]]]), (1, 3), rank=2),
    "embedding": lambda i: ops.embedding(Tensor([0, i]), X),
    "one_hot": lambda i: ops.one_hot(Tensor([0, i]), num_classes=3),
    "cross_entropy": lambda i: ops.cross_entropy(X, Tensor([0, i, 1])),
    "nll_loss": lambda i: ops.nll_loss(X, Tensor([0, i, 1])),
}


@pytest.mark.parametrize("case", BY_INDEX)
def test_an_index_along_an_axis_may_not_be_negative(case):
    for inside in 0, 2:
        BY_INDEX[case](inside)
    for outside in -1, -3, 3, -4, 2**40, -(2**40):
        with pytest.raises(IndexError, match=f"(index|label) {outside} .*is out of range"):
            BY_INDEX[case](outside)


def test_square_brackets_and_take_flat_count_from_the_end():
    assert X[Tensor([-1])].tolist() == [[6, 7, 8]] and ops.take_flat(X, Tensor([-1])).tolist() == [8]
    y = X * Tensor(1.0, requires_grad=True)
    y[[-1, 0]] = Tensor([[1.0], [2.0]])
    assert y.tolist() == [[2, 2, 2], [3, 4, 5], [1, 1, 1]]


@pytest.mark.parametrize("case", ["gather", "slices", "scatter_add", "index_select"])
def test_a_captured_function_checks_each_index(case):
    at = {"gather": lambda i: X.gather(0, i.reshape(1, 3)), "index_select": lambda i: X.index_select(0, i),
          "slices": lambda i: X.gather(0, i.reshape(3, 1).expand(3, 3)),
          "scatter_add": lambda i: X.scatter_add(0, i.reshape(1, 3), Tensor.ones(1, 3))}[case]
    f = capture(lambda i: at(i) * 2)
    for numbers in ([0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]):
        assert f(Tensor(numbers)).tolist() == (at(Tensor(numbers)) * 2).tolist()
    assert f.programs
    with pytest.raises(IndexError, match="index -1 .*out of range"):
        f(Tensor([0, -1, 1]))
