"""`nn` under the name that it has where PyTorch's is `torch.nn`, with all its modules."""

import sys

import nn as nn

for _name, _module in list(sys.modules.items()):
    if _name == "nn" or _name.startswith("nn."):
        sys.modules[f"tinygrad_like.{_name}"] = _module
