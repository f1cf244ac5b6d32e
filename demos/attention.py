"""Pictures of attention in Transformers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import nn
from demos.figures import BLUE, BLUES, DIVERGING, GREYS, INK, MUTED, ORANGE, ORANGES, bare, figure, save, scale, style
from tinygrad_like.training import predict


@contextmanager
def attention_maps(layers: Iterable[nn.MultiheadAttention], is_causal: bool = False) -> Iterator[list[np.ndarray]]:
    """Collect the attention weights (batch, heads, queries, keys) of each call of these layers.

    is_causal: the layers mask later keys. They must use no other mask.
    """
    maps: list[np.ndarray] = []

    def look(layer, args, output):
        maps.append(layer.forward(*args, average_attn_weights=False, is_causal=is_causal)[1].detach().numpy())

    handles = [layer.register_forward_hook(look) for layer in layers]
    try:
        yield maps
    finally:
        for handle in handles:
            handle.remove()


def draw_vit(path: Path, title: str, model: nn.ViT, images: np.ndarray, labels: np.ndarray, names: Sequence[str]
             ) -> Path:
    """Where the class token of a ViT attends in each layer, and the similarity of the position embeddings.

    images: (n, channels, height, width), with their labels (n,).
    """
    with attention_maps(layer.self_attn for layer in model.layers) as maps:
        read = predict(model, images).argmax(axis=1)
    side = round((maps[0].shape[-1] - 1) ** 0.5)
    looks = [m.mean(axis=1)[:, 0, 1:].reshape(-1, side, side) for m in maps]  # mean over heads; from the class token
    positions = model.positions.weight.detach().numpy()[1:]
    positions = positions / np.linalg.norm(positions, axis=1, keepdims=True)
    similar = (positions @ positions.T).reshape(side, side, side, side)
    with style():
        fig = figure(1.15 * len(images) + 4.4, 1.15 * (len(maps) + 1) + 0.9, title)
        left, beside = fig.subfigures(1, 2, width_ratios=[1.15 * len(images) + 0.6, 3.8], wspace=0.02)
        left.suptitle("Attention of the class token, mean over heads: darker is more", x=0.012, ha="left", fontsize=11,
                      color=INK)
        height, width = images.shape[2:]
        for row, panels in enumerate(left.subplots(len(maps) + 1, len(images))):
            panels[0].set_ylabel(f"layer {row}" if row else "image", color=MUTED)
            for i, axes in enumerate(panels):
                bare(axes)
                gray = images[i].mean(axis=0)
                axes.imshow(gray, cmap=GREYS, vmin=0, vmax=1 if row == 0 else 2.5, extent=(0, width, height, 0))
                if row:
                    look = looks[row - 1][i]
                    axes.imshow(look, cmap=ORANGES, vmin=0, vmax=look.max(), alpha=0.6, extent=(0, width, height, 0))
                else:
                    right = read[i] == labels[i]
                    text = f"is {names[labels[i]]}" + ("" if right else f",\nread as {names[read[i]]}")
                    axes.set_title(text, loc="center", fontsize=9, pad=4, color=BLUE if right else ORANGE)
        beside.suptitle("Cosine similarity of positions,\na map per patch", x=0.012, ha="left", fontsize=11, color=INK)
        limit = np.sort(np.abs(similar).ravel())[:-side * side].max()  # without that of each with itself, 1
        panels = beside.subplots(side, side)
        for (i, j), axes in np.ndenumerate(panels):
            bare(axes)
            shown = axes.imshow(similar[i, j], cmap=DIVERGING, vmin=-limit, vmax=limit)
        scale(beside, shown, panels)
        return save(fig, path)


def draw_cross_attention(path: Path, title: str, maps: np.ndarray, source: str, target: str) -> Path:
    """The decoder's attention to each character of the source while it writes each of the target: maps (layers, heads,
    target, source)."""
    layers, heads = maps.shape[:2]
    with style():
        fig = figure(2.3 * heads + 0.8, 2.45 * layers + 0.9, title)
        panels = fig.subplots(layers, heads, squeeze=False)
        for (i, j), axes in np.ndenumerate(panels):
            shown = axes.imshow(maps[i, j], cmap=BLUES, vmin=0, vmax=1)
            axes.set_xticks(range(len(source)), source)
            axes.set_yticks(range(len(target)), target)
            axes.grid(False)
            axes.tick_params(length=0, labelcolor=INK)
            axes.set_title(f"layer {i + 1}, head {j + 1}", fontsize=9, pad=5, color=MUTED)
            if i == layers - 1:
                axes.set_xlabel("source")
            if j == 0:
                axes.set_ylabel("written")
        scale(fig, shown, panels)
        return save(fig, path)
