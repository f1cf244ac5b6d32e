import numpy as np
import pytest

import nn
from tinygrad_like import Tensor


def test_embedding_looks_up_rows():
    layer = nn.Embedding(5, 3)
    w = layer.weight.detach().numpy()
    for index in (2, [1, 1], [[0, 4], [3, 3]], np.zeros((0, 2), int)):
        np.testing.assert_array_equal(layer(Tensor(index)).detach().numpy(), w[index])
    assert repr(layer) == "Embedding(5, 3)" and repr(nn.Embedding(5, 3, -1)) == "Embedding(5, 3, padding_idx=4)"
    assert abs(nn.Embedding(300, 100).weight.detach().numpy().std() - 1) < 0.02


def test_gradient_adds_up_and_skips_padding():
    layer = nn.Embedding(4, 2, padding_idx=0)
    assert not layer.weight.detach().numpy()[0].any()
    layer(Tensor([3, 0, 3, 1])).sum().backward()
    assert layer.weight.grad.tolist() == [[0, 0], [1, 1], [0, 0], [2, 2]]


def test_gradients_of_large_tables_are_exact_and_repeatable():
    rng = np.random.default_rng(0)
    index, g = rng.integers(0, 70, 4000), rng.standard_normal((4000, 48)).astype(np.float32)
    layer = nn.Embedding(70, 48)
    expected = np.zeros((70, 48))
    np.add.at(expected, index, g)
    for _ in range(3):
        found, = layer(Tensor(index)).gradient(layer.weight, gradient=g)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=2e-5)
        again, = layer(Tensor(index)).gradient(layer.weight, gradient=g)
        np.testing.assert_array_equal(found.numpy(), again.numpy())


@pytest.mark.parametrize(("make", "error", "text"), [
    (lambda: nn.Embedding(0, 3), ValueError, "num_embeddings must be a positive integer, got 0"),
    (lambda: nn.Embedding(4, 3, padding_idx=4), ValueError, "padding_idx=4 is out of range for 4 rows"),
    (lambda: nn.Embedding(4, 3)(Tensor([[0, 1], [7, 9]])), IndexError,
     r"embedding: index 7 at position \(1, 0\) is out of range for a table of 4 rows \(0 to 3\)"),
    (lambda: nn.Embedding(4, 3)(Tensor([-1])), IndexError, r"index -1 at position \(0,\) is out of range"),
    (lambda: nn.Embedding(4, 3)(Tensor([0.0])), TypeError, "embedding: the index must hold integers, got float32"),
])
def test_errors(make, error, text):
    with pytest.raises(error, match=text):
        make()
