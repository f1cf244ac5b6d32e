"""The time of a captured step by kind of call, compared with the machine's limit.

    python -m benchmarks.limits                      every workload
    python -m benchmarks.limits --only mlp gpt dcgan          workloads, or programs of benchmarks/programs

The limit of products, convolutions and attention is their number of operations at the rate of multiply-adds in
registers; convolutions are counted by definition, and Winograd's method needs fewer operations. The limit of all other
calls is their number of bytes at the rate of copying 4 MB arrays. Both rates are measured first, on all threads. Then
each call of the program is repeated on its own, and its best time counts. The rest of a step is the time between calls.
"""

import argparse
import math
import statistics
import threading
import time
from collections import defaultdict
from functools import partial

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from tinygrad_like import capture, set_num_threads
from tinygrad_like.core.listener import Listener
from tinygrad_like.kernels import simd
from tinygrad_like.kernels.loops import Loop
from tinygrad_like.kernels.program import run_records

from . import workloads
from .programs import programs

KINDS = ("products", "convolutions", "attention", "all else")
_CHAINS = simd.ROWS * simd.VECTORS  # independent sums


def _vector(value: float):
    return ir.Constant(simd.VECTOR, [value] * simd.FLOATS)


def _emit(b, count):
    """Emit as many independent chains of multiply-adds as the registers hold."""
    one, begun, body, after = _vector(0.999), b.block, b.append_basic_block(), b.append_basic_block()
    b.branch(body)
    b.position_at_end(body)
    i = b.phi(simd.I64)
    sums = [b.phi(simd.VECTOR) for _ in range(_CHAINS)]
    new = [simd.multiply_add(b, x, one, one) for x in sums]
    following = b.add(i, simd.integer(1))
    i.add_incoming(simd.integer(0), begun)
    i.add_incoming(following, body)
    for k, (x, y) in enumerate(zip(sums, new, strict=True)):
        x.add_incoming(_vector(float(k)), begun)
        x.add_incoming(y, body)
    b.cbranch(b.icmp_signed("<", following, count), body, after)
    b.position_at_end(after)
    total = new[0]
    for x in new[1:]:
        total = b.fadd(total, x)
    return b.extract_element(total, simd.integer(0))


@intrinsic
def _multiply_adds(context, count):
    return simd.function(_emit, types.float32, types.intp)


@njit(nogil=True)
def _spin(count):
    return _multiply_adds(count)


@njit(nogil=True)
def _copy(x, y, times):
    for _ in range(times):
        for i in range(x.size):
            y[i] = x[i]


def _together(threads: int, work) -> float:
    """Seconds until all threads have done work(i), one i each."""
    others = [threading.Thread(target=work, args=(i,)) for i in range(1, threads)]
    start = time.perf_counter()
    for t in others:
        t.start()
    work(0)
    for t in others:
        t.join()
    return time.perf_counter() - start


def rates(threads: int) -> tuple[float, float]:
    """Floating-point operations per second, and bytes read and written per second."""
    count, times = 10**7, 50
    rows = [(np.ones(2**19, np.float32), np.zeros(2**19, np.float32)) for _ in range(threads)]
    _spin(1)
    _copy(*rows[0], 1)
    spun = min(_together(threads, lambda i: _spin(count)) for _ in range(5))
    copied = min(_together(threads, lambda i: _copy(*rows[i], times)) for _ in range(5))
    return 2 * threads * count * _CHAINS * simd.FLOATS / spun, threads * times * 2 * rows[0][0].nbytes / copied


def _amount(call) -> tuple[str, float]:
    """The kind of a call, and its floating-point operations or its bytes."""
    read, written = call.reads(), call.writes()
    name = "loop" if isinstance(call, Loop) else call.kernel.name
    if name == "matrix product":
        return "products", 2 * math.sqrt(read[0].size * read[1].size * written[0].size)  # of m k, n k and m n numbers
    if name == "attention":
        return "attention", 4 * read[0].size * read[0].shape[-2] / 2  # causal
    if name == "attention backward":
        return "attention", 10 * read[0].size * read[0].shape[-2] / 2
    if name in ("convolve", "correlate", "correlate weights", "transform weights", "weight gradient", "add parts"):
        return "convolutions", 0  # see `_direct`
    return "all else", sum({x.__array_interface__["data"][0]: x.nbytes for x in (*read, *written)}.values())


