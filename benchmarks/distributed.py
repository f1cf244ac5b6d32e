"""The cost of data-parallel training: measured on this machine, and predicted for many machines.

    python -m benchmarks.distributed                        needs the extras `distributed` and `pictures`

Measured: a training step in one process, and the same step of one rank of several without its reductions, by batch
size; the number and bytes of the reductions; on two ranks, the time of a reduction by size, and of steps with and
without reductions. Predicted: the efficiency on 2 to 1,024 machines, by network bandwidth. Writes all results to --out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .process import need

NETS = {"resnet20": "ResNet-20", "gpt": "GPT"}
BATCHES = {"resnet20": (64, 16, 4, 1), "gpt": (32, 8, 2, 1)}  # first the batch of one machine
# Gbit/s -> seconds until an empty message arrives: assumed for Ethernet with TCP, the last with RDMA
LATENCY = {1: 50e-6, 10: 25e-6, 100: 3e-6}
MACHINES = [2**k for k in range(1, 11)]
SIZES = [2**k for k in range(8, 27, 2)]  # bytes


# Measurements ---------------------------------------------------------------------------------------------------------


def training_step(name: str, batch: int, threads: int) -> Callable[[], None]:
    import nn
    from tinygrad_like import distributed

    from .workloads import ours

    model, optimizer, x, y = ours(name, threads).parts  # type: ignore[attr-defined]
    x, y = x[:batch], y[:batch * (len(y) // len(x))]
    nn.convert_sync_batchnorm(model)

    def step() -> None:
        optimizer.zero_grad()
        scores = model(x)
        loss = nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), y)
        (loss * len(y)).backward()
        distributed.average_gradients(model, len(y))
        optimizer.step()

    step.model = model  # type: ignore[attr-defined]
    return step


class Counting:
    """A communicator that records the bytes of its reductions. Without `comm` it skips the reductions."""

    def __init__(self, comm=None):
        self.rank, self.size, self.comm, self.bytes = 0, 2, comm, []

    def __getattr__(self, name):
        return getattr(self.comm, name)

    def bcast(self, value):
        return value

    def allgather(self, value):
        return [value]

    def Allreduce(self, place, array, *op):
        self.bytes.append(array.nbytes)
        if self.comm is not None:
            self.comm.Allreduce(place, array, *op)


def timed(f: Callable[[], object], comm=None) -> float:
    """Seconds of f() in one process, or with this communicator."""
    from tinygrad_like.distributed import group

    before, group._group = group._group, group.Group() if comm is None else group.Group(0, 2, comm)
    try:
        start = time.perf_counter()
        f()
        return time.perf_counter() - start
    finally:
        group._group = before


def work_of_rank() -> None:
    """Measure on a rank of an MPI job; rank 0 prints the result. Steps with and without reductions take turns."""
    from tinygrad_like import distributed
    from tinygrad_like.distributed import group

    comm, found = distributed.init().comm, {}
    reductions = {}
    for size in SIZES:
        array = np.ones(size // 4, np.float32)
        times = []
        for _ in range(200 if size < 1 << 20 else 15):
            array[:] = 1
            comm.Barrier()
            start = time.perf_counter()
            group.reduce_in_place(array)
            times.append(time.perf_counter() - start)
        reductions[size] = min(times), statistics.median(times)
    found["reductions"] = reductions
    for name in NETS:
        step, real = training_step(name, BATCHES[name][0], 1), Counting(comm)
        times = []
        for _ in range(15):
            comm.Barrier()
            times.append((timed(step, Counting()), timed(step, real)))
        silent, reduced = zip(*times[2:], strict=True)
        found[name] = {"calls": real.bytes[-len(real.bytes) // len(times):], "silent": min(silent),
                       "reduced": min(reduced)}
    if comm.rank == 0:
        print(json.dumps(found))


def job(ranks: int) -> dict:
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    command = [mpiexec or "mpiexec", "-n", str(ranks), sys.executable, "-m", "benchmarks.distributed", "--rank"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def least(a: Any, b: Any) -> Any:
    """The smaller of two numbers, or of each pair of numbers in two dicts or lists."""
    if isinstance(b, dict):
        return b if a is None else {key: least(a[key], b[key]) for key in b}
    if isinstance(b, list):
        return [least(*pair) for pair in zip(a, b, strict=True)]
    return min(a, b)


def measure(rounds: int, path: Path) -> None:
    """Write the shortest times so far after each round; other work on the machine only adds to them."""
    found: dict = {"alone": {}, "silent": {}}
    steps = {(name, batch): training_step(name, batch, os.cpu_count() or 1)
             for name, batches in BATCHES.items() for batch in batches}
    for name in NETS:
        found["alone"][name], found["silent"][name] = {}, {}
    a, b = np.ones((2, 1 << 22), np.float32)
    found["add"] = min(timed(lambda: np.add(a, b, out=a)) for _ in range(30)) / a.nbytes  # seconds per byte
    found["parameters"] = {name: sum(p.size for p in steps[name, BATCHES[name][0]].model.parameters())
                           for name in NETS}
    for turn in range(rounds):
        if turn % 5 == 0:
            found["ranks 2"] = least(found.get("ranks 2"), job(2))
        for (name, batch), step in steps.items():
            for _ in range(5):
                for key, comm in (("alone", None), ("silent", Counting())):
                    known = found[key][name].get(batch, math.inf)
                    found[key][name][batch] = min(known, timed(step, comm))
        path.write_text(json.dumps(found, indent=1))


# Predictions ----------------------------------------------------------------------------------------------------------


def reduction_time(size: float, ranks: int, latency: float, bandwidth: float, add: float) -> float:
    """Seconds to add up `size` bytes over R = `ranks` machines, by the faster of two algorithms of MPI libraries.

    Recursive doubling sends and adds all bytes in each of log2 R rounds. Recursive halving and doubling (Rabenseifner
    2004) takes twice as many rounds, but sends only 2 (R - 1) / R of the bytes, and adds (R - 1) / R.
    """
    rounds, share = math.ceil(math.log2(ranks)), (ranks - 1) / ranks
    doubling = rounds * (latency + size * (1 / bandwidth + add))
    halving = 2 * rounds * latency + share * size * (2 / bandwidth + add)
    return min(doubling, halving)


def predicted(step: float, calls: list[int], ranks: int, gigabits: float, latency: float, add: float) -> float:
    """Seconds of a step on `ranks` machines: the step without reductions, and then one reduction after the other."""
    return step + sum(reduction_time(n, ranks, latency, gigabits * 1e9 / 8, add) for n in calls)


def step_time(steps: dict, batch: float) -> float:
    """Seconds of a step of `batch` examples, by linear interpolation between the measured batches."""
    sizes = sorted(map(int, steps))
    return float(np.interp(batch, sizes, [steps[str(n)] for n in sizes]))


def efficiencies(found: dict, name: str, gigabits: int, growing: bool) -> list[float]:
    """The efficiency by number of machines R: (time on one) / (time on R), also divided by R if the batch is fixed."""
    calls, whole, rows = found["ranks 2"][name]["calls"], BATCHES[name][0], []
    one = found["alone"][name][str(whole)]
    for ranks in MACHINES:
        if not growing and ranks > whole:
            break
        part = step_time(found["silent"][name], whole if growing else whole / ranks)
        total = predicted(part, calls, ranks, gigabits, LATENCY[gigabits], found["add"])
        rows.append(one / total if growing else one / ranks / total)
    return rows


def tables(found: dict) -> str:
    reductions = found["ranks 2"]["reductions"]
    lines = ["| bytes | minimum, us | median, us |", "| --- | --- | --- |"]
    for size, (least, median) in reductions.items():
        lines.append(f"| {int(size):,} | {least * 1e6:,.1f} | {median * 1e6:,.1f} |")
    lines += ["", "| net | parameters | reductions per step | bytes of the largest | of all others "
              "| step in one process, ms | step of a rank without reductions, ms "
              "| on 2 ranks of 1 thread: without reductions, ms | with, ms | predicted, ms |", "| --- " * 10 + "|"]
    sizes = sorted(map(int, reductions))
    for name in NETS:
        it, whole = found["ranks 2"][name], str(BATCHES[name][0])
        here = sum(np.interp(n, sizes, [reductions[str(size)][0] for size in sizes]) for n in it["calls"])
        lines.append(
            f"| {name}, batch {whole} | {found['parameters'][name]:,} | {len(it['calls'])} | {max(it['calls']):,} "
            f"| {sum(it['calls']) - max(it['calls']):,} | {found['alone'][name][whole] * 1e3:.1f} "
            f"| {found['silent'][name][whole] * 1e3:.1f} | {it['silent'] * 1e3:.1f} | {it['reduced'] * 1e3:.1f} "
            f"| {(it['silent'] + here) * 1e3:.1f} |")
    for growing, text in ((True, "a whole batch on each machine"), (False, "one batch for all machines")):
        lines += ["", f"| {text} | " + " | ".join(map(str, MACHINES)) + " |", "| --- |" + " --- |" * len(MACHINES)]
        for name in NETS:
            for gigabits in LATENCY:
                cells = [f"{e:.0%}" for e in efficiencies(found, name, gigabits, growing)]
                cells += ["-"] * (len(MACHINES) - len(cells))
                lines.append(f"| {name}, {gigabits} Gbit/s | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def chart(found: dict, path: Path) -> None:
    from demos import figures

    with figures.style():
        fig = figures.figure(10, 4.2)
        for axes, (name, title) in zip(fig.subplots(1, 2, sharey=True), NETS.items(), strict=True):
            for gigabits, colour in zip(LATENCY, ("#c8553d", "#c8963e", "#3d7ea6"), strict=True):
                for growing, line in ((True, "-"), (False, "--")):
                    values = efficiencies(found, name, gigabits, growing)
                    axes.plot(MACHINES[:len(values)], values, line, color=colour,
                              label=f"{gigabits} Gbit/s" if growing else None)
            axes.plot([], [], "k-", label=f"{BATCHES[name][0]} examples on each machine")
            axes.plot([], [], "k--", label=f"{BATCHES[name][0]} examples in all")
            axes.set(xscale="log", ylim=(0, 1.02), xticks=MACHINES, xticklabels=map(str, MACHINES), title=title,
                     xlabel="machines of 2 cores (predicted)")
            axes.minorticks_off()
            axes.legend(loc="lower right", bbox_to_anchor=(1, 0.2), fontsize=8)
        fig.axes[0].set_ylabel("efficiency")
        figures.save(fig, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/bench"), help="folder (default: runs/bench)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of measuring steps (default: 5)")
    parser.add_argument("--again", action="store_true", help="draw distributed.json in --out again; measure nothing")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.rank:
        work_of_rank()
        return
    need("matplotlib", *["mpi4py"] * (not args.again))
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "distributed.json"
    if not args.again:
        measure(args.rounds, path)
    found = json.loads(path.read_text())
    print(tables(found))
    chart(found, args.out / "distributed.png")
    print(f"\nwritten to {args.out}")


if __name__ == "__main__":
    main()
