"""Values and gradients against PyTorch, where it is installed: `pytest -m torch`."""

from functools import partial

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


# Activations and elementwise functions --------------------------------------------------------------------------------

ACTIVATIONS = {
    "relu": (ops.relu, F.relu),
    "leaky_relu": (lambda x: ops.leaky_relu(x, negative_slope=0.2), lambda x: F.leaky_relu(x, 0.2)),
    "sigmoid": (ops.sigmoid, torch.sigmoid), "tanh": (ops.tanh, torch.tanh),
    "logsigmoid": (ops.logsigmoid, F.logsigmoid),
    "gelu": (ops.gelu, F.gelu),
    "gelu, tanh": (lambda x: ops.gelu(x, approximate="tanh"), lambda x: F.gelu(x, approximate="tanh")),
    "silu": (ops.silu, F.silu), "elu": (lambda x: ops.elu(x, alpha=0.7), lambda x: F.elu(x, 0.7)),
    "softplus": (ops.softplus, F.softplus),
    "softplus, beta": (lambda x: ops.softplus(x, beta=3.0), lambda x: F.softplus(x, 3.0, threshold=1000)),
    "glu": (ops.glu, F.glu), "glu, axis": (lambda x: ops.glu(x, axis=0), lambda x: F.glu(x, 0)),
    "swiglu": (ops.swiglu, lambda x: x.chunk(2, -1)[0] * F.silu(x.chunk(2, -1)[1])),
    "softmax": (ops.softmax, lambda x: F.softmax(x, -1)),
    "softmax, axis": (lambda x: ops.softmax(x, axis=0), lambda x: F.softmax(x, 0)),
    "log_softmax": (lambda x: ops.log_softmax(x, axis=1), lambda x: F.log_softmax(x, 1)),
    "logsumexp": (lambda x: ops.logsumexp(x, axis=1), lambda x: torch.logsumexp(x, 1)),
    "logsumexp, all": (ops.logsumexp, lambda x: torch.logsumexp(x, (0, 1))),
    "exp2": (ops.exp2, torch.exp2), "expm1": (ops.expm1, torch.expm1), "erf": (ops.erf, torch.erf),
    "sin": (ops.sin, torch.sin), "cos": (ops.cos, torch.cos), "tan": (ops.tan, torch.tan),
    "atan": (ops.atan, torch.atan), "sinh": (ops.sinh, torch.sinh), "cosh": (ops.cosh, torch.cosh),
    "abs": (ops.abs, torch.abs), "sign": (ops.sign, torch.sign),
    "floor": (ops.floor, torch.floor), "round": (ops.round, torch.round), "square": (ops.square, torch.square),
    "clip": (lambda x: x.clip(-0.5, 0.5), lambda x: x.clamp(-0.5, 0.5)),
    "mod": (lambda x: x % 0.3, lambda x: x % 0.3),
}


@pytest.mark.parametrize(("ours", "theirs"), **names(ACTIVATIONS))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_activations(ours, theirs, dtype):
    compare(ours, theirs, 2 * some(6, 4), dtype=dtype)


@pytest.mark.parametrize(("ours", "theirs"), **names({k: v for k, v in ACTIVATIONS.items() if k not in (
    "tan", "glu", "glu, axis", "swiglu", "softmax", "softmax, axis", "log_softmax", "logsumexp", "logsumexp, all",
    "expm1", "exp2", "sinh", "cosh", "square", "mod")}))
def test_activations_far_out(ours, theirs):
    compare(ours, theirs, np.array([-200.0, -60.0, -1e-8, 1e-8, 60.0, 200.0]), orders=1)


@pytest.mark.parametrize("name", ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "asin", "acos"])
def test_functions_of_positive_numbers(name):
    compare(getattr(ops, name), getattr(torch, name), positive(3, 4))


