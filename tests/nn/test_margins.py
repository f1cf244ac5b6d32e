"""Losses of margins and of normal numbers, against their definitions."""

import numpy as np
import pytest

import nn
import nn.functional as F
from tinygrad_like import Tensor
from tinygrad_like.transforms.gradcheck import gradcheck, gradgradcheck

rng = np.random.default_rng(0)


def real(*shape):
    return rng.standard_normal(shape)


SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
# module, its settings, the Tensors that get gradients, targets that get none and where they stand
LOSSES = {
    "MarginRankingLoss": ({"margin": 0.3}, [real(4), real(4)], SIGNS, 2),
    "TripletMarginLoss": ({"swap": True}, [real(4, 5), real(4, 5), real(4, 5)], None, 0),
    "GaussianNLLLoss": ({"full": True}, [real(4, 2), real(4, 2), abs(real(4, 2)) + 0.1], None, 0),
}


def hinge(x):
    return max(0, x)


def distance(x, y, p=2, eps=1e-6):
    return (abs(x - y + eps) ** p).sum() ** (1 / p)


A, B, C = real(4, 5), real(4, 5), real(4, 5)
ROWS = [0, 1, 2, 3]
# what is computed, and what it is of each example by its definition
DEFINITIONS = {
    "margin_ranking": (lambda f: f(A[0, :4], B[0, :4], SIGNS, margin=0.3),
                       lambda i: hinge(0.3 - SIGNS[i] * (A[0, i] - B[0, i]))),
    "margin_ranking, no margin": (lambda f: f(A[0, :4], B[0, :4], SIGNS),
                                  lambda i: hinge(-SIGNS[i] * (A[0, i] - B[0, i]))),
    "triplet_margin": (lambda f: f(A, B, C), lambda i: hinge(distance(A[i], B[i]) - distance(A[i], C[i]) + 1)),
    "triplet_margin, swapped": (lambda f: f(A, B, C, margin=9, p=3, eps=0.1, swap=True), lambda i: hinge(
        distance(A[i], B[i], 3, 0.1) - min(distance(A[i], C[i], 3, 0.1), distance(B[i], C[i], 3, 0.1)) + 9)),
    "triplet_margin, of what is equal": (lambda f: f(A, A, A, eps=0.5), lambda i: 1),
    "gaussian_nll": (lambda f: f(A[0, :4], B[0, :4], abs(C[0, :4])),
                     lambda i: 0.5 * (np.log(abs(C[0, i])) + (A[0, i] - B[0, i]) ** 2 / abs(C[0, i]))),
    "gaussian_nll, whole": (lambda f: f(A[0, :4], B[0, :4], np.zeros(4), full=True, eps=0.25), lambda i: (
        0.5 * (np.log(0.25) + (A[0, i] - B[0, i]) ** 2 / 0.25 + np.log(2 * np.pi)))),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_losses_are_their_definitions(name):
    called, one = DEFINITIONS[name]

    def f(*inputs, **options):
        inputs = [Tensor(x) if isinstance(x, np.ndarray) else x for x in inputs]
        return getattr(F, name.split(",")[0] + "_loss")(*inputs, **options).numpy()

    expected = np.array([one(i) for i in ROWS], float)
    np.testing.assert_allclose(called(lambda *a, **o: f(*a, **o, reduction="none")), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(called(lambda *a, **o: f(*a, **o, reduction="sum")), expected.sum(), rtol=1e-9)
    np.testing.assert_allclose(called(f), expected.mean(), rtol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_losses(name):
    settings, inputs, target, at = LOSSES[name]

    def f(*xs):
        given = list(xs)
        if target is not None:
            given.insert(at, Tensor(target))
        return getattr(nn, name)(**settings, reduction="none")(*given)

    assert gradcheck(f, *inputs) and gradgradcheck(f, *inputs)


def test_what_losses_refuse():
    with pytest.raises(TypeError, match="MarginRankingLoss: unknown argument 'size'; it takes margin, reduction"):
        nn.MarginRankingLoss(size=1)
    with pytest.raises(ValueError, match="reduction"):
        nn.TripletMarginLoss(reduction="max")
    for name in {name.split(",")[0] + "_loss" for name in DEFINITIONS}:
        with pytest.raises(ValueError, match=f'^{name}: reduction must be "mean", "sum" or "none", got \'max\''):
            getattr(F, name)(*[Tensor([1.0])] * 3, reduction="max")
