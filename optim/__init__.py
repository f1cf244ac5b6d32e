"""Optimizers, learning-rate schedules, gradient clipping, weight averaging and penalties."""

from tinygrad_like.errors import named

from . import lr_scheduler, schedule
from .adafactor import Adafactor
from .adagrad import Adadelta, Adagrad, RMSProp
from .adam import Adam, Adamax, AdamW
from .clip import clip_grad_norm, clip_grad_value
from .ema import EMA
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .penalty import decay_groups, l1_penalty, l2_penalty
from .sgd import SGD, Muon

RMSprop = RMSProp  # PyTorch's spelling

__all__ = [
    "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "EMA", "LBFGS", "Muon", "Optimizer", "RMSProp",
    "RMSprop", "SGD",
    "clip_grad_norm", "clip_grad_value", "decay_groups", "l1_penalty", "l2_penalty",
    "lr_scheduler", "schedule",
]

# Accept PyTorch's arguments that have no effect here, such as fused=.
for _class in (Adadelta, Adafactor, Adagrad, Adam, AdamW, Adamax, LBFGS, Muon, RMSProp, SGD):
    _class.__init__ = named(_class.__init__, _class.__name__)  # type: ignore[method-assign]
