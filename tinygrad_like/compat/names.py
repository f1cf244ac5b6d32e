"""The names that methods of Tensor and functions of the package have in PyTorch, NumPy and tinygrad besides ours."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

import numpy as np

import tinygrad_like.core.tensor as tensor  # `from . import tensor` may give the function

from .. import ops
from ..core.dispatch import Op
from ..dtypes import FLOAT32, FLOATS, bfloat16, finfo, promote_types
from ..errors import named
from ..methods import creation
from ..methods.in_place import InPlace
from ..methods.of_ops import Methods, pair_of, part_of_tensor
from ..ops.axes import plain_shape
from ..random import Generator
from ..transforms.switches import enable_grad, inference_mode, no_grad, set_grad_enabled
from .absent import ABSENT, DEVICES, LEADS, Missing
from .keyword_aliases import MEMORY_FORMATS, device, renamed, taught, wanted_dtype
from .more_names import MoreNames, Size

if TYPE_CHECKING:
    from ..core.tensor import Tensor

# Methods --------------------------------------------------------------------------------------------------------------


class Count(int):
    """The number of elements, `x.size` as in NumPy; and `x.size()`, the shape, `x.size(dim)` as in PyTorch."""

    shape: tuple[int, ...]

    def __new__(cls, x: np.ndarray) -> Count:
        count = super().__new__(cls, x.size)
        count.shape = x.shape
        return count

    def __call__(self, dim: int | None = None) -> Any:
        return Size(self.shape) if dim is None else self.shape[ops.axes.one_axis("size", dim, len(self.shape))]

    def __reduce__(self) -> tuple:
        return int, (int(self),)


@part_of_tensor
class Names:
    """The part of Tensor that is there for habits: names that PyTorch, NumPy or tinygrad have besides ours."""

    if TYPE_CHECKING:
        shape: tuple[int, ...]
        ndim: int
        dtype: np.dtype
        _data: np.ndarray

    size = property(lambda self: Count(self._data), doc=Count.__doc__)
    device = property(lambda self: device(), doc="Where it is: always the CPU.")
    is_cuda = False
    def dim(self): return self.ndim
    def nelement(self): return self._data.size
    def element_size(self): return self._data.itemsize
    def ndimension(self): return self._data.ndim
    def stride(self, axis=None):
        strides = tuple([step // self._data.itemsize for step in self._data.strides])
        return strides if axis is None else strides[ops.axes.one_axis("stride", axis, self.ndim)]
    def is_contiguous(self): return self._data.flags.c_contiguous
    def pin_memory(self): return self
    def cpu(self): return self
    def conj(self): return self
    real = property(conj, doc="The Tensor itself: its elements are real.")
    def is_complex(self): return False
    def to(self, *wanted, **others):
        """This Tensor with the dtype that is named, if any, or that of a Tensor; a device may be named too."""
        dtype = wanted_dtype("to", *wanted, **others)
        return self if dtype is None or dtype is self.dtype else ops.cast(self, dtype=dtype)
    def type_as(self, other): return self.to(other.dtype)

    @named
    def max(self, *place, axis=None, keepdim=False, **others):
        if place or others:
            return _extremum(ops.max, ops.maximum, self, place, axis, keepdim, others)
        return ops.max(self, axis=axis, keepdim=keepdim)
    @named
    def min(self, *place, axis=None, keepdim=False, **others):
        if place or others:
            return _extremum(ops.min, ops.minimum, self, place, axis, keepdim, others)
        return ops.min(self, axis=axis, keepdim=keepdim)
    def amax(self, axis=None, keepdim=False): return ops.max(self, axis=axis, keepdim=keepdim)
    def amin(self, axis=None, keepdim=False): return ops.min(self, axis=axis, keepdim=keepdim)
    def norm(self, p=2.0, axis=None, keepdim=False):
        """(sum |x|^p)^(1/p) over `axis`, see `linalg.vector_norm`; "fro" is 2."""
        p = 2 if p is None or isinstance(p, str) and p == "fro" else p
        if not isinstance(p, int | float | np.number):  # and no Tensor, whose == is an op
            raise TypeError(f"norm: p must be a number, inf or 'fro', got {p!r}")
        return ops.linalg.vector_norm(self, p, axis, keepdim)
    gt, ge, lt, le = Methods.__gt__, Methods.__ge__, Methods.__lt__, Methods.__le__
    multiply, divide, negative, absolute = Methods.mul, Methods.div, Methods.neg, Methods.abs
    greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, Methods.ne
    def logical_and(self, other):
        """Where neither is 0, or false; x & y is bit by bit for integers."""
        return ops.logical_and(ops.compare.truth(self), ops.compare.truth(other))
    def logical_or(self, other):
        """Where not both are 0, or false; x | y is bit by bit for integers."""
        return ops.logical_or(ops.compare.truth(self), ops.compare.truth(other))
    def logical_xor(self, other):
        """Where one of them is 0, or false; x ^ y is bit by bit for integers."""
        return ops.logical_xor(ops.compare.truth(self), ops.compare.truth(other))
    def mm(self, mat2): return ops.matmul(self, mat2)
    bmm = spmm = mm
    def mv(self, vec): return ops.matmul(self, vec)
    def add(self, other, alpha=1): return ops.add(self, _times(other, alpha, self))
    def sub(self, other, alpha=1): return ops.sub(self, _times(other, alpha, self))
    subtract = sub
    def addcmul(self, a, b, value=1): return self + a * b * value
    def addcdiv(self, a, b, value=1): return self + a / b * value
    def addmm(self, mat1, mat2, beta=1, alpha=1):
        return _times(self, beta) + _times(ops.matmul(mat1, mat2), alpha)

    def nonzero(self, as_tuple=False):
        """The places that are not 0, one in each row: (number, ndim); or, as a tuple, their indices along each axis."""
        return ops.unbind(ops.nonzero(self if self.ndim else ops.reshape(self, shape=(1,))), 1) if as_tuple else (
            ops.nonzero(self))

    def t(self):
        """The transpose of a matrix; a vector stays as it is."""
        if self.ndim > 2:
            raise ValueError(f"t: takes a matrix, got shape {self.shape}; use x.transpose(-2, -1) or x.mT")
        return self if self.ndim < 2 else ops.transpose(self)
    mH = Methods.mT
    def view_as(self, other): return ops.reshape(self, shape=other.shape)
    reshape_as = view_as
    def expand_as(self, other): return ops.expand(self, shape=other.shape)
    broadcast_to = Methods.expand
    def ravel(self): return ops.reshape(self, shape=(-1,))
    def swapaxes(self, axis0, axis1): return ops.transpose(self, axis0, axis1)
    def narrow(self, axis, start, length): return ops.getitem(self, _slice("narrow", self, axis, start, length))
    def select(self, axis, index): return ops.getitem(self, (*_before("select", self, axis), index))
    def index_select(self, axis, index): return ops.arrange.index_select(self, axis, index)
    def index_add(self, axis, index, source, alpha=1):
        """This Tensor with the slices of source, times alpha, added to those that index names along the axis."""
        if not self.ndim:
            return ops.scatter_add(self, ops.reshape(index, shape=()), _times(source, alpha), axis=axis)
        axis = ops.axes.one_axis("index_add", axis, self.ndim)
        places = ops.arrange.slices_named("index_add", self.shape, axis, index)
        fits = (*self.shape[:axis], places.size, *self.shape[axis + 1:])
        if source.shape != fits:
            raise ValueError(f"index_add: along axis {axis} of shape {self.shape}, an index of {places.size} integers "
                             f"takes a source of shape {fits}, got {source.shape}")
        return ops.parts.put_onto(self, _times(source, alpha), index=(*(slice(None),) * axis, places))
    def tile(self, *repeats):
        """The whole Tensor repeated along each of its last axes."""
        repeats = plain_shape(repeats)
        return ops.repeat(self, (1,) * (self.ndim - len(repeats)) + tuple(repeats))

    grad_fn = property(lambda self: self.node)


def _of_its_dtype(name: str, make: Callable) -> property:
    """The constructor `make`, with the dtype of the Tensor that is asked for it."""
    def made(self: Any) -> Callable:
        return lambda *given, **options: make(*given, **{"dtype": self.dtype, **options})

    return property(made, doc=f"A new Tensor of this one's dtype: x.new_{name}(...) is {name}(...).")


setattr(Names, "new_tensor", _of_its_dtype("tensor", tensor.Tensor))  # noqa: B010
for _name in ("zeros", "ones", "empty", "full"):
    setattr(Names, f"new_{_name}", _of_its_dtype(_name, getattr(creation.Creation, _name)))


def _times(x: Any, factor: Any, beside: Any = None) -> Any:
    """x times a factor, in the dtype of `beside`, to which it is added, if that is the wider one."""
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


# Names that a Tensor does not have -> the replacement. (With `__getattr__` every attribute would take longer to find.)
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
for _name in ("addcmul addcdiv addmm t view_as reshape_as expand_as swapaxes narrow select index_select "
              "index_add tile type_as logical_and logical_or logical_xor").split():  # those of several ops
    setattr(Names, _name, named(vars(Names)[_name], _name))


def _extremum(op: Any, of_two: Any, x: Any, place: tuple, axis: Any, keepdim: bool, others: dict) -> Any:
    """Values and indices where the axis is given by position, or as dim, as in PyTorch; of two Tensors one."""
    if place and isinstance(place[0], tensor.Tensor | np.ndarray):
        return of_two(x, place[0])
    if others.keys() == {"other"}:
        return of_two(x, others["other"])
    if place:
        axis, keepdim = (*place, keepdim)[:2]
    given = renamed(op.name, op.options, {"axis": axis, "keepdim": keepdim}, others)
    axis, keepdim = given["axis"], given["keepdim"]
    if not isinstance(axis, int) or not place and "dim" not in others:
        return op(x, axis=axis, keepdim=keepdim)
    return pair_of(op, x if isinstance(x, tensor.Tensor) else tensor.wrap(np.asarray(x)), axis, keepdim)

# Functions of the package ---------------------------------------------------------------------------------------------


def new(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`Tensor(data)`, a copy, as PyTorch's `torch.tensor`."""
    renamed("tensor", {}, {}, {"device": device})
    return tensor.Tensor(data, requires_grad, dtype)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a Tensor, which shares the memory of an array or is the Tensor itself, unless its dtype differs."""
    renamed("as_tensor", {}, {}, {"device": device})
    if isinstance(data, np.ndarray):
        data = tensor.Tensor.from_numpy(data)
    return data.to(dtype) if isinstance(data, tensor.Tensor) else tensor.Tensor(data, dtype=dtype)


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
    return creation.Creation.randint(*size, low=low, high=high, **options)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, **options: Any) -> Tensor:
    """Normal numbers: of the given size, or of that of mean and std, if those are Tensors."""
    if size is None:
        size = np.broadcast_shapes(np.shape(mean), np.shape(std))
        with no_grad():
            return mean + std * creation.Creation.randn(*size, **options)
    return creation.Creation.normal(*plain_shape((size,)), mean=mean, std=std, **options)


@overload
def where(condition: Any) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Any, a: Any, b: Any) -> Tensor: ...
def where(condition: Any, *ab: Any, **named_ab: Any) -> Any:
    """The first where the condition is true, else the second; without them where it is true, as NumPy and PyTorch."""
    return ops.where(condition, *ab, **named_ab) if ab or named_ab else tensor.Tensor.nonzero(condition, as_tuple=True)


def empty_like(input: Any, **options: Any) -> Tensor:
    """A Tensor of the input's shape and dtype that holds any numbers."""
    return creation.Creation.empty(input.shape, **{"dtype": input.dtype, **options})


