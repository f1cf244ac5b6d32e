"""What NumPy has too, at random shapes, empty and without axes among them; and what is refused."""

import itertools

import numpy as np
import pytest

from tinygrad_like import Tensor, ops

rng = np.random.default_rng(5)


def shape(least=0, most=3):
    return tuple(rng.choice([0, 1, 2, 3, 4], rng.integers(least, most + 1), p=[0.1, 0.2, 0.25, 0.25, 0.2]).tolist())


def normal(*sizes):
    return rng.standard_normal(sizes)


def same(ours, wanted):
    ours, wanted = ([y] if not isinstance(y, tuple | list) else list(y) for y in (ours, wanted))
    assert len(ours) == len(wanted)
    for y, z in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(y.numpy(), z, rtol=1e-12, atol=1e-12, strict=True)


def agree(ours, theirs, *arrays):
    """Both give the same, or both refuse."""
    try:
        wanted = theirs(*arrays)
    except (ValueError, IndexError, TypeError, ZeroDivisionError):
        with pytest.raises((ValueError, IndexError, TypeError)):
            ours(*map(Tensor, arrays))
        return
    same(ours(*map(Tensor, arrays)), wanted)


@pytest.fixture(params=range(25))
def x(request):
    global rng
    rng = np.random.default_rng(request.param)
    return np.asarray(normal(*shape()))


def axis_of(x):
    return int(rng.integers(-x.ndim, x.ndim)) if x.ndim else 0


def test_put_together(x):
    others = [np.asarray(normal(*shape())) for _ in range(rng.integers(1, 3))]
    for name in "atleast_1d", "atleast_2d":
        agree(getattr(ops, name), getattr(np, name), x)
        agree(getattr(ops, name), getattr(np, name), x, *others)
        same(getattr(ops, name)([Tensor(x)]), [getattr(np, name)(x)])  # of a list a tuple
    assert ops.atleast_3d(Tensor(x)).shape == np.atleast_3d(x).shape
    sizes = shape(1)
    parts = [normal(*sizes) for _ in range(rng.integers(1, 4))]
    for name in "hstack", "vstack", "dstack", "column_stack":
        same(getattr(ops, name)([Tensor(y) for y in parts]), getattr(np, name)(parts))
    vectors = [normal(rng.integers(0, 4)) for _ in range(rng.integers(2, 4))]
    rows = np.array(list(itertools.product(*vectors))).reshape(-1, len(vectors))
    same(ops.cartesian_prod(*map(Tensor, vectors)), rows)
    same(ops.cartesian_prod(Tensor(vectors[0])), vectors[0])
    blocks = [normal(*shape(0, 2)) for _ in range(3)]
    y, row, column = ops.block_diag(*map(Tensor, blocks)).numpy().copy(), 0, 0
    for block in map(np.atleast_2d, blocks):
        there = slice(row, row := row + block.shape[0]), slice(column, column := column + block.shape[1])
        np.testing.assert_array_equal(y[there], block)
        y[there] = 0
    assert y.shape == (row, column) and not y.any()


def test_cut_up(x):
    axis = axis_of(x)
    for cut in int(rng.integers(1, 6)), [int(i) for i in rng.integers(-3, 6, rng.integers(0, 4))]:
        if x.ndim:
            same(ops.tensor_split(Tensor(x), cut, axis), np.array_split(x, cut, axis))
            same(ops.tensor_split(Tensor(x), Tensor(cut) if isinstance(cut, int) else cut, axis),
                 np.array_split(x, cut, axis))
        for name, of in ("hsplit", 0 if x.ndim == 1 else 1), ("vsplit", 0), ("dsplit", 2):
            if of < x.ndim:
                same(getattr(ops, name)(Tensor(x), cut), np.array_split(x, cut, of))


