"""Distributions: samples, gradients and constraints, also against PyTorch."""

import math

import numpy as np
import pytest

from tinygrad_like import Tensor, capture, gradcheck, manual_seed
from tinygrad_like import distributions as D
from tinygrad_like.distributions import constraints

RNG = np.random.default_rng(0)
A, B, X = RNG.uniform(0.8, 3, (3, 4))
COUNTS = np.array([0.0, 1, 2, 5])
MATRIX = RNG.standard_normal((3, 3))
COVARIANCE, V = MATRIX @ MATRIX.T + np.eye(3), RNG.standard_normal((5, 2, 3))
# name -> class, parameters, a value, and for distributions of one number an interval with nearly all density
CASES = {
    "Normal": (dict(loc=A, scale=B), X, (-40, 40)), "Uniform": (dict(low=-A, high=B), X - 0.8, (-4, 4)),
    "Bernoulli": (dict(probs=A / 4), COUNTS > 1, range(2)),
    "Bernoulli of logits": (dict(logits=X - 2), COUNTS > 1, range(2)),
    "Categorical": (dict(probs=np.stack([A, B, X])), np.array([0, 2, 3]), None),
    "Categorical of logits": (dict(logits=V), np.array([0, 2]), None),
    "MultivariateNormal": (dict(loc=V[0], scale_tril=np.linalg.cholesky(COVARIANCE)), V, None),
    "MultivariateNormal of covariance": (dict(loc=V[0, 0], covariance_matrix=COVARIANCE), V, None),
    "MultivariateNormal of precision": (dict(loc=V[0, 0], precision_matrix=COVARIANCE), V, None),
}
CASES = {name: pytest.param(name.split()[0], parameters, np.asarray(value, int if "Cat" in name else float), support,
                            id=name) for name, (parameters, value, support) in CASES.items()}
every_case = pytest.mark.parametrize("name, parameters, value, support", CASES.values())


def made(name, parameters, **options):
    return getattr(D, name)(**{k: Tensor(p, **options) for k, p in parameters.items()})


def found(d, names):
    """The names, with their values, that the distribution has."""
    for name in names.split():
        try:
            x = getattr(d, name)
            yield name, x() if callable(x) else x
        except NotImplementedError:
            pass


def test_values_equal_those_computed_by_hand():
    assert D.Normal(0.0, 2.0).log_prob(2.0).item() == pytest.approx(-0.5 - math.log(2) - 0.5 * math.log(2 * math.pi))
    assert D.Normal(1.0, 2.0).cdf(1.0).item() == 0.5 and D.Normal(0, 1).stddev.item() == 1
    outside = D.Uniform(1.0, 3.0, validate_args=False)
    assert outside.log_prob(Tensor([0.0, 1.0, 2.0, 3.0])).exp().tolist() == [0, 0.5, 0.5, 0]
    assert D.Uniform(1.0, 3.0).cdf(Tensor([0.0, 1.5, 4.0])).tolist() == [0, 0.25, 1]
    assert D.Categorical(Tensor([1.0, 3.0])).log_prob(1).exp().item() == pytest.approx(0.75)
    assert D.Categorical(Tensor([1.0, 1.0, 0.0, 0.0])).entropy().item() == pytest.approx(math.log(2))
    assert D.kl_divergence(D.Uniform(0.0, 1.0), D.Uniform(-1.0, 1.0)).item() == pytest.approx(math.log(2))
    assert D.kl_divergence(D.Uniform(0.0, 3.0), D.Uniform(-1.0, 1.0)).item() == math.inf


