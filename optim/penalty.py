"""Keeping weights small: penalties for a loss, and the choice of parameters that decay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

# By name, as the optimizers do not know the layers; subclasses count as their bases.
UNDECAYED = {"LayerNorm", "LayerNorm2d", "RMSNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
             "SyncBatchNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "Embedding",
             "LearnedEncoding"}


def l1_penalty(parameters: Iterable[Tensor]) -> Tensor:
    """sum |w| over all entries of all parameters, which favours weights that are exactly zero (002)."""
    return _total("l1_penalty", parameters, lambda w: ops.abs(w).sum())


def l2_penalty(parameters: Iterable[Tensor]) -> Tensor:
    """sum w^2 over all entries of all parameters (002).

    With SGD, adding it to the loss with a factor c is weight decay of 2 c. Adam rescales its gradient like that of the
    loss; AdamW's decoupled decay avoids this.
    """
    return _total("l2_penalty", parameters, lambda w: (w * w).sum())


def decay_groups(model: Any, weight_decay: float, skip: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Two parameter groups for an optimizer: those with weight_decay, and those with none.

    No decay for biases, scales and all other parameters of fewer than two axes, for the parameters of norms and
    embeddings, whose size does not tell how much the output varies, and for those whose dotted name contains one of the
    strings in `skip`. Frozen parameters and empty groups are left out.

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
