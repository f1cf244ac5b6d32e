"""Losses of margins and distributions, and images read at computed places, against PyTorch."""

import numpy as np
import pytest

import nn
import nn.functional as F
from tinygrad_like import Tensor
from tinygrad_like.gradcheck import gradcheck, gradgradcheck

rng = np.random.default_rng(0)


def real(*shape):
    return rng.standard_normal(shape)


SIGNS, LABELS = np.array([1.0, -1.0, 1.0, -1.0]), np.array([0, 2, 1, 2])
# module, its settings, the Tensors that get gradients, targets that get none and where they stand
LOSSES = {
    "MarginRankingLoss": ({"margin": 0.3}, [real(4), real(4)], SIGNS, 2),
    "HingeEmbeddingLoss": ({"margin": 0.7}, [abs(real(4))], SIGNS, 1),
    "SoftMarginLoss": ({}, [real(4)], SIGNS, 1),
    "MultiLabelSoftMarginLoss": ({}, [real(4, 3)], (real(4, 3) > 0) * 1.0, 1),
    "MultiMarginLoss": ({"p": 2, "margin": 0.8}, [real(4, 3)], LABELS, 1),
    "CosineEmbeddingLoss": ({"margin": 0.1}, [real(4, 5), real(4, 5)], SIGNS, 2),
    "TripletMarginLoss": ({"swap": True}, [real(4, 5), real(4, 5), real(4, 5)], None, 0),
    "GaussianNLLLoss": ({"full": True}, [real(4, 2), real(4, 2), abs(real(4, 2)) + 0.1], None, 0),
    "PoissonNLLLoss": ({"full": True}, [real(4)], np.array([0.0, 1.0, 3.0, 2.0]), 1),
}


@pytest.mark.torch
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_pytorchs(name, reduction):
    import torch

    settings, inputs, target, at = LOSSES[name]
    results = []
    for library, make in ((nn, lambda x: Tensor(x, requires_grad=True)),
                          (torch.nn, lambda x: torch.tensor(x, requires_grad=True))):
        xs = [make(x) for x in inputs]
        given = list(xs)
        if target is not None:
            given.insert(at, Tensor(target) if library is nn else torch.tensor(target))
        y = getattr(library, name)(**settings, reduction=reduction)(*given)
        y.sum().backward()
        results.append([y.detach().numpy(), *[x.grad.numpy() for x in xs]])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


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
    with pytest.raises(TypeError, match="MarginRankingLoss: size where it takes margin, reduction"):
        nn.MarginRankingLoss(size=1)
    with pytest.raises(ValueError, match="reduction"):
        nn.TripletMarginLoss(reduction="max")
    with pytest.raises(ValueError, match="p is 1 or 2"):
        nn.MultiMarginLoss(p=3)(Tensor(real(4, 3)), Tensor(LABELS))


GRIDS = [(mode, padding, corners) for mode in ("bilinear", "nearest") for padding in ("zeros", "border", "reflection")
         for corners in (False, True)]


@pytest.mark.torch
@pytest.mark.parametrize(("mode", "padding", "corners"), GRIDS)
def test_images_read_at_places(mode, padding, corners):
    import torch

    image, theta = real(2, 3, 5, 7), np.array([[[1.3, 0.2, -0.4], [0.1, 0.9, 0.3]], [[-0.6, 2.0, 0], [1, 0.1, 0.5]]])
    results = []
    for library, make in ((F, lambda x: Tensor(x, requires_grad=True)),
                          (torch.nn.functional, lambda x: torch.tensor(x, requires_grad=True))):
        x, t = make(image), make(theta)
        grid = library.affine_grid(t, (2, 3, 4, 6), align_corners=corners)
        y = library.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=corners)
        (y * y).sum().backward()
        slope = np.zeros(theta.shape) if t.grad is None else t.grad.numpy()
        results.append([grid.detach().numpy(), y.detach().numpy(), x.grad.numpy(), slope])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_gradients_of_reading(padding):
    grid = rng.uniform(-1.3, 1.3, (2, 3, 2, 2))

    def f(x, grid):
        return F.grid_sample(x, grid, padding_mode=padding)

    assert gradcheck(f, real(2, 2, 3, 4), grid) and gradgradcheck(f, real(2, 2, 3, 4), grid)


def test_what_reading_refuses():
    x = Tensor(real(2, 3, 5, 7))
    with pytest.raises(ValueError, match="a grid \\(batch, h, w, 2\\), got shapes"):
        F.grid_sample(x, Tensor(real(2, 4, 4, 3)))
    with pytest.raises(ValueError, match="mode is bilinear or nearest"):
        F.grid_sample(x, Tensor(real(2, 4, 4, 2)), mode="bicubic")
    with pytest.raises(ValueError, match="theta is \\(batch, 2, 3\\)"):
        F.affine_grid(Tensor(real(2, 3, 3)), (2, 3, 4, 4))
