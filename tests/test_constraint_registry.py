"""biject_to and transform_to; distributions of angles, of numbers from 0 to 1, and of long vectors."""

import math

import numpy as np
import pytest

import optim
import tinygrad_like as tg
from tinygrad_like import Tensor, gradcheck
from tinygrad_like import distributions as D
from tinygrad_like.distributions import constraints as c

RNG = np.random.default_rng(0)
BOTH = ["real", "positive", "nonnegative", "unit_interval", "simplex", "lower_cholesky", "positive_definite",
        "real_vector", "greater_than(-1.5)", "greater_than_eq(2)", "less_than(0.5)", "interval(-2, 3)",
        "half_open_interval(0.0, 4.0)", "independent(positive, 2)", "independent(interval(1, 2), 1)"]
X = RNG.standard_normal((2, 3, 3))


PAIRS = [(registry, name) for registry in ("biject_to", "transform_to") for name in BOTH
         if registry == "transform_to" or name not in ("lower_cholesky", "positive_definite")]


@pytest.mark.parametrize("registry, name", PAIRS)
def test_what_comes_out_is_allowed_and_goes_back(registry, name):
    constraint = eval(f"c.{name}".replace("(positive", "(c.positive").replace("(interval", "(c.interval"))
    f = getattr(D, registry)(constraint)
    x = Tensor(X)
    y = f(x)
    assert constraint.check(y).all() and y.shape == f.forward_shape(x.shape) and f.inverse_shape(y.shape) == x.shape
    again = f.inv(y)
    if registry == "transform_to" and name == "simplex":
        again, x = f(again), y
    elif name in ("lower_cholesky", "positive_definite"):
        x = x.tril()
    np.testing.assert_allclose(again.numpy(), x.numpy(), atol=1e-9)


@pytest.mark.torch
@pytest.mark.parametrize("registry, name", PAIRS)
def test_registries_are_pytorchs(registry, name):
    torch = pytest.importorskip("torch")
    theirs, ours = (eval(f"c.{name}".replace("(positive", "(c.positive").replace("(interval", "(c.interval"),
                         {"c": m}) for m in (torch.distributions.constraints, c))
    f, g = getattr(D, registry)(ours), getattr(torch.distributions, registry)(theirs)
    x, z = Tensor(X, requires_grad=True), torch.tensor(X, requires_grad=True)
    y, w = f(x), g(z)
    np.testing.assert_allclose(y.detach().numpy(), w.detach().numpy(), rtol=1e-12)
    seed = RNG.standard_normal(y.shape)
    y.backward(Tensor(seed), retain_graph=True)
    w.backward(torch.tensor(seed), retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy(), rtol=1e-10, atol=1e-12)
    assert f.bijective == g.bijective and f.domain.event_dim == g.domain.event_dim
    assert f.codomain.event_dim == g.codomain.event_dim
    try:
        slope = g.log_abs_det_jacobian(z, w)
    except NotImplementedError:
        with pytest.raises(NotImplementedError, match="must define log_abs_det_jacobian"):
            f.log_abs_det_jacobian(x, y)
        return
    np.testing.assert_allclose(f.log_abs_det_jacobian(x, y).detach().numpy(), slope.detach().numpy(), rtol=1e-9,
                               atol=1e-12)


def test_a_parameter_within_bounds_is_optimized_without():
    free = Tensor([0.0, 0.0, 0.0], requires_grad=True)
    to = D.transform_to(D.Categorical.arg_constraints["probs"])
    optimizer, counts = optim.Adam([free], 0.1), Tensor([1.0, 2.0, 5.0])
    for _ in range(300):
        optimizer.zero_grad()
        (-(counts * to(free).log()).sum()).backward()
        optimizer.step()
    np.testing.assert_allclose(to(free).detach().numpy(), counts.numpy() / 8, atol=1e-3)


