"""A minimal reverse-mode autodiff engine for CPUs: Tensors that record a graph, ops that carry their VJPs."""

# ruff: noqa: E402, I001, F401  # the engine comes first, then what is around it
import importlib as _importlib
import sys as _sys
import typing as _typing

from .core.primitive import Residuals, fused, primitive
from .core.tensor import Tensor

try:
    from .kernels.registry import install as _kernels  # before the functions that kernels may stand in for
except ModuleNotFoundError as _error:
    if _error.name != f"{__name__}.kernels":
        raise
    _kernels = None  # type: ignore[assignment]
from . import dtypes, ops
from .dtypes import BOOL as bool_
from .dtypes import FLOAT32 as float32
from .dtypes import FLOAT64 as float64
from .dtypes import INT64 as int64
from .ops import linalg
from . import methods as _methods
from . import distributed as _distributed
from .random import get_rng_state, manual_seed, set_rng_state
from .transforms.anomaly import detect_anomaly
from .transforms.checkpointing import checkpoint
from .transforms.derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from .transforms.gradcheck import gradcheck, gradgradcheck
from .transforms.picture import Picture, graph
from .transforms.switches import enable_grad, is_grad_enabled, no_grad
from .compat.import_lines import Beside as _Beside
from .compat.import_lines import Finder as _Finder

_sys.modules[f"{__name__}.linalg"] = linalg
_sys.meta_path.insert(0, _Beside)
_sys.meta_path.append(_Finder)

from . import compat as _compat
from .compat import autograd
from .compat import torch_functions as _functions_of_torch
from .compat import torch_names as _for_torch
from .compat import windows as _windows
from .compat.names import function as _function
from .compat.names import new as _new
from .methods.docstrings import attach as _attach_docstrings

if _kernels is not None:
    from .capture.capture import capture, eager
else:
    from .capture.without_kernels import capture, eager  # type: ignore[assignment]

__version__ = "0.1.0"
_gradcheck: _typing.Any = _sys.modules[gradcheck.__module__]
_gradcheck.why = lambda f, inputs: _importlib.import_module(".learn.explain", __name__).explain(f, inputs)
if _kernels is not None:
    _kernels()
_attach_docstrings()
tensor = _new  # as in PyTorch
__all__ = [
    "Picture", "Residuals", "Tensor", "bool_", "capture", "checkpoint", "detect_anomaly", "dtypes", "eager",
    "enable_grad",
    "float32", "float64", "fused", "get_num_threads", "get_rng_state", "grad", "gradcheck", "gradgradcheck", "graph",
    "hessian", "hvp", "int64", "is_grad_enabled", "jacobian", "jvp", "linalg", "manual_seed", "nn", "no_grad", "ops",
    "optim", "primitive", "set_num_threads", "set_rng_state", "training", "value_and_grad", "vjp",
]


def __getattr__(name: str):
    """Packages such as `nn` and `training`, and the size of the kernels' thread pool: imported when first named."""
    if name in ("data", "distributions", "func", "nn", "optim", "testing", "training", "utils"):
        return _importlib.import_module(f".{name}", __name__)
    if name in ("save", "load"):
        return getattr(_importlib.import_module(".training.saving", __name__), name)
    if name in ("get_num_threads", "set_num_threads"):
        return getattr(_importlib.import_module(".kernels", __name__).threads if _kernels is not None else
                       _importlib.import_module(".transforms.switches", __name__), name)
    found = globals()[name] = _function(name)  # the next time it is found at once
    return found
