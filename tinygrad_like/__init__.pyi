"""Made by `python -m handbook.stubs`: do not edit."""
import builtins
from collections.abc import Callable, Sequence
from typing import Any, Self, TypedDict, TypeVar, Unpack, overload
import numpy as np
from .core.primitive import Residuals as Residuals
from .core.primitive import primitive as primitive
from .core.tensor import Tensor as Tensor
from . import dtypes as dtypes
from . import ops as ops
from .dtypes import BOOL as bool_
from .dtypes import FLOAT32 as float32
from .dtypes import FLOAT64 as float64
from .dtypes import INT64 as int64
from .ops import linalg as linalg
from .ops.composite import composite as composite
from .random import get_rng_state as get_rng_state
from .random import manual_seed as manual_seed
from .random import set_rng_state as set_rng_state
from .transforms.anomaly import detect_anomaly as detect_anomaly
from .transforms.checkpointing import checkpoint as checkpoint
from .transforms.derivatives import grad as grad
from .transforms.derivatives import hessian as hessian
from .transforms.derivatives import hvp as hvp
from .transforms.derivatives import jacobian as jacobian
from .transforms.derivatives import jvp as jvp
from .transforms.derivatives import value_and_grad as value_and_grad
from .transforms.derivatives import vjp as vjp
from .transforms.gradcheck import gradcheck as gradcheck
from .transforms.gradcheck import gradgradcheck as gradgradcheck
from .transforms.picture import Picture as Picture
from .transforms.picture import graph as graph
from .transforms.switches import enable_grad as enable_grad
from .transforms.switches import get_num_threads as get_num_threads
from .transforms.switches import is_grad_enabled as is_grad_enabled
from .transforms.switches import no_grad as no_grad
from .transforms.switches import set_num_threads as set_num_threads
from tinygrad_like.compat import autograd as autograd
from .capture.capture import eager as eager
from . import data as data
from . import distributed as distributed
from . import distributions as distributions
from . import random as random
from . import training as training
from .training.checkpoint import save as save
from .training.checkpoint import load as load
import nn as nn
import optim as optim
import multiprocessing as multiprocessing
from nn import onnx as onnx
from tinygrad_like.compat import func as func
from tinygrad_like.compat import utils as utils
from .compat import keyword_aliases as _habits, names as _torch, torch_names as _names
from .compat.numpy_functions import ForNumPy as _ForNumPy
from .methods.gradients import Gradients as _Gradients
from .methods.of_ops import Axis as _Axis
from .methods.protocol import Protocol as _Protocol
from .methods.versions import Versions as _Versions
from .ops.order import Found as _Found

__version__: str
__all__ = ['Picture', 'Residuals', 'Tensor', 'bool_', 'capture', 'checkpoint', 'composite', 'detect_anomaly', 'dtypes', 'eager', 'enable_grad', 'float32', 'float64', 'get_num_threads', 'get_rng_state', 'grad', 'gradcheck', 'gradgradcheck', 'graph', 'hessian', 'hvp', 'int64', 'is_grad_enabled', 'jacobian', 'jvp', 'linalg', 'manual_seed', 'nn', 'no_grad', 'ops', 'optim', 'primitive', 'set_num_threads', 'set_rng_state', 'training', 'value_and_grad', 'vjp']
_Number = builtins.float
_Value = Tensor | np.ndarray | np.generic | builtins.float

class _WithoutEffect(TypedDict, total=False):
    device: Any
    non_blocking: Any
    pin_memory: Any
    layout: Any
    out: Any
    memory_format: Any
    generator: Any
    sparse: Any
    foreach: Any
    fused: Any
    capturable: Any
    differentiable: Any
    inplace: Any
    verbose: Any
    stable: Any

