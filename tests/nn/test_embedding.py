import numpy as np
import pytest

import nn
import nn.functional as F
from tinygrad_like import Tensor, capture


def test_embedding_looks_up_rows():
    layer = nn.Embedding(5, 3)
    w = layer.weight.detach().numpy()
    for index in (2, [1, 1], [[0, 4], [3, 3]], np.zeros((0, 2), int)):
        np.testing.assert_array_equal(layer(Tensor(index)).detach().numpy(), w[index])
    assert abs(nn.Embedding(300, 100).weight.detach().numpy().std() - 1) < 0.02


def test_gradient_adds_up_and_skips_padding():
    layer = nn.Embedding(4, 2, padding_idx=0)
    assert not layer.weight.detach().numpy()[0].any()
    layer(Tensor([3, 0, 3, 1])).sum().backward()
    assert layer.weight.grad.tolist() == [[0, 0], [1, 1], [0, 0], [2, 2]]


def test_long_rows_that_are_named_are_scaled_in_place():
    table = np.array([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]], np.float32)
    layer = nn.Embedding(3, 2, max_norm=1.0, _weight=table)
    y = layer(Tensor([[0, 1], [0, 0]]))
    np.testing.assert_allclose(layer.weight.detach().numpy(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-6)
    np.testing.assert_array_equal(y.detach().numpy(), layer.weight.detach().numpy()[[[0, 1], [0, 0]]])
    saved = (layer.weight * layer.weight).sum()
    layer(Tensor([2]))  # which changes what the product has saved
    with pytest.raises(RuntimeError, match="changed in place"):
        saved.backward()
    with pytest.raises(RuntimeError, match="this Tensor was computed by mul"):
        F.embedding(Tensor([0]), layer.weight * 3, max_norm=1.0)


def test_limits_and_frequencies_are_captured():
    layers = [nn.Embedding(6, 3, max_norm=1.0, scale_grad_by_freq=True) for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())

    def step(layer, index):
        layer.weight.grad = None
        y = layer(index)
        (y * y).sum().backward()
        return y.detach()

    captured = capture(lambda index, layer=layers[1]: step(layer, index))
    for i in range(6):
        index = np.array([[i % 6, 2, 2], [1, (i + 1) % 6, 2]])
        np.testing.assert_allclose(captured(Tensor(index)).numpy(), step(layers[0], Tensor(index)).numpy(),
                                   rtol=1e-6)
        for of in (lambda w: w.grad, lambda w: w.detach()):
            np.testing.assert_allclose(*[of(layer.weight).numpy() for layer in layers], rtol=1e-6)
    assert captured.programs


@pytest.mark.parametrize(("make", "error", "text"), [
    (lambda: nn.Embedding(0, 3), ValueError, "num_embeddings must be a positive integer, got 0"),
    (lambda: nn.Embedding(4, 3, padding_idx=4), ValueError, "padding_idx=4 is out of range for 4 rows"),
    (lambda: nn.Embedding(4, 3)(Tensor([[0, 1], [7, 9]])), IndexError,
     r"embedding: index 7 at position \(1, 0\) is out of range for a table of 4 rows \(0 to 3\)"),
    (lambda: nn.Embedding(4, 3)(Tensor([-1])), IndexError, r"index -1 at position \(0,\) is out of range"),
    (lambda: nn.Embedding(4, 3, max_norm=1.0)(Tensor([5])), IndexError, "embedding: index 5 at position"),
    (lambda: nn.Embedding(4, 3)(Tensor([0.0])), TypeError, "embedding: the index must hold integers, got float32"),
])
def test_errors(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_embeddings_from_elsewhere():
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    frozen = nn.Embedding.from_pretrained(Tensor(table))
    assert not frozen.weight.requires_grad and frozen(Tensor([2])).tolist() == [[4, 5]]
    assert nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0).weight.requires_grad
    assert nn.Embedding(3, 2, sparse=True, _weight=table).weight.tolist() == table.tolist()
    for make in (lambda: nn.Embedding(3, 3, _weight=table), lambda: nn.Embedding.from_pretrained(table[0])):
        with pytest.raises(ValueError, match="Embedding"):
            make()
