"""Constraints: what they hold for, those of each distribution, and values that a distribution does not have."""

import numpy as np
import pytest

import tinygrad_like as tg
from tinygrad_like import Tensor, capture
from tinygrad_like import distributions as D
from tinygrad_like.distributions import constraints

RNG = np.random.default_rng(0)
VALUES = {  # names or calls of PyTorch's -> what is checked
    "boolean": [0.0, 1.0, 0.5, -1.0], "real": [0.0, np.inf, np.nan], "positive": [0.0, 1.0, -1.0, np.nan],
    "nonnegative": [0.0, 1.0, -1.0], "unit_interval": [0.0, 1.0, 0.5, 1.1, -0.1],
    "nonnegative_integer": [0.0, 1.5, 3.0, -1.0], "positive_integer": [0.0, 1.0, 2.5, np.inf],
    "greater_than(2.0)": [1.0, 2.0, 3.0], "greater_than_eq(2.0)": [1.0, 2.0, 3.0], "less_than(2.0)": [1.0, 2.0, 3.0],
    "interval(-1.0, 2.0)": [-2.0, -1.0, 2.0, 3.0],
    "half_open_interval(-1.0, 2.0)": [-1.0, 0.0, 2.0], "integer_interval(1, 3)": [0.0, 1.0, 2.5, 3.0, 4.0],
    "real_vector": [[1.0, 2.0], [np.nan, 0.0]], "simplex": [[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]],
    "one_hot": [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]], "multinomial(3)": [[1.0, 2.0], [2.0, 2.0], [4.0, -1.0]],
    "independent(constraints.positive, 2)": [[[1.0, 2.0]], [[1.0, -2.0]]],
    "square": [[[1.0, 2.0], [3.0, 4.0]]], "lower_triangular": [[[1.0, 0.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]],
    "lower_cholesky": [[[1.0, 0.0], [3.0, 4.0]], [[1.0, 0.0], [3.0, -4.0]], [[1.0, 1.0], [3.0, 4.0]]],
    "symmetric": [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [3.0, 1.0]]],
    "positive_semidefinite": [[[1.0, 2.0], [2.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]], [[2.0, 1.0], [0.0, 2.0]]],
    "positive_definite": [[[1.0, 2.0], [2.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]], [[2.0, 1.0], [0.0, 2.0]]],
}
P, Q = np.array([0.3, 0.7]), np.array([2.0, 0.5])
MADE = {
    "Normal": (P, Q), "Uniform": (P, P + 1), "Bernoulli": (P,), "Categorical": (P,), "Exponential": (Q,),
    "MultivariateNormal": (P, np.eye(2)), "Laplace": (P, Q), "Gamma": (P, Q), "Dirichlet": (Q,), "Beta": (P, Q),
    "Poisson": (Q,), "StudentT": (Q, P, Q), "HalfNormal": (Q,), "Cauchy": (P, Q), "Gumbel": (P, Q), "Geometric": (P,),
    "Binomial": (np.array([3.0, 4.0]), P), "OneHotCategorical": (P,), "OneHotCategoricalStraightThrough": (P,),
    "Chi2": (Q,), "InverseGamma": (P, Q), "Pareto": (P, Q), "Weibull": (P, Q), "HalfCauchy": (Q,),
    "NegativeBinomial": (Q, P), "RelaxedOneHotCategorical": (np.array(2.0), P), "RelaxedBernoulli": (np.array(2.0), P),
    "LogNormal": (P, Q),
}


def found(name, of):
    return eval(f"constraints.{name}", {"constraints": of})


@pytest.mark.parametrize("name", VALUES)
def test_check(name):
    """The first value is allowed, if any is; each by itself gives the same as all at once."""
    constraint, values = found(name, constraints), np.array(VALUES[name])
    held = constraint.check(Tensor(values))
    assert held.dtype == "bool" and held.shape == values.shape[:values.ndim - constraint.event_dim]
    assert held.tolist() == [constraint.check(v).item() for v in values] and held.any()


@pytest.mark.torch
@pytest.mark.parametrize("name", VALUES)
def test_check_is_pytorchs(name):
    torch = pytest.importorskip("torch")
    ours, theirs = found(name, constraints), found(name, torch.distributions.constraints)
    for value in VALUES[name]:  # one by one: one that is not symmetric spoils the others there
        assert ours.check(Tensor(np.array(value))).item() == theirs.check(torch.tensor(value)).item()
    assert (ours.event_dim, ours.is_discrete) == (theirs.event_dim, theirs.is_discrete)
    if name not in ("multinomial(3)",):  # which does not show its bound there
        assert repr(ours) == repr(theirs)


def both(name):
    torch = pytest.importorskip("torch")  # whose own tests turn its checks off
    return (getattr(D, name)(*map(Tensor, MADE[name]), validate_args=True),
            getattr(torch.distributions, name)(*map(torch.tensor, MADE[name]), validate_args=True))


