"""Distributions of positive numbers and counts, transformed ones and mixtures: densities, samples, gradients."""

import math

import numpy as np
import pytest

from tinygrad_like import Tensor, capture, gradcheck, manual_seed, ops
from tinygrad_like import distributions as D
from tinygrad_like.distributions.positive import standard_gamma

RNG = np.random.default_rng(0)
A, B, X = RNG.uniform(0.8, 3, (3, 4))
COUNTS, SHARES = np.array([0.0, 1, 2, 5]), A / A.sum()
# name -> parameters, a value, and (for those of a single number) from where to where there is some density
CASES = {
    "Exponential": ((A,), X, (0, 60)), "Laplace": ((A, B), X, (-80, 80)), "Gamma": ((A, B), X, (0, 60)),
    "Beta": ((A + 1, B + 1), X / 4, (0, 1)), "Dirichlet": ((A,), SHARES, None), "Poisson": ((A,), COUNTS, range(60)),
    "StudentT": ((A + 3, B, A), X, None), "HalfNormal": ((A,), X, (0, 40)), "Cauchy": ((A, B), X, None),
    "Gumbel": ((A, B), X, (-20, 120)), "LogNormal": ((A / 4, B / 4), X, (0, 400)),
    "Geometric": ((A / 4,), COUNTS, range(400)), "OneHotCategorical": ((SHARES,), np.eye(4)[2], None),
    "Binomial": ((np.full(4, 6.0), A / 4), COUNTS, range(7)),
    "Chi2": ((A + 2,), X, (0, 80)), "InverseGamma": ((A + 4, B), X, (0, 60)), "Pareto": ((A, B + 4), X + 3, None),
    "Weibull": ((A, B + 1), X, (0, 40)), "NegativeBinomial": ((np.full(4, 5.0), A / 6), COUNTS, range(300)),
    "HalfCauchy": ((A,), X, None), "Kumaraswamy": ((A + 1, B + 1), X / 4, (0, 1)),
    "VonMises": ((A - 1, B), X, None),
}
CASES = {name: pytest.param(name, *case, id=name) for name, case in CASES.items()}


def made(name, parameters, **options):
    return getattr(D, name)(*[Tensor(p, **options) for p in parameters])


@pytest.mark.parametrize("name, parameters, value, support", [c for c in CASES.values() if c.values[3]])
def test_densities(name, parameters, value, support):
    """They add up to 1; mean, variance and entropy are those of the density, and so are the samples' mean."""
    if isinstance(support, range):
        x, width = np.array(support, float), 1.0
    else:
        edges = np.linspace(*support, 400_001)
        x, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    d = made(name, parameters)
    log_p = d.log_prob(Tensor(x[:, None])).numpy()
    p = np.exp(log_p) * width
    np.testing.assert_allclose(p.sum(0), 1, rtol=1e-4)
    mean = (p * x[:, None]).sum(0)
    for attribute, expected in ("mean", mean), ("variance", (p * (x[:, None] - mean) ** 2).sum(0)):
        try:
            found = getattr(d, attribute)
        except NotImplementedError:
            continue
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-3)
    try:
        np.testing.assert_allclose(d.entropy().numpy(), -(p * np.where(p > 0, log_p, 0)).sum(0), rtol=1e-2, atol=1e-3)
    except NotImplementedError:
        pass
    manual_seed(0)
    samples = d.sample((20_000,))
    assert samples.shape == (20_000, 4) and not samples.requires_grad
    np.testing.assert_allclose(samples.numpy().mean(0), mean, rtol=0.06)


@pytest.mark.parametrize("name, parameters, value, support", CASES.values())
def test_gradients_of_densities(name, parameters, value, support):
    fixed = parameters[:1] if name == "Binomial" else ()
    varied = parameters[len(fixed):]

    def density(*p):
        return getattr(D, name)(*map(Tensor, fixed), *p).log_prob(Tensor(value)).sum()

    assert gradcheck(density, *varied)


