"""Made by `python -m tinygrad_like.stubs`: do not edit."""
from nn.located import *