@every_case
def test_samples_have_the_distributions_support_moments_and_entropy(name, parameters, value, support):
    manual_seed(0)
    d = made(name, parameters, requires_grad=True)
    x = d.sample((20_000,))
    assert x.shape == (20_000, *d.batch_shape, *d.event_shape) and not x.requires_grad
    assert d.sample().shape == d.batch_shape + d.event_shape and d.sample([2, 3]).shape[:2] == (2, 3)
    assert d.support.check(x).all() and d.expand((2, *d.batch_shape)).sample().shape[0] == 2
    if name == "Categorical":
        for i in range(d.probs.shape[-1]):
            np.testing.assert_allclose((x == i).float().mean(0).numpy(), d.probs.detach().numpy()[..., i], atol=0.02)
    else:
        spread = d.stddev.detach().numpy()
        np.testing.assert_allclose((x.mean(0) - d.mean.detach()).numpy() / spread, 0, atol=0.03)
        np.testing.assert_allclose(x.std(0).numpy() / spread, 1, atol=0.04)
    surprise = -d.log_prob(x).mean(0).detach().numpy()
    for _, entropy in found(d, "entropy"):
        np.testing.assert_allclose(surprise, entropy.detach().numpy(), atol=0.05)


@every_case
def test_gradients_of_log_prob_and_entropy_are_right(name, parameters, value, support):
    varied = list(parameters)

    def density(*given):
        if name == "MultivariateNormal":  # keeps the matrix symmetric or triangular
            given = (given[0], given[1].tril() if "scale_tril" in varied else (given[1] + given[1].mT) / 2)
        now = {n: Tensor(p) for n, p in parameters.items()} | dict(zip(varied, given, strict=True))
        d = getattr(D, name)(**now)
        return d.log_prob(Tensor(value)).sum() + sum(x.sum() for _, x in found(d, "entropy"))

    assert gradcheck(density, *[parameters[n] for n in varied])


@every_case
def test_divergences_equal_averages_over_samples(name, parameters, value, support):
    manual_seed(0)
    p = made(name, parameters)
    q = made(name, {n: v * 1.2 for n, v in parameters.items()})
    x = p.sample((40_000,))
    average = (p.log_prob(x) - q.log_prob(x)).mean(0).numpy()
    kl = D.kl_divergence(p, q)
    np.testing.assert_allclose(kl.numpy(), average, atol=0.03)
    np.testing.assert_allclose(D.kl_divergence(p, p).numpy(), 0, atol=1e-5)
    if p.batch_shape:
        whole = D.kl_divergence(D.Independent(p, 1), D.Independent(q, 1))
        np.testing.assert_allclose(whole.numpy(), kl.sum(-1).numpy())


def test_reparametrized_samples_are_differentiable():
    manual_seed(0)
    loc, scale = Tensor([1.0, 2.0], requires_grad=True), Tensor([0.5, 3.0], requires_grad=True)
    x = D.Normal(loc, scale).rsample((3,))
    x.sum().backward()
    assert loc.grad.tolist() == [3, 3]
    np.testing.assert_allclose(scale.grad.numpy(), ((x - loc) / scale).detach().sum(0).numpy(), rtol=1e-5)
    assert D.Uniform(loc, scale + 5).rsample().requires_grad
    assert D.Normal.has_rsample and not D.Bernoulli.has_rsample


def test_independent_sums_over_its_axes():
    base = D.Normal(Tensor.zeros(4, 3), Tensor.ones(4, 3))
    d = D.Independent(base, 1)
    assert (d.batch_shape, d.event_shape) == ((4,), (3,)) and d.sample((2,)).shape == (2, 4, 3)
    x = Tensor.randn(4, 3)
    np.testing.assert_allclose(d.log_prob(x).numpy(), base.log_prob(x).numpy().sum(-1), rtol=1e-6)
    assert d.entropy().shape == (4,) and d.mean.shape == (4, 3) and d.support.event_dim == 1


