"""Other names of Tensor methods, from PyTorch, NumPy and tinygrad."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import Tensor, wrap
from ..dtypes import FLOAT32, FLOATS, promote_types
from ..errors import named
from ..methods import creation
from ..methods import view_aliases as aliases
from ..methods.gradients import Handle
from ..methods.of_ops import Methods, pair_of, part_of_tensor
from ..ops.axes import plain_shape
from ..ops.operands import fills
from .absent import Missing
from .keyword_aliases import device, renamed, wanted_dtype


class _IsTuple(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, tuple)


class Size(tuple, metaclass=_IsTuple):
    """A shape like PyTorch's `torch.Size`: a tuple that also knows its number of elements."""

    def numel(self) -> int:
        """The number of elements of a Tensor of this shape."""
        return math.prod(self)


def made_of(dtype: np.dtype, data: tuple) -> Tensor:
    """A Tensor of this dtype: from data, or zeros of the given sizes, one by one or as `x.size()`."""
    if len(data) == 1 and not isinstance(data[0], int) and type(data[0]) is not Size:
        return Tensor(data[0], dtype=dtype)
    return Tensor.zeros(*(data or (0,)), dtype=dtype)


class OfDtype(type):
    """The class of `FloatTensor` and similar names in PyTorch; its instances are the Tensors of a dtype."""

    dtype: np.dtype

    def __call__(cls, *data: Any) -> Any:
        return made_of(cls.dtype, data)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype == cls.dtype


def _of_dtype(name: str, dtype: str) -> type:
    return OfDtype(name, (), {"dtype": np.dtype(dtype), "__doc__": (
        f"PyTorch's `{name}`: the data as {dtype}, or, of sizes, zeros of this shape. Tensors of {dtype} are its "
        "instances.")})


OF_DTYPE = {f"{name}Tensor": _of_dtype(f"{name}Tensor", dtype) for name, dtype in {
    "Float": "float32", "Double": "float64", "Half": "float16", "Long": "int64", "Int": "int32", "Short": "int16",
    "Char": "int8", "Byte": "uint8", "Bool": "bool"}.items()}

# Methods --------------------------------------------------------------------------------------------------------------


class Count(int):
    """NumPy's `x.size`, the number of elements, and PyTorch's `x.size()`, the shape, and `x.size(dim)`."""

    shape: tuple[int, ...]

    def __new__(cls, x: np.ndarray) -> Count:
        count = super().__new__(cls, x.size)
        count.shape = x.shape
        return count

    def __call__(self, dim: int | None = None) -> Any:
        return Size(self.shape) if dim is None else self.shape[ops.axes.one_axis("size", dim, len(self.shape))]

    def __reduce__(self) -> tuple:
        return int, (int(self),)


def _of_truth(op: Any) -> Callable:
    def method(self, other):
        return op(ops.compare.truth(self), ops.compare.truth(other))

    method.__name__ = op.name
    method.__doc__ = f"`{op.name}` of where they are not 0, or false; the operator goes bit by bit for integers."
    return method


def _extremum(op: Any, of_two: Any) -> Callable:
    """The method `max` or `min`: values and indices if the axis is positional or dim=, as in PyTorch; for two Tensors,
    the elementwise result."""
    def method(self, *place, axis=None, keepdim=False, **others):
        if not place and not others:
            return op(self, axis=axis, keepdim=keepdim)
        if place and isinstance(place[0], Tensor | np.ndarray):
            return of_two(self, place[0])
        if others.keys() == {"other"}:
            return of_two(self, others["other"])
        if place:
            axis, keepdim = (*place, keepdim)[:2]
        given = renamed(op.name, op.options, {"axis": axis, "keepdim": keepdim}, others)
        axis, keepdim = given["axis"], given["keepdim"]
        if not isinstance(axis, int) or not place and "dim" not in others:
            return op(self, axis=axis, keepdim=keepdim)
        return pair_of(op, self if isinstance(self, Tensor) else wrap(np.asarray(self)), axis, keepdim)

    method.__name__, method.__doc__ = op.name, op.__doc__
    return named(method)


