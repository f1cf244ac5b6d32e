"""PyTorch's `torch.utils`: its `data` and its `checkpoint`."""

import sys

from ..rings import missing
from ..transforms import checkpointing
from .absent import Part

_NAME = "tinygrad_like.utils"

checkpoint = Part("utils.checkpoint", checkpoint=checkpointing.checkpoint)
__path__: list[str] = []  # makes `absent.Finder` handle missing names
__all__ = ["checkpoint"]
if not missing("data"):
    from .. import data

    __all__ += ["data"]
    sys.modules[f"{_NAME}.data"] = data
    for _name in "sampler dataset dataloader distributed _utils _utils.collate".split():  # each has all of data's names
        sys.modules[f"{_NAME}.data.{_name}"] = data
