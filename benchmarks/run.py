"""Training steps compared with PyTorch: interleaved rounds, medians, ratios, and their geometric mean.

    python -m benchmarks.run                                 every workload, against PyTorch eager
    python -m benchmarks.run --workloads mlp resnet_s --rounds 9
    python -m benchmarks.run --capture --against torch torch.compile jax      (needs g++, and pip install jax)

Each framework runs in its own process. In each round they take turns, each with steps for about `--seconds`; the first
round is dropped. The ratio is the other framework's time / ours, so bigger is better. Run nothing else on the machine.
"""

import argparse
import json
import math
import os
import platform
import statistics
from pathlib import Path

from .process import Worker, need
from .workloads import WORKLOADS


def measure(workload: str, others: list[str], threads: int, rounds: int, seconds: float, ours: str = "ours") -> dict:
    """Median times of a step, and for each of `others` the ratio of its time to ours over the rounds."""
    workers = {name: Worker("benchmarks.worker", name, workload, str(threads)) for name in (*others, ours)}

    def run(name: str, steps: int) -> dict:
        return json.loads(workers[name].ask(str(steps)))

    for name in workers:
        run(name, 5)  # compile, fill caches
    steps = {name: max(5, int(seconds * 1e3 / run(name, 5 if "gpt" in workload or "resnet" in workload else 20)["ms"]))
             for name in workers}
    found: dict[str, list] = {name: [] for name in workers}
    for _ in range(rounds + 1):
        for name in workers:
            found[name].append(run(name, steps[name]))
    for worker in workers.values():
        worker.close()
    ms = {name: [r["ms"] for r in results[1:]] for name, results in found.items()}
    ratios = {name: [a / b for a, b in zip(ms[name], ms[ours], strict=True)] for name in others}
    return {"workload": workload, "text": WORKLOADS[workload].text, "rounds": rounds,
            "ms": {("ours" if name == ours else name): statistics.median(times) for name, times in ms.items()},
            "peak_mib": {("ours" if name == ours else name): results[-1]["peak"] for name, results in found.items()},
            "ratio": {name: {"median": statistics.median(r), "min": min(r), "max": max(r)}
                      for name, r in ratios.items()}}


def table(results: list[dict], others: list[str]) -> str:
    titles = ["workload", "ours, ms", *[f"{name} / ours (min-max)" for name in others],
              f"peak memory {', '.join(others)} / ours, MiB"]
    lines = [f"| {' | '.join(titles)} |", "| --- " * len(titles) + "|"]
    for r in results:
        ratios = [f"**{q['median']:.2f}** ({q['min']:.2f}-{q['max']:.2f})" for q in map(r["ratio"].get, others)]
        peaks = ", ".join([f"{r['peak_mib'][name]:.0f}" for name in others])
        lines.append(f"| {r['workload']}: {r['text']} | {r['ms']['ours']:.3f} | {' | '.join(ratios)} "
                     f"| {peaks} / {r['peak_mib']['ours']:.0f} |")
    means = [math.exp(statistics.fmean(math.log(r["ratio"][name]["median"]) for r in results)) for name in others]
    return "\n".join([*lines, f"| geometric mean | | {' | '.join([f'**{mean:.2f}**' for mean in means])} | |"])


def chart(results: list[dict], against: str, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 0.6 * len(results) + 1.4), layout="constrained")
    names, found = [r["workload"] for r in results][::-1], [r["ratio"][against] for r in results][::-1]
    ratios = [q["median"] for q in found]
    low, high = [q["median"] - q["min"] for q in found], [q["max"] - q["median"] for q in found]
    bars = axes.barh(names, ratios, xerr=[low, high], color="#4878a8", ecolor="#777777", height=0.6)
    axes.bar_label(bars, fmt="%.2f", padding=6, label_type="edge")
    axes.axvline(1, color="#333333", linewidth=1)
    axes.set_xlabel(f"speed relative to {against} (training steps per second; 1 = equal)")
    axes.set_xlim(0, max(q["max"] for q in found) * 1.15)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS), help="default: all")
    parser.add_argument("--against", nargs="+", choices=["torch", "torch.compile", "jax"], default=["torch"],
                        help="one or several; the chart shows the first (default: torch, which is eager)")
    parser.add_argument("--capture", action="store_true", help="capture our steps")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds after a warm-up round (default 7)")
    parser.add_argument("--seconds", type=float, default=1.0, help="per framework and round (default 1)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")
    parser.add_argument("--out", type=Path, default=Path("runs/bench"),
                        help="folder for table.md, results.json and ratios.png")
    args = parser.parse_args()
    need("matplotlib", *{library.partition(".")[0] for library in args.against})
    results = []
    for name in args.workloads:
        results.append(measure(name, args.against, args.threads, args.rounds, args.seconds,
                               "captured" if args.capture else "ours"))
        print(table(results[-1:], args.against).splitlines()[2], flush=True)
    text = table(results, args.against)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "table.md").write_text(text + "\n")
    (args.out / "results.json").write_text(json.dumps({"machine": platform.processor() or platform.machine(),
                                                       "threads": args.threads, "results": results}, indent=1))
    chart(results, args.against[0], args.out / "ratios.png")
    print(f"\n{text}\n\nwritten to {args.out}")


if __name__ == "__main__":
    main()
