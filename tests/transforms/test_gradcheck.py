"""The checker passes right gradients and, above all, fails wrong ones."""

import numpy as np
import pytest

from tests.core.test_declarations import declare
from tinygrad_like import Tensor, get_rng_state, ops
from tinygrad_like.core.primitive import primitive
from tinygrad_like.ops.composite import composite
from tinygrad_like.transforms.gradcheck import GradcheckError, gradcheck, gradgradcheck

rng = np.random.default_rng(7)
A, B = rng.standard_normal((3, 4)), rng.standard_normal((4,))


def cube(x):
    return x ** 3


def product(a, b):
    return a * b


# Right gradients pass -------------------------------------------------------------------------------------------------

CASES = {
    "broadcast product": (lambda a, b: a * b, (A, B)),
    "several outputs": (lambda a, b: (a * b, a.exp(), b.sin()), (A, B)),
    "linear": (lambda a: 3 * a + 1, (A,)),
    "identity": (lambda a: a, (A,)),
    "unused input": (lambda a, b: a.exp(), (A, B)),
    "constant output": (lambda a: (a.exp(), Tensor(B)), (A,)),
    "integer output": (lambda a: (a.exp(), a > 0), (A,)),
    "integer input": (lambda a, k: a * k, (A, np.array(3))),
    "other arguments": (lambda a, n, flag: a ** n if flag else a, (A, 2.0, True)),
    "Tensor input": (lambda a: a.exp(), (Tensor(A),)),
    "NumPy scalar": (lambda a: a.exp(), (np.float64(0.5),)),
    "0-d": (lambda a: a * a, (np.array(0.5),)),
    "empty": (lambda a: a * a, (np.zeros((0, 3)),)),
    "transposed layout": (lambda a: a.exp(), (A.T,)),
    "same array twice": (lambda a, b: a * b, (A, A)),
}


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
@pytest.mark.parametrize("case", CASES)
def test_right_gradients_pass(check, case):
    f, inputs = CASES[case]
    assert check(f, *inputs) is True


def test_inputs_and_the_global_generator_are_left_alone():
    a, t, state = A.copy(), Tensor(A), get_rng_state()
    gradcheck(lambda a, t: a * t, a, t)
    gradgradcheck(lambda a, t: a * t, a, t)
    assert np.array_equal(a, A) and np.array_equal(t._data, A)
    assert not t.requires_grad and t.grad is None
    assert get_rng_state() == state


# Wrong gradients fail -------------------------------------------------------------------------------------------------


def test_a_rule_wrong_by_a_thousandth_fails():
    off = declare(cube, x=lambda g, x: 1.001 * g * (3 * x * x))
    with pytest.raises(GradcheckError, match=r"(?m)^gradcheck: input 0 \(shape \(3, 4\)\): numeric \S+, analytic \S+, "
                                             r"relative error (9\.9\d*e-04|1\.0\d*e-03)$"):
        gradcheck(off, A)


def test_the_message_names_the_input():
    off = declare(product, a=lambda g, b: g * b, b=lambda g, a: 0.999 * (g * a))
    gradcheck(lambda a: off(a, Tensor(B)), A)
    with pytest.raises(GradcheckError, match=r"input 1 \(shape \(4,\)\)"):
        gradcheck(off, A, B)


def test_a_wrong_second_order_fails_only_there():
    frozen = declare(cube, x=lambda g, x: g * ((3 * x * x).detach() if isinstance(x, Tensor) else 3 * x * x))
    assert gradcheck(frozen, A)
    with pytest.raises(GradcheckError, match=r"^gradgradcheck: input 0 .* analytic 0,"):
        gradgradcheck(frozen, A)


def test_a_second_order_wrong_by_a_thousandth_fails_only_there():
    slope = declare(lambda x: 3 * x * x, x=lambda g, x: 1.001 * g * (6 * x))
    off = declare(cube, x=lambda g, x: g * slope(x))
    assert gradcheck(off, A)
    with pytest.raises(GradcheckError, match="gradgradcheck: input 0"):
        gradgradcheck(off, A)


