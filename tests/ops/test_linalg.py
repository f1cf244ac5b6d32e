"""Linear algebra against numpy.linalg, and the properties of decompositions."""

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
def test_solutions_equal_numpys(shape):
    a, n = normal(*shape), shape[-1]
    equal(linalg.inv(Tensor(a)), np.linalg.inv(a))
    for b in normal(n), normal(*shape[:-1]), normal(n, 2), normal(*shape[:-1], 3):
        vector = b.ndim == 1 or b.shape == shape[:-1]
        x = linalg.solve(Tensor(a), Tensor(b))
        equal(x, np.linalg.solve(a, b[..., None])[..., 0] if vector else np.linalg.solve(a, b))


def test_norms_without_an_axis_and_eigenvalues_of_a_batch():
    x, y = Tensor([3.0, -4.0]), Tensor(np.diag([1.0, 2.0, 4.0])[None, None], requires_grad=True)
    assert linalg.norm(x, 1).item() == 7 and linalg.norm(y[0, 0], 1).item() == 4
    assert linalg.eigvalsh(y).sum().gradient(y)[0].tolist() == np.eye(3)[None, None].tolist()


@pytest.mark.parametrize("shape", [*SHAPES, (4, 2), (2, 4), (2, 5, 3), (2, 3, 5)])
def test_decompositions_equal_numpys(shape):
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
def test_vector_norms_equal_numpys(ord):
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
def test_matrix_norms_equal_numpys(ord):
    x = normal(2, 3, 4, 5)
    for axis, keepdim in product(((-2, -1), (0, 2), (3, 1), (1, 0)), (False, True)):
        equal(linalg.matrix_norm(Tensor(x), ord, axis, keepdim), np.linalg.norm(x, ord, axis, keepdim))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 100, 150, 400])  # kernel: one block, several; too many rows for it
def test_triangular_systems_are_solved(n, dtype):
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_triangular_systems_broadcast_over_batches(dtype):
    a, b = (np.tril(normal(2, 1, 100, 100)) / 100 + np.eye(100)).astype(dtype), normal(3, 100, 2).astype(dtype)
    x = linalg.solve_triangular(Tensor(a), Tensor(b), upper=False)
    np.testing.assert_allclose(a @ x.numpy(), np.broadcast_to(b, (2, 3, 100, 2)), atol=1e-4)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_solve_equals_numpys_solve(upper):
    a, b = normal(2, 4, 4), normal(2, 4, 3)
    a = a @ adjoint(a) + np.eye(4)
    equal(linalg.cholesky_solve(Tensor(b), linalg.cholesky(Tensor(a), upper), upper), np.linalg.solve(a, b))


def test_triangular_systems_of_wrong_shapes_are_refused():
    a = Tensor.eye(3)
    with pytest.raises(ValueError, match=r"b must be .* with n=3 as in a"):
        linalg.solve_triangular(a, Tensor.ones(2, 3), upper=False)
    with pytest.raises(ValueError, match=r"b must be \(..., k, n\) with n=3"):
        linalg.solve_triangular(a, Tensor.ones(3, 2), upper=False, left=False)
    with pytest.raises(ValueError, match="zero on the diagonal"):
        linalg.solve_triangular(a * 0, Tensor.ones(3, 2), upper=False)
    assert linalg.solve_triangular(a * 0, Tensor.ones(3, 2), upper=False, unitriangular=True).tolist() == [[1, 1]] * 3


@pytest.mark.parametrize("name", ["inv", "cholesky", "eigh", "solve"])
def test_matrices_that_are_not_square_are_refused(name):
    rest = {"solve": (Tensor.ones(2),)}.get(name, ())
    for shape in ((2, 3), (3, 2, 3), (2, 2, 3), (3,)):
        with pytest.raises(ValueError, match=rf"{name}: [ax] must be \(..., n, n\)"):
            getattr(linalg, name)(Tensor.ones(*shape), *rest)


def test_a_right_side_of_another_length_is_refused():
    a = Tensor(normal(2, 3, 3))
    for shape in ((2,), (2, 2), (2, 4, 3), ()):
        with pytest.raises(ValueError, match="solve: b must be a vector or matrix with 3 rows"):
            linalg.solve(a, Tensor(normal(*shape)))
    assert linalg.solve(a, Tensor(normal(3, 2))).shape == (2, 3, 2)