def test_samples_of_gamma_follow_its_parameter():
    """dx/dc keeps F(c, x), here an integral by numbers."""
    manual_seed(0)
    c = Tensor(np.array([0.5, 1.0, 2.5, 9.0]), requires_grad=True)
    x = standard_gamma(c)
    x.sum().backward()

    def share(c, x):
        t = np.linspace(0, 1, 200_001)[1:] ** 4  # finer near 0, where the density may be infinite
        y = (t * x) ** (c - 1) * np.exp(-t * x) * x
        return (np.diff(t) * (y[1:] + y[:-1]) / 2).sum() / math.gamma(c)

    for c0, x0, slope in zip(c.tolist(), x.tolist(), c.grad.tolist(), strict=True):
        by_c = (share(c0 + 1e-3, x0) - share(c0 - 1e-3, x0)) / 2e-3
        density = x0 ** (c0 - 1) * math.exp(-x0) / math.gamma(c0)
        assert slope == pytest.approx(-by_c / density, rel=2e-2)
    for d in (D.Beta, D.Gamma):
        a, b = Tensor(A, requires_grad=True), Tensor(B, requires_grad=True)
        d(a, b).rsample((2000,)).mean(0).sum().backward()
        expected = Tensor(A, requires_grad=True), Tensor(B, requires_grad=True)
        d(*expected).mean.sum().backward()
        for found, right in zip((a, b), expected, strict=True):
            np.testing.assert_allclose(found.grad.numpy(), right.grad.numpy(), rtol=0.4, atol=0.02)


@pytest.mark.parametrize("name", ["Exponential", "Laplace", "Gamma", "Beta", "Dirichlet", "Poisson", "HalfNormal",
                                  "OneHotCategorical"])
def test_divergences_are_averages_over_samples(name):
    manual_seed(0)
    parameters = CASES[name].values[1]
    p, q = made(name, parameters), made(name, [v * 1.2 for v in parameters[::-1]])
    x = p.sample((40_000,))
    average = (p.log_prob(x) - q.log_prob(x)).mean(0).numpy()
    np.testing.assert_allclose(D.kl_divergence(p, q).numpy(), average, atol=0.05)
    np.testing.assert_allclose(D.kl_divergence(p, p).numpy(), 0, atol=1e-6)


def test_transformed():
    base = D.Independent(D.Normal(Tensor.zeros(2), Tensor.ones(2)), 1)
    steps = [D.AffineTransform(Tensor([1.0, 2.0]), Tensor([2.0, -0.5])), D.TanhTransform(cache_size=1)]
    d = D.TransformedDistribution(base, steps)
    x = Tensor([[0.3, -0.4]], requires_grad=True)
    y = steps[1](steps[0](x))
    slope = np.log(np.abs([2.0, -0.5]) * (1 - y.detach().numpy() ** 2)).sum()
    assert d.log_prob(y.detach()).item() == pytest.approx(base.log_prob(x).item() - slope, rel=1e-4)
    assert d.rsample((3,)).shape == (3, 2) and d.has_rsample and d.event_shape == (2,)
    for f in (D.ExpTransform(), D.SigmoidTransform(), D.ComposeTransform(steps), D.AffineTransform(0.5, 2.0).inv,
              D.TanhTransform().inv.inv):
        x = Tensor(np.array([0.2, -0.3]), requires_grad=True)
        y = f(x)
        np.testing.assert_allclose(f.inv(y).detach().numpy(), x.detach().numpy(), rtol=1e-6)
        y.sum().backward()
        slope = f.log_abs_det_jacobian(x, y).detach().numpy()
        np.testing.assert_allclose(slope, np.log(abs(x.grad.numpy())), rtol=1e-5)


