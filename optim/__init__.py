"""Optimizers, learning-rate schedules, gradient clipping, weight averaging and penalties."""

from . import schedule
from .adam import Adam, AdamW
from .clip import clip_grad_norm, clip_grad_value
from .ema import EMA
from .optimizer import Optimizer
from .penalty import decay_groups, elastic_penalty, l1_penalty, l2_penalty
from .rmsprop import RMSProp
from .sgd import SGD

__all__ = [
    "Adam", "AdamW", "EMA", "Optimizer", "RMSProp", "SGD", "clip_grad_norm", "clip_grad_value", "decay_groups",
    "elastic_penalty", "l1_penalty", "l2_penalty", "schedule",
]
