"""Matrix products side by side: ours, PyTorch (MKL or its own) and NumPy (OpenBLAS), in GFLOP/s, bigger is better.

    python -m benchmarks.gemm            every shape
    python -m benchmarks.gemm --quick    fewer rounds

Thread pools that meet in one process slow each other down, so each library has a process of its own. They run in turn,
in rounds, so that a slow moment of the machine meets all of them. Figures are medians over rounds.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from .process import Worker

LIBRARIES = "ours", "torch", "numpy"
PAUSE = 0.15  # seconds, until the threads of the process that had its turn have stopped spinning

LINEAR = [
    (128, 784, 512), (128, 512, 512), (128, 256, 256), (64, 128, 128),
    (2048, 128, 384), (2048, 128, 512), (2048, 512, 128), (128, 784, 256),
]  # fmt: skip
SQUARE = [512, 1024]
ATTENTION = [(64, 1024, 64), (128, 32, 64)]  # (batch * heads, tokens, features)


def cases() -> dict[str, tuple[tuple[int, ...], tuple[int, ...], bool, bool]]:
    """Name of each product: the shapes of both operands in memory, and which of them is transposed on the fly."""
    table = {}
    for m, k, n in LINEAR:
        table[f"x @ W.T  ({m}, {k}) ({k}, {n})"] = (m, k), (n, k), False, True
        table[f"g @ W    ({m}, {n}) ({n}, {k})"] = (m, n), (n, k), False, False
        table[f"g.T @ x  ({n}, {m}) ({m}, {k})"] = (m, n), (m, k), True, False
    for n in SQUARE:
        table[f"a @ b    ({n}, {n}) ({n}, {n})"] = (n, n), (n, n), False, False
    for batch, t, d in ATTENTION:
        table[f"q @ k.T  ({batch}, {t}, {d}) ({batch}, {d}, {t})"] = (batch, t, d), (batch, t, d), False, True
        table[f"p @ v    ({batch}, {t}, {t}) ({batch}, {t}, {d})"] = (batch, t, t), (batch, t, d), False, False
    return table


def flops(case) -> int:
    a, b, a_transposed, b_transposed = case
    return 2 * int(np.prod(a)) * (b[-2] if b_transposed else b[-1])


def product(library: str, case) -> Callable[[], object]:
    """A call without arguments that computes one product, into memory that is reused."""
    a_shape, b_shape, a_transposed, b_transposed = case
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, np.float32) for shape in (a_shape, b_shape))
    if library == "torch":
        import torch

        a, b = torch.from_numpy(a), torch.from_numpy(b)
    a, b = a.mT if a_transposed else a, b.mT if b_transposed else b
    if library == "ours":
        from tinygrad_like.kernels.gemm import matmul as multiply
    elif library == "torch":
        multiply = torch.mm if a.ndim == 2 else torch.bmm
    else:
        multiply = np.matmul
    out = multiply(a, b)
    return lambda: multiply(a, b, out=out)


def seconds(run: Callable[[], object], budget: float) -> float:
    """Median time of one call, over calls that fill the budget."""
    run()
    times, end = [], time.perf_counter() + budget
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def serve(library: str) -> None:
    """Answer "name<tab>budget" lines with the seconds of one call."""
    table, runs = cases(), {}
    for line in sys.stdin:
        name, budget = line.rstrip("\n").split("\t")
        run = runs.setdefault(name, None) or product(library, table[name])
        runs[name] = run
        print(seconds(run, float(budget)), flush=True)


def compare(rounds: int, budget: float, only: str) -> None:
    names = [name for name in cases() if only in name]
    if not names:
        raise SystemExit(f"no product's name contains {only!r}; they are:\n  " + "\n  ".join(cases()))
    workers = {library: Worker("benchmarks.gemm", "--serve", library) for library in LIBRARIES}
    print(f"{'product':<42}" + "".join(f"{library:>8}" for library in LIBRARIES) + "   ours/torch  ours/numpy")
    ratios: dict[str, list[float]] = {"torch": [], "numpy": []}
    for name in names:
        case = cases()[name]
        times: dict[str, list[float]] = {library: [] for library in LIBRARIES}
        for _ in range(rounds):
            for library, worker in workers.items():
                time.sleep(PAUSE)
                times[library].append(float(worker.ask(f"{name}\t{budget}")))
        rate = {library: flops(case) / statistics.median(t) / 1e9 for library, t in times.items()}
        for library in ratios:
            ratios[library].append(rate["ours"] / rate[library])
        print(f"{name:<42}" + "".join(f"{rate[library]:8.0f}" for library in LIBRARIES)
              + f"{ratios['torch'][-1]:13.2f}{ratios['numpy'][-1]:12.2f}", flush=True)  # fmt: skip
    means = {library: statistics.geometric_mean(r) for library, r in ratios.items()}
    print(f"{'geometric mean':<66}{means['torch']:13.2f}{means['numpy']:12.2f}")
    for worker in workers.values():
        worker.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", default="", help="products whose name contains this")
    parser.add_argument("--serve", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
    else:
        compare(rounds=2 if options.quick else 5, budget=0.03 if options.quick else 0.06, only=options.only)