def bernoulli(input: Any, generator: Any = None) -> Tensor:
    """1 with the probability that the input says, else 0, element by element."""
    drawn = creation.Creation.rand(*input.shape, dtype=input.dtype, generator=generator)
    return ops.cast(ops.lt(drawn, input), dtype=input.dtype).detach()


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, allow_unused: bool = False, materialize_grads: bool = False,
         only_inputs: bool = True) -> tuple:
    """The gradients of `outputs`, a Tensor or several, with respect to `inputs`, as PyTorch's `torch.autograd.grad`.

    grad_outputs: the cotangent of each output. allow_unused: None for an input that no output depends on, instead of
    an error. `Tensor.gradient` is the same for one output.
    """
    outputs, inputs = ((x,) if isinstance(x, tensor.Tensor) or not isinstance(x, Iterable) else tuple(x)
                       for x in (outputs, inputs))
    given = tuple(grad_outputs) if isinstance(grad_outputs, list | tuple) else (grad_outputs,) * len(outputs)
    y, g = joined("grad", outputs, given, create_graph)
    if allow_unused and not materialize_grads:
        retain = create_graph if retain_graph is None else retain_graph
        return tuple(y._gradients("gradient", inputs, g, create_graph, retain))
    return tuple(y.gradient(*inputs, gradient=g, create_graph=create_graph, retain_graph=retain_graph,
                            materialize_grads=materialize_grads))