def test_full_bases_have_no_gradient():
    x = Tensor(normal(3, 2), requires_grad=True)
    with pytest.raises(ValueError, match="full_matrices=True"):
        linalg.svd(x)
    for u in linalg.svd(x.detach())[0], linalg.svd(x.detach().numpy())[0]:
        assert u.shape == (3, 3)


# Least squares --------------------------------------------------------------------------------------------------------


def of_rank(rank, *shape):
    u, s, vh = np.linalg.svd(normal(*shape), full_matrices=False)
    return u[..., :rank] * s[..., None, :rank] @ vh[..., :rank, :]


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (2, 3, 5), (2, 5, 3), (2, 2, 4, 3), (2, 3, 3)])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pseudo_inverses_and_least_squares_of_any_rank_equal_numpys(shape, rank):
    x, b = of_rank(rank, *shape), normal(*shape[:-1], 2)
    if len(shape) == 4:
        x[0] = normal(*shape[1:])  # of mixed ranks
    a = Tensor(x)
    equal(linalg.pinv(a), np.linalg.pinv(x))
    found = linalg.lstsq(a, Tensor(b))
    equal(found.solution, np.linalg.pinv(x) @ b)
    assert np.array_equal(found.rank.numpy(), np.linalg.matrix_rank(x))
    assert found.residuals.shape == found.singular_values.shape == (0,)


DEFICIENT = {name: (m, n, s) for name, (m, n, *s) in {
    "tall": (4, 2, 1.5), "wide": (2, 4, 1.5), "square": (3, 3, 2, 1), "tall, equal": (4, 3, 1, 1),
    "wide, equal": (3, 4, 1, 1), "full rank": (3, 2, 2, 1), "full, equal": (3, 3, 1, 1, 1)}.items()}


def of_values(m, n, values):
    u, v = (np.linalg.qr(normal(k, k))[0][:, :len(values)] for k in (m, n))
    return u * values @ v.T


@pytest.mark.parametrize(("m", "n", "values"), DEFICIENT.values(), ids=DEFICIENT)
def test_gradients_of_pseudo_inverses_are_right_for_changes_that_keep_the_rank(m, n, values):
    x, g, h = of_values(m, n, values), normal(n, m), normal(m, n)
    a, eps = Tensor(x, requires_grad=True), 1e-6
    left, right = normal(m, m), normal(n, n)  # dx = left x + x right keeps the rank
    change = left @ x + x @ right

    def moved(t):
        y = Tensor((np.eye(m) + t * left) @ x @ (np.eye(n) + t * right), requires_grad=True)
        return y, linalg.pinv(y, 1e-9)

    for recorded in False, True:
        slope = linalg.pinv(a, 1e-9).gradient(a, gradient=Tensor(g), create_graph=recorded)[0]
        slopes = [(p.detach().numpy() * g).sum() for _, p in (moved(eps), moved(-eps))]
        assert (slope.detach().numpy() * change).sum() == pytest.approx((slopes[0] - slopes[1]) / (2 * eps), rel=1e-6)
    second = slope.gradient(a, gradient=Tensor(h))[0]
    slopes = [(p.gradient(y, gradient=Tensor(g))[0].numpy() * h).sum() for y, p in (moved(eps), moved(-eps))]
    assert (second.numpy() * change).sum() == pytest.approx((slopes[0] - slopes[1]) / (2 * eps), rel=1e-5)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (3, 3), (2, 4, 3)])
@pytest.mark.parametrize("recorded", [False, True])
def test_singular_values_of_0_have_a_gradient(shape, recorded):
    x = np.zeros(shape)
    x[..., 0, 0] = 2.0
    a, k = Tensor(x, requires_grad=True), min(shape[-2:])
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    for f, g in ((linalg.svdvals, np.arange(1.0, k + 1)), (lambda x: linalg.matrix_norm(x, "nuc"), np.ones(k)),
                 (lambda x: linalg.matrix_norm(x, 2), np.eye(k)[0])):
        y = f(a)
        slope = y.gradient(a, gradient=Tensor(np.broadcast_to(g, y.shape).copy() if y.ndim > len(shape) - 2 else
                                              np.ones(y.shape)), create_graph=recorded)[0]
        equal(slope.detach(), u * g @ vh)
    if recorded:  # the largest also has a second derivative
        assert np.isfinite((slope * Tensor(normal(*shape))).sum().gradient(a)[0].numpy()).all()