CONSTRAINTS = {  # PyTorch's names or calls -> values to check
    "boolean": [0.0, 1.0, 0.5, -1.0], "real": [0.0, np.inf, np.nan], "positive": [0.0, 1.0, -1.0, np.nan],
    "unit_interval": [0.0, 1.0, 0.5, 1.1, -0.1], "greater_than(2.0)": [1.0, 2.0, 3.0],
    "less_than(2.0)": [1.0, 2.0, 3.0],
    "interval(-1.0, 2.0)": [-2.0, -1.0, 2.0, 3.0], "integer_interval(1, 3)": [0.0, 1.0, 2.5, 3.0, 4.0],
    "real_vector": [[1.0, 2.0], [np.nan, 0.0]], "simplex": [[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]],
    "independent(c.positive, 2)": [[[1.0, 2.0]], [[1.0, -2.0]]],
    "lower_cholesky": [[[1.0, 0.0], [3.0, 4.0]], [[1.0, 0.0], [3.0, -4.0]], [[1.0, 1.0], [3.0, 4.0]]],
    "positive_definite": [[[1.0, 2.0], [2.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]], [[2.0, 1.0], [0.0, 2.0]]],
}


@pytest.mark.torch
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_equal_pytorchs(name):
    torch = pytest.importorskip("torch")
    ours, theirs = (eval(f"c.{name}", {"c": c}) for c in (constraints, torch.distributions.constraints))
    for value in CONSTRAINTS[name]:  # one by one: in PyTorch an asymmetric matrix spoils the others
        assert ours.check(Tensor(np.array(value))).item() == theirs.check(torch.tensor(value)).item()
    held = ours.check(Tensor(np.array(CONSTRAINTS[name])))
    assert held.dtype == "bool" and held.tolist() == [ours.check(np.array(v)).item() for v in CONSTRAINTS[name]]
    assert (ours.event_dim, ours.is_discrete) == (theirs.event_dim, theirs.is_discrete)


@pytest.mark.torch
@every_case
def test_values_and_supports_equal_pytorchs(name, parameters, value, support):
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.distributions, name)(**{k: torch.tensor(v) for k, v in parameters.items()})
    ours = made(name, parameters)
    assert tuple(theirs.batch_shape) == ours.batch_shape and tuple(theirs.event_shape) == ours.event_shape
    assert theirs.has_rsample == ours.has_rsample and theirs.arg_constraints.keys() == ours.arg_constraints.keys()
    right = dict(found(theirs, "mean variance mode entropy"))
    pairs = [(theirs.log_prob(torch.tensor(value)), ours.log_prob(Tensor(value)))] + [
        (right[what], x) for what, x in found(ours, "mean variance mode entropy") if what in right]
    if name in ("Normal", "Uniform"):
        pairs += [(getattr(theirs, f)(torch.tensor(X / 4)), getattr(ours, f)(Tensor(X / 4))) for f in ("cdf", "icdf")]
    for a, b in pairs:
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-9, atol=1e-9)
    assert (ours.support.event_dim, ours.support.is_discrete) == (theirs.support.event_dim, theirs.support.is_discrete)
    for x in (-1.0, 0.0, 0.25, 0.9, 1.0, 2.0, 3.5, 9.0, np.inf, np.nan):
        x = np.full(value.shape, x)
        held = theirs.support.check(torch.tensor(x))
        np.testing.assert_array_equal(ours.support.check(Tensor(x)).numpy(), held.numpy())
        if not held.all():
            with pytest.raises(ValueError, match=f"{name}.log_prob: a value must be "):
                ours.log_prob(Tensor(x))


IMPOSSIBLE = [  # distribution, the parameters of p and q, the divergence
    ("Categorical", [0.2, 0.3, 0.5], [0.0, 0.5, 0.5], math.inf),
    ("Categorical", [0.0, 0.5, 0.5], [0.0, 0.25, 0.75], 0.5 * math.log(2) + 0.5 * math.log(2 / 3)),
    ("Categorical", [0.0, 0.5, 0.5], [0.5, 0.25, 0.25], math.log(2)),
    ("Bernoulli", 0.5, 0.0, math.inf), ("Bernoulli", 0.5, 1.0, math.inf), ("Bernoulli", 1.0, 0.0, math.inf),
    ("Bernoulli", 0.0, 1.0, math.inf), ("Bernoulli", 0.0, 0.0, 0.0), ("Bernoulli", 1.0, 1.0, 0.0),
    ("Bernoulli", 1.0, 0.25, math.log(4)), ("Bernoulli", 0.0, 0.75, math.log(4)),
]


