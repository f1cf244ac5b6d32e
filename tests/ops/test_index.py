"""Labels and indices in memory that was changed after the forward: backward writes nothing out of bounds."""

import numpy as np
import pytest

from tinygrad_like import Tensor, ops

BAD = [10**6, -1, -(2**62), 2**62]


def changed(make, index, bad):
    """The gradient of what `make` computes from an index on the caller's memory, changed before backward."""
    index = np.array(index)
    y = make(Tensor.from_numpy(index))
    index[len(index) // 2] = bad
    y.sum().backward()


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("rows", [6, 4000])
@pytest.mark.parametrize("options", [{}, {"reduction": "sum", "label_smoothing": 0.1}, {"reduction": "none"}], ids=str)
def test_labels_of_cross_entropy(options, rows, bad):
    x = Tensor.randn(rows, 9, requires_grad=True)
    with pytest.raises(IndexError, match="cross_entropy: label .* is out of range for 9 classes"):
        changed(lambda labels: ops.cross_entropy(x, labels, **options), np.arange(rows) % 9, bad)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("rows", [6, 4000])
def test_index_of_an_embedding(rows, bad):
    weight = Tensor.randn(9, 16, requires_grad=True)
    with pytest.raises(IndexError, match="embedding: index .* is out of range for a table of 9 rows"):
        changed(lambda index: ops.embedding(index, weight), np.arange(rows) % 9, bad)


@pytest.mark.parametrize("name", ["nll_loss", "gather", "scatter", "scatter_add", "getitem"])
@pytest.mark.parametrize("rows", [6, 4000])
def test_other_indices_are_copied(name, rows):
    calls = {
        "nll_loss": lambda x, i: ops.nll_loss(x, i, reduction="sum"),
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


def test_an_index_that_names_no_tap_writes_nowhere():
    x = Tensor.randn(2, 3, 40, 40, requires_grad=True)
    windows = ops.pool.windows_of("max_pool2d", x, 2, 3, 2, 0, 1, False)
    _, residuals = ops.pool.max_windows.forward(x.numpy().copy(), windows=windows)
    index = residuals["index"].copy()
    index[0, 0, 0, 0] = 255
    g = np.ones(index.shape, np.float32)
    put = ops.pool.put_taps.forward(g, index=index, shape=x.shape, windows=windows)
    assert put.sum() == index.size - 1


def test_the_padding_row_counted_from_the_end_counts_in_no_order():
    weight, g = Tensor.ones(4, 2, requires_grad=True), Tensor.ones(3, 2, requires_grad=True)
    y = ops.embedding(Tensor([0, 3, 2]), weight, padding_idx=-2)
    dweight, = y.gradient(weight, gradient=g, create_graph=True)
    dg, = (dweight * weight).sum().gradient(g)
    assert dweight.tolist() == [[1, 1], [0, 0], [0, 0], [1, 1]] and dg.tolist() == [[1, 1], [1, 1], [0, 0]]


def test_one_hot_counts_the_classes_of_small_integers():
    for dtype in ("uint8", "int8", "int32"):
        assert Tensor([0, 2], dtype=dtype).one_hot().tolist() == [[1, 0, 0], [0, 0, 1]]
        assert Tensor(np.zeros(0, dtype)).one_hot().shape == (0, 0)
