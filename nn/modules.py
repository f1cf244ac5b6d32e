"""PyTorch's deeper import paths: `nn.modules.batchnorm._BatchNorm`, `from nn.modules.utils import _pair`.

All modules there, `nn.modules.conv` and so on, are this one.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from tinygrad_like.core.tensor import Tensor

from . import *  # noqa: F403
from .conv import _Conv as _ConvNd
from .dropout import _Dropout as _DropoutNd
from .loss import _Loss
from .norm import BatchNorm as _BatchNorm
from .norm import _ChannelNorm as _NormBase
from .norm import _InstanceNorm

__all__ = ["_BatchNorm", "_ConvNd", "_DropoutNd", "_InstanceNorm", "_Loss", "_NormBase", "_WeightedLoss", "_ntuple",
           "_pair", "_quadruple", "_single", "_triple"]


def _ntuple(n: int) -> Callable[[Any], tuple]:
    """A function that repeats its argument n times, unless it is a sequence."""
    return lambda x: tuple(x) if isinstance(x, Iterable) else (x,) * n


class _WeightedLoss(_Loss):
    """The base of losses with weights of the classes, which are a buffer."""

    weight: Tensor | None

    def __init__(self, weight: Any = None, *, reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self._weigh("weight", weight)


_single, _pair, _triple, _quadruple = map(_ntuple, (1, 2, 3, 4))
for _name in ("activation batchnorm container conv dropout flatten fold instancenorm linear loss module normalization "
              "padding pooling rnn sparse transformer upsampling utils").split():
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = sys.modules[__name__]
