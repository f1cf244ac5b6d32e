"""Time and memory of a training step by its size, here and in PyTorch, each measured in its own process.

    python -m benchmarks.growth                     every way to grow; a table, and a picture in runs/growth.png
    python -m benchmarks.growth --only batch depth --threads 2

In the picture, a line of slope 1 means that time or memory is proportional to the size.
"""

import argparse
import json
import resource
import statistics
import time
from pathlib import Path

import numpy as np

from .process import Worker, need

WAYS = {  # way to grow -> sizes
    "batch": (1, 8, 64, 512, 4096),  # of an MLP 784-512-512-10
    "depth": (1, 10, 100, 1000),  # hidden layers of 64, batch 64
    "width": (8, 32, 128, 512, 2048, 4096),  # of an MLP of two hidden layers, batch 64
    "sequence": (16, 64, 256, 1024, 4096),  # of causal self-attention, 4 heads of 32
    "parameters": (10**6, 10**7, 10**8),  # of an embedding, with Adam; a step uses 64 rows
    "ops": (10**3, 10**4, 10**5, 10**6),  # in a chain x + 1 + 1 ... of one number
}
LIBRARIES = ("ours", "torch")


def step_of(library: str, way: str, size: int, threads: int):
    """A training step of this size, with the same code for both libraries."""
    if library == "ours":
        import nn
        import nn.functional as F
        import optim
        from tinygrad_like import Tensor, manual_seed, set_num_threads

        tensor = Tensor
        set_num_threads(threads)
    else:
        import torch
        import torch.nn.functional as F
        from torch import manual_seed, nn, optim

        tensor = torch.tensor
        torch.set_num_threads(threads)
    manual_seed(0)
    rng = np.random.default_rng(0)

    def array(*shape):
        return tensor(rng.standard_normal(shape, np.float32))

    if way == "ops":
        def chain():
            y = x = array(1).requires_grad_()
            for _ in range(size):
                y = y + 1
            y.sum().backward()
            return x.grad

        return chain
    if way == "parameters":
        model, x, y = nn.Embedding(size // 64, 64), tensor(rng.integers(0, size // 64, 64)), array(64, 64)
        loss_function = F.mse_loss
    elif way == "sequence":
        model, x, y = nn.Linear(128, 384), array(1, size, 128), array(1, size, 128)

        def loss_function(qkv, y):
            q, k, v = (part.reshape(1, size, 4, 32).transpose(1, 2) for part in qkv.chunk(3, -1))
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return F.mse_loss(attended.transpose(1, 2).reshape(1, size, 128), y)
    else:
        batch = size if way == "batch" else 64
        widths = {"batch": [784, 512, 512, 10], "width": [64, size, size, 10], "depth": [64] * (size + 1) + [10]}[way]
        layers = [part for a, b in zip(widths, widths[1:], strict=False) for part in (nn.Linear(a, b), nn.ReLU())][:-1]
        for layer in layers[::2]:  # else gradients vanish in 100 layers, and subnormal numbers are slow
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
        model, x, y = nn.Sequential(*layers), array(batch, widths[0]), tensor(rng.integers(0, 10, batch))
        loss_function = F.cross_entropy
    optimizer = optim.Adam(model.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def point(library: str, way: str, size: int, threads: int) -> None:
    """Print the median time of a step in milliseconds, and the peak memory that steps add, in MiB.

    The first two steps, which ask the system for memory, do not count.
    """
    step_of(library, way, WAYS[way][0], threads)()  # compiles and loads all code before the measurement
    step = step_of(library, way, size, threads)
    before, times = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    end = time.perf_counter() + 1.5
    while len(times) < 5 or time.perf_counter() < end and len(times) < 500:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"ms": statistics.median(times[2:]) * 1e3, "MiB": peak / 1024}))


def measured(ways: list[str], threads: list[int]) -> dict[tuple[str, str, int], list[dict]]:
    found: dict[tuple[str, str, int], list[dict]] = {}
    for way in ways:
        for n in threads:
            print(f"\n| {way}, {n} thread{'s' * (n > 1)} | ours, ms | PyTorch, ms | ratio | ours, MiB | PyTorch, MiB |")
            print("| --- " * 6 + "|")
            for size in WAYS[way]:
                row = []
                for library in LIBRARIES:
                    worker = Worker("benchmarks.growth", "--point", library, way, str(size), "--threads", str(n))
                    row.append(json.loads(worker.ask("")))
                    worker.close()
                    found.setdefault((way, library, n), []).append(row[-1])
                a, b = row
                print(f"| {size:,} | {a['ms']:.3g} | {b['ms']:.3g} | {b['ms'] / a['ms']:.2f} | {a['MiB']:.0f} "
                      f"| {b['MiB']:.0f} |", flush=True)
    return found


def draw(found: dict[tuple[str, str, int], list[dict]], path: Path) -> None:
    from demos.figures import BLUE, ORANGE, slide

    ways, threads = list(dict.fromkeys(way for way, _, _ in found)), sorted({n for _, _, n in found})
    path.parent.mkdir(parents=True, exist_ok=True)
    with slide(path, "Time and memory of a training step by its size", 2, len(ways), squeeze=False,
               sharex="col") as axes:
        for column, way in zip(axes.T, ways, strict=True):
            for axis, what in zip(column, ("ms", "MiB"), strict=True):
                for library, name, color in (("ours", "tinygrad_like", BLUE), ("torch", "PyTorch", ORANGE)):
                    for n in threads:
                        values = [max(row[what], 0.1 if what == "MiB" else 0) for row in found[way, library, n]]
                        axis.loglog(WAYS[way], values, "o-" if n == threads[-1] else "--", color=color,
                                    label=f"{name}, {n} thread{'s' * (n > 1)}")
            column[1].set_xlabel(way)
        axes[0, 0].set_ylabel("time, ms")
        axes[1, 0].set_ylabel("memory added by steps, MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--out", type=Path, default=Path("runs/growth.png"))
    parser.add_argument("--point", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.point:
        point(args.point[0], args.point[1], int(args.point[2]), args.threads[0])
    else:
        need("torch", "matplotlib")
        draw(measured(args.only, args.threads), args.out)


if __name__ == "__main__":
    main()
