"""Contracts: the shapes and dtypes that an op takes, declared in the notation of its docstring.

    linear.requires(fits("weight (out, in), x (..., in), bias? (out)"))

A name stands for the same size wherever it appears, `...` for any axes. A size may be a product, such as `4*H` or
`groups*in`, whose factors before the last are numbers or options of the op. "or" separates alternatives; an input with
`?` may be None.

The word before an input says what it holds: float, int, real (either) or any. Inputs marked float, and unmarked ones,
share one dtype.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache

from ..dtypes import FLOATS

_KINDS = {"float": (FLOATS, "floating point", ".float"), "int": ("iu", "integers", ".long"),
          "real": (FLOATS + "iu", "floating point or integers", ".float")}
_INPUT = re.compile(r"(?:(float|int|real|any) )?(\w+\??) (\([^)]*\)(?: or \([^)]*\))*)")


def fits(declared: str, nonempty: str = "") -> Callable:
    """A contract: inputs have the declared shapes and dtypes, and the sizes named in `nonempty` are not 0."""
    inputs = [(kind, name, forms.split(" or ")) for kind, name, forms in _INPUT.findall(declared)]
    options = [*dict.fromkeys(re.findall(r"([a-zA-Z]\w*)\*", declared))]

    @lru_cache(1024)
    def judged(*given) -> str | Exception | None:
        sizes = {}  # name -> (size, where it was found)
        for name, value in zip(options, given[2 * len(inputs) :], strict=True):
            if type(value) is not int or value < 1:
                return f"{name} must be a positive integer, got {value}"
            sizes[name] = value, ""
        first: tuple = ()  # the first input that shares the dtype, and its dtype
        for (kind, name, forms), shape, dtype in zip(inputs, given[::2], given[1::2], strict=False):
            name = name.strip("?")
            if shape is None:
                continue
            if kind in _KINDS and dtype.kind not in _KINDS[kind][0]:
                return TypeError(f"{name} must be {_KINDS[kind][1]}, got {dtype}; cast with {_KINDS[kind][2]}()")
            if kind in ("float", ""):
                first = first or (name, dtype)
                if dtype != first[1]:
                    return TypeError(f"{name} is {dtype} but {first[0]} {first[1]}; cast one with .float() or "
                                     ".double()")
            if (why := _misfit(name, shape, forms, sizes)) is not None:
                return f"{name} must be {' or '.join(forms).replace('*', ' * ')}{why}, got shape {shape}"
        empty = [f"{size} must not be 0, as{where}" for size, (n, where) in sizes.items()
                 if n == 0 and size in nonempty.split()]
        return empty[0] if empty else None

    # Generated source takes half the time.
    values = [f"None if {n[:-1]} is None else {n[:-1]}.{what}" if n.endswith("?") else f"{n}.{what}"
              for _, n, _ in inputs for what in ("shape", "dtype")]
    values += [f"{n} if type({n}) is int else repr({n})" for n in options]
    names = [*[n.strip("?") for _, n, _ in inputs], *options]
    return eval(f"lambda {', '.join(names)}: judged({', '.join(values)})", {"judged": judged, "__name__": __name__})


def _misfit(name: str, shape: tuple[int, ...], forms: list[str], sizes: dict[str, tuple[int, str]]) -> str | None:
    """None if a shape has one of these forms, and then remember its sizes; else the known sizes that it contradicts."""
    for form in forms:
        axes = form.strip("()").split(", ")
        if "..." in axes:
            rest = axes.index("...")
            axes[rest : rest + 1] = ["..."] * (len(shape) + 1 - len(axes))
        if len(axes) == len(shape):
            break
    else:
        return ""
    for axis, n in zip(axes, shape, strict=True):
        *factors, last = axis.split("*")
        times = math.prod([int(f) if f.isdigit() else sizes[f][0] for f in factors])
        if axis == "...":
            continue
        known, where = sizes.setdefault(last, (n // times, f" in {name} of shape {shape}"))
        if known * times != n:
            of_options = [f"{f}={sizes[f][0]}" for f in factors if f in sizes]
            of_others = [f"{last}={known} as{where}"] if f" in {name} " not in where else []
            return "".join([" with ", " and ".join(of_options + of_others)]) if of_options + of_others else ""
    return None
