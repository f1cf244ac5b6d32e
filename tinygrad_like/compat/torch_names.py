"""What PyTorch has in `torch` that is neither an op nor a method here; `names.function` finds it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

import tinygrad_like.core.tensor as tensor  # `from . import tensor` may give the function

from .. import ops
from ..dtypes import can_cast, get_default_dtype, promote_types, set_default_dtype
from ..errors import named
from ..methods.creation import Creation
from ..random import manual_seed, of, sampled
from ..transforms.switches import Switch
from . import names
from .absent import nothing
from .keyword_aliases import device as cpu
from .more_names import made_of

T = tensor.Tensor

# The largest and the smallest along an axis, with where they are -----------------------------------------------------


def _of_dim(op: Any, of_two: Any) -> Callable:
    def function(input: Any, *place: Any, dim: int | None = None, keepdim: bool = False, **others: Any) -> Any:
        x = input if isinstance(input, T) else T(input)
        if place and not isinstance(place[0], int):
            return of_two(x, place[0])
        if place or dim is not None:
            return ops.order.pair_of(op, x, place[0] if place else dim, *place[1:2] or (keepdim,))
        return getattr(T, op.name)(x, keepdim=keepdim, **others)

    function.__name__ = op.name
    return named(function)


max_, min_ = _of_dim(ops.max, ops.maximum), _of_dim(ops.min, ops.minimum)

# Making Tensors -------------------------------------------------------------------------------------------------------


def logspace(start: float, end: float, steps: int, base: float = 10.0, **options: Any) -> Any:
    """base^start to base^end, with exponents on a straight line."""
    return base ** Creation.linspace(start, end, steps, **options)


def tril_indices(row: int, col: int, offset: int = 0, **options: Any) -> Any:
    """The places of the lower triangle of a matrix (row, col), row by row: (2, number)."""
    names.renamed("tril_indices", {"dtype": None}, {}, options)
    return T(np.stack(np.tril_indices(row, offset, col)))


def triu_indices(row: int, col: int, offset: int = 0, **options: Any) -> Any:
    """The places of the upper triangle of a matrix (row, col), row by row: (2, number)."""
    names.renamed("triu_indices", {"dtype": None}, {}, options)
    return T(np.stack(np.triu_indices(row, offset, col)))


def randint_like(input: Any, low: int, high: int | None = None, **options: Any) -> Any:
    """Integers, uniform on low, ..., high - 1, or on 0, ..., low - 1, in the shape and dtype of another Tensor."""
    bounds = (low, high) if high is not None else (0, low)
    options = {"dtype": input.dtype, **options}
    return names.randint(*bounds, tuple(input.shape)).to(options["dtype"])


def scalar_tensor(s: Any, **options: Any) -> Any:
    """A number as a Tensor without axes."""
    return names.new(float(s), **options)


class OfDtype(type):
    """The class of PyTorch's `FloatTensor` and the like, whose instances are the Tensors of a dtype."""

    dtype: np.dtype

    def __call__(cls, *data: Any) -> Any:
        return made_of(cls.dtype, data)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, T) and x.dtype == cls.dtype


def _of_dtype(name: str, dtype: str) -> type:
    return OfDtype(name, (), {"dtype": np.dtype(dtype), "__doc__": (
        f"PyTorch's `{name}`: the data as {dtype}, or, of sizes, zeros of this shape. Tensors of {dtype} are its "
        "instances.")})


