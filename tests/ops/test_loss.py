"""Losses equal their formulas; with targets and weights of other dtypes, kernels and definitions agree."""

import numpy as np
import pytest

from tinygrad_like import Tensor, capture, ops

LOSSES = ["mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy", "kl_div",
          "binary_cross_entropy_with_logits"]
rng = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", ["float64", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("rows", [3, 300])
def test_targets_may_have_any_dtype(name, dtype, rows):
    x, target = rng.uniform(0.1, 0.9, (rows, 4)).astype("float32"), rng.integers(0, 2, (rows, 4))
    loss, results = getattr(ops, name), []
    for t in (target.astype("float32"), target.astype(dtype)):
        a = Tensor(x, requires_grad=True)
        y = loss(a, Tensor(t))
        y.backward()
        assert a.grad.dtype == "float32"
        results.append((y.item(), a.grad.numpy(), y.dtype))
    np.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-5)
    np.testing.assert_allclose(results[1][1], results[0][1], rtol=1e-5, atol=1e-7)
    assert results[1][2] == ("float64" if dtype == "float64" else "float32")


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("rows", [3, 300])
def test_losses_of_nan_are_nan(name, rows):
    x, target = rng.uniform(0.1, 0.9, (rows, 4)).astype("float32"), rng.uniform(0.1, 0.9, (rows, 4)).astype("float32")
    x[1, 2] = np.nan
    a = Tensor(x, requires_grad=True)
    y = getattr(ops, name)(a, Tensor(target), reduction="none")
    y.sum().backward()
    assert (np.isnan(y._data) == np.isnan(x)).all()
    if name != "kl_div":  # its slope is -target
        assert (np.isnan(a.grad.numpy()) == np.isnan(x)).all()


@pytest.mark.parametrize("rows", [3, 300])
def test_class_weights_may_have_another_dtype(rows):
    x, weight, found = rng.standard_normal((rows, 4)).astype("float32"), rng.uniform(1, 2, 4).astype("float32"), []
    for w in (weight, weight.astype("float64")):
        a = Tensor(x, requires_grad=True)
        y = ops.cross_entropy(a, Tensor(np.arange(rows) % 4), Tensor(w))
        y.backward()
        found.append([y.dtype == "float32", y.item(), *a.grad.numpy().ravel()])
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-7)


X = np.array([[-1.5, 0.2, 3.0], [0.7, -0.1, 1.0]])
T = np.array([[1.0, 0.5, 0.4], [-0.2, 0.9, 1.0]])
P, Q = np.array([[0.2, 0.5, 0.9], [0.7, 0.1, 0.3]]), np.array([[0.4, 1.0, 0.0], [0.3, 0.6, 0.1]])
D = np.abs(X - T)


@pytest.mark.parametrize(("made", "losses"), [
    (lambda **o: ops.l1_loss(Tensor(X), Tensor(T), **o), D),
    (lambda **o: ops.mse_loss(Tensor(X), Tensor(T), **o), D**2),
    (lambda **o: ops.huber_loss(Tensor(X), Tensor(T), **o), np.where(D <= 1, D**2 / 2, D - 0.5)),
    (lambda **o: ops.huber_loss(Tensor(X), Tensor(T), delta=0.7, **o),
     np.where(D <= 0.7, D**2 / 2, 0.7 * (D - 0.35))),
    (lambda **o: ops.smooth_l1_loss(Tensor(X), Tensor(T), beta=0.5, **o), np.where(D < 0.5, D**2, D - 0.25)),
    (lambda **o: ops.smooth_l1_loss(Tensor(X), Tensor(T), beta=0, **o), D),
    (lambda **o: ops.binary_cross_entropy(Tensor(P), Tensor(Q), **o), -(Q * np.log(P) + (1 - Q) * np.log(1 - P))),
    (lambda **o: ops.binary_cross_entropy(Tensor(P), Tensor(Q), Tensor(T), **o),
     -T * (Q * np.log(P) + (1 - Q) * np.log(1 - P))),
    (lambda **o: ops.binary_cross_entropy(Tensor(np.eye(2)), Tensor(np.ones((2, 2))), **o), 100 - 100 * np.eye(2)),
    (lambda **o: ops.binary_cross_entropy(Tensor(np.eye(2)), Tensor(np.zeros((2, 2))), **o), 100 * np.eye(2)),
    (lambda **o: ops.binary_cross_entropy_with_logits(Tensor(X), Tensor(Q), **o), np.logaddexp(0, -X) + (1 - Q) * X),
    (lambda **o: ops.kl_div(Tensor(np.log(P)), Tensor(Q), **o),
     np.where(Q > 0, Q * np.log(np.maximum(Q, 1e-9) / P), 0)),
    (lambda **o: ops.kl_div(Tensor(X), Tensor(np.log(P)), log_target=True, **o), P * (np.log(P) - X)),
])
def test_elementwise_losses_equal_their_formulas(made, losses):
    np.testing.assert_allclose(made(reduction="none").numpy(), losses, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(made(reduction="sum").numpy(), losses.sum(), rtol=1e-12)
    np.testing.assert_allclose(made().numpy(), losses.mean(), rtol=1e-12)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4)], ids=str)
