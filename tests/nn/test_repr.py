"""What layers say of themselves: the arguments that make the like of them again."""

import pytest

import nn
from nn import models


@pytest.mark.parametrize(("layer", "text"), [
    (nn.MultiheadAttention(4, 2, dropout=0.1), "MultiheadAttention(\n  4, num_heads=2, dropout=0.1, batch_first=False"),
    (nn.SinusoidalEncoding(4), "SinusoidalEncoding(4)"),
    (nn.LearnedEncoding(5, 4), "LearnedEncoding(5, 4)"),
    (nn.RotaryEncoding(4, base=500.0), "RotaryEncoding(4, base=500)"),
    (nn.NeuralODE(nn.Tanh(), steps=3), "NeuralODE(\n  steps=3, method='rk4', adjoint=False, t0=0, t1=1\n  (f): Tanh()"),
    (nn.TransformerEncoderLayer(4, 2, 8, norm_first=True), "TransformerEncoderLayer(\n  pre-norm\n"),
    (nn.TransformerEncoderLayer(4, 2, 8, residual_scale=0.5),
     "TransformerEncoderLayer(\n  post-norm, residual_scale=0.5\n"),
    (models.RecurrentLanguageModel(5, 4, kind="gru"), "RecurrentLanguageModel(\n  kind='gru'\n"),
    (models.ViT(8, 4, 10, dim=6, num_layers=1, num_heads=2, pool="mean"), "ViT(\n  pool='mean'\n"),
    (models.ViT(8, 4, 10, dim=6, num_layers=1, num_heads=2).patches, "PatchEmbedding(3, 6, patch_size=4)"),
], ids=lambda x: type(x).__name__)
def test_arguments(layer, text):
    assert repr(layer).startswith(text)
