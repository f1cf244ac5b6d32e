"""Ops and gradients outside their domains, of NaN, and at infinity: PyTorch's, with the listed exceptions.

Inputs come once, for NumPy, and repeated, for the float32 kernels.
"""

import numpy as np
import pytest

from tinygrad_like import Tensor, nn, ops

NAN, INF = float("nan"), float("inf")
VALUES = np.array([NAN, -INF, -1e30, -90, -20, -2, -1, -0.7, -1e-30, 0, 1e-30, 0.3, 1, 1.5, 2, 20, 90, 1e30, INF])
UNARY = {name: getattr(ops, name) for name in (
    "neg square exp exp2 expm1 sin cos tan asin acos atan sinh cosh asinh acosh atanh erf abs log log2 log10 log1p "
    "sqrt rsqrt reciprocal sign floor ceil round trunc relu sigmoid tanh silu gelu softplus logsigmoid elu leaky_relu "
    "hardswish hardtanh mish quick_gelu relu6 selu softsign").split()}
UNARY |= {
    "gelu tanh": lambda x: ops.gelu(x, approximate="tanh"),
    "clip": lambda x: ops.clip(x, min=-1, max=1.5),
    "clip below": lambda x: ops.clip(x, min=-1),
    "x ** 2": lambda x: x**2,
    "x ** 2.5": lambda x: x**2.5,
    "x ** 0.5": lambda x: x**0.5,
    "x ** -0.5": lambda x: x**-0.5,
    "x ** 1.5": lambda x: x**1.5,
    "x ** 0": lambda x: x**0,
    "x ** -1": lambda x: x**-1,
    "2 ** x": lambda x: 2**x,
    "0 ** x": lambda x: 0**x,
    "-2 ** x": lambda x: (-2) ** x,
    "x % 3": lambda x: x % 3,
}
BINARY = {name: getattr(ops, name) for name in (
    "add sub mul div pow maximum minimum mod fmod hypot atan2 logaddexp").split()}
LARGE = 300  # copies of VALUES, for the kernels


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def value_and_gradients(f, *arrays):
    inputs = [Tensor(a, requires_grad=True) for a in arrays]
    out = f(*inputs)
    out.backward(np.ones(out.shape, out.dtype))
    return [out.detach().numpy(), *[x.grad.numpy() for x in inputs]]


def inputs(dtype, copies, count):
    grid = np.meshgrid(*[VALUES.astype(dtype)] * count)
    return [np.tile(a.ravel(), copies) for a in grid]


PICKS = {"relu", "relu6", "hardtanh", "clip", "clip below"}  # NaN counts as picked, or (by clip) as cut off
STEPS = {"sign", "floor", "ceil", "round", "trunc"}  # the gradient is 0 everywhere
# 1 / x, 1 / (1 - x^2) and 1 / sqrt(x^2 - 1) are finite outside the domain, too.
SLOPES = {"log", "log2", "log10", "log1p", "atanh", "acosh"}
LINEAR = {"neg", "leaky_relu", "x % 3"}  # the slope does not depend on x, or only on its sign
FLAT = {"x ** 0", "x ** -0.5", "gelu", "gelu tanh", "hardswish", "softsign"}  # NaN ** 0 is 1; slopes have limits there


@pytest.mark.parametrize("name", [name for name in UNARY if name not in PICKS | STEPS | SLOPES | LINEAR | FLAT])
@pytest.mark.parametrize("copies", [1, LARGE])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_where_the_output_is_nan_so_is_the_gradient(name, dtype, copies):
    out, gradient = value_and_gradients(UNARY[name], *inputs(dtype, copies, 1))
    assert np.isnan(out).any() and np.isnan(gradient[np.isnan(out)]).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_power_of_a_negative_base_has_no_gradient_in_its_exponent(dtype):
    a, b = (np.array(v, dtype) for v in ([-2, -2, -8, 0, 0, 0, 2], [3, 0.5, 1, 2, 0, -1, 3]))
    out, in_base, in_exponent = value_and_gradients(ops.pow, a, b)
    np.testing.assert_array_equal(np.isnan(out), [False, True] + [False] * 5)
    np.testing.assert_array_equal(np.isnan(in_base), [False, True] + [False] * 5)
    np.testing.assert_allclose(in_exponent, [NAN, NAN, NAN, 0, 0, -INF, 8 * np.log(2)], rtol=1e-6)


@pytest.mark.parametrize("copies", [1, LARGE])
def test_relu_maximum_and_minimum_pass_the_gradient_to_nan(copies):
    x = np.tile(np.array([NAN, -1, 0, 2], np.float32), copies * 10)
    np.testing.assert_array_equal(value_and_gradients(ops.relu, x)[1], np.tile([1, 0, 0, 1], copies * 10))
    for op in (ops.maximum, ops.minimum):
        _, *gradients = value_and_gradients(op, np.array([NAN, 1, NAN, 1, 2]), np.array([1, NAN, NAN, 1, 1]))
        assert [g.tolist()[:4] for g in gradients] == [[1, 1, 1, 0.5]] * 2
        assert sum(g[4] for g in gradients) == 1


