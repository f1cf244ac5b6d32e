import numpy as np
import pytest

import nn
from tinygrad_like import Tensor


def test_embedding_looks_up_rows():
    layer = nn.Embedding(5, 3)
    w = layer.weight.detach().numpy()
    for index in (2, [1, 1], [[0, 4], [3, 3]], np.zeros((0, 2), int)):
        np.testing.assert_array_equal(layer(Tensor(index)).detach().numpy(), w[index])
    assert abs(nn.Embedding(300, 100).weight.detach().numpy().std() - 1) < 0.02


def test_the_gradient_adds_up_and_skips_padding():
    layer = nn.Embedding(4, 2, padding_idx=0)
    assert not layer.weight.detach().numpy()[0].any()
    layer(Tensor([3, 0, 3, 1])).sum().backward()
    assert layer.weight.grad.tolist() == [[0, 0], [1, 1], [0, 0], [2, 2]]




@pytest.mark.parametrize(("make", "error", "text"), [
    (lambda: nn.Embedding(0, 3), ValueError, "num_embeddings must be a positive integer, got 0"),
    (lambda: nn.Embedding(4, 3, padding_idx=4), ValueError, "padding_idx=4 is out of range for 4 rows"),
    (lambda: nn.Embedding(4, 3)(Tensor([[0, 1], [7, 9]])), IndexError,
     r"embedding: index 9 is out of range for axis 0 of size 4 \(shape \(4, 3\)\)"),
    (lambda: nn.Embedding(4, 3)(Tensor([-1])), IndexError, r"index -1 is out of range for axis 0 of size 4"),
    (lambda: nn.Embedding(4, 3)(Tensor([0.0])), TypeError, "embedding: index must be integers, got float32"),
])
def test_bad_arguments_raise(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_embeddings_can_be_made_from_pretrained_weights():
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    frozen = nn.Embedding.from_pretrained(Tensor(table))
    assert not frozen.weight.requires_grad and frozen(Tensor([2])).tolist() == [[4, 5]]
    assert nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0).weight.requires_grad
    assert nn.Embedding(3, 2, sparse=True, _weight=table).weight.tolist() == table.tolist()
    for make in (lambda: nn.Embedding(3, 3, _weight=table), lambda: nn.Embedding.from_pretrained(table[0])):
        with pytest.raises(ValueError, match="Embedding"):
            make()
