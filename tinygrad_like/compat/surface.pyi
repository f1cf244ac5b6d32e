"""Made by `python -m handbook.stubs`: do not edit."""
import builtins
from collections.abc import Callable, Sequence
from typing import Any, Self, TypedDict, Unpack
import numpy as np
from . import keyword_aliases as habits, names
from ..methods.gradients import Gradients
from ..methods.of_ops import Axis
from ..methods.protocol import Protocol
from ..methods.versions import Versions
from .numpy_functions import ForNumPy
from ..core.tensor import Tensor

Number = float
Value = Tensor | np.ndarray | np.generic | float

class WithoutEffect(TypedDict, total=False):
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

class Surface(ForNumPy, Protocol, Gradients, Versions):
    def __setitem__(self, index: Any, value: Any) -> None: ...
    @property
    def T(self) -> Tensor: r"""The transpose of a matrix (all axes reversed)."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Value) -> Tensor: ...
    def __and__(self, other: Value) -> Tensor: ...
    def __eq__(self, other: Value) -> Tensor: ...  # type: ignore[override]
    def __floordiv__(self, other: Value) -> Tensor: ...
    def __ge__(self, other: Value) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __gt__(self, other: Value) -> Tensor: ...
    def __iadd__(self, other: Value) -> Self: ...
    def __iand__(self, other: Value) -> Self: ...
    def __ifloordiv__(self, other: Value) -> Self: ...
    def __imatmul__(self, other: Value) -> Self: ...
    def __imod__(self, other: Value) -> Self: ...
    def __imul__(self, other: Value) -> Self: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Value) -> Self: ...
    def __ipow__(self, exponent: Value) -> Self: ...
    def __isub__(self, other: Value) -> Self: ...
    def __itruediv__(self, other: Value) -> Self: ...
    def __ixor__(self, other: Value) -> Self: ...
    def __le__(self, other: Value) -> Tensor: ...
    def __lshift__(self, b: Any) -> Tensor: ...
    def __lt__(self, other: Value) -> Tensor: ...
    def __matmul__(self, other: Value) -> Tensor: ...
    def __mod__(self, other: Value) -> Tensor: ...
    def __mul__(self, other: Value) -> Tensor: ...
    def __ne__(self, other: Value) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Value) -> Tensor: ...
    def __pow__(self, exponent: Value) -> Tensor: ...
    def __radd__(self, other: Value) -> Tensor: ...
    def __rand__(self, other: Value) -> Tensor: ...
    def __rfloordiv__(self, other: Value) -> Tensor: ...
    def __rmatmul__(self, other: Value) -> Tensor: ...
    def __rmod__(self, other: Value) -> Tensor: ...
    def __rmul__(self, other: Value) -> Tensor: ...
    def __ror__(self, other: Value) -> Tensor: ...
    def __rpow__(self, other: Value) -> Tensor: ...
    def __rshift__(self, b: Any) -> Tensor: ...
    def __rsub__(self, other: Value) -> Tensor: ...
    def __rtruediv__(self, other: Value) -> Tensor: ...
    def __rxor__(self, other: Value) -> Tensor: ...
    def __sub__(self, other: Value) -> Tensor: ...
    def __truediv__(self, other: Value) -> Tensor: ...
    def __xor__(self, other: Value) -> Tensor: ...
    def _become(self, who: str, make: Callable[[Tensor], Tensor], part: np.ndarray | None = ..., alone: builtins.bool = ...) -> Self: ...
    def abs(self) -> Tensor: r"""|x|, with gradient 0 at 0, and NaN for NaN (PyTorch: 0)."""
    def abs_(self) -> Self: r"""`abs`, in place: of a leaf that requires grad under no_grad() only."""
    def absolute(self) -> Tensor: r"""|x|, with gradient 0 at 0, and NaN for NaN (PyTorch: 0)."""
    def absolute_(self) -> Self: r"""`absolute`, in place: of a leaf that requires grad under no_grad() only."""
    def acos(self) -> Tensor: r"""The angle in [0, pi] whose cosine is x."""
    def acos_(self) -> Self: r"""`acos`, in place: of a leaf that requires grad under no_grad() only."""
    def acosh(self) -> Tensor: r"""The non-negative number whose cosh is x."""
    def acosh_(self) -> Self: r"""`acosh`, in place: of a leaf that requires grad under no_grad() only."""
    def add(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def add_(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`add`, in place: of a leaf that requires grad under no_grad() only."""
    def addcdiv(self, a: Any = ..., b: Any = ..., value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def addcdiv_(self, a: Any = ..., b: Any = ..., value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`addcdiv`, in place: of a leaf that requires grad under no_grad() only."""
    def addcmul(self, a: Any = ..., b: Any = ..., value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def addcmul_(self, a: Any = ..., b: Any = ..., value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`addcmul`, in place: of a leaf that requires grad under no_grad() only."""
    def addmm(self, mat1: Any, mat2: Any, beta: Any = ..., alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def addmm_(self, mat1: Any, mat2: Any, beta: Any = ..., alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`addmm`, in place: of a leaf that requires grad under no_grad() only."""
    def all(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Whether all values are true (not 0)."""
    def allclose(self, b: Any = ..., rtol: Number = ..., atol: Number = ..., equal_nan: builtins.bool = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> builtins.bool: r"""Whether all elements are close, see `isclose`."""
    def amax(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The largest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
    def amin(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The smallest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
    def any(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Whether any value is true (not 0)."""
    @staticmethod
    def arange(start: Number, stop: Number | None = ..., step: Number = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., *, end: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""start, start + step, ... below stop; `arange(stop)` starts at 0. int64 if all are ints, else the default."""
    def arccos(self) -> Tensor: r"""The angle in [0, pi] whose cosine is x."""
    def arccos_(self) -> Self: r"""`arccos`, in place: of a leaf that requires grad under no_grad() only."""
    def arccosh(self) -> Tensor: r"""The non-negative number whose cosh is x."""
    def arccosh_(self) -> Self: r"""`arccosh`, in place: of a leaf that requires grad under no_grad() only."""
    def arcsin(self) -> Tensor: r"""The angle in [-pi/2, pi/2] whose sine is x."""
    def arcsin_(self) -> Self: r"""`arcsin`, in place: of a leaf that requires grad under no_grad() only."""
    def arcsinh(self) -> Tensor: r"""The number whose sinh is x."""
    def arcsinh_(self) -> Self: r"""`arcsinh`, in place: of a leaf that requires grad under no_grad() only."""
    def arctan(self) -> Tensor: r"""The angle in (-pi/2, pi/2) whose tangent is x."""
    def arctan2(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The angle in [-pi, pi] of the point (b, a); at (0, 0) both gradients are 0."""
    def arctan2_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`arctan2`, in place: of a leaf that requires grad under no_grad() only."""
    def arctan_(self) -> Self: r"""`arctan`, in place: of a leaf that requires grad under no_grad() only."""
    def arctanh(self) -> Tensor: r"""The number whose tanh is x."""
    def arctanh_(self) -> Self: r"""`arctanh`, in place: of a leaf that requires grad under no_grad() only."""
    def argmax(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The index of the largest value, the first of ties; in the flattened Tensor if axis is None."""
    def argmin(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The index of the smallest value, the first of ties; in the flattened Tensor if axis is None."""
    def argsort(self, axis: Axis = ..., descending: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The indices that sort x along `axis`; equal values keep their order."""
    def argwhere(self) -> Tensor: r"""The indices of all nonzero elements, one per row: (number, x.ndim)."""
    def as_strided(self, size: Any, stride: Any, storage_offset: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A copy of the numbers that stand `stride` apart along each axis: out[i, j] is number storage_offset + i stride[0] + j stride[1] of this Tensor, whose memory must be one piece. The copy cannot be changed in place."""
    def asin(self) -> Tensor: r"""The angle in [-pi/2, pi/2] whose sine is x."""
    def asin_(self) -> Self: r"""`asin`, in place: of a leaf that requires grad under no_grad() only."""
    def asinh(self) -> Tensor: r"""The number whose sinh is x."""
    def asinh_(self) -> Self: r"""`asinh`, in place: of a leaf that requires grad under no_grad() only."""
    def atan(self) -> Tensor: r"""The angle in (-pi/2, pi/2) whose tangent is x."""
    def atan2(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The angle in [-pi, pi] of the point (b, a); at (0, 0) both gradients are 0."""
    def atan2_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`atan2`, in place: of a leaf that requires grad under no_grad() only."""
    def atan_(self) -> Self: r"""`atan`, in place: of a leaf that requires grad under no_grad() only."""
    def atanh(self) -> Tensor: r"""The number whose tanh is x."""
    def atanh_(self) -> Self: r"""`atanh`, in place: of a leaf that requires grad under no_grad() only."""
    def avg_pool2d(self, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The mean of every window: (batch, channels, height, width) -> (batch, channels, rows, columns)."""
    def batchnorm(self, weight: Any, bias: Any, mean: Any, invstd: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""(x - mean) invstd weight + bias, for known statistics, each a vector along `axis`."""
    def bernoulli_(self, *inputs: Any, **options: Any) -> Self: ...
    def bfloat16(self) -> Tensor: ...
    def binary_crossentropy(self, target: Any, weight: Any = ..., *, reduction: builtins.str = ..., reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""-(t log p + (1 - t) log(1 - p)) of probabilities p; logarithms are at least -100, as in PyTorch."""
    def binary_crossentropy_logits(self, target: Any, weight: Any = ..., pos_weight: Any = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""-(w t log p + (1 - t) log(1 - p)) of logits x, with p = sigma(x), targets t in [0, 1] and w = pos_weight."""
    def bitcast(self, dtype: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The bits of x read as another dtype; if the item size differs, the last axis shrinks or grows."""
    def bitwise_and(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a and b of booleans; bit by bit for integers."""
    def bitwise_and_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`bitwise_and`, in place: of a leaf that requires grad under no_grad() only."""
    def bitwise_not(self) -> Tensor: r"""not x of booleans; bit by bit for integers."""
    def bitwise_not_(self) -> Self: r"""`bitwise_not`, in place: of a leaf that requires grad under no_grad() only."""
    def bitwise_or(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a or b of booleans; bit by bit for integers."""
    def bitwise_or_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`bitwise_or`, in place: of a leaf that requires grad under no_grad() only."""
    def bitwise_xor(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Either a or b, but not both, of booleans; bit by bit for integers."""
    def bitwise_xor_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`bitwise_xor`, in place: of a leaf that requires grad under no_grad() only."""
    def bmm(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def bool(self) -> Tensor: ...
    def broadcast_to(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Broadcast to `shape`; -1 keeps a size. A view, writable if it shows no element twice."""
    def byte(self) -> Tensor: ...
    def cast(self, dtype: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x with another dtype; between floats the gradient passes, cast back by the engine."""
    def cat(self, *others: Any, axis: Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Concatenate Tensors along `axis`; all other axes must agree."""
    def ceil(self) -> Tensor: r"""The smallest whole number not below x; the gradient is 0."""
    def ceil_(self) -> Self: r"""`ceil`, in place: of a leaf that requires grad under no_grad() only."""
    def celu(self, alpha: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x if x > 0, else alpha (e^(x / alpha) - 1): an ELU whose slope at 0 is 1 for every alpha (Barron 2017)."""
    def celu_(self, alpha: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`celu`, in place: of a leaf that requires grad under no_grad() only."""
    def char(self) -> Tensor: ...
    def cholesky(self, upper: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""L, lower triangular, with L L^T = x, for symmetric positive definite matrices; it reads only the lower triangle."""
    def cholesky_solve(self, factor: Any, upper: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""X with a X = b, given the Cholesky factor of a (see `cholesky`): b (..., n, k), factor (..., n, n)."""
    def chunk(self, chunks: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""A tuple of `chunks` equal parts along `axis` (if it does not divide, the last is smaller, or there are fewer)."""
    def clamp(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x limited to [min_, max_], which are numbers, or Tensors that broadcast."""
    def clamp_(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`clamp`, in place: of a leaf that requires grad under no_grad() only."""
    def clamp_max(self, max: Any = ..., *, a_max: Any = ..., max_: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x, or max where that is smaller."""
    def clamp_max_(self, max: Any = ..., *, a_max: Any = ..., max_: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`clamp_max`, in place: of a leaf that requires grad under no_grad() only."""
    def clamp_min(self, min: Any = ..., *, a_min: Any = ..., min_: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x, or min where that is larger."""
    def clamp_min_(self, min: Any = ..., *, a_min: Any = ..., min_: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`clamp_min`, in place: of a leaf that requires grad under no_grad() only."""
    def clip(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x limited to [min_, max_], which are numbers, or Tensors that broadcast."""
    def clip_(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`clip`, in place: of a leaf that requires grad under no_grad() only."""
    def clone(self, memory_format: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., generator: Any = ..., inplace: Any = ..., layout: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""A copy of x, on the graph."""
    def coalesce(self) -> Tensor: ...
    def conj(self) -> Tensor: ...
    def contiguous(self, memory_format: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., generator: Any = ..., inplace: Any = ..., layout: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""x in C order in memory; a copy only if it is not."""
    def conv2d(self, weight: Any, bias: Any = ..., groups: Any = ..., stride: Any = ..., dilation: Any = ..., padding: Any = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""out[n, i] = bias_i + sum_j weight[i, j] * x[n, j], with * the cross-correlation of images (7.51)."""
    def conv_transpose2d(self, weight: Any, bias: Any = ..., groups: Any = ..., stride: Any = ..., dilation: Any = ..., padding: Any = ..., output_padding: Any = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The adjoint of conv2d, plus a bias. It maps back to conv2d's input size, so images grow."""
    def copy_(self, *inputs: Any, **options: Any) -> Self: ...
    def copysign(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""|a| with the sign of b; the gradient of b is 0."""
    def copysign_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`copysign`, in place: of a leaf that requires grad under no_grad() only."""
    def cos(self) -> Tensor: r"""cos x."""
    def cos_(self) -> Self: r"""`cos`, in place: of a leaf that requires grad under no_grad() only."""
    def cosh(self) -> Tensor: r"""(e^x + e^-x) / 2."""
    def cosh_(self) -> Self: r"""`cosh`, in place: of a leaf that requires grad under no_grad() only."""
    def cpu(self) -> Tensor: ...
    def cross(self, b: Any = ..., axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The cross product along an axis of 3 elements, by default the first such axis: out_i = a_j b_k - a_k b_j."""
    def cross_entropy(self, target: Any, weight: Any = ..., ignore_index: Any = ..., reduction: builtins.str = ..., label_smoothing: Number = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The cross-entropy between logits and labels: L = -sum_c q_c log softmax(input)_c, with dL/dinput = p - q (003)."""
    def cummax(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The largest value so far along `axis` and its index, the last of ties: (values, indices)."""
    def cummin(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The smallest value so far along `axis` and its index, the last of ties: (values, indices)."""
    def cumprod(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Running products along `axis`: out[i] = x[0] ... x[i]; the gradient is exact where factors are 0."""
    def cumprod_(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`cumprod`, in place: of a leaf that requires grad under no_grad() only."""
    def cumsum(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Running sums along `axis`: out[i] = x[0] + ... + x[i]."""
    def cumsum_(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`cumsum`, in place: of a leaf that requires grad under no_grad() only."""
    def deg2rad(self) -> Tensor: r"""x pi / 180: degrees as radians."""
    def deg2rad_(self) -> Self: r"""`deg2rad`, in place: of a leaf that requires grad under no_grad() only."""
    def detach_(self) -> Self: r"""Leave the graph: from here on a leaf that does not require grad."""
    @property
    def device(self) -> habits.device: r"""Where it is: always the CPU."""
    def diag(self, offset: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A square matrix with the vector x on a diagonal, and zeros elsewhere; or the diagonal of a matrix."""
    def diagonal(self, offset: Any = ..., axis1: Any = ..., axis2: Any = ..., *, dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The elements x[i, i + offset] of the matrices in two axes, as a last axis. A view: no memory is copied."""
    def dim(self) -> builtins.int: ...
    def div(self, other: Value, rounding_mode: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a / b."""
    def div_(self, other: Value, rounding_mode: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`div`, in place: of a leaf that requires grad under no_grad() only."""
    def divide(self, other: Value, rounding_mode: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a / b."""
    def divide_(self, other: Value, rounding_mode: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`divide`, in place: of a leaf that requires grad under no_grad() only."""
    def dot(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def double(self) -> Tensor: ...
    def dropout(self, p: Number = ..., training: builtins.bool = ..., *, ord: Any = ..., train: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Inverted dropout: y = m x / (1 - p), where each m is 0 with probability p, else 1; x itself if not training."""
    @staticmethod
    def einsum(formula: str, *operands: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def element_size(self) -> builtins.int: ...
    def elu(self, alpha: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x if x > 0, else alpha (e^x - 1)."""
    def elu_(self, alpha: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`elu`, in place: of a leaf that requires grad under no_grad() only."""
    @staticmethod
    def empty(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def empty_like(self, *values: Any, **options: Any) -> Tensor: r"""`empty` of the shape and dtype of this Tensor."""
    def eq(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a == b."""
    def equal(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> builtins.bool: r"""Whether both have the same shape and the same elements, one answer for all."""
    def erf(self) -> Tensor: r"""The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x."""
    def erf_(self) -> Self: r"""`erf`, in place: of a leaf that requires grad under no_grad() only."""
    def erfinv(self) -> Tensor: r"""The y with erf y = x: infinite at -1 and 1, NaN beyond."""
    def erfinv_(self) -> Self: r"""`erfinv`, in place: of a leaf that requires grad under no_grad() only."""
    def exp(self) -> Tensor: r"""e^x."""
    def exp2(self) -> Tensor: r"""2^x."""
    def exp2_(self) -> Self: r"""`exp2`, in place: of a leaf that requires grad under no_grad() only."""
    def exp_(self) -> Self: r"""`exp`, in place: of a leaf that requires grad under no_grad() only."""
    def expand(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Broadcast to `shape`; -1 keeps a size. A view, writable if it shows no element twice."""
    def expand_as(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def expm1(self) -> Tensor: r"""e^x - 1, accurate for small x."""
    def expm1_(self) -> Self: r"""`expm1`, in place: of a leaf that requires grad under no_grad() only."""
    def exponential_(self, *inputs: Any, **options: Any) -> Self: ...
    @staticmethod
    def eye(n: builtins.int, m: builtins.int | None = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., *, N: Any = ..., M: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def fill_(self, *inputs: Any, **options: Any) -> Self: ...
    def flatten(self, start_axis: Any = ..., end_axis: Any = ..., *, start_dim: Any = ..., end_dim: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Merge the axes from start_axis to end_axis into one."""
    def flip(self, *axis: Axis, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Reverse the order of elements along `axis` (all axes if None). A copy, as in PyTorch."""
    def float(self) -> Tensor: ...
    def floor(self) -> Tensor: r"""The largest whole number not above x; the gradient is 0."""
    def floor_(self) -> Self: r"""`floor`, in place: of a leaf that requires grad under no_grad() only."""
    def floor_divide(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""floor(a / b), without a gradient. Raises ZeroDivisionError for integers by 0."""
    def floor_divide_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`floor_divide`, in place: of a leaf that requires grad under no_grad() only."""
    def fmod(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a - b trunc(a / b), with the sign of a. Raises ZeroDivisionError for integers by 0."""
    def fmod_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`fmod`, in place: of a leaf that requires grad under no_grad() only."""
    def frac(self) -> Tensor: r"""x - trunc(x): the fractional part, with the sign of x."""
    def frac_(self) -> Self: r"""`frac`, in place: of a leaf that requires grad under no_grad() only."""
    @staticmethod
    def from_dlpack(x: Any, *, input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A Tensor on the memory of another library's CPU tensor (PyTorch, JAX, NumPy ...), without a copy."""
    @staticmethod
    def from_numpy(array: np.ndarray, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A Tensor on the memory of `array`, without a copy: later writes to the array change the Tensor, unchecked."""
    @staticmethod
    def full(shape: builtins.int | Sequence[builtins.int], fill_value: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., *, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def full_like(self, *values: Any, **options: Any) -> Tensor: r"""`full` of the shape and dtype of this Tensor."""
    def gather(self, axis: Axis = ..., index: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""out[i, j] = x[i, index[i, j]] for axis=1, and likewise for any axis."""
    def ge(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Return self>=value."""
    def gelu(self, approximate: builtins.str = ..., *, approximation: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (7.27); with approximate="tanh" the form 003 and GPT-2 use."""
    @staticmethod
    def glorot_uniform(*shape: Any, **options: Any) -> Tensor: r"""Uniform on [-b, b) with b = sqrt(6 / (fan_in + fan_out)), for shape (fan_out, *fan_in)."""
    @property
    def grad_fn(self) -> Callable[..., Tensor]: ...
    def greater(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Return self>value."""
    def greater_equal(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Return self>=value."""
    def gt(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Return self>value."""
    def half(self) -> Tensor: ...
    def hardsigmoid(self, alpha: Number = ..., beta: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""alpha x + beta limited to [0, 1]: sigmoid as three straight pieces; the gradient is 0 where they meet."""
    def hardsigmoid_(self, alpha: Number = ..., beta: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`hardsigmoid`, in place: of a leaf that requires grad under no_grad() only."""
    def hardswish(self) -> Tensor: r"""x hardsigmoid(x) (Howard et al. 2019)."""
    def hardswish_(self) -> Self: r"""`hardswish`, in place: of a leaf that requires grad under no_grad() only."""
    def hardtanh(self, min_val: Number = ..., max_val: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x limited to [min_val, max_val]. Unlike clip, its gradient at the limits is 0, as relu's is at 0."""
    def hardtanh_(self, min_val: Number = ..., max_val: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`hardtanh`, in place: of a leaf that requires grad under no_grad() only."""
    def hypot(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""sqrt(a^2 + b^2), without overflow; at (0, 0) both gradients are 0."""
    def hypot_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`hypot`, in place: of a leaf that requires grad under no_grad() only."""
    def index_add(self, axis: Axis = ..., index: Any = ..., source: Any = ..., alpha: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""This Tensor with the slices of source, times alpha, added to those that index names along the axis."""
    def index_add_(self, axis: Axis = ..., index: Any = ..., source: Any = ..., alpha: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`index_add`, in place: of a leaf that requires grad under no_grad() only."""
    def index_select(self, axis: Axis = ..., index: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def inner(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Sums of products over the last axis of both: (..., n), (*, n) -> (..., *)."""
    def int(self) -> Tensor: ...
    def interpolate(self, size: Any = ..., mode: builtins.str = ..., align_corners: builtins.bool = ..., scale_factor: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x enlarged or reduced: (batch, channels, *spatial) -> (batch, channels, *size), for one to three spatial axes."""
    def inverse(self) -> Tensor: r"""The inverse of every matrix. Raises ValueError for a singular one."""
    def is_complex(self) -> builtins.bool: ...
    def is_contiguous(self) -> builtins.bool: ...
    is_cuda: builtins.bool
    is_sparse: builtins.bool
    def isclose(self, b: Any = ..., rtol: Number = ..., atol: Number = ..., equal_nan: builtins.bool = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Where |a - b| <= atol + rtol |b|, or a and b are the same infinity; with equal_nan, also where both are NaN."""
    def isfinite(self) -> Tensor: r"""Where x is neither infinite nor NaN."""
    def isinf(self, detect_positive: builtins.bool = ..., detect_negative: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Where it is infinite; of one sign alone, if the other is not to be detected."""
    def isnan(self) -> Tensor: r"""Where x is NaN."""
    def isneginf(self) -> Tensor: r"""Where x is -infinity."""
    def isposinf(self) -> Tensor: r"""Where x is +infinity."""
    @staticmethod
    def kaiming_normal(*shape: Any, a: Number = ..., **options: Any) -> Tensor: r"""Normal with standard deviation sqrt(2 / (fan_in (1 + a^2))), for a leaky_relu of slope a to come."""
    @staticmethod
    def kaiming_uniform(*shape: Any, a: Number = ..., **options: Any) -> Tensor: r"""Uniform on [-b, b) with b = sqrt(6 / (fan_in (1 + a^2))), for a leaky_relu of slope a to come."""
    def kron(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The Kronecker product: blocks a[i, j] b."""
    def layernorm(self, axis: Axis = ..., eps: Number | None = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""(x - mean) / sqrt(variance + eps) over any `axis`: layer_norm without weights."""
    def le(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Return self<=value."""
    def leaky_relu(self, negative_slope: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x if x > 0, else negative_slope * x (7.26)."""
    def leaky_relu_(self, negative_slope: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`leaky_relu`, in place: of a leaf that requires grad under no_grad() only."""
    def lerp(self, end: Any, weight: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a + (b - a) weight: a at weight 0, b at weight 1, linear in between."""
    def lerp_(self, end: Any, weight: Any, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`lerp`, in place: of a leaf that requires grad under no_grad() only."""
    def less(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Return self<value."""
    def less_equal(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Return self<=value."""
    def linear(self, weight: Any, bias: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""y = x W^T + b over any leading axes (7.17-7.19). x (..., in), weight (out, in), bias (out) -> (..., out)."""
    @staticmethod
    def linspace(start: Number, stop: Number = ..., steps: builtins.int = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., *, end: Any = ..., num: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""`steps` values from start to stop, both included."""
    def log(self) -> Tensor: r"""The natural logarithm."""
    def log10(self) -> Tensor: r"""The logarithm to base 10."""
    def log10_(self) -> Self: r"""`log10`, in place: of a leaf that requires grad under no_grad() only."""
    def log1p(self) -> Tensor: r"""log(1 + x), accurate for small x."""
    def log1p_(self) -> Self: r"""`log1p`, in place: of a leaf that requires grad under no_grad() only."""
    def log2(self) -> Tensor: r"""The logarithm to base 2."""
    def log2_(self) -> Self: r"""`log2`, in place: of a leaf that requires grad under no_grad() only."""
    def log_(self) -> Self: r"""`log`, in place: of a leaf that requires grad under no_grad() only."""
    def log_softmax(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log p_i = x_i - log sum_j e^(x_j) along `axis`, accurate even where softmax rounds to 0."""
    def logaddexp(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log(e^a + e^b), without overflow."""
    def logcumsumexp(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log of the running sums of e^x along `axis`, without overflow."""
    def logical_and(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""`logical_and` of where they are not 0, or false; the operator goes bit by bit for integers."""
    def logical_and_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`logical_and`, in place: of a leaf that requires grad under no_grad() only."""
    def logical_not(self) -> Tensor: r"""Where it is 0, or false; ~x is bit by bit for integers."""
    def logical_not_(self) -> Self: r"""`logical_not`, in place: of a leaf that requires grad under no_grad() only."""
    def logical_or(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""`logical_or` of where they are not 0, or false; the operator goes bit by bit for integers."""
    def logical_or_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`logical_or`, in place: of a leaf that requires grad under no_grad() only."""
    def logical_xor(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""`logical_xor` of where they are not 0, or false; the operator goes bit by bit for integers."""
    def logical_xor_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`logical_xor`, in place: of a leaf that requires grad under no_grad() only."""
    def logsigmoid(self) -> Tensor: r"""log sigma(x) = -softplus(-x), without softplus's threshold."""
    def logsumexp(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log sum_j e^(x_j) over `axis`, as m + log sum_j e^(x_j - m) with m = max_j x_j."""
    def long(self) -> Tensor: ...
    def lshift(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a 2^b, for integers."""
    def lstsq(self, b: Any = ..., rcond: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The x of least norm that minimises |a x - b|: a (..., m, n), b (..., m, k) -> solution (..., n, k), and more."""
    def lt(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Return self<value."""
    @property
    def mH(self) -> Tensor: r"""The last two axes swapped: the transpose of every matrix in a batch."""
    @property
    def mT(self) -> Tensor: r"""The last two axes swapped: the transpose of every matrix in a batch."""
    @staticmethod
    def manual_seed(seed: builtins.int, **without_effect: Unpack[WithoutEffect]) -> Any: r"""Restart from a seed: the same seed repeats every draw. Returns itself."""
    def masked_fill(self, mask: Any, value: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def masked_fill_(self, mask: Any, value: Any, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`masked_fill`, in place: of a leaf that requires grad under no_grad() only."""
    def masked_select(self, mask: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The elements of x where the mask is True, as a vector; x and mask broadcast. Raises TypeError unless it is boolean."""
    def matmul(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def max(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., **others: Any) -> Tensor: r"""The largest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
    def max_pool2d(self, kernel_size: Any = ..., stride: Any = ..., dilation: Any = ..., padding: Any = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The largest element of every window: (batch, channels, height, width) -> (batch, channels, rows, columns)."""
    def max_unpool2d(self, indices: Any, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., output_size: Any = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def maximum(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The larger of a and b; where they are equal, each gets half of the cotangent."""
    def mean(self, axis: Axis = ..., keepdim: builtins.bool = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The mean over `axis` (all axes if None), in the default dtype for integers."""
    def median(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Any: r"""The median, the lower of two middle values, NaN if any is NaN; along an axis, with indices: (values, indices)."""
    def meshgrid(self, *, indexing: builtins.str = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The coordinates of a grid spanned by vectors (or numbers, or a list of them): a tuple of Tensors of the grid's shape."""
    def min(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., **others: Any) -> Tensor: r"""The smallest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
    def minimum(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The smaller of a and b; where they are equal, each gets half of the cotangent."""
    def mish(self) -> Tensor: r"""x tanh(softplus(x)) (Misra 2019)."""
    def mm(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def mod(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a - b floor(a / b), with the sign of b. Raises ZeroDivisionError for integers by 0."""
    def mod_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`mod`, in place: of a leaf that requires grad under no_grad() only."""
    def moveaxis(self, source: Any, destination: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x with the axis or axes `source` moved to `destination`; the other axes keep their order."""
    def movedim(self, source: Any, destination: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x with the axis or axes `source` moved to `destination`; the other axes keep their order."""
    def mul(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a b, element by element."""
    def mul_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`mul`, in place: of a leaf that requires grad under no_grad() only."""
    def multinomial(self, num_samples: Any = ..., replacement: builtins.bool = ..., generator: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Indices drawn with probabilities proportional to weights (n) or (rows, n) -> (num_samples) or (rows, ...)."""
    def multiply(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a b, element by element."""
    def multiply_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`multiply`, in place: of a leaf that requires grad under no_grad() only."""
    def mv(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def nan_to_num(self, nan: Number = ..., posinf: Any = ..., neginf: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x with NaN and the infinities replaced, by default with 0 and the largest and smallest numbers of its dtype."""
    def nan_to_num_(self, nan: Number = ..., posinf: Any = ..., neginf: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`nan_to_num`, in place: of a leaf that requires grad under no_grad() only."""
    def narrow(self, axis: Axis = ..., start: Any = ..., length: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def ndimension(self) -> builtins.int: ...
    def ne(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a != b."""
    def neg(self) -> Tensor: r"""-x."""
    def neg_(self) -> Self: r"""`neg`, in place: of a leaf that requires grad under no_grad() only."""
    def negative(self) -> Tensor: r"""-x."""
    def negative_(self) -> Self: r"""`negative`, in place: of a leaf that requires grad under no_grad() only."""
    def nelement(self) -> builtins.int: ...
    def new(self, *data: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A new Tensor of this one's dtype: of data, or zeros of the sizes given."""
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
    def nll_loss(self, target: Any, weight: Any = ..., ignore_index: Any = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""-input[i, target[i]]: the negative log-likelihood of labels, given log-probabilities such as log_softmax's."""
    def nonzero(self, as_tuple: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The places that are not 0, one in each row: (number, ndim); or, as a tuple, their indices along each axis."""
    def norm(self, p: Number = ..., axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., ord: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""(sum |x|^p)^(1/p) over `axis`, see `linalg.vector_norm`; "fro" is 2."""
    @staticmethod
    def normal(*shape: Any, mean: Number = ..., std: Number = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Normal with the given mean and standard deviation."""
    def normal_(self, *, mean: Number = ..., std: Number = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Self: ...
    def normalize(self, p: Number = ..., axis: Axis = ..., eps: Number | None = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., ord: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x / max(||x||_p, eps) along `axis`."""
    def not_equal(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a != b."""
    def one_hot(self, num_classes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A new last axis of size num_classes, 1 at the index and 0 elsewhere (int64); -1 takes the largest index + 1."""
    @staticmethod
    def ones(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def ones_like(self, *values: Any, **options: Any) -> Tensor: r"""`ones` of the shape and dtype of this Tensor."""
    def outer(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""out[i, j] = a[i] b[j] of two vectors."""
    def pad(self, padding: Any = ..., mode: builtins.str = ..., value: Number = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Add elements around x."""
    def permute(self, *axes: Any, dim: Any = ..., dims: Any = ..., axis: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The axes in another order: out.shape[i] = x.shape[axes[i]]."""
    def pin_memory(self) -> Tensor: ...
    def positive(self) -> Tensor: r"""x itself (a view on the same memory), as a new node of the graph."""
    def pow(self, exponent: Value = ..., *, other: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a^b. The gradient with respect to b is NaN where a < 0, which has no logarithm, and 0 where a = 0 and b >= 0."""
    def pow_(self, exponent: Value = ..., *, other: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`pow`, in place: of a leaf that requires grad under no_grad() only."""
    def prod(self, axis: Axis = ..., keepdim: builtins.bool = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The product over `axis` (all axes if None); its gradient is exact where factors are 0."""
    def qr(self) -> tuple[Tensor, ...]: r"""Q with orthonormal columns and R, upper triangular, with Q R = x: (..., m, n) -> (..., m, k), (..., k, n)."""
    def quick_gelu(self) -> Tensor: r"""x sigma(1.702 x), close to gelu."""
    def rad2deg(self) -> Tensor: r"""x 180 / pi: radians as degrees."""
    def rad2deg_(self) -> Self: r"""`rad2deg`, in place: of a leaf that requires grad under no_grad() only."""
    @staticmethod
    def rand(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Uniform on [0, 1)."""
    def rand_like(self, *values: Any, **options: Any) -> Tensor: r"""`rand` of the shape and dtype of this Tensor."""
    @staticmethod
    def randint(*shape: Any, low: builtins.int = ..., high: builtins.int = ..., dtype: Any = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Integers, uniform on low, ..., high - 1."""
    @staticmethod
    def randn(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Standard normal."""
    def randn_like(self, *values: Any, **options: Any) -> Tensor: r"""`randn` of the shape and dtype of this Tensor."""
    @staticmethod
    def randperm(n: builtins.int, generator: Any = ..., *, N: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""The numbers 0, ..., n - 1 in random order."""
    def ravel(self) -> Tensor: ...
    @property
    def real(self) -> Tensor: r"""The Tensor itself: its elements are real."""
    def rearrange(self, formula: str, **sizes: Any) -> Tensor: r"""einops' rearrange: split, reorder and merge axes, as in "b (h w) c -> b c h w" with h=8."""
    def reciprocal(self) -> Tensor: r"""1 / x."""
    def reciprocal_(self) -> Self: r"""`reciprocal`, in place: of a leaf that requires grad under no_grad() only."""
    def register_post_accumulate_grad_hook(self, hook: Any, **without_effect: Unpack[WithoutEffect]) -> Any: r"""Call `hook(x)` whenever backward has added to the `.grad` of this leaf; a handle, to remove it, is returned."""
    def relu(self) -> Tensor: r"""max(x, 0) (7.20). The derivative at 0 is 0 by convention."""
    def relu6(self) -> Tensor: r"""min(max(x, 0), 6); the gradient at 0 and at 6 is 0."""
    def relu6_(self) -> Self: r"""`relu6`, in place: of a leaf that requires grad under no_grad() only."""
    def relu_(self) -> Self: r"""`relu`, in place: of a leaf that requires grad under no_grad() only."""
    def remainder(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a - b floor(a / b), with the sign of b."""
    def remainder_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`remainder`, in place: of a leaf that requires grad under no_grad() only."""
    def repeat(self, *repeats: Any, repeat: Any = ..., reps: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Tile the whole Tensor, `repeats[i]` times along axis i; leading axes are added if missing."""
    def repeat_interleave(self, repeats: Any = ..., axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., repeat: Any = ..., reps: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Repeat each element, or each slice along `axis`, `repeats` times in a row; `repeats` may differ per element."""
    def reshape(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The same elements, in C order, in another shape; one size may be -1, and is then inferred."""
    def reshape_as(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def roll(self, shifts: Any = ..., axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., shift: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Shift elements along `axis`, wrapping around; of the flattened Tensor if axis is None."""
    def round(self, decimals: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The nearest whole number, halves to even; the gradient is 0."""
    def round_(self, decimals: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`round`, in place: of a leaf that requires grad under no_grad() only."""
    def rshift(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""floor(a / 2^b), for integers."""
    def rsqrt(self) -> Tensor: r"""1 / sqrt(x)."""
    def rsqrt_(self) -> Self: r"""`rsqrt`, in place: of a leaf that requires grad under no_grad() only."""
    def scaled_dot_product_attention(self, key: Any, value: Any, attn_mask: Any = ..., dropout_p: Number = ..., is_causal: builtins.bool = ..., scale: Any = ..., enable_gqa: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""softmax(scale q k^T + mask) v: for every query, the mean of the values, weighted by how well their keys match the query."""
    @staticmethod
    def scaled_uniform(*shape: Any, **options: Any) -> Tensor: r"""Uniform on [-b, b) with b = 1 / sqrt(number of elements)."""
    def scatter(self, axis: Axis = ..., index: Any = ..., src: Any = ..., reduce: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""src written at index, added to the values there (reduce="add"), or multiplied with them ("multiply")."""
    def scatter_(self, axis: Axis = ..., index: Any = ..., src: Any = ..., reduce: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`scatter`, in place: of a leaf that requires grad under no_grad() only."""
    def scatter_add(self, axis: Axis = ..., index: Any = ..., src: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x with src added at index: out[i, index[i, j]] += src[i, j] for axis=1. The adjoint of gather."""
    def scatter_add_(self, axis: Axis = ..., index: Any = ..., src: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`scatter_add`, in place: of a leaf that requires grad under no_grad() only."""
    def scatter_reduce(self, axis: Axis = ..., index: Any = ..., src: Any = ..., reduce: Any = ..., include_self: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x with src reduced into it at index: for axis=1, out[i, index[i, j]] = reduce(x there, all src[i, j] for it)."""
    def scatter_reduce_(self, axis: Axis = ..., index: Any = ..., src: Any = ..., reduce: Any = ..., include_self: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`scatter_reduce`, in place: of a leaf that requires grad under no_grad() only."""
    def searchsorted(self, values: Any, right: builtins.bool = ..., side: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Where to insert `values` into the sorted last axis of x so that it stays sorted: int64."""
    def select(self, axis: Axis = ..., index: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def selu(self) -> Tensor: r"""1.0507 x if x > 0, else 1.7581 (e^x - 1): its layers keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    def selu_(self) -> Self: r"""`selu`, in place: of a leaf that requires grad under no_grad() only."""
    def sequential(self, layers: Any, **without_effect: Unpack[WithoutEffect]) -> Any: r"""x.sequential([f, g]) is g(f(x))."""
    def short(self) -> Tensor: ...
    def shrink(self, ranges: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Keep the elements from start to stop along each axis: `ranges` holds (start, stop) or None per axis."""
    def sigmoid(self) -> Tensor: r"""1 / (1 + e^-x) (7.24)."""
    def sigmoid_(self) -> Self: r"""`sigmoid`, in place: of a leaf that requires grad under no_grad() only."""
    def sign(self) -> Tensor: r"""-1, 0 or 1; the gradient is 0."""
    def sign_(self) -> Self: r"""`sign`, in place: of a leaf that requires grad under no_grad() only."""
    def signbit(self) -> Tensor: r"""Where x is below 0, or -0."""
    def silu(self) -> Tensor: r"""x sigma(x), also called Swish."""
    def silu_(self) -> Self: r"""`silu`, in place: of a leaf that requires grad under no_grad() only."""
    def sin(self) -> Tensor: r"""sin x."""
    def sin_(self) -> Self: r"""`sin`, in place: of a leaf that requires grad under no_grad() only."""
    def sinh(self) -> Tensor: r"""(e^x - e^-x) / 2."""
    def sinh_(self) -> Self: r"""`sinh`, in place: of a leaf that requires grad under no_grad() only."""
    def softmax(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""p_i = e^(x_i) / sum_j e^(x_j) along `axis`."""
    def softmax_(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`softmax`, in place: of a leaf that requires grad under no_grad() only."""
    def softmin(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""softmax(-x)."""
    def softplus(self, beta: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log(1 + e^(beta x)) / beta (7.28): a smooth relu; its derivative is sigma(beta x)."""
    def softsign(self) -> Tensor: r"""x / (1 + |x|)."""
    def sort(self, axis: Axis = ..., descending: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""x sorted along `axis`, and the indices that sort it: (values, indices)."""
    def sparse_categorical_crossentropy(self, target: Any, ignore_index: Any = ..., label_smoothing: Number = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The cross-entropy of labels for logits whose classes are the last axis."""
    def split(self, sizes: Any = ..., axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., size: Any = ..., split_size: Any = ..., split_size_or_sections: Any = ..., unflattened_size: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""A tuple of parts with these sizes along `axis`; an int means equal parts of that size, the last maybe smaller."""
    def spmm(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches."""
    def sqrt(self) -> Tensor: r"""The square root."""
    def sqrt_(self) -> Self: r"""`sqrt`, in place: of a leaf that requires grad under no_grad() only."""
    def square(self) -> Tensor: r"""x^2."""
    def square_(self) -> Self: r"""`square`, in place: of a leaf that requires grad under no_grad() only."""
    def squeeze(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Remove all axes of size 1, or those among `axis`."""
    def stack(self, *others: Any, axis: Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Stack Tensors of one shape along a new axis."""
    def std(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The square root of `var`, with gradient 0 where all values are equal."""
    def std_mean(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The standard deviation and the mean over `axis`."""
    def stride(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Any: ...
    def sub(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def sub_(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`sub`, in place: of a leaf that requires grad under no_grad() only."""
    def subtract(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def subtract_(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`subtract`, in place: of a leaf that requires grad under no_grad() only."""
    def sum(self, axis: Axis = ..., keepdim: builtins.bool = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The sum over `axis` (all axes if None). Booleans and small integers are summed as int64."""
    def svd(self, full_matrices: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""U, S and V^T with U diag(S) V^T = x, S in descending order: (..., m, k), (..., k), (..., k, n), k = min(m, n)."""
    def swapaxes(self, axis0: Any = ..., axis1: Any = ..., *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Swap two axes."""
    def swish(self) -> Tensor: r"""x sigma(x), also called Swish."""
    def t(self) -> Tensor: r"""The transpose of a matrix; a vector stays as it is."""
    def take(self, index: Any = ..., *, input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The elements of the flattened x at an index, in the index's shape."""
    def tan(self) -> Tensor: r"""tan x."""
    def tan_(self) -> Self: r"""`tan`, in place: of a leaf that requires grad under no_grad() only."""
    def tanh(self) -> Tensor: r"""(e^x - e^-x) / (e^x + e^-x) (7.25)."""
    def tanh_(self) -> Self: r"""`tanh`, in place: of a leaf that requires grad under no_grad() only."""
    def tile(self, *repeats: Any, repeat: Any = ..., reps: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The whole Tensor repeated along each of its last axes."""
    def to(self, *wanted: Any, **others: Any) -> Tensor: r"""This Tensor with the dtype that is named, if any, or that of a Tensor; a device may be named too."""
    def to_dense(self) -> Tensor: ...
    def to_sparse(self) -> Tensor: ...
    def topk(self, k: builtins.int = ..., axis: Axis = ..., largest: builtins.bool = ..., sorted: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., key: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The k largest (or smallest) values along `axis`, always in order, and their indices: (values, indices)."""
    def trace(self) -> Tensor: r"""The sum of the diagonal of a matrix."""
    def transpose(self, axis0: Any = ..., axis1: Any = ..., *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Swap two axes."""
    def tril(self, diagonal: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The lower triangle of the last two axes, zeros above the diagonal."""
    def tril_(self, diagonal: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`tril`, in place: of a leaf that requires grad under no_grad() only."""
    def triu(self, diagonal: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The upper triangle of the last two axes, zeros below the diagonal."""
    def triu_(self, diagonal: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`triu`, in place: of a leaf that requires grad under no_grad() only."""
    def true_divide(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a / b."""
    def true_divide_(self, b: Any = ..., *, other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`true_divide`, in place: of a leaf that requires grad under no_grad() only."""
    def trunc(self) -> Tensor: r"""x without its fraction; the gradient is 0."""
    def trunc_(self) -> Self: r"""`trunc`, in place: of a leaf that requires grad under no_grad() only."""
    def type(self, dtype: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Any: r"""This Tensor with another dtype, also by a name such as "torch.LongTensor"; or its own one."""
    def type_as(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def unbind(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""A tuple of the slices along `axis`, without that axis."""
    def unflatten(self, axis: Axis = ..., sizes: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., size: Any = ..., split_size: Any = ..., split_size_or_sections: Any = ..., unflattened_size: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Split one axis into several, whose sizes multiply to its size (one may be -1)."""
    def unfold(self, axis: Axis = ..., size: Any = ..., step: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Windows of `size` elements that slide along `axis` by `step`; a new last axis holds each window's elements."""
    @staticmethod
    def uniform(*shape: Any, low: Number = ..., high: Number = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Uniform on [low, high)."""
    def uniform_(self, *, low: Number = ..., high: Number = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Self: ...
    def unsqueeze(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Insert an axis of size 1 at `axis` of the result."""
    def var(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The variance over `axis`: the sum of squared distances to the mean, divided by n - correction."""
    def var_mean(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The variance and the mean over `axis`."""
    def vecdot(self, b: Any = ..., axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., other: Any = ..., mat2: Any = ..., vec: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Sums of products along an axis."""
    def view(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The same elements, in C order, in another shape; one size may be -1, and is then inferred."""
    def view_as(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def where(self, x: Any = ..., y: Any = ..., *, input: Any = ..., other: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x where this boolean Tensor is true, else y; or `a.where(condition, y)`: a where it is true, else y."""
    def zero_(self, *inputs: Any, **options: Any) -> Self: ...
    @staticmethod
    def zeros(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: ...
    def zeros_like(self, *values: Any, **options: Any) -> Tensor: r"""`zeros` of the shape and dtype of this Tensor."""
