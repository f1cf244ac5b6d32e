"""Losses as modules, called as `loss(input, target)`; the functions, with their formulas, are in `ops`.

reduction: "mean", "sum" or "none", one loss per element. The constructor raises ValueError for others.
"""

from __future__ import annotations

from collections.abc import Callable

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.ops.softmax import check_reduction

from .configured import Configured


class _Loss(Configured):
    """The weight is a buffer: in the state_dict, cast with the module, not trained."""

    forward: Callable[..., Tensor]
    inputs, by_position = 2, False
    reduction: str

    def __post_init__(self):
        check_reduction(type(self).__name__, self.reduction)
        self.__dict__["_buffers"] = {name: True for name in self._options if name in ("weight", "pos_weight")}
        for name in self._buffers:
            w = getattr(self, name)
            setattr(self, name, w if w is None or isinstance(w, Tensor) else Tensor(w))

    def count(self, target: Tensor) -> float:
        """The divisor of the mean over these targets: their weight in a mean over several batches."""
        return target.size

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._options if name not in self._buffers)


class _LabelLoss(_Loss):
    weight: Tensor | None
    ignore_index: int

    def count(self, target: Tensor) -> float:
        """The sum of the weights of the labels that are not ignored; for probabilities, the number of examples."""
        if target.is_floating_point():
            return target.size // target.shape[min(1, target.ndim - 1)]
        labels = target.numpy()[target.numpy() != self.ignore_index]
        return labels.size if self.weight is None else float(self.weight.numpy().take(labels, mode="clip").sum())


class CrossEntropyLoss(_LabelLoss, op=ops.cross_entropy):
    """-log softmax(input)[target] (003). It takes logits: do not apply softmax first.

    input: (batch, classes, ...) or (classes,)
    target: class indices, of that shape without the class axis, or probabilities, of that shape
    weight: (classes,), a factor per class. ignore_index: a target that is ignored.
    label_smoothing: eps mixes the target with the uniform distribution, (1 - eps) q + eps / classes.
    """

    label_smoothing: float

    def __post_init__(self):
        super().__post_init__()
        if not 0 <= self.label_smoothing <= 1:
            raise ValueError(f"CrossEntropyLoss: label_smoothing must lie in [0, 1], got {self.label_smoothing}")


class NLLLoss(_LabelLoss, op=ops.nll_loss):
    """-input[target], the negative log-likelihood of log-probabilities such as those of LogSoftmax.

    Shapes, weight and ignore_index are those of CrossEntropyLoss, with class indices as targets.
    """


class MSELoss(_Loss, op=ops.mse_loss):
    """(input - target)^2, for equal shapes."""


class L1Loss(_Loss, op=ops.l1_loss):
    """|input - target|, for equal shapes."""


class HuberLoss(_Loss, op=ops.huber_loss):
    """d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2), with d = input - target."""


class SmoothL1Loss(_Loss, op=ops.smooth_l1_loss):
    """d^2 / (2 beta) for |d| < beta, else |d| - beta / 2, with d = input - target; beta = 0 is L1Loss."""


class BCELoss(_Loss, op=ops.binary_cross_entropy):
    """-(t log p + (1 - t) log(1 - p)) of probabilities p in [0, 1]. For logits BCEWithLogitsLoss is more accurate.

    weight: a factor per element, broadcast.
    """


class BCEWithLogitsLoss(_Loss, op=ops.binary_cross_entropy_with_logits):
    """-(w t log p + (1 - t) log(1 - p)) with p = sigmoid(input), computed without overflow.

    weight: a factor per element, broadcast. pos_weight: w, a factor for the positive part, such as one per class; it
    broadcasts.
    """

    takes = "weight", "reduction", "pos_weight"


class KLDivLoss(_Loss, op=ops.kl_div):
    """t (log t - input) for log-probabilities input and probabilities t, or their logarithms with log_target=True.

    reduction: also "batchmean", the sum divided by the batch size, which is the KL divergence. "mean" divides by the
    number of elements.
    """

    def __post_init__(self):
        if self.reduction != "batchmean":
            super().__post_init__()

    def count(self, target: Tensor) -> float:
        return len(target) if self.reduction == "batchmean" else target.size


class MarginRankingLoss(_Loss, op=ops.margin_ranking_loss):
    """max(0, -t (x1 - x2) + margin): t = 1 where x1 should be larger, -1 where x2 is."""

    inputs = 3


class TripletMarginLoss(_Loss, op=ops.triplet_margin_loss):
    """max(0, |a - p| - |a - n| + margin) for anchors, positives and negatives (Balntas et al. 2016)."""

    inputs = 3


class GaussianNLLLoss(_Loss, op=ops.gaussian_nll_loss):
    """(log v + (input - target)^2 / v) / 2 with v = max(var, eps)."""

    inputs = 3
