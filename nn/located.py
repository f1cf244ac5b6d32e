"""Which layer of a model an error comes from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tinygrad_like.core.tensor import Tensor


def locate(error: Any, module: Any, inputs: Sequence[Any]) -> Any:
    """Note on an error that leaves a module the dotted path in it of the innermost of its modules that the error left.

    The notes are in order from the outside; there is more than one if a module runs another that is no part of it.
    """
    with suppress(Exception):  # a module half made, or an error without attributes, must not hide what is wrong
        inner, what, note = vars(error).get("_layer", (None, "", ""))
        path = next((path for path, m in module.named_modules() if m is inner), "")
        if path:
            old, note = note, f"in layer {path}, {what}"
            error.__notes__ = [note, *[other for other in getattr(error, "__notes__", []) if other != old]]
            error._layer = inner, what, note
        elif inner is not module:
            given = ", ".join(f"{x.dtype} {x.shape}" if isinstance(x, Tensor) else type(x).__name__ for x in inputs)
            error._layer = module, f"{type(module).__name__}({module.extra_repr()}), given {given or 'nothing'}", ""
    return error