@part_of_tensor
class Names:
    """The part of Tensor for habits: names of PyTorch, NumPy or tinygrad besides ours."""

    size = property(lambda self: Count(self._data), doc=Count.__doc__)
    device = property(lambda self: device(), doc="Where it is: always the CPU.")
    is_cuda = False
    def dim(self): return self.ndim
    def nelement(self): return self._data.size
    def element_size(self): return self._data.itemsize
    ndimension = dim
    def stride(self, axis=None):
        strides = tuple([step // self._data.itemsize for step in self._data.strides])
        return strides if axis is None else strides[ops.axes.one_axis("stride", axis, self.ndim)]
    def is_contiguous(self): return self._data.flags.c_contiguous
    def cpu(self): return self
    pin_memory = conj = to_dense = to_sparse = coalesce = cpu
    real = property(conj, doc="The Tensor itself: its elements are real.")
    def is_complex(self): return False
    def to(self, *wanted, **others):
        """This Tensor with the given dtype, or a given Tensor's; a device may be given too."""
        dtype = wanted_dtype("to", *wanted, **others)
        return self if dtype is None or dtype is self.dtype else ops.cast(self, dtype=dtype)
    def type_as(self, other): return self.to(other.dtype)

    max, min = _extremum(ops.max, ops.maximum), _extremum(ops.min, ops.minimum)
    def norm(self, p=2.0, axis=None, keepdim=False):
        """(sum |x|^p)^(1/p) over `axis`, see `linalg.vector_norm`; "fro" is 2."""
        p = 2 if p is None or isinstance(p, str) and p == "fro" else p
        if not isinstance(p, int | float | np.number):  # not a Tensor, whose == is an op
            raise TypeError(f"norm: p must be a number, inf or 'fro', got {p!r}")
        return ops.linalg.vector_norm(self, p, axis, keepdim)
    gt, ge, lt, le = Methods.__gt__, Methods.__ge__, Methods.__lt__, Methods.__le__
    multiply, divide, negative, absolute = Methods.mul, Methods.div, Methods.neg, Methods.abs
    greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, Methods.ne
    logical_and, logical_or, logical_xor = map(_of_truth, (ops.logical_and, ops.logical_or, ops.logical_xor))
    def add(self, other, alpha=1): return ops.add(self, _times(other, alpha, self))
    def sub(self, other, alpha=1): return ops.sub(self, _times(other, alpha, self))
    subtract = sub
    def addcmul(self, a, b, value=1): return self + a * b * value
    def addcdiv(self, a, b, value=1): return self + a / b * value
    def addmm(self, mat1, mat2, beta=1, alpha=1):
        return _times(self, beta) + _times(ops.matmul(mat1, mat2), alpha)

    def nonzero(self, as_tuple=False):
        """The indices of nonzero elements, one per row: (number, ndim); or, as_tuple, their indices along each axis."""
        return ops.unbind(ops.nonzero(self if self.ndim else ops.reshape(self, shape=(1,))), 1) if as_tuple else (
            ops.nonzero(self))

    def t(self):
        """The transpose of a matrix; a vector is returned as it is."""
        if self.ndim > 2:
            raise ValueError(f"t: takes a matrix, got shape {self.shape}; use x.transpose(-2, -1) or x.mT")
        return self if self.ndim < 2 else ops.transpose(self)
    mH = Methods.mT
    def view_as(self, other): return ops.reshape(self, shape=other.shape)
    reshape_as = view_as
    def expand_as(self, other): return ops.expand(self, shape=other.shape)
    broadcast_to = Methods.expand
    def ravel(self): return ops.reshape(self, shape=(-1,))
    def narrow(self, axis, start, length): return ops.getitem(self, _slice("narrow", self, axis, start, length))
    def select(self, axis, index): return ops.getitem(self, (*_before("select", self, axis), index))
    def index_select(self, axis, index): return ops.movement.index_select(self, axis, index)
    def index_add(self, axis, index, source, alpha=1):
        """This Tensor with alpha times the slices of source added at an index along the axis."""
        if not self.ndim:
            return ops.scatter_add(self, ops.reshape(index, shape=()), _times(source, alpha), axis=axis)
        axis = ops.axes.one_axis("index_add", axis, self.ndim)
        places = ops.movement.slices_named("index_add", self.shape, axis, index)
        fits = (*self.shape[:axis], places.size, *self.shape[axis + 1:])
        if source.shape != fits:
            raise ValueError(f"index_add: along axis {axis} of shape {self.shape}, an index of {places.size} integers "
                             f"takes a source of shape {fits}, got {source.shape}")
        return ops.parts.put_onto(self, _times(source, alpha), index=(*(slice(None),) * axis, places))
    def tile(self, *repeats):
        """The whole Tensor repeated along each of its last axes."""
        repeats = plain_shape(repeats)
        return ops.repeat(self, (1,) * (self.ndim - len(repeats)) + tuple(repeats))

    def type(self, dtype=None):
        """This Tensor cast to a dtype, or a name such as "torch.LongTensor"; without one, the name of its own dtype."""
        if dtype is None:
            return next((f"torch.{name}" for name, of in OF_DTYPE.items() if of.dtype == self.dtype),
                        "torch.BFloat16Tensor")
        named_by = OF_DTYPE.get(dtype.removeprefix("torch.")) if isinstance(dtype, str) else dtype
        return self.to(named_by.dtype if isinstance(named_by, OfDtype) else dtype)
    def byte(self): return ops.cast(self, dtype=np.dtype("uint8"))
    def char(self): return ops.cast(self, dtype=np.dtype("int8"))
    def new(self, *data):
        """A new Tensor of this one's dtype: from data, or zeros of the given sizes."""
        return made_of(self.dtype, data)
    is_sparse = False

    def equal(self, other):
        """Whether both have equal shapes and elements, as a bool."""
        return self.shape == other.shape and bool(ops.all(ops.eq(self, other)))

    def as_strided(self, size, stride, storage_offset=None):
        """A copy of the elements `stride` apart along each axis: out[i, j] is element storage_offset + i stride[0] + j
        stride[1] of this Tensor, which must be contiguous. The copy is read-only.

        Raises ValueError for elements beyond this Tensor.
        """
        size, stride, offset = tuple(size), tuple(stride), storage_offset or 0
        if len(size) != len(stride) or min((*size, *stride, offset), default=0) < 0:
            raise ValueError(f"as_strided: size {size} and stride {stride} must be as many numbers >= 0 for each, and "
                             f"storage_offset={offset} one")
        if not self._data.flags.c_contiguous or storage_offset is not None and not fills(self._data):
            raise ValueError(f"as_strided: this Tensor of shape {self.shape} is a view, whose numbers lie among others "
                             "or in another order, where PyTorch counts differently; take its contiguous().clone()")
        last = offset + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)])
        if 0 not in size and last >= self._data.size:
            raise ValueError(f"as_strided: size {size}, stride {stride} and storage_offset={offset} reach number "
                             f"{last}, but this Tensor has {self._data.size}")
        y = ops.take(ops.reshape(self, shape=(-1,)), index=(aliases._numbers(offset, 1, size, stride),))
        y._data.flags.writeable = False  # in PyTorch it is a view, and changing it changes this Tensor
        return y

    def register_post_accumulate_grad_hook(self, hook):
        """Call `hook(x)` whenever backward has added to the `.grad` of this leaf; returns a handle that removes it.

        Raises RuntimeError unless this Tensor is a leaf that requires grad.
        """
        if not self.requires_grad or self.node is not None:
            raise RuntimeError("register_post_accumulate_grad_hook: takes a leaf that requires grad; for others there "
                               "is register_hook")
        hooks = self._after = self._after or []
        hooks.append(hook)
        return Handle(hooks, hook)

    grad_fn = property(lambda self: self.node)


