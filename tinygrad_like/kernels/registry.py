"""Replace functions by kernels where these are faster, from some size on.

`rings.py` calls `replace` when a function is declared, so this module is imported before the ops.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import lru_cache, wraps
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from .. import kernels, rings
from ..core.graph import mode
from ..dtypes import FLOAT32
from ..transforms.codegen import define

_LONG = (128,)  # length of a row that hides NumPy's overhead
ALWAYS = -1  # whatever the arguments are
SMALL = 16  # in NumPy, these are many calls, but a few elements are not worth importing numba

# Functions with a kernel of the same name: its module, and the size from which on it is faster than NumPy.
ACCELERATED: dict[str, tuple[str, int]] = {
    "add_at": ("embedding", 512),
    "take_at": ("embedding", 1),
    "correlation": ("conv", 1),
    "input_gradient": ("conv", 1),
    "weight_gradient": ("conv", 1),
    "max_windows": ("pool", 64),
    "put_taps": ("pool", 1),
    "move_statistics": ("norm", 0),
    **dict.fromkeys(("add", "sub", "mul", "div"), ("formula", 16384)),
    "logaddexp": ("formula", 256),
    "logaddexp_vjp": ("formula", 256),
    **dict.fromkeys(("neg", "square", "reciprocal", "sqrt", "abs"), ("formula", 49152)),
    **dict.fromkeys(("sub_vjp", "mul_vjp", "neg_vjp", "exp_vjp", "log_vjp"), ("formula", 49152)),
    **dict.fromkeys(("div_vjp", "square_vjp", "reciprocal_vjp"), ("formula", 16384)),
    "relu": ("formula", 1024),
    **dict.fromkeys(("relu6", "exp", "expm1", "log", "tanh"), ("formula", 2048)),
    **dict.fromkeys(("hardsigmoid", "lerp"), ("formula", SMALL)),
    "hardtanh": ("formula", 8192),
    **dict.fromkeys(("sigmoid", "erf", "silu", "gelu", "gelu_tanh", "softplus", "elu"), ("formula", SMALL)),
    **dict.fromkeys(("leaky_relu", "celu", "selu", "quick_gelu", "mish", "hardswish", "huber"), ("formula", SMALL)),
    "binary_cross_entropy": ("formula", SMALL),
    **dict.fromkeys(("sign", "rsqrt", "abs_vjp", "rsqrt_vjp", "log1p_vjp", "cube", "cube_vjp"), ("formula", 8192)),
    "sqrt_vjp": ("formula", SMALL),
    **dict.fromkeys(("tanh_vjp", "sigmoid_vjp"), ("formula", 4096)),  # an unlisted rule has its function's entry
    **dict.fromkeys(("relu_vjp", "relu6_vjp", "hardtanh_vjp"), ("formula", SMALL)),
    "softsign": ("formula", 1024),
    **dict.fromkeys(("softmax", "log_softmax"), ("softmax", SMALL)),
    "logsumexp_over": ("softmax", SMALL),
    "drop": ("noise", 256),
    "accumulate": ("formula", 8192),
    "copied": ("copies", 8192),
    **dict.fromkeys(("batched_matmul", "batched_matmul_vjp"), ("gemm", 1)),
    "select": ("formula", 4096),
    "mean_over": ("reduce", 256),
    **dict.fromkeys(("max_over", "min_over"), ("reduce", 4096)),
    "spread_over": ("reduce", 1),
    "sum_over": ("reduce", 256),
    "sum_of_squares": ("reduce", 1024),
    "sum_rows_by": ("embedding", 512),
    "sum_squares": ("reduce", 0),
    "take_rows": ("embedding", 512),
    "in_c_order": ("copies", 8192),
    **dict.fromkeys(("kept", "normal_noise", "uniform_noise"), ("noise", ALWAYS)),
    "fused_update": ("optim", ALWAYS),
    **dict.fromkeys(("get_num_threads", "set_num_threads", "most_threads"), ("threads", ALWAYS)),
    "compiling_seconds": ("notice", ALWAYS),
}

makers: list[Callable] = []  # each makes kernels for an op
ARITHMETIC = frozenset({"add", "sub", "mul", "div", "logaddexp"})
PRODUCTS = frozenset({"batched_matmul", "batched_matmul_vjp"})  # the kernel would decline small ones, see `gemm.py`
LEAST_OUT = 2**15  # outputs, and so multiplications, below which it always does


def replace(definition: Callable, name: str, formula: Callable | None = None, options: dict | None = None) -> Callable:
    """A function like the definition that calls a kernel where that is faster; the definition if there is no kernel.

    An unlisted rule of a function with options has that function's entry.
    """
    line = name.removesuffix("_vjp") if options is not None and name not in ACCELERATED else name
    if line not in ACCELERATED:
        return definition
    module, least = ACCELERATED[line]
    if least == ALWAYS:
        when = "True"
    elif name in ARITHMETIC:
        when = " or ".join([f"type({x}) is array_ and {x}.size >= least_" for x in "ab"])
        when = f"({when}) and pays_(a, b, least_)"
    else:
        x = inspect.unwrap(definition).__code__.co_varnames[0]
        when = f"type({x}) is array_ and ({x}.size >= least_ or mode_.compiled) and {x}.dtype is FLOAT32_"
    if name in PRODUCTS:
        when += f" and (b.ndim > 2 or mode_.compiled or a.size * b.shape[-1] >= {LEAST_OUT})"
    choose = accelerated(definition, name, lambda home: _made(home, name, formula, options), module, when, least)
    choose.least = least  # type: ignore[attr-defined]
    return choose


def _made(home: ModuleType, name: str, formula: Callable | None, options: dict | None) -> Callable:
    """The kernel from its module, which may have to make it from a formula."""
    if formula is None or name in ARITHMETIC:
        return getattr(home, name)
    return home.pointwise(formula, name, options or ())


def accelerated(definition: Callable, name: str, made: Callable[[ModuleType], Callable], module: str,
                when: str, least: int = 0) -> Callable:
    """A function that calls the kernel if `when` is true of its parameters, which are the definition's.

    Otherwise, or if the kernel returns NotImplemented, it calls the definition.
    """
    @lru_cache  # made once, but each copy of the new function has its own names
    def kernel() -> Callable:
        return made(getattr(kernels, module))

    makers.append(kernel)

    def first(*arguments, **options):
        names["kernel_"] = kernel()
        return names["kernel_"](*arguments, **options)

    parameters = list(inspect.signature(definition).parameters.values())
    names: dict[str, Any] = {
        "definition_": _called(definition), "kernel_": first, "mode_": mode, "FLOAT32_": FLOAT32, "array_": np.ndarray,
        "pays_": _pays, "least_": least,
        **{f"{p.name}_0": p.default for p in parameters}}
    head = [p.name if p.default is p.empty else f"{p.name}={p.name}_0" for p in parameters]
    passed = [p.name if p.kind is p.POSITIONAL_OR_KEYWORD else f"{p.name}={p.name}" for p in parameters]
    if named := [k for k, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY]:
        head.insert(named[0], "*")
    given = ", ".join(passed)
    # Generated with the parameters' own names, since passing on *args takes as long as the work on small arrays.
    source = (f"def choose({', '.join(head)}):\n"
              f"    if {when}:\n"
              f"        result_ = kernel_({given})\n"
              f"        if result_ is not NotImplemented: return result_\n"
              f"    return definition_({given})\n")
    # One file for all functions with the same source, which is compiled once.
    file = os.path.join(os.path.dirname(__file__), f"<choose({', '.join(head)}), if {when}>")
    choose = define("choose", source, file, names, owner=accelerated)
    choose = wraps(definition)(choose)
    choose.kernel = kernel  # type: ignore[attr-defined]
    return choose


def _called(definition: Callable) -> Callable:
    """The NumPy function, if a definition does nothing but call it, which saves a call; else the definition."""
    code = definition.__code__
    plain = code.co_code in _PLAIN and code.co_names[0] == "np" and not code.co_kwonlyargcount
    return getattr(np, code.co_names[1]) if plain else definition


_PLAIN = {f.__code__.co_code for f in (lambda x: np.abs(x), lambda a, b: np.add(a, b))}


def _pays(a: Any, b: Any, least: int) -> bool:
    """Whether a kernel is faster for a function of two arrays or numbers, either of which may be the large array.

    If neither repeats short rows of the other, NumPy is as fast up to twice the size.
    """
    if FLOAT32 not in (getattr(a, "dtype", None), getattr(b, "dtype", None)):
        return False
    m, n = getattr(a, "size", 1), getattr(b, "size", 1)
    return not (m < 2 * least > n and (m == n or m == 1 or n == 1 or min(a.shape[-1:], b.shape[-1:]) >= _LONG))


def install() -> None:
    """Switch ops to their generated calls, and set up memory for kernels."""
    import_module(".composites", __package__)  # these know the ops, as does specialize; they do not import numba
    from .memory import align, keep_freed_memory
    from .specialize import install as specialize

    specialize()
    keep_freed_memory()
    align()


rings.replace = replace
