"""Large float32 inputs run in kernels, float64 in NumPy: both must agree, and so must their gradients."""

import numpy as np
import pytest

import nn.functional as F
from tests.kernels.samples import LARGE
from tests.ops.samples import CASES
from tinygrad_like import Tensor, linalg
from tinygrad_like.core.graph import setting


def found(sample, dtype, wanted=None, **how):
    """The outputs and the gradients of a sample's inputs, or of one of them, for a random cotangent."""
    f, *values = sample
    inputs = [Tensor(v, dtype=dtype, requires_grad=wanted in (None, i)) for i, v in enumerate(values)]
    y = f(*inputs)
    y = [x for x in (y if isinstance(y, tuple | list) else [y]) if isinstance(x, Tensor)]
    loss = sum([(x * Tensor(np.random.default_rng(1).standard_normal(x.shape), dtype=x.dtype)).sum()
                for x in y if x.requires_grad])
    return [x.detach().numpy() for x in [*y, *loss.gradient(*[x for x in inputs if x.requires_grad],
                                                            materialize_grads=True, **how)]]


def close(ours, exact, rtol, atol):
    for x, y in zip(ours, exact, strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol * np.abs(y[np.isfinite(y)]).max(initial=0.1))


@pytest.mark.parametrize("case", LARGE)
def test_float32_in_kernels_equals_float64_in_numpy(case):
    close(found(LARGE[case], "float32"), found(LARGE[case], "float64"), 2e-5, 3e-6)


@pytest.mark.parametrize("case", CASES)
def test_kernels_also_take_small_arrays(case):
    """With and without the gradient's graph, and with only one input differentiated."""
    exact = found(CASES[case], "float64")
    with setting("compiled", True):
        for how in {}, {"create_graph": True}:
            close(found(CASES[case], "float32", **how), exact, 1e-4, 2e-5)
        count = len(CASES[case]) - 1
        for i in range(count if count > 1 else 0):
            part = found(CASES[case], "float32", wanted=i)
            close(part, [*exact[:-count], exact[i - count]], 1e-4, 2e-5)


NUMBERS = {  # functions from (40, 30) to a number
    "prod": lambda x: (x * 0.01 + 1).prod(), "sum": lambda x: x.sum(), "mean": lambda x: x.mean(),
    "var": lambda x: x.var(), "max": lambda x: x.max(), "logsumexp": lambda x: x.logsumexp(),
    "norm": lambda x: linalg.norm(x), "median": lambda x: x.median(), "dot": lambda x: x.reshape(-1) @ x.reshape(-1),
    "mse": lambda x: F.mse_loss(x, x.detach() * 0), "l1": lambda x: F.l1_loss(x, x.detach() * 0),
    "huber": lambda x: F.huber_loss(x, x.detach() * 0), "smooth": lambda x: F.smooth_l1_loss(x, x.detach() * 0),
    "cross_entropy": lambda x: F.cross_entropy(x, Tensor(np.arange(40) % 30)),
    "binary": lambda x: F.binary_cross_entropy_with_logits(x, x.detach() * 0),
    "nll": lambda x: F.nll_loss(x, Tensor(np.arange(40) % 30)), "kl": lambda x: F.kl_div(x, x.detach().softmax(-1)),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x).square().sum(),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("outer", [lambda y: y.square(), lambda y: y * 3.0, lambda y: y * y[None].sum()])
def test_the_cotangent_of_a_number_may_be_a_numpy_scalar(name, outer):
    rows, found = np.random.default_rng(2).standard_normal((40, 30)), []
    for dtype in "float32", "float64":
        x = Tensor(rows.astype(dtype), requires_grad=True)
        found.append(outer(NUMBERS[name](x)).gradient(x)[0].numpy())
    np.testing.assert_allclose(*found, rtol=2e-3, atol=1e-4 * np.abs(found[1]).max())