def test_powers():
    compare(ops.pow, torch.pow, positive(3, 4), some(4))
    compare(lambda x: x**3, lambda x: x**3, some(3, 4))
    compare(lambda x: x**-0.5, lambda x: x**-0.5, positive(3, 4))
    compare(lambda x: 2.0**x, lambda x: 2.0**x, some(3, 4))
    compare(lambda x: x**0, lambda x: x**0, np.array([-1.0, 0.0, 2.0]))
    compare(lambda x: x**2, lambda x: x**2, np.array([-1.0, 0.0, 2.0]))


def test_arithmetic_broadcasts():
    for ours in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b):
        compare(ours, ours, some(2, 1, 3), positive(4, 1))
    compare(lambda a, b: a.lerp(b, 0.3), lambda a, b: torch.lerp(a, b, 0.3), some(3), some(2, 3))


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


# Reductions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, -1, (0, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions(axis, keepdim):
    x = some(2, 3, 4)
    for name in ("sum", "mean"):
        compare(lambda x: getattr(x, name)(axis=axis, keepdim=keepdim),  # noqa: B023
                lambda x: getattr(x, name)(axis, keepdim=keepdim), x)  # noqa: B023
    for correction in (0, 1):
        for name in ("var", "std"):
            compare(lambda x: getattr(x, name)(axis=axis, keepdim=keepdim, correction=correction),  # noqa: B023
                    lambda x: getattr(x, name)(axis, keepdim=keepdim, correction=correction), x)  # noqa: B023
    compare(lambda x: x.max(axis=axis, keepdim=keepdim), lambda x: x.amax(axis, keepdim=keepdim), x)
    compare(lambda x: x.logsumexp(axis=axis, keepdim=keepdim), lambda x: x.logsumexp(axis, keepdim=keepdim), x)
    compare(lambda x: x.norm(axis=axis, keepdim=keepdim),
            lambda x: torch.linalg.vector_norm(x, dim=axis, keepdim=keepdim), x)
    if isinstance(axis, int):
        compare(lambda x: x.prod(axis=axis, keepdim=keepdim), lambda x: x.prod(axis, keepdim=keepdim), x)
        compare(lambda x: x.cumsum(axis), lambda x: x.cumsum(axis), x)


@pytest.mark.parametrize("x", [[[0.0, 2.0, 3.0]], [[0.0, 0.0, 3.0]], [[0.0, 0.0, 0.0]], [[1.0, 2.0, 3.0]]], ids=str)
def test_products_with_zeros(x):
    compare(lambda x: x.prod(axis=1), lambda x: x.prod(1), np.array(x), orders=1)
    compare(lambda x: x.prod(), lambda x: x.prod(), np.array(x), orders=1)


# Shape, index, order --------------------------------------------------------------------------------------------------

INDEX, LOOKUP = np.array([[2, 0, 0], [1, 1, 2]]), np.array([[0, 2], [1, 1]])
MASK = np.array([[True, False, True], [False, False, True]])