@pytest.mark.torch
@pytest.mark.parametrize("name", MADE)
def test_constraints_of_distributions_are_pytorchs(name):
    def shown(d):
        return {k: str(v) for k, v in d.arg_constraints.items()}

    torch = pytest.importorskip("torch")
    ours, theirs = both(name)
    assert (ours.support.event_dim, ours.support.is_discrete) == (theirs.support.event_dim, theirs.support.is_discrete)
    if name != "Uniform":  # whose bounds are shown as Tensors there
        assert shown(ours) == shown(theirs)
    for value in (-1.0, 0.0, 0.25, 0.9, 1.0, 2.0, 3.5, np.inf, np.nan):
        value = np.full(2, value)
        held = theirs.support.check(torch.tensor(value))
        np.testing.assert_array_equal(ours.support.check(Tensor(value)).numpy(), held.numpy())
        if bool(held.all()):
            with np.errstate(all="ignore"):
                ours.log_prob(Tensor(value))
        else:
            for d, tensor in (ours, Tensor), (theirs, torch.tensor):
                with pytest.raises(ValueError, match="support"):
                    d.log_prob(tensor(value))


@pytest.mark.parametrize("name", MADE)
def test_samples_lie_in_the_support(name):
    tg.manual_seed(0)
    d = getattr(D, name)(*map(Tensor, MADE[name]))
    sample = d.sample((50,))
    assert d.support.check(sample).all() and d.log_prob(sample).shape == (50, *d.batch_shape)


def test_supports_of_what_is_made_of_others():
    normal = D.Normal(Tensor(np.zeros((2, 3))), 1.0)
    assert repr(D.Independent(normal, 1).support) == "IndependentConstraint(Real(), 1)"
    assert repr(D.Independent(normal, 0).support) == "Real()"
    squashed = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.AffineTransform(1.0, 2.0), D.SigmoidTransform()])
    assert squashed.support is constraints.unit_interval
    assert D.TransformedDistribution(D.Normal(0.0, 1.0), [D.TanhTransform(), D.SigmoidTransform().inv]).support is (
        constraints.real)
    assert repr(D.ComposeTransform([D.ExpTransform(), D.TanhTransform()]).codomain) == (
        "Interval(lower_bound=-1.0, upper_bound=1.0)")
    mixture = D.MixtureSameFamily(D.Categorical(Tensor([1.0, 1.0])), D.Exponential(Tensor([1.0, 2.0])))
    assert mixture.support is constraints.nonnegative
    assert constraints.is_dependent(D.Uniform.support) and not constraints.is_dependent(D.Normal.support)


def test_values_outside_the_support():
    with pytest.raises(ValueError, match=r"Bernoulli.log_prob: a value lies outside the support, Boolean\(\), as 0.5"):
        D.Bernoulli(0.5).log_prob(Tensor([1.0, 0.5]))
    assert D.Bernoulli(0.5, validate_args=False).log_prob(0.5).item() == pytest.approx(np.log(0.5))
    with pytest.raises(ValueError, match="Normal: loc must not be NaN"):
        D.Normal(Tensor([0.0, np.nan]), 1.0)
    with pytest.raises(ValueError, match="Categorical: logits must not be NaN"):
        D.Categorical(logits=Tensor([0.0, np.nan]))
    assert np.isnan(D.Normal(np.nan, 1.0, validate_args=False).mean.item())
    for make, value in ((lambda: D.LogNormal(0.0, 1.0, validate_args=False), -1.0),
                        (lambda: D.LogNormal(0.0, -1.0, validate_args=False), 1.0),
                        (lambda: D.HalfNormal(-1.0, validate_args=False), 1.0),
                        (lambda: D.Weibull(1.0, 1.0, validate_args=False), -1.0)):
        with np.errstate(all="ignore"):
            make().log_prob(value)  # neither it nor what it is made of looks
    assert D.Normal(0.0, 1.0)._validates
    with pytest.raises(ValueError, match="LogNormal.log_prob: a value lies outside"):
        D.LogNormal(0.0, 1.0).log_prob(-1.0)
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Exponential(1.0).log_prob(-1.0).item() == 1
        with pytest.raises(ValueError, match="Exponential.log_prob: a value lies outside"):
            D.Exponential(1.0, validate_args=True).log_prob(-1.0)
    finally:
        D.Distribution.set_default_validate_args(True)
    captured = capture(lambda x: D.Exponential(1.0).log_prob(x))
    assert [captured(Tensor([2.0])).item() for _ in range(4)] == [-2] * 4 and captured.programs


def test_distributions_of_users():
    class Mine(D.Distribution):
        arg_constraints = {"rate": constraints.positive}

        def __init__(self, rate):
            self.rate = rate

        def log_prob(self, value):
            return self.rate * value

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return constraints.interval(0.0, self.rate)

    assert Mine(3.0).log_prob(2.0) == 6 and constraints.is_dependent(Mine.support)
    with pytest.raises(ValueError, match=r"Mine.log_prob: .* Interval\(lower_bound=0.0, upper_bound=3.0\), as 4"):
        Mine(3.0).log_prob(4.0)
    with pytest.raises(ValueError, match="constraints.dependent: cannot be checked"):
        constraints.dependent.check(1.0)