def test_turned(x):
    for k in range(-3, 6):
        if x.ndim > 1:
            axes = tuple(int(a) for a in rng.permutation(x.ndim)[:2])
            same(ops.rot90(Tensor(x), k, axes), np.rot90(x, k, axes))
    n = int(rng.integers(0, x.ndim + 1))
    source, to = (tuple(int(a) for a in rng.permutation(x.ndim)[:n]) for _ in range(2))
    same(ops.movedim(Tensor(x), source, to), np.moveaxis(x, source, to))
    for offset in range(-2, 3):
        same(ops.diagflat(Tensor(x), offset), np.diagflat(x, offset))
        if x.ndim:
            first, second = (int(a) for a in rng.permutation(x.ndim + 1)[:2])
            y = ops.diag_embed(Tensor(x), offset, first, second - x.ndim - 1).numpy()
            np.testing.assert_array_equal(np.diagonal(y, offset, first, second), x)
            assert np.abs(y).sum() == pytest.approx(np.abs(x).sum())


def test_indexed(x):
    axis = axis_of(x)
    if x.size:
        places = rng.integers(-x.size, x.size, shape())
        same(ops.take_flat(Tensor(x), Tensor(places)), np.take(x, places))
        places %= x.size
        same(ops.take_along_dim(Tensor(x), Tensor(places.reshape(-1))), np.take(x, places.reshape(-1)))
    if not x.ndim:
        same(ops.index_fill(Tensor(x), 0, Tensor([0]), 2.0), np.array(2.0))
        same(ops.index_copy(Tensor(x), -1, Tensor([0]), Tensor(3.0)), np.array(3.0))
        return
    wide = [1 if rng.random() < 0.3 else n for n in x.shape]
    wide[axis] = int(rng.integers(0, 4)) if x.shape[axis] else 0
    places = rng.integers(-x.shape[axis], max(x.shape[axis], 1), wide)
    whole = [*x.shape]
    whole[axis] = wide[axis]
    same(ops.take_along_dim(Tensor(x), Tensor(places), axis),
         np.take_along_axis(x, np.broadcast_to(places, whole), axis))
    some = rng.permutation(x.shape[axis])[:2]
    y, z, source = x.copy(), x.copy(), normal(*np.take(x, some, axis).shape)
    np.moveaxis(y, axis, 0)[some], np.moveaxis(z, axis, 0)[some] = 2.5, np.moveaxis(source, axis, 0)
    same(ops.index_fill(Tensor(x), axis, Tensor(some), 2.5), y)
    same(ops.index_copy(Tensor(x), axis, Tensor(some), Tensor(source)), z)
    mask, y = rng.random(x.shape) < 0.5, x.copy()
    y[mask] = np.arange(mask.sum())
    same(ops.masked_scatter(Tensor(x), Tensor(mask), Tensor(np.arange(float(x.size)).reshape(x.shape))), y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles(x, name):
    x = np.where(rng.random(x.shape) < 0.2, np.nan, np.round(x, 1))
    modes = ["linear", "lower", "higher", "midpoint"] + ["nearest"] * (name == "quantile")
    for q, keepdim, mode in itertools.product((0.0, 0.3, 1.0, np.array([0.25, 0.8])), (False, True), modes):
        for axis in {None, axis_of(x)} if x.size else ():
            wanted = getattr(np, name)(x, q, axis if x.ndim else None, method=mode, keepdims=keepdim and x.ndim > 0)
            ours = getattr(ops, name)(Tensor(x), Tensor(q) if np.ndim(q) else q, axis, keepdim, mode)
            np.testing.assert_allclose(ours.numpy(), wanted, rtol=1e-12, err_msg=f"{q} {axis} {keepdim} {mode}")


@pytest.mark.filterwarnings("ignore")
def test_counted(x):
    axis = axis_of(x)
    x = np.asarray(np.round(x))
    holes = np.where(rng.random(x.shape) < 0.2, np.nan, x)
    for keepdim in False, True:
        if x.ndim:
            same(ops.nansum(Tensor(holes), axis, keepdim), np.nansum(holes, axis, keepdims=keepdim))
            same(ops.count_nonzero(Tensor(x), axis), np.count_nonzero(x, axis))
        if x.size:
            np.testing.assert_allclose(ops.nanmean(Tensor(holes), axis, keepdim).numpy(),
                                       np.nanmean(holes, axis if x.ndim else None, keepdims=keepdim and x.ndim > 0))
            for k in range(1, 3):
                n = x.shape[axis] if x.ndim else 1
                if k <= n:
                    found = ops.kthvalue(Tensor(x), k, axis, keepdim)
                    wanted = np.take(np.sort(np.atleast_1d(x), axis), [k - 1], axis)
                    np.testing.assert_array_equal(found.values.numpy(), wanted if keepdim and x.ndim else np.squeeze(
                        wanted, axis))
            for name, lower in ("median", ops.quantile), ("nanmedian", ops.nanquantile):
                y = holes if name == "nanmedian" or rng.random() < 0.5 else x
                np.testing.assert_allclose(getattr(ops, name)(Tensor(y), axis, keepdim).values.numpy(),
                                           lower(Tensor(y), 0.5, axis, keepdim and x.ndim > 0, "lower").numpy())
            modes, n = ops.mode(Tensor(x), axis, keepdim), x.shape[axis] if x.ndim else 1
            rows = np.moveaxis(np.atleast_1d(x), axis, -1).reshape(-1, n)
            for row, *found in zip(rows, *[y.numpy().ravel() for y in modes], strict=True):
                values, counts = np.unique(row, return_counts=True)
                assert found == [most := values[counts.argmax()], np.flatnonzero(row == most)[-1]]
    for along in {None, axis} if x.ndim else {None}:
        same(ops.unique(Tensor(x), True, True, True, along), [y.reshape(x.shape) if i == 1 and along is None else y
             for i, y in enumerate(np.unique(x, return_inverse=True, return_counts=True, axis=along))])
    found, inverse, counts = ops.unique_consecutive(Tensor(x), True, True)
    np.testing.assert_array_equal(found.numpy()[inverse.numpy()], x)
    assert inverse.shape == x.shape and (np.diff(found.numpy()) != 0).all()
    np.testing.assert_array_equal(np.repeat(found.numpy(), counts.numpy()), x.ravel())
    if x.ndim:
        found, inverse, counts = ops.unique_consecutive(Tensor(x), True, True, axis)
        np.testing.assert_array_equal(np.take(found.numpy(), inverse.numpy(), axis), x)
        assert counts.numpy().sum() == x.shape[axis]
        two = [np.take(found.numpy(), [i], axis) for i in range(len(counts))]
        assert all((a != b).any() for a, b in itertools.pairwise(two))
    same(ops.histc(Tensor(x), 4, -1, 2), np.histogram(x, 4, (-1, 2))[0].astype(float))
    same(ops.isin(Tensor(x), Tensor([0.0, 1.0])), np.isin(x, [0, 1]))
    n = np.abs(x).astype(int).ravel()
    same(ops.bincount(Tensor(n), None, 3), np.bincount(n, None, 3))
    same(ops.bincount(Tensor(n), Tensor(x.ravel())), np.bincount(n, x.ravel()).astype(float))
    for right in False, True:
        same(ops.bucketize(Tensor(x), Tensor([-1.0, 0.0, 1.0]), right=right), np.digitize(x, [-1, 0, 1], not right))


def test_products(x):
    y, axis = np.asarray(normal(*shape())), axis_of(x)
    same(ops.kron(Tensor(x), Tensor(y)), np.asarray(np.kron(x, y)))
    agree(ops.inner, np.inner, x, normal(*y.shape[:-1], *x.shape[-1:]))
    same(ops.tensordot(Tensor(x), Tensor(y), 0), np.tensordot(x, y, 0))
    for n in range(x.ndim + 1):
        z = normal(*x.shape[x.ndim - n:], *shape(0, 2))
        same(ops.tensordot(Tensor(x), Tensor(z), n), np.tensordot(x, z, n))
        back = tuple(range(n))[::-1]
        z = normal(*x.shape[:n][::-1], 2)
        same(ops.tensordot(Tensor(x), Tensor(z), (back, tuple(range(n)))), np.tensordot(x, z, (back, tuple(range(n)))))
    if x.ndim:
        for n in range(3):
            same(ops.diff(Tensor(x), n, axis), np.diff(x, n, axis))
            same(ops.diff(Tensor(x), n, axis, Tensor(x), Tensor(-x)), np.diff(x, n, axis, x, -x))
        same(ops.trapezoid(Tensor(x), None, 0.5, axis), np.trapezoid(x, None, 0.5, axis))
        for places in np.sort(normal(x.shape[axis])), np.sort(normal(*x.shape), axis):
            same(ops.trapezoid(Tensor(x), Tensor(places), axis=axis), np.asarray(np.trapezoid(x, places, axis=axis)))
        total = ops.cumulative_trapezoid(Tensor(x), None, 0.5, axis)
        assert total.shape[axis] == max(x.shape[axis] - 1, 0)
        for i in range(total.shape[axis]):
            part = np.take(x, range(i + 2), axis)
            np.testing.assert_allclose(total.numpy().take(i, axis), np.trapezoid(part, None, 0.5, axis), atol=1e-12)
    a, b = normal(*x.shape, 3), normal(3)
    same(ops.cross(Tensor(a), Tensor(np.broadcast_to(b, a.shape)), -1), np.cross(a, b))


@pytest.mark.filterwarnings("ignore")
def test_covariances(x):
    x, correction = normal(*rng.integers(1, 4, 2)), int(rng.integers(0, 2))
    counts, weights = rng.integers(1, 4, x.shape[1]), rng.uniform(0.5, 2, x.shape[1])
    for row in x, x[0]:
        same(ops.cov(Tensor(row), correction), np.cov(row, ddof=correction))
        same(ops.cov(Tensor(row), correction, Tensor(counts)), np.cov(row, ddof=correction, fweights=counts))
        same(ops.cov(Tensor(row), correction, None, Tensor(weights)), np.cov(row, ddof=correction, aweights=weights))
        same(ops.cov(Tensor(row), correction, Tensor(counts), Tensor(weights)),
             np.cov(row, ddof=correction, fweights=counts, aweights=weights))
        if row.shape[-1] > 1:
            same(ops.corrcoef(Tensor(row)), np.asarray(np.corrcoef(row)))
    for n, increasing in itertools.product((None, 0, 1, 4), (False, True)):
        same(ops.vander(Tensor(x[0]), n, increasing), np.vander(x[0], n, increasing))


def test_chains(x):
    sizes = rng.integers(1, 6, 6)
    matrices = [normal(*sizes[i:i + 2]) for i in range(5)][:rng.integers(2, 6)]
    if rng.random() < 0.4:
        matrices[0] = matrices[0][0]
    if rng.random() < 0.4:
        matrices[-1] = matrices[-1][:, 0] if matrices[-1].ndim > 1 else matrices[-1]
    wanted = matrices[0]
    for m in matrices[1:]:
        wanted = wanted @ m
    for ours in ops.multi_dot(*map(Tensor, matrices)), ops.chain_matmul(*map(Tensor, matrices)):
        np.testing.assert_allclose(ours.numpy(), wanted, rtol=1e-9)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, np.inf])
