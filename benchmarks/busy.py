"""Training steps on a busy machine: their time relative to a fair share of the cores.

    python -m benchmarks.busy                                 every workload, beside 1, 2 and 4 busy processes
    python -m benchmarks.busy --workloads mlp_small mlp --runs 5

With t threads and n busy processes, t + n threads share c cores. A fair share is c / (t + n) of a core for each, so a
step may take max(1, (t + n) / c) times as long as on a quiet machine. The figure is the mean time of a step on the busy
machine, divided by this factor and by the median on the quiet machine just before: 1 is a fair share, less than 1 is
better. Means count, because a busy machine makes a few steps much longer. Run nothing else on the machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from .process import Worker, need
from .workloads import WORKLOADS


@contextmanager
def busy(processes: int):
    """Keep this many processes computing while the block runs."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def measure(workload: str, framework: str, neighbours: list[int], runs: int, seconds: float, threads: int) -> dict:
    """Mean times of a step in ms, run by run, for each number of busy processes, first 0."""
    worker = Worker("benchmarks.worker", framework, workload, str(threads))

    def run(steps: int) -> dict:
        return json.loads(worker.ask(str(steps)))

    run(5)
    steps = max(5, int(seconds * 1e3 / run(20)["ms"]))
    found: dict[int, list[float]] = {}
    for n in [0, *neighbours]:
        with busy(n):
            run(max(3, steps // 10))
            found[n] = [run(steps)["mean"] for _ in range(runs)]
    worker.close()
    return {"workload": workload, "framework": framework, "steps": steps, "ms": found}


def shares(result: dict, threads: int, cores: int) -> dict[int, float]:
    """For each number of busy processes, the median time relative to a fair share."""
    quiet = statistics.median(result["ms"][0])
    return {n: statistics.median(ms) / quiet / max(1.0, (threads + n) / cores)
            for n, ms in result["ms"].items() if n}


def table(results: list[dict], neighbours: list[int], threads: int, cores: int) -> str:
    head = " | ".join(f"beside {n}" for n in neighbours)
    lines = [f"| workload | library | quiet, ms | {head} |", "| --- | --- | --- |" + " --- |" * len(neighbours)]
    for r in results:
        fair = shares(r, threads, cores)
        cells = " | ".join(f"**{fair[n]:.2f}** ({statistics.median(r['ms'][n]):.2f} ms)" for n in neighbours)
        lines.append(f"| {r['workload']} | {r['framework']} | {statistics.median(r['ms'][0]):.3f} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS), help="default: all")
    parser.add_argument("--frameworks", nargs="+", choices=["ours", "torch"], default=["ours", "torch"])
    parser.add_argument("--neighbours", nargs="+", type=int, default=[1, 2, 4], help="busy processes (default 1 2 4)")
    parser.add_argument("--runs", type=int, default=10, help="number of runs; their median counts (default 10)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a run on the quiet machine (default 0.5)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")
    parser.add_argument("--out", type=Path, default=Path("runs/bench"), help="folder for busy.md and busy.json")
    args = parser.parse_args()
    need(*{"torch"} & {*args.frameworks})
    cores, results = os.cpu_count() or 1, []
    for name in args.workloads:
        for framework in args.frameworks:
            results.append(measure(name, framework, args.neighbours, args.runs, args.seconds, args.threads))
            print(table(results[-1:], args.neighbours, args.threads, cores).splitlines()[2], flush=True)
    text = table(results, args.neighbours, args.threads, cores)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "busy.md").write_text(text + "\n")
    (args.out / "busy.json").write_text(json.dumps({"threads": args.threads, "cores": cores, "results": results}))
    print(f"\n{text}\n\nwritten to {args.out}")


if __name__ == "__main__":
    main()