def test_registering():
    registry = D.ConstraintRegistry()

    @registry.register(c.positive)
    def make(constraint):
        return D.ExpTransform()

    assert type(registry(c.greater_than(3))) is D.ExpTransform and make(None).codomain is c.positive
    with pytest.raises(NotImplementedError, match="no transform is known for Boolean"):
        D.biject_to(c.boolean)
    with pytest.raises(TypeError, match="register: takes a constraint, or a class of them, got int"):
        registry.register(int, make)


@pytest.mark.torch
def test_transforms_of_vectors_in_distributions_are_pytorchs():
    torch = pytest.importorskip("torch")
    T = torch.distributions
    loc, value = X[0], np.abs(X[0])
    value = np.concatenate([value, np.full((3, 1), 0.5)], 1)
    value /= value.sum(-1, keepdims=True)

    def both(make):
        a, b = Tensor(loc, requires_grad=True), torch.tensor(loc, requires_grad=True)
        return (a, make(D, a, Tensor)), (b, make(T, b, torch.tensor))

    def check(make, value):
        (a, p), (b, q) = both(make)
        assert p.batch_shape == tuple(q.batch_shape) and p.event_shape == tuple(q.event_shape)
        assert p.rsample((2,)).shape == tuple(q.rsample((2,)).shape)
        x, y = p.log_prob(Tensor(value)), q.log_prob(torch.tensor(value))
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-6)
        x.sum().backward()
        y.sum().backward()
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-6)

    sticks = lambda L: L.biject_to(L.constraints.simplex)  # noqa: E731
    check(lambda L, loc, t: L.TransformedDistribution(L.Normal(loc, 1.0), [sticks(L)]), value)
    check(lambda L, loc, t: L.TransformedDistribution(L.Independent(L.Normal(loc, 1.0), 1), [
        L.AffineTransform(0.5, 2.0, event_dim=1), sticks(L)]), value)
    check(lambda L, loc, t: L.TransformedDistribution(L.Independent(L.Normal(loc, 1.0), 1), [
        L.AffineTransform(0.5, t([1.0, 2.0, 3.0])), L.SigmoidTransform()]), value[:, :3])
    with pytest.raises(ValueError, match="the transforms take values of 1 axes"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), [sticks(D)])


LOC, FACTOR, DIAG = X[0], RNG.standard_normal((3, 3, 2)), RNG.uniform(0.5, 2, (3, 3))


@pytest.mark.torch
@pytest.mark.parametrize("make", [
    lambda L, t: L.LowRankMultivariateNormal(t[0], t[1], t[2]),
    lambda L, t: L.LowRankMultivariateNormal(t[0][0], t[1], t[2][1]),
    lambda L, t: L.VonMises(t[0], t[2] * 4), lambda L, t: L.Kumaraswamy(t[2] + 1, t[2] * 2)])
def test_distributions_are_pytorchs(make):
    torch = pytest.importorskip("torch")
    a = [Tensor(x, requires_grad=True) for x in (LOC, FACTOR, DIAG)]
    b = [torch.tensor(x, requires_grad=True) for x in (LOC, FACTOR, DIAG)]
    p, q = make(D, a), make(torch.distributions, b)
    value = RNG.uniform(0.1, 0.9, (4, 3, 3))
    names = ["mean", "variance"]
    names += {"LowRankMultivariateNormal": ["mode", "covariance_matrix", "precision_matrix", "scale_tril"],
              "VonMises": ["mode"], "Kumaraswamy": []}[type(p).__name__]
    found = [(getattr(p, n), getattr(q, n)) for n in names] + [
        (p.log_prob(Tensor(value)), q.log_prob(torch.tensor(value)))]
    if type(p) is not D.VonMises:
        found.append((p.entropy(), q.entropy()))
    if type(p) is D.Kumaraswamy:
        found.append((p.cdf(Tensor(value)), q.cdf(torch.tensor(value))))
    rtol = 1e-6 if type(p) is D.VonMises else 1e-9  # PyTorch's I_0 has seven digits
    for x, y in found:
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=rtol)
    sum([x.sin().sum() for x, _ in found]).backward()
    sum([y.sin().sum() for _, y in found]).backward()
    for x, y in zip(a, b, strict=True):
        if x.grad is None:
            assert y.grad is None or not y.grad.any()
        else:
            np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=10 * rtol, atol=rtol)
    assert p.batch_shape == tuple(q.batch_shape) and p.event_shape == tuple(q.event_shape)
    assert p.has_rsample == q.has_rsample and p.expand((2, *p.batch_shape)).sample().shape[0] == 2