def test_distances(p):
    global rng
    rng = np.random.default_rng(3)
    a, b = normal(2, 4, 3), normal(5, 3)
    b[0] = a[0, 0]
    b[1, 0] = a[1, 2, 0]
    wanted = np.linalg.norm(a[:, :, None] - b, p, axis=-1) if p in (0, 1, 2, np.inf) else (
        (np.abs(a[:, :, None] - b) ** p).sum(-1) ** (1 / p))
    same(ops.cdist(Tensor(a), Tensor(b), p), wanted)
    same(ops.cdist(Tensor(a[..., :0]), Tensor(b[..., :0]), p), np.zeros((2, 4, 5)))
    same(ops.dist(Tensor(a[0]), Tensor(b[:4]), p), np.asarray(
        np.linalg.norm((a[0] - b[:4]).ravel(), p)))
    limit = 0.8
    for axis in range(-3, 3):
        rest = tuple(i for i in range(3) if i != axis % 3)
        y = np.moveaxis(ops.renorm(Tensor(a), p or 2, axis, limit).numpy(), axis, 0).reshape(a.shape[axis], -1)
        x = np.moveaxis(a, axis, 0).reshape(a.shape[axis], -1)
        long = np.linalg.norm(x, p or 2, axis=1)
        np.testing.assert_allclose(y, x * np.minimum(1, limit / long)[:, None], rtol=1e-6, err_msg=str(rest))