def test_cross_entropy_of_probabilities_equals_its_formula(shape):
    x, q = np.random.default_rng(0).standard_normal((2, *shape))
    axis = min(1, len(shape) - 1)
    log_p = x - np.log(np.exp(x).sum(axis, keepdims=True))
    losses = -((0.7 * q + 0.3 / 3) * log_p).sum(axis)
    found = ops.cross_entropy(Tensor(x), Tensor(q), reduction="none", label_smoothing=0.3)
    np.testing.assert_allclose(found.numpy(), losses, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("shape", "labels"), [((3,), 1), ((2, 3), [2, 0]), ((2, 3, 2), [[0, 1], [2, 0]]),
                                               ((2, 3, 4), [[0, 1, 2, 0], [2, 2, 1, -7]])])
def test_nll_equals_its_formula(shape, labels):
    x, w = np.random.default_rng(0).standard_normal(shape), np.array([0.5, 2.0, 1.25])
    labels = np.array(labels)
    axis, counted = min(1, len(shape) - 1), labels != -7
    safe = np.where(counted, labels, 0)
    weights = w[safe] * counted
    losses = -np.take_along_axis(x, np.expand_dims(safe, axis), axis).squeeze(axis) * weights

    def loss(**options):
        return ops.nll_loss(Tensor(x), Tensor(labels), Tensor(w), ignore_index=-7, **options).numpy()

    np.testing.assert_allclose(loss(reduction="none"), losses, rtol=1e-12)
    np.testing.assert_allclose(loss(reduction="sum"), losses.sum(), rtol=1e-12)
    np.testing.assert_allclose(loss(), losses.sum() / weights.sum(), rtol=1e-12)
    for weight in (None, Tensor(w)) if counted.all() else ():  # 0 may be the ignored label
        for ignored in -100, 0, 2:
            counts = (labels != ignored) * (1 if weight is None else w[labels])
            found = ops.nll_loss(Tensor(x), Tensor(labels), weight, ignore_index=ignored).numpy()
            with np.errstate(invalid="ignore"):
                np.testing.assert_allclose(found, (losses / weights * counts).sum() / counts.sum(), rtol=1e-12)
    if not counted.all():  # the numbers of an ignored row do not matter, with weights or without
        unseen = np.where(np.expand_dims(counted, axis), x, -np.inf)
        for weight in (None, Tensor(w)):
            found = ops.nll_loss(Tensor(unseen), Tensor(labels), weight, ignore_index=-7, reduction="none").numpy()
            np.testing.assert_allclose(found, losses / (w[safe] if weight is None else 1), rtol=1e-12)


@pytest.mark.parametrize("weight", [None, np.array([2.0])])
def test_nll_takes_one_class_and_empty_batches(weight):
    weight = None if weight is None else Tensor(weight)
    x = Tensor([[-1.0], [-3.0]], requires_grad=True)
    loss = ops.nll_loss(x, Tensor([0, -100]), weight)
    assert loss.item() == 1 and loss.gradient(x)[0].tolist() == [[-1], [0]]
    assert np.isnan(ops.nll_loss(x, Tensor([0, 0]), weight, ignore_index=0).item())
    assert ops.nll_loss(x, Tensor([0, 0]), weight, ignore_index=0, reduction="sum").item() == 0
    empty = Tensor(np.zeros(0, int))
    assert np.isnan(ops.nll_loss(x[:0], empty, weight).item())
    assert ops.nll_loss(x[:0], empty, weight, reduction="none").shape == (0,)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("kind", ["labels", "no label", "probabilities"])
