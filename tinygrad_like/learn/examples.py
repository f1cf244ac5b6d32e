"""The graphs that the command explores: a program's loss, or those of an MLP, a ResNet-S and a GPT block."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..core.tensor import Tensor
from ..random import manual_seed
from ..transforms.codegen import run_file
from .explore import explore, page
from .trace import Calls, Trace


def examples() -> dict[str, tuple[dict[str, Any], Callable[[], Tensor]]]:
    """name -> (the model and its data by name, a function that computes the loss)."""
    from .. import nn  # imported here, since the tools themselves need no layers
    from ..nn import functional as F

    manual_seed(0)
    x, labels = Tensor.randn(8, 6), Tensor([0, 2, 1, 2, 0, 1, 1, 0])
    mlp, resnet = nn.MLP([6, 8, 3]), nn.ResNetS(6, width=8, blocks=2, num_classes=3)
    block, words = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", batch_first=True,
                                              norm_first=True), Tensor.randn(2, 5, 8)
    data = {"x": x, "labels": labels}
    return {
        "mlp": ({"mlp": mlp, **data}, lambda: F.cross_entropy(mlp(x), labels)),
        "resnet_s": ({"resnet": resnet, **data}, lambda: F.cross_entropy(resnet(x), labels)),
        "gpt_block": ({"block": block, "words": words}, lambda: (block(words, is_causal=True) ** 2).mean()),
    }


def write(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    return [explore(loss, folder / f"{name}.html", names, title=name) for name, (names, loss) in examples().items()]


class _Reached(BaseException):
    """A program has reached its first backward()."""


def explore_file(file: Path, out: Path) -> Path:
    """Run a program up to its first `backward()`, and write the page of that Tensor, or else of `loss`.

    Raises ValueError if there is neither, and passes on the program's errors.
    """
    space: dict[str, Any] = {"__name__": "__main__", "__file__": str(file)}
    reached: list[tuple[Tensor, Any]] = []

    def catch(self: Tensor, gradient: Any = None, *args: Any, **options: Any) -> None:
        reached.append((self, gradient))
        raise _Reached

    before, path = Tensor.backward, list(sys.path)
    sys.path.insert(0, str(file.resolve().parent))
    try:
        Tensor.backward = catch  # type: ignore[method-assign]
        with Calls() as watch:
            run_file(file, space)
    except _Reached:
        pass
    finally:
        Tensor.backward, sys.path[:] = before, path  # type: ignore[method-assign]
    loss, gradient = reached[0] if reached else (space.get("loss"), None)
    if not isinstance(loss, Tensor) or not loss.requires_grad:
        raise ValueError(f"{file}: calls backward() on nothing, and has no recorded Tensor named `loss`")
    gradient = gradient._data if isinstance(gradient, Tensor) else gradient
    out.write_text(page(Trace(loss, gradient, watch.calls), space, file.stem), encoding="utf-8")
    return out