MOVES = {
    "permute": (lambda x: x.permute(2, 0, 1), lambda x: x.permute(2, 0, 1)),
    "flatten": (lambda x: x.flatten(1), lambda x: x.flatten(1)), "unflatten": (lambda x: x.unflatten(2, (2, -1)),) * 2,
    "expand": (lambda x: x.unsqueeze(1).expand(-1, 5, -1, -1),) * 2, "repeat": (lambda x: x.repeat(2, 1, 2, 3),) * 2,
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1),) * 2, "flip": (lambda x: x.flip(0, 2),) * 2,
    "roll": (lambda x: x.roll((1, -2), (0, 2)),) * 2, "roll, flat": (lambda x: x.roll(5),) * 2,
    "tril": (lambda x: x.tril(-1),) * 2, "triu": (lambda x: x.triu(1),) * 2,
    "chunk": (lambda x: x.chunk(3, 2)[1],) * 2, "split": (lambda x: x.split((1, 2), 1)[1],) * 2,
    "unbind": (lambda x: x.unbind(1)[2],) * 2, "squeeze": (lambda x: x[:, :1].squeeze(1),) * 2,
    "diagonal": (lambda x: x[0].diagonal(1),) * 2,
    "pad": (lambda x: x.pad((1, 2, 0, 1), value=3.0), lambda x: F.pad(x, (1, 2, 0, 1), value=3.0)),
    "pad, reflect": (lambda x: x.pad((2, 1), mode="reflect"), lambda x: F.pad(x, (2, 1), mode="reflect")),
    "pad, replicate": (lambda x: x.pad((2, 3), mode="replicate"), lambda x: F.pad(x, (2, 3), mode="replicate")),
    "pad, circular": (lambda x: x.pad((2, 4), mode="circular"), lambda x: F.pad(x, (2, 4), mode="circular")),
    "cat": (lambda x: ops.cat(x, x * 2, x[:, :1], axis=1), lambda x: torch.cat((x, x * 2, x[:, :1]), 1)),
    "stack": (lambda x: ops.stack(x, x * 2, axis=-1), lambda x: torch.stack((x, x * 2), -1)),
    "slice": (lambda x: x[:, 1:, ::2],) * 2, "None and ...": (lambda x: x[None, ..., -1],) * 2,
    "integer arrays": (lambda x: x[LOOKUP % 2, :, LOOKUP.T],) * 2,
    "array, slice, int": (lambda x: x[LOOKUP % 2, 1:, 0],) * 2,
    "mask": (lambda x: x[MASK], lambda x: x[torch.tensor(MASK)]), "mask of an axis": (lambda x: x[:, MASK[0]],) * 2,
    "gather": (lambda x: x[0].gather(1, INDEX), lambda x: x[0].gather(1, torch.tensor(INDEX))),
    "scatter_add": (lambda x: x[0].scatter_add(0, INDEX, x[1, :2, :3]),
                    lambda x: x[0].scatter_add(0, torch.tensor(INDEX), x[1, :2, :3])),
    "scatter": (lambda x: x[0].scatter(1, LOOKUP[:1], x[1, :1, :2]),
                lambda x: x[0].scatter(1, torch.tensor(LOOKUP[:1]), x[1, :1, :2])),
    "scatter, a number": (lambda x: x[0].scatter(1, LOOKUP, 7.0), lambda x: x[0].scatter(1, torch.tensor(LOOKUP), 7.0)),
    "masked_fill": (lambda x: x.masked_fill(MASK[..., None], -1.0),
                    lambda x: x.masked_fill(torch.tensor(MASK[..., None]), -1.0)),
    "where": (lambda x: ops.where(MASK[..., None], x, x * x),
              lambda x: torch.where(torch.tensor(MASK[..., None]), x, x * x)),
    "sort": (lambda x: x.sort(1)[0],) * 2, "sort, descending": (lambda x: x.sort(-1, descending=True)[0],) * 2,
    "topk": (lambda x: x.topk(2, 1)[0],) * 2, "topk, smallest": (lambda x: x.topk(3, -1, largest=False)[0],) * 2,
}


@pytest.mark.parametrize(("ours", "theirs"), **names(MOVES))
def test_moves(ours, theirs):
    compare(lambda x: ours(x * x), lambda x: theirs(x * x), some(2, 3, 4))


def test_indices_of_order():
    x = some(3, 5)
    t = torch.tensor(x)
    for ours, theirs in ((Tensor(x).argsort(1), t.argsort(1)), (Tensor(x).argmax(0), t.argmax(0)),
                         (Tensor(x).argmin(), t.argmin()), (Tensor(x).topk(2)[1], t.topk(2)[1]),
                         (Tensor([[1, 0]]).one_hot(3), F.one_hot(torch.tensor([[1, 0]]), 3))):
        assert np.array_equal(ours.numpy(), theirs.numpy())