@pytest.mark.parametrize(("name", "p", "q", "right"), IMPOSSIBLE)
def test_divergences_with_impossible_events_are_right(name, p, q, right):
    a, b = (Tensor(np.array(x), requires_grad=True) for x in (p, q))
    make = getattr(D, name)
    with np.errstate(divide="ignore"):
        kl = D.kl_divergence(make(a), make(b))
        assert kl.item() == pytest.approx(right, abs=1e-12)
    if math.isfinite(right):
        assert np.isfinite(kl.gradient(a, b)[0].numpy()).all()


def test_divergences_of_logits_are_exact_where_probabilities_round_to_0():
    zero, far = (D.Categorical(logits=Tensor([0.0, x])) for x in (0.0, -200.0))
    assert D.kl_divergence(zero, far).item() == pytest.approx(100 - math.log(2), rel=1e-5)
    half, sure = (D.Bernoulli(logits=Tensor(x)) for x in (0.0, 60.0))
    assert D.kl_divergence(half, sure).item() == pytest.approx(30 - math.log(2), rel=1e-5)
    ends = D.Bernoulli(logits=Tensor([math.inf, -math.inf]))
    assert D.kl_divergence(ends, ends).tolist() == [0, 0] == ends.entropy().tolist()
    assert D.kl_divergence(half, ends).tolist() == [math.inf] * 2


@pytest.mark.torch
def test_impossible_values_equal_pytorchs():
    torch = pytest.importorskip("torch")
    ours, theirs = ([d.Bernoulli(t([0.0, 1.0])).log_prob(t([1.0, 0.0])), d.Categorical(t([0.0, 1.0])).log_prob(t(0)),
                     *[d.kl_divergence(getattr(d, name)(t(p)), getattr(d, name)(t(q)))
                       for name, p, q, _ in IMPOSSIBLE if p and (p, q) != (1.0, 1.0)]]
                    for d, t in ((D, Tensor), (torch.distributions, torch.tensor)))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


NAN, TWO = float("nan"), Tensor.zeros(2)


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: D.Normal(0.0, -1.0), ValueError, "Normal: scale must be above 0, got -1.0; validate_args=False skips"),
    (lambda: D.Normal(Tensor([0.0, NAN]), 1.0), ValueError, "Normal: loc must be a number, not NaN, got nan"),
    (lambda: D.Normal(TWO, Tensor.ones(3)), ValueError, r"Normal: loc \(2,\) and scale \(3,\) do not broadcast"),
    (lambda: D.Uniform(1.0, 1.0), ValueError, "Uniform: low must be below 1.0, got 1.0"),
    (lambda: D.Bernoulli(), ValueError, "Bernoulli: give either probs or logits"),
    (lambda: D.Bernoulli(1.5), ValueError, "Bernoulli: probs must be from 0 to 1, got 1.5"),
    (lambda: D.Bernoulli(0.5).log_prob(Tensor([1.0, 0.5])), ValueError, "Bernoulli.log_prob: a value must be 0 or 1, "),
    (lambda: D.Categorical(TWO), ValueError, "Categorical: probs must be parts that add up to 1"),
    (lambda: D.Categorical(Tensor([0.5, -0.1])), ValueError, "Categorical: probs must be parts that add up to 1"),
    (lambda: D.Categorical(logits=Tensor([0.0, NAN])), ValueError, "Categorical: logits must be a number, not NaN"),
    (lambda: D.Categorical(0.5), ValueError, "Categorical: needs an axis of categories"),
    (lambda: D.Categorical(Tensor([0.5, 0.5])).log_prob(2), ValueError, "must be an integer from 0 to 1, got 2"),
    (lambda: D.Categorical(Tensor([0.5, 0.5]), validate_args=False).log_prob(2), IndexError, "index 2 is out of range"),
    (lambda: D.MultivariateNormal(TWO), ValueError, "give one of covariance_matrix"),
    (lambda: D.MultivariateNormal(TWO, scale_tril=Tensor.ones(3, 3)), ValueError, "needs a matrix of shape"),
    (lambda: D.MultivariateNormal(TWO, scale_tril=Tensor.ones(2, 2)), ValueError, "scale_tril must be lower triang"),
    (lambda: D.MultivariateNormal(TWO, Tensor.ones(2, 2)), ValueError, "covariance_matrix must be symmetric and posit"),
    (lambda: D.MultivariateNormal(TWO, np.eye(2)).log_prob(1.0), ValueError, r"a value needs 1 axes, got shape \(\)"),
    (lambda: D.Independent(D.Normal(TWO, 1.0), 3), ValueError, r"3 axes of batch shape \(2,\)"),
    (lambda: D.Bernoulli(0.5).rsample(), NotImplementedError, "Bernoulli has no rsample"),
    (lambda: D.Categorical(Tensor([1.0])).icdf(0.5), NotImplementedError, "Categorical has no icdf"),
    (lambda: D.kl_divergence(D.Normal(0, 1), D.Uniform(0, 1)), NotImplementedError, "no formula for Normal and Unif"),
])
def test_bad_arguments_raise(call, error, text):
    with np.errstate(invalid="ignore"), pytest.raises(error, match=text):
        call()


