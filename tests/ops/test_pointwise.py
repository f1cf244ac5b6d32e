"""Formulas: the rule is the derivative of the definition, in every order, and kernels return NumPy's numbers."""

import inspect

import numpy as np
import pytest

from tinygrad_like import Tensor, gradcheck, gradgradcheck, ops
from tinygrad_like.kernels import formula
from tinygrad_like.ops import activation, elementwise
from tinygrad_like.ops.pointwise import Pointwise, pointwise

OPS = {op.name: op for module in (elementwise, activation) for op in vars(module).values() if isinstance(op, Pointwise)}
OPTIONS = {"negative_slope": (0.01, 0.3, -0.2), "alpha": (1.0, 0.3), "beta": (1.0, 2.5), "min_val": (-1.0, 0.2),
           "max_val": (1.0, -0.2), "threshold": (20.0, 0.5)}
UNARY = [(name, {}) for name, op in OPS.items() if len(op.inputs) == 1 and not op.options]
UNARY += [(name, {option: value}) for name, op in OPS.items() for option in op.options for value in OPTIONS[option]]
NEAR, FAR = np.random.default_rng(0).standard_normal((30, 4)), np.array([-1000.0, -100.0, 100.0, 1000.0])


def within(name, x):
    return abs(x) if name == "sqrt" else x


def gradient(f, x, **how):
    x = Tensor(x, requires_grad=True)
    return f(x).gradient(x, gradient=np.ones(x.shape, x.dtype), **how)[0]


@pytest.mark.parametrize(("name", "options"), UNARY)
@pytest.mark.parametrize("x", [5 * NEAR, FAR], ids=["near", "far"])
def test_the_rule_is_the_derivative_of_the_definition(name, options, x):
    op, x = OPS[name], within(name, x)
    definition = inspect.unwrap(op.forward)
    if name in ("tanh", "erf", "sqrt"):  # NumPy functions, not written in ops
        definition = op
    wanted = gradient(lambda x: definition(x, **options), x).numpy()
    for how in ({}, {"create_graph": True}):
        found = gradient(lambda x: op(x, **options), x, **how).detach().numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("name", "options"), [
    case for case in UNARY if case[0] not in ("relu", "leaky_relu", "relu6", "hardtanh", "hardsigmoid")])
def test_second_and_third_derivatives_are_right(name, options):
    x = within(name, np.where(abs(NEAR) < 0.1, NEAR + 0.3, NEAR))
    def slope(x):
        x = x if x.requires_grad else x.detach().requires_grad_()
        return OPS[name](x, **options).sum().gradient(x, create_graph=True)[0]

    assert gradcheck(slope, x) and gradgradcheck(slope, x)
    far = Tensor(within(name, FAR), requires_grad=True)
    (second,) = slope(far).sum().gradient(far)
    assert np.isfinite(second.numpy()).all()


def test_users_may_declare_formulas():
    @pointwise
    def _leaky_relu(x, *, negative_slope=0.5):
        return where(x > 0, 2 * x, helper(x, negative_slope))

    assert _leaky_relu.name == "leaky_relu"
    _leaky_relu.vjp(x=lambda g, x, negative_slope: g * where(x > 0, 2, negative_slope * COSINE))
    x = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    for options in ({}, {"negative_slope": 0.25}):
        y, dx = _leaky_relu(Tensor(x), **options), gradient(lambda x, o=options: _leaky_relu(x, **o), x)
        slope = np.where(x > 0, 2, options.get("negative_slope", 0.5) * 0.75).astype(np.float32)
        np.testing.assert_allclose(y.numpy(), slope * x, rtol=1e-6)
        np.testing.assert_allclose(dx.numpy(), slope, rtol=1e-6)


where, COSINE = ops.where, 0.75


def helper(x, slope):
    return slope * x * COSINE


def test_a_kernels_cached_name_depends_on_its_formula():
    """Formulas are not among the kernels' sources: a changed formula must not find the old kernel."""
    formulas = [lambda x: x + 1, lambda x: x + 2, lambda x: x - 1, lambda x: helper(x, 1)]
    parts = [str(formula.Formula(f, "f").parts) for f in formulas]
    assert len(set(parts)) == 4
    global COSINE
    COSINE = 0.5
    try:
        assert str(formula.Formula(formulas[3], "f").parts) != parts[3]
    finally:
        COSINE = 0.75
