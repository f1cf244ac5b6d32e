"""Matrix products of ours, PyTorch (MKL or its own) and NumPy (OpenBLAS), in GFLOP/s; bigger is better.

    python -m benchmarks.gemm            every shape
    python -m benchmarks.gemm --quick    fewer rounds
"""

from collections.abc import Callable

import numpy as np

from . import compare

LIBRARIES = "ours", "torch", "numpy"

LINEAR = [
    (128, 784, 512), (128, 512, 512), (128, 256, 256), (64, 128, 128),
    (2048, 128, 384), (2048, 128, 512), (2048, 512, 128), (128, 784, 256),
]  # fmt: skip
SQUARE = [512, 1024]
ATTENTION = [(64, 1024, 64), (128, 32, 64)]  # (batch * heads, tokens, features)


def cases() -> dict[str, tuple[tuple[int, ...], tuple[int, ...], bool, bool]]:
    """Name of each product -> the shapes of both operands in memory, and whether each is transposed on the fly."""
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
    """A function without arguments that computes one product, always into the same memory."""
    a_shape, b_shape, a_transposed, b_transposed = case
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, np.float32) for shape in (a_shape, b_shape))
    if library == "torch":
        import torch

        a, b = torch.from_numpy(a), torch.from_numpy(b)
    a, b = a.mT if a_transposed else a, b.mT if b_transposed else b
    if library == "ours":
        from tinygrad_like.kernels import gemm

        def multiply(a, b, out=None):
            return gemm.product(a, b, np.empty((*a.shape[:-1], b.shape[-1]), np.float32) if out is None else out)

    elif library == "torch":
        multiply = torch.mm if a.ndim == 2 else torch.bmm
    else:
        multiply = np.matmul
    out = multiply(a, b)
    return lambda: multiply(a, b, out=out)


def figures(i: int, seconds: dict[str, float]) -> str:
    work = flops(list(cases().values())[i])
    return "".join(f"{work / seconds[library] / 1e9:8.0f}" for library in LIBRARIES)


if __name__ == "__main__":
    compare.main("gemm", LIBRARIES, lambda: list(cases()),
                 lambda library, i: product(library, list(cases().values())[i]),
                 "".join(f"{library:>8}" for library in LIBRARIES), figures)
