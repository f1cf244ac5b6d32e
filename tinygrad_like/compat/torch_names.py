"""PyTorch's and NumPy's functions besides ops and methods; `function` finds them all."""

from __future__ import annotations

import inspect
import sys
from collections import namedtuple
from importlib import import_module
from typing import Any, overload

import numpy as np

from .. import ops, random
from ..core.dispatch import Op
from ..core.tensor import Tensor, wrap
from ..dtypes import bfloat16, can_cast, finfo, get_default_dtype, promote_types, set_default_dtype
from ..errors import named, warn
from ..methods.creation import Creation
from ..methods.in_place import InPlace
from ..methods.of_ops import Methods
from ..ops.axes import plain_shape
from ..transforms.switches import Switch, inference_mode, no_grad, set_grad_enabled
from .absent import ABSENT, DEVICES, LEADS, Part, nothing
from .keyword_aliases import MEMORY_FORMATS, device, renamed, taught
from .names import OF_DTYPE, Names, Size

# Creating Tensors -----------------------------------------------------------------------------------------------------


def new(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`Tensor(data)`, a copy, like `torch.tensor`."""
    renamed("tensor", {}, {}, {"device": device})
    return Tensor(data, requires_grad, dtype)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a Tensor, which shares an array's memory, or is the given Tensor, unless the dtype differs."""
    renamed("as_tensor", {}, {}, {"device": device})
    if isinstance(data, np.ndarray):
        data = Tensor.from_numpy(data)
    return data.to(dtype) if isinstance(data, Tensor) else Tensor(data, dtype=dtype)


def randint(*bounds: Any, low: int = 0, high: int | None = None, size: Any = None, **options: Any) -> Tensor:
    """Integers, uniform on low, ..., high - 1: `randint(high, size)` or `randint(low, high, size)`, as in PyTorch."""
    if bounds and isinstance(bounds[-1], tuple | list):
        *numbers, size = bounds
    else:
        numbers = list(bounds)
    if numbers:
        low, high = numbers if len(numbers) == 2 else (low, numbers[0])
    if high is None or size is None:
        raise TypeError("randint: takes (high, size) or (low, high, size), with the size a tuple")
    return Tensor.randint(*size, low=low, high=high, **options)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, **options: Any) -> Tensor:
    """Normal numbers, of the given size, or, if mean or std are Tensors, of theirs."""
    if size is None:
        size = np.broadcast_shapes(np.shape(mean), np.shape(std))
        with no_grad():
            return mean + std * Tensor.randn(*size, **options)
    return Tensor.normal(*plain_shape((size,)), mean=mean, std=std, **options)


@overload
def where(condition: Any) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Any, a: Any, b: Any) -> Tensor: ...
def where(condition: Any, *ab: Any, **named_ab: Any) -> Any:
    """a where the condition is True, else b; without a and b, the indices where it is True, as in NumPy and PyTorch."""
    return ops.where(condition, *ab, **named_ab) if ab or named_ab else Tensor.nonzero(condition, as_tuple=True)


def bernoulli(input: Any, generator: Any = None) -> Tensor:
    """1 with the input's probability, else 0, element by element."""
    drawn = Tensor.rand(*input.shape, dtype=input.dtype, generator=generator)
    return ops.cast(ops.lt(drawn, input), dtype=input.dtype).detach()


def sparse_coo_tensor(indices: Any, values: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False,
                      is_coalesced: Any = None) -> Any:
    """A Tensor that is 0 except for values (n,) at indices (axes, n), summed where an index repeats.

    It is dense, like every Tensor here. size: its shape, by default the smallest one that fits.
    """
    indices, values = (x if isinstance(x, Tensor) else Tensor(x) for x in (indices, values))
    places = tuple(indices.long().detach().numpy())
    shape = tuple(size) if size is not None else (*[int(i.max()) + 1 for i in places], *values.shape[1:])
    made = ops.parts.put(values, shape=shape, index=places)
    made = made if dtype is None else made.cast(dtype)
    return made.requires_grad_() if requires_grad else made


def nextafter(input: Any, other: Any) -> Any:
    """The next number of the dtype after each input element, towards `other`'s. It has no gradient."""
    return wrap(np.nextafter(input.detach().numpy(), other.detach().numpy()))


# Settings and queries -------------------------------------------------------------------------------------------------


class autocast(Switch):
    """PyTorch's `torch.autocast`. With enabled=False it has no effect. Otherwise it raises: on CPUs, PyTorch would
    compute in bfloat16, while ops here always compute in float32."""

    def __init__(self, device_type: Any = "cpu", dtype: Any = None, enabled: bool = True, cache_enabled: Any = None):
        if device_type not in ("cuda", "mps", "xpu"):
            device(device_type)
            if enabled:
                raise NotImplementedError("autocast: it gains nothing on a CPU; pass enabled=False or leave "
                                          "it out, or store numbers in 16 bits with model.bfloat16() and x.bfloat16()")

    def on(self) -> None:
        return None

    def off(self, before: None) -> None:
        pass


class GradScaler:
    """PyTorch's scaler of float16 gradients. It is always off, since gradients here are float32."""

    def __init__(self, *args: Any, **options: Any):
        pass

    scale = staticmethod(lambda outputs: outputs)
    step = staticmethod(lambda optimizer, *args, **options: optimizer.step(*args, **options))
    unscale_ = staticmethod(lambda optimizer: None)
    update = staticmethod(lambda new_scale=None: None)
    get_scale = staticmethod(lambda: 1.0)
    is_enabled = staticmethod(lambda: False)
    state_dict: Any = staticmethod(dict)
    load_state_dict = staticmethod(lambda state: None)