def sparse_coo_tensor(indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """A Tensor that is 0 but at some places: values (n,) at indices (axes, n), added where a place comes twice.

    It is dense, as every Tensor is here. size: its shape; if left out, as small as may be.
    """
    given = {"dtype": None, "requires_grad": False}
    chosen = names.renamed("sparse_coo_tensor", given, given, {n: v for n, v in options.items() if n != "is_coalesced"})
    indices, values = (x if isinstance(x, T) else T(x) for x in (indices, values))
    places = tuple(indices.long())
    shape = tuple(size) if size is not None else (*[int(i.max()) + 1 for i in places], *values.shape[1:])
    made = Creation.zeros(*shape, dtype=values.dtype).index_put(places, values, accumulate=True)
    made = made if chosen["dtype"] is None else made.cast(chosen["dtype"])
    return made.requires_grad_() if chosen["requires_grad"] else made


def nextafter(input: Any, other: Any) -> Any:
    """The next number of the dtype after each of the first Tensor, towards that of the other. It has no gradient."""
    return tensor.wrap(np.nextafter(input.detach().numpy(), other.detach().numpy()))


def vmap(func: Callable, *args: Any, **options: Any) -> Callable:
    """`func.vmap`: the function that applies func to each element of a batch."""
    from .func import vmap as mapped

    return mapped(func, *args, **options)


OF_DTYPE = {f"{name}Tensor": _of_dtype(f"{name}Tensor", dtype) for name, dtype in {
    "Float": "float32", "Double": "float64", "Half": "float16", "Long": "int64", "Int": "int32", "Short": "int16",
    "Char": "int8", "Byte": "uint8", "Bool": "bool"}.items()}

# Settings, and what is asked ------------------------------------------------------------------------------------------


class autocast(Switch):
    """PyTorch's `torch.autocast`: off, with enabled=False, it changes nothing. On it is an error: on CPUs PyTorch would
    compute in bfloat16, and here ops compute in float32 whatever they are given."""

    def __init__(self, device_type: Any = "cpu", dtype: Any = None, enabled: bool = True, cache_enabled: Any = None):
        if device_type not in ("cuda", "mps", "xpu"):
            cpu(device_type)
            if enabled:
                raise NotImplementedError("autocast: on the CPU nothing is gained by it; pass enabled=False or leave "
                                          "it out, or store numbers in 16 bits with model.bfloat16() and x.bfloat16()")

    def on(self) -> None:
        return None

    def off(self, before: None) -> None:
        pass

    def _recreate_cm(self) -> autocast:
        return self


class GradScaler:
    """PyTorch's scaler of losses for float16 on GPUs, which is disabled where there is none: it changes nothing."""

    def __init__(self, *args: Any, enabled: bool = True, **options: Any):
        self._scale = 1.0

    def scale(self, outputs: Any) -> Any:
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        pass

    def step(self, optimizer: Any, *args: Any, **options: Any) -> Any:
        return optimizer.step(*args, **options)

    def update(self, new_scale: Any = None) -> None:
        pass

    def get_scale(self) -> float:
        return 1.0

    def is_enabled(self) -> bool:
        return False

    def state_dict(self) -> dict:
        return {}

    def load_state_dict(self, state: Any) -> None:
        pass


def set_default_tensor_type(t: Any) -> None:
    """`set_default_dtype` in PyTorch's older way: takes `FloatTensor` or `DoubleTensor`, or such a name."""
    name = str(getattr(t, "__name__", t)).removeprefix("torch.")
    if name not in ("FloatTensor", "DoubleTensor"):
        raise TypeError(f"set_default_tensor_type: takes FloatTensor or DoubleTensor, got {t!r}")
    set_default_dtype(np.float32 if name == "FloatTensor" else np.float64)


def set_printoptions(**options: Any) -> None:
    """How Tensors print, as NumPy's `set_printoptions`: precision, threshold, edgeitems, linewidth, sci_mode."""
    if options.pop("sci_mode", None) is not None:
        options["suppress"] = True
    options.pop("profile", None)
    np.set_printoptions(**options)


def seed() -> int:
    """Restart the package's generator from a seed that nobody knows, and return that."""
    new = int(np.random.SeedSequence().generate_state(1)[0])
    manual_seed(new)
    return new


def poisson(input: Any, generator: Any = None) -> Any:
    """Random counts with the means that the Tensor has."""
    rng = of(generator)
    return tensor.wrap(sampled("poisson", lambda rate: np.asarray(rng.poisson(rate), rate.dtype), input))


def polygamma(n: int, input: Any) -> Any:
    """The derivative of order n of digamma."""
    return ops.polygamma(input, n=n)


# Layers whose functions have another order of arguments in `torch` than in nn.functional ------------------------------


def _layers() -> Any:
    return import_module("tinygrad_like.nn.functional")


def embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Any:
    """The rows of a table, the first argument, that the indices name; no gradient reaches row padding_idx, if >= 0."""
    if sparse:
        raise NotImplementedError("embedding: gradients are dense; leave out sparse")
    return _layers().embedding(indices, weight, None if padding_idx < 0 else padding_idx,
                               scale_grad_by_freq=scale_grad_by_freq)


def batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool = False,
               momentum: float = 0.1, eps: float = 1e-5, cudnn_enabled: bool = True) -> Any:
    """`nn.functional.batch_norm`, with the weights before the statistics."""
    return _layers().batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input: Any, weight: Any = None, bias: Any = None, running_mean: Any = None, running_var: Any = None,
                  use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
                  cudnn_enabled: bool = True) -> Any:
    """`nn.functional.instance_norm`, with the weights before the statistics."""
    return _layers().instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def result_type(a: Any, b: Any) -> np.dtype:
    """The dtype that a + b has."""
    return (a + b).dtype


