"""Expressions of PyTorch users, in expressions.txt: values, first and second gradients equal PyTorch's."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import nn
import nn.functional as F
import optim
import tinygrad_like as tg

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
TEXT = Path(__file__).with_name("expressions.txt").read_text(encoding="utf-8")
EXPRESSIONS = [line for line in TEXT.splitlines() if line and not line.startswith("#")]
LEAVES = {"x": (3, 4), "y": (3, 4), "v": (4,), "square": (3, 3), "seq": (2, 3, 4), "image": (2, 5, 6),
          "images": (2, 4, 5, 6), "volume": (2, 3, 4, 3)}
OURS = {"torch": tg, "nn": nn, "F": F, "optim": optim}
THEIRS = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim}


def numbers(shape, seed):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, shape)


def run(expression, library):
    """The results of the expression, and the leaves that it uses."""
    lib = library["torch"]
    leaves = {n: lib.tensor(numbers(s, i), dtype=lib.float64, requires_grad=True)
              for i, (n, s) in enumerate(LEAVES.items())}
    wanted = list({n: v for n, v in leaves.items() if re.search(rf"\b{n}\b", expression)}.values())

    def made(module):
        """The module in double precision, with the same parameters in both libraries."""
        module = module.double()
        with lib.no_grad():
            for i, (_, p) in enumerate(sorted(module.named_parameters())):
                p.copy_(lib.tensor(numbers(p.shape, 100 + i), dtype=lib.float64))
        wanted.extend(p for _, p in sorted(module.named_parameters()))
        return module

    def all_of(d, names="mean variance stddev mode", value=None):
        """The distribution's values under these names: attributes, or functions of the value."""
        found = [getattr(d, name) for name in names.split()]
        return [f(*() if f.__name__ == "entropy" or value is None else (value,)) if callable(f) else f
                for f in found if not isinstance(f, property)]

    library = {**library, "D": lib.distributions, "all_of": all_of}
    result = eval(expression, {**library, **leaves, "made": made})
    return flat(result, lib), wanted


def flat(result, lib):
    if isinstance(result, list | tuple):
        return [x for part in result for x in flat(part, lib)]
    return [result]


def gradients(outputs, leaves, lib):
    """The gradients of a weighted sum, and those of the sum of their squares."""
    outputs = [y for y in outputs if getattr(y, "requires_grad", False)]
    if not outputs:
        return []
    total = sum((y * lib.tensor(numbers(tuple(y.shape), 50), dtype=y.dtype)).sum() for y in outputs)
    first = lib.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    squares = [(g * g).sum() for g in first if g is not None and g.requires_grad]
    second = lib.autograd.grad(sum(squares), leaves, allow_unused=True) if squares else [None] * len(leaves)
    return [0.0 if g is None else g.detach().numpy() for g in (*first, *second)]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_equals_pytorchs(expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, our_leaves = run(expression, OURS)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):  # others have no second gradients
            theirs, their_leaves = run(expression, THEIRS)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(b, torch.Tensor):
            assert tuple(a.shape) == tuple(b.shape) and str(a.dtype) == str(b.dtype).removeprefix("torch.")
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-9)
        elif isinstance(b, int | float | str | bool):
            assert a == b
    for a, b in zip(gradients(ours, our_leaves, tg), gradients(theirs, their_leaves, torch), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
