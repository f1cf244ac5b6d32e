"""Max pooling over windows that begin at random, almost equal distances: a size shrinks by any factor."""

from __future__ import annotations

from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

from .module import Configured

Size = int | tuple[int, ...]


def _pooled(rank: int, x: Tensor, kernel_size: Size, output_size: Size | None, output_ratio: Any,
            samples: Tensor | None) -> Any:
    spatial = x.shape[-rank:]
    if output_size is None:
        _check(f"fractional_max_pool{rank}d", output_size, output_ratio)
        ratios = output_ratio if isinstance(output_ratio, tuple | list) else (output_ratio,) * rank
        output_size = tuple([int(n * ratio) for n, ratio in zip(spatial, ratios, strict=True)])
    if samples is None:
        samples = Tensor.rand(*x.shape[:-rank] if x.ndim == rank + 2 else (1, *x.shape[:1]), rank, dtype=x.dtype)
    sizes = ops.pool.each(f"fractional_max_pool{rank}d", "output_size", output_size, rank, 1)
    return ops.fractional_max_pool(x, kernel_size, tuple(sizes), samples)


def _check(who: str, output_size: Any, output_ratio: Any) -> None:
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{who}: give either output_size or output_ratio, got {output_size} and {output_ratio}")
    ratios = output_ratio if isinstance(output_ratio, tuple | list) else (output_ratio,)
    if output_ratio is not None and not all([0 < ratio < 1 for ratio in ratios]):
        raise ValueError(f"{who}: output_ratio={output_ratio} must lie between 0 and 1")


def fractional_max_pool2d(input: Tensor, kernel_size: Size, output_size: Size | None = None, output_ratio: Any = None,
                          return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
    """The largest of windows of an image that begin at random, see `ops.fractional_max_pool`.

    output_size: how many windows; or output_ratio, so many for each pixel, from 0 to 1.
    """
    found = _pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


def fractional_max_pool3d(input: Tensor, kernel_size: Size, output_size: Size | None = None, output_ratio: Any = None,
                          return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
    """The largest of windows of a volume that begin at random, see `fractional_max_pool2d`."""
    found = _pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


class _FractionalMaxPool(Configured):
    rank: int
    _random_samples: Tensor | None

    def __init__(self, kernel_size: Size, output_size: Size | None = None, output_ratio: Any = None,
                 return_indices: bool = False, _random_samples: Tensor | None = None):
        _check(type(self).__name__, output_size, output_ratio)
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples, persistent=False)

    def forward(self, x: Tensor) -> Any:
        found = _pooled(self.rank, x, self.kernel_size, self.output_size, self.output_ratio, self._random_samples)
        return found if self.return_indices else found[0]


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest of windows that begin at random: (batch, channels, height, width) -> (..., rows, columns).

    output_size: how many windows; or output_ratio, so many for each pixel, from 0 to 1. return_indices: also give where
    they were, for MaxUnpool2d. Source: Graham 2014. Raises ValueError if not exactly one of the two is given.
    """

    rank = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The same of volumes, see FractionalMaxPool2d."""

    rank = 3
