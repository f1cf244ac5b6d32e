"""Losses as modules, called as `loss(input, target)`; the functions, with their formulas, are in `ops`.

reduction: "mean", "sum" or "none", one loss per element. The constructor raises ValueError for any other.
"""

from __future__ import annotations

from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.ops.softmax import check_reduction

from .module import Module


class _Loss(Module):
    def __init__(self, *, reduction: str = "mean"):
        check_reduction(type(self).__name__, reduction)
        self.reduction = reduction

    def count(self, target: Tensor) -> float:
        """The number by which the mean over these targets divides: their weight in a mean over several batches."""
        return target.size

    def _weigh(self, name: str, weight: Any) -> None:
        """Weights are buffers: part of the state, cast with the module, not trained."""
        self.register_buffer(name, weight if weight is None or isinstance(weight, Tensor) else Tensor(weight))

    def extra_repr(self) -> str:
        settings = (f"{name}={value!r}" for name, value in self.__dict__.items()
                    if name != "training" and isinstance(value, str | int | float))
        return ", ".join(settings)


class _LabelLoss(_Loss):
    weight: Tensor | None
    ignore_index: int

    def count(self, target: Tensor) -> float:
        """The sum of the weights of the labels that count; for probabilities, the number of examples."""
        if target.is_floating_point():
            return target.size // target.shape[min(1, target.ndim - 1)]
        labels = target.numpy()[target.numpy() != self.ignore_index]
        return labels.size if self.weight is None else float(self.weight.numpy().take(labels, mode="clip").sum())


class CrossEntropyLoss(_LabelLoss):
    """-log softmax(input)[target] (003). It takes logits: do not apply softmax first.

    input: (batch, classes, ...) or (classes,)
    target: class indices, of that shape without classes, or probabilities, of that shape
    weight: (classes,), a factor per class. ignore_index: a target that does not count.
    label_smoothing: eps mixes the target with the uniform distribution, (1 - eps) q + eps / classes.
    """

    def __init__(self, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean",
                 label_smoothing: float = 0.0):
        if not 0 <= label_smoothing <= 1:
            raise ValueError(f"CrossEntropyLoss: label_smoothing must lie in [0, 1], got {label_smoothing}")
        super().__init__(reduction=reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self._weigh("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return ops.cross_entropy(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
                                 label_smoothing=self.label_smoothing)


class NLLLoss(_LabelLoss):
    """-input[target], the negative log-likelihood of log-probabilities such as those of LogSoftmax.

    Shapes, weight and ignore_index are those of CrossEntropyLoss, with class indices as targets.
    """

    def __init__(self, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self.ignore_index = ignore_index
        self._weigh("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return ops.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(_Loss):
    """(input - target)^2, of equal shapes."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return ops.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """|input - target|, of equal shapes."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return ops.l1_loss(input, target, reduction=self.reduction)


class HuberLoss(_Loss):
    """d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2), with d = input - target."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return ops.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SmoothL1Loss(_Loss):
    """d^2 / (2 beta) for |d| < beta, else |d| - beta / 2, with d = input - target; L1Loss for beta = 0."""

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0):
        super().__init__(reduction=reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return ops.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class BCELoss(_Loss):
    """-(t log p + (1 - t) log(1 - p)) of probabilities p in [0, 1]. For logits BCEWithLogitsLoss is more accurate.

    weight: a factor per element, broadcast.
    """

    weight: Tensor | None

    def __init__(self, weight: Any = None, *, reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self._weigh("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return ops.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """-(w t log p + (1 - t) log(1 - p)) with p = sigmoid(input), computed without overflow.

    weight: a factor per element, broadcast. pos_weight: w, a factor of the positive part, broadcast: one per class.
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(self, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None):
        super().__init__(reduction=reduction)
        self._weigh("weight", weight)
        self._weigh("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return ops.binary_cross_entropy_with_logits(input, target, self.weight, self.pos_weight,
                                                    reduction=self.reduction)


class KLDivLoss(_Loss):
    """t (log t - input) for log-probabilities input and probabilities t, or their logarithms with log_target=True.

    reduction: also "batchmean", the sum divided by the batch size, which is the divergence itself. "mean" divides by
    the number of elements.
    """

    def __init__(self, *, reduction: str = "mean", log_target: bool = False):
        super().__init__(reduction="sum" if reduction == "batchmean" else reduction)
        self.reduction, self.log_target = reduction, log_target

    def count(self, target: Tensor) -> float:
        return len(target) if self.reduction == "batchmean" else target.size

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return ops.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class MarginRankingLoss(_Loss):
    """max(0, -t (x1 - x2) + margin): t = 1 where x1 should be larger, -1 where x2 is."""

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return ops.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """max(0, |a - p| - |a - n| + margin) of anchors, positives and negatives (Balntas et al. 2016)."""

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, *,
                 reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return ops.triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps,
                                       swap=self.swap, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """(log v + (input - target)^2 / v) / 2 with v = max(var, eps)."""

    def __init__(self, full: bool = False, eps: float = 1e-6, *, reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return ops.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)
