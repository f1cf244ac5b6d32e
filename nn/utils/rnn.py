"""Sequences of different lengths, under PyTorch's names: padded to one length, or packed, without the padding.

    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    output, (h, c) = lstm(packed)                     # h and c are those after the last step of each sequence
    output, lengths = pad_packed_sequence(output, batch_first=True)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.errors import named

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]


class PackedSequence(NamedTuple):
    """The steps of several sequences without padding: first all first steps, then all second steps, and so on.

    data: (sum of lengths, *); batch_sizes: at each step how many sequences there still are, the longest first.
    sorted_indices, unsorted_indices: the order by length, and back; None if the sequences came in it.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    @named
    def to(self, dtype: Any) -> PackedSequence:
        """With its data of another dtype."""
        return self._replace(data=self.data.cast(dtype))

    def cpu(self) -> PackedSequence:
        return self

    def float(self) -> PackedSequence:
        return self.to(np.float32)

    def double(self) -> PackedSequence:
        return self.to(np.float64)


def _read(x: Any) -> np.ndarray:
    return ops.values.values_of("nn.utils.rnn", x, "reads lengths in NumPy", "give the layer the padded batch, and "
                                "leave out by a mask what is beyond each length")


@named
def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The order that undoes this one."""
    return None if permutation is None else wrap(np.argsort(_read(permutation)))


def lengths_of(packed: PackedSequence) -> np.ndarray:
    """The lengths, the longest first."""
    sizes = _read(packed.batch_sizes)
    return (np.arange(sizes[0]) < sizes[:, None]).sum(0)


def steps(lengths: np.ndarray, longest: int) -> np.ndarray:
    """Whether a sequence has this step: (longest, batch)."""
    return np.arange(longest)[:, None] < lengths


@named
def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """The first lengths[i] steps of each sequence i of a padded batch, (T, batch, *) or with batch_first (batch, T, *).

    enforce_sorted: the sequences come longest first. Raises ValueError if they do not, and for lengths that are no
    positive integers up to T, one for each.
    """
    counts = _read(lengths)
    x = input.transpose(0, 1) if batch_first else input
    if counts.shape != x.shape[1:2] or counts.dtype.kind not in "iu" or not counts.size or (
            counts.min() < 1 or counts.max() > len(x)):
        raise ValueError(f"pack_padded_sequence: lengths must be {x.shape[1]} integers from 1 to {len(x)}, for an "
                         f"input of shape {input.shape} with batch_first={batch_first}; got {counts.tolist()}")
    order = None
    if enforce_sorted:
        if np.any(counts[1:] > counts[:-1]):
            raise ValueError("pack_padded_sequence: the lengths are not in falling order; sort the batch, or pass "
                             "enforce_sorted=False")
    else:
        order = np.argsort(-counts, kind="stable")
        x, counts = x[:, order], counts[order]
    there = steps(counts, int(counts[0]))
    data = x.reshape(-1, *x.shape[2:])[np.flatnonzero(there)]
    indices = None if order is None else wrap(order)
    return PackedSequence(data, wrap(there.sum(1)), indices, invert_permutation(indices))


@named
def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """The padded batch, (T, batch, *) or with batch_first (batch, T, *), in its original order, and the lengths.

    total_length: T, if it is to be more than the longest. Raises ValueError if it is less.
    """
    x, lengths = padded(sequence, padding_value, total_length), lengths_of(sequence)
    if sequence.unsorted_indices is not None:
        back = _read(sequence.unsorted_indices)
        x, lengths = x[:, back], lengths[back]
    return x.transpose(0, 1) if batch_first else x, wrap(lengths)


def padded(packed: PackedSequence, value: float = 0.0, total_length: int | None = None) -> Tensor:
    """(T, batch, *), with the longest sequence first."""
    lengths = lengths_of(packed)
    longest = len(packed.batch_sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(f"pad_packed_sequence: total_length={total_length} is less than the longest sequence, "
                         f"{longest}")
    length, rest = total_length or longest, packed.data.shape[1:]
    places = np.flatnonzero(steps(lengths, length))
    x = ops.parts.surround(packed.data, shape=(length * len(lengths), *rest), index=(places,), value=value)
    return x.reshape(length, len(lengths), *rest)


def repacked(x: Tensor, like: PackedSequence) -> PackedSequence:
    """(T, batch, *), as `padded` gives it, packed in the same way."""
    places = np.flatnonzero(steps(lengths_of(like), len(x)))
    return like._replace(data=x.reshape(-1, *x.shape[2:])[places])


@named
def pad_sequence(sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Sequences (length, *) as one batch, (T, batch, *) or with batch_first (batch, T, *), padded to the longest.

    Raises ValueError for no sequences, or if they differ in more than their lengths.
    """
    xs = [x if isinstance(x, Tensor) else Tensor(x) for x in sequences]
    if not xs or len({x.shape[1:] for x in xs}) > 1 or xs[0].ndim == 0:
        raise ValueError(f"pad_sequence: takes Tensors (length, *) that differ in length only, got shapes "
                         f"{[x.shape for x in xs]}")
    if padding_side not in ("right", "left"):
        raise ValueError(f"pad_sequence: padding_side={padding_side!r} must be 'right' or 'left'")
    lengths, rest = np.array([len(x) for x in xs]), xs[0].shape[1:]
    longest = int(lengths.max())
    there = steps(lengths, longest).T
    if padding_side == "left":
        there = there[:, ::-1]
    y = ops.parts.surround(ops.cat(*xs), shape=(len(xs) * longest, *rest), index=(np.flatnonzero(there),),
                           value=padding_value)
    y = y.reshape(len(xs), longest, *rest)
    return y if batch_first else y.transpose(0, 1)


@named
def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, each of its own length."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:int(n)] for row, n in zip(x, lengths, strict=True)]


@named
def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences (length, *) packed."""
    return pack_padded_sequence(pad_sequence(sequences), [len(x) for x in sequences], enforce_sorted=enforce_sorted)


@named
def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch, each of its own length."""
    x, lengths = pad_packed_sequence(packed_sequences)
    return unpad_sequence(x, lengths)
