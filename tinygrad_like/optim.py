"""`optim` under the name that it has where PyTorch's is `torch.optim`, with all its modules."""

import sys

import optim as optim

for _name, _module in list(sys.modules.items()):
    if _name == "optim" or _name.startswith("optim."):
        sys.modules[f"tinygrad_like.{_name}"] = _module
