"""Probability distributions with PyTorch's names: `Normal(mean, std).log_prob(x)`.

The parameters are Tensors or numbers, broadcast to `batch_shape`, and gradients flow to them from `log_prob`,
`entropy`, `kl_divergence` and `rsample`, not from `sample`. A sample has shape (*sample_shape, *batch_shape,
*event_shape). Constructors raise ValueError for parameters that define no distribution.
"""

import sys

from . import constraints
from .base import Distribution, Independent, kl_divergence
from .families import Bernoulli, Categorical, MultivariateNormal, Normal, Uniform

__all__ = ["Bernoulli", "Categorical", "Distribution", "Independent", "MultivariateNormal", "Normal", "Uniform",
           "constraints", "kl_divergence"]
# PyTorch has each in a module of its own: `from torch.distributions.normal import Normal`.
for _name in "bernoulli categorical distribution independent kl multivariate_normal normal uniform".split():
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = sys.modules[__name__]
