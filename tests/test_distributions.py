"""Distributions: densities that integrate to 1, samples that have them, gradients, and PyTorch's numbers."""

import math

import numpy as np
import pytest

from tinygrad_like import Tensor, distributions, gradcheck, manual_seed
from tinygrad_like.distributions import (
    Bernoulli,
    Categorical,
    Independent,
    MultivariateNormal,
    Normal,
    Uniform,
    kl_divergence,
)

RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


SCALES, PROBS, MATRIX = np.exp(real(2, 3)), RNG.uniform(0.1, 0.9, (2, 3)).astype(np.float32), real(3, 3)
COVARIANCE = MATRIX @ MATRIX.T + np.eye(3, dtype=np.float32)
TRIL = np.linalg.cholesky(COVARIANCE)
# name -> (class, parameters, values to ask for)
CASES = {
    "normal": ("Normal", dict(loc=real(3), scale=SCALES), real(2, 3)),
    "uniform": ("Uniform", dict(low=real(3), high=real(3) + 6), np.full(3, 2.5, np.float32)),
    "bernoulli": ("Bernoulli", dict(probs=PROBS), np.array([0, 1, 1], np.float32)),
    "bernoulli logits": ("Bernoulli", dict(logits=real(2, 3)), np.array([0, 1, 1], np.float32)),
    "categorical": ("Categorical", dict(probs=PROBS), np.array([0, 2])),
    "categorical logits": ("Categorical", dict(logits=real(4, 2, 3)), np.array([0, 2])),
    "multivariate": ("MultivariateNormal", dict(loc=real(2, 3), scale_tril=TRIL), real(5, 2, 3)),
    "multivariate covariance": ("MultivariateNormal", dict(loc=real(3), covariance_matrix=COVARIANCE), real(2, 3)),
    "multivariate precision": ("MultivariateNormal", dict(loc=real(3), precision_matrix=COVARIANCE), real(2, 3)),
}
CASES = {name: pytest.param(*case, id=name) for name, case in CASES.items()}


def test_by_hand():
    assert Normal(0.0, 2.0).log_prob(2.0).item() == pytest.approx(-0.5 - math.log(2) - 0.5 * math.log(2 * math.pi))
    assert Normal(1.0, 2.0).cdf(1.0).item() == 0.5 and Normal(0, 1).stddev.item() == 1
    outside = Uniform(1.0, 3.0, validate_args=False)
    assert outside.log_prob(Tensor([0.0, 1.0, 2.0, 3.0])).exp().tolist() == [0, 0.5, 0.5, 0]
    assert Uniform(1.0, 3.0).cdf(Tensor([0.0, 1.5, 4.0])).tolist() == [0, 0.25, 1]
    assert Bernoulli(0.25).log_prob(Tensor([0.0, 1.0])).exp().tolist() == pytest.approx([0.75, 0.25])
    assert Categorical(Tensor([1.0, 3.0])).log_prob(1).exp().item() == pytest.approx(0.75)
    assert Categorical(Tensor([1.0, 1.0, 0.0, 0.0])).entropy().item() == pytest.approx(math.log(2))
    assert kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0)).item() == pytest.approx(0.5)


@pytest.mark.parametrize("name, parameters, value", CASES.values())
def test_samples(name, parameters, value):
    manual_seed(0)
    d = getattr(distributions, name)(**{k: Tensor(v, requires_grad=True) for k, v in parameters.items()})
    x = d.sample((20000,))
    assert x.shape == (20000, *d.batch_shape, *d.event_shape) and not x.requires_grad
    assert d.sample().shape == d.batch_shape + d.event_shape and d.sample([2, 3]).shape[:2] == (2, 3)
    if name == "Categorical":
        for i in range(d.probs.shape[-1]):
            np.testing.assert_allclose((x == i).float().mean(0).numpy(), d.probs.detach().numpy()[..., i], atol=0.02)
    else:
        spread = d.stddev.detach().numpy()
        np.testing.assert_allclose((x.mean(0) - d.mean.detach()).numpy() / spread, 0, atol=0.03)
        np.testing.assert_allclose(x.std(0).numpy() / spread, 1, atol=0.03)
    # E[-log p] is the entropy
    surprise = -d.log_prob(x).mean(0).detach().numpy()
    np.testing.assert_allclose(surprise, d.entropy().detach().numpy(), atol=0.05)


@pytest.mark.parametrize("name, parameters, value", CASES.values())
def test_gradients(name, parameters, value):
    cls, names = getattr(distributions, name), list(parameters)
    value = Tensor(value) if value.dtype == np.int64 else Tensor(value.astype(np.float64))

    def densities(*given):
        if name == "MultivariateNormal":  # as the matrix stays symmetric or triangular
            given = (given[0], {"scale_tril": given[1].tril()}.get(names[1], (given[1] + given[1].mT) / 2))
        d = cls(**dict(zip(names, given, strict=True)))
        return d.log_prob(value).sum() + d.entropy().sum()

    assert gradcheck(densities, *[v.astype(np.float64) for v in parameters.values()])


