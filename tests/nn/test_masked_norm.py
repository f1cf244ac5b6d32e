"""Batch norm of what counts only: a mask for padding, and statistics of several micro-batches."""

import copy

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, manual_seed, no_grad
from tinygrad_like.transforms.gradcheck import gradcheck, gradgradcheck

rng = np.random.default_rng(0)
MASKS = {"rows": ((6, 3), rng.random(6) < 0.6), "signals": ((4, 3, 7), np.arange(7) < np.array([[7], [2], [0], [5]]))}


def made(double=False):
    norm = nn.BatchNorm1d(3)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias)
    return norm.double() if double else norm


@pytest.mark.parametrize("name", MASKS)
def test_a_masked_norm_is_the_norm_of_what_is_there(name):
    shape, mask = MASKS[name]
    x = rng.standard_normal(shape).astype(np.float32)
    x = np.where(mask[:, None], x, 1e6)  # what stands in the padding
    alone = np.moveaxis(x, 1, -1)[mask]  # (count, channels)
    masked, plain = made(), None
    plain = copy.deepcopy(masked)
    for _ in range(3):
        y = masked(Tensor(x), Tensor(mask)).detach().numpy()
        expected = plain(Tensor(alone)).detach().numpy()
    np.testing.assert_allclose(np.moveaxis(y, 1, -1)[mask], expected, rtol=1e-4, atol=1e-5)
    assert not np.moveaxis(y, 1, -1)[~mask].any()
    for a, b in zip(masked.buffers(), plain.buffers(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)
    masked.eval(), plain.eval()
    y = masked(Tensor(x), Tensor(mask)).detach().numpy()
    np.testing.assert_allclose(np.moveaxis(y, 1, -1)[mask], plain(Tensor(alone)).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert not np.moveaxis(y, 1, -1)[~mask].any()
    everything = masked.train()(Tensor(alone), Tensor(np.ones(len(alone), bool)))
    np.testing.assert_allclose(everything.data, plain.train()(Tensor(alone)).data, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MASKS)
def test_its_gradient(name):
    shape, mask = MASKS[name]
    norm, x = made(double=True), rng.standard_normal(shape)

    def run(x, weight, bias):
        return nn.functional_call(norm, {"weight": weight, "bias": bias}, x, Tensor(mask))

    assert gradcheck(run, x, norm.weight, norm.bias) and gradgradcheck(run, x, norm.weight, norm.bias)
    leaf = Tensor(x, requires_grad=True)
    (norm(leaf, Tensor(mask)) ** 2 * Tensor(rng.random(shape))).sum().backward()
    assert not np.moveaxis(leaf.grad.numpy(), 1, -1)[~mask].any()


def test_a_mask_that_does_not_fit():
    norm, x = made(), Tensor.ones(4, 3, 7)
    for mask in (Tensor(np.ones((4, 3, 7), bool)), Tensor.ones(4, 7), np.ones(4, bool)):
        with pytest.raises(ValueError, match=r"BatchNorm1d: the mask must be a bool Tensor of shape \(4, 7\), "):
            norm(x, mask)
    with pytest.raises(ValueError, match="more than 1 value per channel .* the mask leaves 1"):
        norm(Tensor.ones(4, 3), Tensor([True, False, False, False]))


# Micro-batches --------------------------------------------------------------------------------------------------------


def net():
    manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8),
                         nn.BatchNorm1d(8, affine=False), nn.Tanh(), nn.Linear(8, 2))


X = rng.standard_normal((64, 4)).astype(np.float32)
PARTS = [Tensor(X[i:i + 16]) for i in range(0, 64, 16)]


@pytest.mark.parametrize(("sweeps", "atol"), [(1, 0.15), (2, 1e-5)])
def test_pooled_statistics_are_those_of_the_whole_batch(sweeps, atol):
    """Exact for the second norm after the second sweep; without pooling the outputs differ by more than 0.3."""
    whole, parts = net(), net()
    expected = whole(Tensor(X)).detach().numpy()
    with nn.pooled_batch_norm(parts, PARTS, sweeps=sweeps):
        found = np.concatenate([parts(x).detach().numpy() for x in PARTS])
    assert np.abs(found - expected).max() < atol
    for a, b in zip(whole.buffers(), parts.buffers(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5 if sweeps == 2 else 0.1, atol=1e-2 if sweeps == 1
                                   else 1e-6)
    unpooled = np.concatenate([parts(x).detach().numpy() for x in PARTS])
    assert np.abs(unpooled - expected).max() > 0.3 and parts[1].pool is None


def test_the_gradient_is_an_estimate_of_that_of_the_whole_batch():
    """Nearer to it than without pooling; equal to it, if the micro-batches are alike."""
    def gradient(model, batches, pooled, x=X):
        y = np.sin(3 * x[:, :2])
        model.zero_grad()
        context = nn.pooled_batch_norm(model, batches, sweeps=2) if pooled else no_grad.__class__
        if pooled:
            with context:
                accumulate(model, batches, y)
        else:
            accumulate(model, batches, y)
        return np.concatenate([p.grad.numpy().ravel() for p in model.parameters()])

    def accumulate(model, batches, y):
        start = 0
        for x in batches:
            target = Tensor(y[start:start + len(x)])
            (((model(x) - target) ** 2).sum() / len(y)).backward()
            start += len(x)

    exact = gradient(net(), [Tensor(X)], False)
    error = {pooled: np.linalg.norm(gradient(net(), PARTS, pooled) - exact) for pooled in (False, True)}
    assert error[True] < 0.7 * error[False]
    alike = np.concatenate([X[:16]] * 4)
    parts = [Tensor(alike[i:i + 16]) for i in range(0, 64, 16)]
    np.testing.assert_allclose(gradient(net(), parts, True, alike), gradient(net(), [Tensor(alike)], False, alike),
                               rtol=1e-3, atol=1e-5)


def test_random_numbers_are_the_same_in_the_sweeps():
    model = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(4))
    manual_seed(1)
    with nn.pooled_batch_norm(model, PARTS):
        y = np.concatenate([model(x).detach().numpy() for x in PARTS])
    np.testing.assert_allclose(y.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(y.std(0), 1, atol=1e-3)


def test_what_cannot_be_pooled():
    with pytest.raises(ValueError, match="pooled_batch_norm: this Linear has no BatchNorm"), \
            nn.pooled_batch_norm(nn.Linear(3, 3), PARTS):
        pass
    with pytest.raises(ValueError, match="pooled_batch_norm: no BatchNorm of this model is in training"), \
            nn.pooled_batch_norm(net().eval(), PARTS):
        pass
    with pytest.raises(ValueError, match="pooled_batch_norm: there are no batches"), nn.pooled_batch_norm(net(), []):
        pass
