import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import load_digits

rng = np.random.default_rng(0)


def test_patches_are_a_convolution_with_stride():
    layer = nn.models.vit.PatchEmbedding(3, 5, 4)
    x = rng.standard_normal((2, 3, 8, 12)).astype(np.float32)
    y = layer(Tensor(x)).detach().numpy()
    assert y.shape == (2, 6, 5) and layer.weight.shape == (5, 3, 4, 4)
    for n, (i, j) in enumerate(np.ndindex(2, 3)):
        patch = x[:, :, 4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
        expected = np.einsum("bcij,ocij->bo", patch, layer.weight.detach().numpy()) + layer.bias.detach().numpy()
        np.testing.assert_allclose(y[:, n], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pool", ["cls", "mean"])
def test_it_learns_digits(pool):
    manual_seed(0)
    images, labels = load_digits()[:2]
    x, y = Tensor(np.asarray(images)[:100].reshape(-1, 1, 8, 8), dtype="float32"), Tensor(np.asarray(labels)[:100])
    x = (x - x.mean()) / x.std()
    model = nn.ViT(8, 2, 10, 32, 2, 4, channels=1, pool=pool)
    assert model(x[:2]).shape == (2, 10)
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    assert (model(x).argmax(axis=1) == y).numpy().mean() > 0.9


def test_errors():
    with pytest.raises(ValueError, match="patch_size=3 must divide image_size=8"):
        nn.ViT(8, 3, 10, 16, 1, 2)
    with pytest.raises(ValueError, match='pool must be "cls" or "mean", got \'max\''):
        nn.ViT(8, 2, 10, 16, 1, 2, pool="max")
    with pytest.raises(ValueError, match=r"images must be \(batch, channels, 8, 8\), got shape \(1, 3, 8, 6\)"):
        nn.ViT(8, 2, 10, 16, 1, 2)(Tensor.zeros(1, 3, 8, 6))
    with pytest.raises(ValueError, match=r"images must be \(batch, 3, height, width\) .* got shape \(1, 1, 8, 8\)"):
        nn.ViT(8, 2, 10, 16, 1, 2)(Tensor.zeros(1, 1, 8, 8))