@pytest.mark.parametrize("make", [
    lambda a, b: Normal(a, b.exp()), lambda a, b: Bernoulli(logits=a + b), lambda a, b: Categorical(logits=a + b),
    lambda a, b: Independent(Normal(a, b.exp()), 1),
    lambda a, b: MultivariateNormal(a, scale_tril=(b.unsqueeze(-1) * 0.1 + Tensor(TRIL)).tril()),
])
def test_divergences_are_averages_over_samples(make):
    manual_seed(0)
    p = make(Tensor([0.1, -0.4, 0.3]), Tensor([0.2, 0.1, -0.1]))
    q = make(Tensor([-0.3, 0.2, 0.1]), Tensor([0.3, 0.4, 0.2]))
    x = p.sample((40000,))
    average = (p.log_prob(x) - q.log_prob(x)).mean(0).numpy()
    np.testing.assert_allclose(kl_divergence(p, q).numpy(), average, atol=0.03)
    np.testing.assert_allclose(kl_divergence(p, p).numpy(), 0, atol=1e-5)


def test_uniform_divergence():
    assert kl_divergence(Uniform(0.0, 1.0), Uniform(-1.0, 1.0)).item() == pytest.approx(math.log(2))
    assert kl_divergence(Uniform(0.0, 3.0), Uniform(-1.0, 1.0)).item() == math.inf


def test_reparametrized_samples_are_differentiable():
    manual_seed(0)
    loc, scale = Tensor([1.0, 2.0], requires_grad=True), Tensor([0.5, 3.0], requires_grad=True)
    x = Normal(loc, scale).rsample((3,))
    x.sum().backward()
    assert loc.grad.tolist() == [3, 3]
    np.testing.assert_allclose(scale.grad.numpy(), ((x - loc) / scale).detach().sum(0).numpy(), rtol=1e-5)
    assert Uniform(loc, scale + 5).rsample().requires_grad and Normal.has_rsample and not Bernoulli.has_rsample


def test_independent():
    base = Normal(Tensor.zeros(4, 3), Tensor.ones(4, 3))
    d = Independent(base, 1)
    assert (d.batch_shape, d.event_shape) == ((4,), (3,)) and d.sample((2,)).shape == (2, 4, 3)
    x = Tensor.randn(4, 3)
    np.testing.assert_allclose(d.log_prob(x).numpy(), base.log_prob(x).numpy().sum(-1), rtol=1e-6)
    assert d.entropy().shape == (4,) and d.mean.shape == (4, 3)
    with pytest.raises(ValueError, match="3 axes of batch shape"):
        Independent(base, 3)


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: Normal(0.0, -1.0), ValueError, "Normal: scale must be positive"),
    (lambda: Normal(Tensor.zeros(2), Tensor.ones(3)), ValueError,
     r"Normal: loc \(2,\) and scale \(3,\) do not broadcast"),
    (lambda: Uniform(1.0, 1.0), ValueError, "Uniform: low must be below high"),
    (lambda: Bernoulli(), ValueError, "Bernoulli: give either probs or logits"),
    (lambda: Bernoulli(1.5), ValueError, r"Bernoulli: probs must lie in \[0, 1\]"),
    (lambda: Categorical(Tensor([0.0, 0.0])), ValueError, "Categorical: probs must not all be 0"),
    (lambda: Categorical(Tensor([0.5, -0.5])), ValueError, "Categorical: probs must not be negative"),
    (lambda: Categorical(0.5), ValueError, "Categorical: needs an axis of categories"),
    (lambda: Categorical(Tensor([0.5, 0.5])).log_prob(2), ValueError,
     r"Categorical.log_prob: a value lies outside the support, IntegerInterval\(lower_bound=0, upper_bound=1\), as 2"),
    (lambda: Categorical(Tensor([0.5, 0.5]), validate_args=False).log_prob(2), IndexError, "index 2 is out of range"),
    (lambda: MultivariateNormal(Tensor.zeros(2)), ValueError, "give one of covariance_matrix"),
    (lambda: MultivariateNormal(Tensor.zeros(2), scale_tril=Tensor.ones(3, 3)), ValueError, "needs a matrix of shape"),
    (lambda: MultivariateNormal(Tensor.zeros(2), scale_tril=Tensor.zeros(2, 2)), ValueError, "diagonal .* positive"),
    (lambda: Bernoulli(0.5).rsample(), NotImplementedError, "Bernoulli has no rsample"),
    (lambda: Categorical(Tensor([1.0])).icdf(0.5), NotImplementedError, "Categorical has no icdf"),
    (lambda: kl_divergence(Normal(0, 1), Uniform(0, 1)), NotImplementedError, "no formula for Normal and Uniform"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.torch
@pytest.mark.parametrize("name, parameters, value", CASES.values())
def test_values_are_pytorchs(name, parameters, value):
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.distributions, name)(**{k: torch.tensor(v) for k, v in parameters.items()})
    ours = getattr(distributions, name)(**{k: Tensor(v) for k, v in parameters.items()})
    assert tuple(theirs.batch_shape) == ours.batch_shape and tuple(theirs.event_shape) == ours.event_shape
    pairs = [(theirs.log_prob(torch.tensor(value)), ours.log_prob(Tensor(value))), (theirs.entropy(), ours.entropy())]
    if name != "Categorical":
        pairs += [(theirs.mean, ours.mean), (theirs.variance, ours.variance)]
    for a, b in pairs:
        assert tuple(a.shape) == b.shape
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=3e-5, atol=2e-5)
