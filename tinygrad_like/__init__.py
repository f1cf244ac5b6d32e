"""A minimal reverse-mode autodiff engine for CPUs: Tensors that record a graph, ops that carry their VJPs."""

import importlib as _importlib
import sys as _sys

from . import autograd as _autograd
from . import dtypes, ops
from . import for_torch as _for_torch  # noqa: F401
from . import functions_of_torch as _functions_of_torch  # noqa: F401
from . import windows as _windows  # noqa: F401
from .anomaly import detect_anomaly
from .autograd import eager, enable_grad, is_grad_enabled, no_grad
from .capture import capture
from .checkpointing import checkpoint
from .docstrings import attach as _attach_docstrings
from .dtypes import BOOL as bool_
from .dtypes import FLOAT32 as float32
from .dtypes import FLOAT64 as float64
from .dtypes import INT64 as int64
from .for_autograd import FOR_AUTOGRAD as _for_autograd
from .gradcheck import gradcheck, gradgradcheck
from .graph import Picture, graph
from .imports import Beside as _Beside
from .imports import Finder as _Finder
from .memory import align as _align_arrays
from .memory import keep_freed_memory as _keep_freed_memory
from .methods import complete as _complete
from .names import function as _function
from .names import new as _new
from .ops import linalg
from .primitive import Residuals, fused, primitive
from .random import get_rng_state, manual_seed, set_rng_state
from .tensor import Tensor
from .transforms import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp

vars(_autograd).update(_for_autograd)  # where PyTorch has it
__version__ = "0.1.0"
_sys.modules[f"{__name__}.linalg"] = linalg
_sys.meta_path.insert(0, _Beside)
_sys.meta_path.append(_Finder)
_keep_freed_memory()
_align_arrays()
_complete()
_attach_docstrings()
tensor = _new  # as in PyTorch; the module of that name is found by import
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
        return getattr(_importlib.import_module(".kernels", __name__).threads, name)
    found = globals()[name] = _function(name)  # the next time it is found at once
    return found
