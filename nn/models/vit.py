"""The Vision Transformer (004; Dosovitskiy et al. 2021)."""

from __future__ import annotations

from collections.abc import Callable

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

from .. import init
from ..containers import ModuleList
from ..dropout import Dropout
from ..linear import Linear
from ..module import Module, Parameter
from ..norm import LayerNorm
from ..position import LearnedEncoding
from ..transformer import Activation, TransformerEncoderLayer


class PatchEmbedding(Module):
    """Cut images into patches and map each to a vector: a convolution whose stride is its kernel size.

    images (batch, channels, height, width) -> (batch, patches, dim), row by row
    weight: (dim, channels, patch_size, patch_size), like the convolution's; bias: (dim,)

    Patches do not overlap, so it is one matrix product with the rearranged pixels.
    Raises ValueError if patch_size does not divide height and width, or for a wrong number of channels.
    """

    def __init__(self, channels: int, dim: int, patch_size: int):
        self.patch_size = patch_size
        self.weight = Parameter(Tensor.empty(dim, channels, patch_size, patch_size))
        self.bias = Parameter(Tensor.empty(dim))
        init.trunc_normal_(self.weight, std=(channels * patch_size**2) ** -0.5)
        init.zeros_(self.bias)

    def forward(self, images: Tensor) -> Tensor:
        dim, channels, p, _ = self.weight.shape
        if images.ndim != 4 or images.shape[1] != channels or images.shape[2] % p or images.shape[3] % p:
            raise ValueError(f"PatchEmbedding: images must be (batch, {channels}, height, width) with height and width "
                             f"multiples of patch_size={p}, got shape {images.shape}")
        batch, _, height, width = images.shape
        patches = images.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 1, 3, 5)
        patches = patches.reshape(batch, height // p * (width // p), channels * p * p)
        return ops.linear(patches, self.weight.reshape(dim, -1), self.bias)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}, patch_size={self.patch_size}"


class ViT(Module):
    """Pre-norm Transformer blocks over the patches of images: (batch, channels, size, size) -> logits.

    pool: "cls" classifies from a learned token in front of the patches, "mean" from the mean over patches.
    The blocks' options are those of TransformerEncoderLayer.

    Raises ValueError if patch_size does not divide image_size or num_heads does not divide dim; when called, unless
    images have shape (batch, channels, image_size, image_size).
    """

    def __init__(self, image_size: int, patch_size: int, num_classes: int, dim: int, num_layers: int, num_heads: int,
                 hidden: int | None = None, channels: int = 3, pool: str = "cls", dropout: float = 0.0,
                 activation: Activation = "gelu", norm: Callable = LayerNorm):
        if image_size % patch_size:
            raise ValueError(f"ViT: patch_size={patch_size} must divide image_size={image_size}")
        if pool not in ("cls", "mean"):
            raise ValueError(f'ViT: pool must be "cls" or "mean", got {pool!r}')
        patches = (image_size // patch_size) ** 2
        self.image_size, self.pool = image_size, pool
        self.patches = PatchEmbedding(channels, dim, patch_size)
        self.class_token = Parameter(Tensor.zeros(1, 1, dim)) if pool == "cls" else None
        self.positions = LearnedEncoding(patches + (pool == "cls"), dim)
        self.dropout = Dropout(dropout)
        self.layers = ModuleList([
            TransformerEncoderLayer(dim, num_heads, hidden, dropout, activation, batch_first=True, norm_first=True,
                                    norm=norm) for _ in range(num_layers)])
        self.norm = norm(dim)
        self.head = Linear(dim, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        if images.ndim != 4 or images.shape[2:] != (self.image_size, self.image_size):
            raise ValueError(f"ViT: images must be (batch, channels, {self.image_size}, {self.image_size}), "
                             f"got shape {images.shape}")
        x = self.patches(images)
        if self.class_token is not None:
            x = ops.cat(self.class_token.expand(len(images), 1, -1), x, axis=1)
        x = self.dropout(self.positions(x))
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        return self.head(x[:, 0] if self.pool == "cls" else x.mean(axis=1))

    def extra_repr(self) -> str:
        return f"pool={self.pool!r}"
