"""Targets and weights of other dtypes than the input: kernel and reference agree in value, gradient and dtype."""

import numpy as np
import pytest

from tinygrad_like import Tensor, ops

LOSSES = ["mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy", "kl_div",
          "binary_cross_entropy_with_logits"]
rng = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", ["float64", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("rows", [3, 300])
def test_targets_of_any_dtype(name, dtype, rows):
    x, target = rng.uniform(0.1, 0.9, (rows, 4)).astype("float32"), rng.integers(0, 2, (rows, 4))
    loss, results = getattr(ops, name), []
    for t in (target.astype("float32"), target.astype(dtype)):
        a = Tensor(x, requires_grad=True)
        y = loss(a, Tensor(t))
        y.backward()
        assert a.grad.dtype == "float32"
        results.append((y.item(), a.grad.numpy(), y.dtype))
    np.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-5)
    np.testing.assert_allclose(results[1][1], results[0][1], rtol=1e-5, atol=1e-7)
    assert results[1][2] == ("float64" if dtype == "float64" else "float32")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("weighted", ["float32", "float64", None])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_bce_with_logits_agrees_with_its_reference(reduction, weighted, dtype):
    x, target = Tensor(rng.standard_normal((50, 4)).astype("float32"), requires_grad=True), rng.integers(0, 2, (50, 4))
    options = {} if weighted is None else {"weight": Tensor(rng.uniform(1, 2, 4).astype(weighted)),
                                           "pos_weight": Tensor(rng.uniform(1, 2, 4).astype(weighted))}
    loss, results = ops.binary_cross_entropy_with_logits, []
    for f in (loss, loss.reference):
        y = f(x, Tensor(target.astype(dtype)), reduction=reduction, **options)
        results.append((y, y.gradient(x, gradient=np.ones(y.shape))[0]))
    (ours, g), (theirs, h) = results
    assert ours.dtype == theirs.dtype and g.dtype == h.dtype
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)
    np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=1e-5, atol=1e-7)