class _Direct(Listener):
    """Adds up the operations of a step's convolutions: forward, and backward for inputs with a gradient."""

    operations = 0.0

    def op(self, op, inputs, options, run):
        out = run(inputs, options)
        if op.name.startswith("conv"):
            x, weight = inputs[:2]
            places = x if "transpose" in op.name else out
            passes = 1 + (x.requires_grad or x.node is not None) + (weight.requires_grad or weight.node is not None)
            self.operations += passes * 2 * places.size * weight.data[0].size
        return out


def _step(name: str, threads: int):
    """A step that returns its loss, and the captured step."""
    if name in workloads.WORKLOADS:
        step = workloads.ours(name, threads, captured=True)
        _, _, x, y = step.parts  # type: ignore[attr-defined]
        return partial(step.captured.function, x, y), partial(step.captured, x, y)  # type: ignore[attr-defined]
    step, inputs, _ = programs()[name].make("ours")
    return partial(step, *inputs), partial(capture(step), *inputs)


def measure(name: str, threads: int, repeats: int, flops: float, bandwidth: float) -> dict:
    eager, captured = _step(name, threads)
    with _Direct() as direct:
        eager()
    for _ in range(5):
        captured()
    times = []
    for _ in range(max(20, repeats)):
        start = time.perf_counter()
        captured().item()
        times.append(time.perf_counter() - start)
    (program,) = captured.func.programs
    took, amount = defaultdict(float), defaultdict(float)
    for part in program.parts:
        steps, i = getattr(part, "steps", []), 0  # a part in Python has no steps
        while i < len(steps):
            j = i + 1
            while j < len(steps) and getattr(steps[j].call, "beside", 0):
                j += 1
            found = [_amount(s.call) for s in steps[i:j]]
            kind = next((k for k, _ in found if k != "all else"), "all else")
            offsets = [part.offsets[k] - part.offsets[i] for k in range(i, j + 1)]
            best = []
            for _ in range(repeats):
                start = time.perf_counter()
                run_records(part.address + part.offsets[i], offsets)
                best.append(time.perf_counter() - start)
            took[kind] += max(0, min(best) - _EMPTY)
            for k, n in found:
                amount[k] += n
            i = j
    amount["convolutions"] = direct.operations
    limit = {k: amount[k] / (bandwidth if k == "all else" else flops) for k in KINDS}
    return {"step": statistics.median(times), "took": took, "limit": limit, "amount": amount}


_EMPTY = 1.5e-6  # seconds to run an empty program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*workloads.WORKLOADS, *programs()],
                        default=list(workloads.WORKLOADS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    set_num_threads(args.threads)
    flops, bandwidth = rates(args.threads)
    print(f"{flops / 1e9:.0f} GFLOP/s, {bandwidth / 1e9:.0f} GB/s on {args.threads} threads\n")
    print("| step | ms | GFLOP | MB "
          f"| {' | '.join(f'{k}: ms (limit)' for k in KINDS)} | between calls | limit / step |")
    print("| --- " * (len(KINDS) + 6) + "|")
    for name in args.only:
        r = measure(name, args.threads, args.repeats, flops, bandwidth)
        cells = [f"{1e3 * r['took'][k]:.3f} ({1e3 * r['limit'][k]:.3f})" if r["took"][k] else "" for k in KINDS]
        rest, done = r["step"] - sum(r["took"].values()), sum(r["amount"][k] for k in KINDS[:-1])
        print(f"| {name} | {1e3 * r['step']:.3f} | {done / 1e9:.3g} | {r['amount']['all else'] / 1e6:.3g} "
              f"| {' | '.join(cells)} | {1e3 * rest:.3f} | {sum(r['limit'].values()) / r['step']:.0%} |", flush=True)


if __name__ == "__main__":
    main()