def equal(input: Any, other: Any) -> bool:
    """Whether two Tensors have one shape, and the same numbers."""
    return T.equal(input, other)


names._NAMES.update({
    **OF_DTYPE, "vmap": vmap, "sparse_coo_tensor": named(sparse_coo_tensor), "nextafter": named(nextafter),
    "sparse": SimpleNamespace(mm=ops.matmul, addmm=T.addmm, sum=ops.sum, **{
        name: lambda indices, values, size=None, dtype=dtype: sparse_coo_tensor(indices, values, size, dtype=dtype)
        for name, dtype in (("FloatTensor", "float32"), ("DoubleTensor", "float64"), ("LongTensor", "int64"))}),
    "max": max_, "min": min_, "logspace": logspace, "tril_indices": tril_indices, "triu_indices": triu_indices,
    "randint_like": randint_like, "scalar_tensor": scalar_tensor, "autocast": autocast, "poisson": poisson,
    "amp": SimpleNamespace(autocast=autocast, GradScaler=GradScaler), "GradScaler": GradScaler, "seed": seed,
    "set_default_dtype": set_default_dtype, "get_default_dtype": get_default_dtype,
    "set_default_tensor_type": set_default_tensor_type,
    "set_printoptions": set_printoptions, "set_float32_matmul_precision": nothing,
    "use_deterministic_algorithms": nothing, "set_num_interop_threads": nothing, "result_type": result_type,
    "promote_types": promote_types, "can_cast": can_cast, "broadcast_shapes": np.broadcast_shapes,
    "pinverse": ops.linalg.pinverse, "matrix_exp": ops.linalg.matrix_exp,
    "matrix_rank": ops.linalg.matrix_rank, "get_default_device": lambda: cpu(), "set_default_device": cpu,
    "equal": equal, "embedding": embedding, "batch_norm": batch_norm, "instance_norm": instance_norm,
    "numel": lambda input: input.numel(), "is_complex": lambda input: False, "real": lambda input: input,
    "is_floating_point": lambda input: input.is_floating_point(),
    "polygamma": polygamma, "take": ops.take_flat, "special": SimpleNamespace(
        expit=ops.sigmoid, gammaln=ops.lgamma, psi=ops.digamma, polygamma=polygamma,
        modified_bessel_i0=ops.i0, modified_bessel_i1=ops.i1,
        **{name: getattr(ops, name) for name in ("digamma entr erf erfc erfinv exp2 expm1 i0 i0e i1 i1e log1p "
           "log_softmax logit logsumexp ndtr round sinc softmax xlog1py xlogy").split()}),
})
names._NAMES["cuda"].amp = names._NAMES["amp"]
for _name in ("logspace tril_indices triu_indices randint_like scalar_tensor poisson result_type equal embedding "
              "batch_norm instance_norm").split():
    names._NAMES[_name] = named(names._NAMES[_name])