def test_the_gradient_of_mish_is_1_however_large_x_is():
    for x in (20, 1e3, 1e15, 1e30):
        assert value_and_gradients(ops.mish, np.array([x], float))[1] == pytest.approx([1])


@pytest.mark.parametrize("rows", [1, 300])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_softmax_of_large_numbers_depends_on_differences(rows, dtype):
    x = np.tile(np.array([1000, 999, -1000], dtype), (rows, 1))
    p = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(ops.softmax(x)[-1], [p, 1 - p, 0], rtol=1e-6)
    np.testing.assert_allclose(ops.log_softmax(x)[-1], np.log([p, 1 - p, 1]) - [0, 0, 2000 - np.log(p)], rtol=1e-6)


@pytest.mark.parametrize("copies", [1, LARGE])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_softplus_is_linear_beyond_its_threshold_and_its_relatives_nowhere(dtype, copies):
    x = np.tile(np.array([-1, 0.2, 0.24, 0.26, 3, 25], dtype), copies)
    out, gradient = value_and_gradients(lambda x: ops.softplus(x, 2.0, 0.5), x)
    far = 2 * x > 0.5
    np.testing.assert_array_equal([out[far], gradient[far]], [x[far], np.ones(far.sum())])
    np.testing.assert_allclose(out[~far], np.log1p(np.exp(2 * x[~far])) / 2, rtol=1e-6)
    np.testing.assert_allclose(gradient[~far], 1 / (1 + np.exp(-2 * x[~far])), rtol=1e-6)
    np.testing.assert_array_equal(nn.Softplus(2.0, 0.5)(Tensor(x)).numpy(), out)
    z, one = Tensor(np.full(3 * copies, 25, dtype)), Tensor(np.ones(3 * copies, dtype))
    tiny = [ops.softplus(z, threshold=INF) - z, z.softplus() - z, -ops.logsigmoid(z),
            *[ops.binary_cross_entropy_with_logits(z, one, pos_weight=w, reduction="none") for w in (None, one)]]
    for found in tiny[:2] if dtype == "float64" else ():
        np.testing.assert_allclose(found.numpy(), np.log1p(np.exp(-25)), rtol=1e-3)
    for found in tiny[2:]:
        np.testing.assert_allclose(found.numpy(), np.log1p(np.exp(-25)), rtol=1e-3)


@pytest.mark.parametrize("copies", [1, LARGE])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_logsumexp_takes_infinities(dtype, copies):
    x = np.tile(np.array([[-INF, -INF], [-INF, 3], [0, 0], [INF, 1], [NAN, 1]], dtype), (copies, 1))
    out, gradient = value_and_gradients(lambda x: ops.logsumexp(x, axis=1), x)
    np.testing.assert_allclose(out, np.tile([-INF, 3, np.log(2), INF, NAN], copies), rtol=1e-6)
    expected = [[NAN, NAN], [0, 1], [0.5, 0.5], [NAN, 0], [NAN, NAN]]  # shares of nothing, and of infinity
    np.testing.assert_allclose(gradient, np.tile(expected, (copies, 1)), rtol=1e-6)
    x = Tensor(x, requires_grad=True)
    recorded = ops.logsumexp(x, axis=1).sum().gradient(x, create_graph=True)[0]
    np.testing.assert_allclose(recorded.detach().numpy(), gradient, rtol=1e-6)
    x = Tensor(np.full((copies, 2), 1e4, dtype), requires_grad=True)
    for graph in False, True:  # where an ulp of the output is 1e-3, the shares are exact within rounding
        found, = ops.logsumexp(x, axis=1).sum().gradient(x, create_graph=graph)
        np.testing.assert_allclose(found.detach().numpy(), 0.5, rtol=2e-7)


def slopes_of_logcumsumexp(x, g, h, graph):
    x = Tensor(x, requires_grad=True)
    first = ops.logcumsumexp(x, axis=0).gradient(x, gradient=Tensor(g.astype(x.dtype)), create_graph=graph)[0]
    second = [(first * Tensor(h.astype(x.dtype))).sum().gradient(x)[0].numpy()] if graph else []
    return [first.detach().numpy(), *second]


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("first", [-90.0, -1e4, -INF])
def test_logcumsumexp_may_start_far_below(first, dtype, graph):
    rng = np.random.default_rng(0)
    x, g, h = rng.standard_normal((3, 300))
    x[0] = first
    found, without = (slopes_of_logcumsumexp(np.array(v, dtype), g[-len(v):], h[-len(v):], graph) for v in (x, x[1:]))
    for a, b in zip(found, without, strict=True):
        np.testing.assert_allclose(a[1:], b, rtol=2e-5, atol=1e-6)
    assert found[0][0] == (0 if first == -INF else np.array(g[0], dtype)) and not (graph and found[1][0])


@pytest.mark.parametrize("scale", [1, 100, 1000])
def test_slopes_of_logcumsumexp_have_float32_precision(scale):
    rng = np.random.default_rng(0)
    x, g, h = rng.standard_normal((3, 500))
    x = np.array(scale * x, np.float32)
    for a, b in zip(*[slopes_of_logcumsumexp(v, g, h, True) for v in (x, x.astype(float))], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6 * np.abs(b).max())