def joined(who: str, outputs: tuple, cotangents: tuple, create_graph: bool) -> tuple[Tensor, Any]:
    """A Tensor, and a cotangent for it, from which backward is that of all `outputs`, each with its cotangent."""
    if not outputs or not all([isinstance(x, tensor.Tensor) for x in outputs]):
        kinds = ", ".join([type(x).__name__ for x in outputs]) or "nothing"
        raise TypeError(f"{who}: takes Tensors that were computed from others, got {kinds}")
    if len(outputs) != len(cotangents):
        raise ValueError(f"{who}: {len(cotangents)} cotangents for {len(outputs)} outputs; give one for each, or None")
    if len(outputs) == 1:
        return outputs[0], cotangents[0]
    seeds = [x._seed(who, g, create_graph) for x, g in zip(outputs, cotangents, strict=True)]
    with enable_grad():
        terms = [ops.sum(x * g) for x, g in zip(outputs, seeds, strict=True)]  # whose slopes are the cotangents
        return sum(terms[1:], terms[0]), None


def compile(model: Any = None, **options: Any) -> Any:
    """The function or module itself, as its ops are compiled. Warns that it is `capture` that makes a step faster."""
    warnings.warn("compile: changes nothing here; decorate the training step with capture", stacklevel=2)
    return model if model is not None else lambda model: model


