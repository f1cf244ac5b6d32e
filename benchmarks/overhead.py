"""The overhead of an op: `y = y * x` of 4 elements, 2,000 times, and its backward with both gradients.

    python -m benchmarks.overhead

Prints microseconds per op, ours and PyTorch's, and the ratios ours / PyTorch: the medians of interleaved rounds.
"""

import statistics
import time

import numpy as np
import torch

from tinygrad_like import Tensor

OPS, ROUNDS = 2000, 21


def chain(x, g) -> tuple[float, float]:
    """Microseconds per op: forward alone, and forward with backward."""
    x.grad = None
    start = time.perf_counter()
    y = x
    for _ in range(OPS):
        y = y * x
    forward = time.perf_counter()
    y.backward(g)
    end = time.perf_counter()
    return (forward - start) / OPS * 1e6, (end - start) / OPS * 1e6


def main() -> None:
    ours = Tensor(np.ones(4, np.float32), requires_grad=True), Tensor(np.ones(4, np.float32))
    theirs = torch.ones(4, requires_grad=True), torch.ones(4)
    rounds = [(chain(*ours), chain(*theirs)) for _ in range(ROUNDS + 3)][3:]
    for i, what in enumerate(("forward", "forward + backward")):
        a = statistics.median(r[0][i] for r in rounds)
        b = statistics.median(r[1][i] for r in rounds)
        ratio = statistics.median(r[0][i] / r[1][i] for r in rounds)
        print(f"{what:20} ours {a:.2f} us, PyTorch {b:.2f} us, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
