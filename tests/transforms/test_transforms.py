"""Function transforms against matrices computed by hand, nested, and at the edges."""

import numpy as np
import pytest

from tinygrad_like import Tensor, grad, hessian, hvp, jacobian, jvp, no_grad, value_and_grad, vjp

rng = np.random.default_rng(4)
A = rng.standard_normal((3, 3))
X = rng.standard_normal(3)


def quadratic(x):
    """x^T A x, with gradient (A + A^T) x and Hessian A + A^T."""
    return x @ (Tensor(A) @ x)


def swirl(x):
    """(x0 x1, sin x2), with a Jacobian known by hand."""
    return (x[0] * x[1]).reshape(1).cat(x[2].sin().reshape(1))


SWIRL = np.array([[X[1], X[0], 0], [0, 0, np.cos(X[2])]])


def test_grad_and_value_and_grad_equal_the_formula():
    np.testing.assert_allclose(grad(quadratic)(X)._data, (A + A.T) @ X)
    value, g = value_and_grad(quadratic)(X)
    np.testing.assert_allclose(value.item(), X @ A @ X)
    np.testing.assert_allclose(g._data, (A + A.T) @ X)
    assert not value.requires_grad and not g.requires_grad


def test_grad_takes_several_arguments_and_options():
    def f(a, b, *, scale):
        return scale * (a * b).sum()

    a, b = rng.standard_normal((2, 4))
    ga, gb = grad(f, (0, 1))(a, b, scale=3.0)
    np.testing.assert_allclose([ga._data, gb._data], [3 * b, 3 * a])
    np.testing.assert_allclose(grad(f, 1)(a, b, scale=2.0)._data, 2 * a)
    np.testing.assert_allclose(grad(f, -1)(a, b, scale=2.0)._data, 2 * a)


def test_a_gradient_depends_on_values_that_f_closes_over():
    w = Tensor(X, requires_grad=True)
    for take in (grad, lambda f: lambda x: vjp(f, x)[1](1.0)[0]):
        w.grad = None
        take(lambda x: (w * w * x).sum())(A[0]).sum().backward()
        np.testing.assert_allclose(w.grad._data, 2 * X)


def test_grad_can_be_nested_to_any_order():
    f = lambda x: x**5  # noqa: E731
    for expected in (5 * 2.0**4, 20 * 2.0**3, 60 * 2.0**2, 120 * 2.0, 120):
        f = grad(f)
        assert f(np.array(2.0)).item() == expected


def test_vjp_and_jvp_are_rows_and_columns_of_the_jacobian():
    np.testing.assert_allclose(jacobian(swirl)(X)._data, SWIRL)
    y, pull = vjp(swirl, X)
    np.testing.assert_allclose(y._data, [X[0] * X[1], np.sin(X[2])])
    v, t = rng.standard_normal(2), rng.standard_normal(3)
    for _ in range(2):  # more than once
        np.testing.assert_allclose(pull(v)[0]._data, v @ SWIRL)
    y, along = jvp(swirl, (X,), (t,))
    np.testing.assert_allclose(along._data, SWIRL @ t)
    a, b = rng.standard_normal((2, 3))
    _, along = jvp(lambda a, b: a * b, (a, b), (t, 2 * t))
    np.testing.assert_allclose(along._data, t * b + 2 * t * a)


def test_hessian_and_hvp_equal_the_matrix():
    np.testing.assert_allclose(hessian(quadratic)(X)._data, A + A.T)
    v = rng.standard_normal(3)
    np.testing.assert_allclose(hvp(quadratic, X, v)._data, (A + A.T) @ v)
    shape = hessian(lambda x: (x**3).sum())(rng.standard_normal((2, 3))).shape
    assert shape == (2, 3, 2, 3)


def test_results_can_be_differentiated_further():
    x = Tensor(X, requires_grad=True)
    (grad(quadratic)(x) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad._data, 2 * (A + A.T) @ (A + A.T) @ X)
    x.grad = None
    jvp(swirl, (x,), (np.ones(3),))[1].sum().backward()
    np.testing.assert_allclose(x.grad._data, [1, 1, -np.sin(X[2])])


def test_other_tensors_are_constant_and_no_grad_is_written():
    w = Tensor(A, requires_grad=True)
    g = grad(lambda x: (w @ x).sum())(X)
    np.testing.assert_allclose(g._data, A.sum(0))
    assert w.grad is None
    with no_grad():  # grad records anyway
        np.testing.assert_allclose(grad(quadratic)(X)._data, (A + A.T) @ X)


