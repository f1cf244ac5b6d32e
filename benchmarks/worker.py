"""One framework and one workload, in a process of its own.

Each line of standard input is a number of steps to run. The answer is a line of JSON: the median and the mean time of a
step in milliseconds, and the peak memory of the process so far in MiB.
"""

import json
import resource
import statistics
import sys
import time
from functools import partial

from . import workloads


def in_jax(name: str, threads: int):
    from .in_jax import workload

    return workload(name)


def main() -> None:
    framework, name, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    make = {"ours": workloads.ours, "captured": partial(workloads.ours, captured=True),
            "torch": workloads.torch, "torch.compile": partial(workloads.torch, compiled=True),
            "jax": in_jax}[framework]
    step = make(name, threads)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"ms": statistics.median(times) * 1e3, "mean": statistics.fmean(times) * 1e3,
                          "peak": peak}), flush=True)


if __name__ == "__main__":
    main()