# Products -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)),
                                    ((2, 3, 4), (2, 4, 5)), ((6, 1, 3, 4), (2, 4, 5)),
                                    ((4,), (2, 4, 5)), ((2, 3, 4), (4,))],
                         ids=str)
def test_matmul(shapes, dtype):
    compare(lambda a, b: a @ b, lambda a, b: a @ b, *[some(*s) for s in shapes], dtype=dtype)
    if len(shapes[0]) > 1 and len(shapes[1]) > 1:  # transposed operands
        compare(lambda a, b: b.mT @ a.mT, lambda a, b: b.mT @ a.mT, *[some(*s) for s in shapes], dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_matmul_larger_than_a_tile(dtype):
    for m, k, n in ((33, 70, 50), (1, 200, 3), (130, 1, 65), (64, 64, 64)):
        compare(ops.matmul, torch.matmul, some(m, k) / 8, some(k, n) / 8, dtype=dtype, orders=1)


def test_linear():
    for dtype in ("float64", "float32"):
        compare(ops.linear, F.linear, some(5, 3), some(4, 3), some(4), dtype=dtype)
        compare(ops.linear, F.linear, some(2, 5, 3), some(4, 3), dtype=dtype)
        compare(ops.linear, F.linear, some(3), some(4, 3), some(4), dtype=dtype)


@pytest.mark.parametrize(("formula", "shapes"), [
    ("ij,jk->ik", [(3, 4), (4, 5)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("ij->ji", [(3, 4)]), ("ii->", [(3, 3)]),
    ("ii->i", [(3, 3)]), ("i,j->ij", [(3,), (4,)]), ("ij,ij->", [(3, 4), (3, 4)]), ("ij->", [(3, 4)]),
    ("ij->j", [(3, 4)]), ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]), ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("bi,oij,bj->bo", [(2, 3), (4, 3, 5), (2, 5)]), ("ab,bc", [(2, 3), (3, 4)]), ("ba", [(2, 3)]),
    ("i,i,i->i", [(3,), (3,), (3,)]),
])
def test_einsum(formula, shapes):
    compare(lambda *xs: ops.einsum(formula, *xs), lambda *xs: torch.einsum(formula, *xs), *[some(*s) for s in shapes])


def test_outer():
    compare(ops.outer, torch.outer, some(3), some(4))


# Losses ---------------------------------------------------------------------------------------------------------------

REDUCTIONS = ["mean", "sum", "none"]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(6, 5), (5,), (2, 5, 3), (2, 5, 3, 2)], ids=str)
def test_cross_entropy(shape, weighted, smoothing, dtype, reduction):
    classes = shape[1] if len(shape) > 1 else shape[0]
    target = rng.integers(0, classes, shape[:1] + shape[2:] if len(shape) > 1 else ())
    if target.size > 1:
        target.flat[1] = -100
    weight = positive(classes) if weighted else None
    compare(lambda x: ops.cross_entropy(x, target, weight if weight is None else Tensor(weight, dtype=dtype),
                                        reduction=reduction, label_smoothing=smoothing),
            lambda x: F.cross_entropy(x, torch.tensor(target),
                                      weight if weight is None else torch.tensor(weight, dtype=x.dtype),
                                      reduction=reduction, label_smoothing=smoothing),
            3 * some(*shape), dtype=dtype)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(6, 5), (5,), (2, 5, 3)], ids=str)
