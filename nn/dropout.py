"""Dropout layers, Monte Carlo prediction with them (002, 003), and augmentation as a layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tinygrad_like import ops, random
from tinygrad_like.core.graph import mode
from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.dtypes import finfo
from tinygrad_like.errors import named
from tinygrad_like.ops.dropout import check_probability
from tinygrad_like.transforms.switches import no_grad

from .activation import InPlace, ReLU, make_activation
from .linear import Linear
from .module import Configured, Module, described, modes_restored


class _Dropout(InPlace):
    op: Callable
    drops = True

    def __init__(self, p: float = 0.5):
        check_probability(type(self).__name__, p)
        self.p = p

    def __call__(self, x: Tensor) -> Tensor:
        return super().__call__(x) if self.training else Configured.__call__(self, x)  # which changes nothing

    def forward(self, x: Tensor) -> Tensor:
        return self.op(x, self.p, self.training)


class Dropout(_Dropout):
    """In training y = m x / (1 - p), each m 0 with probability p, else 1; in evaluation y = x (002, 003).

    Without `model.eval()` predictions are random. Raises ValueError for p outside [0, 1].
    """

    op = staticmethod(ops.dropout)


class Dropout1d(_Dropout):
    """Dropout of whole channels of signals: x (batch, channels, length)."""

    op = staticmethod(ops.dropout1d)


class Dropout2d(_Dropout):
    """Dropout of whole channels of images, spatial dropout (002): x (batch, channels, height, width)."""

    op = staticmethod(ops.dropout2d)


@named
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Dropout of whole channels of volumes: x (batch, channels, depth, height, width)."""
    if input.ndim == 4:  # one volume
        return dropout3d(input.unsqueeze(0), p, training).squeeze(0)
    if input.ndim != 5:
        raise ValueError(f"dropout3d: takes (batch, channels, depth, height, width), got shape {input.shape}")
    flat = ops.dropout2d(input.reshape(*input.shape[:3], -1), p, training)
    return flat.reshape(*input.shape)


class Dropout3d(_Dropout):
    """Dropout of whole channels of volumes: x (batch, channels, depth, height, width)."""

    op = staticmethod(dropout3d)


class StochasticDepth(_Dropout):
    """In training each example is 0 with probability p, else x / (1 - p); in evaluation y = x.

    At the end of a residual branch it lets every example skip that block now and then: training runs through many
    shallower networks (002's paths). x: (batch, ...). mode: "row", or "batch" to draw once for all examples.
    (Huang et al., Deep networks with stochastic depth, 2016; arguments as in torchvision)
    """

    def __init__(self, p: float, mode: str = "row"):
        super().__init__(p)
        if mode not in ("row", "batch"):
            raise ValueError(f"StochasticDepth: mode must be 'row' or 'batch', got {mode!r}")
        self.mode = mode

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        shape = (len(x) if self.mode == "row" else 1, *(1,) * (x.ndim - 1))
        return x * ops.dropout(Tensor.ones(*shape, dtype=x.dtype), self.p)


class GaussianDropout(_Dropout):
    """In training y = x n, with normal noise n of mean 1 and variance p / (1 - p), 0 <= p < 1; else y = x."""

    op = staticmethod(ops.gaussian_dropout)


class GaussianNoise(Configured):
    """In training y = x + std n, with standard normal noise n for each number; in evaluation y = x (002).

    Small noise in the activations makes each unit robust to that of the others; at the input it is the augmentation
    x' = x + e of 002. Raises ValueError for a negative std.
    """

    drops = True

    def __init__(self, std: float = 0.1):
        if not 0 <= std < math.inf:
            raise ValueError(f"GaussianNoise: std must be a number of at least 0, got {std}")
        self.std = std

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.std == 0:
            return x
        if not hasattr(x, "is_floating_point") or not x.is_floating_point():
            raise TypeError(f"GaussianNoise: takes a Tensor of floats, got {getattr(x, 'dtype', type(x).__name__)}; "
                            "cast it with .float()")
        return x + self.std * wrap(random.normal(x.shape, x.dtype))


