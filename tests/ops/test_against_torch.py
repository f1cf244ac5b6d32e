"""Values and gradients against PyTorch of what its own samples, in test_opinfo.py, leave out: `pytest -m torch`."""


import numpy as np
import pytest

from tinygrad_like import Tensor, ops

torch = pytest.importorskip("torch")
F = torch.nn.functional
pytestmark = pytest.mark.torch

rng = np.random.default_rng(3)
INF = float("inf")


def some(*shape):
    return rng.standard_normal(shape)


def positive(*shape):
    return rng.uniform(0.05, 0.95, shape)


def compare(ours, theirs, *inputs, dtype="float64", orders=2):
    """Same value, same gradients for a random cotangent, and same gradients of the squared gradients."""
    exact = dtype == "float64"
    how = {"rtol": 1e-9, "atol": 1e-10} if exact else {"rtol": 2e-5, "atol": 2e-6}
    xs = [Tensor(x, requires_grad=True, dtype=dtype) for x in inputs]
    ts = [torch.tensor(x, dtype=getattr(torch, dtype), requires_grad=True) for x in inputs]
    y, t = ours(*xs), theirs(*ts)
    assert y.shape == tuple(t.shape) and y.dtype == dtype
    np.testing.assert_allclose(y.detach().numpy(), t.detach().numpy(), **how)
    g = np.random.default_rng(9).standard_normal(y.shape)
    expected = torch.autograd.grad(t, ts, torch.tensor(g, dtype=t.dtype), create_graph=orders > 1, allow_unused=True)
    for create_graph in (False, True):
        found = y.gradient(*xs, gradient=g, create_graph=create_graph, retain_graph=True, materialize_grads=True)
        for ours_, theirs_ in zip(found, expected, strict=True):
            theirs_ = np.zeros(ours_.shape) if theirs_ is None else theirs_.detach().numpy()
            np.testing.assert_allclose(ours_.detach().numpy(), theirs_, **how)
    if orders > 1 and exact:
        penalty, wanted = sum((d * d).sum() for d in found), sum((d * d).sum() for d in expected if d is not None)
        zeros = [x.zeros_like() for x in xs]
        second = penalty.gradient(*xs, materialize_grads=True) if penalty.requires_grad else zeros
        expected = torch.autograd.grad(wanted, ts, allow_unused=True) if wanted.requires_grad else [None] * len(ts)
        for ours_, theirs_ in zip(second, expected, strict=True):
            theirs_ = np.zeros(ours_.shape) if theirs_ is None else theirs_.numpy(force=True)
            np.testing.assert_allclose(ours_.numpy(), theirs_, rtol=1e-7, atol=1e-8)


def names(table):
    return {"argvalues": list(table.values()), "ids": list(table)}


def test_singular_points():
    """Where our conventions are PyTorch's: ties of max, min, maximum, relu, abs and clip at their kinks."""
    ties = np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    compare(ops.maximum, torch.maximum, ties, np.full((2, 3), 2.0))
    compare(ops.minimum, torch.minimum, ties, np.zeros((2, 3)))
    compare(lambda x: x.max(), lambda x: x.max(), ties)
    compare(lambda x: x.max(axis=1), lambda x: x.amax(1), ties)
    compare(lambda x: x.min(axis=(0, 1)), lambda x: x.amin((0, 1)), ties)
    compare(ops.relu, F.relu, ties)
    compare(ops.abs, torch.abs, ties)
    compare(lambda x: x.clip(0, 1), lambda x: x.clamp(0, 1), ties)
    compare(lambda x: x.norm(), lambda x: x.norm(), np.zeros(3), orders=1)


@pytest.mark.parametrize("loss", ["cross_entropy", "nll_loss"])
def test_all_labels_ignored(loss):
    x = Tensor(np.ones((2, 3)), requires_grad=True)
    t = torch.ones(2, 3, requires_grad=True)
    y, z = getattr(ops, loss)(x, [-100, -100]), getattr(F, loss)(t, torch.tensor([-100, -100]))
    y.backward()
    z.backward()
    assert np.isnan(y.item()) and np.isnan(z.item()) and np.array_equal(x.grad.numpy(), t.grad.numpy())