def test_distances_of_many_come_from_one_product(monkeypatch):
    from tinygrad_like.ops import products

    made = []
    monkeypatch.setattr(products, "matmul", lambda a, b: made.append(a.shape) or ops.matmul(a, b))
    a, b = (np.random.default_rng(i).standard_normal((n, 64)).astype(np.float32) for i, n in enumerate((300, 1000)))
    b[:3] = a[:3]
    for count in 54, 1000:
        found = ops.cdist(Tensor(a), Tensor(b[:count])).numpy()
        wanted = np.sqrt(np.maximum((a**2).sum(1)[:, None] + (b[:count] ** 2).sum(1) - 2 * a @ b[:count].T, 0))
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-2)
    batch = ops.cdist(Tensor(np.stack([a, -a])), Tensor(np.stack([b, b]))).numpy()
    np.testing.assert_allclose(batch[0], found, rtol=1e-6, atol=1e-2)
    np.testing.assert_allclose(batch[1], ops.cdist(Tensor(-a), Tensor(b)).numpy(), rtol=1e-6, atol=1e-2)
    assert made == [(300, 64), (2, 300, 64), (300, 64)]


def test_the_number_of_differences_has_no_slope():
    x = Tensor(np.array([[1.0, 2.0], [0.0, 2.0]]), requires_grad=True)
    y = ops.cdist(x, Tensor(np.array([[1.0, 3.0]])), 0.0)
    assert y.tolist() == [[1], [2]] and y.sum().gradient(x)[0].tolist() == [[0, 0], [0, 0]]


