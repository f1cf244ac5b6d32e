"""Timing and command line shared by benchmarks.gemm, conv, kernels, lines, large and recurrent.

Thread pools in one process slow each other down, so each library has its own process. They take turns in rounds, so
that a slow moment of the machine affects all of them. Figures are medians over rounds.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from .process import Worker, need

PAUSE = 0.15  # seconds until the threads of the last process have stopped spinning

Run = Callable[[], object]


def main(module: str, libraries: Sequence[str], cases: Callable[[], Sequence[str]], make: Callable[[str, int], Run],
         heading: str, figures: Callable[[int, dict[str, float]], str], rounds: int = 5, budget: float = 0.06) -> None:
    """Read the command line and compare "ours" with the other libraries; a ratio above 1 means that ours is faster.

    cases: returns the names of the cases.
    make: returns the function to time, for a library and the number of a case.
    heading, figures: the columns between name and ratios; figures(number, seconds by library) formats those of a case.
    rounds, budget: the number of rounds, and the seconds per library and round; --quick halves both.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}",
                                     description=(sys.modules["__main__"].__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--serve", choices=libraries, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        _serve(options.serve, make)
        return
    need(*{library.partition(".")[0] for library in libraries} - {"ours", "numpy"})
    if options.quick:
        rounds, budget = rounds // 2, budget / 2
    names = cases()
    chosen = [i for i, name in enumerate(names) if options.only in name]
    if not chosen:
        raise SystemExit(f"no case has a name that contains {options.only!r}; the cases are:\n  " + "\n  ".join(names))
    workers = {library: Worker(f"benchmarks.{module}", "--serve", library) for library in libraries}
    others = [library for library in libraries if library != "ours"]
    print(f"{'':54}{heading}" + "".join(f"{f'{other}/ours':>12}" for other in others))
    ratios: dict[str, list[float]] = {other: [] for other in others}
    for i in chosen:
        times: dict[str, list[float]] = {library: [] for library in libraries}
        for _ in range(rounds):
            for library, worker in workers.items():
                time.sleep(PAUSE)
                times[library].append(float(worker.ask(f"{i}\t{budget}")))
        median = {library: statistics.median(t) for library, t in times.items()}
        for other in others:
            ratios[other].append(median[other] / median["ours"])
        print(f"{names[i]:54}{figures(i, median)}" + "".join(f"{ratios[other][-1]:12.2f}" for other in others),
              flush=True)
    means = "".join(f"{statistics.geometric_mean(r):12.2f}" for r in ratios.values())
    print(f"{'geometric mean of the ratios':54}{'':{len(heading)}}{means}")
    for worker in workers.values():
        worker.close()


def _serve(library: str, make: Callable[[str, int], Run]) -> None:
    """Answer each line "number of a case<tab>budget" with the seconds of one call."""
    runs: dict[int, Run] = {}
    for line in sys.stdin:
        number, budget = line.split("\t")
        i = int(number)
        if i not in runs:
            runs[i] = make(library, i)
        print(_seconds(runs[i], float(budget)), flush=True)


def _seconds(run: Run, budget: float) -> float:
    """Median time of a call, over at least five calls that fill the budget."""
    run()
    times, end = [], time.perf_counter() + budget
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
