"""One table of losses, against definitions, finite differences and PyTorch, for each reduction."""

import numpy as np
import pytest

import nn
import nn.functional as F
from tinygrad_like import Tensor
from tinygrad_like.transforms.gradcheck import gradcheck, gradgradcheck

rng = np.random.default_rng(0)
Z, T, P, LABELS = rng.standard_normal((6, 4)), rng.standard_normal((6, 4)), rng.uniform(0.1, 0.9, (6, 4)), np.array([
    0, 3, 1, 1, 2, 0])
Q, W = rng.dirichlet(np.ones(4), 6), np.array([1.0, 2.0, 0.5, 1.5])
LOG_P, SIGNS = np.log(Q[::-1]), np.where(rng.random((6, 4)) < 0.5, -1.0, 1.0)


def log_softmax(z):
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def nll(log_p, y):
    return -log_p[np.arange(6), y]


def huber(z, t, delta):
    d = abs(z - t)
    return np.where(d < delta, d**2 / 2, delta * (d - delta / 2))


def distance(x, y, p=2, eps=1e-6):
    return (abs(x - y + eps) ** p).sum(-1) ** (1 / p)


def bce(p, t):
    return -(t * np.log(p) + (1 - t) * np.log(1 - p))


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


LOSSES = {  # constructor: inputs, and the loss of each example or number, if defined here
    "CrossEntropyLoss()": ((Z, LABELS), lambda z, y: nll(log_softmax(z), y)),
    "CrossEntropyLoss(weight=W, ignore_index=1)": ((Z, LABELS), None),
    "CrossEntropyLoss(weight=W, label_smoothing=0.1)": ((Z, LABELS), None),
    "CrossEntropyLoss(label_smoothing=0)": ((Z, Q), lambda z, q: -(q * log_softmax(z)).sum(1)),
    "NLLLoss()": ((LOG_P, LABELS), nll), "NLLLoss(weight=W, ignore_index=3)": ((LOG_P, LABELS), None),
    "MSELoss()": ((Z, T), lambda z, t: (z - t) ** 2), "L1Loss()": ((Z, T), lambda z, t: abs(z - t)),
    "HuberLoss(delta=0.7)": ((Z, T), lambda z, t: huber(z, t, 0.7)),
    "SmoothL1Loss(beta=0.7)": ((Z, T), lambda z, t: huber(z, t, 0.7) / 0.7),
    "SmoothL1Loss(beta=0)": ((Z, T), lambda z, t: abs(z - t)),
    "BCELoss()": ((P, Q), bce), "BCELoss(weight=W)": ((P, Q), lambda p, t: W * bce(p, t)),
    "BCEWithLogitsLoss()": ((Z, Q), lambda z, t: bce(sigmoid(z), t)),
    "BCEWithLogitsLoss(weight=W, pos_weight=W)": ((Z, Q), None),
    "KLDivLoss()": ((LOG_P, Q), lambda z, q: q * (np.log(q) - z)),
    "KLDivLoss(log_target=True)": ((LOG_P, np.log(Q)), lambda z, q: np.exp(q) * (q - z)),
    "MarginRankingLoss()": ((Z, T, SIGNS), lambda a, b, y: np.maximum(0, -y * (a - b))),
    "MarginRankingLoss(margin=0.3)": ((Z, T, SIGNS), lambda a, b, y: np.maximum(0, 0.3 - y * (a - b))),
    "TripletMarginLoss()": ((Z, T, P), lambda a, p, n: np.maximum(0, distance(a, p) - distance(a, n) + 1)),
    "TripletMarginLoss(margin=9, p=3, eps=0.1, swap=True)": ((Z, T, P), lambda a, p, n: np.maximum(0, distance(
        a, p, 3, 0.1) - np.minimum(distance(a, n, 3, 0.1), distance(p, n, 3, 0.1)) + 9)),
    "GaussianNLLLoss()": ((Z, T, P), lambda z, t, v: (np.log(v) + (z - t) ** 2 / v) / 2),
    "GaussianNLLLoss(full=True, eps=0.25)": ((Z, T, P / 9), lambda z, t, v: (np.log(np.maximum(v, 0.25)) + (
        z - t) ** 2 / np.maximum(v, 0.25) + np.log(2 * np.pi)) / 2),
}
REDUCED = [(text, reduction) for text in LOSSES for reduction in ("mean", "sum", "none")] + [
    ("KLDivLoss()", "batchmean")]