def compile(model: Any = None, **options: Any) -> Any:
    """The function or module itself, since ops are compiled already. Warns that `capture` makes steps faster."""
    warn("compile: changes nothing here; decorate the training step with capture")
    return model if model is not None else lambda model: model


SVD = namedtuple("SVD", "U S V")


def svd(input: Any, some: bool = True) -> SVD:
    """U, S and V with U diag(S) V^T = x, as in PyTorch's old function; `linalg.svd` returns V^Tensor.

    some: U and V have min(m, n) columns; otherwise they are square.
    """
    u, s, vh = ops.linalg.svd(input, full_matrices=not some)
    return SVD(u, s, ops.transpose(vh, -1, -2))


_NAMES: dict[str, Any] = {
    "float": np.dtype("float32"), "double": np.dtype("float64"), "long": np.dtype("int64"), "int": np.dtype("int32"),
    "short": np.dtype("int16"), "int8": np.dtype("int8"), "int16": np.dtype("int16"), "int32": np.dtype("int32"),
    "half": np.dtype("float16"), "float16": np.dtype("float16"), "bfloat16": bfloat16,
    "uint8": np.dtype("uint8"), "bool": np.dtype("bool"), "dtype": np.dtype, "Size": Size, "inf": float("inf"),
    "nan": float("nan"), "pi": np.pi, "e": np.e, "newaxis": None, "finfo": finfo, "iinfo": np.iinfo,
    "device": device, **DEVICES,
    "tensor": new, "asarray": as_tensor, "as_tensor": as_tensor, "randint": randint, "normal": normal,
    "bernoulli": bernoulli, "where": where,
    "is_tensor": lambda x: isinstance(x, Tensor), "inference_mode": inference_mode,
    "set_grad_enabled": set_grad_enabled, "Generator": random.Generator, "compile": compile,
    **{name: name for name in (*MEMORY_FORMATS, "strided")},
    **OF_DTYPE, "sparse_coo_tensor": named(sparse_coo_tensor), "nextafter": named(nextafter),
    "sparse": Part("sparse", mm=ops.matmul, addmm=Tensor.addmm, sum=ops.sum, **{
        name: lambda indices, values, size=None, dtype=dtype: sparse_coo_tensor(indices, values, size, dtype=dtype)
        for name, dtype in (("FloatTensor", "float32"), ("DoubleTensor", "float64"), ("LongTensor", "int64"))}),
    "svd": named(svd), "lu": ops.linalg.lu_factor, "lu_unpack": ops.linalg.lu_unpack,
    "autocast": autocast, "amp": Part("amp", autocast=autocast, GradScaler=GradScaler),
    "initial_seed": random.default_generator.initial_seed, "default_generator": random.default_generator,
    "set_default_dtype": set_default_dtype, "get_default_dtype": get_default_dtype,
    **dict.fromkeys(
        ("set_float32_matmul_precision", "use_deterministic_algorithms", "set_num_interop_threads"), nothing),
    "promote_types": promote_types, "can_cast": can_cast, "broadcast_shapes": np.broadcast_shapes,
    "get_default_device": lambda: device(), "set_default_device": device,
    "numel": lambda input: input.numel(), "is_complex": lambda input: False,
    "real": lambda input: input, "is_floating_point": lambda input: input.is_floating_point(), "take": ops.take_flat,
}
_NAMES["cuda"].amp = sys.modules["tinygrad_like.cuda.amp"] = _NAMES["amp"]
_SAME = dict.fromkeys(("concat", "concatenate"), "cat")
# Functions of nn.functional, whose arguments in PyTorch have another order than methods and ops.
FUNCTIONAL = frozenset("""
    avg_pool1d conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity group_norm
    hardshrink layer_norm max_pool1d max_pool2d max_pool3d prelu rms_norm
""".split())


def _of_method(name: str) -> Any:
    """A method as PyTorch's function, with a first argument that may be named `input=`."""
    method, op = getattr(Tensor, name), getattr(ops, name, None)
    code = getattr(method, "__code__", None)
    if code is None or code.co_varnames[:1] != ("self",):
        return method
    alone = isinstance(op, Op) and code.co_argcount == 1 and (code.co_freevars or code.co_names == ("ops", name))
    return op if alone else method if code.co_flags & inspect.CO_VARKEYWORDS else taught(method)


def function(name: str) -> Any:
    """The package's attribute under a PyTorch or NumPy name. Raises AttributeError if there is none."""
    name = _SAME.get(name, name)
    if name in _NAMES:
        return bfloat16() if name == "bfloat16" else _NAMES[name]
    if name in LEADS:
        return import_module(LEADS[name])
    if name in FUNCTIONAL:
        return getattr(import_module("tinygrad_like.nn.functional"), name)
    found = None
    if name[0] != "_" and any([name in vars(part) for part in (Methods, Names, InPlace, Creation)]):
        found = _of_method(name)
    if found is None or isinstance(found, property):
        found = getattr(ops, name, None)
    if found is None or isinstance(found, type(ops)):
        hint = f"; {ABSENT[name]}" if name in ABSENT else ""
        raise AttributeError(f"module 'tinygrad_like' has no attribute {name!r}{hint}")
    return found
