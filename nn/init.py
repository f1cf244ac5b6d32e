"""Initialise parameters in place, with the package's generator. Names and formulas are PyTorch's.

Each function fills a Tensor in place and returns it.
"""

from __future__ import annotations

import math

import numpy as np

from tinygrad_like import random
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.methods.protocol import write


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform on [a, b)."""
    return _fill(tensor, _noise("uniform", tensor, tensor.shape, a, b - a))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal with the given mean and standard deviation."""
    return _fill(tensor, _noise("normal", tensor, tensor.shape, mean, std))


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Normal with the given mean and standard deviation, truncated to [a, b] by drawing again.

    As in PyTorch, `a` and `b` are values, not multiples of `std`. Raises ValueError if [a, b] holds less than 1 % of
    the distribution.
    """
    inside = (math.erf((b - mean) / (std * math.sqrt(2))) - math.erf((a - mean) / (std * math.sqrt(2)))) / 2
    if inside < 0.01:
        raise ValueError(f"trunc_normal_: [{a}, {b}] holds {max(inside, 0):.2%} of the normal with mean {mean} and std "
                         f"{std}; widen it, or use uniform_")
    values = _noise("normal", tensor, tensor.shape, mean, std)
    while (outside := (values < a) | (values > b)).any():
        values[outside] = _noise("normal", tensor, (int(outside.sum()),), mean, std)
    return _fill(tensor, values)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Every element `val`."""
    return _fill(tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    """Every element 0."""
    return _fill(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Every element 1."""
    return _fill(tensor, 1)


def eye_(tensor: Tensor) -> Tensor:
    """The identity, or ones on the main diagonal if not square. Raises ValueError unless it is a matrix."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_: needs a matrix, got shape {tensor.shape}")
    return _fill(tensor, np.eye(tensor.shape[0], tensor.shape[1]))


# Initialisations that keep the variance of activations or gradients across layers ------------------------------


def fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The number of inputs per output of a layer with this weight, and of outputs per input.

    For a weight (out, in) or (out, in, *kernel), fan_in = in * kernel size and fan_out = out * kernel size.
    Raises ValueError for fewer than 2 axes: a bias has no fan.
    """
    if tensor.ndim < 2:
        raise ValueError("fan_in_and_fan_out: needs a weight (out, in, *kernel) of at least 2 axes, got shape "
                         f"{tensor.shape}")
    outputs, inputs, *kernel = tensor.shape
    return inputs * math.prod(kernel), outputs * math.prod(kernel)


_calculate_fan_in_and_fan_out = fan_in_and_fan_out  # PyTorch programs call it in `reset_parameters`


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The inverse of the factor by which an activation scales the standard deviation of its input, as in PyTorch.

    nonlinearity: "linear", "sigmoid" and any "conv..." 1, "tanh" 5/3, "relu" sqrt(2), "selu" 3/4, and "leaky_relu"
    sqrt(2 / (1 + param^2)), where param is the negative slope (default 0.01). Raises ValueError for other names.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
    gains |= {f"conv{t}{n}d": 1.0 for t in ("", "_transpose") for n in (1, 2, 3)}
    if nonlinearity not in gains:
        raise ValueError(f"calculate_gain: no gain is known for {nonlinearity!r}; use one of {[*gains, 'leaky_relu']}")
    return gains[nonlinearity]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform with variance gain^2 * 2 / (fan_in + fan_out): on [-s, s), s = gain sqrt(6 / (fan_in + fan_out)).

    For tanh- and sigmoid-like activations (003). Glorot and Bengio 2010.
    """
    bound = gain * math.sqrt(6 / sum(fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal with variance gain^2 * 2 / (fan_in + fan_out). Glorot and Bengio 2010."""
    return normal_(tensor, 0, gain * math.sqrt(2 / sum(fan_in_and_fan_out(tensor))))


def kaiming_uniform_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Uniform with variance gain^2 / fan: on [-s, s), s = gain sqrt(3 / fan).

    For ReLU-like activations (003). He et al. 2015.

    a: the negative slope of a leaky ReLU. mode: "fan_in" keeps the variance of activations, "fan_out" of gradients.
    """
    bound = math.sqrt(3) * _kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Normal with variance gain^2 / fan; the arguments are those of `kaiming_uniform_`. He et al. 2015."""
    return normal_(tensor, 0, _kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity))


def _kaiming_std(who: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"{who}: mode must be 'fan_in' or 'fan_out', got {mode!r}")
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in_and_fan_out(tensor)[mode == "fan_out"])


def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """`gain` times a random matrix with orthonormal rows or columns, whichever are fewer; other axes are columns.

    Raises ValueError for fewer than 2 axes. Saxe et al. 2013.
    """
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_: needs at least 2 axes, got shape {tensor.shape}")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    q, r = np.linalg.qr(random.numbers().standard_normal((max(rows, columns), min(rows, columns))))
    q *= np.where(np.diag(r) < 0, -1, 1)  # else Q would not be uniformly distributed
    return _fill(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


def _noise(name: str, tensor: Tensor, shape: tuple[int, ...], *parameters: float) -> np.ndarray:
    return random.noise(name, shape, _float_dtype(tensor), None, *parameters)


def _float_dtype(tensor: Tensor) -> np.dtype:
    if not tensor.is_floating_point():
        raise TypeError(f"init: random values need a floating-point Tensor, got {tensor.dtype}")
    return tensor.dtype


def _fill(tensor: Tensor, values: np.ndarray | float) -> Tensor:
    write(tensor._data, ..., values)
    tensor.touch()
    return tensor