def test_cross_entropy_of_probabilities(shape, weighted, smoothing, reduction):
    classes = shape[1] if len(shape) > 1 else shape[0]
    weight = positive(classes) if weighted else None
    compare(lambda x, q: ops.cross_entropy(x, q, weight if weight is None else Tensor(weight), reduction=reduction,
                                           label_smoothing=smoothing),
            lambda x, q: F.cross_entropy(x, q, weight if weight is None else torch.tensor(weight), reduction=reduction,
                                         label_smoothing=smoothing),
            some(*shape), positive(*shape))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_ignores_the_index_it_is_told(reduction):
    target = np.array([0, 2, 2, 1])
    compare(lambda x: ops.cross_entropy(x, target, ignore_index=2, reduction=reduction),
            lambda x: F.cross_entropy(x, torch.tensor(target), ignore_index=2, reduction=reduction), some(4, 3))
    compare(lambda x: ops.cross_entropy(x, target, ignore_index=-7, reduction=reduction),
            lambda x: F.cross_entropy(x, torch.tensor(target), ignore_index=-7, reduction=reduction),
            1e4 * some(4, 3), orders=1)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(6, 5), (5,), (2, 5, 3)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_nll_loss(shape, weighted, reduction):
    classes = shape[1] if len(shape) > 1 else shape[0]
    target = rng.integers(0, classes, shape[:1] + shape[2:] if len(shape) > 1 else ())
    if target.size > 1:
        target.flat[1] = -100
    weight = positive(classes) if weighted else None
    compare(lambda x: ops.nll_loss(x, target, weight, reduction=reduction),
            lambda x: F.nll_loss(x, torch.tensor(target), weight if weight is None else torch.tensor(weight),
                                 reduction=reduction),
            some(*shape))


PAIRS = {
    "mse_loss": (ops.mse_loss, F.mse_loss), "l1_loss": (ops.l1_loss, F.l1_loss),
    "huber_loss": (ops.huber_loss, F.huber_loss),
    "huber_loss, delta": (partial(ops.huber_loss, delta=0.4), partial(F.huber_loss, delta=0.4)),
    "smooth_l1_loss": (ops.smooth_l1_loss, F.smooth_l1_loss),
    "smooth_l1_loss, beta": (partial(ops.smooth_l1_loss, beta=0.4), partial(F.smooth_l1_loss, beta=0.4)),
    "smooth_l1_loss, beta 0": (partial(ops.smooth_l1_loss, beta=0.0), partial(F.smooth_l1_loss, beta=0.0)),
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("ours", "theirs"), **names(PAIRS))
def test_losses_of_pairs(ours, theirs, dtype, reduction):
    compare(lambda x, t: ours(x, t, reduction=reduction), lambda x, t: theirs(x, t, reduction=reduction),
            some(4, 3), some(4, 3), dtype=dtype, orders=1 if ours is ops.smooth_l1_loss else 2)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_binary_cross_entropies(dtype, reduction):
    weight, pos_weight = positive(4, 3), 3 * positive(3)

    def theirs(f, **extra):
        return lambda x, t: f(x, t, reduction=reduction,
                              **{k: torch.tensor(v, dtype=x.dtype) for k, v in extra.items()})

    def ours(f, **extra):
        return lambda x, t: f(x, t, reduction=reduction, **{k: Tensor(v, dtype=x.dtype) for k, v in extra.items()})

    f, g = ops.binary_cross_entropy_with_logits, F.binary_cross_entropy_with_logits
    for extra in ({}, {"weight": weight}, {"pos_weight": pos_weight}, {"weight": weight, "pos_weight": pos_weight}):
        compare(ours(f, **extra), theirs(g, **extra), 3 * some(4, 3), positive(4, 3), dtype=dtype)
    x, t = np.array([-200.0, -30.0, 30.0, 200.0]), np.array([0.0, 1.0, 0.0, 1.0])
    compare(ours(f), theirs(g), x, t, dtype=dtype, orders=1)

    f, g, t = ops.binary_cross_entropy, F.binary_cross_entropy, positive(4, 3)
    for extra in ({}, {"weight": weight}):
        mine, yours = ours(f, **extra), theirs(g, **extra)
        compare(lambda p, mine=mine: mine(p, Tensor(t, dtype=dtype)),
                lambda p, yours=yours: yours(p, torch.tensor(t, dtype=p.dtype)), positive(4, 3), dtype=dtype)


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
def test_kl_div(log_target, reduction):
    x, t = np.log(positive(4, 3)), np.log(positive(4, 3)) if log_target else positive(4, 3)
    compare(lambda x, t: ops.kl_div(x, t, reduction=reduction, log_target=log_target),
            lambda x, t: F.kl_div(x, t, reduction=reduction, log_target=log_target), x, t)
    zeros = np.array([[0.0, 0.5], [1.0, 0.0]])
    compare(lambda x: ops.kl_div(x, Tensor(zeros), reduction=reduction),
            lambda x: F.kl_div(x, torch.tensor(zeros), reduction=reduction), some(2, 2))


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


