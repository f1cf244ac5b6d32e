"""Dropout layers, and Monte Carlo dropout (002, 003)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named
from tinygrad_like.ops.dropout import check_probability
from tinygrad_like.transforms.switches import no_grad

from .activation import InPlace
from .configured import Configured
from .linear import Linear
from .module import Module, modes_restored


class _Dropout(InPlace):
    drops = True
    p: float

    def __post_init__(self):
        check_probability(type(self).__name__, self.p)

    def __call__(self, x: Tensor) -> Tensor:
        return super().__call__(x) if self.training else Configured.__call__(self, x)  # a no-op


class Dropout(_Dropout, op=ops.dropout):
    """In training y = m x / (1 - p), each m 0 with probability p, else 1; in evaluation y = x (002, 003).

    Without `model.eval()` predictions are random. Raises ValueError for p outside [0, 1].
    """


class Dropout1d(_Dropout, op=ops.dropout1d):
    """Dropout of whole channels of signals: x (batch, channels, length)."""


class Dropout2d(_Dropout, op=ops.dropout2d):
    """Dropout of whole channels of images: spatial dropout (002); x (batch, channels, height, width)."""


@named
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Dropout of whole channels of volumes: x (batch, channels, depth, height, width)."""
    if input.ndim == 4:  # one volume
        return dropout3d(input.unsqueeze(0), p, training).squeeze(0)
    if input.ndim != 5:
        raise ValueError(f"dropout3d: takes (batch, channels, depth, height, width), got shape {input.shape}")
    flat = ops.dropout2d(input.reshape(*input.shape[:3], -1), p, training)
    return flat.reshape(*input.shape)


class Dropout3d(_Dropout, op=dropout3d):
    """Dropout of whole channels of volumes: x (batch, channels, depth, height, width)."""


class GaussianDropout(_Dropout, op=ops.gaussian_dropout):
    """In training y = x n, with normal noise n of mean 1 and variance p / (1 - p), 0 <= p < 1; else y = x."""


class DropConnect(Linear):
    """A Linear that drops weights in training: y = x (M * W)^T / (1 - p) + b, each M 0 with probability p (002).

    x: (..., in_features) -> y: (..., out_features). A whole batch shares one M. Scaled like dropout, E[y] is the same
    as in evaluation. Raises ValueError for p outside [0, 1]. (Wan et al. 2013)
    """

    drops = True

    def __init__(self, in_features: int, out_features: int, bias: bool = True, p: float = 0.5):
        check_probability("DropConnect", p)
        super().__init__(in_features, out_features, bias)
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return ops.linear(x, ops.dropout(self.weight, self.p, self.training), self.bias)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, p={self.p}"


class MonteCarlo(NamedTuple):
    """The result of `mc_predict`. For regression the last two are None."""

    mean: Tensor
    std: Tensor
    entropy: Tensor | None
    mutual_information: Tensor | None


def mc_predict(model: Module, x: Any, samples: int = 50, dim: int | None = -1) -> MonteCarlo:
    """Monte Carlo dropout: the mean prediction of `samples` thinned networks, and their disagreement (002).

    mean = 1/K sum_k p_k and std (with divisor K), where p_k = softmax(model(x)) along axis dim, with new masks for each
    k; dim=None is for regression: p_k = model(x). Both have the shape of model(x); the others lack axis dim:

    entropy = H[mean], with H[p] = -sum_c p_c log p_c in nats: the total uncertainty. mutual_information = H[mean] - 1/K
    sum_k H[p_k] >= 0: the part that more data could remove (Houlsby et al. 2011); the rest is noise in the data.

    Dropout layers and DropConnect run in training mode, all others, such as batch norm, in evaluation mode; every
    `training` flag is restored afterwards. Your own module that drops in training needs the class attribute `drops =
    True`. Raises ValueError if no layer drops, since all samples would be equal, or for samples < 1. (Gal and
    Ghahramani 2016)
    """
    if samples < 1:
        raise ValueError(f"mc_predict: samples must be at least 1, got {samples}")
    with no_grad(), _only_dropout(model):
        drawn = [model(x) if dim is None else ops.softmax(model(x), axis=dim) for _ in range(samples)]
    p = np.stack([y.numpy() for y in drawn])
    mean, std = Tensor(p.mean(0)), Tensor(p.std(0))
    if dim is None:
        return MonteCarlo(mean, std, None, None)
    axis = dim % mean.ndim
    total, noise = _entropy(p.mean(0), axis), _entropy(p, axis + 1).mean(0)
    return MonteCarlo(mean, std, Tensor(total), Tensor(np.maximum(total - noise, 0)))  # rounding may make it negative


def _entropy(p: np.ndarray, axis: int) -> np.ndarray:
    return -(p * np.log(np.where(p > 0, p, 1))).sum(axis)  # 0 log 0 is 0


@contextmanager
def _only_dropout(model: Module) -> Iterator[None]:
    """A context with the dropping layers in training mode and all others in evaluation mode."""
    modules = list(model.modules())
    if not any(getattr(module, "drops", False) for module in modules):
        raise ValueError(f"mc_predict: this {type(model).__name__} has no dropout layer: all samples would be equal; "
                         "add nn.Dropout, or use the model as it is")
    with modes_restored(model):
        for module in modules:
            module.training = getattr(module, "drops", False)
        yield
