import importlib.util
import sys

import pytest

from tinygrad_like import manual_seed


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same random state, whatever ran before it."""
    manual_seed(0)


@pytest.fixture(autouse=True)
def proofs(request, monkeypatch):
    """Compiled code that gives other numbers than Python did is thrown away, and nothing but speed would tell: a test
    fails if that happens in it, unless it is marked `rejected`."""
    if importlib.util.find_spec("tinygrad_like.kernels") is None:  # see test_rings.py
        yield
        return
    from tinygrad_like.capture import program as replay

    found, fastest = [], replay._fastest

    def noting(*arguments):
        program = fastest(*arguments)
        found.extend(program.rejected)
        return program

    monkeypatch.setattr(replay, "_fastest", noting)
    yield
    assert not found or request.node.get_closest_marker("rejected"), f"faster code gave other numbers, in {found}"


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
