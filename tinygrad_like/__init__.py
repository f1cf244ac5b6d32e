"""A minimal reverse-mode autodiff engine for CPUs: Tensors that record a graph, ops that carry their VJPs."""

# ruff: noqa: E402, I001, F401  # the engine comes first, then the rings
import sys as _sys
import typing as _typing

from . import rings as _rings
from .core.primitive import Residuals, primitive
from .core.tensor import Tensor

if not _rings.missing("kernels"):
    from .kernels.registry import install as _kernels  # before the functions that kernels may replace
from . import dtypes, ops
from .dtypes import BOOL as bool_
from .dtypes import FLOAT32 as float32
from .dtypes import FLOAT64 as float64
from .dtypes import INT64 as int64
from .ops import linalg
from .ops.composite import composite
from . import methods as _methods
from .random import get_rng_state, manual_seed, set_rng_state
from .transforms.anomaly import detect_anomaly
from .transforms.checkpointing import checkpoint
from .transforms.derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from .transforms.gradcheck import gradcheck, gradgradcheck
from .transforms.picture import Picture, graph
from .transforms.switches import enable_grad, get_num_threads, is_grad_enabled, no_grad, set_num_threads

__version__ = "0.1.0"
_sys.modules[f"{__name__}.linalg"] = linalg
if not _rings.missing("distributed"):  # which the first collective op imports
    ops.collective.all_reduce = lambda x: _rings.named("distributed").all_reduce(x)
    ops.collective.ranks = lambda: _rings.named("distributed").size
if not _rings.missing("compat"):
    from . import compat as _compat
    from .compat import autograd
    from .compat import lookup as _lookup
if not _rings.missing("capture"):
    from .capture.capture import capture, eager
if not _rings.missing("kernels"):
    _kernels()
if not _rings.missing("learn"):
    _gradcheck: _typing.Any = _sys.modules[gradcheck.__module__]
    _gradcheck.why = lambda f, inputs: _rings.named("explain")(f, inputs)
    Tensor._repr_html_ = lambda x: _rings.named("shown")(x)  # type: ignore[attr-defined]  # in notebooks
__all__ = [
    "Picture", "Residuals", "Tensor", "bool_", "capture", "checkpoint", "composite", "detect_anomaly", "dtypes",
    "eager", "enable_grad", "float32", "float64", "get_num_threads", "get_rng_state", "grad", "gradcheck",
    "gradgradcheck", "graph", "hessian", "hvp", "int64", "is_grad_enabled", "jacobian", "jvp", "linalg",
    "manual_seed", "nn", "no_grad", "ops", "optim", "primitive", "set_num_threads", "set_rng_state", "training",
    "value_and_grad", "vjp",
]
__all__ = [name for name in __all__ if not _rings.missing(_rings.NAMES.get(name, name))]


def __getattr__(name: str):
    """Import packages such as `nn` and `training` at first use; compat has all other names."""
    if name in _rings.NAMES:
        return _rings.named(name)
    if _rings.missing("compat"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}, and {__name__}.compat, with "
                             "PyTorch's and NumPy's names, is not installed here")
    found = globals()[name] = _lookup(name)  # found at once the next time
    return found
