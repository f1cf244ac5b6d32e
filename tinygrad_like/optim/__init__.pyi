"""Made by `python -m tinygrad_like.compat.stubs`: do not edit."""
from . import adafactor as adafactor
from . import adagrad as adagrad
from . import adam as adam
from . import adamax as adamax
from . import clip as clip
from . import ema as ema
from . import lbfgs as lbfgs
from . import muon as muon
from . import optimizer as optimizer
from . import penalty as penalty
from . import rmsprop as rmsprop
from . import sgd as sgd
from optim import *
