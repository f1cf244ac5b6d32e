"""Methods of PyTorch's Tensors that are made of several ops, besides those in `names.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import tinygrad_like.core.tensor as tensor

from .. import ops
from ..core.graph import mode
from ..errors import named
from ..methods import creation
from ..methods import view_aliases as aliases
from ..methods.gradients import Handle
from ..methods.of_ops import part_of_tensor
from ..ops.operands import fills

if TYPE_CHECKING:
    from ..core.tensor import Tensor


class _IsTuple(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, tuple)


class Size(tuple, metaclass=_IsTuple):
    """A shape, as PyTorch's `torch.Size`: a tuple, as a shape is here, that also knows how many elements it has."""

    def numel(self) -> int:
        """How many elements a Tensor of this shape has."""
        return math.prod(self)


def made_of(dtype: np.dtype, data: tuple) -> Tensor:
    """A Tensor of this dtype: of data, or zeros of the sizes that are given, one by one or as `x.size()`."""
    if len(data) == 1 and not isinstance(data[0], int) and type(data[0]) is not Size:
        return tensor.Tensor(data[0], dtype=dtype)
    return creation.Creation.zeros(*(data or (0,)), dtype=dtype)


class OfDtype(type):
    """The class of `FloatTensor` and similar names of PyTorch's; its instances are the Tensors of a dtype."""

    dtype: np.dtype

    def __call__(cls, *data: Any) -> Any:
        return made_of(cls.dtype, data)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, tensor.Tensor) and x.dtype == cls.dtype


def _of_dtype(name: str, dtype: str) -> type:
    return OfDtype(name, (), {"dtype": np.dtype(dtype), "__doc__": (
        f"PyTorch's `{name}`: the data as {dtype}, or, of sizes, zeros of this shape. Tensors of {dtype} are its "
        "instances.")})


OF_DTYPE = {f"{name}Tensor": _of_dtype(f"{name}Tensor", dtype) for name, dtype in {
    "Float": "float32", "Double": "float64", "Half": "float16", "Long": "int64", "Int": "int32", "Short": "int16",
    "Char": "int8", "Byte": "uint8", "Bool": "bool"}.items()}


@part_of_tensor
class MoreNames:
    """The part of Tensor that is there for habits of PyTorch's users."""

    if TYPE_CHECKING:
        shape: tuple[int, ...]
        ndim: int
        dtype: np.dtype
        requires_grad: bool
        node: Any
        _after: list[Callable] | None
        _data: np.ndarray

    def type(self, dtype=None):
        """This Tensor with another dtype, also by a name such as "torch.LongTensor"; or its own one."""
        if dtype is None:
            return next((f"torch.{name}" for name, of in OF_DTYPE.items() if of.dtype == self.dtype),
                        "torch.BFloat16Tensor")
        named_by = OF_DTYPE.get(dtype.removeprefix("torch.")) if isinstance(dtype, str) else dtype
        return self.to(named_by.dtype if isinstance(named_by, OfDtype) else dtype)
    def byte(self): return ops.cast(self, dtype=np.dtype("uint8"))
    def char(self): return ops.cast(self, dtype=np.dtype("int8"))
    def new(self, *data):
        """A new Tensor of this one's dtype: of data, or zeros of the sizes given."""
        return made_of(self.dtype, data)
    def to_dense(self): return self
    to_sparse = coalesce = to_dense
    is_sparse = False

    def equal(self, other):
        """Whether both have the same shape and the same elements, one answer for all."""
        return self.shape == other.shape and bool(ops.all(ops.eq(self, other)))

    def as_strided(self, size, stride, storage_offset=None):
        """A copy of the numbers that stand `stride` apart in memory along each axis: out[i, j] is number
        storage_offset + i stride[0] + j stride[1] of the memory of this Tensor. Of a Tensor that shows a part of other
        memory, which must be one piece, they are counted from its first. The copy cannot be changed in place.

        Raises ValueError for numbers that this Tensor does not have.
        """
        size, stride, offset, data = tuple(size), tuple(stride), storage_offset or 0, self._data
        root, axes = _root(data), aliases._axes(data)
        if len(size) != len(stride) or min((*size, *stride, offset), default=0) < 0:
            raise ValueError(f"as_strided: size {size} and stride {stride} must be as many numbers >= 0 for each, and "
                             f"storage_offset={offset} one")
        if not data.transpose(axes).flags.c_contiguous:
            raise ValueError(f"as_strided: the numbers of this Tensor of shape {self.shape} do not lie one after the "
                             "other; take its contiguous()")
        if storage_offset is not None and not fills(data) and aliases._position(data, root):
            raise ValueError("as_strided: this Tensor shows a part of other memory, where PyTorch would count "
                             "storage_offset from the beginning of that; leave it out, or take its clone()")
        last = offset + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)])
        if 0 not in size and last >= data.size:
            raise ValueError(f"as_strided: size {size}, stride {stride} and storage_offset={offset} reach number "
                             f"{last}, but this Tensor has {data.size}")
        y = ops.take(aliases._row(self, axes), index=(aliases._numbers(offset, 1, size, stride),))
        if mode.listener is None:
            y._data.flags.writeable = False  # in PyTorch a change of it would be one of this Tensor
        return y

    def register_post_accumulate_grad_hook(self, hook):
        """Call `hook(x)` whenever backward has added to the `.grad` of this leaf; a handle, to remove it, is returned.

        Raises RuntimeError for a Tensor that is no leaf which requires grad.
        """
        if not self.requires_grad or self.node is not None:
            raise RuntimeError("register_post_accumulate_grad_hook: takes a leaf that requires grad; for others there "
                               "is register_hook")
        hooks = self._after = self._after or []
        hooks.append(hook)
        return Handle(hooks, hook)


def _root(array: np.ndarray) -> np.ndarray:
    """The array that the memory was made for."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


for _name in ("equal", "as_strided", "type", "new"):
    setattr(MoreNames, _name, named(vars(MoreNames)[_name], _name))