def test_masked_logits():
    x = np.array([[1.0, -INF, 0.5], [-INF, 0.0, 2.0]])
    compare(lambda x: ops.cross_entropy(x, [0, 1]), lambda x: F.cross_entropy(x, torch.tensor([0, 1])), x, orders=1)
    compare(ops.softmax, lambda x: F.softmax(x, -1), x, orders=1)
    compare(lambda x: ops.logsumexp(x, axis=1), lambda x: torch.logsumexp(x, 1), x, orders=1)


SEEN = rng.random((5, 7)) < 0.7
SEEN[:, 0] = True
LOWEST = np.where(SEEN, 0.0, np.finfo(np.float32).min)  # what many programs write for -inf: it hides no row as a whole
LOWEST[2] = LOWEST.min()
ATTENTION = {
    "plain": {}, "causal": {"is_causal": True}, "scale": {"scale": 0.3}, "mask": {"attn_mask": SEEN},
    "mask of a batch": {"attn_mask": rng.random((2, 1, 1, 7)) < 0.9}, "added mask": {"attn_mask": some(3, 5, 7)},
    "mask of the lowest number": {"attn_mask": LOWEST},
}


@pytest.mark.parametrize("options", **names(ATTENTION))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_attention(options, dtype):
    mask, rest = options.get("attn_mask"), {n: v for n, v in options.items() if n != "attn_mask"}
    inputs = [some(2, 3, 5, 4), some(2, 3, 7, 4), some(2, 3, 7, 6)]
    if mask is None or mask.dtype == bool:
        ours, theirs = (None, None) if mask is None else (Tensor(mask), torch.tensor(mask))
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):  # the one with second derivatives
            compare(lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, ours, **rest),
                    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, theirs, **rest), *inputs, dtype=dtype)
    else:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            compare(ops.scaled_dot_product_attention, F.scaled_dot_product_attention, *inputs, mask, dtype=dtype)


def test_a_network():
    x, t = some(8, 5), rng.integers(0, 3, 8)

    def network(relu, linear, cross_entropy, x, t):
        def f(w1, b1, w2, b2):
            h = relu(linear(x, w1, b1))
            h = h + (h * h).mean(0)
            return cross_entropy(linear(h / (1 + h.sum(1)[:, None]), w2, b2), t)
        return f

    compare(network(ops.relu, ops.linear, ops.cross_entropy, Tensor(x), Tensor(t)),
            network(F.relu, F.linear, F.cross_entropy, torch.tensor(x), torch.tensor(t)),
            some(7, 5), some(7), some(3, 7), some(3))


def test_dlpack():
    a = torch.arange(6.0).reshape(2, 3)
    x = Tensor.from_dlpack(a)
    a[0, 0] = 10
    assert x.numpy()[0, 0] == 10 and x.dtype == "float32"
    y = Tensor([1.0, 2.0])
    b = torch.from_dlpack(y)
    y.assign([3.0, 4.0])
    assert b.tolist() == [3, 4]
    assert Tensor(torch.ones(2, dtype=torch.float64)).dtype == "float64"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_batch_norm_with_relu(dtype):
    compare(lambda x, w, b, s: ops.batch_norm_relu(x, w, b, None, None, s),
            lambda x, w, b, s: F.relu(F.batch_norm(x, None, None, w, b, True) + s),
            some(3, 4, 5, 6), some(4), some(4), some(3, 4, 5, 6), dtype=dtype)


def test_windows_where_several_tie():
    x = rng.integers(0, 3, (2, 3, 9, 9)).astype(float)
    x[rng.random(x.shape) < 0.5] = -INF
    for args in ((2,), (3, 2, 1), (3, 1, 1), (4, 3, 2)):
        for dtype in ("float64", "float32"):
            compare(lambda x, args=args: ops.max_pool2d(x, *args), lambda x, args=args: F.max_pool2d(x, *args), x,
                    dtype=dtype, orders=1)


# Dropout draws other masks than PyTorch's, but scales in the same way -------------------------------------------------


def test_dropout_scales_as_pytorch_does():
    x = positive(64, 64).astype(np.float32)
    for p in (0.0, 0.25, 0.9, 1.0):
        found = [set(np.unique((y.numpy() / x).round(4))) for y in (ops.dropout(Tensor(x), p),
                                                                    F.dropout(torch.tensor(x), p))]
        assert found[0] == found[1]
