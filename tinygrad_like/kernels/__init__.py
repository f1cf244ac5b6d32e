"""Hot loops over plain arrays, in numba: no Tensors, no graph, no op semantics.

`program.py` says how a kernel is written and run. The functions that ops call check what a user could have got wrong;
that arrays are of the right dtype, layout and size, compiled code checks at every call, since an array may have been
exchanged since the op looked at it. An index or a label is compared with the size of its table in the kernel, as it may
lie in memory that someone else writes to. `tests/kernels/guarded.py` runs ops on memory between pages that must not be
touched.

Modules here import numba, which takes longer than a small job; so each is loaded when it is first named.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable
from functools import lru_cache, wraps

import numpy as np

from ..core.graph import mode
from ..dtypes import FLOAT32
from .interrupts import without_interrupts

_LONG = (128,)  # a row that NumPy takes at once
_SMALL = 16  # in NumPy they are many calls; but numba need not be imported for a few numbers

# Functions with a kernel: its module, and how many numbers it takes to be faster than NumPy.
ACCELERATED: dict[str, tuple[str, int]] = {
    "add_at": ("embedding", 512),
    "take_at": ("embedding", 1),
    "along": ("along", 512),
    "added_along": ("along", _SMALL),
    **dict.fromkeys(("scattered", "taken_last", "product_vjp", "extreme_vjp"), ("scatter", _SMALL)),
    **dict.fromkeys(("recur", "other_products", "running_product", "cumprod_vjp"), ("scan", 256)),
    "places_of_extremes": ("scan", 256),
    "substituted": ("triangular", 16),
    "first_of_rows": ("order", 512),
    "triangle": ("select", _SMALL),
    "correlation": ("conv", 1),
    "input_gradient": ("conv", 1),
    "weight_gradient": ("conv", 1),
    "max_windows": ("pool", 64),
    "put_taps": ("pool", 1),
    "adaptive_places": ("pool", 64),
    "sum_windows": ("pool", 64),
    "spread_windows": ("pool", 1),
    "normalize_rows": ("norm", 0),
    "normalize_rows_vjp": ("norm", 0),
    "normalize_channels": ("channel_norm", 0),
    "normalize_channels_vjp": ("channel_norm", 0),
    "move_statistics": ("channel_norm", 0),
    **dict.fromkeys(("add", "sub", "mul", "div"), ("elementwise", 16384)),
    **dict.fromkeys(("hypot", "logaddexp", "fmod", "mod", "floordiv"), ("elementwise", 256)),
    **dict.fromkeys(("hypot_vjp", "logaddexp_vjp", "atan2_vjp"), ("formula", 256)),
    **dict.fromkeys(("neg", "square", "reciprocal", "sqrt", "abs"), ("formula", 49152)),
    **dict.fromkeys(("sub_vjp", "mul_vjp", "neg_vjp", "exp_vjp", "log_vjp"), ("formula", 49152)),
    **dict.fromkeys(("div_vjp", "square_vjp", "reciprocal_vjp"), ("formula", 16384)),
    **dict.fromkeys(("relu", "keep_positive"), ("formula", 1024)),
    **dict.fromkeys(("relu6", "exp", "exp2", "expm1", "log", "tanh"), ("formula", 2048)),
    **dict.fromkeys(("exp2_vjp", "frac", "truncdiv"), ("formula", 8192)),
    **dict.fromkeys(("erfinv", "erfinv_vjp", "hardsigmoid", "logit", "lerp"), ("formula", _SMALL)),
    "hardtanh": ("formula", 8192),
    **dict.fromkeys(("sigmoid", "erf", "silu", "gelu", "gelu_tanh", "softplus", "elu"), ("formula", _SMALL)),
    **dict.fromkeys(("leaky_relu", "celu", "selu", "quick_gelu", "mish", "hardswish", "huber"), ("formula", _SMALL)),
    "binary_cross_entropy": ("formula", _SMALL),
    **dict.fromkeys(("sign", "rsqrt", "abs_vjp", "rsqrt_vjp", "log1p_vjp", "cube", "cube_vjp"), ("formula", 8192)),
    "sqrt_vjp": ("formula", _SMALL),
    **dict.fromkeys(("tanh_vjp", "sigmoid_vjp"), ("formula", 4096)),  # if not listed, as the function
    **dict.fromkeys(("relu_vjp", "relu6_vjp", "hardtanh_vjp"), ("formula", _SMALL)),
    "softsign": ("formula", 1024),
    **dict.fromkeys(("mse_loss", "binary_cross_entropy_with_logits"), ("formula", 1)),
    **dict.fromkeys(("softmax", "log_softmax", "softmax_vjp", "log_softmax_vjp"), ("softmax", _SMALL)),
    **dict.fromkeys(("logsumexp_over", "logsumexp_vjp"), ("columns", _SMALL)),
    **dict.fromkeys(("cross_entropy", "cross_entropy_vjp"), ("softmax", _SMALL)),
    "nll": ("nll", _SMALL),
    "drop": ("dropout", 256),
    "accumulate": ("elementwise", 8192),
    "copied": ("copies", 8192),
    "surrounded": ("copies", 8192),
    **dict.fromkeys(("mapped", "mapped_vjp"), ("mapped", 256)),
    "affine": ("gemm", 0),
    "linear_vjp": ("gemm", 0),
    "attention": ("attention", 0),
    **dict.fromkeys(("batched_matmul", "batched_matmul_vjp"), ("gemm", 1)),
    **dict.fromkeys(("matrix_vector", "matrix_vector_vjp"), ("gemm", 1)),
    **dict.fromkeys(("lstm_steps", "gru_steps"), ("recurrent", 0)),
    **dict.fromkeys(("resampled", "resampled_vjp"), ("resample", 64)),
    **dict.fromkeys(("sampled", "sums_at", "spread_at", "products_at"), ("grid", _SMALL)),
    "running_sum": ("reduce", 64),
    "select": ("select", 4096),
    "mean_over": ("reduce", 256),
    **dict.fromkeys(("max_over", "min_over"), ("reduce", 4096)),
    "spread_over": ("reduce", 1),
    **dict.fromkeys(("sum_over", "prod_over"), ("reduce", 256)),
    "sum_of_squares": ("reduce", 1024),
    "sum_rows_by": ("embedding", 512),
    "take_rows": ("embedding", 512),
}


def accelerated(definition: Callable, name: str = "", *, made: Callable | None = None) -> Callable:
    """Have a function of arrays done by the kernel of that name, if its first array is large enough and float32.

    The function below the decorator, in NumPy, defines what is computed; it serves all other arrays. So does it where
    the kernel returns NotImplemented. made: what makes the kernel, from its module.
    """
    name = name or definition.__name__.lstrip("_")
    module, least = ACCELERATED[name]

    @lru_cache  # also for copies of what is made here, with names of their own
    def kernel() -> Callable:
        home = __getattr__(module)
        return made(home) if made else getattr(home, name)

    def first(*arguments, **options):
        names["kernel_"] = kernel()
        return names["kernel_"](*arguments, **options)

    parameters = list(inspect.signature(definition).parameters.values())
    names = {"definition_": definition, "kernel_": first, "mode_": mode, "FLOAT32_": FLOAT32, "array_": np.ndarray,
             **{f"{p.name}_": p.default for p in parameters}}
    head = [p.name if p.default is p.empty else f"{p.name}={p.name}_" for p in parameters]
    passed = [p.name if p.kind is p.POSITIONAL_OR_KEYWORD else f"{p.name}={p.name}" for p in parameters]
    if named := [k for k, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY]:
        head.insert(named[0], "*")
    x, given = parameters[0].name, ", ".join(passed)
    # Written out with the parameters' own names: to take whatever comes and pass it on takes as long as small arrays.
    source = (f"def choose({', '.join(head)}):\n"
              f"    if type({x}) is array_ and ({x}.size >= {least} or mode_.compiled) and {x}.dtype is FLOAT32_:\n"
              f"        result_ = kernel_({given})\n"
              f"        if result_ is not NotImplemented: return result_\n"
              f"    return definition_({given})\n")
    exec(compile(source, os.path.join(os.path.dirname(__file__), f"<{name}>"), "exec"), names)
    choose = wraps(definition)(names["choose"])
    choose.kernel = kernel  # type: ignore[attr-defined]
    return choose


def accelerated_arithmetic(definition: Callable) -> Callable:
    """The same for a function of two arrays or numbers, of which either may be the large array.

    Where neither repeats short rows of the other, NumPy is as fast up to twice as many numbers.
    """
    name, array = definition.__name__, np.ndarray
    module, least = ACCELERATED[name]
    kernel: Callable | None = None

    @wraps(definition)
    def choose(a, b):
        nonlocal kernel
        if type(a) is array and a.size >= least or type(b) is array and b.size >= least:
            m, n = getattr(a, "size", 1), getattr(b, "size", 1)
            if m < 2 * least > n and (m == n or m == 1 or n == 1 or min(a.shape[-1:], b.shape[-1:]) >= _LONG):
                return definition(a, b)
            if kernel is None and FLOAT32 in (getattr(a, "dtype", None), getattr(b, "dtype", None)):
                kernel = getattr(__getattr__(module), name)
            if kernel is not None and (result := kernel(a, b)) is not NotImplemented:
                return result
        return definition(a, b)

    return choose


def __getattr__(name: str):
    if importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with without_interrupts():  # what Ctrl-C leaves of numba cannot be imported again
        import numba  # noqa: F401  # all of it first: a part does not wait for another thread that imports the whole

        module = importlib.import_module(f".{name}", __name__)
        importlib.import_module(".notice", __name__).install()
    return module
