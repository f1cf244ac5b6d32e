"""Linear algebra beside numpy.linalg, and what a decomposition must be."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest

from tinygrad_like import Tensor, linalg

SHAPES = [(3, 3), (1, 1), (2, 4, 4), (4, 3, 2, 2)]
ORDERS = [2, 1, 0, 3, 0.5, -1, -2, math.inf, -math.inf]


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def equal(actual, expected):
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-10, atol=1e-10)


def adjoint(x):
    return np.swapaxes(x, -1, -2)


@pytest.mark.parametrize("shape", SHAPES)
def test_solutions_and_determinants_are_numpys(shape):
    a, n = normal(*shape), shape[-1]
    equal(linalg.inv(Tensor(a)), np.linalg.inv(a))
    equal(linalg.det(Tensor(a)), np.linalg.det(a))
    for actual, expected in zip(linalg.slogdet(Tensor(a)), np.linalg.slogdet(a), strict=True):
        equal(actual, expected)
    for b in normal(n), normal(*shape[:-1]), normal(n, 2), normal(*shape[:-1], 3):
        vector = b.ndim == 1 or b.shape == shape[:-1]
        x = linalg.solve(Tensor(a), Tensor(b))
        equal(x, np.linalg.solve(a, b[..., None])[..., 0] if vector else np.linalg.solve(a, b))
    for power in range(-3, 8):
        equal(linalg.matrix_power(Tensor(a), power), np.linalg.matrix_power(a, power))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_gradients_of_determinants_of_singular_matrices_are_the_cofactors(n):
    x = normal(3, 5, n, n)
    x[..., -1] = 2 * x[..., 0] if n > 1 else 0
    minors = np.empty(x.shape)
    for i, j in product(range(n), repeat=2):
        rest = np.delete(np.delete(x, i, -2), j, -1)
        minors[..., i, j] = (-1) ** (i + j) * (np.linalg.det(rest) if n > 1 else 1)
    x = Tensor(x, requires_grad=True)
    equal(linalg.det(x).sum().gradient(x)[0], minors)


@pytest.mark.parametrize("shape", [*SHAPES, (4, 2), (2, 4), (2, 5, 3), (2, 3, 5)])
def test_decompositions(shape):
    x, (m, n) = normal(*shape), shape[-2:]
    q, r = (y.numpy() for y in linalg.qr(Tensor(x)))
    for actual, expected in zip((q, r), np.linalg.qr(x), strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-10)
    equal(linalg.svdvals(Tensor(x)), np.linalg.svd(x, compute_uv=False))
    for full in (False, True):
        for actual, expected in zip(linalg.svd(Tensor(x), full_matrices=full), np.linalg.svd(x, full_matrices=full),
                                    strict=True):
            equal(actual, expected)
    assert linalg.svd(Tensor(x), full_matrices=m == n)[0].shape == (*shape[:-1], min(m, n))
    if m == n:
        positive = x @ adjoint(x) + np.eye(n)
        lower = np.linalg.cholesky(positive)
        equal(linalg.cholesky(Tensor(positive)), lower)
        equal(linalg.cholesky(Tensor(positive), upper=True), adjoint(lower))
        for half in "LU":
            values, vectors = np.linalg.eigh(x, half)
            equal(linalg.eigh(Tensor(x), half)[0], values)
            equal(linalg.eigh(Tensor(x), half)[1], vectors) if half == "L" else None
            equal(linalg.eigvalsh(Tensor(x), half), values)


@pytest.mark.parametrize("ord", ORDERS)
def test_norms_of_vectors_are_numpys(ord):
    x = normal(3, 4)
    x[0, 1] = x[2, 2] = 0 if ord >= 0 else 0.5
    for axis, keepdim in product((0, 1, -1), (False, True)):
        equal(linalg.vector_norm(Tensor(x), ord, axis, keepdim), np.linalg.norm(x, ord, axis, keepdim))
    zero = Tensor(np.zeros(3), requires_grad=True)
    if ord > 0 and not math.isinf(ord):
        norm = linalg.vector_norm(zero, ord)
        assert norm.item() == 0 and norm.gradient(zero)[0].tolist() == [0, 0, 0]
    some = Tensor(np.array([0.0, 3.0, 0.0, -4.0]), requires_grad=True)
    if ord in (1, 3, 0.5):
        (g,) = linalg.vector_norm(some, ord).gradient(some)
        total = 3**ord + 4**ord
        slope = [0 if v == 0 else np.sign(v) * abs(v) ** (ord - 1) * total ** (1 / ord - 1) for v in some.tolist()]
        equal(g, slope)


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_norms_of_matrices_are_numpys(ord):
    x = normal(2, 3, 4, 5)
    for axis, keepdim in product(((-2, -1), (0, 2), (3, 1), (1, 0)), (False, True)):
        equal(linalg.matrix_norm(Tensor(x), ord, axis, keepdim), np.linalg.norm(x, ord, axis, keepdim))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 100, 150, 400])  # by the kernel, in one block and in several, too many rows for it
def test_triangular_systems(n, dtype):
    equal = partial(np.testing.assert_allclose, atol=1e-5 if dtype == "float32" else 1e-12)
    for batch, columns, upper, unit, left in product(((), (2,)), (1, 7), *[(False, True)] * 3):
        a = (normal(*batch, n, n) / n + 2 * np.eye(n)).astype(dtype)
        b = normal(*(batch[: columns % 2]), *((n, columns) if left else (columns, n))).astype(dtype)
        triangle = np.triu(a) if upper else np.tril(a)
        triangle[..., range(n), range(n)] = 1 if unit else triangle[..., range(n), range(n)]
        for given in Tensor(a), Tensor(adjoint(a).copy()).mT:
            x = linalg.solve_triangular(given, Tensor(b), upper=upper, left=left, unitriangular=unit)
            assert x.dtype == dtype
            equal((triangle @ x.numpy() if left else x.numpy() @ triangle), np.broadcast_to(b, x.shape))


def test_triangular_systems_that_do_not_fit():
    a = Tensor.eye(3)
    with pytest.raises(ValueError, match=r"b must have 3 rows"):
        linalg.solve_triangular(a, Tensor.ones(2, 3), upper=False)
    with pytest.raises(ValueError, match=r"b must have 3 columns"):
        linalg.solve_triangular(a, Tensor.ones(3, 2), upper=False, left=False)
    with pytest.raises(ValueError, match="zero on the diagonal"):
        linalg.solve_triangular(a * 0, Tensor.ones(3, 2), upper=False)
    assert linalg.solve_triangular(a * 0, Tensor.ones(3, 2), upper=False, unitriangular=True).tolist() == [[1, 1]] * 3


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "eigh", "matrix_power", "solve"])
def test_matrices_that_are_not_square_are_refused(name):
    rest = {"matrix_power": (2,), "solve": (Tensor.ones(2),)}.get(name, ())
    for shape in ((2, 3), (3, 2, 3), (2, 2, 3), (3,)):
        with pytest.raises(ValueError, match=f"{name}: takes square matrices"):
            getattr(linalg, name)(Tensor.ones(*shape), *rest)


def test_what_does_not_fit_a_matrix_is_refused():
    a = Tensor(normal(2, 3, 3))
    for shape in ((2,), (2, 2), (2, 4, 3), ()):
        with pytest.raises(ValueError, match="solve: a of float64"):
            linalg.solve(a, Tensor(normal(*shape)))
    assert linalg.solve(a, Tensor(normal(3, 2))).shape == (2, 3, 2)


def test_full_bases_have_no_gradient():
    x = Tensor(normal(3, 2), requires_grad=True)
    with pytest.raises(ValueError, match="full_matrices=True"):
        linalg.svd(x)
    for u in linalg.svd(x.detach())[0], linalg.svd(x.detach().numpy())[0]:
        assert u.shape == (3, 3)


def test_powers_of_singular_matrices_and_gradients_of_equal_eigenvalues():
    equal(linalg.matrix_power(Tensor(np.zeros((2, 2))), 0), np.eye(2))
    equal(linalg.matrix_power(Tensor(np.diag([2.0, 0.0])), 2), np.diag([4.0, 0.0]))
    x = Tensor(np.eye(3), requires_grad=True)
    equal(linalg.eigvalsh(x).sum().gradient(x)[0], np.eye(3))
