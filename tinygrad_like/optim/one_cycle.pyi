"""Made by `python -m tinygrad_like.compat.stubs`: do not edit."""
from optim.one_cycle import *
