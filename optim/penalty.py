"""Keep weights small: penalties for a loss, and parameter groups for weight decay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

# By name, since optim does not import nn; subclasses count as their bases.
UNDECAYED = {"LayerNorm", "LayerNorm2d", "RMSNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
             "SyncBatchNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "Embedding",
             "LearnedEncoding"}


def l1_penalty(parameters: Iterable[Tensor]) -> Tensor:
    """sum |w| over all entries of all parameters, which favours weights that are exactly zero (002)."""
    return _total("l1_penalty", parameters, lambda w: ops.abs(w).sum())


def l2_penalty(parameters: Iterable[Tensor]) -> Tensor:
    """sum w^2 over all entries of all parameters (002).

    With SGD, adding c times it to the loss equals weight decay 2 c. Adam rescales its gradient together with the
    loss's; AdamW's decoupled decay avoids this.
    """
    return _total("l2_penalty", parameters, lambda w: (w * w).sum())


def decay_groups(model: Any, weight_decay: float, skip: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Two parameter groups for an optimizer: one with weight_decay, one without.

    Without decay: biases, scales and all other parameters of fewer than two axes; the parameters of norms and
    embeddings, whose size does not determine how much the output varies; and those whose dotted name contains a string
    in `skip`. Frozen parameters and empty groups are left out.

        optim.AdamW(optim.decay_groups(model, 0.05, skip=["class_token"]), lr=1e-3)
    """
    exempt = {p for module in model.modules() if UNDECAYED & {kind.__name__ for kind in type(module).__mro__}
              for p in module.parameters(recurse=False)}
    decayed: list[Tensor] = []
    rest: list[Tensor] = []
    for name, p in model.named_parameters():
        if p.requires_grad:
            free = p.ndim < 2 or p in exempt or any(part in name for part in skip)
            (rest if free else decayed).append(p)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def _total(who: str, parameters: Iterable[Tensor], of: Any) -> Tensor:
    terms = [of(w) for w in ([parameters] if isinstance(parameters, Tensor) else parameters)]
    if not terms:
        raise ValueError(f"{who}: no parameters; a generator like model.parameters() can be read only once")
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