def test_sums_with_factors():
    shapes = (2, 3), (4, 2, 5), (4, 5, 3)
    x, a, b = (Tensor(np.random.default_rng(i).standard_normal(s)) for i, s in enumerate(shapes))
    np.testing.assert_allclose(ops.addbmm(x, a, b, beta=0.5, alpha=3).numpy(),
                               0.5 * x.numpy() + 3 * (a.numpy() @ b.numpy()).sum(0))
    np.testing.assert_allclose(ops.baddbmm(x, a, b, beta=0.5, alpha=3).numpy(),
                               0.5 * x.numpy() + 3 * (a.numpy() @ b.numpy()))
    np.testing.assert_allclose(ops.addmv(x[:, 0], x, x[1], beta=0.5, alpha=3).numpy(),
                               0.5 * x.numpy()[:, 0] + 3 * x.numpy() @ x.numpy()[1])
    np.testing.assert_allclose(ops.addr(x, x[:, 0], x[1], beta=0.5, alpha=3).numpy(),
                               0.5 * x.numpy() + 3 * np.outer(x.numpy()[:, 0], x.numpy()[1]))
    y = np.random.default_rng(9).standard_normal((3, 2, 3))  # the first axis of 3 is the default
    same(ops.cross(Tensor(y), Tensor(y[::-1].copy())), np.cross(y, y[::-1], axis=0))
    same(ops.tensordot(Tensor(np.ones((3, 4))), Tensor(np.full((1, 2), 2.0)), ([1], [0])), np.full((3, 2), 8.0))
    same(ops.tensordot(Tensor(np.ones((3, 1))), Tensor(np.full((4, 2), 2.0)), ([1], [0])), np.full((3, 2), 8.0))
    assert ops.chain_matmul(x) is x and ops.combinations(Tensor(np.arange(4.0)), 2).tolist()[:2] == [[0, 1], [0, 2]]