def _of_its_dtype(name: str, make: Callable) -> property:
    """The constructor `make`, with the Tensor's dtype."""
    def made(self: Any) -> Callable:
        return lambda *given, **options: make(*given, **{"dtype": self.dtype, **options})

    return property(made, doc=f"A new Tensor of this one's dtype: x.new_{name}(...) is {name}(...).")


setattr(Names, "new_tensor", _of_its_dtype("tensor", Tensor))  # noqa: B010
for _name in ("zeros", "ones", "empty", "full"):
    setattr(Names, f"new_{_name}", _of_its_dtype(_name, getattr(creation.Creation, _name)))


def _times(x: Any, factor: Any, beside: Any = None) -> Any:
    """x times a factor, in the dtype of `beside`, the other summand, if that is wider."""
    if isinstance(factor, int) and factor == 1:
        return x
    if beside is not None and getattr(x, "dtype", FLOAT32).kind in "iub" and hasattr(beside, "dtype") and (
            beside.ndim or not x.ndim or beside.dtype.kind in FLOATS or x.dtype.kind == "b"):
        x = ops.cast(x, dtype=promote_types(x.dtype, beside.dtype))
    return ops.mul(x, factor)


def _before(who: str, x: Tensor, axis: int) -> tuple:
    return (slice(None),) * ops.axes.one_axis(who, axis, x.ndim)


def _slice(who: str, x: Tensor, axis: int, start: int, length: int) -> tuple:
    before = _before(who, x, axis)
    start = int(start) + (x.shape[len(before)] if start < 0 else 0)
    if not 0 <= start <= start + length <= x.shape[len(before)]:
        raise IndexError(f"{who}: {length} elements from {start} on do not lie in axis {axis} of shape {x.shape}")
    return (*before, slice(start, start + length))


# Names that a Tensor lacks -> the replacement. (`__getattr__` would slow down every attribute.)
MISSING = {
    "cuda": "there is only the CPU; leave it out",
    "values": "only x.max(dim) and similar calls return a pair", "realize": "ops compute at once; leave it out",
    "indices": "write x.max(dim=1), which returns values and indices, or x.argmax(1)",
    "astype": "write x.cast(dtype)", "copy": "write x.clone()",
    "storage": "the array is x.numpy()", "lazydata": "the array is x.numpy()",
    "save_for_backward": "declare an op with @primitive", "block_until_ready": "ops compute at once; leave it out",
    "at": "write x.clone(), then y[index] = value under no_grad(); or scatter",
}


for _name, _hint in MISSING.items():
    setattr(Names, _name, Missing(_name, _hint))
for _name in ("addcmul addcdiv addmm t view_as reshape_as expand_as narrow select index_select index_add "
              "tile type_as logical_and logical_or logical_xor equal as_strided type new").split():  # of several ops
    setattr(Names, _name, named(vars(Names)[_name], _name))