class DropConnect(Linear):
    """A Linear that in training drops weights: y = x (M * W)^T / (1 - p) + b, each M 0 with probability p (002).

    x: (..., in_features) -> y: (..., out_features). A whole batch sees the same M. It is scaled as dropout is, so that
    E[y] is the same as in evaluation. Raises ValueError for p outside [0, 1]. (Wan et al. 2013)

    activation: makes a layer a, as nn.ReLU does, so that the result is a(y). Then evaluation gives not a(E[y]) but, by
        moment matching, E[a(u)], where u is normal with y's mean and variance, see `moments`: for a ReLU in closed
        form, m Phi(m / s) + s phi(m / s); for others by Gauss-Hermite quadrature at 20 points.
    """

    drops = True

    def __init__(self, in_features: int, out_features: int, bias: bool = True, p: float = 0.5,
                 activation: Callable[[], Module] | None = None):
        check_probability("DropConnect", p)
        super().__init__(in_features, out_features, bias)
        self.p = p
        self.activation = None if activation is None else make_activation("DropConnect", activation)

    def forward(self, x: Tensor) -> Tensor:
        if self.activation is None:
            return ops.linear(x, ops.dropout(self.weight, self.p, self.training), self.bias)
        if self.training:
            return self.activation(ops.linear(x, ops.dropout(self.weight, self.p), self.bias))
        return self._expected(*self.moments(x))

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean x W^T + b and variance p / (1 - p) x^2 (W^2)^T of y over all masks; as a sum of many terms y is nearly
        normal. Raises ValueError for p = 1."""
        if self.p == 1:
            raise ValueError("DropConnect: with p=1 there are no weights left, and no variance p / (1 - p)")
        variance = ops.linear(x * x, self.weight * self.weight) * (self.p / (1 - self.p))
        return ops.linear(x, self.weight, self.bias), variance

    def _expected(self, mean: Tensor, variance: Tensor) -> Tensor:
        """E[activation(u)] for normal u."""
        assert self.activation is not None
        tiny = float(finfo(mean.dtype).tiny) ** 0.5  # the root has no derivative at 0, where x is 0
        std = ops.sqrt(variance + tiny)
        if type(self.activation) is ReLU:
            z = mean / std
            density = ops.exp(z * z * -0.5) * (2 * math.pi) ** -0.5
            return mean * (ops.erf(z * 0.5**0.5) + 1) * 0.5 + std * density
        points, weights = np.polynomial.hermite_e.hermegauss(20)
        values = [self.activation(mean + std * float(t)) * float(w) for t, w in zip(points, weights, strict=True)]
        return sum(values[1:], values[0]) * (2 * math.pi) ** -0.5

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, p={self.p}"


class MonteCarlo(NamedTuple):
    """What `mc_predict` returns. For regression the last two are None."""

    mean: Tensor
    std: Tensor
    entropy: Tensor | None
    mutual_information: Tensor | None


def mc_predict(model: Module, x: Any, samples: int = 50, dim: int | None = -1) -> MonteCarlo:
    """Monte Carlo dropout: the mean prediction of `samples` thinned networks, and their disagreement (002).

    mean = 1/K sum_k p_k and std (with divisor K), where p_k = softmax(model(x)) along axis dim, with fresh masks for
    each k; for regression dim=None makes p_k = model(x). Both have the shape of model(x); the others lack axis dim:

    entropy = H[mean], with H[p] = -sum_c p_c log p_c in nats: all of the uncertainty.
    mutual_information = H[mean] - 1/K sum_k H[p_k] >= 0: what more data could remove (Houlsby et al. 2011); the
        difference is noise in the data themselves.

    Dropout layers and DropConnect are in training mode, all others, such as batch norm, in evaluation mode; afterwards
    every `training` flag is restored. A module of your own that drops in training needs the class attribute
    `drops = True`. Raises ValueError if no layer drops, since all samples would be equal, or for samples < 1.
    (Gal and Ghahramani 2016)
    """
    if samples < 1:
        raise ValueError(f"mc_predict: samples must be at least 1, got {samples}")
    with no_grad(), _only_dropout(model):
        drawn = [model(x) if dim is None else ops.softmax(model(x), axis=dim) for _ in range(samples)]
    p = np.stack([y.data for y in drawn])
    mean, std = Tensor(p.mean(0)), Tensor(p.std(0))
    if dim is None:
        return MonteCarlo(mean, std, None, None)
    axis = dim % mean.ndim
    total, noise = _entropy(p.mean(0), axis), _entropy(p, axis + 1).mean(0)
    return MonteCarlo(mean, std, Tensor(total), Tensor(np.maximum(total - noise, 0)))  # rounding may leave it below 0


def _entropy(p: np.ndarray, axis: int) -> np.ndarray:
    return -(p * np.log(np.where(p > 0, p, 1))).sum(axis)  # 0 log 0 is 0


@contextmanager
def _only_dropout(model: Module) -> Iterator[None]:
    """With layers that drop in training mode, and all others in evaluation mode."""
    modules = list(model.modules())
    if not any(getattr(module, "drops", False) for module in modules):
        raise ValueError(f"mc_predict: this {type(model).__name__} has no dropout layer: all samples would be equal; "
                         "add nn.Dropout, or use the model as it is")
    with modes_restored(model):
        for module in modules:
            module.training = getattr(module, "drops", False)
        yield


class Augment(Configured):
    """In training y = transform(x, generator), new at each call; in evaluation y = x (002; as Keras has it).

    transform: a function of an array and a NumPy Generator, as all of `tinygrad_like.data` that take images only:
        nn.Sequential(nn.Augment(data.RandomRotation(10)), nn.Conv2d(1, 8, 3), ...)

    It stands before the layers that learn: no gradient passes through it. Raises ValueError if x requires grad in
    training, TypeError for what is no function.
    """

    def __init__(self, transform: Callable[..., np.ndarray]):
        if not callable(transform):
            raise TypeError(f"Augment: transform must be a function of images and a generator, got "
                            f"{described(transform)}")
        self.transform = transform

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        if x.requires_grad and mode.recording:
            raise ValueError("Augment: no gradient passes through it, but its input requires grad; put it first, or "
                             "use x.detach()")
        return wrap(random.sampled("augment", self._augmented, x))

    def _augmented(self, generator: np.random.Generator, images: np.ndarray) -> np.ndarray:
        rows = random.rows
        if rows is None or not getattr(self.transform, "takes_rows", False):
            return np.asarray(self.transform(images, generator), images.dtype)
        return np.asarray(self.transform(images, generator, rows), images.dtype)
