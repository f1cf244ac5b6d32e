"""What the parameters of each distribution may be, and where its values lie: `arg_constraints` and `support`."""

from __future__ import annotations

from typing import Any

from . import base as b
from . import constraints as c
from . import low_rank as l
from . import more as m
from . import positive as p
from . import transformed as t

_LOGITS = {"probs": c.unit_interval, "logits": c.real}
_OF_KINDS = {"probs": c.simplex, "logits": c.real_vector}
_AROUND = {"loc": c.real, "scale": c.positive}

# The distribution -> constraints of its parameters, and its support, or a function that tells the support of one.
TABLE: dict[type, tuple[dict[str, c.Constraint], Any]] = {
    b.Normal: (_AROUND, c.real), b.Bernoulli: (_LOGITS, c.boolean),
    b.Uniform: ({"low": c.dependent, "high": c.dependent}, lambda d: c.interval(d.low, d.high)),
    b.Categorical: (_OF_KINDS, lambda d: c.integer_interval(0, d.probs.shape[-1] - 1)),
    b.MultivariateNormal: ({"loc": c.real_vector, "covariance_matrix": c.positive_definite,
                            "precision_matrix": c.positive_definite, "scale_tril": c.lower_cholesky}, c.real_vector),
    b.Independent: ({}, lambda d: c.independent(d.base_dist.support, d.ndims) if d.ndims else d.base_dist.support),
    p.Exponential: ({"rate": c.positive}, c.nonnegative), p.Laplace: (_AROUND, c.real),
    p.Gamma: ({"concentration": c.positive, "rate": c.positive}, c.nonnegative),
    p.Dirichlet: ({"concentration": c.independent(c.positive, 1)}, c.simplex),
    p.Beta: ({"concentration1": c.positive, "concentration0": c.positive}, c.unit_interval),
    p.Poisson: ({"rate": c.nonnegative}, c.nonnegative_integer),
    p.StudentT: ({"df": c.positive, **_AROUND}, c.real), p.HalfNormal: ({"scale": c.positive}, c.nonnegative),
    p.Cauchy: (_AROUND, c.real), p.Gumbel: (_AROUND, c.real), p.Geometric: (_LOGITS, c.nonnegative_integer),
    p.Binomial: ({"total_count": c.nonnegative_integer, **_LOGITS}, lambda d: c.integer_interval(0, d.total_count)),
    p.OneHotCategorical: (_OF_KINDS, c.one_hot),
    m.Chi2: ({"df": c.positive}, c.nonnegative),
    m.InverseGamma: ({"concentration": c.positive, "rate": c.positive}, c.positive),
    m.Pareto: ({"alpha": c.positive, "scale": c.positive}, lambda d: c.greater_than_eq(d.scale)),
    m.Weibull: ({"scale": c.positive, "concentration": c.positive}, c.positive),
    m.HalfCauchy: ({"scale": c.positive}, c.nonnegative),
    m.NegativeBinomial: ({"total_count": c.greater_than_eq(0), "probs": c.half_open_interval(0.0, 1.0),
                          "logits": c.real}, c.nonnegative_integer),
    m.Multinomial: (_OF_KINDS, lambda d: c.multinomial(d.total_count)),
    m.RelaxedOneHotCategorical: (_OF_KINDS, c.simplex), m.RelaxedBernoulli: (_LOGITS, c.unit_interval),
    m.VonMises: ({"loc": c.real, "concentration": c.positive}, c.real),
    m.Kumaraswamy: ({"concentration1": c.positive, "concentration0": c.positive}, c.unit_interval),
    l.LowRankMultivariateNormal: ({"loc": c.real_vector, "cov_factor": c.independent(c.real, 2),
                                   "cov_diag": c.independent(c.positive, 1)}, c.real_vector),
    t.LogNormal: (_AROUND, c.positive),
    t.TransformedDistribution: ({}, lambda d: d.transforms[-1].codomain if d.transforms else d.base_dist.support),
    t.MixtureSameFamily: ({}, lambda d: d.component_distribution.support),
}
for _kind, (_parameters, _support) in TABLE.items():
    _kind.arg_constraints = _parameters  # type: ignore[attr-defined]
    _kind.support = (_support if isinstance(_support, c.Constraint)  # type: ignore[attr-defined]
                     else c.dependent_property(_support))
b.Uniform.arg_constraints = property(lambda d: {  # type: ignore[assignment]
    "low": c.less_than(d.high), "high": c.greater_than(d.low)})