def test_cross_entropy_and_its_gradient_equal_their_formulas(kind, reduction, smoothing):
    """With and without the gradient's graph, and captured; in float64, where no kernel runs."""
    rng, n, classes = np.random.default_rng(1), 5, 3
    x, w = rng.standard_normal((n, classes)), np.array([0.5, 2.0, 1.25])
    g = rng.standard_normal(n if reduction == "none" else ())
    if kind == "probabilities":
        target = rng.dirichlet(np.ones(classes), n)
        q, divisor = (target * (1 - smoothing) + smoothing / classes) * w, n
    else:
        target = np.array([2, 0, -7, 1, 1] if kind == "labels" else [-7] * n)
        counted = target != -7
        label = target * counted
        q = ((1 - smoothing) * np.eye(classes)[label] + smoothing / classes) * counted[:, None]
        q, divisor = q * w, (w[label] * counted).sum()
    log_p = x - np.log(np.exp(x).sum(1, keepdims=True))
    losses = -(q * log_p).sum(1)
    dx = (np.exp(log_p) * q.sum(1, keepdims=True) - q) * (g[:, None] if reduction == "none" else g)
    if reduction == "mean":
        losses, dx = (losses.sum() / divisor, dx / divisor) if divisor else (np.nan, 0 * dx)
    expected = losses if reduction == "none" else np.sum(losses)

    def step(t, create_graph):
        t = t.detach().requires_grad_()
        loss = ops.cross_entropy(t, Tensor(target), Tensor(w), ignore_index=-7, reduction=reduction,
                                 label_smoothing=smoothing)
        return loss.detach(), loss.gradient(t, gradient=Tensor(g), create_graph=create_graph)[0].detach()

    def close(found):
        for y, z in zip(found, (expected, dx), strict=True):
            np.testing.assert_allclose(y.detach().numpy(), z, rtol=1e-12, atol=1e-13)

    captured = capture(step, strict=True)
    for create_graph in (False, True):
        close(step(Tensor(x), create_graph))
        for _ in range(4):
            close(captured(Tensor(x), create_graph))
    array = ops.cross_entropy(x, target, w, ignore_index=-7, reduction=reduction, label_smoothing=smoothing)
    np.testing.assert_allclose(array, expected, rtol=1e-12)
    assert len(captured.programs) == 2


