"""Optimizers, learning-rate schedules and gradient clipping."""

from . import schedule
from .adam import Adam, AdamW
from .clip import clip_grad_norm, clip_grad_value
from .optimizer import Optimizer
from .rmsprop import RMSProp
from .sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "RMSProp", "SGD", "clip_grad_norm", "clip_grad_value", "schedule"]