@pytest.mark.parametrize("rows", [2, 300])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nan_passes_through_relu_in_fused_layers(rows, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, 40, 3, 3)).astype(dtype)
    skip = x.copy()
    skip[1, 2, 0, 0] = NAN
    norm = nn.BatchNorm2d(40)
    weight, bias = (p.detach().numpy().astype(dtype) for p in (norm.weight, norm.bias))
    _, _, _, _, dskip = value_and_gradients(
        lambda x, w, b, s: ops.batch_norm_relu(x, w, b, None, None, s), x, weight, bias, skip)
    assert dskip[1, 2, 0, 0] == 1


# Beside PyTorch -------------------------------------------------------------------------------------------------------

OTHERWISE = {  # where we differ: our (output, gradient)
    ("abs", NAN): (NAN, NAN),  # PyTorch: gradient 0
    ("sign", NAN): (NAN, 0),  # PyTorch: 0
    ("sqrt", 0): (0, 0),  # PyTorch: infinite
    ("relu6", NAN): (NAN, 1),  # PyTorch: gradient 0
    ("hardtanh", NAN): (NAN, 1),  # PyTorch: gradient 0
    ("hardswish", NAN): (NAN, NAN),  # PyTorch: gradient 1 or NaN, depending on the dtype
    ("x ** -0.5", -INF): (0, 0),  # PyTorch: NaN
    ("softsign", INF): (NAN, 0),  # PyTorch: gradient NaN
    ("softsign", -INF): (NAN, 0),
}


def theirs(name):
    import torch

    special = {
        "silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu, "softplus": torch.nn.functional.softplus,
        "gelu tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"), "elu": torch.nn.functional.elu,
        "logsigmoid": torch.nn.functional.logsigmoid, "leaky_relu": torch.nn.functional.leaky_relu,
        "clip": lambda x: torch.clamp(x, -1, 1.5), "clip below": lambda x: torch.clamp(x, -1),
        "hardswish": torch.nn.functional.hardswish, "hardtanh": torch.nn.functional.hardtanh,
        "mish": torch.nn.functional.mish, "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
        "relu6": torch.nn.functional.relu6, "softsign": torch.nn.functional.softsign,
        "mod": torch.remainder, "x % 3": lambda x: torch.remainder(x, 3),
    }
    return special.get(name) or (UNARY[name] if "**" in name else getattr(torch, name))


def compared(ours, name, dtype, copies, count, skip):
    import torch

    arrays = inputs(dtype, copies, count)
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    out = theirs(name)(*tensors)
    out.backward(torch.ones_like(out))
    wanted = [out.detach().numpy(), *[t.grad.numpy() for t in tensors]]
    for got, right in zip(value_and_gradients(ours, *arrays), wanted, strict=True):
        kept = ~skip(*arrays)
        # Far below 1e-30, PyTorch's kernels and NumPy underflow at different places.
        np.testing.assert_allclose(got[kept], right[kept], rtol=2e-5, atol=1e-30, err_msg=f"{name}, {dtype}")


@pytest.mark.torch
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("copies", [1, LARGE])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_unary_ops_equal_pytorchs_far_out(name, dtype, copies):
    def skip(x):
        if name.startswith("gelu"):  # our kernel returns the limit; in PyTorch x^3 overflows
            return np.abs(x) > 1e20
        if name in ("elu", "selu"):  # PyTorch's gradient of NaN is 1 or NaN, depending on the dtype
            return np.isnan(x)
        if name == "expm1":  # PyTorch computes the gradient from the output, which has lost digits
            return (x < -2) & (x > -100)
        skipped = (np.abs(x) > 1e19) & (name == "acosh")  # its square overflows in PyTorch
        if name == "mish":  # PyTorch's gradient is NaN at infinity, and rough far below 0
            skipped |= (x == INF) | (x < -80)
        for op, at in OTHERWISE:
            if op == name:
                skipped |= np.isnan(x) if np.isnan(at) else x == at
        return skipped

    compared(UNARY[name], name, dtype, copies, 1, skip)
    for (op, at), (value, slope) in OTHERWISE.items():
        if op == name:
            got = value_and_gradients(UNARY[name], np.full(3 * copies, at, dtype))
            np.testing.assert_array_equal(got, [[value] * 3 * copies, [slope] * 3 * copies])


@pytest.mark.torch
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_binary_ops_equal_pytorchs_far_out(name, dtype):
    def skip(a, b):  # a quotient that float32 cannot hold
        if name == "hypot":  # PyTorch's gradient at (0, 0) is NaN, ours 0
            return (a == 0) & (b == 0)
        if name == "atan2":  # where a^2 + b^2 underflows, PyTorch's gradient is 0
            return np.maximum(np.abs(a), np.abs(b)) < 1e-18
        return (name in ("mod", "fmod")) & (np.abs(a) > 1e20) & (np.abs(b) < 1e-20)

    compared(BINARY[name], name, dtype, 1, 2, skip)
