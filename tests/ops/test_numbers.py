"""Float32 sums, and functions of sums, are accurate: a million terms, any axis and stride, a large offset."""

import numpy as np
import pytest

import nn.functional as F
from tinygrad_like import Tensor, ops

N = 1 << 20
rng = np.random.default_rng(5)
NEAR = rng.uniform(0, 1, N).astype(np.float32)
TENTHS = np.full(N, 0.1, np.float32)  # each is rounded the same way, so errors add up
FAR = (1e6 + rng.standard_normal(N)).astype(np.float32)

LAYOUTS = {
    "all": (lambda x: x, None),
    "as a column": (lambda x: x.reshape(-1, 1), 0),
    "columns": (lambda x: x.reshape(-1, 4), 0),
    "many columns": (lambda x: x.reshape(-1, 128), 0),
    "rows": (lambda x: x.reshape(4, -1), 1),
    "the middle": (lambda x: x.reshape(4, -1, 8), 1),
    "all but the middle": (lambda x: x.reshape(512, 4, 512), (0, 2)),
    "first and third": (lambda x: x.reshape(256, 2, 1024, 2), (0, 2)),
    "transposed": (lambda x: x.reshape(-1, 4).T, 1),
    "permuted": (lambda x: x.reshape(4, -1, 8).transpose(2, 0, 1), 2),
    "strided rows": (lambda x: x.reshape(4, -1)[:, ::2], 1),
    "strided columns": (lambda x: x.reshape(-1, 4)[:, ::2], 0),
    "backwards": (lambda x: x.reshape(-1, 4)[::-1], 0),
    "expanded": (lambda x: np.broadcast_to(x[:1024].reshape(1, -1), (1024, 1024)), 0),
    "expanded, all": (lambda x: np.broadcast_to(x[:1024].reshape(1, -1), (1024, 1024)), None),
    "expanded, the other axis": (lambda x: np.broadcast_to(x[:1024].reshape(1, -1), (16, 1024)), 1),
    "few, over the middle": (lambda x: x[:1800].reshape(2, 450, 2), 1),
    "few, in a column": (lambda x: x[:2000].reshape(-1, 1), 0),
}
FUNCTIONS = {
    "sum": (lambda x, axis: x.sum(axis), lambda x, axis: x.sum(axis)),
    "mean": (lambda x, axis: x.mean(axis), lambda x, axis: x.mean(axis)),
    "var": (lambda x, axis: x.var(axis), lambda x, axis: x.var(axis, ddof=1)),
    "std": (lambda x, axis: x.std(axis, correction=0), lambda x, axis: x.std(axis)),
    "norm": (lambda x, axis: x.norm(axis=axis), lambda x, axis: np.sqrt(np.square(x).sum(axis))),
    "logsumexp": (lambda x, axis: x.logsumexp(axis), lambda x, axis: np.log(np.exp(x - x.max()).sum(axis)) + x.max()),
}


def tensor(x):
    """A Tensor with exactly these strides."""
    t = Tensor(0.0)
    t.data = x
    return t