def least(sizes):
    """The fewest multiplications of a product of matrices of these sizes, over all orders."""
    n = len(sizes) - 1
    return 0 if n == 1 else min(least(sizes[:k + 1]) + least(sizes[k:]) + sizes[0] * sizes[k] * sizes[-1]
                                for k in range(1, n))


@pytest.mark.parametrize("sizes", [(10, 100, 5, 50, 2), (2, 9, 1, 7, 3, 8), (1, 6, 2, 5, 1), (3, 1, 4, 1, 5)])
def test_the_order_that_takes_the_fewest_multiplications(monkeypatch, sizes):
    from tinygrad_like.ops import products

    made = []
    monkeypatch.setattr(products, "matmul", lambda a, b: made.append(
        a.size // a.shape[-1] * b.size) or ops.matmul(a, b))
    matrices = [Tensor(np.ones(s)) for s in itertools.pairwise(sizes)]
    if sizes[0] == sizes[-1] == 1:  # vectors
        matrices[0], matrices[-1] = matrices[0][0], matrices[-1][:, 0]
    assert ops.multi_dot(*matrices).size == sizes[0] * sizes[-1]
    assert sum(made) == least(sizes)


X, V, I = Tensor(np.ones((2, 3))), Tensor(np.ones(3)), Tensor([0, 1])  # noqa: E741


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ops.rot90(X, 1, (0, -2)), r"rot90: axes=\(0, -2\) are the same axis"),
    (lambda: ops.rot90(X, 1.5), "rot90: k is how many times"),
    (lambda: ops.take_along_dim(X, I, 0), r"take_along_dim: x has 2 axes, but indices has shape \(2,\)"),
    (lambda: ops.masked_scatter(X, X, V), "masked_scatter: the mask must be boolean, got float64"),
    (lambda: ops.masked_scatter(X, X > 0, V), "masked_scatter: 6 places, but source has only 3 numbers"),
    (lambda: ops.combinations(X), r"combinations: takes a vector and r from 0 on, got shape \(2, 3\)"),
    (lambda: ops.combinations(V, -1), "combinations: takes a vector and r from 0 on, .* r=-1"),
    (lambda: ops.block_diag(Tensor(np.ones((1, 2, 3)))), "block_diag: takes matrices"),
    (lambda: ops.diag_embed(X, 0, 1, -2), "diag_embed: axis1=1 and axis2=-2 are the same axis"),
    (lambda: ops.movedim(X, (0, 1), 0), "movedim: .* name different numbers of axes"),
    (lambda: ops.tensor_split(X, 0), "tensor_split: into 0 parts"),
    (lambda: ops.tensor_split(X, 1 << 70), "tensor_split: into 1180591620717411303424 parts"),
    (lambda: ops.broadcast_tensors(X, I), "broadcast_tensors: shapes .* do not broadcast"),
    (lambda: ops.quantile(X, 1.5), "quantile: q must be a number in"),
    (lambda: ops.quantile(X, Tensor([0.5], requires_grad=True)), "quantile: q is an option, which no gradient reaches"),
    (lambda: ops.nanquantile(X, Tensor([0.5], requires_grad=True)), "nanquantile: q is an option"),
    (lambda: ops.quantile(X, 0.5, interpolation="best"), "quantile: interpolation='best' must be"),
    (lambda: ops.nanquantile(X, -0.5), "nanquantile: q must lie in"),
    (lambda: ops.nanquantile(X, 1.5), "nanquantile: q must lie in"),
    (lambda: ops.kthvalue(X, 0), "kthvalue: k=0 must lie between 1 and 3"),
    (lambda: ops.kthvalue(X, 4), "kthvalue: k=4 must lie between 1 and 3"),
    (lambda: ops.kthvalue(Tensor(1.0), 2), "kthvalue: k=2 must lie between 1 and 1"),
    (lambda: ops.median(X[:0], 0), r"median: nothing to choose from along axis 0 of shape \(0, 3\)"),
    (lambda: ops.bincount(Tensor([-1, 2])), "bincount: takes integers from 0"),
    (lambda: ops.bincount(V), "bincount: takes integers from 0"),
    (lambda: ops.quantile(X, [[0.5]]), "quantile: q must be a number in"),
    (lambda: ops.quantile(X, ["half"]), "quantile: q must be a number in"),
    (lambda: ops.histc(V, 0), "histc: needs bins > 0"),
    (lambda: ops.histc(V, 3, 2, 1), "histc: needs bins > 0 and min < max"),
    (lambda: ops.tensordot(X, X, 1), r"tensordot: axes \(1,\) of shape \(2, 3\) and \(0,\)"),
    (lambda: ops.cross(X, X, 0), "cross: axis -2 of shapes"),
    (lambda: ops.multi_dot(X), "multi_dot: takes two matrices or more, got 1"),
    (lambda: ops.cdist(X, V), "cdist: takes"),
    (lambda: ops.diff(X, -1), "diff: n=-1 must be at least 0"),
    (lambda: ops.cov(Tensor(np.ones((1, 2, 3)))), "cov: takes a matrix or a vector"),
    (lambda: ops.float_power(np.ones(2, complex), 2), "float_power: takes real numbers, got complex128"),
])
def test_what_is_refused(call, message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        call()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("diagonal", [-9, -2, 0, 1, 7])
@pytest.mark.parametrize("shape", [(4, 6), (5, 3), (1, 1), (0, 3), (2, 3, 4, 4), (130, 130)])
def test_triangles(shape, diagonal, dtype):
    """To the bit: NaN, infinity and -0 stay where they are kept, and are 0 where they are not."""
    x = rng.standard_normal(shape).astype(dtype)
    if dtype != "int64" and x.size > 12:
        x.reshape(-1)[:12:3] = np.nan, np.inf, -np.inf, -0.0
    for a in (x, x.swapaxes(-1, -2), x[..., ::-1]):
        for ours, theirs in (ops.tril, np.tril), (ops.triu, np.triu):
            found = ours(Tensor.from_numpy(a), diagonal=diagonal)
            assert found.dtype == a.dtype and found.numpy().tobytes() == theirs(a, diagonal).tobytes()


@pytest.mark.parametrize("shape, axis", [((7,), 0), ((3, 8), 1), ((3, 8), 0), ((2, 1, 5), -1)])
def test_medians_where_some_are_nan(shape, axis):
    x = rng.integers(0, 4, shape).astype("float32")
    x[rng.random(shape) < 0.3] = np.nan
    for keepdim in False, True:
        values, index = ops.median(Tensor(x), axis, keepdim)
        np.testing.assert_array_equal(np.take_along_axis(x, index.numpy() if keepdim else np.expand_dims(
            index.numpy(), axis), axis), values.numpy() if keepdim else np.expand_dims(values.numpy(), axis))
        np.testing.assert_array_equal(np.isnan(values.numpy()), np.isnan(x).any(axis, keepdims=keepdim))
        values, index = ops.nanmedian(Tensor(x), axis, keepdim)
        rows = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
        lower = [np.sort(r[~np.isnan(r)])[(np.sum(~np.isnan(r)) - 1) // 2] if not np.isnan(r).all() else np.nan
                 for r in rows]
        np.testing.assert_array_equal(values.numpy().reshape(-1), lower)
