"""Losses of distances and margins, and of distributions, as modules; the formulas are in `ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import other_keywords

from .loss import _Loss


class _Settled(_Loss):
    """A loss that is a function with settings: its constructor takes these, and its call the function's Tensors."""

    function: Callable
    settings: dict[str, Any] = {}  # with their defaults, in order

    def __init__(self, *given: Any, reduction: str = "mean", **named: Any):
        who = type(self).__name__
        if len(given) > len(self.settings):
            raise TypeError(f"{who}: takes {', '.join(self.settings) or 'nothing'} by position; give reduction by name "
                            '(size_average=False is reduction="sum", reduce=False is "none")')
        known = {**self.settings, "reduction": reduction}
        chosen = other_keywords.renamed(who, known, {**known, **dict(zip(self.settings, given, strict=False))}, named)
        super().__init__(reduction=chosen.pop("reduction"))
        for name, value in chosen.items():
            setattr(self, name, value)

    def forward(self, *tensors: Any) -> Tensor:
        settings = {name: getattr(self, name) for name in self.settings}
        return type(self).function(*tensors, **settings, reduction=self.reduction)


class MarginRankingLoss(_Settled):
    """max(0, -t (x1 - x2) + margin): t = 1 where x1 is to be the larger, -1 where x2 is."""

    function, settings = staticmethod(ops.margin_ranking_loss), {"margin": 0.0}


class HingeEmbeddingLoss(_Settled):
    """Of distances x: x where t = 1, max(0, margin - x) where t = -1."""

    function, settings = staticmethod(ops.hinge_embedding_loss), {"margin": 1.0}


class SoftMarginLoss(_Settled):
    """log(1 + e^(-t x)) for t = 1 or -1."""

    function = staticmethod(ops.soft_margin_loss)


class MultiLabelSoftMarginLoss(_Settled):
    """-(t log sigma(x) + (1 - t) log sigma(-x)), times `weight`, in the mean over the classes."""

    function, settings = staticmethod(ops.multilabel_soft_margin_loss), {"weight": None}


class MultiMarginLoss(_Settled):
    """sum_j max(0, margin - x_t + x_j)^p / classes over the classes j other than the label t; p is 1 or 2."""

    function, settings = staticmethod(ops.multi_margin_loss), {"p": 1, "margin": 1.0, "weight": None}


class CosineEmbeddingLoss(_Settled):
    """1 - c where t = 1, max(0, c - margin) where t = -1, with c the cosine of the angle of two rows."""

    function, settings = staticmethod(ops.cosine_embedding_loss), {"margin": 0.0}


class TripletMarginLoss(_Settled):
    """max(0, |a - p| - |a - n| + margin) of anchors, positives and negatives (Balntas et al. 2016)."""

    function = staticmethod(ops.triplet_margin_loss)
    settings = {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False}


class GaussianNLLLoss(_Settled):
    """(log v + (input - target)^2 / v) / 2 with v = max(var, eps)."""

    function, settings = staticmethod(ops.gaussian_nll_loss), {"full": False, "eps": 1e-6}


class MultiLabelMarginLoss(_Settled):
    """sum over labels t and other classes j of max(0, 1 - x_t + x_j), divided by the classes; labels end with -1."""

    function = staticmethod(ops.multilabel_margin_loss)


class CTCLoss(_Settled):
    """The CTC loss of log_probs (T, batch, classes), targets, input_lengths and target_lengths, see `ops.ctc_loss`."""

    function, settings = staticmethod(ops.ctc_loss), {"blank": 0, "zero_infinity": False}

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        super().__init__(blank=blank, zero_infinity=zero_infinity, reduction=reduction)


class PoissonNLLLoss(_Settled):
    """e^x - t x, or x - t log(x + eps) with log_input=False."""

    function, settings = staticmethod(ops.poisson_nll_loss), {"log_input": True, "full": False, "eps": 1e-8}

    def __init__(self, log_input: bool = True, full: bool = False, *, eps: float = 1e-8, reduction: str = "mean"):
        super().__init__(log_input, full, eps, reduction=reduction)
