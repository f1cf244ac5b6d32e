"""The last process fails before it has joined the others: mpiexec -n 2 python joining.py."""

import os

from tinygrad_like import distributed
from tinygrad_like.distributed import group

group.JOIN = 2.0
if os.environ["PMI_RANK"] == "1":
    raise ValueError("no data here")
print("joined", distributed.rank)
