"""What computes: its threads, and how long it took to compile. NumPy alone has one thread, and compiles nothing."""

from __future__ import annotations

from .replaceable import replaceable


@replaceable
def get_num_threads() -> int:
    """Number of threads that compute, besides those of NumPy's matrix products."""
    return 1


@replaceable
def most_threads() -> int:
    """The largest number that `set_num_threads` takes."""
    return 1


@replaceable
def set_num_threads(n: int) -> None:
    """Compute in n threads. Raises ValueError for any n that there cannot be."""
    if isinstance(n, bool) or n != 1:
        raise ValueError(f"set_num_threads: there are no kernels that could use n={n!r} threads")


@replaceable
def compiling_seconds() -> float:
    """How long this process has compiled so far."""
    return 0.0
