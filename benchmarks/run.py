"""Training steps side by side with PyTorch: interleaved rounds, medians, ratios, and their geometric mean.

    python -m benchmarks.run                                 every workload, against PyTorch eager
    python -m benchmarks.run --workloads mlp resnet_s --rounds 9
    python -m benchmarks.run --capture --against torch.compile
    python -m benchmarks.run --against jax --workloads tiny mlp_small mlp resnet_s      (pip install jax)

Each framework runs in a process of its own. In a round each does steps for about `--seconds`, one after the other;
the first round is dropped. The ratio is PyTorch's time / ours, so bigger is better for us. Nothing else should run on
the machine.
"""

import argparse
import json
import math
import os
import platform
import statistics
from pathlib import Path

from .process import Worker
from .workloads import WORKLOADS


def measure(workload: str, against: str, threads: int, rounds: int, seconds: float, ours: str = "ours") -> dict:
    workers = {name: Worker("benchmarks.worker", name, workload, str(threads)) for name in (against, ours)}

    def run(name: str, steps: int) -> dict:
        return json.loads(workers[name].ask(str(steps)))

    for name in workers:
        run(name, 5)  # compile, fill caches
    steps = {name: max(5, int(seconds * 1e3 / run(name, 20)["ms"])) for name in workers}
    found: dict[str, list] = {name: [] for name in workers}
    for _ in range(rounds + 1):
        for name in workers:
            found[name].append(run(name, steps[name]))
    for worker in workers.values():
        worker.close()
    ms = {name: [r["ms"] for r in results[1:]] for name, results in found.items()}
    ratios = [a / b for a, b in zip(ms[against], ms[ours], strict=True)]
    return {"workload": workload, "text": WORKLOADS[workload].text, "rounds": rounds,
            "theirs_ms": statistics.median(ms[against]), "ours_ms": statistics.median(ms[ours]),
            "ratio": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios),
            "theirs_peak_mib": found[against][-1]["peak"], "ours_peak_mib": found[ours][-1]["peak"]}


def table(results: list[dict], against: str) -> str:
    lines = [f"| workload | {against}, ms | ours, ms | ratio (min-max) | peak memory {against} / ours, MiB |",
             "| --- | --- | --- | --- | --- |"]
    for r in results:
        lines.append(f"| {r['workload']}: {r['text']} | {r['theirs_ms']:.3f} | {r['ours_ms']:.3f} "
                     f"| **{r['ratio']:.2f}** ({r['ratio_min']:.2f}-{r['ratio_max']:.2f}) "
                     f"| {r['theirs_peak_mib']:.0f} / {r['ours_peak_mib']:.0f} |")
    mean = math.exp(statistics.fmean(math.log(r["ratio"]) for r in results))
    return "\n".join([*lines, f"| geometric mean | | | **{mean:.2f}** | |"])


def chart(results: list[dict], against: str, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 0.6 * len(results) + 1.4), layout="constrained")
    names, ratios = [r["workload"] for r in results][::-1], [r["ratio"] for r in results][::-1]
    low = [r["ratio"] - r["ratio_min"] for r in results][::-1]
    high = [r["ratio_max"] - r["ratio"] for r in results][::-1]
    bars = axes.barh(names, ratios, xerr=[low, high], color="#4878a8", ecolor="#777777", height=0.6)
    axes.bar_label(bars, fmt="%.2f", padding=6, label_type="edge")
    axes.axvline(1, color="#333333", linewidth=1)
    axes.set_xlabel(f"speed relative to {against} (training steps per second; 1 = equal)")
    axes.set_xlim(0, max(r["ratio_max"] for r in results) * 1.15)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS), help="default: all")
    parser.add_argument("--against", choices=["torch", "torch.compile", "jax"], default="torch")
    parser.add_argument("--capture", action="store_true", help="our steps captured")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds that count (default 7)")
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="length of one framework's part of a round (default 1)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")
    parser.add_argument("--out", type=Path, default=Path("runs/bench"),
                        help="folder of table.md, results.json and ratios.png")
    args = parser.parse_args()
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
    chart(results, args.against, args.out / "ratios.png")
    print(f"\n{text}\n\nwritten to {args.out}")


if __name__ == "__main__":
    main()