def test_a_constant_has_gradient_zero():
    assert grad(lambda x: Tensor(2.0))(X).tolist() == [0, 0, 0]
    assert jacobian(lambda x: Tensor([1.0, 2.0]))(X).tolist() == [[0] * 3] * 2
    assert jvp(lambda x: Tensor([1.0]), (X,), (X,))[1].tolist() == [0]
    assert hessian(lambda x: x.sum())(X).tolist() == [[0] * 3] * 3


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: grad(swirl)(X), ValueError, r"grad: f must return a single number, got shape \(2,\)"),
    (lambda: grad(quadratic)(Tensor([1, 2, 3])), TypeError, "cannot differentiate with respect to int64"),
    (lambda: grad(quadratic, 1)(X), ValueError, "argument 1 is to be differentiated, but there are 1"),
    (lambda: grad(lambda x: 3.0)(X), TypeError, "f must return a Tensor, got float"),
    (lambda: jvp(swirl, (X,), (X, X)), ValueError, "1 primals but 2 tangents"),
    (lambda: jvp(swirl, (X,), (X[:2],)), ValueError, r"a tangent has shape \(2,\) but its primal \(3,\)"),
    (lambda: hvp(quadratic, X, X[:2]), ValueError, r"hvp: v has shape \(2,\) but x \(3,\)"),
])
def test_bad_arguments_raise(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_results_have_a_graph_only_if_an_input_has_one():
    x, w = Tensor([1.0, 2.0]), Tensor([3.0, 4.0], requires_grad=True)
    y, t = jvp(lambda x: x * x, (x,), ([1.0, 10.0],))
    assert t.tolist() == [2, 40] and not t.requires_grad and not y.requires_grad
    assert jvp(lambda x: x * x, (w,), ([1.0, 10.0],))[1].requires_grad
    y, pull = vjp(lambda a, b: a * b * b, x, w)  # w is differentiated outside
    assert y.requires_grad and pull([1.0, 1.0])[0].sum().gradient(w)[0].tolist() == [6, 8]

    def f(x):
        return (x * x * x).sum()

    assert hvp(f, [1.0, 2.0], [1.0, 10.0]).tolist() == [6, 120]
    v = Tensor([1.0, 10.0], requires_grad=True)
    assert hvp(f, x, v).sum().gradient(v)[0].tolist() == [6, 12]


def test_mixed_second_derivatives_are_right():
    mixed = grad(grad(lambda a, b: a * a * b ** 3, 0), 1)
    assert mixed(Tensor(2.0), Tensor(3.0)).item() == 2 * 2.0 * 3 * 3.0**2
    both = grad(lambda parts: grad(lambda a, rest: a * rest["b"], 0)(parts["a"], parts))
    assert both({"a": Tensor(2.0), "b": Tensor(3.0)})["b"].item() == 1


@pytest.mark.parametrize("inner", [
    lambda f, x: grad(lambda b: f(b).sum())(x),
    lambda f, x: vjp(f, x)[1](Tensor([1.0, 1.0]))[0],
    lambda f, x: jvp(f, (x,), (Tensor([1.0, 1.0]),))[1],
    lambda f, x: jacobian(f)(x).sum(axis=0),
    lambda f, x: hvp(lambda b: (f(b) * b).sum() / 3, x, Tensor([1 / 2, 1 / 4])),  # of a b^3 / 3, 2 a b v
])
def test_an_inner_function_may_use_the_outer_variable(inner):
    a, x = Tensor([3.0, 4.0]), Tensor([1.0, 2.0])
    outer = jacobian(lambda a: inner(lambda b: a * b * b, x))  # 2 a b
    found = outer(a)
    assert found.numpy() == pytest.approx(np.diag([2.0, 4.0] if inner(lambda b: a * b * b, x).tolist() == [6, 16]
                                                  else [1.0, 1.0])) and not found.requires_grad
    assert not inner(lambda b: a * b * b, x).requires_grad  # outside, nothing is kept


@pytest.mark.parametrize("argnums", [0, -2, (0,)])
def test_another_argument_may_be_differentiated_outside(argnums):
    x, w = Tensor([1.0, 2.0]), Tensor([3.0, 4.0], requires_grad=True)
    y, found = value_and_grad(lambda a, b: (a * a * b).sum(), argnums)(x, {"w": w}["w"])
    found = found[0] if isinstance(found, tuple) else found
    assert y.requires_grad and found.tolist() == [6, 16] and found.sum().gradient(w)[0].tolist() == [2, 4]
    assert not grad(lambda a, b: (a * a * b).sum(), argnums)(x, w.detach())[0].requires_grad


W, B = np.arange(6.0).reshape(2, 3), np.ones(3)
TREES = {
    "list": ([W, B], lambda p: p), "pair": ((W, B), lambda p: p), "dict": ({"w": W, "b": B}, lambda p: p.values()),
    "layers": ([(W, B)], lambda p: p[0]), "nested": ({"layers": [W, {"bias": B}]}, lambda p: (
        p["layers"][0], p["layers"][1]["bias"])), "arrays of one shape": ([W, W], lambda p: p),
    "Tensors among arrays": ([Tensor(W), B], lambda p: p),
}


@pytest.mark.parametrize("name", TREES)
def test_parameters_may_be_trees_of_arrays(name):
    """As in HIPS autograd and JAX, the gradients have the tree's structure."""
    tree, parts = TREES[name]

    def loss(p):
        w, b = parts(p)
        return ((np.ones((4, 2)) @ w + b.sum()) ** 2).sum()

    found, (w, b) = grad(loss)(tree), [Tensor(np.asarray(x), requires_grad=True) for x in parts(tree)]
    assert type(found) is type(tree)
    loss_of_two = ((Tensor(np.ones((4, 2))) @ w + b.sum()) ** 2).sum()
    for mine, right in zip(parts(found), loss_of_two.gradient(w, b), strict=True):
        np.testing.assert_array_equal(mine.numpy(), right.numpy())


@pytest.mark.parametrize("f", [
    lambda p: vjp(sum, p), lambda p: jacobian(sum)(p), lambda p: hvp(sum, p, Tensor([1.0])), Tensor])
def test_functions_that_take_no_trees_name_the_shapes(f):
    with pytest.raises(ValueError, match=r"arrays of shapes \(2, 3\), \(3,\) form no array; pass each by itself"):
        f([W, B])
