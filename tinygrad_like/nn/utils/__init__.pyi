"""Made by `python -m tinygrad_like.compat.stubs`: do not edit."""
from . import weights as weights
from nn.utils import *
