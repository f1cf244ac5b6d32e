"""Made by `python -m tinygrad_like.compat.stubs`: do not edit."""
from nn.batch_norm_tools import *