@pytest.mark.parametrize("numbers", [NEAR, TENTHS, FAR], ids=["near", "tenths", "far"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_reductions_are_accurate(function, layout, numbers):
    (arrange, axis), (ours, numpys) = LAYOUTS[layout], FUNCTIONS[function]
    x = arrange(numbers)
    found, exact = ours(tensor(x), axis).numpy(), numpys(x.astype(np.float64), axis)
    assert found.dtype == np.float32 and found.shape == np.shape(exact)
    # Equal numbers have variance 0; only rounding errors are left of it.
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6 if numbers is TENTHS else 0)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("numbers", [NEAR, TENTHS, FAR], ids=["near", "tenths", "far"])
def test_running_sums_are_accurate(numbers, axis):
    x = np.moveaxis(numbers.reshape(2, -1, 3 if numbers.size % 3 == 0 else 4), 1, axis)
    for a in (x, np.ascontiguousarray(x)):
        np.testing.assert_allclose(tensor(a).cumsum(axis).numpy(), np.cumsum(a, axis, dtype=np.float64), rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_logcumsumexp_and_its_gradient_are_accurate(axis):
    x = np.moveaxis(NEAR.reshape(-1, 4), 0, axis)
    sums = np.cumsum(np.exp(x.astype(np.float64)), axis)
    np.testing.assert_allclose(tensor(x).logcumsumexp(axis).numpy(), np.log(sums), rtol=1e-6)
    dx, = gradient(lambda x: x.logcumsumexp(axis), x, cotangent=1)
    owed = np.flip(np.flip(1 / sums, axis).cumsum(axis), axis)
    np.testing.assert_allclose(dx, np.exp(x.astype(np.float64)) * owed, rtol=1e-4)  # the output is rounded


def test_running_products_and_their_gradients_are_accurate():
    x = (1 + 1e-6 * (NEAR - 0.5)).astype(np.float32)
    products = np.cumprod(x, dtype=np.float64)
    np.testing.assert_allclose(tensor(x).cumprod(0).numpy(), products, rtol=1e-6)
    dx, = gradient(lambda x: x.cumprod(0), x, cotangent=0.1)
    np.testing.assert_allclose(dx, np.float64(np.float32(0.1)) * products[::-1].cumsum()[::-1] / x, rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_the_gradient_of_a_variance_far_from_0_is_accurate(axis):
    x = tensor(FAR.reshape(-1, 1024))
    x.requires_grad = True
    x.var(axis).sum().backward()
    exact = FAR.reshape(-1, 1024).astype(np.float64)
    n = exact.size if axis is None else exact.shape[axis]
    expected = 2 * (exact - exact.mean(axis, keepdims=True)) / (n - 1)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


LOSSES = {
    "mse": (F.mse_loss, lambda x, t: np.mean((x - t) ** 2)),
    "l1": (F.l1_loss, lambda x, t: np.mean(np.abs(x - t))),
    "huber": (F.huber_loss, lambda x, t: np.mean((x - t) ** 2) / 2),
    "smooth l1": (F.smooth_l1_loss, lambda x, t: np.mean((x - t) ** 2) / 2),
    "bce": (F.binary_cross_entropy, lambda x, t: -np.mean(t * np.log(x) + (1 - t) * np.log(1 - x))),
    "bce of logits": (F.binary_cross_entropy_with_logits, lambda x, t: np.mean(np.logaddexp(0, x) - t * x)),
    "kl": (lambda x, t: F.kl_div(-x - 3.0, t), lambda x, t: np.mean(t * (np.log(t) + x + 3))),
    "cross entropy": (lambda x, t: F.cross_entropy(x.reshape(-1, 4), np.arange(len(x) // 4) % 4),
                      lambda x, t: _cross_entropy(x.reshape(-1, 4))),
    "cross entropy of long rows": (lambda x, t: F.cross_entropy(x.reshape(2, -1), np.array([0, 1])),
                                   lambda x, t: _cross_entropy(x.reshape(2, -1))),
    "nll": (lambda x, t: F.nll_loss(-x.reshape(-1, 4), np.arange(len(x) // 4) % 4),
            lambda x, t: x.reshape(-1, 4)[np.arange(len(x) // 4), np.arange(len(x) // 4) % 4].mean()),
}


def _cross_entropy(x):
    rows = np.arange(len(x))
    return np.mean(np.log(np.exp(x).sum(1)) - x[rows, rows % x.shape[1]])


@pytest.mark.parametrize("order", ["in a row", "transposed"])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_accurate(loss, order):
    ours, exact = LOSSES[loss]
    x, t = np.clip(NEAR, 1e-3, 0.999), np.clip(NEAR[::-1], 1e-3, 0.999)
    given = [tensor(np.ascontiguousarray(a)) for a in (x, t)]
    if order == "transposed":
        if "entropy" in loss or loss == "nll":
            pytest.skip("takes rows")
        given = [tensor(a._data.reshape(-1, 4).T) for a in given]
    np.testing.assert_allclose(ours(*given).item(), exact(x.astype(np.float64), t.astype(np.float64)), rtol=1e-6)


def gradient(function, *inputs, cotangent):
    inputs = [tensor(a) for a in inputs]
    for a in inputs:
        a.requires_grad = True
    y = function(*inputs)
    return [g.numpy() for g in y.gradient(*inputs, gradient=np.broadcast_to(np.float32(cotangent), y.shape))]


def test_gradients_summed_over_a_million_rows_are_accurate():
    rows, exact = rng.standard_normal((N // 4, 4)).astype(np.float32), N // 4 * np.float64(np.float32(0.1))
    one = np.ones(4, np.float32)
    _, db = gradient(lambda x, b: x + b, rows, one, cotangent=0.1)
    np.testing.assert_allclose(db, exact, rtol=1e-6)
    _, _, db = gradient(ops.linear, rows, np.eye(4, dtype=np.float32), one, cotangent=0.1)
    np.testing.assert_allclose(db, exact, rtol=1e-6)
    images, filters = NEAR.reshape(4, 1, 512, 512), np.ones((2, 1, 1, 1), np.float32)
    _, _, db = gradient(F.conv2d, images, filters, one[:2], cotangent=0.1)
    np.testing.assert_allclose(db, 4 * exact, rtol=1e-6)
    for norm in (lambda x, w, b: F.layer_norm(x, (4,), w, b), ops.batch_norm,
                 lambda x, w, b: ops.group_norm(x, w, b, num_groups=2)):
        _, _, db = gradient(norm, rows, one, one, cotangent=0.1)
        np.testing.assert_allclose(db, exact, rtol=1e-6)


@pytest.mark.parametrize(("names", "rows"), [(N // 16, 3), (N // 16, N // 8), (1500, 3)])
@pytest.mark.parametrize("width", [1, 16])
def test_the_gradient_of_a_row_used_many_times_is_accurate(names, rows, width):
    index = Tensor.from_numpy(np.full(names, 1))
    dw, = gradient(lambda w: ops.embedding(index, w), np.zeros((rows, width), np.float32), cotangent=0.1)
    np.testing.assert_allclose(dw[1], names * np.float64(np.float32(0.1)), rtol=1e-6 if names > 2000 else 1e-5)
    assert not dw[0].any() and not dw[2:].any()


def test_the_gradient_of_a_variance_beside_a_large_mean_is_exact():
    near = np.random.default_rng(0).standard_normal(7)
    x = Tensor(1e8 + near, requires_grad=True)
    near = x.detach().numpy() - 1e8
    for graph in (False, True):
        dx, = x.var().gradient(x, create_graph=graph)
        np.testing.assert_allclose(dx.detach().numpy(), (near - near.mean()) / 3, rtol=0, atol=1e-12)


def test_nan_and_infinity_reach_sums_as_in_numpy():
    for layout, axis in LAYOUTS.values():
        for bad in ([np.nan], [np.inf], [-np.inf], [np.inf, -np.inf]):
            x = NEAR.copy()
            x[: len(bad)] = bad
            with np.errstate(invalid="ignore"):
                for ours, numpys in (("sum", np.sum), ("mean", np.mean)):
                    found, expected = getattr(tensor(layout(x)), ours)(axis).numpy(), numpys(layout(x), axis=axis)
                    special = ~np.isfinite(expected)
                    assert np.isfinite(found[~special]).all()
                    np.testing.assert_array_equal(found[special], expected[special])


def test_integer_sums_wrap_as_in_numpy_but_means_do_not_overflow():
    big = np.full(4, 2**62)
    assert Tensor.from_numpy(big).sum().item() == big.sum() == 0  # modulo 2^64
    assert Tensor.from_numpy(big).mean().item() == 2.0**62
