"""Fine-tuning: a new head for a trained model."""

from __future__ import annotations

from .. import nn


def replace_head(model: nn.Module, classes: int) -> nn.Linear:
    """Replace the model's last nn.Linear with a new one that has `classes` outputs, and return it.

    To train only the head, first freeze everything:

        model.requires_grad_(False)
        head = replace_head(model, classes=5)
        optimizer = optim.AdamW(head.parameters())

    A frozen norm still updates its running statistics unless it is in evaluation mode. The last Linear is the one
    defined last. Raises ValueError if the model does not contain one.
    """
    layers = [name for name, module in model.named_modules() if isinstance(module, nn.Linear) and name]
    if not layers:
        raise ValueError(f"replace_head: this {type(model).__name__} has no nn.Linear in it to replace")
    path, _, name = layers[-1].rpartition(".")
    old: nn.Linear = model.get_submodule(layers[-1])  # type: ignore[assignment]
    head = nn.Linear(old.in_features, classes, bias=old.bias is not None).to(old.weight.dtype)
    setattr(model.get_submodule(path), name, head)
    return head