def test_rcond_sets_the_rank_of_a_least_squares_solution():
    a, b = Tensor(np.diag([4.0, 2.0, 1.0])), Tensor(normal(3, 2))
    for rcond, rank in (None, 3), (0.3, 2), (0.5, 1):
        found = linalg.lstsq(a, b, rcond)
        assert found.rank.item() == rank == (found.solution.numpy() != 0).any(1).sum()


def test_rtol_sets_which_singular_values_count_as_zero():
    x = np.diag([4.0, 2.0, 1.0])
    a = Tensor(x)
    many = Tensor(np.stack([np.diag([1.0, 9 * np.finfo(float).eps])] * 50))  # the batch size does not matter
    assert linalg.pinv(many).numpy().max() > 1e14
    for rtol, kept in (0.4, 2), (0.5, 1), (0.3, 2), (0.2, 3):
        equal(linalg.pinv(a, rtol), np.diag([1 / 4, 1 / 2, 1][:kept] + [0] * (3 - kept)))
    equal(linalg.pinv(Tensor(x * 1e-20)), np.linalg.inv(x * 1e-20))
    equal(linalg.pinv(Tensor(np.diag([4.0, 0, 1]) * 1e-20)), np.diag([0.25, 0, 1]) * 1e20)
    assert linalg.pinv(Tensor(np.zeros((2, 0, 3)))).shape == (2, 3, 0) and not linalg.pinv(Tensor(x * 0)).numpy().any()


@pytest.mark.parametrize(("call", "text"), [
    (lambda: linalg.lstsq(Tensor(normal(3)), Tensor(normal(3))), r"lstsq: a must be \(..., m, n\)"),
    (lambda: linalg.lstsq(Tensor(normal(3, 2)), Tensor(normal(3))), r"lstsq: b must be \(..., m, k\)"),
    (lambda: linalg.lstsq(Tensor(normal(3, 2)), Tensor(normal(2, 2))), r"lstsq: b must be .* with m=3"),
    (lambda: linalg.pinv(Tensor(normal(3))), r"pinv: x must be \(..., m, n\)"),
])
def test_least_squares_of_wrong_shapes_are_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3), (70, 70), (0, 0), (0, 3, 3)])
def test_lu_factors_multiply_to_the_matrix(shape):
    x = np.random.default_rng(0).standard_normal(shape)
    p, lower, upper = (y.numpy() for y in linalg.lu(Tensor(x)))
    np.testing.assert_allclose(p @ lower @ upper, x, atol=1e-12)
    assert p.shape == lower.shape == upper.shape == shape
    np.testing.assert_array_equal(lower, np.tril(lower, -1) + np.eye(shape[-1]))
    np.testing.assert_array_equal(upper, np.triu(upper))
    assert np.abs(lower).max(initial=0) <= 1
    factors, pivots = linalg.lu_factor(Tensor(x))
    assert pivots.shape == shape[:-1] and pivots.dtype == np.int32 and factors.shape == shape


def test_lu_takes_singular_matrices():
    p, lower, upper = (y.numpy() for y in linalg.lu(Tensor([[0.0, 1.0], [0.0, 2.0]])))
    assert (p @ lower @ upper).tolist() == [[0, 1], [0, 2]] and lower.tolist() == [[1, 0], [0, 1]]


def test_lu_refuses_vectors_and_integers():
    x = Tensor(np.eye(3))
    for call, error, message in (
            (lambda: linalg.lu(x[0]), ValueError, r"lu_factor: x must be \(..., n, n\)"),
            (lambda: linalg.lu(x.int()), TypeError, "lu_factor: x must be floating point")):
        with pytest.raises(error, match=message):
            call()
