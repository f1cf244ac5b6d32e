"""The processor that kernels are compiled for: not this one, but the highest level of x86-64 that it has.

So kernels can be brought along or shared by machines, and give the same bits wherever they were compiled. The levels
are those of the x86-64 ABI: v3 has AVX2 and FMA, v4 AVX-512. Of another processor, all that it has is used.
"""

from llvmlite import binding as llvm
from numba.core import config
from numba.core.registry import cpu_target

_V3 = ("avx avx2 bmi bmi2 cmov crc32 cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2 "
       "ssse3 xsave").split()
LEVELS = {"x86-64-v4": [*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"], "x86-64-v3": _V3}


def settings(level: str) -> tuple[str, str]:
    """How numba is told to compile for a level: the names of a processor and of what it has."""
    return level, ",".join(f"+{feature}" for feature in LEVELS[level])


def available() -> list[str]:
    """The levels that this processor has, the highest first."""
    try:
        has = llvm.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot say
        return []
    return [level for level, needs in LEVELS.items() if all(has.get(feature) for feature in needs)]


def choose() -> None:
    """Have numba compile for the highest level, unless the environment names a processor, or it has compiled already:
    a process has one code generator."""
    if config.CPU_NAME is config.CPU_FEATURES is None and "_toplevel_target_context" not in vars(cpu_target):
        for level in available()[:1]:
            config.CPU_NAME, config.CPU_FEATURES = settings(level)
