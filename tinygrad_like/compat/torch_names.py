"""Functions of `torch` that are neither an op nor a method here; `names.function` finds them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tinygrad_like.core.tensor as tensor  # `from . import tensor` may give the function

from .. import ops, random
from ..dtypes import can_cast, get_default_dtype, promote_types, set_default_dtype
from ..errors import named
from ..transforms.switches import Switch
from . import names
from .absent import Part, nothing
from .keyword_aliases import device as cpu
from .more_names import OF_DTYPE

T = tensor.Tensor

# Making Tensors -------------------------------------------------------------------------------------------------------


def sparse_coo_tensor(indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """A Tensor that is 0 but at some places: values (n,) at indices (axes, n), added where a place comes twice.

    It is dense, as every Tensor is here. size: its shape; if left out, as small as may be.
    """
    given = {"dtype": None, "requires_grad": False}
    chosen = names.renamed("sparse_coo_tensor", given, given, {n: v for n, v in options.items() if n != "is_coalesced"})
    indices, values = (x if isinstance(x, T) else T(x) for x in (indices, values))
    places = tuple(indices.long().detach().numpy())
    shape = tuple(size) if size is not None else (*[int(i.max()) + 1 for i in places], *values.shape[1:])
    made = ops.parts.put(values, shape=shape, index=places)
    made = made if chosen["dtype"] is None else made.cast(chosen["dtype"])
    return made.requires_grad_() if chosen["requires_grad"] else made


def nextafter(input: Any, other: Any) -> Any:
    """The next number of the dtype after each of the first Tensor, towards that of the other. It has no gradient."""
    return tensor.wrap(np.nextafter(input.detach().numpy(), other.detach().numpy()))


def vmap(func: Callable, *args: Any, **options: Any) -> Callable:
    """`func.vmap`: the function that applies func to each element of a batch."""
    from .func import vmap as mapped

    return mapped(func, *args, **options)


# Settings and queries -------------------------------------------------------------------------------------------------


class autocast(Switch):
    """PyTorch's `torch.autocast`: off, with enabled=False, it changes nothing. On it is an error: on CPUs PyTorch would
    compute in bfloat16, and here ops compute in float32 whatever they are given."""

    def __init__(self, device_type: Any = "cpu", dtype: Any = None, enabled: bool = True, cache_enabled: Any = None):
        if device_type not in ("cuda", "mps", "xpu"):
            cpu(device_type)
            if enabled:
                raise NotImplementedError("autocast: it gains nothing on a CPU; pass enabled=False or leave "
                                          "it out, or store numbers in 16 bits with model.bfloat16() and x.bfloat16()")

    def on(self) -> None:
        return None

    def off(self, before: None) -> None:
        pass

    def _recreate_cm(self) -> autocast:
        return self


class GradScaler:
    """PyTorch's scaler of float16 gradients. Here gradients are float32, which needs no scale, so it is always off."""

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




def svd(input: Any, some: bool = True, compute_uv: bool = True) -> SVD:
    """U, S and V with U diag(S) V^T = x, as in PyTorch's old function; `linalg.svd` returns V^T.

    some: U and V have min(m, n) columns; otherwise they are square. Raises NotImplementedError for compute_uv=False,
    which is `linalg.svdvals`.
    """
    if not compute_uv:
        raise NotImplementedError("svd: compute_uv=False is not supported; use linalg.svdvals(x)")
    u, s, vh = ops.linalg.svd(input, full_matrices=not some)
    return SVD(u, s, ops.transpose(vh, -1, -2))


class SVD(NamedTuple):
    """The result of `svd`."""

    U: Any
    S: Any
    V: Any


def initial_seed() -> int:
    """The seed that the package's generator was restarted with last."""
    return random.default_generator.initial_seed()


def equal(input: Any, other: Any) -> bool:
    """Whether two Tensors have one shape, and the same numbers."""
    return T.equal(input, other)


names._NAMES.update({
    **OF_DTYPE, "vmap": vmap, "sparse_coo_tensor": named(sparse_coo_tensor), "nextafter": named(nextafter),
    "sparse": Part("sparse", mm=ops.matmul, addmm=T.addmm, sum=ops.sum, **{
        name: lambda indices, values, size=None, dtype=dtype: sparse_coo_tensor(indices, values, size, dtype=dtype)
        for name, dtype in (("FloatTensor", "float32"), ("DoubleTensor", "float64"), ("LongTensor", "int64"))}),
    "svd": named(svd), "lu": ops.linalg.lu_factor, "lu_unpack": ops.linalg.lu_unpack,
    "autocast": autocast, "amp": Part("amp", autocast=autocast, GradScaler=GradScaler),
    "initial_seed": initial_seed, "default_generator": random.default_generator,
    "set_default_dtype": set_default_dtype, "get_default_dtype": get_default_dtype,
    "set_float32_matmul_precision": nothing,
    "use_deterministic_algorithms": nothing, "set_num_interop_threads": nothing,
    "promote_types": promote_types, "can_cast": can_cast, "broadcast_shapes": np.broadcast_shapes,
    "get_default_device": lambda: cpu(), "set_default_device": cpu,
    "equal": named(equal),
    "numel": lambda input: input.numel(), "is_complex": lambda input: False, "real": lambda input: input,
    "is_floating_point": lambda input: input.is_floating_point(),
    "take": ops.take_flat,
})
names._NAMES["cuda"].amp = sys.modules["tinygrad_like.cuda.amp"] = names._NAMES["amp"]
