import importlib.util
import sys

import pytest

from tinygrad_like import manual_seed


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same random state, whatever ran before it."""
    manual_seed(0)


@pytest.fixture(scope="session")
def torchvision():
    """torchvision, or None; also where it was built for CUDA, and PyTorch was not. Transformers imports it, too."""
    if importlib.util.find_spec("torchvision") is None:
        return None
    try:
        import torchvision.models
    except RuntimeError:  # its kernels cannot be loaded, and then not even their names are known
        import torch

        for module in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
            del sys.modules[module]
        library = torch.library.Library("torchvision", "FRAGMENT")
        for kernel in "nms", "qnms":
            library.define(f"{kernel}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision.models

        torchvision.kernels = library  # which must live as long
    return torchvision