def test_mixtures():
    manual_seed(0)
    d = D.MixtureSameFamily(D.Categorical(Tensor([1.0, 3.0])), D.Normal(Tensor([-1.0, 2.0]), Tensor([0.1, 0.2])))
    x = d.sample((20_000,))
    assert x.shape == (20_000,) and d.mean.item() == pytest.approx(1.25) and abs(x.mean().item() - 1.25) < 0.03
    density = [w * math.exp(-(((2.1 - m) / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi)) for w, m, s in (
        (0.25, -1, 0.1), (0.75, 2, 0.2))]
    assert d.log_prob(2.1).item() == pytest.approx(math.log(sum(density)), rel=1e-5)
    parts = D.Independent(D.Normal(Tensor.zeros(5, 3, 2), Tensor.ones(5, 3, 2)), 1)
    vectors = D.MixtureSameFamily(D.Categorical(Tensor.ones(5, 3)), parts)
    assert vectors.sample((7,)).shape == (7, 5, 2) and vectors.log_prob(Tensor.zeros(7, 5, 2)).shape == (7, 5)
    with pytest.raises(ValueError, match="MixtureSameFamily: 2 weights for 3 components"):
        D.MixtureSameFamily(D.Categorical(Tensor.ones(2)), D.Normal(Tensor.zeros(3), 1.0))


def test_one_hot_samples():
    p = Tensor([0.2, 0.8], requires_grad=True)
    x = D.OneHotCategoricalStraightThrough(probs=p).rsample((4,))
    assert x.sum(-1).tolist() == [1] * 4
    (x * Tensor([1.0, 0.0])).sum().backward()
    assert p.grad is not None and not D.OneHotCategorical(probs=p).sample().requires_grad


def test_arguments_are_checked_unless_one_says_no_and_not_in_what_is_captured():
    with pytest.raises(ValueError, match="Gamma: rate must be positive"):
        D.Gamma(1.0, -1.0)
    with pytest.raises(ValueError, match="Dirichlet: concentration must be positive"):
        D.Dirichlet(Tensor([1.0, 0.0]))
    assert D.Normal(0.0, Tensor([-1.0]), validate_args=False).scale.item() == -1
    assert D.Normal(0.0, 1.0, validate_args=True).log_prob(0.0).item() < 0

    @capture
    def f(logits, loc, a):
        return (D.Categorical(logits.softmax(-1)).log_prob(a).sum() + D.Normal(loc, loc.exp()).log_prob(loc).sum()
                + D.Bernoulli(logits.sigmoid()).entropy().sum())

    args = Tensor.randn(4, 3), Tensor.randn(4), Tensor([0, 1, 2, 0])
    for _ in range(5):
        found = f(*args)
    assert "not captured" not in str(f)
    assert found.item() == pytest.approx(f.function(*args).item() if hasattr(f, "function") else found.item())


def test_pytorchs_modules():
    from tinygrad_like.distributions.kl import kl_divergence
    from tinygrad_like.distributions.normal import Normal

    assert Normal is D.Normal and kl_divergence is D.kl_divergence


def test_the_gamma_function():
    x = np.array([-7.3, -1.5, -0.5, 0.1, 1.0, 2.0, 4.0, 30.5])
    np.testing.assert_allclose(ops.lgamma(x), [math.lgamma(v) for v in x], rtol=1e-13, atol=1e-13)
    slopes = [(math.lgamma(v + 1e-6) - math.lgamma(v - 1e-6)) / 2e-6 for v in x]
    np.testing.assert_allclose(ops.digamma(x), slopes, rtol=1e-6)
    np.testing.assert_allclose(ops.polygamma(np.ones(1), n=1), math.pi**2 / 6, rtol=1e-13)
    np.testing.assert_allclose(ops.polygamma(np.ones(1), n=2), -2 * 1.2020569031595942, rtol=1e-13)
    assert ops.lgamma(np.array([0.0, -3.0, np.inf])).tolist() == [np.inf] * 3
    assert np.isnan(ops.lgamma(np.array([np.nan]))).all()
    assert Tensor([3.0]).lgamma().dtype == np.float32 and ops.lgamma(Tensor([3])).dtype == np.float32
    for n in (-2, 0.5):
        with pytest.raises(ValueError, match="polygamma: n=.* must be an integer >= -1"):
            ops.polygamma(Tensor([1.0]), n=n)
    with pytest.raises(ValueError, match="must not be below -10000"):
        ops.polygamma(Tensor([-1e6]), n=1)


@pytest.mark.torch
@pytest.mark.parametrize("name, parameters, value, support", CASES.values())
def test_values_are_pytorchs(name, parameters, value, support):
    torch = pytest.importorskip("torch")
    theirs, ours = getattr(torch.distributions, name)(*map(torch.tensor, parameters)), made(name, parameters)
    assert tuple(theirs.batch_shape) == ours.batch_shape and tuple(theirs.event_shape) == ours.event_shape
    assert theirs.has_rsample == ours.has_rsample
    pairs = [(theirs.log_prob(torch.tensor(value)), ours.log_prob(Tensor(value)))]
    for attribute in ("mean", "variance", "entropy"):
        try:
            found = getattr(ours, attribute)
        except NotImplementedError:
            continue
        try:
            pairs.append((getattr(theirs, attribute)() if attribute == "entropy" else getattr(theirs, attribute),
                          found() if attribute == "entropy" else found))
        except NotImplementedError:
            continue
    tolerance = 1e-7 if name == "VonMises" else 1e-9  # PyTorch's log I_0 is a polynomial
    for expected, found in pairs:
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.torch
def test_the_gradient_of_a_sample_is_pytorchs():
    torch = pytest.importorskip("torch")
    c = Tensor(np.array([0.05, 0.3, 1.0, 2.5, 10.0, 300.0]), requires_grad=True)
    x = standard_gamma(c)
    x.sum().backward()
    drawn = torch.tensor(x.detach().numpy())
    expected = torch._standard_gamma_grad(torch.tensor(c.tolist(), dtype=torch.float64), drawn)
    np.testing.assert_allclose(c.grad.numpy(), expected.numpy(), rtol=1e-3)


def test_samples_of_the_relaxed_and_of_counts():
    manual_seed(0)
    logits = Tensor([0.5, -1.0, 1.5], requires_grad=True)
    soft = D.RelaxedOneHotCategorical(0.3, logits=logits).rsample((4000,))
    np.testing.assert_allclose(soft.sum(-1).numpy(force=True), 1, rtol=1e-5)
    shares = np.bincount(soft.argmax(-1).numpy(), minlength=3) / 4000
    np.testing.assert_allclose(shares, logits.softmax(-1).numpy(force=True), atol=0.03)
    assert np.isfinite(soft[:, 0].sum().gradient(logits)[0].numpy()).all()
    one = D.RelaxedBernoulli(0.3, logits=logits).rsample((4000,))
    np.testing.assert_allclose((one > 0.5).numpy().mean(0), logits.sigmoid().numpy(force=True), atol=0.03)
    counts = D.Multinomial(8, logits=logits).sample((2000,))
    assert counts.shape == (2000, 3) and (counts.sum(-1).numpy() == 8).all() and not counts.requires_grad
    np.testing.assert_allclose(counts.numpy().mean(0), 8 * logits.softmax(-1).numpy(force=True), atol=0.15)
    half = D.HalfCauchy(2.0).sample((4000,)).numpy()
    assert (half >= 0).all() and abs(np.median(half) - 2) < 0.2
    with pytest.raises(ValueError, match="Multinomial: total_count"):
        D.Multinomial(-1, logits=logits)


IMPOSSIBLE = [  # distribution, the parameters of p and q, the divergence
    ("Categorical", [0.2, 0.3, 0.5], [0.0, 0.5, 0.5], math.inf),
    ("Categorical", [0.0, 0.5, 0.5], [0.0, 0.25, 0.75], 0.5 * math.log(2) + 0.5 * math.log(2 / 3)),
    ("Categorical", [0.0, 0.5, 0.5], [0.5, 0.25, 0.25], math.log(2)),
    ("OneHotCategorical", [0.5, 0.5], [0.0, 1.0], math.inf), ("OneHotCategorical", [0.0, 1.0], [0.5, 0.5], math.log(2)),
    ("Bernoulli", 0.5, 0.0, math.inf), ("Bernoulli", 0.5, 1.0, math.inf), ("Bernoulli", 1.0, 0.0, math.inf),
    ("Bernoulli", 0.0, 1.0, math.inf), ("Bernoulli", 0.0, 0.0, 0.0), ("Bernoulli", 1.0, 1.0, 0.0),
    ("Bernoulli", 1.0, 0.25, math.log(4)), ("Bernoulli", 0.0, 0.75, math.log(4)),
    ("Geometric", 0.5, 1.0, math.inf), ("Geometric", 1.0, 1.0, 0.0), ("Geometric", 1.0, 0.25, math.log(4)),
    ("Poisson", 0.0, 2.0, 2.0), ("Poisson", 2.0, 0.0, math.inf), ("Poisson", 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("name", "p", "q", "right"), IMPOSSIBLE)
def test_divergences_of_what_is_impossible(name, p, q, right):
    a, b = (Tensor(np.array(x), requires_grad=True) for x in (p, q))
    made = getattr(D, name)
    with np.errstate(divide="ignore"):
        kl = D.kl_divergence(made(a), made(b))
        assert kl.item() == pytest.approx(right, abs=1e-12)
        if name == "Bernoulli":
            three = D.kl_divergence(D.Binomial(3.0, a), D.Binomial(3.0, b))
            assert three.item() == pytest.approx(3 * right, abs=1e-12)
    if math.isfinite(right) and name != "Poisson":
        assert np.isfinite(kl.gradient(a, b)[0].numpy()).all()


def test_divergences_of_logits_are_exact_where_their_probability_is_rounded_away():
    zero, far = (D.Categorical(logits=Tensor([0.0, x])) for x in (0.0, -200.0))
    assert D.kl_divergence(zero, far).item() == pytest.approx(100 - math.log(2), rel=1e-5)
    half, sure = (D.Bernoulli(logits=Tensor(x)) for x in (0.0, 60.0))
    assert D.kl_divergence(half, sure).item() == pytest.approx(30 - math.log(2), rel=1e-5)
    ends = D.Bernoulli(logits=Tensor([math.inf, -math.inf]))
    assert D.kl_divergence(ends, ends).tolist() == [0, 0] == ends.entropy().tolist()
    assert D.kl_divergence(half, ends).tolist() == [math.inf] * 2
    assert D.Geometric(Tensor([1.0, 1.0])).log_prob(Tensor([0.0, 1.0])).tolist() == [0, -math.inf]
    with pytest.raises(ValueError, match="Geometric: probs must be above 0"):
        D.Geometric(0.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_that_were_rounded_to_0_or_1_have_a_density(dtype):
    manual_seed(0)
    half, thirds = Tensor(0.5, dtype=dtype), Tensor(np.array([0.2, 0.3, 0.5], dtype))
    for d in (D.RelaxedBernoulli(0.003, half), D.RelaxedOneHotCategorical(0.003, thirds), D.TransformedDistribution(
            D.Normal(half * 0, half * 2000), D.SigmoidTransform())):
        x = d.sample((200,))
        assert (x == 0).any() and (x == 1).any()
        assert np.isfinite(d.log_prob(x).numpy()).all()
    x = Tensor(np.array([0.0, 1.0, 0.25], dtype), requires_grad=True)
    assert np.isfinite(D.RelaxedBernoulli(0.5, half).log_prob(x).sum().gradient(x)[0].numpy()).all()


@pytest.mark.torch
def test_densities_at_the_ends_are_pytorchs():
    torch = pytest.importorskip("torch")
    ours, theirs = ([d.RelaxedBernoulli(t(0.3), t(0.5)).log_prob(t([0.0, 1.0, 0.5, 1e-30])),
                     d.TransformedDistribution(d.Normal(t(0.0), t(1.0)), [d.SigmoidTransform()]).log_prob(
                         t([0.0, 1.0, 0.5])),
                     d.Geometric(t([1.0, 1.0, 0.5])).log_prob(t([0.0, 1.0, 2.0])),
                     d.Bernoulli(t([0.0, 1.0])).log_prob(t([1.0, 0.0])), d.Categorical(t([0.0, 1.0])).log_prob(t(0)),
                     *[d.kl_divergence(getattr(d, name)(t(p)), getattr(d, name)(t(q)))
                       for name, p, q, _ in IMPOSSIBLE if p and name != "Poisson" and (p, q) != (1.0, 1.0)]]
                    for d, t in ((D, Tensor), (torch.distributions, torch.tensor)))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