def test_checks_can_be_turned_off():
    assert D.Normal(0.0, Tensor([-1.0]), validate_args=False).scale.item() == -1
    assert np.isnan(D.Normal(np.nan, 1.0, validate_args=False).mean.item())
    assert D.Uniform(0.0, 1.0, validate_args=False).log_prob(-1.0).item() == -math.inf
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Uniform(0.0, 1.0).log_prob(-1.0).item() == -math.inf
        with pytest.raises(ValueError, match="Uniform.log_prob: a value must be"):
            D.Uniform(0.0, 1.0, validate_args=True).log_prob(-1.0)
    finally:
        D.Distribution.set_default_validate_args(True)


def test_a_captured_function_checks_values():
    @capture
    def f(x):
        return (D.Categorical(x.softmax(-1)).log_prob(Tensor(1)) + D.Normal(x, 2 - x).log_prob(x).sum()
                + D.Uniform(0.0, 3.0).log_prob(x).sum())

    for _ in range(2):  # recorded, and replayed
        with pytest.raises(ValueError, match="Normal: scale must be above 0, got -1"):
            f(Tensor([1.0, 3.0]))
        with pytest.raises(ValueError, match="Uniform.log_prob: a value must be from 0.0 to 3.0, got -2"):
            f(Tensor([1.0, -2.0]))
        for x in Tensor.rand(5, 2):
            assert f(x).item() == pytest.approx(f.function(x).item())
        assert f.programs and "not captured" not in str(f)


def test_users_may_define_distributions():
    class Mine(D.Distribution):
        arg_constraints = {"rate": constraints.positive}
        support = property(lambda self: constraints.interval(0.0, self.rate))

        def __init__(self, rate, validate_args=None):
            self.rate = Tensor(rate)
            super().__init__(self.rate.shape, validate_args=validate_args)

        def _log_prob(self, value):
            return self.rate * value

    assert Mine(3.0).log_prob(2.0).item() == 6
    with pytest.raises(ValueError, match=r"Mine.log_prob: a value must be from 0.0 to 3.0, got 4"):
        Mine(3.0).log_prob(4.0)
    with pytest.raises(ValueError, match="Mine: rate must be above 0"):
        Mine(-3.0)


def test_distributions_can_be_imported_from_pytorchs_modules():
    from tinygrad_like.distributions.kl import kl_divergence
    from tinygrad_like.distributions.normal import Normal

    assert Normal is D.Normal and kl_divergence is D.kl_divergence


@pytest.mark.parametrize("shape", [(-1,), (True,), (2.0,)])
def test_a_sample_shape_must_be_made_of_counts(shape):
    with pytest.raises(ValueError, match="Normal: a sample shape is made of non-negative integers"):
        D.Normal(0.0, 1.0).sample(shape)