# Attention and embedding ----------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("padding_idx", [None, 2])
def test_embedding(padding_idx):
    index = rng.integers(0, 4, (5, 6))
    compare(lambda w: ops.embedding(Tensor(index), w, padding_idx=padding_idx),
            lambda w: F.embedding(torch.tensor(index), w, padding_idx), some(4, 3))


# A whole graph, and memory shared with PyTorch ------------------------------------------------------------------------


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


# Normalisation --------------------------------------------------------------------------------------------------------

NORMS = {
    "layer_norm": (ops.layer_norm, lambda x, w, b: F.layer_norm(x, (5,), w, b), [(3, 4, 5), (5,), (5,)]),
    "layer_norm over two axes": (ops.layer_norm, lambda x, w, b: F.layer_norm(x, (4, 5), w, b),
                                 [(3, 4, 5), (4, 5), (4, 5)]),
    "rms_norm": (lambda x, w: ops.rms_norm(x, w, eps=0.1), lambda x, w: F.rms_norm(x, (5,), w, 0.1), [(3, 4, 5), (5,)]),
    "rms_norm, its own eps": (ops.rms_norm, lambda x: F.rms_norm(x, (5,)), [(3, 4, 5)]),
    "group_norm": (lambda x, w, b: ops.group_norm(x, w, b, num_groups=2), lambda x, w, b: F.group_norm(x, 2, w, b),
                   [(2, 6, 3, 4), (6,), (6,)]),
    "instance_norm": (ops.instance_norm, lambda x, w, b: F.instance_norm(x, None, None, w, b),
                      [(2, 3, 4, 5), (3,), (3,)]),
    "batch_norm": (ops.batch_norm, lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [(6, 4), (4,), (4,)]),
    "batch_norm of images": (ops.batch_norm, lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
                             [(3, 4, 5, 6), (4,), (4,)]),
    "batch_norm_relu": (lambda x, w, b, s: ops.batch_norm_relu(x, w, b, None, None, s),
                        lambda x, w, b, s: F.relu(F.batch_norm(x, None, None, w, b, True) + s),
                        [(3, 4, 5, 6), (4,), (4,), (3, 4, 5, 6)]),
    "batch_norm, running statistics": (
        lambda x, w, b, m: ops.batch_norm(x, w, b, m.detach(), (m * m).detach() + 1),
        lambda x, w, b, m: F.batch_norm(x, m.detach(), (m * m).detach() + 1, w, b), [(3, 4, 5), (4,), (4,), (4,)]),
}


@pytest.mark.parametrize(("ours", "theirs", "shapes"), **names(NORMS))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_norms(ours, theirs, shapes, dtype):
    compare(ours, theirs, *[some(*shape) for shape in shapes], dtype=dtype)


# Convolution ----------------------------------------------------------------------------------------------------------

