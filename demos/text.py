"""Texts as numbered characters, and the n-gram baseline of language models."""

from __future__ import annotations

import hashlib
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tinygrad_like import Tensor, random

UNKNOWN = "\ufffd"
# Tests and tables, which are long and repetitive.
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "encodings", "pydoc_data", "__pycache__"}


def standard_library(size: int, held_out: int) -> tuple[str, str]:
    """Training text of about `size` characters, and test text of `held_out` characters from other files.

    It is the source of Python's standard library on this machine. The files are sorted by a hash of their names: a
    random order, but always the same for this version of Python. Every tenth file is for the test. Raises
    FileNotFoundError if this Python comes without source.
    """
    root = Path(sysconfig.get_path("stdlib"))
    names = [path.relative_to(root) for path in root.rglob("*.py")]
    names = [name for name in names if not LEFT_OUT.intersection(name.parts)]
    if not names:
        raise FileNotFoundError(f"there is no Python source in {root}; name a text with --text")
    names.sort(key=lambda name: hashlib.sha256(name.as_posix().encode()).digest())
    tested, trained = names[::10], [name for i, name in enumerate(names) if i % 10]
    return _joined(root, trained, size), _joined(root, tested, held_out)


def _joined(root: Path, names: list[Path], size: int) -> str:
    """The concatenated files, cut off at `size` characters."""
    parts, total = [], 0
    for name in names:
        if total >= size:
            break
        parts.append((root / name).read_text(encoding="utf-8", errors="replace"))
        total += len(parts[-1])
    return "".join(parts)[:size]


def split_text(path: Path, size: int, held_out: int) -> tuple[str, str]:
    """Training and test text: the beginning of a file, and its last tenth, both cut off at these sizes.

    Raises ValueError for a file of fewer than 2,000 characters.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    if len(text) < 2000:
        raise ValueError(f"{path} has {len(text)} characters; a language model needs more, such as 1,000,000")
    cut = len(text) - len(text) // 10
    return text[:min(cut, size)], text[cut:cut + held_out]


class Characters:
    """The characters of a text, by number; 0 stands for characters that occur fewer than `least` times, or never."""

    def __init__(self, characters: str):
        self.characters = characters
        self.number = {c: i for i, c in enumerate(characters)}

    @classmethod
    def of(cls, text: str, least: int = 10) -> Characters:
        points, counts = np.unique(_code_points(text), return_counts=True)
        return cls(UNKNOWN + "".join(map(chr, points[counts >= least])).replace(UNKNOWN, ""))

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> np.ndarray:
        """(length,), int64"""
        points, inverse = np.unique(_code_points(text), return_inverse=True)
        return np.array([self.number.get(chr(p), 0) for p in points], np.int64)[inverse]

    def decode(self, tokens: np.ndarray) -> str:
        return "".join(self.characters[i] for i in tokens)


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


class NGram:
    """A character n-gram with interpolated Kneser-Ney smoothing, counted in `tokens` (length,), numbers < vocabulary.

    p(c | h) = (max(N(h c) - D, 0) + D S(h) p(c | h')) / N(h), where h' is h without its first character, and S(h) is
    the number of different characters seen after h. p(c | h) = p(c | h') for an unseen h, and p(c | h') =
    1 / vocabulary for an empty h. N(h c) is the number of occurrences of h c; if h is shorter than order - 1, it is the
    number of different characters seen before h c. The discount of each order is D = n_1 / (n_1 + 2 n_2), where n_i is
    the number of sequences h c with N(h c) = i. Source: Chen and Goodman 1999.

    A sequence of characters is stored as one number, its digits in base `vocabulary`.
    """

    def __init__(self, tokens: np.ndarray, vocabulary: int, order: int = 5):
        if vocabulary ** order > 2 ** 63 or len(tokens) < order:
            raise ValueError(f"NGram: sequences of order={order} from vocabulary={vocabulary} must fit 63 bits, and "
                             f"there must be at least {order} tokens, not {len(tokens)}")
        self.vocabulary, self.order = vocabulary, order
        grams, counts = np.unique(self._numbers(tokens, order), return_counts=True)
        self.tables = [_Table(grams, counts, vocabulary)]
        for k in range(order - 1, 0, -1):
            grams, counts = np.unique(grams % vocabulary**k, return_counts=True)  # counts different first characters
            self.tables.insert(0, _Table(grams, counts, vocabulary))

    def _numbers(self, tokens: np.ndarray, length: int) -> np.ndarray:
        """One number for each sequence of `length` tokens in (..., n): (..., n - length + 1)."""
        n = tokens.shape[-1] - length + 1
        return sum(tokens[..., i:i + n] * self.vocabulary ** (length - 1 - i) for i in range(length))

    def probabilities(self, tokens: np.ndarray) -> np.ndarray:
        """For each token from the order-th on, given the tokens before it: tokens (..., n) -> (..., n - order + 1)."""
        grams = self._numbers(tokens, self.order)
        p = np.full(grams.shape, 1 / self.vocabulary)
        for k, table in enumerate(self.tables, 1):
            p = table.interpolate(grams % self.vocabulary**k, p)
        return p


class _Table:
    """The counts of one order: of the sorted sequences `grams`, and of their contexts."""

    def __init__(self, grams: np.ndarray, counts: np.ndarray, vocabulary: int):
        self.grams, self.counts, self.vocabulary = grams, counts, vocabulary
        self.contexts, first = np.unique(grams // vocabulary, return_index=True)
        self.totals = np.add.reduceat(counts, first)
        self.followers = np.diff(first, append=len(grams))
        once, twice = (counts == 1).sum(), (counts == 2).sum()
        self.discount = once / (once + 2 * twice) if twice else 0.5  # too little text for an estimate

    def interpolate(self, grams: np.ndarray, shorter: np.ndarray) -> np.ndarray:
        """The probability of each sequence's last token, given its probability in a shorter context."""
        seen, total = (_look_up(self.contexts, values, grams // self.vocabulary)
                       for values in (self.followers, self.totals))
        counts = _look_up(self.grams, self.counts, grams)
        p = (np.maximum(counts - self.discount, 0) + self.discount * seen * shorter) / np.maximum(total, 1)
        return np.where(total > 0, p, shorter)


def _look_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The value of each wanted key, or 0; keys are sorted."""
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)


class Windows:
    """`steps` batches of random pieces of a text: x (batch, context), and y, shifted by one character.

    They depend only on `manual_seed`, like the batches of a DataLoader.
    """

    def __init__(self, tokens: np.ndarray, context: int, batch: int, steps: int):
        if len(tokens) <= context:
            raise ValueError(f"Windows: context={context} must be shorter than the text, {len(tokens)} characters")
        self.stretches = np.lib.stride_tricks.sliding_window_view(tokens, context + 1)
        self.batch, self.steps = batch, steps

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for _ in range(self.steps):
            chosen = self.stretches[random.numbers().integers(len(self.stretches), size=self.batch)]
            yield Tensor(chosen[:, :-1]), Tensor(chosen[:, 1:])
