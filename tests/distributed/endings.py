"""A short training in which something happens on the last rank at its 30th batch, or is wrong from the start.

    [mpiexec -n N] python endings.py WHAT FOLDER
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import nn
import optim
from tinygrad_like import distributed, eager, manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import Log, fit

what, folder = sys.argv[1], Path(sys.argv[2])
last, batches = distributed.rank == distributed.size - 1, 0


def happen(output, y):
    global batches
    batches += 1
    if what == "slow":
        time.sleep(0.02)
    if batches == 30:
        (folder / "event").touch()
        if what == "error on all":
            raise ValueError("all have it")
        if last and what == "error":
            raise ValueError("something is wrong")
        if last and what == "exit":
            sys.exit(3)
        if last and what in ("SIGINT", "SIGKILL"):
            os.kill(os.getpid(), getattr(signal, what))
    return nn.functional.cross_entropy(output, y)


rng = np.random.default_rng(0)
x = rng.standard_normal((400, 6)).astype(np.float32)
y = (x @ rng.standard_normal((6, 3))).argmax(1)
manual_seed(1)
hidden = 17 if what == "other model" and last else 16
model = nn.Sequential(nn.Linear(6, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, 3))
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loader = DataLoader(x, y, batch_size=50, shuffle=True)
if what == "before" and last:
    raise OSError(28, "No space left on device")
if what == "exit outside" and last:
    sys.exit(5)
checkpoint = folder / "run.ckpt"
with Log(folder / "run.csv", picture=lambda rows: time.sleep(2 * (what == "slow"))) as log, eager():  # as ranks run
    fit(model, loader, happen, optimizer, 6, metrics={}, log=log, checkpoint=checkpoint,
        resume=checkpoint if what == "resume" else None)
if what == "after" and last:
    raise ValueError("after training")
np.savez(folder / f"{what}{distributed.rank}.npz", **{key: t._data for key, t in model.state_dict().items()})
print(f"rank {distributed.rank} is done")
