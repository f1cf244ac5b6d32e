"""Probability distributions with PyTorch's names: `Normal(mean, std).log_prob(x)`.

The parameters are Tensors or numbers, broadcast to `batch_shape`, and gradients flow to them from `log_prob`,
`entropy`, `kl_divergence` and `rsample`, not from `sample`. A sample has shape (*sample_shape, *batch_shape,
*event_shape). Constructors raise ValueError for parameters that define no distribution.
"""

import sys

from . import constraints
from .base import Distribution, Independent
from .continuous import Beta, Dirichlet, Exponential, Gamma, Laplace, MultivariateNormal, Normal, Uniform
from .discrete import Bernoulli, Binomial, Categorical, Poisson
from .divergence import kl_divergence
from .transformed import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    SigmoidTransform,
    TanhTransform,
    Transform,
    TransformedDistribution,
)

__all__ = [
    "AffineTransform", "Bernoulli", "Beta", "Binomial", "Categorical", "ComposeTransform", "Dirichlet", "Distribution",
    "ExpTransform", "Exponential", "Gamma", "Independent", "Laplace", "MultivariateNormal", "Normal", "Poisson",
    "SigmoidTransform", "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "constraints",
    "kl_divergence",
]
# PyTorch has each in a module of its own: `from torch.distributions.normal import Normal`.
for _name in ("bernoulli beta binomial categorical dirichlet distribution exponential gamma independent kl laplace "
              "multivariate_normal normal poisson transformed_distribution transforms uniform").split():
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = sys.modules[__name__]
