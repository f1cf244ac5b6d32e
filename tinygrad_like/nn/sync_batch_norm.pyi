"""Made by `python -m tinygrad_like.compat.stubs`: do not edit."""
from nn.sync_batch_norm import *
