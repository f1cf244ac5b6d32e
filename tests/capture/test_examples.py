"""The examples of all methods, captured: recorded with one input, and replayed with others.

A value that an op computes in NumPy outside the tape becomes a constant, which recordings of one input cannot show.
"""

import warnings
from pathlib import Path

import numpy as np
import pytest

import nn
import tinygrad_like as tg
from tinygrad_like import Tensor, capture, rings
from tinygrad_like.capture.instructions import Refused

TESTS = Path(__file__).parents[1]
FILES = [TESTS / "examples.txt", *[TESTS / "compat" / "examples.txt"] * (not rings.missing("compat"))]
EXAMPLES = dict(line.split(" | ")[:2] for file in FILES for line in file.read_text(encoding="utf-8").splitlines()
                if " | " in line and line[0] != "#")
MORE = {
    "scatter of a number": "Tensor([[0.0, 0.0, 0.0]]).scatter(1, Tensor([[2]]), 1.0)",
    "scatter in place": "Tensor([[5.0, 6.0, 7.0]]).clone().scatter_(1, Tensor([[2, 0]]), 1.0)",
    "the one-hot of the largest": "(x := Tensor([[0.1, 0.7, 0.2]])) * 0 + ops.scatter(x * 0, x.argmax(1)[:, None], 1.0,"
                                  " axis=1)",
    "items": "tg.cat([(x := Tensor([1.0, 2.0, 3.0]).clone()), x[Tensor([2, 0, 1])]])",
    "labels to ignore": "nn.functional.nll_loss(Tensor([[-0.5, -1.0], [-2.0, -0.1], [-3.0, -0.2]]), Tensor([0, 1, 0]),"
                        " weight=Tensor([1.0, 2.0]), ignore_index=1)",
    "cross entropy": "nn.functional.cross_entropy(Tensor([[0.5, 1.0], [2.0, 0.1], [3.0, 0.2]]), Tensor([0, 1, 0]),"
                     " weight=Tensor([1.0, 2.0]), ignore_index=1, label_smoothing=0.1)",
    "scattered maxima": "Tensor([[1.0, 2.0, 3.0]]).scatter_reduce(1, Tensor([[0, 2]]), Tensor([[5.0, 4.0]]), 'amax')",
    "segments": "(e := Tensor([1.0, 2.0, 3.0])) / tg.zeros(2).index_add(0, (d := Tensor([0, 1, 0])), e)[d]",
    "lengths": "(tg.arange(4)[None] < Tensor([1, 3])[:, None]).float() * 2",
    "attention": "nn.functional.scaled_dot_product_attention(q := Tensor([[[1.0, 2.0], [0.5, 0.1]]]), q, q,"
                 " attn_mask=(Tensor([[0, 1], [1, 1]]) > 0) | tg.eye(2).bool())",
    "pooling and back": "nn.functional.max_unpool2d(*nn.functional.max_pool2d(Tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), 2,"
                        " return_indices=True), 2)",
    "16 bits": "Tensor([1.5, -2.5]).short() + 0",
    # Hard cases for compiled loops; if a loop is wrong, an audit rejects it.
    "limits that cross": "Tensor([0.1, 0.5, 0.9]).clip(0.7, 0.3)",
    "limits of NaN": "Tensor([np.nan, -np.inf, np.inf, 0.5, -0.0]).clip(0.0, 1.0)",
    "one limit": "Tensor([-1.0, 2.0]).clip(min=0) + Tensor([-1.0, 2.0]).clip(max=0)",
    "limits of integers": "Tensor([-3, 0, 5]).clip(4, 1)",
    "triangles": "(x := Tensor([[1.0, 2.0, 3.0, 4.0]] * 3)).triu(2) + x.tril(-1) * 2 + x.triu(-1) * 3 + x.tril(1) * 5",
    "triangles of many": "Tensor([[[1, 2], [3, 4], [5, 6]]] * 2).triu(1)",
    "remainders": "(x := Tensor([-5.5, 5.5, -0.0, 3.0])) % 3 + x % 0.7 + x % -2.0",
    "remainders of integers": "(x := Tensor([-5, 5, 0, 3])) % 3 + x // 2 + x % -4",
    "powers": "(x := Tensor([0.5, 2.0, 3.0])) ** 2 + x ** 3 + x ** 4 + x ** -1 + x ** -2 + x ** 0.5 + x ** 0 + x ** 1",
    "powers of integers": "(x := Tensor([-5, 5, 0, 3])) ** 2 + x ** 3 + x ** 4 + x ** 0",
    "not a number": "ops.stack((x := Tensor([np.nan, np.inf, -np.inf, 1.0])) < 1, x <= x, x == x, x != x, x > 0,"
                         " x >= x, x.isnan(), x.isinf(), x.isfinite())",
    "the larger of NaN": "(x := Tensor([np.nan, 1.0, 0.0, 2.0])).maximum(y := Tensor([1.0, np.nan, -0.0, 2.0]))"
                         " + x.minimum(y)",
    "whole numbers": "ops.stack((x := Tensor([-1.5, -0.5, 0.5, 1.5, 2.5, -0.0])).round(), x.floor(), x.ceil(),"
                     " x.trunc(), x.sign(), x.abs())",
    "sums of one": "(x := Tensor([[1.0], [2.0]])).sum(1, keepdim=True) + x.amax(1, keepdim=True) + x.prod(1)[:, None]",
    "means of some axes": "(x := Tensor([[[1.0, 2.0], [3.0, 4.0]]] * 3)).mean((0, -1)) + x.sum((0, 2)) - x.mean()",
    "turned": "(x := Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).roll((-1, 2), (0, 1)) + x.roll(4, -1)"
              " + x[None].flip((0, -1))[0]",
    "joined": "tg.cat([x := Tensor([[1.0, 2.0]]), x * 2, x[:, :1]], -1) * tg.stack([x, x], -1).sum()",
    "items from the end": "(x := Tensor([[1.0, 2.0, 3.0]]))[..., ::2] * x[:, -1:]"
                          " + nn.functional.pad(x, (2, -3), value=7.0)",
    "ties": "(x := Tensor([[1.0, 1.0, 0.5]])).max(1).values + x.min() + x.amax(1) + x.maximum(1.0).sum()",
    "choices": "ops.where(Tensor([1, 0, 2]) > 0, Tensor([1, 2, 3]), 0.5) + ops.where(Tensor([1, 0]).any(), 2, 3)",
}


