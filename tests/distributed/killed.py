"""A training that goes on from its checkpoint, if there is one: python killed.py FOLDER."""

import os
import sys
import time
from pathlib import Path

import numpy as np

import nn
import optim
from tinygrad_like import distributed, manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import fit

folder = Path(sys.argv[1])
(folder / f"pid.{os.getpid()}").touch()
rng = np.random.default_rng(0)
x = rng.standard_normal((300, 8)).astype(np.float32)
y = (x @ rng.standard_normal((8, 3))).argmax(1)
manual_seed(1)
model = nn.Sequential(nn.Linear(8, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
optimizer = optim.AdamW(model.parameters(), lr=3e-3)
checkpoint = folder / "run.ckpt"
exists = distributed.from_rank_0(checkpoint.exists)


def slowly(x, generator):
    time.sleep(0.004)
    return x


loader = DataLoader(x, y, batch_size=32, shuffle=True, transform=slowly)
rows = fit(model, loader, nn.CrossEntropyLoss(), optimizer, 15, clip_norm=1.0,
           ema=optim.EMA(model, 0.9), checkpoint=checkpoint, resume=checkpoint if exists else None)
if distributed.rank == 0:
    np.savez(folder / "result.npz", loss=[row["loss"] for row in rows],
             **{key: t._data for key, t in model.state_dict().items()})
distributed.barrier()
print("done")