class _Surface(_ForNumPy, _Protocol, _Gradients, _Versions):
    def __setitem__(self, index: Any, value: Any) -> None: ...
    @property
    def T(self) -> Tensor: r"""The transpose of a matrix (all axes reversed)."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: _Value) -> Tensor: ...
    def __and__(self, other: _Value) -> Tensor: ...
    def __eq__(self, other: _Value) -> Tensor: ...  # type: ignore[override]
    def __floordiv__(self, other: _Value) -> Tensor: ...
    def __ge__(self, other: _Value) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __gt__(self, other: _Value) -> Tensor: ...
    def __iadd__(self, other: _Value) -> Self: ...
    def __iand__(self, other: _Value) -> Self: ...
    def __ifloordiv__(self, other: _Value) -> Self: ...
    def __imatmul__(self, other: _Value) -> Self: ...
    def __imod__(self, other: _Value) -> Self: ...
    def __imul__(self, other: _Value) -> Self: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: _Value) -> Self: ...
    def __ipow__(self, exponent: _Value) -> Self: ...
    def __isub__(self, other: _Value) -> Self: ...
    def __itruediv__(self, other: _Value) -> Self: ...
    def __ixor__(self, other: _Value) -> Self: ...
    def __le__(self, other: _Value) -> Tensor: ...
    def __lshift__(self, b: Any) -> Tensor: ...
    def __lt__(self, other: _Value) -> Tensor: ...
    def __matmul__(self, other: _Value) -> Tensor: ...
    def __mod__(self, other: _Value) -> Tensor: ...
    def __mul__(self, other: _Value) -> Tensor: ...
    def __ne__(self, other: _Value) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: _Value) -> Tensor: ...
    def __pow__(self, exponent: _Value) -> Tensor: ...
    def __radd__(self, other: _Value) -> Tensor: ...
    def __rand__(self, other: _Value) -> Tensor: ...
    def __rfloordiv__(self, other: _Value) -> Tensor: ...
    def __rmatmul__(self, other: _Value) -> Tensor: ...
    def __rmod__(self, other: _Value) -> Tensor: ...
    def __rmul__(self, other: _Value) -> Tensor: ...
    def __ror__(self, other: _Value) -> Tensor: ...
    def __rpow__(self, other: _Value) -> Tensor: ...
    def __rshift__(self, b: Any) -> Tensor: ...
    def __rsub__(self, other: _Value) -> Tensor: ...
    def __rtruediv__(self, other: _Value) -> Tensor: ...
    def __rxor__(self, other: _Value) -> Tensor: ...
    def __sub__(self, other: _Value) -> Tensor: ...
    def __truediv__(self, other: _Value) -> Tensor: ...
    def __xor__(self, other: _Value) -> Tensor: ...
    def _become(self, who: builtins.str, make: Callable[[Tensor], Tensor], part: np.ndarray | None = ..., alone: builtins.bool = ...) -> Self: ...
    def abs(self) -> Tensor: r"""|x|, with gradient 0 at 0, and NaN for NaN (PyTorch: 0)."""
    def abs_(self) -> Self: r"""`abs`, in place; a leaf that requires grad can change only under no_grad()."""
    def absolute(self) -> Tensor: r"""|x|, with gradient 0 at 0, and NaN for NaN (PyTorch: 0)."""
    def absolute_(self) -> Self: r"""`absolute`, in place; a leaf that requires grad can change only under no_grad()."""
    def acos(self) -> Tensor: r"""The angle in [0, pi] whose cosine is x."""
    def acos_(self) -> Self: r"""`acos`, in place; a leaf that requires grad can change only under no_grad()."""
    def acosh(self) -> Tensor: r"""The non-negative number whose cosh is x."""
    def acosh_(self) -> Self: r"""`acosh`, in place; a leaf that requires grad can change only under no_grad()."""
    def add(self, other: _Value, alpha: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def add_(self, other: _Value, alpha: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`add`, in place; a leaf that requires grad can change only under no_grad()."""
    def addcdiv(self, a: Any = ..., b: Any = ..., value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def addcdiv_(self, a: Any = ..., b: Any = ..., value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`addcdiv`, in place; a leaf that requires grad can change only under no_grad()."""
    def addcmul(self, a: Any = ..., b: Any = ..., value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def addcmul_(self, a: Any = ..., b: Any = ..., value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`addcmul`, in place; a leaf that requires grad can change only under no_grad()."""
    def addmm(self, mat1: Any, mat2: Any, beta: Any = ..., alpha: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def addmm_(self, mat1: Any, mat2: Any, beta: Any = ..., alpha: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`addmm`, in place; a leaf that requires grad can change only under no_grad()."""
    def all(self, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Whether all values are true (not 0)."""
    def allclose(self, b: Any = ..., rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Whether all elements are close, see `isclose`."""
    def amax(self, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The largest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
    def amin(self, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The smallest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
    def any(self, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Whether any value is true (not 0)."""
    @staticmethod
    def arange(start: builtins.float, stop: builtins.float | None = ..., step: builtins.float = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., *, end: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""start, start + step, ... below stop; `arange(stop)` starts at 0. int64 if all are ints, else the default dtype."""
    def arccos(self) -> Tensor: r"""The angle in [0, pi] whose cosine is x."""
    def arccos_(self) -> Self: r"""`arccos`, in place; a leaf that requires grad can change only under no_grad()."""
    def arccosh(self) -> Tensor: r"""The non-negative number whose cosh is x."""
    def arccosh_(self) -> Self: r"""`arccosh`, in place; a leaf that requires grad can change only under no_grad()."""
    def arcsin(self) -> Tensor: r"""The angle in [-pi/2, pi/2] whose sine is x."""
    def arcsin_(self) -> Self: r"""`arcsin`, in place; a leaf that requires grad can change only under no_grad()."""
    def arcsinh(self) -> Tensor: r"""The number whose sinh is x."""
    def arcsinh_(self) -> Self: r"""`arcsinh`, in place; a leaf that requires grad can change only under no_grad()."""
    def arctan(self) -> Tensor: r"""The angle in (-pi/2, pi/2) whose tangent is x."""
    def arctan2(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The angle in [-pi, pi] of the point (b, a); at (0, 0) both gradients are 0."""
    def arctan2_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`arctan2`, in place; a leaf that requires grad can change only under no_grad()."""
    def arctan_(self) -> Self: r"""`arctan`, in place; a leaf that requires grad can change only under no_grad()."""
    def arctanh(self) -> Tensor: r"""The number whose tanh is x."""
    def arctanh_(self) -> Self: r"""`arctanh`, in place; a leaf that requires grad can change only under no_grad()."""
    def argmax(self, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The index of the largest value, the first of ties; in the flattened Tensor if axis is None."""
    def argmin(self, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The index of the smallest value, the first of ties; in the flattened Tensor if axis is None."""
    def argsort(self, axis: _Axis = ..., descending: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The indices that sort x along `axis`; equal values keep their order."""
    def argwhere(self) -> Tensor: r"""The indices of all nonzero elements, one per row: (number, x.ndim)."""
    def as_strided(self, size: Any, stride: Any, storage_offset: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""A copy of the elements `stride` apart along each axis: out[i, j] is element storage_offset + i stride[0] + j stride[1] of this Tensor, which must be contiguous. The copy is read-only."""
    def asin(self) -> Tensor: r"""The angle in [-pi/2, pi/2] whose sine is x."""
    def asin_(self) -> Self: r"""`asin`, in place; a leaf that requires grad can change only under no_grad()."""
    def asinh(self) -> Tensor: r"""The number whose sinh is x."""
    def asinh_(self) -> Self: r"""`asinh`, in place; a leaf that requires grad can change only under no_grad()."""
    def atan(self) -> Tensor: r"""The angle in (-pi/2, pi/2) whose tangent is x."""
    def atan2(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The angle in [-pi, pi] of the point (b, a); at (0, 0) both gradients are 0."""
    def atan2_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`atan2`, in place; a leaf that requires grad can change only under no_grad()."""
    def atan_(self) -> Self: r"""`atan`, in place; a leaf that requires grad can change only under no_grad()."""
    def atanh(self) -> Tensor: r"""The number whose tanh is x."""
    def atanh_(self) -> Self: r"""`atanh`, in place; a leaf that requires grad can change only under no_grad()."""
    def avg_pool2d(self, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., *, pad: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The mean of every window: (batch, channels, height, width) -> (batch, channels, rows, columns)."""
    def batchnorm(self, weight: Any, bias: Any, mean: Any, invstd: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""(x - mean) invstd weight + bias, for known statistics, each a vector along `axis`."""
    def bernoulli_(self, *inputs: Any, **options: Any) -> Self: ...
    def bfloat16(self) -> Tensor: ...
    def binary_crossentropy(self, target: Any, weight: Any = ..., *, reduction: builtins.str = ..., reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""-(t log p + (1 - t) log(1 - p)) of probabilities p; logarithms are at least -100, as in PyTorch."""
    def binary_crossentropy_logits(self, target: Any, weight: Any = ..., pos_weight: Any = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""-(w t log p + (1 - t) log(1 - p)) of logits x, with p = sigma(x), targets t in [0, 1] and w = pos_weight."""
    def bitcast(self, dtype: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The bits of x read as another dtype; if the item size differs, the last axis shrinks or grows."""
    def bitwise_and(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a and b of booleans; bit by bit for integers."""
    def bitwise_and_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`bitwise_and`, in place; a leaf that requires grad can change only under no_grad()."""
    def bitwise_not(self) -> Tensor: r"""not x of booleans; bit by bit for integers."""
    def bitwise_not_(self) -> Self: r"""`bitwise_not`, in place; a leaf that requires grad can change only under no_grad()."""
    def bitwise_or(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a or b of booleans; bit by bit for integers."""
    def bitwise_or_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`bitwise_or`, in place; a leaf that requires grad can change only under no_grad()."""
    def bitwise_xor(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Either a or b, but not both, of booleans; bit by bit for integers."""
    def bitwise_xor_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`bitwise_xor`, in place; a leaf that requires grad can change only under no_grad()."""
    def bmm(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def bool(self) -> Tensor: ...
    def broadcast_to(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Broadcast to `shape`; -1 keeps a size. A view, writable if it shows no element twice."""
    def byte(self) -> Tensor: ...
    def cast(self, dtype: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with another dtype; between floats the gradient passes, cast back by the engine."""
    def cat(self, *others: Any, axis: _Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Concatenate Tensors along `axis`; all other axes must agree."""
    def ceil(self) -> Tensor: r"""The smallest whole number not below x; the gradient is 0."""
    def ceil_(self) -> Self: r"""`ceil`, in place; a leaf that requires grad can change only under no_grad()."""
    def celu(self, alpha: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x if x > 0, else alpha (e^(x / alpha) - 1): an ELU whose slope at 0 is 1 for every alpha (Barron 2017)."""
    def celu_(self, alpha: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`celu`, in place; a leaf that requires grad can change only under no_grad()."""
    def char(self) -> Tensor: ...
    def cholesky(self, upper: builtins.bool = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""L, lower triangular, with L L^T = x, for symmetric positive definite matrices; it reads only the lower triangle."""
    def cholesky_solve(self, factor: Any, upper: builtins.bool = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""X with a X = b, given the Cholesky factor of a (see `cholesky`): b (..., n, k), factor (..., n, n)."""
    def chunk(self, chunks: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""A tuple of `chunks` equal parts along `axis` (if it does not divide, the last is smaller, or there are fewer)."""
    def clamp(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x limited to [min_, max_], numbers or Tensors that broadcast."""
    def clamp_(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`clamp`, in place; a leaf that requires grad can change only under no_grad()."""
    def clamp_max(self, max: Any = ..., *, a_max: Any = ..., max_: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x, or max where that is smaller."""
    def clamp_max_(self, max: Any = ..., *, a_max: Any = ..., max_: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`clamp_max`, in place; a leaf that requires grad can change only under no_grad()."""
    def clamp_min(self, min: Any = ..., *, a_min: Any = ..., min_: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x, or min where that is larger."""
    def clamp_min_(self, min: Any = ..., *, a_min: Any = ..., min_: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`clamp_min`, in place; a leaf that requires grad can change only under no_grad()."""
    def clip(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x limited to [min_, max_], numbers or Tensors that broadcast."""
    def clip_(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`clip`, in place; a leaf that requires grad can change only under no_grad()."""
    def clone(self, memory_format: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., generator: Any = ..., inplace: Any = ..., layout: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""A copy of x, on the graph."""
    def coalesce(self) -> Tensor: ...
    def conj(self) -> Tensor: ...
    def contiguous(self, memory_format: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., generator: Any = ..., inplace: Any = ..., layout: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""x in C order in memory; a copy only if it is not."""
    def conv2d(self, weight: Any, bias: Any = ..., groups: Any = ..., stride: Any = ..., dilation: Any = ..., padding: Any = ..., *, pad: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""out[n, i] = bias_i + sum_j weight[i, j] * x[n, j], with * the cross-correlation of images (7.51)."""
    def conv_transpose2d(self, weight: Any, bias: Any = ..., groups: Any = ..., stride: Any = ..., dilation: Any = ..., padding: Any = ..., output_padding: Any = ..., *, pad: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The adjoint of conv2d, plus a bias. It maps back to conv2d's input size, so images grow."""
    def copy_(self, *inputs: Any, **options: Any) -> Self: ...
    def copysign(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""|a| with the sign of b; the gradient of b is 0."""
    def copysign_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`copysign`, in place; a leaf that requires grad can change only under no_grad()."""
    def cos(self) -> Tensor: r"""cos x."""
    def cos_(self) -> Self: r"""`cos`, in place; a leaf that requires grad can change only under no_grad()."""
    def cosh(self) -> Tensor: r"""(e^x + e^-x) / 2."""
    def cosh_(self) -> Self: r"""`cosh`, in place; a leaf that requires grad can change only under no_grad()."""
    def cpu(self) -> Tensor: ...
    def cross(self, b: Any = ..., axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The cross product along an axis of 3 elements, by default the first such axis: out_i = a_j b_k - a_k b_j."""
    def cross_entropy(self, target: Any, weight: Any = ..., ignore_index: Any = ..., reduction: builtins.str = ..., label_smoothing: builtins.float = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The cross-entropy between logits and labels: L = -sum_c q_c log softmax(input)_c, with dL/dinput = p - q (003)."""
    def cummax(self, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> _Found: r"""The largest value so far along `axis` and its index, the last of ties: (values, indices)."""
    def cummin(self, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> _Found: r"""The smallest value so far along `axis` and its index, the last of ties: (values, indices)."""
    def cumprod(self, axis: _Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Running products along `axis`: out[i] = x[0] ... x[i]; the gradient is exact where factors are 0."""
    def cumprod_(self, axis: _Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`cumprod`, in place; a leaf that requires grad can change only under no_grad()."""
    def cumsum(self, axis: _Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Running sums along `axis`: out[i] = x[0] + ... + x[i]."""
    def cumsum_(self, axis: _Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`cumsum`, in place; a leaf that requires grad can change only under no_grad()."""
    def deg2rad(self) -> Tensor: r"""x pi / 180: degrees as radians."""
    def deg2rad_(self) -> Self: r"""`deg2rad`, in place; a leaf that requires grad can change only under no_grad()."""
    def detach_(self) -> Self: r"""Leave the graph: become a leaf that does not require grad."""
    @property
    def device(self) -> _habits.device: r"""Where it is: always the CPU."""
    def diag(self, offset: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""A square matrix with the vector x on a diagonal, and zeros elsewhere; or the diagonal of a matrix."""
    def diagonal(self, offset: Any = ..., axis1: Any = ..., axis2: Any = ..., *, dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The elements x[i, i + offset] of the matrices in two axes, as a last axis. A view: no memory is copied."""
    def dim(self) -> builtins.int: ...
    def div(self, other: _Value, rounding_mode: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a / b."""
    def div_(self, other: _Value, rounding_mode: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`div`, in place; a leaf that requires grad can change only under no_grad()."""
    def divide(self, other: _Value, rounding_mode: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a / b."""
    def divide_(self, other: _Value, rounding_mode: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`divide`, in place; a leaf that requires grad can change only under no_grad()."""
    def dot(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def double(self) -> Tensor: ...
    def dropout(self, p: builtins.float = ..., training: builtins.bool = ..., *, ord: Any = ..., train: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Inverted dropout: y = m x / (1 - p), where each m is 0 with probability p, else 1; x itself if not training."""
    @staticmethod
    def einsum(formula: builtins.str, *operands: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def element_size(self) -> builtins.int: ...
    def elu(self, alpha: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x if x > 0, else alpha (e^x - 1)."""
    def elu_(self, alpha: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`elu`, in place; a leaf that requires grad can change only under no_grad()."""
    @staticmethod
    def empty(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., size: Any = ..., sizes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def empty_like(self, *values: Any, **options: Any) -> Tensor: r"""`empty` with the shape and dtype of this Tensor."""
    def eq(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a == b."""
    def equal(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> builtins.bool: r"""Whether both have equal shapes and elements, as a bool."""
    def erf(self) -> Tensor: r"""The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x."""
    def erf_(self) -> Self: r"""`erf`, in place; a leaf that requires grad can change only under no_grad()."""
    def erfinv(self) -> Tensor: r"""The y with erf y = x: infinite at -1 and 1, NaN beyond."""
    def erfinv_(self) -> Self: r"""`erfinv`, in place; a leaf that requires grad can change only under no_grad()."""
    def exp(self) -> Tensor: r"""e^x."""
    def exp2(self) -> Tensor: r"""2^x."""
    def exp2_(self) -> Self: r"""`exp2`, in place; a leaf that requires grad can change only under no_grad()."""
    def exp_(self) -> Self: r"""`exp`, in place; a leaf that requires grad can change only under no_grad()."""
    def expand(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Broadcast to `shape`; -1 keeps a size. A view, writable if it shows no element twice."""
    def expand_as(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def expm1(self) -> Tensor: r"""e^x - 1, accurate for small x."""
    def expm1_(self) -> Self: r"""`expm1`, in place; a leaf that requires grad can change only under no_grad()."""
    def exponential_(self, *inputs: Any, **options: Any) -> Self: ...
    @staticmethod
    def eye(n: builtins.int, m: builtins.int | None = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., *, N: Any = ..., M: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def fill_(self, *inputs: Any, **options: Any) -> Self: ...
    def flatten(self, start_axis: Any = ..., end_axis: Any = ..., *, start_dim: Any = ..., end_dim: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Merge the axes from start_axis to end_axis into one."""
    def flip(self, *axis: _Axis, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Reverse the order of elements along `axis` (all axes if None). A copy, as in PyTorch."""
    def float(self) -> Tensor: ...
    def floor(self) -> Tensor: r"""The largest whole number not above x; the gradient is 0."""
    def floor_(self) -> Self: r"""`floor`, in place; a leaf that requires grad can change only under no_grad()."""
    def floor_divide(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""floor(a / b), without a gradient. Raises ZeroDivisionError for integers by 0."""
    def floor_divide_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`floor_divide`, in place; a leaf that requires grad can change only under no_grad()."""
    def fmod(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a - b trunc(a / b), with the sign of a. Raises ZeroDivisionError for integers by 0."""
    def fmod_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`fmod`, in place; a leaf that requires grad can change only under no_grad()."""
    def frac(self) -> Tensor: r"""x - trunc(x): the fractional part, with the sign of x."""
    def frac_(self) -> Self: r"""`frac`, in place; a leaf that requires grad can change only under no_grad()."""
    @staticmethod
    def from_dlpack(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""A Tensor on the memory of another library's CPU tensor (PyTorch, JAX, NumPy ...), without a copy."""
    @staticmethod
    def from_numpy(array: np.ndarray, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""A Tensor on the memory of `array`, without a copy: later writes to the array change the Tensor, and no check detects it."""
    @staticmethod
    def full(shape: builtins.int | Sequence[builtins.int], fill_value: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., *, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def full_like(self, *values: Any, **options: Any) -> Tensor: r"""`full` with the shape and dtype of this Tensor."""
    def gather(self, axis: _Axis = ..., index: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""out[i, j] = x[i, index[i, j]] for axis=1, and likewise for any axis."""
    def ge(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Return self>=value."""
    def gelu(self, approximate: builtins.str = ..., *, approximation: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (7.27); with approximate="tanh" the form 003 and GPT-2 use."""
    @staticmethod
    def glorot_uniform(*shape: Any, **options: Any) -> Tensor: r"""Uniform on [-b, b) with b = sqrt(6 / (fan_in + fan_out)), for shape (fan_out, *fan_in)."""
    @property
    def grad_fn(self) -> Callable[..., Tensor]: ...
    def greater(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Return self>value."""
    def greater_equal(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Return self>=value."""
    def gt(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Return self>value."""
    def half(self) -> Tensor: ...
    def hardsigmoid(self, alpha: builtins.float = ..., beta: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""alpha x + beta limited to [0, 1]: sigmoid as three straight pieces; the gradient is 0 where they meet."""
    def hardsigmoid_(self, alpha: builtins.float = ..., beta: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`hardsigmoid`, in place; a leaf that requires grad can change only under no_grad()."""
    def hardswish(self) -> Tensor: r"""x hardsigmoid(x) (Howard et al. 2019)."""
    def hardswish_(self) -> Self: r"""`hardswish`, in place; a leaf that requires grad can change only under no_grad()."""
    def hardtanh(self, min_val: builtins.float = ..., max_val: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x limited to [min_val, max_val]. Unlike clip, its gradient at the limits is 0, as relu's is at 0."""
    def hardtanh_(self, min_val: builtins.float = ..., max_val: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`hardtanh`, in place; a leaf that requires grad can change only under no_grad()."""
    def hypot(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""sqrt(a^2 + b^2), without overflow; at (0, 0) both gradients are 0."""
    def hypot_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`hypot`, in place; a leaf that requires grad can change only under no_grad()."""
    def index_add(self, axis: _Axis = ..., index: Any = ..., source: Any = ..., alpha: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""This Tensor with alpha times the slices of source added at an index along the axis."""
    def index_add_(self, axis: _Axis = ..., index: Any = ..., source: Any = ..., alpha: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`index_add`, in place; a leaf that requires grad can change only under no_grad()."""
    def index_select(self, axis: _Axis = ..., index: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def inner(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Sums of products over the last axis of both: (..., n), (*, n) -> (..., *)."""
    def int(self) -> Tensor: ...
    def interpolate(self, size: Any = ..., mode: builtins.str = ..., align_corners: builtins.bool = ..., scale_factor: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x enlarged or reduced: (batch, channels, *spatial) -> (batch, channels, *size), for one to three spatial axes."""
    def inverse(self) -> Tensor: r"""The inverse of every matrix. Raises ValueError for a singular one."""
    def is_complex(self) -> builtins.bool: ...
    def is_contiguous(self) -> builtins.bool: ...
    is_cuda: builtins.bool
    is_sparse: builtins.bool
    def isclose(self, b: Any = ..., rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where |a - b| <= atol + rtol |b|, or a and b are the same infinity; with equal_nan, also where both are NaN."""
    def isfinite(self) -> Tensor: r"""Where x is neither infinite nor NaN."""
    def isinf(self, detect_positive: builtins.bool = ..., detect_negative: builtins.bool = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where x is infinite, with either sign or only those to detect."""
    def isnan(self) -> Tensor: r"""Where x is NaN."""
    def isneginf(self) -> Tensor: r"""Where x is -infinity."""
    def isposinf(self) -> Tensor: r"""Where x is +infinity."""
    @staticmethod
    def kaiming_normal(*shape: Any, a: builtins.float = ..., **options: Any) -> Tensor: r"""Normal with standard deviation sqrt(2 / (fan_in (1 + a^2))), for a leaky_relu of slope a to come."""
    @staticmethod
    def kaiming_uniform(*shape: Any, a: builtins.float = ..., **options: Any) -> Tensor: r"""Uniform on [-b, b) with b = sqrt(6 / (fan_in (1 + a^2))), for a leaky_relu of slope a to come."""
    def kron(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The Kronecker product: blocks a[i, j] b."""
    def layernorm(self, axis: _Axis = ..., eps: _Number | None = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""(x - mean) / sqrt(variance + eps) over any `axis`: layer_norm without weights."""
    def le(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Return self<=value."""
    def leaky_relu(self, negative_slope: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x if x > 0, else negative_slope * x (7.26)."""
    def leaky_relu_(self, negative_slope: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`leaky_relu`, in place; a leaf that requires grad can change only under no_grad()."""
    def lerp(self, end: Any, weight: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a + (b - a) weight: a at weight 0, b at weight 1, linear in between."""
    def lerp_(self, end: Any, weight: Any, **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`lerp`, in place; a leaf that requires grad can change only under no_grad()."""
    def less(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Return self<value."""
    def less_equal(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Return self<=value."""
    def linear(self, weight: Any, bias: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""y = x W^T + b over any leading axes (7.17-7.19). x (..., in), weight (out, in), bias (out) -> (..., out)."""
    @staticmethod
    def linspace(start: builtins.float, stop: builtins.float = ..., steps: builtins.int = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., *, end: Any = ..., num: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""`steps` values from start to stop, both included."""
    def log(self) -> Tensor: r"""The natural logarithm."""
    def log10(self) -> Tensor: r"""The logarithm to base 10."""
    def log10_(self) -> Self: r"""`log10`, in place; a leaf that requires grad can change only under no_grad()."""
    def log1p(self) -> Tensor: r"""log(1 + x), accurate for small x."""
    def log1p_(self) -> Self: r"""`log1p`, in place; a leaf that requires grad can change only under no_grad()."""
    def log2(self) -> Tensor: r"""The logarithm to base 2."""
    def log2_(self) -> Self: r"""`log2`, in place; a leaf that requires grad can change only under no_grad()."""
    def log_(self) -> Self: r"""`log`, in place; a leaf that requires grad can change only under no_grad()."""
    def log_softmax(self, axis: _Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log p_i = x_i - log sum_j e^(x_j) along `axis`, accurate even where softmax rounds to 0."""
    def logaddexp(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log(e^a + e^b), without overflow."""
    def logcumsumexp(self, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log of the running sums of e^x along `axis`, without overflow."""
    def logical_and(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""`logical_and` of where they are not 0, or false; the operator goes bit by bit for integers."""
    def logical_and_(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`logical_and`, in place; a leaf that requires grad can change only under no_grad()."""
    def logical_not(self) -> Tensor: r"""Where x is 0, or False; ~x is bit by bit for integers."""
    def logical_not_(self) -> Self: r"""`logical_not`, in place; a leaf that requires grad can change only under no_grad()."""
    def logical_or(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""`logical_or` of where they are not 0, or false; the operator goes bit by bit for integers."""
    def logical_or_(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`logical_or`, in place; a leaf that requires grad can change only under no_grad()."""
    def logical_xor(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""`logical_xor` of where they are not 0, or false; the operator goes bit by bit for integers."""
    def logical_xor_(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`logical_xor`, in place; a leaf that requires grad can change only under no_grad()."""
    def logsigmoid(self) -> Tensor: r"""log sigma(x) = -softplus(-x), without softplus's threshold."""
    def logsumexp(self, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log sum_j e^(x_j) over `axis`, as m + log sum_j e^(x_j - m) with m = max_j x_j."""
    def long(self) -> Tensor: ...
    def lshift(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a 2^b, for integers."""
    def lstsq(self, b: Any = ..., rcond: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""The x of least norm that minimises |a x - b|: a (..., m, n), b (..., m, k) -> solution (..., n, k), and more."""
    def lt(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Return self<value."""
    @property
    def mH(self) -> Tensor: r"""The last two axes swapped: the transpose of every matrix in a batch."""
    @property
    def mT(self) -> Tensor: r"""The last two axes swapped: the transpose of every matrix in a batch."""
    @staticmethod
    def manual_seed(seed: builtins.int, **without_effect: Unpack[_WithoutEffect]) -> Any: r"""Restart from a seed: the same seed repeats every draw. Returns itself."""
    def masked_fill(self, mask: Any, value: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def masked_fill_(self, mask: Any, value: Any, **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`masked_fill`, in place; a leaf that requires grad can change only under no_grad()."""
    def masked_select(self, mask: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The elements of x where the mask is True, as a vector; x and mask broadcast. Raises TypeError unless it is boolean."""
    def matmul(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def max(self, *place: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., **others: Any) -> Tensor: r"""The largest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
    def max_pool2d(self, kernel_size: Any = ..., stride: Any = ..., dilation: Any = ..., padding: Any = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ..., *, pad: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The largest element of every window: (batch, channels, height, width) -> (batch, channels, rows, columns)."""
    def max_unpool2d(self, indices: Any, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., output_size: Any = ..., *, pad: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def maximum(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The larger of a and b; where they are equal, each gets half of the cotangent."""
    def mean(self, axis: _Axis = ..., keepdim: builtins.bool = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The mean over `axis` (all axes if None), in the default dtype for integers."""
    def median(self, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Any: r"""The median, the lower of two middle values, NaN if any is NaN; along an axis, with indices: (values, indices)."""
    def meshgrid(self, *, indexing: builtins.str = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""The coordinates of a grid spanned by vectors (or numbers, or a list of them): a tuple of Tensors of the grid's shape."""
    def min(self, *place: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., **others: Any) -> Tensor: r"""The smallest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
    def minimum(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The smaller of a and b; where they are equal, each gets half of the cotangent."""
    def mish(self) -> Tensor: r"""x tanh(softplus(x)) (Misra 2019)."""
    def mm(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def mod(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a - b floor(a / b), with the sign of b. Raises ZeroDivisionError for integers by 0."""
    def mod_(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`mod`, in place; a leaf that requires grad can change only under no_grad()."""
    def moveaxis(self, source: Any, destination: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with the axis or axes `source` moved to `destination`; the other axes keep their order."""
    def movedim(self, source: Any, destination: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with the axis or axes `source` moved to `destination`; the other axes keep their order."""
    def mul(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a b, element by element."""
    def mul_(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`mul`, in place; a leaf that requires grad can change only under no_grad()."""
    def multinomial(self, num_samples: Any = ..., replacement: builtins.bool = ..., generator: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Indices drawn with probabilities proportional to weights (n) or (rows, n) -> (num_samples) or (rows, ...)."""
    def multiply(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a b, element by element."""
    def multiply_(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`multiply`, in place; a leaf that requires grad can change only under no_grad()."""
    def mv(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def nan_to_num(self, nan: builtins.float = ..., posinf: Any = ..., neginf: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with NaN and the infinities replaced, by default with 0 and the largest and smallest numbers of its dtype."""
    def nan_to_num_(self, nan: builtins.float = ..., posinf: Any = ..., neginf: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`nan_to_num`, in place; a leaf that requires grad can change only under no_grad()."""
    def narrow(self, axis: _Axis = ..., start: Any = ..., length: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def ndimension(self) -> builtins.int: ...
    def ne(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a != b."""
    def neg(self) -> Tensor: r"""-x."""
    def neg_(self) -> Self: r"""`neg`, in place; a leaf that requires grad can change only under no_grad()."""
    def negative(self) -> Tensor: r"""-x."""
    def negative_(self) -> Self: r"""`negative`, in place; a leaf that requires grad can change only under no_grad()."""
    def nelement(self) -> builtins.int: ...
    def new(self, *data: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""A new Tensor of this one's dtype: from data, or zeros of the given sizes."""
    @property
    def new_empty(self) -> Callable[..., Tensor]: r"""A new Tensor of this one's dtype: x.new_empty(...) is empty(...)."""
    @property
    def new_full(self) -> Callable[..., Tensor]: r"""A new Tensor of this one's dtype: x.new_full(...) is full(...)."""
    @property
    def new_ones(self) -> Callable[..., Tensor]: r"""A new Tensor of this one's dtype: x.new_ones(...) is ones(...)."""
    @property
    def new_tensor(self) -> Callable[..., Tensor]: r"""A new Tensor of this one's dtype: x.new_tensor(...) is tensor(...)."""
    @property
    def new_zeros(self) -> Callable[..., Tensor]: r"""A new Tensor of this one's dtype: x.new_zeros(...) is zeros(...)."""
    def nll_loss(self, target: Any, weight: Any = ..., ignore_index: Any = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""-input[i, target[i]]: the negative log-likelihood of labels, given log-probabilities such as log_softmax's."""
    def nonzero(self, as_tuple: builtins.bool = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The indices of nonzero elements, one per row: (number, ndim); or, as_tuple, their indices along each axis."""
    def norm(self, p: builtins.float = ..., axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., ord: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""(sum |x|^p)^(1/p) over `axis`, see `linalg.vector_norm`; "fro" is 2."""
    @staticmethod
    def normal(*shape: Any, mean: builtins.float = ..., std: builtins.float = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Normal with the given mean and standard deviation."""
    def normal_(self, *, mean: builtins.float = ..., std: builtins.float = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Self: ...
    def normalize(self, p: builtins.float = ..., axis: _Axis = ..., eps: _Number | None = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., ord: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x / max(||x||_p, eps) along `axis`."""
    def not_equal(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a != b."""
    def one_hot(self, num_classes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""A new last axis of size num_classes, 1 at the index and 0 elsewhere (int64); -1 takes the largest index + 1."""
    @staticmethod
    def ones(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., size: Any = ..., sizes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def ones_like(self, *values: Any, **options: Any) -> Tensor: r"""`ones` with the shape and dtype of this Tensor."""
    def outer(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""out[i, j] = a[i] b[j] of two vectors."""
    def pad(self, padding: Any = ..., mode: builtins.str = ..., value: builtins.float = ..., *, pad: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Add elements around x."""
    def permute(self, *axes: Any, dim: Any = ..., dims: Any = ..., axis: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The axes in another order: out.shape[i] = x.shape[axes[i]]."""
    def pin_memory(self) -> Tensor: ...
    def positive(self) -> Tensor: r"""x itself (a view on the same memory), as a new node of the graph."""
    def pow(self, exponent: _Value = ..., *, other: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a^b. The gradient with respect to b is NaN where a < 0, which has no logarithm, and 0 where a = 0 and b >= 0."""
    def pow_(self, exponent: _Value = ..., *, other: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`pow`, in place; a leaf that requires grad can change only under no_grad()."""
    def prod(self, axis: _Axis = ..., keepdim: builtins.bool = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The product over `axis` (all axes if None); its gradient is exact where factors are 0."""
    def qr(self) -> tuple[Tensor, ...]: r"""Q with orthonormal columns and R, upper triangular, with Q R = x: (..., m, n) -> (..., m, k), (..., k, n)."""
    def quick_gelu(self) -> Tensor: r"""x sigma(1.702 x), close to gelu."""
    def rad2deg(self) -> Tensor: r"""x 180 / pi: radians as degrees."""
    def rad2deg_(self) -> Self: r"""`rad2deg`, in place; a leaf that requires grad can change only under no_grad()."""
    @staticmethod
    def rand(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Uniform on [0, 1)."""
    def rand_like(self, *values: Any, **options: Any) -> Tensor: r"""`rand` with the shape and dtype of this Tensor."""
    @staticmethod
    def randint(*shape: Any, low: builtins.int = ..., high: builtins.int = ..., dtype: Any = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Integers, uniform on low, ..., high - 1."""
    @staticmethod
    def randn(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Standard normal."""
    def randn_like(self, *values: Any, **options: Any) -> Tensor: r"""`randn` with the shape and dtype of this Tensor."""
    @staticmethod
    def randperm(n: builtins.int, generator: Any = ..., *, N: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""The numbers 0, ..., n - 1 in random order."""
    def ravel(self) -> Tensor: ...
    @property
    def real(self) -> Tensor: r"""The Tensor itself: its elements are real."""
    def rearrange(self, formula: builtins.str, **sizes: Any) -> Tensor: r"""einops' rearrange: split, reorder and merge axes, as in "b (h w) c -> b c h w" with h=8."""
    def reciprocal(self) -> Tensor: r"""1 / x."""
    def reciprocal_(self) -> Self: r"""`reciprocal`, in place; a leaf that requires grad can change only under no_grad()."""
    def register_post_accumulate_grad_hook(self, hook: Any, **without_effect: Unpack[_WithoutEffect]) -> Any: r"""Call `hook(x)` whenever backward has added to the `.grad` of this leaf; returns a handle that removes it."""
    def relu(self) -> Tensor: r"""max(x, 0) (7.20). The derivative at 0 is 0 by convention."""
    def relu6(self) -> Tensor: r"""min(max(x, 0), 6); the gradient at 0 and at 6 is 0."""
    def relu6_(self) -> Self: r"""`relu6`, in place; a leaf that requires grad can change only under no_grad()."""
    def relu_(self) -> Self: r"""`relu`, in place; a leaf that requires grad can change only under no_grad()."""
    def remainder(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a - b floor(a / b), with the sign of b."""
    def remainder_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`remainder`, in place; a leaf that requires grad can change only under no_grad()."""
    def repeat(self, *repeats: Any, repeat: Any = ..., reps: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Tile the whole Tensor, `repeats[i]` times along axis i; leading axes are added if missing."""
    def repeat_interleave(self, repeats: Any = ..., axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., repeat: Any = ..., reps: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Repeat each element, or each slice along `axis`, `repeats` times in a row; `repeats` may differ per element."""
    def reshape(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The same elements, in C order, in another shape; one size may be -1, and is then inferred."""
    def reshape_as(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def roll(self, shifts: Any = ..., axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., shift: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Shift elements along `axis`, wrapping around; of the flattened Tensor if axis is None."""
    def round(self, decimals: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The nearest whole number, halves to even; the gradient is 0."""
    def round_(self, decimals: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`round`, in place; a leaf that requires grad can change only under no_grad()."""
    def rshift(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""floor(a / 2^b), for integers."""
    def rsqrt(self) -> Tensor: r"""1 / sqrt(x)."""
    def rsqrt_(self) -> Self: r"""`rsqrt`, in place; a leaf that requires grad can change only under no_grad()."""
    def scaled_dot_product_attention(self, key: Any, value: Any, attn_mask: Any = ..., dropout_p: builtins.float = ..., is_causal: builtins.bool = ..., scale: Any = ..., enable_gqa: builtins.bool = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""softmax(scale q k^T + mask) v: for every query, the mean of the values, weighted by how well their keys match the query."""
    @staticmethod
    def scaled_uniform(*shape: Any, **options: Any) -> Tensor: r"""Uniform on [-b, b) with b = 1 / sqrt(number of elements)."""
    def scatter(self, axis: _Axis = ..., index: Any = ..., src: Any = ..., reduce: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""src written at index, added to the values there (reduce="add"), or multiplied by them ("multiply")."""
    def scatter_(self, axis: _Axis = ..., index: Any = ..., src: Any = ..., reduce: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`scatter`, in place; a leaf that requires grad can change only under no_grad()."""
    def scatter_add(self, axis: _Axis = ..., index: Any = ..., src: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with src added at index: out[i, index[i, j]] += src[i, j] for axis=1. The adjoint of gather."""
    def scatter_add_(self, axis: _Axis = ..., index: Any = ..., src: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`scatter_add`, in place; a leaf that requires grad can change only under no_grad()."""
    def scatter_reduce(self, axis: _Axis = ..., index: Any = ..., src: Any = ..., reduce: Any = ..., include_self: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with src reduced into it at index: for axis=1, out[i, index[i, j]] = reduce(x there, all src[i, j] for it)."""
    def scatter_reduce_(self, axis: _Axis = ..., index: Any = ..., src: Any = ..., reduce: Any = ..., include_self: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`scatter_reduce`, in place; a leaf that requires grad can change only under no_grad()."""
    def searchsorted(self, values: Any, right: builtins.bool = ..., side: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where to insert `values` into the sorted last axis of x so that it stays sorted: int64."""
    def select(self, axis: _Axis = ..., index: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def selu(self) -> Tensor: r"""1.0507 x if x > 0, else 1.7581 (e^x - 1): its layers keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    def selu_(self) -> Self: r"""`selu`, in place; a leaf that requires grad can change only under no_grad()."""
    def sequential(self, layers: Any, **without_effect: Unpack[_WithoutEffect]) -> Any: r"""x.sequential([f, g]) is g(f(x))."""
    def short(self) -> Tensor: ...
    def shrink(self, ranges: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Keep the elements from start to stop along each axis: `ranges` holds (start, stop) or None per axis."""
    def sigmoid(self) -> Tensor: r"""1 / (1 + e^-x) (7.24)."""
    def sigmoid_(self) -> Self: r"""`sigmoid`, in place; a leaf that requires grad can change only under no_grad()."""
    def sign(self) -> Tensor: r"""-1, 0 or 1; the gradient is 0."""
    def sign_(self) -> Self: r"""`sign`, in place; a leaf that requires grad can change only under no_grad()."""
    def signbit(self) -> Tensor: r"""Where x is below 0, or -0."""
    def silu(self) -> Tensor: r"""x sigma(x), also called Swish."""
    def silu_(self) -> Self: r"""`silu`, in place; a leaf that requires grad can change only under no_grad()."""
    def sin(self) -> Tensor: r"""sin x."""
    def sin_(self) -> Self: r"""`sin`, in place; a leaf that requires grad can change only under no_grad()."""
    def sinh(self) -> Tensor: r"""(e^x - e^-x) / 2."""
    def sinh_(self) -> Self: r"""`sinh`, in place; a leaf that requires grad can change only under no_grad()."""
    def softmax(self, axis: _Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""p_i = e^(x_i) / sum_j e^(x_j) along `axis`."""
    def softmax_(self, axis: _Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`softmax`, in place; a leaf that requires grad can change only under no_grad()."""
    def softmin(self, axis: _Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""softmax(-x)."""
    def softplus(self, beta: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log(1 + e^(beta x)) / beta (7.28): a smooth relu; its derivative is sigma(beta x)."""
    def softsign(self) -> Tensor: r"""x / (1 + |x|)."""
    def sort(self, axis: _Axis = ..., descending: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> _Found: r"""x sorted along `axis`, and the indices that sort it: (values, indices)."""
    def sparse_categorical_crossentropy(self, target: Any, ignore_index: Any = ..., label_smoothing: builtins.float = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The cross-entropy of labels and logits, with classes on the last axis."""
    def split(self, sizes: Any = ..., axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., size: Any = ..., split_size: Any = ..., split_size_or_sections: Any = ..., unflattened_size: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""A tuple of parts with these sizes along `axis`; an int means equal parts of that size, the last maybe smaller."""
    def spmm(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def sqrt(self) -> Tensor: r"""The square root."""
    def sqrt_(self) -> Self: r"""`sqrt`, in place; a leaf that requires grad can change only under no_grad()."""
    def square(self) -> Tensor: r"""x^2."""
    def square_(self) -> Self: r"""`square`, in place; a leaf that requires grad can change only under no_grad()."""
    def squeeze(self, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Remove all axes of size 1, or those among `axis`."""
    def stack(self, *others: Any, axis: _Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Stack Tensors of one shape along a new axis."""
    def std(self, *place: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The square root of `var`, with gradient 0 where all values are equal."""
    def std_mean(self, *place: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""The standard deviation and the mean over `axis`."""
    def stride(self, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Any: ...
    def sub(self, other: _Value, alpha: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def sub_(self, other: _Value, alpha: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`sub`, in place; a leaf that requires grad can change only under no_grad()."""
    def subtract(self, other: _Value, alpha: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def subtract_(self, other: _Value, alpha: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`subtract`, in place; a leaf that requires grad can change only under no_grad()."""
    def sum(self, axis: _Axis = ..., keepdim: builtins.bool = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The sum over `axis` (all axes if None). Booleans and small integers are summed as int64."""
    def svd(self, full_matrices: builtins.bool = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""U, S and V^T with U diag(S) V^T = x, S in descending order: (..., m, k), (..., k), (..., k, n), k = min(m, n)."""
    def swapaxes(self, axis0: Any = ..., axis1: Any = ..., *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Swap two axes."""
    def swish(self) -> Tensor: r"""x sigma(x), also called Swish."""
    def t(self) -> Tensor: r"""The transpose of a matrix; a vector is returned as it is."""
    def take(self, index: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The elements of the flattened x at an index, in the index's shape."""
    def tan(self) -> Tensor: r"""tan x."""
    def tan_(self) -> Self: r"""`tan`, in place; a leaf that requires grad can change only under no_grad()."""
    def tanh(self) -> Tensor: r"""(e^x - e^-x) / (e^x + e^-x) (7.25)."""
    def tanh_(self) -> Self: r"""`tanh`, in place; a leaf that requires grad can change only under no_grad()."""
    def tile(self, *repeats: Any, repeat: Any = ..., reps: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The whole Tensor repeated along each of its last axes."""
    def to(self, *wanted: Any, **others: Any) -> Tensor: r"""This Tensor with the given dtype, or a given Tensor's; a device may be given too."""
    def to_dense(self) -> Tensor: ...
    def to_sparse(self) -> Tensor: ...
    def topk(self, k: builtins.int = ..., axis: _Axis = ..., largest: builtins.bool = ..., sorted: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., key: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> _Found: r"""The k largest (or smallest) values along `axis`, always in order, and their indices: (values, indices)."""
    def trace(self) -> Tensor: r"""The sum of the diagonal of a matrix."""
    def transpose(self, axis0: Any = ..., axis1: Any = ..., *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Swap two axes."""
    def tril(self, diagonal: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The lower triangle of the last two axes, zeros above the diagonal."""
    def tril_(self, diagonal: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`tril`, in place; a leaf that requires grad can change only under no_grad()."""
    def triu(self, diagonal: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The upper triangle of the last two axes, zeros below the diagonal."""
    def triu_(self, diagonal: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`triu`, in place; a leaf that requires grad can change only under no_grad()."""
    def true_divide(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a / b."""
    def true_divide_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Self: r"""`true_divide`, in place; a leaf that requires grad can change only under no_grad()."""
    def trunc(self) -> Tensor: r"""x without its fraction; the gradient is 0."""
    def trunc_(self) -> Self: r"""`trunc`, in place; a leaf that requires grad can change only under no_grad()."""
    def type(self, dtype: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Any: r"""This Tensor cast to a dtype, or a name such as "torch.LongTensor"; without one, the name of its own dtype."""
    def type_as(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def unbind(self, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""A tuple of the slices along `axis`, without that axis."""
    def unflatten(self, axis: _Axis = ..., sizes: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., size: Any = ..., split_size: Any = ..., split_size_or_sections: Any = ..., unflattened_size: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Split one axis into several, whose sizes multiply to its size (one may be -1)."""
    def unfold(self, axis: _Axis = ..., size: Any = ..., step: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Windows of `size` elements that slide along `axis` by `step`; a new last axis holds each window's elements."""
    @staticmethod
    def uniform(*shape: Any, low: builtins.float = ..., high: builtins.float = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Uniform on [low, high)."""
    def uniform_(self, *, low: builtins.float = ..., high: builtins.float = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Self: ...
    def unsqueeze(self, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Insert an axis of size 1 at `axis` of the result."""
    def var(self, *place: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The variance over `axis`: the sum of squared distances to the mean, divided by n - correction."""
    def var_mean(self, *place: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""The variance and the mean over `axis`."""
    def vecdot(self, b: Any = ..., axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Sums of products along an axis."""
    def view(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The same elements, in C order, in another shape; one size may be -1, and is then inferred."""
    def view_as(self, other: _Value, **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def where(self, x: Any = ..., y: Any = ..., *, input: Any = ..., other: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x where this boolean Tensor is True, else y; or `a.where(condition, y)`: a where the condition is True, else y."""
    def zero_(self, *inputs: Any, **options: Any) -> Self: ...
    @staticmethod
    def zeros(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., size: Any = ..., sizes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: ...
    def zeros_like(self, *values: Any, **options: Any) -> Tensor: r"""`zeros` with the shape and dtype of this Tensor."""

_F = TypeVar("_F", bound=Callable[..., Any])
@overload
def capture(function: _F, *, fuse: builtins.bool = ..., strict: builtins.bool = ...) -> _F: ...
@overload
def capture(*, fuse: builtins.bool = ..., strict: builtins.bool = ...) -> Callable[[_F], _F]: ...
def abs(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""|x|, with gradient 0 at 0, and NaN for NaN (PyTorch: 0)."""
def acos(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The angle in [0, pi] whose cosine is x."""
def acosh(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The non-negative number whose cosh is x."""
def adaptive_avg_pool1d(x: Any, output_size: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""`adaptive_avg_pool2d` over the last axis only: (batch, channels, length) -> (batch, channels, output_size)."""
def adaptive_avg_pool2d(x: Any, output_size: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Means over windows that cover the image: (batch, channels, height, width) -> (batch, channels, *output_size)."""
def add(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a + b."""
def all(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Whether all values are true (not 0)."""
def all_sum(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The sum over ranks of x, which has one shape on all of them; without MPI a copy of x."""
def allclose(a: Any, b: Any = ..., rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Whether all elements are close, see `isclose`."""
def any(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Whether any value is true (not 0)."""
def argmax(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The index of the largest value, the first of ties; in the flattened Tensor if axis is None."""
def argmin(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The index of the smallest value, the first of ties; in the flattened Tensor if axis is None."""
def argsort(x: Any, axis: _Axis = ..., descending: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The indices that sort x along `axis`; equal values keep their order."""
def asin(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The angle in [-pi/2, pi/2] whose sine is x."""
def asinh(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The number whose sinh is x."""
def atan(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The angle in (-pi/2, pi/2) whose tangent is x."""
def atan2(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The angle in [-pi, pi] of the point (b, a); at (0, 0) both gradients are 0."""
def atanh(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The number whose tanh is x."""
def atleast_1d(*xs: Any, **without_effect: Unpack[_WithoutEffect]) -> Any: r"""x with at least one axis; for several arguments, a tuple."""
def atleast_2d(*xs: Any, **without_effect: Unpack[_WithoutEffect]) -> Any: r"""x with at least two axes, new ones in front; for several arguments, a tuple."""
def atleast_3d(*xs: Any, **without_effect: Unpack[_WithoutEffect]) -> Any: r"""x with at least three axes: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1); for several, a tuple."""
def attention_weights(q: Any, k: Any = ..., attn_mask: Any = ..., is_causal: builtins.bool = ..., scale: Any = ..., *, query: Any = ..., key: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""softmax(scale q k^T + mask) (..., L, S), or 0 for a query that may see no key: the weights of v."""
def avg_pool1d(x: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""`avg_pool2d` over the last axis only: (batch, channels, length) -> (batch, channels, windows)."""
def avg_pool2d(x: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., divisor_override: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The mean of every window: (batch, channels, height, width) -> (batch, channels, rows, columns)."""
def avg_pool3d(x: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., divisor_override: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""`avg_pool2d` over volumes: (batch, channels, depth, height, width) -> (batch, channels, *windows)."""
def batch_norm(x: Any, weight: Any = ..., bias: Any = ..., running_mean: Any = ..., running_var: Any = ..., eps: _Number | None = ..., stats: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""y = weight * (x - mean) / sqrt(var + eps) + bias, each channel with its mean and variance over the batch (002)."""
def batch_norm_relu(x: Any, weight: Any = ..., bias: Any = ..., running_mean: Any = ..., running_var: Any = ..., skip: Any = ..., eps: _Number | None = ..., stats: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""max(batch_norm(x) + skip, 0), the end of a residual block: three ops that allocate a single array."""
def batched_matmul(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Products of the matrices in the last two axes; the axes before them broadcast. a (..., m, k), b (..., k, n)."""
def batchnorm(x: Any, weight: Any, bias: Any, mean: Any, invstd: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""(x - mean) invstd weight + bias, for known statistics, each a vector along `axis`."""
def binary_cross_entropy(input: Any, target: Any, weight: Any = ..., *, reduction: builtins.str = ..., reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""-(t log p + (1 - t) log(1 - p)) of probabilities p; logarithms are at least -100, as in PyTorch."""
def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = ..., pos_weight: Any = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""-(w t log p + (1 - t) log(1 - p)) of logits x, with p = sigma(x), targets t in [0, 1] and w = pos_weight."""
def binary_step(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""1 if x >= 0, else 0; the gradient is 0."""
def bitcast(x: Any, dtype: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The bits of x read as another dtype; if the item size differs, the last axis shrinks or grows."""
def broadcast_tensors(*xs: Any, **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""All arguments expanded to their common shape, as a tuple. Raises ValueError if they do not broadcast."""
def cast(x: Any, dtype: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with another dtype; between floats the gradient passes, cast back by the engine."""
def cat(*xs: Any, axis: _Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Concatenate Tensors along `axis`; all other axes must agree."""
def cdist(x1: Any, x2: Any, p: builtins.float = ..., compute_mode: Any = ..., *, ord: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The distances |x1_i - x2_j|_p between all pairs of rows: (..., n, size), (..., m, size) -> (..., n, m)."""
def ceil(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The smallest whole number not below x; the gradient is 0."""
def celu(x: Any, alpha: builtins.float = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x if x > 0, else alpha (e^(x / alpha) - 1): an ELU whose slope at 0 is 1 for every alpha (Barron 2017)."""
def chunk(x: Any, chunks: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""A tuple of `chunks` equal parts along `axis` (if it does not divide, the last is smaller, or there are fewer)."""
def clamp(x: Any, low: Any = ..., high: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x limited to [low, high], numbers or arrays that broadcast; high where low > high, NaN where any of the three is."""
def clamp_max(x: Any, max: Any = ..., *, a_max: Any = ..., max_: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x, or max where that is smaller."""
def clamp_min(x: Any, min: Any = ..., *, a_min: Any = ..., min_: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x, or min where that is larger."""
def clip(x: Any, min: Any = ..., max: Any = ..., *, a_min: Any = ..., a_max: Any = ..., min_: Any = ..., max_: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x limited to [min, max]; the gradient is 1 inside and at the limits, 0 outside and for NaN."""
def clone(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""A copy of x, on the graph."""
def contiguous(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x in C order in memory; a copy only if it is not."""
def conv1d(x: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""out[n, i] = bias_i + sum_j weight[i, j] * x[n, j], with * the cross-correlation of vectors (7.48, 7.50)."""
def conv2d(x: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""out[n, i] = bias_i + sum_j weight[i, j] * x[n, j], with * the cross-correlation of images (7.51)."""
def conv3d(x: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""out[n, i] = bias_i + sum_j weight[i, j] * x[n, j], with * the cross-correlation of volumes."""
def conv_transpose1d(x: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""conv_transpose2d of vectors: x (batch, in, length), weight (in, out / groups, k) -> (batch, out, length')."""
def conv_transpose2d(x: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The adjoint of conv2d, plus a bias. It maps back to conv2d's input size, so images grow."""
def conv_transpose3d(x: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The adjoint of conv3d, plus a bias: volumes grow. weight (in, out / groups, kd, kh, kw); as conv_transpose2d."""
def copysign(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""|a| with the sign of b; the gradient of b is 0."""
def cos(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""cos x."""
def cosh(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""(e^x + e^-x) / 2."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: builtins.int = ..., eps: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along axis dim of their common shape."""
def cross(a: Any, b: Any = ..., axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The cross product along an axis of 3 elements, by default the first such axis: out_i = a_j b_k - a_k b_j."""
def cross_entropy(input: Any, target: Any, weight: Any = ..., ignore_index: Any = ..., reduction: builtins.str = ..., label_smoothing: builtins.float = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The cross-entropy between logits and labels: L = -sum_c q_c log softmax(input)_c, with dL/dinput = p - q (003)."""
def cummax(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> _Found: r"""The largest value so far along `axis` and its index, the last of ties: (values, indices)."""
def cummin(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> _Found: r"""The smallest value so far along `axis` and its index, the last of ties: (values, indices)."""
def cumprod(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Running products along `axis`: out[i] = x[0] ... x[i]; the gradient is exact where factors are 0."""
def cumsum(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Running sums along `axis`: out[i] = x[0] + ... + x[i]."""
def deg2rad(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x pi / 180: degrees as radians."""
def diag(x: Any, offset: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""A square matrix with the vector x on a diagonal, and zeros elsewhere; or the diagonal of a matrix."""
def diagonal(x: Any, offset: Any = ..., axis1: Any = ..., axis2: Any = ..., *, dim1: Any = ..., dim2: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The elements x[i, i + offset] of the matrices in two axes, as a last axis. A view: no memory is copied."""
def div(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a / b."""
def divide(a: Any, b: Any = ..., rounding_mode: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a / b. rounding_mode="trunc" rounds towards 0, "floor" down; both without a gradient."""
def dropout(x: Any, p: builtins.float = ..., training: builtins.bool = ..., *, ord: Any = ..., input: Any = ..., train: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Inverted dropout: y = m x / (1 - p), where each m is 0 with probability p, else 1; x itself if not training."""
def dropout1d(x: Any, p: builtins.float = ..., training: builtins.bool = ..., *, ord: Any = ..., input: Any = ..., train: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Dropout of whole channels of signals, (batch, channels, length) or (channels, length)."""
def dropout2d(x: Any, p: builtins.float = ..., training: builtins.bool = ..., *, ord: Any = ..., input: Any = ..., train: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Dropout of whole channels of images: spatial dropout (002)."""
def einsum(formula: builtins.str, *operands: Any, **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Sums of products over named axes: `einsum("bij,bjk->bik", a, b)`. Without "->" it keeps the axes named once, sorted."""
def elu(x: Any, alpha: builtins.float = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x if x > 0, else alpha (e^x - 1)."""
def embedding(index: Any, weight: Any, padding_idx: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Rows of a table looked up by index: integers index (...), weight (rows, size) -> (..., size)."""
def eq(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a == b."""
def erf(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x."""
def erfinv(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The y with erf y = x: infinite at -1 and 1, NaN beyond."""
def exp(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""e^x."""
def exp2(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""2^x."""
def expand(x: Any, shape: Any = ..., *, size: Any = ..., sizes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Broadcast to `shape`; -1 keeps a size. A view, writable if it shows no element twice."""
def expm1(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""e^x - 1, accurate for small x."""
def flatten(x: Any, start_axis: Any = ..., end_axis: Any = ..., *, start_dim: Any = ..., end_dim: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Merge the axes from start_axis to end_axis into one."""
def flip(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Reverse the order of elements along `axis` (all axes if None). A copy, as in PyTorch."""
def floor(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The largest whole number not above x; the gradient is 0."""
def floordiv(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""floor(a / b), without a gradient. Raises ZeroDivisionError for integers by 0."""
def fmod(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a - b trunc(a / b), with the sign of a. Raises ZeroDivisionError for integers by 0."""
def fold(x: Any, output_size: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The adjoint of unfold: every column is added to the image where its patch was (col2im)."""
def frac(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x - trunc(x): the fractional part, with the sign of x."""
def gather(x: Any, index: Any = ..., *, axis: _Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""out[i, j] = x[i, index[i, j]] for axis=1, and likewise for any axis."""
def gaussian_dropout(x: Any, p: builtins.float = ..., training: builtins.bool = ..., *, ord: Any = ..., input: Any = ..., train: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""y = x n with normal noise n of mean 1 and variance p / (1 - p), the moments of dropout's mask for that p."""
def gaussian_nll_loss(input: Any, target: Any, var: Any, full: builtins.bool = ..., eps: _Number | None = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""(log v + (input - target)^2 / v) / 2 with v = max(var, eps): the negative log-likelihood of a normal distribution."""
def ge(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a >= b."""
def gelu(x: Any, approximate: builtins.str = ..., *, approximation: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (7.27); with approximate="tanh" the form 003 and GPT-2 use."""
def getitem(x: Any, index: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x[index] as in PyTorch: integers, slices with step, None, Ellipsis, integer and boolean arrays, in any mix."""
def glu(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""GLU: value * sigma(gate), the two halves of x along `axis`."""
def group_norm(input: Tensor, num_groups: builtins.int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Normalise each group of neighbouring channels (axis 1) of each example."""
def gru(x: Any, h: Any, weight: Any, bias: Any = ..., reverse: builtins.bool = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""r, z = sigmoid(x_t + h U^T + d), n = tanh(x_t + r (h U^T + d)), each with its rows; h <- (1 - z) n + z h."""
def gt(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a > b."""
def hardshrink(input: Tensor, lambd: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x if |x| > lambd, else 0."""
def hardsigmoid(x: Any, alpha: builtins.float = ..., beta: builtins.float = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""alpha x + beta limited to [0, 1]: sigmoid as three straight pieces; the gradient is 0 where they meet."""
def hardswish(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x hardsigmoid(x) (Howard et al. 2019)."""
def hardtanh(x: Any, min_val: builtins.float = ..., max_val: builtins.float = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x limited to [min_val, max_val]. Unlike clip, its gradient at the limits is 0, as relu's is at 0."""
def huber_loss(input: Any, target: Any, reduction: builtins.str = ..., delta: builtins.float = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""`huber` of d = input - target: d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2)."""
def hypot(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""sqrt(a^2 + b^2), without overflow; at (0, 0) both gradients are 0."""
def identity(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x itself (a view on the same memory), as a new node of the graph."""
def in_dtype(op: Any, x: Any = ..., dtype: Any = ..., **options: Any) -> Any: r"""op of x cast to dtype, as that dtype; None leaves x as it is."""
def inner(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Sums of products over the last axis of both: (..., n), (*, n) -> (..., *)."""
def instance_norm(x: Any, weight: Any = ..., bias: Any = ..., eps: _Number | None = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Normalise each channel of each example (002): group norm with one channel per group."""
def interpolate(x: Any, size: Any = ..., scale_factor: Any = ..., mode: builtins.str = ..., align_corners: builtins.bool = ..., recompute_scale_factor: builtins.bool = ..., antialias: builtins.bool = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x enlarged or reduced: (batch, channels, *spatial) -> (batch, channels, *size), for one to three spatial axes."""
def isclose(a: Any, b: Any = ..., rtol: builtins.float = ..., atol: builtins.float = ..., equal_nan: builtins.bool = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where |a - b| <= atol + rtol |b|, or a and b are the same infinity; with equal_nan, also where both are NaN."""
def isfinite(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where x is neither infinite nor NaN."""
def isinf(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where x is infinite."""
def isnan(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where x is NaN."""
def isneginf(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where x is -infinity."""
def isposinf(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where x is +infinity."""
def kl_div(input: Any, target: Any, *, reduction: builtins.str = ..., log_target: builtins.bool = ..., reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""t (log t - input), with input = log-probabilities and t = target (or e^target if log_target); 0 where t = 0, and NaN where t < 0."""
def kron(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The Kronecker product: blocks a[i, j] b."""
def l1_loss(input: Any, target: Any, *, reduction: builtins.str = ..., reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The absolute error |input - target|, with gradient 0 where they are equal."""
def layer_norm(input: Tensor, normalized_shape: Sequence[builtins.int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: builtins.float = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""weight * (x - mean) / sqrt(var + eps) + bias over the trailing axes, of shape normalized_shape."""
def layernorm(x: Any, axis: _Axis = ..., eps: _Number | None = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""(x - mean) / sqrt(variance + eps) over any `axis`: layer_norm without weights."""
def le(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a <= b."""
def leaky_relu(x: Any, negative_slope: builtins.float = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x if x > 0, else negative_slope * x (7.26)."""
def lerp(a: Any, b: Any = ..., weight: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a + (b - a) weight: a at weight 0, b at weight 1, linear in between."""
def linear(x: Any, weight: Any, bias: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""y = x W^T + b over any leading axes (7.17-7.19). x (..., in), weight (out, in), bias (out) -> (..., out)."""
def log(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The natural logarithm."""
def log10(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The logarithm to base 10."""
def log1p(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log(1 + x), accurate for small x."""
def log2(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The logarithm to base 2."""
def log_softmax(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log p_i = x_i - log sum_j e^(x_j) along `axis`, accurate even where softmax rounds to 0."""
def logaddexp(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log(e^a + e^b), without overflow."""
def logcumsumexp(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log of the running sums of e^x along `axis`, without overflow."""
def logical_and(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a and b of booleans; bit by bit for integers."""
def logical_not(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""not x of booleans; bit by bit for integers."""
def logical_or(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a or b of booleans; bit by bit for integers."""
def logical_xor(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Either a or b, but not both, of booleans; bit by bit for integers."""
def logsigmoid(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log sigma(x) = -softplus(-x), without softplus's threshold."""
def logsumexp(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log sum_j e^(x_j) over `axis`, as m + log sum_j e^(x_j - m) with m = max_j x_j."""
def lshift(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a 2^b, for integers."""
def lstm(x: Any, h: Any, c: Any, weight: Any, reverse: builtins.bool = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""i, f, o = sigmoid(x_t + h U^T), g = tanh(x_t + h U^T), each with its rows; c <- f c + i g; h <- o tanh(c)."""
def lt(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a < b."""
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: builtins.float = ..., *, reduction: builtins.str = ..., reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""max(0, -t (x1 - x2) + margin): t = 1 where x1 should be larger, -1 where x2 is."""
def masked_select(x: Any, mask: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The elements of x where the mask is True, as a vector; x and mask broadcast. Raises TypeError unless it is boolean."""
def matmul(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
def matrix_vector(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Products of the matrices in the last two axes with one vector: a (..., m, k), b (k) -> (..., m)."""
def max(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The largest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ..., *, pad: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Any: r"""`max_pool2d` over the last axis only: (batch, channels, length) -> (batch, channels, windows)."""
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ..., *, pad: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Any: r"""The largest element of every window: (batch, channels, height, width) -> (batch, channels, rows, columns)."""
def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ..., *, pad: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Any: r"""`max_pool2d` over volumes: (batch, channels, depth, height, width) -> (batch, channels, *windows)."""
def max_pool_with_indices(x: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: builtins.bool = ..., rank: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""Max pooling over the last `rank` axes, 1 or 2: (maxima, indices), both (batch, channels, *windows)."""
def max_unpool(x: Any, indices: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., output_size: Any = ..., rank: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Zeros, with x at the indices of `max_pool_with_indices`: (batch, channels, *windows) -> (..., *output_size)."""
def maximum(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The larger of a and b; where they are equal, each gets half of the cotangent."""
def mean(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The mean over `axis` (all axes if None), in the default dtype for integers."""
def median(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Any: r"""The median, the lower of two middle values, NaN if any is NaN; along an axis, with indices: (values, indices)."""
def meshgrid(*xs: Any, indexing: builtins.str = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""The coordinates of a grid spanned by vectors (or numbers, or a list of them): a tuple of Tensors of the grid's shape."""
def min(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The smallest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
def minimum(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The smaller of a and b; where they are equal, each gets half of the cotangent."""
def mish(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x tanh(softplus(x)) (Misra 2019)."""
def mod(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a - b floor(a / b), with the sign of b. Raises ZeroDivisionError for integers by 0."""
def movedim(x: Any, source: Any, destination: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with the axis or axes `source` moved to `destination`; the other axes keep their order."""
def mse_loss(input: Any, target: Any, reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The squared error (input - target)^2, for input and target of one shape; reduction "mean", "sum" or "none"."""
def mul(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a b, element by element."""
def multinomial(weights: Any, num_samples: Any = ..., replacement: builtins.bool = ..., generator: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Indices drawn with probabilities proportional to weights (n) or (rows, n) -> (num_samples) or (rows, ...)."""
def nan_to_num(x: Any, nan: builtins.float = ..., posinf: Any = ..., neginf: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with NaN and the infinities replaced, by default with 0 and the largest and smallest numbers of its dtype."""
def ne(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a != b."""
def neg(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""-x."""
def nll_loss(input: Any, target: Any, weight: Any = ..., ignore_index: Any = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""-input[i, target[i]]: the negative log-likelihood of labels, given log-probabilities such as log_softmax's."""
def nonzero(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The indices of all nonzero elements, one per row: (number, x.ndim)."""
def norm(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The Euclidean norm sqrt(sum x^2) over `axis`, with gradient 0 at 0."""
def normalize(x: Any, p: builtins.float = ..., axis: _Axis = ..., eps: _Number | None = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., ord: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x / max(||x||_p, eps) along `axis`."""
def one_hot(index: Any, num_classes: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""A new last axis of size num_classes, 1 at the index and 0 elsewhere (int64); -1 takes the largest index + 1."""
def outer(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""out[i, j] = a[i] b[j] of two vectors."""
def pad(x: Any, *, padding: Any = ..., mode: builtins.str = ..., value: builtins.float = ..., pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Add elements around x."""
def permute(x: Any, axes: Any = ..., *, dim: Any = ..., dims: Any = ..., axis: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The axes in another order: out.shape[i] = x.shape[axes[i]]."""
def pow(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a^b. The gradient with respect to b is NaN where a < 0, which has no logarithm, and 0 where a = 0 and b >= 0."""
def prelu(x: Tensor, weight: Tensor, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x if x > 0, else weight x; weight has one element, or one per channel (axis 1)."""
def prod(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The product over `axis` (all axes if None); its gradient is exact where factors are 0."""
def quick_gelu(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x sigma(1.702 x), close to gelu."""
def rad2deg(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x 180 / pi: radians as degrees."""
def rearrange(x: Any, formula: builtins.str, **sizes: Any) -> Tensor: r"""einops' rearrange: split, reorder and merge axes, as in "b (h w) c -> b c h w" with h=8."""
def reciprocal(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""1 / x."""
def recurrence(x: Any, decay: Any, axis: _Axis = ..., reverse: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""s[i] = x[i] + decay[i] s[i - 1] along `axis`, with s[-1] = 0; reverse runs backwards, with s[i + 1]."""
def relu(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""max(x, 0) (7.20). The derivative at 0 is 0 by convention."""
def relu6(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""min(max(x, 0), 6); the gradient at 0 and at 6 is 0."""
def remainder(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a - b floor(a / b), with the sign of b."""
def repeat(x: Any, repeats: Any = ..., *, repeat: Any = ..., reps: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Tile the whole Tensor, `repeats[i]` times along axis i; leading axes are added if missing."""
def repeat_interleave(x: Any, repeats: Any = ..., axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., repeat: Any = ..., reps: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Repeat each element, or each slice along `axis`, `repeats` times in a row; `repeats` may differ per element."""
def reshape(x: Any, shape: Any = ..., *, size: Any = ..., sizes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The same elements, in C order, in another shape; one size may be -1, and is then inferred."""
def rms_norm(input: Tensor, normalized_shape: Sequence[builtins.int], weight: Tensor | None = ..., eps: builtins.float | None = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""weight * x / sqrt(mean(x^2) + eps) over the trailing axes, of shape normalized_shape."""
def roll(x: Any, shifts: Any = ..., axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., shift: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Shift elements along `axis`, wrapping around; of the flattened Tensor if axis is None."""
def rotate_halves(x: Any, cos: Any, sin: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The pairs (x[..., i], x[..., i + n]), n half the last axis, rotated by angles with cos and sin (..., n)."""
def round(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The nearest whole number, halves to even; the gradient is 0."""
def rshift(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""floor(a / 2^b), for integers."""
def rsqrt(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""1 / sqrt(x)."""
def scaled_dot_product_attention(q: Any, k: Any = ..., v: Any = ..., attn_mask: Any = ..., dropout_p: builtins.float = ..., is_causal: builtins.bool = ..., scale: Any = ..., enable_gqa: builtins.bool = ..., *, query: Any = ..., key: Any = ..., value: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""softmax(scale q k^T + mask) v: for every query, the mean of the values, weighted by how well their keys match the query."""
def scatter(x: Any, index: Any = ..., src: Any = ..., *, axis: _Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with src written at index: out[i, index[i, j]] = src[i, j] for axis=1."""
def scatter_add(x: Any, index: Any = ..., src: Any = ..., *, axis: _Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with src added at index: out[i, index[i, j]] += src[i, j] for axis=1. The adjoint of gather."""
def scatter_reduce(x: Any, index: Any = ..., src: Any = ..., *, axis: _Axis = ..., reduce: Any = ..., include_self: builtins.bool = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x with src reduced into it at index: for axis=1, out[i, index[i, j]] = reduce(x there, all src[i, j] for it)."""
def searchsorted(x: Any, values: Any, right: builtins.bool = ..., side: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where to insert `values` into the sorted last axis of x so that it stays sorted: int64."""
def self_attention(qkv: Any, attn_mask: Any = ..., *, num_heads: Any, dropout_p: builtins.float = ..., is_causal: builtins.bool = ..., scale: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Self-attention, from one projection that holds queries, keys and values side by side."""
def selu(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""1.0507 x if x > 0, else 1.7581 (e^x - 1): its layers keep mean 0 and variance 1 (Klambauer et al. 2017)."""
def shrink(x: Any, ranges: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Keep the elements from start to stop along each axis: `ranges` holds (start, stop) or None per axis."""
def sigmoid(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""1 / (1 + e^-x) (7.24)."""
def sign(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""-1, 0 or 1; the gradient is 0."""
def signbit(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Where x is below 0, or -0."""
def silu(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x sigma(x), also called Swish."""
def sin(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""sin x."""
def sinh(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""(e^x - e^-x) / 2."""
def sliding_windows(x: Any, axis: _Axis = ..., size: Any = ..., step: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Windows of `size` elements that slide along `axis` by `step`; a new last axis holds each window's elements."""
def smooth_l1_loss(input: Any, target: Any, *, reduction: builtins.str = ..., beta: builtins.float = ..., reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""d^2 / (2 beta) for |d| < beta, else |d| - beta / 2: the Huber loss divided by beta; the L1 loss for beta = 0."""
def softmax(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""p_i = e^(x_i) / sum_j e^(x_j) along `axis`."""
def softmin(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""softmax(-x)."""
def softplus(x: Any, beta: builtins.float = ..., threshold: builtins.float = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""log(1 + e^(beta x)) / beta (7.28): a smooth relu; its derivative is sigma(beta x)."""
def softsign(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x / (1 + |x|)."""
def sort(x: Any, axis: _Axis = ..., descending: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> _Found: r"""x sorted along `axis`, and the indices that sort it: (values, indices)."""
def split(x: Any, sizes: Any = ..., axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., size: Any = ..., split_size: Any = ..., split_size_or_sections: Any = ..., unflattened_size: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""A tuple of parts with these sizes along `axis`; an int means equal parts of that size, the last maybe smaller."""
def sqrt(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The square root."""
def square(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x^2."""
def squeeze(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Remove all axes of size 1, or those among `axis`."""
def stack(*xs: Any, axis: _Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Stack Tensors of one shape along a new axis."""
def std(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The square root of `var`, with gradient 0 where all values are equal."""
def std_mean(x: Any, *place: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""The standard deviation and the mean over `axis`."""
def sub(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a - b."""
def sum(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The sum over `axis` (all axes if None). Booleans and small integers are summed as int64."""
def sum_to(x: Any, shape: tuple[builtins.int, ...] = ..., *, size: Any = ..., sizes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Sum x down to `shape`, undoing broadcasting: added axes and axes of size 1 are summed over."""
def swiglu(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""SwiGLU: value * silu(gate), the two halves of x along `axis`."""
def sync_batch_norm(x: Any, weight: Any = ..., bias: Any = ..., eps: _Number | None = ..., shift: Any = ..., stats: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""`batch_norm` with the mean and variance of each channel over all ranks' parts x of a batch."""
def take_flat(x: Any, index: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The elements of the flattened x at an index, in the index's shape."""
def tan(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""tan x."""
def tanh(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""(e^x - e^-x) / (e^x + e^-x) (7.25)."""
def tensordot(a: Any, b: Any = ..., axes: Any = ..., *, dim: Any = ..., dims: Any = ..., axis: Any = ..., input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Sums of products over several axes: the last `axes` of a and the first of b, or the axes in two lists."""
def topk(x: Any, k: builtins.int = ..., axis: _Axis = ..., largest: builtins.bool = ..., sorted: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., key: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> _Found: r"""The k largest (or smallest) values along `axis`, always in order, and their indices: (values, indices)."""
def trace(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The sum of the diagonal of a matrix."""
def transpose(x: Any, axis0: Any = ..., axis1: Any = ..., *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Swap two axes."""
def tril(x: Any, diagonal: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The lower triangle of the last two axes, zeros above the diagonal."""
def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: builtins.float = ..., p: builtins.float = ..., eps: _Number | None = ..., swap: builtins.bool = ..., *, reduction: builtins.str = ..., ord: Any = ..., reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""max(0, d(a, p) - d(a, n) + margin), with d(x, y) = |x - y + eps|_p over the last axis (Balntas et al. 2016)."""
def triu(x: Any, diagonal: Any = ..., *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The upper triangle of the last two axes, zeros below the diagonal."""
def trunc(x: Any, *, input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""x without its fraction; the gradient is 0."""
def truncdiv(a: Any, b: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""a / b rounded towards 0, without a gradient; exact for integers, which stay integers."""
def unbind(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""A tuple of the slices along `axis`, without that axis."""
def unflatten(x: Any, axis: _Axis = ..., sizes: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., size: Any = ..., split_size: Any = ..., split_size_or_sections: Any = ..., unflattened_size: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Split one axis into several, whose sizes multiply to its size (one may be -1)."""
def unfold(x: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ..., *, pad: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Every patch as a column (im2col): x (batch, channels, height, width) -> (batch, channels * kh * kw, patches)."""
def unsqueeze(x: Any, axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Insert an axis of size 1 at `axis` of the result."""
def var(x: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""The variance over `axis`: the sum of squared distances to the mean, divided by n - correction."""
def var_mean(x: Any, *place: Any, axis: _Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., input: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> tuple[Tensor, ...]: r"""The variance and the mean over `axis`."""
def vecdot(a: Any, b: Any = ..., axis: _Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[_WithoutEffect]) -> Tensor: r"""Sums of products along an axis."""
tensor = _names.new
as_tensor = _names.as_tensor
randint = _names.randint
normal = _names.normal
bernoulli = _names.bernoulli
where = _names.where
concat = cat
concatenate = cat
BoolTensor: Any
ByteTensor: Any
CharTensor: Any
DoubleTensor: Any
FloatTensor: Any
Generator: Any
HalfTensor: Any
IntTensor: Any
LongTensor: Any
OutOfMemoryError: Any
ShortTensor: Any
Size: Any
abs_ = Tensor.abs_
absolute = Tensor.absolute
absolute_ = Tensor.absolute_
accelerator: Any
acos_ = Tensor.acos_
acosh_ = Tensor.acosh_
add_ = Tensor.add_
addcdiv = Tensor.addcdiv
addcdiv_ = Tensor.addcdiv_
addcmul = Tensor.addcmul
addcmul_ = Tensor.addcmul_
addmm = Tensor.addmm
addmm_ = Tensor.addmm_
amax = Tensor.amax
amin = Tensor.amin
amp: Any
arange = Tensor.arange
arccos = Tensor.arccos
arccos_ = Tensor.arccos_
arccosh = Tensor.arccosh
arccosh_ = Tensor.arccosh_
arcsin = Tensor.arcsin
arcsin_ = Tensor.arcsin_
arcsinh = Tensor.arcsinh
arcsinh_ = Tensor.arcsinh_
arctan = Tensor.arctan
arctan2 = Tensor.arctan2
arctan2_ = Tensor.arctan2_
arctan_ = Tensor.arctan_
arctanh = Tensor.arctanh
arctanh_ = Tensor.arctanh_
argwhere = Tensor.argwhere
as_strided = Tensor.as_strided
asarray: Any
asin_ = Tensor.asin_
asinh_ = Tensor.asinh_
atan2_ = Tensor.atan2_
atan_ = Tensor.atan_
atanh_ = Tensor.atanh_
autocast: Any
backends: Any
bernoulli_ = Tensor.bernoulli_
bfloat16: np.dtype
binary_crossentropy = Tensor.binary_crossentropy
binary_crossentropy_logits = Tensor.binary_crossentropy_logits
bitwise_and = Tensor.bitwise_and
bitwise_and_ = Tensor.bitwise_and_
bitwise_not = Tensor.bitwise_not
bitwise_not_ = Tensor.bitwise_not_
bitwise_or = Tensor.bitwise_or
bitwise_or_ = Tensor.bitwise_or_
bitwise_xor = Tensor.bitwise_xor
bitwise_xor_ = Tensor.bitwise_xor_
bmm = Tensor.bmm
bool: np.dtype
broadcast_shapes: Any
broadcast_to = Tensor.broadcast_to
byte = Tensor.byte
can_cast: Any
ceil_ = Tensor.ceil_
celu_ = Tensor.celu_
channels_last: builtins.str
channels_last_3d: builtins.str
char = Tensor.char
cholesky = Tensor.cholesky
cholesky_solve = Tensor.cholesky_solve
clamp_ = Tensor.clamp_
clamp_max_ = Tensor.clamp_max_
clamp_min_ = Tensor.clamp_min_
clip_ = Tensor.clip_
coalesce = Tensor.coalesce
compile: Any
conj = Tensor.conj
contiguous_format: builtins.str
copy_ = Tensor.copy_
copysign_ = Tensor.copysign_
cos_ = Tensor.cos_
cosh_ = Tensor.cosh_
cpu = Tensor.cpu
cuda: Any
cumprod_ = Tensor.cumprod_
cumsum_ = Tensor.cumsum_
default_generator: Any
deg2rad_ = Tensor.deg2rad_
detach_ = Tensor.detach_
device: Any
dim = Tensor.dim
div_ = Tensor.div_
divide_ = Tensor.divide_
dot = Tensor.dot
double: np.dtype
dtype: np.dtype
e: Any
element_size = Tensor.element_size
elu_ = Tensor.elu_
empty = Tensor.empty
empty_like = Tensor.empty_like
equal = Tensor.equal
erf_ = Tensor.erf_
erfinv_ = Tensor.erfinv_
exp2_ = Tensor.exp2_
exp_ = Tensor.exp_
expand_as = Tensor.expand_as
expm1_ = Tensor.expm1_
exponential_ = Tensor.exponential_
eye = Tensor.eye
fill_ = Tensor.fill_
finfo: Any
float: np.dtype
float16: np.dtype
floor_ = Tensor.floor_
floor_divide = Tensor.floor_divide
floor_divide_ = Tensor.floor_divide_
fmod_ = Tensor.fmod_
frac_ = Tensor.frac_
from_dlpack = Tensor.from_dlpack
from_numpy = Tensor.from_numpy
full = Tensor.full
full_like = Tensor.full_like
get_default_device: Any
get_default_dtype: Any
glorot_uniform = Tensor.glorot_uniform
greater = Tensor.greater
greater_equal = Tensor.greater_equal
half: np.dtype
hardsigmoid_ = Tensor.hardsigmoid_
hardswish_ = Tensor.hardswish_
hardtanh_ = Tensor.hardtanh_
hypot_ = Tensor.hypot_
iinfo: Any
index_add = Tensor.index_add
index_add_ = Tensor.index_add_
index_select = Tensor.index_select
inf: Any
inference_mode: Any
initial_seed: Any
int: np.dtype
int16: np.dtype
int32: np.dtype
int8: np.dtype
inverse = Tensor.inverse
is_complex: Any
is_contiguous = Tensor.is_contiguous
is_floating_point: Any
is_tensor: Any
kaiming_normal = Tensor.kaiming_normal
kaiming_uniform = Tensor.kaiming_uniform
leaky_relu_ = Tensor.leaky_relu_
lerp_ = Tensor.lerp_
less = Tensor.less
less_equal = Tensor.less_equal
linspace = Tensor.linspace
log10_ = Tensor.log10_
log1p_ = Tensor.log1p_
log2_ = Tensor.log2_
log_ = Tensor.log_
logical_and_ = Tensor.logical_and_
logical_not_ = Tensor.logical_not_
logical_or_ = Tensor.logical_or_
logical_xor_ = Tensor.logical_xor_
long: np.dtype
lstsq = Tensor.lstsq
lu: Any
lu_unpack: Any
masked_fill = Tensor.masked_fill
masked_fill_ = Tensor.masked_fill_
max_unpool2d = Tensor.max_unpool2d
mm = Tensor.mm
mod_ = Tensor.mod_
moveaxis = Tensor.moveaxis
mps: Any
mul_ = Tensor.mul_
multiply = Tensor.multiply
multiply_ = Tensor.multiply_
mv = Tensor.mv
nan: Any
nan_to_num_ = Tensor.nan_to_num_
narrow = Tensor.narrow
ndimension = Tensor.ndimension
neg_ = Tensor.neg_
negative = Tensor.negative
negative_ = Tensor.negative_
nelement = Tensor.nelement
new = Tensor.new
newaxis: Any
nextafter: Any
normal_ = Tensor.normal_
not_equal = Tensor.not_equal
numel: Any
ones = Tensor.ones
ones_like = Tensor.ones_like
pi: Any
pin_memory = Tensor.pin_memory
positive = Tensor.positive
pow_ = Tensor.pow_
preserve_format: builtins.str
promote_types: Any
qr = Tensor.qr
rad2deg_ = Tensor.rad2deg_
rand = Tensor.rand
rand_like = Tensor.rand_like
randn = Tensor.randn
randn_like = Tensor.randn_like
randperm = Tensor.randperm
ravel = Tensor.ravel
real: Any
reciprocal_ = Tensor.reciprocal_
register_post_accumulate_grad_hook = Tensor.register_post_accumulate_grad_hook
relu6_ = Tensor.relu6_
relu_ = Tensor.relu_
remainder_ = Tensor.remainder_
reshape_as = Tensor.reshape_as
round_ = Tensor.round_
rsqrt_ = Tensor.rsqrt_
scaled_uniform = Tensor.scaled_uniform
scatter_ = Tensor.scatter_
scatter_add_ = Tensor.scatter_add_
scatter_reduce_ = Tensor.scatter_reduce_
select = Tensor.select
selu_ = Tensor.selu_
sequential = Tensor.sequential
set_default_device: Any
set_default_dtype: Any
set_float32_matmul_precision: Any
set_grad_enabled: Any
set_num_interop_threads: Any
short: np.dtype
sigmoid_ = Tensor.sigmoid_
sign_ = Tensor.sign_
silu_ = Tensor.silu_
sin_ = Tensor.sin_
sinh_ = Tensor.sinh_
softmax_ = Tensor.softmax_
sparse: Any
sparse_categorical_crossentropy = Tensor.sparse_categorical_crossentropy
sparse_coo_tensor: Any
spmm = Tensor.spmm
sqrt_ = Tensor.sqrt_
square_ = Tensor.square_
stride = Tensor.stride
strided: builtins.str
sub_ = Tensor.sub_
subtract = Tensor.subtract
subtract_ = Tensor.subtract_
svd: Any
swapaxes = Tensor.swapaxes
swish = Tensor.swish
t = Tensor.t
take: Any
tan_ = Tensor.tan_
tanh_ = Tensor.tanh_
tile = Tensor.tile
to = Tensor.to
to_dense = Tensor.to_dense
to_sparse = Tensor.to_sparse
tril_ = Tensor.tril_
triu_ = Tensor.triu_
true_divide = Tensor.true_divide
true_divide_ = Tensor.true_divide_
trunc_ = Tensor.trunc_
type = Tensor.type
type_as = Tensor.type_as
uint8: np.dtype
uniform = Tensor.uniform
uniform_ = Tensor.uniform_
use_deterministic_algorithms: Any
version: Any
view = Tensor.view
view_as = Tensor.view_as
xpu: Any
zero_ = Tensor.zero_
zeros = Tensor.zeros
zeros_like = Tensor.zeros_like
