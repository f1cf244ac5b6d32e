"""Training steps written for PyTorch, timed in PyTorch and here; only the imports differ.

    python -m benchmarks.habits                              the steps of tests/compat/steps.py, eager and captured
    python -m benchmarks.habits --only maml --seconds 2

Each library runs in its own process, in interleaved rounds. The ratio is PyTorch's time / ours: the median over rounds
of the ratio of their medians.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

from tests.compat.test_programs import load, ours

from .process import Worker, need

STEPS = Path(__file__).resolve().parent.parent / "tests" / "compat" / "steps.py"
KINDS = ("torch", "eager", "captured")


def made(name: str, kind: str, threads: int) -> tuple:
    """A step, and its arguments."""
    if kind == "torch":
        import torch as library
    else:
        import tinygrad_like as library  # type: ignore[no-redef]
    library.set_num_threads(threads)
    source = STEPS.read_text(encoding="utf-8")
    step, inputs = load(STEPS, source if kind == "torch" else ours(source)).PROGRAMS[name]()[:2]
    return (library.capture(step) if kind == "captured" else step), inputs


def serve(name: str, kind: str, threads: int) -> None:
    """Answer each line, a number of seconds, with the median time of a step over that time."""
    step, inputs = made(name, kind, threads)
    for _ in range(8):  # compile, record, fill caches
        step(*inputs)
    for line in sys.stdin:
        times: list[float] = []
        while len(times) < 5 or sum(times) < float(line):
            start = time.perf_counter()
            step(*inputs)
            times.append(time.perf_counter() - start)
        print(statistics.median(times), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     prog="python -m benchmarks.habits")
    parser.add_argument("--only", default="", help="steps whose name contains this")
    parser.add_argument("--seconds", type=float, default=0.5, help="per library and round (default 0.5)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds after a warm-up round (default 5)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")
    parser.add_argument("--serve", choices=KINDS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(args.only, args.serve, args.threads)
    need("torch")
    ratios: dict[str, list[float]] = {"eager": [], "captured": []}
    print("| step | PyTorch, ms | ours eager, ms | ratio | captured, ms | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in [name for name in load(STEPS, ours(STEPS.read_text(encoding="utf-8"))).PROGRAMS if args.only in name]:
        workers = {kind: Worker("benchmarks.habits", "--serve", kind, "--only", name, "--threads", str(args.threads))
                   for kind in KINDS}
        rounds = [{kind: float(worker.ask(str(args.seconds))) for kind, worker in workers.items()}
                  for _ in range(args.rounds + 1)][1:]
        for worker in workers.values():
            worker.close()
        ms = {kind: 1e3 * statistics.median(r[kind] for r in rounds) for kind in KINDS}
        for kind, found in ratios.items():
            found.append(statistics.median(r["torch"] / r[kind] for r in rounds))
        print(f"| {name} | {ms['torch']:.2f} | {ms['eager']:.2f} | {ratios['eager'][-1]:.2f} | {ms['captured']:.2f} "
              f"| {ratios['captured'][-1]:.2f} |", flush=True)
    means = {kind: statistics.geometric_mean(found) for kind, found in ratios.items()}
    print(f"| geometric mean | | | **{means['eager']:.2f}** | | **{means['captured']:.2f}** |")


if __name__ == "__main__":
    main()
