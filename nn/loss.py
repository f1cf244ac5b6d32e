"""Losses as modules, called as `loss(input, target)`; the functions, with their formulas, are in `ops`.

reduction: "mean", "sum" or "none", one loss per element. The constructor raises ValueError for any other.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.ops.softmax import check_reduction

from .configured import Configured


class _Loss(Configured):
    """weights: the names of options that are buffers: part of the state, cast with the module, not trained."""

    weights: ClassVar[tuple[str, ...]] = ()
    _: KW_ONLY
    reduction: str = "mean"

    def __post_init__(self):
        check_reduction(type(self).__name__, self.reduction)
        self.__dict__["_buffers"] = dict.fromkeys(self.weights, True)
        for name in self.weights:
            w = getattr(self, name)
            setattr(self, name, w if w is None or isinstance(w, Tensor) else Tensor(w))

    def count(self, target: Tensor) -> float:
        """The number by which the mean over these targets divides: their weight in a mean over several batches."""
        return target.size

    def _of(self, *inputs: Tensor) -> Tensor:
        own, weights = self.__dict__, self.weights
        return self.op(*inputs, *[own[name] for name in weights],
                       **{name: own[name] for name in self._options if name not in weights})

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._of(input, target)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._options if name not in self.weights)


class _LabelLoss(_Loss):
    weights = ("weight",)
    weight: Any = None
    _: KW_ONLY
    ignore_index: int = -100

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

    op = staticmethod(ops.cross_entropy)
    _: KW_ONLY
    label_smoothing: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        if not 0 <= self.label_smoothing <= 1:
            raise ValueError(f"CrossEntropyLoss: label_smoothing must lie in [0, 1], got {self.label_smoothing}")


class NLLLoss(_LabelLoss):
    """-input[target], the negative log-likelihood of log-probabilities such as those of LogSoftmax.

    Shapes, weight and ignore_index are those of CrossEntropyLoss, with class indices as targets.
    """

    op = staticmethod(ops.nll_loss)


class MSELoss(_Loss):
    """(input - target)^2, of equal shapes."""

    op = staticmethod(ops.mse_loss)


class L1Loss(_Loss):
    """|input - target|, of equal shapes."""

    op = staticmethod(ops.l1_loss)


class HuberLoss(_Loss):
    """d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2), with d = input - target."""

    op = staticmethod(ops.huber_loss)
    reduction: str = "mean"
    delta: float = 1.0


class SmoothL1Loss(_Loss):
    """d^2 / (2 beta) for |d| < beta, else |d| - beta / 2, with d = input - target; L1Loss for beta = 0."""

    op = staticmethod(ops.smooth_l1_loss)
    _: KW_ONLY
    beta: float = 1.0


class BCELoss(_Loss):
    """-(t log p + (1 - t) log(1 - p)) of probabilities p in [0, 1]. For logits BCEWithLogitsLoss is more accurate.

    weight: a factor per element, broadcast.
    """

    op = staticmethod(ops.binary_cross_entropy)
    weights = ("weight",)
    weight: Any = None


class BCEWithLogitsLoss(_Loss):
    """-(w t log p + (1 - t) log(1 - p)) with p = sigmoid(input), computed without overflow.

    weight: a factor per element, broadcast. pos_weight: w, a factor of the positive part, broadcast: one per class.
    """

    op = staticmethod(ops.binary_cross_entropy_with_logits)
    weights = ("weight", "pos_weight")
    weight: Any = None
    _: KW_ONLY
    pos_weight: Any = None


class KLDivLoss(_Loss):
    """t (log t - input) for log-probabilities input and probabilities t, or their logarithms with log_target=True.

    reduction: also "batchmean", the sum divided by the batch size, which is the divergence itself. "mean" divides by
    the number of elements.
    """

    op = staticmethod(ops.kl_div)
    _: KW_ONLY
    log_target: bool = False

    def __post_init__(self):
        if self.reduction != "batchmean":
            super().__post_init__()

    def count(self, target: Tensor) -> float:
        return len(target) if self.reduction == "batchmean" else target.size


class MarginRankingLoss(_Loss):
    """max(0, -t (x1 - x2) + margin): t = 1 where x1 should be larger, -1 where x2 is."""

    op = staticmethod(ops.margin_ranking_loss)
    margin: float = 0.0

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._of(input1, input2, target)


class TripletMarginLoss(_Loss):
    """max(0, |a - p| - |a - n| + margin) of anchors, positives and negatives (Balntas et al. 2016)."""

    op = staticmethod(ops.triplet_margin_loss)
    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        return self._of(anchor, positive, negative)


class GaussianNLLLoss(_Loss):
    """(log v + (input - target)^2 / v) / 2 with v = max(var, eps)."""

    op = staticmethod(ops.gaussian_nll_loss)
    full: bool = False
    eps: float = 1e-6

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:  # type: ignore[override]
        return self._of(input, target, var)