def test_a_rule_that_is_not_linear_in_its_cotangent_fails():
    """g (3 x^2) + (g - g.detach()) has the right value and the wrong derivative in g."""
    off = declare(cube, x=lambda g, x: g * (3 * x * x) + (g - g.detach() if isinstance(g, Tensor) else 0))
    assert gradcheck(off, A)
    with pytest.raises(GradcheckError, match="cotangent 0"):
        gradgradcheck(off, A)


def test_a_kernel_that_is_not_the_definition_fails():
    off = composite(lambda x: 1.001 * ops.exp(x))
    off.accelerate(lambda x: (np.exp(x), None), lambda g, wanted, x, residuals: [g * np.exp(x)])
    with pytest.raises(GradcheckError, match=r"gradcheck: input 0 .*create_graph=True differs by up to"):
        gradcheck(off, A)


def test_a_joint_rule_that_ignores_wanted_fails():
    """With both inputs wanted it is right; with only the second it returns the wrong cotangent."""
    careless = primitive(product)
    careless.joint_vjp(lambda g, a, b, wanted: [g * b, g * a] if all(wanted) else [g * b, g * b])
    with pytest.raises(GradcheckError, match="input 1"):
        gradcheck(careless, A, A + 1)


def test_nan_fails():
    with pytest.raises(GradcheckError, match="analytic nan"):
        gradcheck(declare(cube, x=lambda g, x: g * np.nan), A)


@pytest.mark.needs("learn")
def test_the_error_says_why_and_where():
    off = declare(product, a=lambda g, b: g * b, b=lambda g, a: -g * a)
    with pytest.raises(GradcheckError, match=r"(?s)product: the rule of input 'b' is wrong.*sign: the rule returns "
                                             r"minus.*test_gradcheck\.py:\d+\n.*b=lambda g, a: -g \* a"):
        gradcheck(lambda a, b: (off(a, b).exp() * a).sum(), A, B)
    with pytest.raises(GradcheckError) as short:
        gradcheck(lambda a, b: off(a, b).exp(), A, B, explain=False)
    assert "\n" not in str(short.value)
    frozen = declare(cube, x=lambda g, x: g * ((3 * x * x).detach() if isinstance(x, Tensor) else 3 * x * x))
    with pytest.raises(GradcheckError, match="(?s)cube: .*second order: the value is right, but its "
                                             "derivative by 'x' is not"):
        gradgradcheck(frozen, A)


@pytest.mark.needs("learn")
def test_a_function_of_right_ops_that_leaves_the_graph_is_explained():
    with pytest.raises(GradcheckError, match=r"Every op that f calls is right by itself \(exp, mul\)\. So f takes"):
        gradcheck(lambda a: a.exp() * a.detach(), A)
    with pytest.raises(GradcheckError, match="No op was called on input 0: f takes it off the graph"):
        gradcheck(lambda a, b: Tensor(np.exp(a._data)) * b, A, B)


def test_a_function_that_draws_random_numbers_is_refused():
    noise = np.random.default_rng(0)
    with pytest.raises(GradcheckError, match="two values for the same inputs"):
        gradcheck(lambda x: x * noise.standard_normal(), A)


# Functions that cannot be checked are refused -------------------------------------------------------------------------


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_inputs_and_outputs_must_be_float64(check):
    name = check.__name__
    with pytest.raises(TypeError, match=f"{name}: input 1 is float32, .*pass float64"):
        check(lambda a, b: a * b, A, Tensor(A, dtype="float32"))
    with pytest.raises(TypeError, match=f"{name}: output 0 of f is float32"):
        check(lambda a: a.float(), A)
    with pytest.raises(TypeError, match=f"{name}: output 1 of f is a float"):
        check(lambda a: (a, 1.0), A)
    with pytest.raises(ValueError, match=f"{name}: nothing to check: none of the 1 inputs"):
        check(lambda a: a, np.arange(3))


def test_inputs_may_come_in_a_tuple():
    x, y = np.arange(1.0, 4.0), np.arange(2.0, 5.0)
    assert gradcheck(lambda a, b: (a * b).sum(), (x, y)) and gradgradcheck(lambda a, b: (a * b).exp(), (x / 3, y / 5))
