"""PyTorch's `torch.utils`: its `data` and its `checkpoint`."""

import sys
from types import ModuleType

from ..rings import missing
from ..transforms import checkpointing

_NAME = "tinygrad_like.utils"

checkpoint = sys.modules[f"{_NAME}.checkpoint"] = ModuleType(f"{_NAME}.checkpoint", checkpointing.__doc__)
checkpoint.checkpoint = checkpointing.checkpoint  # type: ignore[attr-defined]
__path__: list[str] = []  # so that `import_lines.Finder` is asked for missing names
__all__ = ["checkpoint"]
if not missing("data"):
    from .. import data

    __all__ += ["data"]
    sys.modules[f"{_NAME}.data"] = data
    for _name in "sampler dataset dataloader distributed _utils _utils.collate".split():  # each has all that data has
        sys.modules[f"{_NAME}.data.{_name}"] = data
