"""PyTorch's `torch.utils`: its `data` and its `checkpoint`."""

import sys

from ..rings import missing
from ..transforms import checkpointing
from .absent import Part

_NAME = "tinygrad_like.utils"

checkpoint = Part("utils.checkpoint", checkpoint=checkpointing.checkpoint)
__path__: list[str] = []  # so that `absent.Finder` is asked for missing names
__all__ = ["checkpoint"]
if not missing("data"):
    from .. import data

    __all__ += ["data"]
    sys.modules[f"{_NAME}.data"] = data
    for _name in "sampler dataset dataloader distributed _utils _utils.collate".split():  # each has all that data has
        sys.modules[f"{_NAME}.data.{_name}"] = data