def test_samples():
    tg.manual_seed(0)
    d = D.LowRankMultivariateNormal(Tensor(LOC[0]), Tensor(FACTOR[0]), Tensor(DIAG[0]))
    x = d.sample((100_000,)).numpy()
    np.testing.assert_allclose(np.cov(x.T), d.covariance_matrix.numpy(), atol=0.08)
    np.testing.assert_allclose(x.mean(0), LOC[0], atol=0.03)
    angles = D.VonMises(Tensor([3.0, -1.0, 0.0]), Tensor([4.0, 0.5, 200.0])).sample((100_000,)).numpy()
    assert (angles >= -math.pi).all() and (angles < math.pi).all()
    mean = np.angle(np.exp(1j * angles).mean(0))
    np.testing.assert_allclose(mean, [3, -1, 0], atol=0.03)
    np.testing.assert_allclose(1 - np.abs(np.exp(1j * angles).mean(0)),
                               D.VonMises(0.0, Tensor([4.0, 0.5, 200.0])).variance.numpy(), atol=0.01)
    k = D.Kumaraswamy(Tensor(DIAG[0], requires_grad=True), Tensor(DIAG[1]))
    y = k.rsample((100_000,))
    np.testing.assert_allclose(y.detach().numpy().mean(0), k.mean.detach().numpy(), atol=0.01)
    np.testing.assert_allclose(k.icdf(k.cdf(y[:5])).detach().numpy(), y[:5].detach().numpy(), rtol=1e-6)
    y.mean(0).sum().backward()
    g, = k.mean.sum().gradient(k.concentration1)
    np.testing.assert_allclose(k.concentration1.grad.numpy(), g.numpy(), rtol=0.05)
    a, b = 2.5, 3.0
    x = np.linspace(0, 1, 100_001)[1:-1]
    top = x[np.argmax(D.Kumaraswamy(a, b).log_prob(Tensor(x)).numpy())]
    assert D.Kumaraswamy(a, b).mode.item() == pytest.approx(top, abs=1e-4)
    assert math.isnan(D.Kumaraswamy(0.5, 3.0).mode.item())


def test_divergence_of_low_rank_normals():
    p, q = (D.LowRankMultivariateNormal(Tensor(LOC[i]), Tensor(FACTOR[i]), Tensor(DIAG[i])) for i in (0, 1))
    whole = [D.MultivariateNormal(d.loc, d.covariance_matrix) for d in (p, q)]
    assert D.kl_divergence(p, q).item() == pytest.approx(D.kl_divergence(*whole).item(), rel=1e-9)
    assert gradcheck(lambda f: D.LowRankMultivariateNormal(Tensor(LOC[0]), f, Tensor(DIAG[0])).log_prob(
        Tensor(LOC[1])), Tensor(FACTOR[0]))


@pytest.mark.parametrize("make, message", [
    (lambda: D.LowRankMultivariateNormal(Tensor([1.0, 2.0]), Tensor.ones(3, 1), Tensor.ones(2)), "takes cov_factor"),
    (lambda: D.LowRankMultivariateNormal(Tensor([1.0, 2.0]), Tensor.ones(2, 1), Tensor([1.0, 0.0])), "positive"),
    (lambda: D.VonMises(0.0, -1.0), "concentration must be positive"),
    (lambda: D.Kumaraswamy(0.0, 1.0), "concentration1 must be positive"),
    (lambda: D.Kumaraswamy(1.0, -1.0), "concentration0 must be positive"),
    (lambda: D.Kumaraswamy(1.0, 1.0).log_prob(1.5), "outside the support")])
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