def made(text, reduction, lib=nn, tensor=Tensor):
    return eval(text.replace("(", f"(reduction='{reduction}', "), {**vars(lib), "W": tensor(W)})


@pytest.mark.parametrize("text, reduction", REDUCED)
def test_losses_equal_their_definitions_and_have_right_gradients(text, reduction):
    inputs, definition = LOSSES[text]
    loss, reals = made(text, reduction), [x for x in inputs if x.dtype.kind == "f" and x is not SIGNS]
    if definition is not None:
        expected = definition(*inputs)
        expected = {"mean": np.mean, "sum": np.sum, "none": np.asarray, "batchmean": lambda x: x.sum() / 6}[reduction](
            expected)
        np.testing.assert_allclose(loss(*map(Tensor, inputs)).numpy(), expected, rtol=1e-9, atol=1e-11)
    given = [Tensor(x) for x in inputs]

    def f(*xs):
        found = iter(xs)
        return loss(*[next(found) if any(x is r for r in reals) else t for x, t in zip(inputs, given, strict=True)])

    if text.startswith(("Margin", "Triplet", "GaussianNLLLoss()")):
        assert gradcheck(f, *reals) and gradgradcheck(f, *reals)
    else:
        assert gradcheck(lambda x: loss(x, *given[1:]), inputs[0])


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides:UserWarning")  # of KLDivLoss, in PyTorch
@pytest.mark.parametrize("text, reduction", REDUCED)
def test_each_loss_equals_pytorchs(text, reduction):
    torch = pytest.importorskip("torch")
    found = []
    for lib, tensor in (nn, Tensor), (torch.nn, torch.tensor):
        x = tensor(LOSSES[text][0][0], requires_grad=True)
        y = made(text, reduction, lib, tensor)(x, *map(tensor, LOSSES[text][0][1:]))
        (y * y).sum().backward()
        found.append((y.detach(), x.grad))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-12)


def test_the_gradient_of_cross_entropy_is_p_minus_y():
    z = Tensor(Z, requires_grad=True)
    nn.CrossEntropyLoss(reduction="sum")(z, Tensor(LABELS)).backward()
    np.testing.assert_allclose(z.grad.numpy(), np.exp(log_softmax(Z)) - np.eye(4)[LABELS])


def test_a_triplet_of_equal_tensors_has_the_margin_as_loss():
    assert F.triplet_margin_loss(*[Tensor(Z)] * 3, eps=0.5).item() == pytest.approx(1)


def test_the_state_of_a_loss_holds_its_weights():
    loss = nn.CrossEntropyLoss(W)
    assert list(loss.state_dict()) == ["weight"] and not list(loss.parameters())
    assert list(nn.BCEWithLogitsLoss().state_dict()) == []
    assert list(nn.BCEWithLogitsLoss(pos_weight=[2.0]).state_dict()) == ["pos_weight"]


@pytest.mark.needs("compat")
@pytest.mark.parametrize("name", sorted({text.partition("(")[0] for text in LOSSES}))
def test_constructors_refuse_unknown_reductions_and_options(name):
    with pytest.raises(ValueError, match=f'{name}: reduction must be "mean", "sum" or "none", got "?\'?avg'):
        getattr(nn, name)(reduction="avg")
    with pytest.raises(TypeError, match=f"{name}: unknown argument 'sizes'; it takes "):
        getattr(nn, name)(sizes=1)


def test_losses_refuse_bad_arguments():
    with pytest.raises(ValueError, match=r"label_smoothing must lie in \[0, 1\], got 2"):
        nn.CrossEntropyLoss(label_smoothing=2)
    for name in "margin_ranking_loss", "triplet_margin_loss", "gaussian_nll_loss":
        with pytest.raises(ValueError, match=f'^{name}: reduction must be "mean", "sum" or "none", got \'max\''):
            getattr(F, name)(*[Tensor([1.0])] * 3, reduction="max")