CONVOLUTIONS = {
    "conv2d": (partial(ops.conv2d, padding=1), partial(F.conv2d, padding=1),
               some(2, 3, 7, 6), some(4, 3, 3, 3), some(4)),
    "conv2d everything": (partial(ops.conv2d, stride=(2, 1), padding=(2, 1), dilation=(1, 2), groups=2),
                          partial(F.conv2d, stride=(2, 1), padding=(2, 1), dilation=(1, 2), groups=2),
                          some(2, 4, 7, 8), some(6, 2, 3, 2), some(6)),
    "conv2d depthwise": (partial(ops.conv2d, padding=2, groups=6), partial(F.conv2d, padding=2, groups=6),
                         some(2, 6, 7, 8), some(6, 1, 5, 5), some(6)),
    "conv2d same": (partial(ops.conv2d, padding="same"), partial(F.conv2d, padding="same"),
                    some(2, 3, 7, 6), some(4, 3, 3, 5)),
    "conv1d": (partial(ops.conv1d, stride=2, padding=1), partial(F.conv1d, stride=2, padding=1),
               some(2, 3, 11), some(4, 3, 3), some(4)),
    "conv_transpose2d": (partial(ops.conv_transpose2d, stride=2, padding=1, output_padding=1, groups=2),
                         partial(F.conv_transpose2d, stride=2, padding=1, output_padding=1, groups=2),
                         some(2, 4, 5, 4), some(4, 3, 3, 3), some(6)),
    "conv_transpose1d": (partial(ops.conv_transpose1d, stride=3, dilation=2),
                         partial(F.conv_transpose1d, stride=3, dilation=2), some(2, 4, 5), some(4, 3, 3), some(3)),
    "unfold": (partial(ops.unfold, kernel_size=(2, 3), dilation=2, padding=1, stride=(1, 2)),
               partial(F.unfold, kernel_size=(2, 3), dilation=2, padding=1, stride=(1, 2)), some(2, 3, 6, 7)),
    "fold": (partial(ops.fold, output_size=(6, 7), kernel_size=2, padding=1, stride=2),
             partial(F.fold, output_size=(6, 7), kernel_size=2, padding=1, stride=2), some(2, 12, 16)),
}


# Pooling --------------------------------------------------------------------------------------------------------------

POOLS = {
    "max_pool2d": ((2,), {}), "max_pool2d, 3x3": ((3, 2, 1), {}), "max_pool2d, dilated": ((2, 1, 1, 2), {}),
    "max_pool2d, pairs": (((3, 2), (1, 2), (1, 0)), {"ceil_mode": True}),
    "avg_pool2d": ((2,), {}), "avg_pool2d, 3x3": ((3, 2, 1), {}), "avg_pool2d, ceil": ((3, 2, 1), {"ceil_mode": True}),
    "avg_pool2d, no padding": ((3, 2, 1), {"ceil_mode": True, "count_include_pad": False}),
    "adaptive_avg_pool2d": ((3,), {}), "adaptive_avg_pool2d, pair": (((2, None),), {}),
    "adaptive_avg_pool2d, tiles": (((2, 7),), {}), "adaptive_avg_pool2d, global": ((1,), {}),
    "interpolate": ((), {"scale_factor": 2}), "interpolate, pair": ((), {"scale_factor": (3, 1)}),
    "interpolate, size": ((), {"size": (5, 9)}),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, dtype):
    ours, theirs, *inputs = CONVOLUTIONS[name]
    compare(ours, theirs, *inputs, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", POOLS)
def test_pooling(case, dtype):
    name = case.split(",")[0]
    args, options = POOLS[case]
    for shape in ((2, 3, 6, 7), (8, 8, 6, 7), (3, 6, 7)):
        if name != "interpolate" or len(shape) == 4:
            compare(lambda x: getattr(ops, name)(x * x, *args, **options),
                    lambda x: getattr(F, name)(x * x, *args, **options), some(*shape), dtype=dtype)
    if not any(isinstance(a, tuple) for a in (*args, *options.values())):
        name = name.replace("2d", "1d")
        compare(lambda x: getattr(ops, name)(x, *args, **options), lambda x: getattr(F, name)(x, *args, **options),
                some(2, 3, 9), dtype=dtype)


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
