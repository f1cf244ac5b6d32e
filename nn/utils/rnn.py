"""Pad sequences of different lengths to one length, under PyTorch's name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named

__all__ = ["pad_sequence"]


@named
def pad_sequence(sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Sequences (length, *) as one batch, (T, batch, *) or with batch_first (batch, T, *), padded to the longest.

    Raises ValueError for no sequences, or if they differ in more than their lengths.
    """
    xs = [x if isinstance(x, Tensor) else Tensor(x) for x in sequences]
    if not xs or len({x.shape[1:] for x in xs}) > 1 or xs[0].ndim == 0:
        raise ValueError(f"pad_sequence: takes Tensors (length, *) that differ only in length, got shapes "
                         f"{[x.shape for x in xs]}")
    if padding_side not in ("right", "left"):
        raise ValueError(f"pad_sequence: padding_side={padding_side!r} must be 'right' or 'left'")
    lengths, rest = np.array([len(x) for x in xs]), xs[0].shape[1:]
    longest = int(lengths.max())
    there = np.arange(longest) < lengths[:, None]
    if padding_side == "left":
        there = there[:, ::-1]
    y = ops.parts.surround(ops.cat(*xs), shape=(len(xs) * longest, *rest), index=(np.flatnonzero(there),),
                           value=padding_value)
    y = y.reshape(len(xs), longest, *rest)
    return y if batch_first else y.transpose(0, 1)