@pytest.mark.parametrize("label", [0.0, 1.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary_cross_entropy_of_saturated_sigmoids_has_a_finite_slope(dtype, label):
    x = Tensor(np.linspace(-110, 110, 441, dtype=dtype), requires_grad=True)
    loss = ops.binary_cross_entropy(x.sigmoid(), Tensor(np.full(x.shape, label, dtype)), reduction="none")
    slope = loss.sum().gradient(x, create_graph=True)[0]
    right = 1 / (1 + np.exp(-x.detach().numpy().astype(float))) - label
    near = np.abs(x.detach().numpy()) < 12
    np.testing.assert_allclose(slope.detach().numpy()[near], right[near], rtol=1e-5, atol=0.05 if dtype == "float32"
                               else 1e-12)
    assert (np.abs(slope.detach().numpy()) <= 1.1).all()
    assert np.isfinite(slope.sum().gradient(x)[0].numpy()).all()


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary_cross_entropy_near_0_and_1_equals_pytorchs(dtype):
    torch = pytest.importorskip("torch")
    p, t = (a.ravel() for a in np.meshgrid(np.array([0, 5e-42, 1e-40, 1e-20, 1e-12, 1e-5, 0.3, 1 - 1e-6, 1], dtype),
                                           np.array([0, 0.2, 1], dtype)))
    results = []
    for made, loss in ((Tensor, ops.binary_cross_entropy), (torch.tensor, torch.nn.functional.binary_cross_entropy)):
        a, g = made(p, requires_grad=True), made(np.linspace(-1, 1, p.size).astype(dtype))
        y = loss(a, made(t), reduction="none")
        if made is Tensor:
            first = y.gradient(a, gradient=g, create_graph=True)[0]
            second = (first * g).sum().gradient(a)[0]
        else:
            first = torch.autograd.grad(y, a, g, create_graph=True)[0]
            second = torch.autograd.grad((first * g).sum(), a)[0]
        results.append([v.detach().numpy() for v in (y, first)] + [second.numpy()[(p > 1e-5) & (p < 0.9)]])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kl_div_of_negative_targets_is_nan(dtype):
    with np.errstate(invalid="ignore"):
        found = ops.kl_div(Tensor(np.array([-1, -2, -1], dtype)), Tensor(np.array([-0.3, 0, 1], dtype)),
                           reduction="none")
    np.testing.assert_array_equal(found.numpy(), [np.nan, 0, 1])


@pytest.mark.parametrize("var", [-1.0, [[-1e-9]], [[1.0], [-2.0]]], ids=str)
def test_gaussian_nll_refuses_a_negative_variance(var):
    x = Tensor(np.array([[1.0, 2], [3, 4]]))
    with pytest.raises(ValueError, match="gaussian_nll_loss: var must not be negative, got -"):
        ops.gaussian_nll_loss(x, x, var if type(var) is float else Tensor(np.broadcast_to(var, (2, 1)).copy()))


@pytest.mark.parametrize(("var", "right"), [(0.0, 1e-6), (2.0, 2.0), ([[0.0], [2]], [[1e-6], [2]]),
                                           ([0.5, 2], [[0.5], [2]])],
                         ids=str)
def test_gaussian_nll_equals_its_formula(var, right):
    x, t = np.array([[1.0, 2], [3, 4]]), np.array([[1.0, 2.5], [3, 5]])
    found = ops.gaussian_nll_loss(Tensor(x), Tensor(t), var if type(var) is float else Tensor(np.array(var)),
                                  reduction="none")
    np.testing.assert_allclose(found.numpy(), (np.log(right) + (x - t) ** 2 / right) / 2, rtol=1e-12)


@pytest.mark.parametrize("loss", [ops.binary_cross_entropy, ops.binary_cross_entropy_with_logits])
def test_weights_must_broadcast_to_the_loss(loss):
    x = Tensor(np.full((2, 3), 0.5))
    assert loss(x, x, Tensor(np.ones(3))).shape == ()
    with pytest.raises(ValueError, match="broadcast"):
        loss(x, x, Tensor(np.ones((4, 2, 3))))


def test_gaussian_nll_refuses_a_variance_or_reduction_that_does_not_fit():
    x = Tensor(np.ones((2, 3)))
    with pytest.raises(ValueError, match="gaussian_nll_loss: reduction"):
        ops.gaussian_nll_loss(x, x, 1.0, reduction="all")
    with pytest.raises(ValueError, match=r"var of shape \(3,\) does not fit the input's, \(2, 3\)"):
        ops.gaussian_nll_loss(x, x, Tensor(np.ones(3)))


FAR = np.array([-1e30, -200, -104, -90, -20, -1, 0, 1e-40, 1e-10, 0.5, 0.9, 20, 90, 104, 200, 1e30], np.float32)
EDGES = {  # of x and y; labels are y > 0
    "gaussian": lambda f, x, y: f.gaussian_nll_loss(y, y * 0, x.abs(), reduction="none"),
    "logits": lambda f, x, y: f.binary_cross_entropy_with_logits(x, (y > 0).float(), reduction="none"),
    "sigmoid": lambda f, x, y: f.binary_cross_entropy(x.sigmoid(), (y > 0).float(), reduction="none"),
    "huber": lambda f, x, y: f.huber_loss(x, y * 0, reduction="none"),
    "kl": lambda f, x, y: f.kl_div(x, y.abs() / 1e30, reduction="none"),
    "kl log": lambda f, x, y: f.kl_div(x, -y.abs(), reduction="none", log_target=True),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("copies", [1, 30])
def test_losses_equal_pytorchs_far_out(name, copies):
    torch = pytest.importorskip("torch")
    x, y, found = np.tile(np.append(FAR, FAR), copies), np.tile(np.append(FAR, FAR[::-1]), copies), []
    with np.errstate(all="ignore"):
        for made, home in (Tensor, ops), (torch.tensor, torch.nn.functional):
            a = made(x, requires_grad=True)
            loss = EDGES[name](home, a, made(y))
            loss.sum().backward()
            found.append([loss.detach().numpy(), a.grad.numpy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=3e-9)