class Made:
    """Stands in for Tensor: keeps the Tensors that are made, or returns given ones instead."""

    def __init__(self, given=None):
        self.made, self.given = [], given

    def __call__(self, data, *options, **named):
        if self.given is not None and not named.get("requires_grad"):
            return next(self.given)
        t = Tensor(data, *options, **named)
        self.made += [] if named.get("requires_grad") else [t]
        return t

    def __getattr__(self, name):
        return getattr(Tensor, name)


def run(example, made):
    return eval(example, {"Tensor": made, "np": np, "ops": tg.ops, "tg": tg, "linalg": tg.linalg, "nn": nn})


def arrays(result):
    if isinstance(result, tuple | list):
        return [x for part in result for x in arrays(part)]
    return [result.detach().numpy().astype(np.float64) if isinstance(result, Tensor) else None]


def others(rng, x):
    """Other numbers in the range of x's."""
    if x.dtype.kind == "f":
        return (x * rng.uniform(0.7, 1.0, x.shape)).astype(x.dtype)
    if x.size == 1 and x.dtype.kind == "i":
        return x * 0
    return rng.permutation(x.ravel()).reshape(x.shape)


def gradients(example, order):
    """A function that returns the gradients of an example, or of the sum of their squares."""
    def f(*given):
        xs = [x.detach().requires_grad_(x.dtype.kind == "f") for x in given]
        wanted = [x for x in xs if x.requires_grad]
        results = [y for y in tensors(run(example, Made(iter(xs)))) if y.requires_grad]
        found = [(y * y).sum() for y in results]
        for last in [False] * (order - 1) + [True]:
            if not (found := [y for y in found if y is not None and y.requires_grad]):
                return 0 * xs[0].detach()
            found = tg.autograd.grad(sum(found), wanted, create_graph=not last, allow_unused=True)
            found = found if last else [(g * g).sum() for g in found if g is not None]
        return [g.detach() for g in found if g is not None]

    return f


def tensors(result):
    if isinstance(result, tuple | list):
        return [x for part in result for x in tensors(part)]
    return [result] if isinstance(result, Tensor) else []


@pytest.mark.parametrize("dtype, order", [("float32", 1), ("float64", 1), ("float32", 2)])
@pytest.mark.parametrize("name", [*EXAMPLES, *MORE])
def test_gradients_replayed_with_other_inputs_equal_eager_ones(name, dtype, order):
    example, first, rng = {**EXAMPLES, **MORE}[name], Made(), np.random.default_rng(1)
    try:
        result = run(example, first)
    except Exception:
        if name in MORE:
            raise
        return pytest.skip("the example needs other names")
    floats = [[t.dtype.kind == "f" for t in part] for part in (first.made, tensors(result))]
    if name == "bernoulli_" or not any(floats[0]) or not any(floats[1]):  # it changes a leaf in place
        return pytest.skip("has no gradients")
    inputs = [t.detach().numpy().astype(dtype if t.dtype.kind == "f" else t.dtype.name) for t in first.made]
    compare(gradients(example, order), inputs, rng, 1e-4)


@pytest.mark.parametrize("name", [*EXAMPLES, *MORE])
def test_results_replayed_with_other_inputs_equal_eager_ones(name):
    example, first, rng = {**EXAMPLES, **MORE}[name], Made(), np.random.default_rng(1)
    try:
        result = arrays(run(example, first))
    except Exception:
        if name in MORE:
            raise
        return pytest.skip("the example needs other names")
    if not first.made or any(x is None for x in result):
        return pytest.skip("returns no Tensors, or takes none")
    inputs = [t.detach().numpy().copy() for t in first.made]
    compare(lambda *given: run(example, Made(iter(given))), inputs, rng, 1e-5)


def compare(function, inputs, rng, rtol):
    calls = [inputs, inputs, inputs, *[[others(rng, x) for x in inputs] for _ in range(3)]]
    found = []
    for kind in (lambda f: f, capture):
        tg.manual_seed(0)
        f = kind(function)
        found.append([])
        for given in calls:
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    found[-1].append(arrays(f(*map(Tensor, given))))
            except Refused:
                return
            except (ArithmeticError, LookupError, NotImplementedError, ValueError) as error:  # unsuitable numbers
                found[-1].append(type(error))
    for eager, captured in zip(*found, strict=True):
        if isinstance(eager, type) or isinstance(captured, type):
            assert eager is captured
            continue
        for x, y in zip(eager, captured, strict=True):
            np.testing.assert_allclose(y, x, rtol=rtol, atol=1e-6)
