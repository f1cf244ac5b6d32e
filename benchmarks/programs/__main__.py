"""Times the programs of this folder here and in PyTorch: interleaved rounds, medians, ratios, their geometric mean.

    python -m benchmarks.programs                                 every program
    python -m benchmarks.programs --only pinn --seconds 2         programs with this in their name
    python -m benchmarks.programs --capture                       our steps captured

Each library runs in its own process. In each round they take turns, each with steps for about `--seconds`. The ratio is
PyTorch's time / ours, so bigger is better: once of the medians, and once of the fastest steps, since other programs on
the machine disturb these least.
"""

import argparse
import os
import statistics
import sys
import time

from ..process import Worker, need
from . import programs

PAUSE = 0.1  # seconds, until the threads of the other process have stopped spinning


def serve(library: str, name: str, threads: int) -> None:
    """Answer each line, a number of seconds, with the median and the minimum time of a step, in seconds."""
    if library == "torch":
        import torch

        torch.set_num_threads(threads)
    else:
        from tinygrad_like import capture, set_num_threads

        set_num_threads(threads)
    step, inputs, _ = programs()[name].make("torch" if library == "torch" else "ours")
    step = capture(step) if library == "captured" else step
    for _ in range(5):  # compile, fill caches
        step(*inputs)
    for line in sys.stdin:
        times: list[float] = []
        while len(times) < 5 or sum(times) < float(line):
            start = time.perf_counter()
            step(*inputs).item()
            times.append(time.perf_counter() - start)
        print(statistics.median(times), min(times), flush=True)


def measure(name: str, threads: int, rounds: int, seconds: float, ours: str) -> dict[str, list[tuple[float, ...]]]:
    """For each library, the median and the minimum seconds of a step in every round."""
    workers = {library: Worker("benchmarks.programs", "--serve", library, "--only", name, "--threads", str(threads))
               for library in ("torch", ours)}
    found: dict[str, list] = {library: [] for library in workers}
    for _ in range(rounds + 1):
        for library, worker in workers.items():
            time.sleep(PAUSE)
            found[library].append(tuple(map(float, worker.ask(str(seconds)).split())))
    for worker in workers.values():
        worker.close()
    return {library: times[1:] for library, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     prog="python -m benchmarks.programs")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--capture", action="store_true", help="capture our steps")
    parser.add_argument("--seconds", type=float, default=0.5, help="per library and round (default 0.5)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds after a warm-up round (default 5)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")
    parser.add_argument("--serve", choices=["ours", "captured", "torch"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve, args.only, args.threads)
        return
    need("torch")
    chosen = {name: p for name, p in programs().items() if args.only in name}
    if not chosen:
        raise SystemExit(f"no program has a name that contains {args.only!r}; they are {', '.join(programs())}")
    print("| program | PyTorch, ms | ours, ms | ratio (min-max) | ratio of the fastest steps |")
    print("| --- | --- | --- | --- | --- |")
    ratios, best = [], []
    for name, program in chosen.items():
        mine = "captured" if args.capture else "ours"
        found = measure(name, args.threads, args.rounds, args.seconds, mine)
        theirs, ours = ([median for median, _ in found[library]] for library in ("torch", mine))
        each = [a / b for a, b in zip(theirs, ours, strict=True)]
        ratios.append(statistics.median(each))
        best.append(min(least for _, least in found["torch"]) / min(least for _, least in found[mine]))
        print(f"| {name}: {program.text} | {statistics.median(theirs) * 1e3:.2f} | {statistics.median(ours) * 1e3:.2f} "
              f"| **{ratios[-1]:.2f}** ({min(each):.2f}-{max(each):.2f}) | {best[-1]:.2f} |", flush=True)
    print(f"| geometric mean | | | **{statistics.geometric_mean(ratios):.2f}** "
          f"| {statistics.geometric_mean(best):.2f} |")


if __name__ == "__main__":
    main()
