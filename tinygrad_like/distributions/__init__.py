"""Probability distributions with PyTorch's names: `Normal(mean, std).log_prob(x)`.

The parameters are Tensors or numbers, broadcast to `batch_shape`, and gradients flow to them from `log_prob`,
`entropy`, `kl_divergence` and `rsample`, not from `sample`. A sample has shape (*sample_shape, *batch_shape,
*event_shape). Constructors raise ValueError for parameters that define no distribution.
"""

# isort: off
import sys

from .base import Bernoulli, Categorical, Distribution, Independent, MultivariateNormal, Normal, Uniform
from .divergence import kl_divergence
from .positive import (
    Beta, Binomial, Cauchy, Dirichlet, Exponential, Gamma, Geometric, Gumbel, HalfNormal, Laplace, OneHotCategorical,
    OneHotCategoricalStraightThrough, Poisson, StudentT)
from .transformed import (
    AffineTransform, ComposeTransform, ExpTransform, LogNormal, MixtureSameFamily, SigmoidTransform, TanhTransform,
    Transform, TransformedDistribution)

from .more import (
    Chi2, HalfCauchy, InverseGamma, Kumaraswamy, Multinomial, NegativeBinomial, Pareto, RelaxedBernoulli,
    RelaxedOneHotCategorical, VonMises, Weibull)
from .low_rank import LowRankMultivariateNormal
from .registry import (
    ConstraintRegistry, IndependentTransform, LowerCholeskyTransform, PositiveDefiniteTransform, SoftmaxTransform,
    StickBreakingTransform, biject_to, identity_transform, transform_to)
from . import constraints, moments, supports  # noqa: F401

__all__ = [
    "Chi2", "HalfCauchy", "InverseGamma", "Multinomial", "NegativeBinomial", "Pareto", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "Weibull",
    "ConstraintRegistry", "IndependentTransform", "Kumaraswamy", "LowRankMultivariateNormal", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "SoftmaxTransform", "StickBreakingTransform", "VonMises", "biject_to",
    "identity_transform", "transform_to",
    "AffineTransform", "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "ComposeTransform", "Dirichlet",
    "Distribution", "ExpTransform", "Exponential", "Gamma", "Geometric", "Gumbel", "HalfNormal", "Independent",
    "Laplace", "LogNormal", "MixtureSameFamily", "MultivariateNormal", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Poisson", "SigmoidTransform", "StudentT", "TanhTransform", "Transform",
    "TransformedDistribution", "Uniform", "constraints", "kl_divergence",
]
# PyTorch has each in a module of its own: `from torch.distributions.normal import Normal`.
for _name in ("bernoulli beta binomial categorical cauchy dirichlet distribution exponential gamma geometric gumbel "
              "half_normal independent kl laplace log_normal mixture_same_family multivariate_normal normal "
              "chi2 half_cauchy inverse_gamma multinomial negative_binomial pareto relaxed_bernoulli "
              "relaxed_categorical weibull constraint_registry kumaraswamy lowrank_multivariate_normal von_mises "
              "one_hot_categorical poisson studentT transformed_distribution transforms uniform").split():
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = sys.modules[__name__]