_NAMES: dict[str, Any] = {
    "float": np.dtype("float32"), "double": np.dtype("float64"), "long": np.dtype("int64"), "int": np.dtype("int32"),
    "short": np.dtype("int16"), "int8": np.dtype("int8"), "int16": np.dtype("int16"), "int32": np.dtype("int32"),
    "half": np.dtype("float16"), "float16": np.dtype("float16"), "bfloat16": bfloat16,
    "uint8": np.dtype("uint8"), "bool": np.dtype("bool"), "dtype": np.dtype, "Size": Size, "inf": float("inf"),
    "nan": float("nan"), "pi": np.pi, "e": np.e, "newaxis": None, "finfo": finfo, "iinfo": np.iinfo,
    "device": device, **DEVICES,
    "asarray": as_tensor, "as_tensor": as_tensor, "randint": randint, "normal": normal, "bernoulli": bernoulli,
    "where": where, "empty_like": empty_like,
    "is_tensor": lambda x: isinstance(x, tensor.Tensor), "inference_mode": inference_mode,
    "set_grad_enabled": set_grad_enabled, "Generator": Generator, "compile": compile,
    "concat": "cat", "concatenate": "cat",
}
# Those of nn.functional: PyTorch's have their arguments in another order than methods and ops, or their options first.
FUNCTIONAL = frozenset("""
    avg_pool1d conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity group_norm
    hardshrink layer_norm max_pool1d max_pool2d max_pool3d prelu rms_norm
""".split())


def _of_method(name: str) -> Any:
    """A method as PyTorch's function, whose first argument can be given as `input=`."""
    method, op = getattr(tensor.Tensor, name), getattr(ops, name, None)
    code = getattr(method, "__code__", None)
    if code is None or code.co_varnames[:1] != ("self",):
        return method
    alone = isinstance(op, Op) and code.co_argcount == 1 and (code.co_freevars or code.co_names == ("ops", name))
    return op if alone else method if code.co_flags & inspect.CO_VARKEYWORDS else taught(method)


def function(name: str) -> Any:
    """The package's attribute under a name of PyTorch's or NumPy's. Raises AttributeError if there is none."""
    if name in MEMORY_FORMATS or name == "strided":
        return name
    if name in LEADS:
        return import_module(LEADS[name])
    found = _NAMES.get(name)
    if found is None and name in _NAMES:  # newaxis
        return None
    if found is bfloat16:
        return bfloat16()
    if name in FUNCTIONAL:
        return getattr(import_module("tinygrad_like.nn.functional"), name)
    if isinstance(found, str):
        name, found = found, None
    if found is None and name[0] != "_" and any([name in vars(part) for part in (
            Methods, Names, MoreNames, InPlace, creation.Creation)]):
        found = _of_method(name)
    if found is None or isinstance(found, property):
        found = getattr(ops, name, None) if not isinstance(getattr(ops, name, None), type(ops)) else None
    if found is None:
        hint = f"; {ABSENT[name]}" if name in ABSENT else ""
        raise AttributeError(f"module 'tinygrad_like' has no attribute {name!r}{hint}")
    return found

