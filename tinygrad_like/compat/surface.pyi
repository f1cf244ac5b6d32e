"""Made by `python -m tinygrad_like.compat.stubs`: do not edit."""
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
    def T(self) -> Tensor: r"""The transpose of a matrix (all axes reversed). Example: `Tensor([[1, 2], [3, 4]]).T  # (2, 2) -> (2, 2)`"""
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
    def abs(self) -> Tensor: r"""|x|, with gradient 0 at 0, and NaN of NaN (PyTorch: 0). Example: `Tensor([1, -2]).abs()  # (2,) -> (2,)`"""
    def abs_(self) -> Self: r"""`abs`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1, -2]).abs_()  # (2,) -> (2,)`"""
    def absolute(self) -> Tensor: r"""|x|, with gradient 0 at 0, and NaN of NaN (PyTorch: 0). Example: `Tensor([1, -2]).abs()  # (2,) -> (2,)`"""
    def absolute_(self) -> Self: r"""`absolute`, in place: of a leaf that requires grad under no_grad() only."""
    def acos(self) -> Tensor: r"""The angle in [0, pi] whose cosine is x. Example: `Tensor([0.0, 1.0]).acos()  # (2,) -> (2,)`"""
    def acos_(self) -> Self: r"""`acos`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).acos_()  # (2,) -> (2,)`"""
    def acosh(self) -> Tensor: r"""The number not below 0 whose cosh is x. Example: `Tensor([1.0, 2.0]).acosh()  # (2,) -> (2,)`"""
    def acosh_(self) -> Self: r"""`acosh`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 2.0]).acosh_()  # (2,) -> (2,)`"""
    def add(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a + b; or a + alpha b. Example: `Tensor([1, 2]).add(Tensor([10, 20]), alpha=2)  # (2,), (2,) -> (2,)`"""
    def add_(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`add`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1, 2]).add_(Tensor([10, 20]), alpha=2)  # (2,), (2,) -> (2,)`"""
    def addcdiv(self, a: Any, b: Any, value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""self + value a / b. Example: `Tensor([1.0]).addcdiv(Tensor([6.0]), Tensor([3.0]), value=10)  # (1,), (1,), (1,) -> (1,)`"""
    def addcdiv_(self, a: Any, b: Any, value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`addcdiv`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0]).addcdiv_(Tensor([6.0]), Tensor([3.0]), value=10)  # (1,), (1,), (1,) -> (1,)`"""
    def addcmul(self, a: Any, b: Any, value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""self + value a b. Example: `Tensor([1.0]).addcmul(Tensor([2.0]), Tensor([3.0]), value=10)  # (1,), (1,), (1,) -> (1,)`"""
    def addcmul_(self, a: Any, b: Any, value: Any = ..., *, input: Any = ..., other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`addcmul`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0]).addcmul_(Tensor([2.0]), Tensor([3.0]), value=10)  # (1,), (1,), (1,) -> (1,)`"""
    def addmm(self, mat1: Any, mat2: Any, beta: Any = ..., alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""beta self + alpha mat1 @ mat2. Example: `Tensor.ones(2, 2).addmm(Tensor.eye(2), Tensor.eye(2))`"""
    def addmm_(self, mat1: Any, mat2: Any, beta: Any = ..., alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`addmm`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor.ones(2, 2).addmm_(Tensor.eye(2), Tensor.eye(2))`"""
    def all(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Whether all values are true (not 0). Example: `Tensor([[1, 1], [0, 1]]).all(axis=1)  # (2, 2) -> (2,)`"""
    def allclose(self, b: Any, rtol: Number = ..., atol: Number = ..., equal_nan: builtins.bool = ..., *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> builtins.bool: r"""Whether all are close, see `isclose`. Example: `Tensor([1.0, 2.0]).allclose(Tensor([1.0, 2.1]))  # (2,), (2,) -> ()`"""
    def amax(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The largest value, or values over `axis`. Example: `Tensor([[1, 5], [4, 2]]).amax(1)  # (2, 2) -> (2,)`"""
    def amin(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The smallest value, or values over `axis`. Example: `Tensor([[1, 5], [4, 2]]).amin(1)  # (2, 2) -> (2,)`"""
    def any(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Whether any value is true (not 0). Example: `Tensor([[0, 0], [0, 1]]).any(axis=1)  # (2, 2) -> (2,)`"""
    def apply_(self, *inputs: Any, **options: Any) -> Self: r"""Write what a function of Python gives for each number, one after the other. Example: `Tensor([1.0, 2.0]).apply_(lambda v: v * v)`"""
    @staticmethod
    def arange(start: Number, stop: Number | None = ..., step: Number = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., *, end: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""start, start + step, ... below stop; `arange(stop)` starts at 0. int64 if all are ints, else the default. Example: `Tensor.arange(1, 7, 2)`"""
    def arccos(self) -> Tensor: r"""The inverse of the cosine, as `acos`. Example: `Tensor([0.0]).arccos()  # (1,) -> (1,)`"""
    def arccos_(self) -> Self: r"""`arccos`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0]).arccos_()  # (1,) -> (1,)`"""
    def arccosh(self) -> Tensor: r"""The inverse of cosh, as `acosh`. Example: `Tensor([2.0]).arccosh()  # (1,) -> (1,)`"""
    def arccosh_(self) -> Self: r"""`arccosh`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([2.0]).arccosh_()  # (1,) -> (1,)`"""
    def arcsin(self) -> Tensor: r"""The inverse of the sine, as `asin`. Example: `Tensor([1.0]).arcsin()  # (1,) -> (1,)`"""
    def arcsin_(self) -> Self: r"""`arcsin`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0]).arcsin_()  # (1,) -> (1,)`"""
    def arcsinh(self) -> Tensor: r"""The inverse of sinh, as `asinh`. Example: `Tensor([1.0]).arcsinh()  # (1,) -> (1,)`"""
    def arcsinh_(self) -> Self: r"""`arcsinh`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0]).arcsinh_()  # (1,) -> (1,)`"""
    def arctan(self) -> Tensor: r"""The inverse of the tangent, as `atan`. Example: `Tensor([1.0]).arctan()  # (1,) -> (1,)`"""
    def arctan2(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The angle of (other, this), as `atan2`. Example: `Tensor([1.0]).arctan2(Tensor([1.0]))  # (1,) -> (1,)`"""
    def arctan2_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`arctan2`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0]).arctan2_(Tensor([1.0]))  # (1,) -> (1,)`"""
    def arctan_(self) -> Self: r"""`arctan`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0]).arctan_()  # (1,) -> (1,)`"""
    def arctanh(self) -> Tensor: r"""The inverse of tanh, as `atanh`. Example: `Tensor([0.5]).arctanh()  # (1,) -> (1,)`"""
    def arctanh_(self) -> Self: r"""`arctanh`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.5]).arctanh_()  # (1,) -> (1,)`"""
    def argmax(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The index of the largest value (the first, if several tie); of the flattened Tensor if axis is None. Example: `Tensor([[1, 5], [4, 2]]).argmax(axis=1)  # (2, 2) -> (2,)`"""
    def argmin(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The index of the smallest value (the first, if several tie); of the flattened Tensor if axis is None. Example: `Tensor([[1, 5], [4, 2]]).argmin(axis=1)  # (2, 2) -> (2,)`"""
    def argsort(self, axis: Axis = ..., descending: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The indices that sort x along `axis`; equal values keep their order. Example: `Tensor([3, 1, 2]).argsort()  # (3,) -> (3,)`"""
    def argwhere(self) -> Tensor: r"""The places that are not 0, one in each row, as `nonzero`. Example: `Tensor([0, 5]).argwhere()  # (2,) -> (1, 1)`"""
    def as_strided(self, size: Any, stride: Any, storage_offset: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A copy of the numbers that stand `stride` apart in memory along each axis: out[i, j] is number storage_offset + i stride[0] + j stride[1] of the memory of this Tensor. Of a Tensor that shows a part of other memory, which must be one piece, they are counted from its first. The copy cannot be changed in place. Example: `Tensor([1, 2, 3, 4]).as_strided((2, 2), (1, 2))  # (4,) -> (2, 2)`"""
    def asin(self) -> Tensor: r"""The angle in [-pi/2, pi/2] whose sine is x. Example: `Tensor([0.0, 1.0]).asin()  # (2,) -> (2,)`"""
    def asin_(self) -> Self: r"""`asin`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).asin_()  # (2,) -> (2,)`"""
    def asinh(self) -> Tensor: r"""The number whose sinh is x. Example: `Tensor([0.0, 1.0]).asinh()  # (2,) -> (2,)`"""
    def asinh_(self) -> Self: r"""`asinh`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).asinh_()  # (2,) -> (2,)`"""
    def atan(self) -> Tensor: r"""The angle in (-pi/2, pi/2) whose tangent is x. Example: `Tensor([0.0, 1.0]).atan()  # (2,) -> (2,)`"""
    def atan2(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The angle in [-pi, pi] at which (b, a) lies, seen from (0, 0); there both gradients are 0. Example: `Tensor([0.0, 1.0]).atan2(Tensor([1.0, 0.0]))  # (2,), (2,) -> (2,)`"""
    def atan2_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`atan2`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).atan2_(Tensor([1.0, 0.0]))  # (2,), (2,) -> (2,)`"""
    def atan_(self) -> Self: r"""`atan`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).atan_()  # (2,) -> (2,)`"""
    def atanh(self) -> Tensor: r"""The number whose tanh is x. Example: `Tensor([0.0, 0.5]).atanh()  # (2,) -> (2,)`"""
    def atanh_(self) -> Self: r"""`atanh`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 0.5]).atanh_()  # (2,) -> (2,)`"""
    def avg_pool2d(self, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., ceil_mode: builtins.bool = ..., count_include_pad: builtins.bool = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The mean of every window: (batch, channels, height, width) -> (batch, channels, rows, columns). Example: `Tensor.arange(4.0).reshape(1, 1, 2, 2).avg_pool2d()`"""
    def batchnorm(self, weight: Any, bias: Any, mean: Any, invstd: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""(x - mean) invstd weight + bias, for statistics that are known, each as long as `axis`. Example: `Tensor([[1.0], [3.0]]).batchnorm(None, None, Tensor([2.0]), Tensor([1.0]))  # (2, 1), (1,), (1,) -> (2, 1)`"""
    def bernoulli_(self, *inputs: Any, **options: Any) -> Self: r"""Write 1 with probability p, else 0. Example: `Tensor([1.0, 2.0]).bernoulli_(1.0)  # (2,) -> (2,)`"""
    def bfloat16(self) -> Tensor: r"""This Tensor as bfloat16 (extra `bfloat16`): for storage, since ops compute in float32 and round. Example: `Tensor([0.1, 2]).bfloat16()  # (2,) -> (2,)`"""
    def binary_crossentropy(self, target: Any, weight: Any = ..., *, reduction: builtins.str = ..., reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""-(t log p + (1 - t) log(1 - p)) of probabilities p; logarithms are kept above -100, as in PyTorch. Example: `Tensor([0.5, 0.25]).binary_crossentropy(Tensor([1.0, 1.0]))  # (2,), (2,) -> ()`"""
    def binary_crossentropy_logits(self, target: Any, weight: Any = ..., pos_weight: Any = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""-(w t log p + (1 - t) log(1 - p)) of logits x, with p = sigma(x), targets t in [0, 1] and w = pos_weight. Example: `Tensor([0.0]).binary_crossentropy_logits(Tensor([1.0]))  # (1,), (1,) -> ()`"""
    def bitcast(self, dtype: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The bits of x as numbers of another dtype; if its size differs, so does the last axis. Example: `Tensor([1.0]).bitcast("int32")  # (1,) -> (1,)`"""
    def bitwise_and(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a and b of booleans; bit by bit for integers. Example: `Tensor([6, 5]).bitwise_and(3)  # (2,) -> (2,)`"""
    def bitwise_and_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`bitwise_and`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([6, 5]).bitwise_and_(3)  # (2,) -> (2,)`"""
    def bitwise_not(self) -> Tensor: r"""not x of booleans; bit by bit for integers. Example: `Tensor([0, 1]).bitwise_not()  # (2,) -> (2,)`"""
    def bitwise_not_(self) -> Self: r"""`bitwise_not`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0, 1]).bitwise_not_()  # (2,) -> (2,)`"""
    def bitwise_or(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a or b of booleans; bit by bit for integers. Example: `Tensor([6, 5]).bitwise_or(3)  # (2,) -> (2,)`"""
    def bitwise_or_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`bitwise_or`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([6, 5]).bitwise_or_(3)  # (2,) -> (2,)`"""
    def bitwise_xor(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Either a or b of booleans, not both; bit by bit for integers. Example: `Tensor([6, 5]).bitwise_xor(3)  # (2,) -> (2,)`"""
    def bitwise_xor_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`bitwise_xor`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([6, 5]).bitwise_xor_(3)  # (2,) -> (2,)`"""
    def bmm(self, mat2: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The products of matrices, one by one. Example: `Tensor([[[2.0]]]).bmm(Tensor([[[3.0]]]))  # (1, 1, 1), (1, 1, 1) -> (1, 1, 1)`"""
    def bool(self) -> Tensor: r"""This Tensor as booleans: whether elements differ from 0. Example: `Tensor([0, 2]).bool()  # (2,) -> (2,)`"""
    def broadcast_to(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""`expand`, as NumPy calls it: a view of that shape. Example: `Tensor([[1], [2]]).broadcast_to((2, 2))  # (2, 1) -> (2, 2)`"""
    def byte(self) -> Tensor: r"""This Tensor as uint8. Example: `Tensor([1.7]).byte()  # (1,) -> (1,)`"""
    def cast(self, dtype: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x with another dtype; between floats the gradient passes, cast back by the engine. Example: `Tensor([1.7]).cast("int32")  # (1,) -> (1,)`"""
    def cat(self, *others: Any, axis: Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Tensors one after the other along `axis`; their other axes must agree. Example: `Tensor([1, 2]).cat(Tensor([3]))  # (2,), (1,) -> (3,)`"""
    def ceil(self) -> Tensor: r"""The smallest whole number not below x; the gradient is 0. Example: `Tensor([-1.5, 1.5]).ceil()  # (2,) -> (2,)`"""
    def ceil_(self) -> Self: r"""`ceil`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.5, 1.5]).ceil_()  # (2,) -> (2,)`"""
    def celu(self, alpha: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x if x > 0, else alpha (e^(x / alpha) - 1): an elu whose slope at 0 is 1 for every alpha (Barron 2017). Example: `Tensor([-1.0, 2.0]).celu(alpha=2.0)  # (2,) -> (2,)`"""
    def celu_(self, alpha: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`celu`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.0, 2.0]).celu_(alpha=2.0)  # (2,) -> (2,)`"""
    def char(self) -> Tensor: r"""This Tensor as int8. Example: `Tensor([1.7]).char()  # (1,) -> (1,)`"""
    def cholesky(self, upper: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""L, lower triangular, with L L^T = x, for symmetric positive definite matrices; only the lower half is read. Example: `Tensor([[4.0, 2.0], [2.0, 5.0]]).cholesky()  # (2, 2) -> (2, 2)`"""
    def cholesky_inverse(self, upper: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The inverse of a, given its Cholesky factor: (..., n, n). Raises ValueError for a zero on the diagonal. Example: `Tensor([[2.0, 0.0], [0.0, 1.0]]).cholesky_inverse()  # (2, 2) -> (2, 2)`"""
    def cholesky_solve(self, factor: Any, upper: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""X with a X = b, given the Cholesky factor of a (see `cholesky`): b (..., n, k), factor (..., n, n). Example: `Tensor([[4.0], [8.0]]).cholesky_solve(Tensor([[2.0, 0.0], [0.0, 1.0]]))  # (2, 1), (2, 2) -> (2, 1)`"""
    def chunk(self, chunks: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""`chunks` parts of equal size along `axis` (the last smaller, or fewer parts, if it does not divide). A tuple. Example: `Tensor([1, 2, 3, 4]).chunk(2)  # (4,) -> (2,), (2,)`"""
    def clamp(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x limited to [min_, max_], which are numbers, or Tensors that broadcast. Example: `Tensor([-2.0, 0.5, 3.0]).clip(0, 1)  # (3,) -> (3,)`"""
    def clamp_(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`clamp`, in place: of a leaf that requires grad under no_grad() only."""
    def clamp_max(self, max: Any, *, a_max: Any = ..., max_: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x, or max where that is smaller. Example: `Tensor([1.0, 2.0, 3.0]).clamp_max(2)  # (3,) -> (3,)`"""
    def clamp_max_(self, max: Any, *, a_max: Any = ..., max_: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`clamp_max`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 2.0, 3.0]).clamp_max_(2)  # (3,) -> (3,)`"""
    def clamp_min(self, min: Any, *, a_min: Any = ..., min_: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x, or min where that is larger. Example: `Tensor([1.0, 2.0, 3.0]).clamp_min(2)  # (3,) -> (3,)`"""
    def clamp_min_(self, min: Any, *, a_min: Any = ..., min_: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`clamp_min`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 2.0, 3.0]).clamp_min_(2)  # (3,) -> (3,)`"""
    def clip(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x limited to [min_, max_], which are numbers, or Tensors that broadcast. Example: `Tensor([-2.0, 0.5, 3.0]).clip(0, 1)  # (3,) -> (3,)`"""
    def clip_(self, min_: Any = ..., max_: Any = ..., *, min: Any = ..., max: Any = ..., a_min: Any = ..., a_max: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`clip`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-2.0, 0.5, 3.0]).clip_(0, 1)  # (3,) -> (3,)`"""
    def clone(self, memory_format: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., generator: Any = ..., inplace: Any = ..., layout: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""A copy of x, on the graph. Example: `Tensor([1, 2]).clone()  # (2,) -> (2,)`"""
    def coalesce(self) -> Tensor: r"""This Tensor: every one is dense. Example: `Tensor([1.0]).coalesce()  # (1,) -> (1,)`"""
    def conj(self) -> Tensor: r"""The Tensor itself: its elements are real. Example: `Tensor([1.0]).conj()`"""
    def conj_physical(self) -> Tensor: r"""The Tensor itself: its elements are real. Example: `Tensor([1.0]).conj()`"""
    def contiguous(self, memory_format: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., generator: Any = ..., inplace: Any = ..., layout: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""x in C order in memory; a copy only if it is not. Example: `Tensor([[1, 2], [3, 4]]).T.contiguous()  # (2, 2) -> (2, 2)`"""
    def conv2d(self, weight: Any, bias: Any = ..., groups: Any = ..., stride: Any = ..., dilation: Any = ..., padding: Any = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""out[n, i] = bias_i + sum_j weight[i, j] * x[n, j], with * the cross-correlation of images (7.51). Example: `Tensor.ones(1, 1, 3, 3).conv2d(Tensor.ones(1, 1, 2, 2))`"""
    def conv_transpose2d(self, weight: Any, bias: Any = ..., groups: Any = ..., stride: Any = ..., dilation: Any = ..., padding: Any = ..., output_padding: Any = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The adjoint of conv2d, which maps back to the size of its inputs, plus a bias: images grow. Example: `Tensor.ones(1, 1, 1, 2).conv_transpose2d(Tensor.ones(1, 1, 1, 2))`"""
    def copy_(self, *inputs: Any, **options: Any) -> Self: r"""Write the values of another Tensor, which broadcasts. Example: `Tensor([1, 2]).copy_(Tensor([7]))  # (2,), (1,) -> (2,)`"""
    def copysign(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""|a| with the sign of b, a floating-point number; no gradient reaches b. Example: `Tensor([1.0, -2.0]).copysign(Tensor([-1.0, 1.0]))  # (2,), (2,) -> (2,)`"""
    def copysign_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`copysign`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, -2.0]).copysign_(Tensor([-1.0, 1.0]))  # (2,), (2,) -> (2,)`"""
    def cos(self) -> Tensor: r"""cos x. Example: `Tensor([0.0, 1.0]).cos()  # (2,) -> (2,)`"""
    def cos_(self) -> Self: r"""`cos`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).cos_()  # (2,) -> (2,)`"""
    def cosh(self) -> Tensor: r"""(e^x + e^-x) / 2. Example: `Tensor([0.0, 1.0]).cosh()  # (2,) -> (2,)`"""
    def cosh_(self) -> Self: r"""`cosh`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).cosh_()  # (2,) -> (2,)`"""
    def cpu(self) -> Tensor: r"""This Tensor: everything is on the CPU. Example: `Tensor([1.0]).cpu()  # (1,) -> (1,)`"""
    def cross(self, b: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The cross product along an axis of 3 elements, by default the first such axis. Example: `Tensor([1, 0, 0]).cross(Tensor([0, 1, 0]))  # (3,) -> (3,)`"""
    def cross_entropy(self, target: Any, weight: Any = ..., ignore_index: Any = ..., reduction: builtins.str = ..., label_smoothing: Number = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The cross-entropy between logits and labels: L = -sum_c q_c log softmax(input)_c, with dL/dinput = p - q (003). Example: `Tensor([[0.0, 0.0]]).cross_entropy(Tensor([1]))  # (1, 2), (1,) -> ()`"""
    def cummax(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The largest value so far along `axis`, and where it stands, the last place of several: (values, indices). Example: `Tensor([1, 3, 2]).cummax(0)  # (3,) -> (3,), (3,)`"""
    def cummin(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The smallest value so far along `axis`, and where it stands, the last place of several: (values, indices). Example: `Tensor([2, 3, 1]).cummin(0)  # (3,) -> (3,), (3,)`"""
    def cumprod(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Running products along `axis`: out[i] = x[0] ... x[i]; the gradient is exact where factors are 0. Example: `Tensor([1, 2, 3]).cumprod(0)  # (3,) -> (3,)`"""
    def cumprod_(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`cumprod`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1, 2, 3]).cumprod_(0)  # (3,) -> (3,)`"""
    def cumsum(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Running sums along `axis`: out[i] = x[0] + ... + x[i]. Example: `Tensor([1, 2, 3]).cumsum()  # (3,) -> (3,)`"""
    def cumsum_(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`cumsum`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1, 2, 3]).cumsum_()  # (3,) -> (3,)`"""
    def deg2rad(self) -> Tensor: r"""x pi / 180: degrees as radians. Example: `Tensor([180.0]).deg2rad()  # (1,) -> (1,)`"""
    def deg2rad_(self) -> Self: r"""`deg2rad`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([180.0]).deg2rad_()  # (1,) -> (1,)`"""
    def det(self) -> Tensor: r"""The determinant of every matrix. Its gradient exists for singular ones too: the cofactors. Example: `Tensor([[1.0, 2.0], [3.0, 5.0]]).det()  # (2, 2) -> ()`"""
    def detach_(self) -> Self: r"""Leave the graph: from here on a leaf that does not require grad. Example: `Tensor([1.0], requires_grad=True).exp().detach_().requires_grad`"""
    @property
    def device(self) -> habits.device: r"""Where it is: always the CPU. Example: `Tensor([1.0]).device`"""
    def diag(self, offset: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A square matrix with the vector x on a diagonal, and zeros elsewhere; or the diagonal of a matrix. Example: `Tensor([1, 2]).diag()  # (2,) -> (2, 2)`"""
    def diag_embed(self, offset: Any = ..., axis1: Any = ..., axis2: Any = ..., *, dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Matrices with x, (..., n), on the diagonal `offset` above the main one, in the axes axis1 and axis2. Example: `Tensor([1, 2]).diag_embed()  # (2,) -> (2, 2)`"""
    def diagonal(self, offset: Any = ..., axis1: Any = ..., axis2: Any = ..., *, dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The elements x[i, i + offset] of the matrices in two axes, as a last axis. A view: no memory is copied. Example: `Tensor([[1, 2], [3, 4]]).diagonal()  # (2, 2) -> (2,)`"""
    def digamma(self) -> Tensor: r"""The derivative of lgamma: gamma'(x) / gamma(x). Example: `Tensor([1.0, 2.0]).digamma()  # (2,) -> (2,)`"""
    def digamma_(self) -> Self: r"""`digamma`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 2.0]).digamma_()  # (2,) -> (2,)`"""
    def dim(self) -> builtins.int: r"""The number of axes. Example: `Tensor([[1, 2, 3]]).dim()`"""
    def div(self, other: Value, rounding_mode: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a / b. Example: `Tensor([7.0, -7.0]).div(2, rounding_mode="floor")  # (2,) -> (2,)`"""
    def div_(self, other: Value, rounding_mode: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`div`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([7.0, -7.0]).div_(2, rounding_mode="floor")  # (2,) -> (2,)`"""
    def divide(self, other: Value, rounding_mode: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a / b. Example: `Tensor([7.0, -7.0]).div(2, rounding_mode="floor")  # (2,) -> (2,)`"""
    def divide_(self, other: Value, rounding_mode: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`divide`, in place: of a leaf that requires grad under no_grad() only."""
    def dot(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches. Example: `Tensor([[1, 2], [3, 4]]).matmul(Tensor([1, 1]))  # (2, 2), (2,) -> (2,)`"""
    def double(self) -> Tensor: r"""This Tensor as float64. Example: `Tensor([1, 2]).double()  # (2,) -> (2,)`"""
    def dropout(self, p: Number = ..., training: builtins.bool = ..., *, ord: Any = ..., train: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Inverted dropout: y = m x / (1 - p), where each m is 0 with probability p, else 1; x itself if not training. Example: `Tensor([1.0, 2.0]).dropout(0.5, training=False)  # (2,) -> (2,)`"""
    @staticmethod
    def einsum(formula: str, *operands: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Sums of products over named axes, as in `einsum("bij,bjk->bik", a, b)`; without "->" the axes named once, sorted. Example: `Tensor.einsum("ij,j->i", Tensor([[1, 2], [3, 4]]), Tensor([1, 1]))`"""
    def element_size(self) -> builtins.int: r"""The bytes of one element. Example: `Tensor([1.0]).element_size()`"""
    def elu(self, alpha: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x if x > 0, else alpha (e^x - 1). Example: `Tensor([-1.0, 2.0]).elu()  # (2,) -> (2,)`"""
    def elu_(self, alpha: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`elu`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.0, 2.0]).elu_()  # (2,) -> (2,)`"""
    @staticmethod
    def empty(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Zeros of a shape, float32 if no dtype is given, as `zeros`: no Tensor shows memory that nobody wrote. Example: `Tensor.empty(2)`"""
    def eq(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a == b. Example: `Tensor([1, 2]).eq(Tensor([1, 3]))  # (2,), (2,) -> (2,)`"""
    def equal(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> builtins.bool: r"""Whether both have the same shape and the same elements, one answer for all. Example: `Tensor([1.0, 2.0]).equal(Tensor([1.0, 2.0]))`"""
    def erf(self) -> Tensor: r"""The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x. Example: `Tensor([0.0, 1.0]).erf()  # (2,) -> (2,)`"""
    def erf_(self) -> Self: r"""`erf`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).erf_()  # (2,) -> (2,)`"""
    def erfinv(self) -> Tensor: r"""The y with erf y = x: infinite at -1 and 1, NaN beyond. Example: `Tensor([0.0, 0.5]).erfinv()  # (2,) -> (2,)`"""
    def erfinv_(self) -> Self: r"""`erfinv`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 0.5]).erfinv_()  # (2,) -> (2,)`"""
    def exp(self) -> Tensor: r"""e^x. Example: `Tensor([0.0, 1.0]).exp()  # (2,) -> (2,)`"""
    def exp2(self) -> Tensor: r"""2^x. Example: `Tensor([0.0, 3.0]).exp2()  # (2,) -> (2,)`"""
    def exp2_(self) -> Self: r"""`exp2`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 3.0]).exp2_()  # (2,) -> (2,)`"""
    def exp_(self) -> Self: r"""`exp`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).exp_()  # (2,) -> (2,)`"""
    def expand(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Broadcast to `shape`; -1 keeps a size. A view, which can be written to if no element is shown twice. Example: `Tensor([[1], [2]]).expand(2, 2)  # (2, 1) -> (2, 2)`"""
    def expand_as(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Broadcast to the shape of another Tensor: a view. Example: `Tensor([1, 2]).expand_as(Tensor.zeros(2, 2))  # (2,), (2, 2) -> (2, 2)`"""
    def expm1(self) -> Tensor: r"""e^x - 1, accurate for small x. Example: `Tensor([0.0, 1.0]).expm1()  # (2,) -> (2,)`"""
    def expm1_(self) -> Self: r"""`expm1`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).expm1_()  # (2,) -> (2,)`"""
    def exponential_(self, *inputs: Any, **options: Any) -> Self: r"""Filled with exponential random numbers of the rate lambd. Example: `Tensor([1.0, 2.0]).exponential_().shape`"""
    @staticmethod
    def eye(n: builtins.int, m: builtins.int | None = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., *, N: Any = ..., M: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The identity matrix (n, n); or (n, m), with ones on its diagonal. Example: `Tensor.eye(2)`"""
    def fill_(self, *inputs: Any, **options: Any) -> Self: r"""Write one value everywhere. Example: `Tensor([1, 2]).fill_(7)  # (2,) -> (2,)`"""
    def fill_diagonal_(self, *inputs: Any, **options: Any) -> Self: r"""A matrix with a number on its diagonal. Example: `Tensor([[1, 2], [3, 4]]).fill_diagonal_(0)  # (2, 2) -> (2, 2)`"""
    def fix(self) -> Tensor: r"""Rounded towards 0, as `trunc`. Example: `Tensor([-1.5]).fix()  # (1,) -> (1,)`"""
    def fix_(self) -> Self: r"""`fix`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.5]).fix_()  # (1,) -> (1,)`"""
    def flatten(self, start_axis: Any = ..., end_axis: Any = ..., *, start_dim: Any = ..., end_dim: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Merge the axes from start_axis to end_axis into one. Example: `Tensor([[1, 2], [3, 4]]).flatten()  # (2, 2) -> (4,)`"""
    def flip(self, *axis: Axis, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Reverse the order of elements along `axis` (all axes if None). A copy, as in PyTorch. Example: `Tensor([1, 2, 3]).flip(0)  # (3,) -> (3,)`"""
    def float(self) -> Tensor: r"""This Tensor as float32. Example: `Tensor([1, 2]).float()  # (2,) -> (2,)`"""
    def floor(self) -> Tensor: r"""The largest whole number not above x; the gradient is 0. Example: `Tensor([-1.5, 1.5]).floor()  # (2,) -> (2,)`"""
    def floor_(self) -> Self: r"""`floor`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.5, 1.5]).floor_()  # (2,) -> (2,)`"""
    def floor_divide(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""floor(a / b), element by element. Example: `Tensor([7]).floor_divide(2)  # (1,) -> (1,)`"""
    def floor_divide_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`floor_divide`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([7]).floor_divide_(2)  # (1,) -> (1,)`"""
    def fmod(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a - b trunc(a / b), with the sign of a. Raises ZeroDivisionError for integers by 0. Example: `Tensor([7, -7]).fmod(3)  # (2,) -> (2,)`"""
    def fmod_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`fmod`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([7, -7]).fmod_(3)  # (2,) -> (2,)`"""
    def frac(self) -> Tensor: r"""x - trunc(x): what is behind the point, with the sign of x. Example: `Tensor([1.5, -0.25]).frac()  # (2,) -> (2,)`"""
    def frac_(self) -> Self: r"""`frac`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.5, -0.25]).frac_()  # (2,) -> (2,)`"""
    @staticmethod
    def from_dlpack(x: Any, *, input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A Tensor on the memory of another library's CPU tensor (PyTorch, JAX, NumPy ...), without a copy. Example: `Tensor.from_dlpack(np.arange(3))`"""
    @staticmethod
    def from_numpy(array: np.ndarray, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A Tensor on the memory of `array`, without a copy: later writes to the array change the Tensor, unchecked. Example: `Tensor.from_numpy(np.arange(3))`"""
    @staticmethod
    def full(shape: builtins.int | Sequence[builtins.int], fill_value: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., *, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""One value in every place of a shape; its dtype is the value's if none is given. Example: `Tensor.full((2, 2), 7)`"""
    def full_like(self, fill_value: Any, **options: Any) -> Tensor: r"""One value in every place of this Tensor's shape, of its dtype. Example: `Tensor([1.0, 2.0]).full_like(7)  # (2,) -> (2,)`"""
    def gather(self, axis: Axis, index: Any, *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""out[i, j] = x[i, index[i, j]] for axis=1, and so for any axis. Example: `Tensor([[1, 2], [3, 4]]).gather(1, Tensor([[1], [0]]))  # (2, 2), (2, 1) -> (2, 1)`"""
    def ge(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a >= b. Example: `Tensor([1, 2]).ge(2)  # (2,) -> (2,)`"""
    def gelu(self, approximate: builtins.str = ..., *, approximation: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (7.27); with approximate="tanh" the form 003 and GPT-2 use. Example: `Tensor([-1.0, 1.0]).gelu()  # (2,) -> (2,)`"""
    def geometric_(self, *inputs: Any, **options: Any) -> Self: r"""Filled with the number of tries until a success of probability p. Example: `Tensor([1.0, 2.0]).geometric_(0.5).shape`"""
    @staticmethod
    def glorot_uniform(*shape: Any, **options: Any) -> Tensor: r"""Uniform on [-b, b) with b = sqrt(6 / (fan_in + fan_out)), for shape (fan_out, *fan_in). Example: `Tensor.glorot_uniform(2, 3).shape`"""
    @property
    def grad_fn(self) -> Callable[..., Tensor]: r"""The `node`, under PyTorch's name. Example: `Tensor([1.0], requires_grad=True).exp().grad_fn.op`"""
    def greater(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a > b. Example: `Tensor([1, 2]).gt(1)  # (2,) -> (2,)`"""
    def greater_equal(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a >= b. Example: `Tensor([1, 2]).ge(2)  # (2,) -> (2,)`"""
    def gt(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a > b. Example: `Tensor([1, 2]).gt(1)  # (2,) -> (2,)`"""
    def half(self) -> Tensor: r"""This Tensor as float16: for storage, since ops compute in float32 and round. Example: `Tensor([1, 2]).half()  # (2,) -> (2,)`"""
    def hardsigmoid(self, alpha: Number = ..., beta: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""alpha x + beta limited to [0, 1]: sigmoid in three straight pieces; where they meet the gradient is 0. Example: `Tensor([-4.0, 0.0]).hardsigmoid()  # (2,) -> (2,)`"""
    def hardsigmoid_(self, alpha: Number = ..., beta: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`hardsigmoid`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-4.0, 0.0]).hardsigmoid_()  # (2,) -> (2,)`"""
    def hardswish(self) -> Tensor: r"""x hardsigmoid(x) (Howard et al. 2019). Example: `Tensor([-4.0, 1.0]).hardswish()  # (2,) -> (2,)`"""
    def hardswish_(self) -> Self: r"""`hardswish`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-4.0, 1.0]).hardswish_()  # (2,) -> (2,)`"""
    def hardtanh(self, min_val: Number = ..., max_val: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x limited to [min_val, max_val]; unlike clip's, the gradient at the limits is 0, as relu's is at 0. Example: `Tensor([-2.0, 0.5]).hardtanh()  # (2,) -> (2,)`"""
    def hardtanh_(self, min_val: Number = ..., max_val: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`hardtanh`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-2.0, 0.5]).hardtanh_()  # (2,) -> (2,)`"""
    def hypot(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""sqrt(a^2 + b^2), without overflow; at (0, 0) both gradients are 0. Example: `Tensor([3.0, 5.0]).hypot(Tensor([4.0, 12.0]))  # (2,), (2,) -> (2,)`"""
    def hypot_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`hypot`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([3.0, 5.0]).hypot_(Tensor([4.0, 12.0]))  # (2,), (2,) -> (2,)`"""
    def index_add(self, axis: Axis, index: Any, source: Any, alpha: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""This Tensor with the slices of source, times alpha, added to those that index names along the axis. Example: `Tensor([1, 2]).index_add(0, Tensor([1, 1]), Tensor([10, 20]))  # (2,), (2,), (2,) -> (2,)`"""
    def index_add_(self, axis: Axis, index: Any, source: Any, alpha: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`index_add`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1, 2]).index_add_(0, Tensor([1, 1]), Tensor([10, 20]))  # (2,), (2,), (2,) -> (2,)`"""
    def index_put(self, indices: Any, values: Any, accumulate: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""This Tensor with `values` at the places that a tuple of indices names, or added there with accumulate. Example: `Tensor([1.0, 2.0]).index_put((Tensor([0]),), Tensor([5.0]))  # (2,) -> (2,)`"""
    def index_put_(self, indices: Any, values: Any, accumulate: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`index_put`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 2.0]).index_put_((Tensor([0]),), Tensor([5.0]))  # (2,) -> (2,)`"""
    def index_select(self, axis: Axis, index: Any, *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The slices of an axis that a vector of integers names. Example: `Tensor([[1, 2], [3, 4]]).index_select(1, Tensor([1, 1]))  # (2, 2), (2,) -> (2, 2)`"""
    def inner(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Sums of products over the last axis of both: (..., n), (*, n) -> (..., *). Example: `Tensor([1.0, 2.0, 3.0]).inner(Tensor([1.0, 2.0, 3.0]))  # (3,) -> ()`"""
    def int(self) -> Tensor: r"""This Tensor as int32. Example: `Tensor([1.7]).int()  # (1,) -> (1,)`"""
    def interpolate(self, size: Any = ..., mode: builtins.str = ..., align_corners: builtins.bool = ..., scale_factor: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x enlarged or reduced: (batch, channels, *spatial) -> (batch, channels, *size), for one to three spatial axes. Example: `Tensor([[[1.0, 2.0]]]).interpolate((4,), mode="nearest")  # (1, 1, 2) -> (1, 1, 4)`"""
    def inverse(self) -> Tensor: r"""The inverse of every matrix. Raises ValueError for a singular one. Example: `Tensor([[2.0, 0.0], [0.0, 4.0]]).inverse()  # (2, 2) -> (2, 2)`"""
    def is_complex(self) -> builtins.bool: r"""Whether the elements are complex, which they never are. Example: `Tensor([1.0]).is_complex()`"""
    def is_contiguous(self) -> builtins.bool: r"""Whether the elements lie in memory row by row, without gaps. Example: `Tensor([[1, 2, 3]]).is_contiguous()`"""
    is_cuda: builtins.bool
    is_sparse: builtins.bool
    def isclose(self, b: Any, rtol: Number = ..., atol: Number = ..., equal_nan: builtins.bool = ..., *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Where |a - b| <= atol + rtol |b|, or both are the same infinity; or both NaN, with equal_nan. Example: `Tensor([1.0, 2.0]).isclose(Tensor([1.0, 2.1]))  # (2,), (2,) -> (2,)`"""
    def isfinite(self) -> Tensor: r"""Where x is neither infinite nor NaN. Example: `Tensor([1.0, float("inf")]).isfinite()  # (2,) -> (2,)`"""
    def isinf(self, detect_positive: builtins.bool = ..., detect_negative: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Where it is infinite; of one sign alone, if the other is not to be detected. Example: `Tensor([1.0, float("inf")]).isinf()  # (2,) -> (2,)`"""
    def isnan(self) -> Tensor: r"""Where x is NaN. Example: `Tensor([1.0, float("nan")]).isnan()  # (2,) -> (2,)`"""
    def isneginf(self) -> Tensor: r"""Where x is -infinity. Example: `Tensor([1.0, float('inf')]).isneginf()  # (2,) -> (2,)`"""
    def isposinf(self) -> Tensor: r"""Where x is +infinity. Example: `Tensor([1.0, float('inf')]).isposinf()  # (2,) -> (2,)`"""
    @staticmethod
    def kaiming_normal(*shape: Any, a: Number = ..., **options: Any) -> Tensor: r"""Normal with standard deviation sqrt(2 / (fan_in (1 + a^2))), for a leaky_relu of slope a to come. Example: `Tensor.kaiming_normal(2, 3).shape`"""
    @staticmethod
    def kaiming_uniform(*shape: Any, a: Number = ..., **options: Any) -> Tensor: r"""Uniform on [-b, b) with b = sqrt(6 / (fan_in (1 + a^2))), for a leaky_relu of slope a to come. Example: `Tensor.kaiming_uniform(2, 3).shape`"""
    def kron(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The Kronecker product: blocks a[i, j] b. Example: `Tensor([1, 2]).kron(Tensor([1, 10]))  # (2,) -> (4,)`"""
    def layernorm(self, axis: Axis = ..., eps: Number | None = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x minus its mean over `axis`, divided by the square root of its variance there, plus eps: layer_norm without weights, over any axes. Example: `Tensor([1.0, 3.0]).layernorm()  # (2,) -> (2,)`"""
    def le(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a <= b. Example: `Tensor([1, 2]).le(1)  # (2,) -> (2,)`"""
    def leaky_relu(self, negative_slope: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x if x > 0, else negative_slope * x (7.26). Example: `Tensor([-1.0, 2.0]).leaky_relu(0.1)  # (2,) -> (2,)`"""
    def leaky_relu_(self, negative_slope: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`leaky_relu`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.0, 2.0]).leaky_relu_(0.1)  # (2,) -> (2,)`"""
    def lerp(self, end: Any, weight: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""self + weight (end - self): between this Tensor and `end`. Example: `Tensor([0.0, 10.0]).lerp(Tensor([1.0, 20.0]), 0.5)  # (2,), (2,) -> (2,)`"""
    def lerp_(self, end: Any, weight: Any, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`lerp`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 10.0]).lerp_(Tensor([1.0, 20.0]), 0.5)  # (2,), (2,) -> (2,)`"""
    def less(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a < b. Example: `Tensor([1, 2]).lt(2)  # (2,) -> (2,)`"""
    def less_equal(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a <= b. Example: `Tensor([1, 2]).le(1)  # (2,) -> (2,)`"""
    def lgamma(self) -> Tensor: r"""log |gamma(x)|, where gamma(n) = (n - 1)!. Infinity at 0, -1, -2 ... Example: `Tensor([3.0, 4.0]).lgamma()  # (2,) -> (2,)`"""
    def lgamma_(self) -> Self: r"""`lgamma`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([3.0, 4.0]).lgamma_()  # (2,) -> (2,)`"""
    def linear(self, weight: Any, bias: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""y = x W^T + b over any leading axes (7.17-7.19). x (..., in), weight (out, in), bias (out) -> (..., out). Example: `Tensor([1.0, 2.0]).linear(Tensor([[1.0, 1.0], [0.0, 3.0]]), Tensor([0.5, 0.0]))  # (2,), (2, 2), (2,) -> (2,)`"""
    @staticmethod
    def linspace(start: Number, stop: Number, steps: builtins.int, dtype: Any = ..., requires_grad: builtins.bool = ..., *, end: Any = ..., num: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""`steps` values from start to stop, both included. Example: `Tensor.linspace(0, 1, 5)`"""
    def log(self) -> Tensor: r"""The natural logarithm. Example: `Tensor([1.0, 10.0]).log()  # (2,) -> (2,)`"""
    def log10(self) -> Tensor: r"""The logarithm to base 10. Example: `Tensor([1.0, 100.0]).log10()  # (2,) -> (2,)`"""
    def log10_(self) -> Self: r"""`log10`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 100.0]).log10_()  # (2,) -> (2,)`"""
    def log1p(self) -> Tensor: r"""log(1 + x), accurate for small x. Example: `Tensor([0.0, 1.0]).log1p()  # (2,) -> (2,)`"""
    def log1p_(self) -> Self: r"""`log1p`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).log1p_()  # (2,) -> (2,)`"""
    def log2(self) -> Tensor: r"""The logarithm to base 2. Example: `Tensor([1.0, 8.0]).log2()  # (2,) -> (2,)`"""
    def log2_(self) -> Self: r"""`log2`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 8.0]).log2_()  # (2,) -> (2,)`"""
    def log_(self) -> Self: r"""`log`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 10.0]).log_()  # (2,) -> (2,)`"""
    def log_normal_(self, *inputs: Any, **options: Any) -> Self: r"""Filled with numbers whose logarithm is normal, with this mean and std. Example: `Tensor([1.0, 2.0]).log_normal_().shape`"""
    def log_softmax(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log p_i = x_i - log sum_j e^(x_j) along `axis`, exact where softmax itself would round to 0. Example: `Tensor([0.0, 1.0]).log_softmax()  # (2,) -> (2,)`"""
    def logaddexp(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log(e^a + e^b), without overflow. Example: `Tensor([0.0]).logaddexp(Tensor([0.0]))  # (1,), (1,) -> (1,)`"""
    def logcumsumexp(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log of the running sums of e^x along `axis`, without overflow. Example: `Tensor([0.0, 0.0]).logcumsumexp(0)  # (2,) -> (2,)`"""
    def logical_and(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a and b of booleans; bit by bit for integers. Example: `Tensor([True, True]).logical_and(Tensor([True, False]))  # (2,), (2,) -> (2,)`"""
    def logical_and_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`logical_and`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([True, True]).logical_and_(Tensor([True, False]))  # (2,), (2,) -> (2,)`"""
    def logical_not(self) -> Tensor: r"""Where it is 0, or false; ~x is bit by bit for integers. Example: `Tensor([True, False]).logical_not()  # (2,) -> (2,)`"""
    def logical_not_(self) -> Self: r"""`logical_not`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([True, False]).logical_not_()  # (2,) -> (2,)`"""
    def logical_or(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a or b of booleans; bit by bit for integers. Example: `Tensor([True, False]).logical_or(Tensor([False, False]))  # (2,), (2,) -> (2,)`"""
    def logical_or_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`logical_or`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([True, False]).logical_or_(Tensor([False, False]))  # (2,), (2,) -> (2,)`"""
    def logical_xor(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Either a or b of booleans, not both; bit by bit for integers. Example: `Tensor([True, True]).logical_xor(Tensor([True, False]))  # (2,), (2,) -> (2,)`"""
    def logical_xor_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`logical_xor`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([True, True]).logical_xor_(Tensor([True, False]))  # (2,), (2,) -> (2,)`"""
    def logit(self, eps: Number | None = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log(x / (1 - x)), the inverse of the sigmoid; with eps, x is limited to [eps, 1 - eps] first. Example: `Tensor([0.5]).logit()  # (1,) -> (1,)`"""
    def logit_(self, eps: Number | None = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`logit`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.5]).logit_()  # (1,) -> (1,)`"""
    def logsigmoid(self) -> Tensor: r"""log sigma(x) = -softplus(-x), without its threshold. Example: `Tensor([0.0, 2.0]).logsigmoid()  # (2,) -> (2,)`"""
    def logsumexp(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log sum_j e^(x_j) over `axis`, as m + log sum_j e^(x_j - m) with m = max_j x_j. Example: `Tensor([0.0, 0.0]).logsumexp()  # (2,) -> ()`"""
    def long(self) -> Tensor: r"""This Tensor as int64. Example: `Tensor([1.7]).long()  # (1,) -> (1,)`"""
    def lshift(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a 2^b, for integers. Example: `Tensor([1, 2]).lshift(3)  # (2,) -> (2,)`"""
    def lstsq(self, b: Any, rcond: Any = ..., *, driver: Any = ..., other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""x of least |a x - b|, and of those of least norm: a (..., m, n), b (..., m, k) -> solution (..., n, k). Example: `Tensor([[1.0], [1.0]]).lstsq(Tensor([[1.0], [3.0]])).solution  # (2, 1) -> (1, 1)`"""
    def lt(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a < b. Example: `Tensor([1, 2]).lt(2)  # (2,) -> (2,)`"""
    @property
    def mH(self) -> Tensor: r"""The last two axes swapped: the transpose of every matrix in a batch. Example: `Tensor([[[1, 2], [3, 4]]]).mT  # (1, 2, 2) -> (1, 2, 2)`"""
    @property
    def mT(self) -> Tensor: r"""The last two axes swapped: the transpose of every matrix in a batch. Example: `Tensor([[[1, 2], [3, 4]]]).mT  # (1, 2, 2) -> (1, 2, 2)`"""
    @staticmethod
    def manual_seed(seed: builtins.int, **without_effect: Unpack[WithoutEffect]) -> Any: r"""Restart the package's generator, and return it: after the same seed, all draws repeat. Shared by all threads. Example: `Tensor.manual_seed(0).initial_seed()`"""
    def masked_fill(self, mask: Any, value: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""This Tensor with `value` where the boolean mask is true. Example: `Tensor([1.0, 2.0]).masked_fill(Tensor([True, False]), 9.0)  # (2,), (2,) -> (2,)`"""
    def masked_fill_(self, mask: Any, value: Any, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`masked_fill`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 2.0]).masked_fill_(Tensor([True, False]), 9.0)  # (2,), (2,) -> (2,)`"""
    def masked_select(self, mask: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The elements of x where the mask is true, in a row; the two broadcast. Raises TypeError unless it is boolean. Example: `Tensor([1, 2, 3]).masked_select(Tensor([True, False, True]))  # (3,), (3,) -> (2,)`"""
    def matmul(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The matrix product a @ b, with NumPy's rules for vectors and batches. Example: `Tensor([[1, 2], [3, 4]]).matmul(Tensor([1, 1]))  # (2, 2), (2,) -> (2,)`"""
    def max(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., **others: Any) -> Tensor: r"""The largest value, or values over `axis`; of two Tensors the larger of each pair. Example: `Tensor([[1, 5], [4, 2]]).max(axis=1)  # (2, 2) -> (2,)`"""
    def max_pool2d(self, kernel_size: Any = ..., stride: Any = ..., dilation: Any = ..., padding: Any = ..., ceil_mode: builtins.bool = ..., return_indices: builtins.bool = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The largest element of every window: (batch, channels, height, width) -> (batch, channels, rows, columns). Example: `Tensor.arange(4.0).reshape(1, 1, 2, 2).max_pool2d()`"""
    def max_unpool2d(self, indices: Any, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., output_size: Any = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The adjoint of max_pool2d with `return_indices`: each value where it came from, zeros elsewhere. Example: `Tensor([[[[9.0]]]]).max_unpool2d(Tensor([[[[3]]]]))  # (1, 1, 1, 1), (1, 1, 1, 1) -> (1, 1, 2, 2)`"""
    def maximum(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The larger of a and b; where they are equal each gets half of the cotangent. Example: `Tensor([1, 5]).maximum(Tensor([3, 2]))  # (2,), (2,) -> (2,)`"""
    def mean(self, axis: Axis = ..., keepdim: builtins.bool = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The mean over `axis` (all axes if None); of integers it has the default dtype. Example: `Tensor([[1.0, 2.0], [3.0, 4.0]]).mean(axis=0)  # (2, 2) -> (2,)`"""
    def median(self, axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Any: r"""The middle value, of two the lower; along an axis, with its index: (values, indices). NaN if there is one. Example: `Tensor([3.0, 1.0, 2.0]).median()  # (3,) -> ()`"""
    def meshgrid(self, *, indexing: builtins.str = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""Vectors (or numbers), also in a list, as coordinates of a grid: for each a Tensor of the grid's shape. A tuple. Example: `Tensor([1, 2]).meshgrid(Tensor([3, 4]))  # (2,), (2,) -> (2, 2), (2, 2)`"""
    def min(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., **others: Any) -> Tensor: r"""The smallest value, or values over `axis`; of two Tensors the smaller of each pair. Example: `Tensor([[1, 5], [4, 2]]).min(axis=1)  # (2, 2) -> (2,)`"""
    def minimum(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The smaller of a and b; where they are equal each gets half of the cotangent. Example: `Tensor([1, 5]).minimum(Tensor([3, 2]))  # (2,), (2,) -> (2,)`"""
    def mish(self) -> Tensor: r"""x tanh(softplus(x)) (Misra 2019). Example: `Tensor([-1.0, 1.0]).mish()  # (2,) -> (2,)`"""
    def mm(self, mat2: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The products of matrices, one by one. Example: `Tensor([[[2.0]]]).bmm(Tensor([[[3.0]]]))  # (1, 1, 1), (1, 1, 1) -> (1, 1, 1)`"""
    def mod(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a - b floor(a / b), with the sign of b. Raises ZeroDivisionError for integers by 0. Example: `Tensor([7, -7]).mod(3)  # (2,) -> (2,)`"""
    def mod_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`mod`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([7, -7]).mod_(3)  # (2,) -> (2,)`"""
    def moveaxis(self, source: Any, destination: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The axes moved to other places, as `movedim`. Example: `Tensor([[1.0, 2.0], [3.0, 4.0]]).moveaxis(0, 1)  # (2, 2) -> (2, 2)`"""
    def movedim(self, source: Any, destination: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The axes `source`, a number or several, moved to the places `destination`; the others keep their order. Example: `Tensor([[1.0, 2.0], [3.0, 4.0]]).movedim(0, 1)  # (2, 2) -> (2, 2)`"""
    def mul(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a b, element by element. Example: `Tensor([1, 2]).mul(3)  # (2,) -> (2,)`"""
    def mul_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`mul`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1, 2]).mul_(3)  # (2,) -> (2,)`"""
    def multinomial(self, num_samples: Any = ..., replacement: builtins.bool = ..., generator: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Indices drawn with probabilities in proportion to weights (n) or (rows, n) -> (num_samples) or (rows, ...). Example: `Tensor([0.0, 1.0]).multinomial(3, replacement=True)  # (2,) -> (3,)`"""
    def multiply(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a b, element by element. Example: `Tensor([1, 2]).mul(3)  # (2,) -> (2,)`"""
    def multiply_(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Self: r"""`multiply`, in place: of a leaf that requires grad under no_grad() only."""
    def mv(self, vec: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A matrix times a vector. Example: `Tensor([[1.0, 2.0]]).mv(Tensor([3.0, 4.0]))  # (1, 2), (2,) -> (1,)`"""
    def nan_to_num(self, nan: Number = ..., posinf: Any = ..., neginf: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x with other numbers for NaN and the infinities, by default the largest and the least of its dtype. Example: `Tensor([float('nan'), 1.0]).nan_to_num()  # (2,) -> (2,)`"""
    def nan_to_num_(self, nan: Number = ..., posinf: Any = ..., neginf: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`nan_to_num`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([float('nan'), 1.0]).nan_to_num_()  # (2,) -> (2,)`"""
    def narrow(self, axis: Axis, start: Any, length: Any, *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""`length` elements of an axis from `start` on: a view. Example: `Tensor([1, 2, 3, 4]).narrow(0, 1, 2)  # (4,) -> (2,)`"""
    def ndimension(self) -> builtins.int: r"""The number of axes. Example: `Tensor([[1, 2, 3]]).ndimension()`"""
    def ne(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a != b. Example: `Tensor([1, 2]).ne(Tensor([1, 3]))  # (2,), (2,) -> (2,)`"""
    def neg(self) -> Tensor: r"""-x. Example: `Tensor([1, -2]).neg()  # (2,) -> (2,)`"""
    def neg_(self) -> Self: r"""`neg`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1, -2]).neg_()  # (2,) -> (2,)`"""
    def negative(self) -> Tensor: r"""-x. Example: `Tensor([1, -2]).neg()  # (2,) -> (2,)`"""
    def negative_(self) -> Self: r"""`negative`, in place: of a leaf that requires grad under no_grad() only."""
    def nelement(self) -> builtins.int: r"""The number of elements. Example: `Tensor([[1, 2, 3]]).nelement()`"""
    def new(self, *data: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A new Tensor of this one's dtype: of data, or zeros of the sizes given. Example: `Tensor([1.0, 2.0]).new(2, 1).shape`"""
    @property
    def new_empty(self) -> Callable[..., Tensor]: r"""`Tensor.empty`, of this Tensor's dtype. Example: `Tensor([1, 2]).new_empty(3)  # (2,) -> (3,)`"""
    @property
    def new_full(self) -> Callable[..., Tensor]: r"""`Tensor.full`, of this Tensor's dtype. Example: `Tensor([1.0, 2.0]).new_full((2,), 7)  # (2,) -> (2,)`"""
    @property
    def new_ones(self) -> Callable[..., Tensor]: r"""`Tensor.ones`, of this Tensor's dtype. Example: `Tensor([1, 2]).new_ones(3)  # (2,) -> (3,)`"""
    @property
    def new_tensor(self) -> Callable[..., Tensor]: r"""`Tensor(data)`, of this Tensor's dtype. Example: `Tensor([1.0, 2.0]).new_tensor([3, 4])  # (2,) -> (2,)`"""
    @property
    def new_zeros(self) -> Callable[..., Tensor]: r"""`Tensor.zeros`, of this Tensor's dtype. Example: `Tensor([1, 2]).new_zeros(3)  # (2,) -> (3,)`"""
    def nll_loss(self, target: Any, weight: Any = ..., ignore_index: Any = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""-input[i, target[i]]: the negative log-likelihood of labels, given log-probabilities (as log_softmax makes them). Example: `Tensor([[-1.0, -2.0]]).nll_loss(Tensor([1]))  # (1, 2), (1,) -> ()`"""
    def nonzero(self, as_tuple: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The places that are not 0, one in each row: (number, ndim); or, as a tuple, their indices along each axis. Example: `Tensor([0, 5, 0, 6]).nonzero()  # (4,) -> (2, 1)`"""
    def norm(self, p: Number = ..., axis: Axis = ..., keepdim: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., ord: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""(sum of |x|^p)^(1/p), over `axis` if one is given. Example: `Tensor([3.0, -4.0]).norm()  # (2,) -> ()`"""
    @staticmethod
    def normal(*shape: Any, mean: Number = ..., std: Number = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Normal with the given mean and standard deviation. Example: `Tensor.normal(2, 3, mean=10, std=2).shape`"""
    def normal_(self, *, mean: Number = ..., std: Number = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Self: r"""Write normal numbers. Example: `Tensor([1.0, 2.0]).normal_(0, 0.02).shape`"""
    def normalize(self, p: Number = ..., axis: Axis = ..., eps: Number | None = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., ord: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x / max(||x||_p, eps) along `axis`. Example: `Tensor([[3.0, 4.0]]).normalize()  # (1, 2) -> (1, 2)`"""
    def not_equal(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a != b. Example: `Tensor([1, 2]).ne(Tensor([1, 3]))  # (2,), (2,) -> (2,)`"""
    def one_hot(self, num_classes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""A new last axis of size num_classes, 1 at the index and 0 elsewhere (int64); -1 takes the largest index + 1. Example: `Tensor([0, 2]).one_hot(3)  # (2,) -> (2, 3)`"""
    @staticmethod
    def ones(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Ones of a shape, float32 if no dtype is given. Example: `Tensor.ones(3)`"""
    def ones_like(self, **options: Any) -> Tensor: r"""Ones of this Tensor's shape and dtype. Example: `Tensor([1.0, 2.0]).ones_like()  # (2,) -> (2,)`"""
    def outer(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""out[i, j] = a[i] b[j] of two vectors. Example: `Tensor([1, 2]).outer(Tensor([3, 4]))  # (2,), (2,) -> (2, 2)`"""
    def pad(self, padding: Any, mode: builtins.str = ..., value: Number = ..., *, pad: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Add elements around x. Example: `Tensor([1, 2]).pad((1, 1))  # (2,) -> (4,)`"""
    def permute(self, *axes: Any, dim: Any = ..., dims: Any = ..., axis: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The axes in another order: out.shape[i] = x.shape[axes[i]]. Example: `Tensor.zeros(2, 3, 4).permute(2, 0, 1).shape`"""
    def pin_memory(self) -> Tensor: r"""The Tensor itself: there is no memory but the CPU's. Example: `Tensor([1.0]).pin_memory()`"""
    def positive(self) -> Tensor: r"""The same numbers. Example: `Tensor([1.0]).positive()  # (1,) -> (1,)`"""
    def pow(self, exponent: Value, *, other: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a^b. The gradient with respect to b is NaN where a < 0, which has no logarithm, and 0 where a = 0 and b >= 0. Example: `Tensor([1.0, 2.0, 3.0]).pow(2)  # (3,) -> (3,)`"""
    def pow_(self, exponent: Value, *, other: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`pow`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 2.0, 3.0]).pow_(2)  # (3,) -> (3,)`"""
    def prod(self, axis: Axis = ..., keepdim: builtins.bool = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The product over `axis` (all axes if None); its gradient is exact where factors are 0. Example: `Tensor([2, 3, 4]).prod()  # (3,) -> ()`"""
    def qr(self) -> tuple[Tensor, ...]: r"""Q with orthonormal columns and R, upper triangular, with Q R = x: (..., m, n) -> (..., m, k), (..., k, n). Example: `Tensor([[2.0, 0.0], [0.0, 4.0]]).qr()[1].abs()  # (2, 2) -> (2, 2)`"""
    def quick_gelu(self) -> Tensor: r"""x sigma(1.702 x), close to gelu. Example: `Tensor([-1.0, 1.0]).quick_gelu()  # (2,) -> (2,)`"""
    def rad2deg(self) -> Tensor: r"""x 180 / pi: radians as degrees. Example: `Tensor([1.0]).rad2deg()  # (1,) -> (1,)`"""
    def rad2deg_(self) -> Self: r"""`rad2deg`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0]).rad2deg_()  # (1,) -> (1,)`"""
    @staticmethod
    def rand(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Uniform on [0, 1). Example: `Tensor.rand(2, 3).shape`"""
    def rand_like(self, **options: Any) -> Tensor: r"""Uniform on [0, 1), of this Tensor's shape and dtype. Example: `Tensor([1.0, 2.0]).rand_like().shape`"""
    @staticmethod
    def randint(*shape: Any, low: builtins.int = ..., high: builtins.int = ..., dtype: Any = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Integers, uniform on low, ..., high - 1. Example: `Tensor.randint(2, 3, low=0, high=10).dtype`"""
    @staticmethod
    def randn(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Standard normal. Example: `Tensor.randn(2, 3).shape`"""
    def randn_like(self, **options: Any) -> Tensor: r"""Standard normal, of this Tensor's shape and dtype. Example: `Tensor([1.0, 2.0]).randn_like().shape`"""
    def random_(self, *inputs: Any, **options: Any) -> Self: r"""Filled with random integers from low to high - 1. Example: `Tensor([1.0, 2.0]).random_(3).shape`"""
    @staticmethod
    def randperm(n: builtins.int, generator: Any = ..., *, N: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""The numbers 0, ..., n - 1 in random order. Example: `Tensor.randperm(4).sort()[0]`"""
    def ravel(self) -> Tensor: r"""All elements, in C order, in one axis. Example: `Tensor([[1, 2], [3, 4]]).ravel()  # (2, 2) -> (4,)`"""
    @property
    def real(self) -> Tensor: r"""The Tensor itself: its elements are real."""
    def rearrange(self, formula: str, **sizes: Any) -> Tensor: r"""einops' rearrange, as "b (h w) c -> b c h w" with h=8: axes taken apart, reordered and merged. Example: `Tensor.zeros(2, 3, 4).rearrange("b h w -> b (h w)").shape`"""
    def reciprocal(self) -> Tensor: r"""1 / x. Example: `Tensor([2.0, -4.0]).reciprocal()  # (2,) -> (2,)`"""
    def reciprocal_(self) -> Self: r"""`reciprocal`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([2.0, -4.0]).reciprocal_()  # (2,) -> (2,)`"""
    def register_post_accumulate_grad_hook(self, hook: Any, **without_effect: Unpack[WithoutEffect]) -> Any: r"""Call `hook(x)` whenever backward has added to the `.grad` of this leaf; a handle, to remove it, is returned. Example: `Tensor([1.0], requires_grad=True).register_post_accumulate_grad_hook(print).remove()`"""
    def relu(self) -> Tensor: r"""max(x, 0) (7.20). The derivative at 0 is taken to be 0. Example: `Tensor([-1.0, 2.0]).relu()  # (2,) -> (2,)`"""
    def relu6(self) -> Tensor: r"""min(max(x, 0), 6); the gradient at 0 and at 6 is 0. Example: `Tensor([-1.0, 8.0]).relu6()  # (2,) -> (2,)`"""
    def relu6_(self) -> Self: r"""`relu6`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.0, 8.0]).relu6_()  # (2,) -> (2,)`"""
    def relu_(self) -> Self: r"""`relu`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.0, 2.0]).relu_()  # (2,) -> (2,)`"""
    def remainder(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a - b floor(a / b), with the sign of b. Example: `Tensor([-1.0, 5.0]).remainder(3)  # (2,) -> (2,)`"""
    def remainder_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`remainder`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.0, 5.0]).remainder_(3)  # (2,) -> (2,)`"""
    def repeat(self, *repeats: Any, repeat: Any = ..., reps: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Tile: the whole Tensor repeated `repeats[i]` times along axis i; missing leading axes are added. Example: `Tensor([1, 2]).repeat(2)  # (2,) -> (4,)`"""
    def repeat_interleave(self, repeats: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., repeat: Any = ..., reps: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Each element (or each slice along `axis`) repeated `repeats` times in place; or each its own number of times. Example: `Tensor([1, 2]).repeat_interleave(2)  # (2,) -> (4,)`"""
    def reshape(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The same elements, in C order, in another shape; one size may be -1, to be worked out. Example: `Tensor([1, 2, 3, 4]).reshape(2, -1)  # (4,) -> (2, 2)`"""
    def reshape_as(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The same elements in the shape of another Tensor. Example: `Tensor([1, 2]).reshape_as(Tensor([[5], [6]]))  # (2,), (2, 1) -> (2, 1)`"""
    def resize_(self, *size: Any, memory_format: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., generator: Any = ..., inplace: Any = ..., layout: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Self: r"""Give this Tensor another shape, of its first numbers, row by row; if it needs more, zeros follow."""
    def resize_as_(self, the_template: Any, memory_format: Any = ..., *, capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., generator: Any = ..., inplace: Any = ..., layout: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Self: r"""`resize_` to the shape of another Tensor."""
    def resolve_conj(self) -> Tensor: r"""The Tensor itself: its elements are real. Example: `Tensor([1.0]).conj()`"""
    def resolve_neg(self) -> Tensor: r"""The Tensor itself: its elements are real. Example: `Tensor([1.0]).conj()`"""
    def roll(self, shifts: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., shift: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Shift elements along `axis`, re-entering at the other end; of the flattened Tensor if axis is None. Example: `Tensor([1, 2, 3]).roll(1)  # (3,) -> (3,)`"""
    def round(self, decimals: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The nearest whole number, halves to even; the gradient is 0. Example: `Tensor([0.5, 1.5, 2.6]).round()  # (3,) -> (3,)`"""
    def round_(self, decimals: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`round`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.5, 1.5, 2.6]).round_()  # (3,) -> (3,)`"""
    def rshift(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""floor(a / 2^b), for integers. Example: `Tensor([8, 17]).rshift(3)  # (2,) -> (2,)`"""
    def rsqrt(self) -> Tensor: r"""1 / sqrt(x). Example: `Tensor([4.0, 16.0]).rsqrt()  # (2,) -> (2,)`"""
    def rsqrt_(self) -> Self: r"""`rsqrt`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([4.0, 16.0]).rsqrt_()  # (2,) -> (2,)`"""
    def scaled_dot_product_attention(self, key: Any, value: Any, attn_mask: Any = ..., dropout_p: Number = ..., is_causal: builtins.bool = ..., scale: Any = ..., enable_gqa: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""softmax(scale q k^T + mask) v: for every query a mean of the values, weighed by how well their keys match it. Example: `Tensor([[0.0]]).scaled_dot_product_attention(Tensor([[1.0], [2.0]]), Tensor([[1.0], [3.0]]))  # (1, 1), (2, 1), (2, 1) -> (1, 1)`"""
    @staticmethod
    def scaled_uniform(*shape: Any, **options: Any) -> Tensor: r"""Uniform on [-b, b) with b = 1 / sqrt(number of elements). Example: `Tensor.scaled_uniform(2, 3).shape`"""
    def scatter(self, axis: Axis, index: Any, src: Any, reduce: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""src written at index; or added to what is there (reduce="add"), or multiplied with it ("multiply"). Example: `Tensor([0, 0, 0]).scatter(0, Tensor([2, 0]), Tensor([7, 8]))  # (3,), (2,), (2,) -> (3,)`"""
    def scatter_(self, axis: Axis, index: Any, src: Any, reduce: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`scatter`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0, 0, 0]).scatter_(0, Tensor([2, 0]), Tensor([7, 8]))  # (3,), (2,), (2,) -> (3,)`"""
    def scatter_add(self, axis: Axis, index: Any, src: Any, *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x with src added at index: out[i, index[i, j]] += src[i, j] for axis=1. The adjoint of gather. Example: `Tensor([1, 1]).scatter_add(0, Tensor([1, 1]), Tensor([7, 8]))  # (2,), (2,), (2,) -> (2,)`"""
    def scatter_add_(self, axis: Axis, index: Any, src: Any, *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`scatter_add`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1, 1]).scatter_add_(0, Tensor([1, 1]), Tensor([7, 8]))  # (2,), (2,), (2,) -> (2,)`"""
    def scatter_reduce(self, axis: Axis, index: Any, src: Any, reduce: Any, include_self: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x with src reduced into it at index: for axis=1, out[i, index[i, j]] = reduce of x there and all src[i, j]. Example: `Tensor([1, 1]).scatter_reduce(0, Tensor([1, 1]), Tensor([7, 8]), "amax")  # (2,), (2,), (2,) -> (2,)`"""
    def scatter_reduce_(self, axis: Axis, index: Any, src: Any, reduce: Any, include_self: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., value: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`scatter_reduce`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1, 1]).scatter_reduce_(0, Tensor([1, 1]), Tensor([7, 8]), "amax")  # (2,), (2,), (2,) -> (2,)`"""
    def searchsorted(self, values: Any, right: builtins.bool = ..., side: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Where `values` would have to be put into the sorted last axis of x, so that it stays sorted: int64. Example: `Tensor([1, 3, 5]).searchsorted(Tensor([3, 6]))  # (3,), (2,) -> (2,)`"""
    def select(self, axis: Axis, index: Any, *, dim: Any = ..., dims: Any = ..., axes: Any = ..., input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x[index] of one axis, which is gone then. Example: `Tensor([[1, 2], [3, 4]]).select(1, 0)  # (2, 2) -> (2,)`"""
    def selu(self) -> Tensor: r"""1.0507 x if x > 0, else 1.7581 (e^x - 1): layers of it keep mean 0 and variance 1 (Klambauer et al. 2017). Example: `Tensor([-1.0, 1.0]).selu()  # (2,) -> (2,)`"""
    def selu_(self) -> Self: r"""`selu`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.0, 1.0]).selu_()  # (2,) -> (2,)`"""
    def sequential(self, layers: Any, **without_effect: Unpack[WithoutEffect]) -> Any: r"""x.sequential([f, g]) is g(f(x)). Example: `Tensor([-1.0, 4.0]).sequential([ops.relu, ops.sqrt])  # (2,) -> (2,)`"""
    def short(self) -> Tensor: r"""This Tensor as int16. Example: `Tensor([1.7]).short()  # (1,) -> (1,)`"""
    def shrink(self, ranges: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Keep, along each axis, the elements from start to stop: `ranges` holds (start, stop) or None per axis. Example: `Tensor([1, 2, 3, 4]).shrink([(1, 3)])  # (4,) -> (2,)`"""
    def sigmoid(self) -> Tensor: r"""1 / (1 + e^-x) (7.24). Example: `Tensor([0.0, 2.0]).sigmoid()  # (2,) -> (2,)`"""
    def sigmoid_(self) -> Self: r"""`sigmoid`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 2.0]).sigmoid_()  # (2,) -> (2,)`"""
    def sign(self) -> Tensor: r"""-1, 0 or 1; the gradient is 0. Example: `Tensor([-2.0, 0.0, 3.0]).sign()  # (3,) -> (3,)`"""
    def sign_(self) -> Self: r"""`sign`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-2.0, 0.0, 3.0]).sign_()  # (3,) -> (3,)`"""
    def signbit(self) -> Tensor: r"""Where x is below 0, or -0. Example: `Tensor([1.0, -0.0]).signbit()  # (2,) -> (2,)`"""
    def silu(self) -> Tensor: r"""x sigma(x), also called Swish. Example: `Tensor([-1.0, 1.0]).silu()  # (2,) -> (2,)`"""
    def silu_(self) -> Self: r"""`silu`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.0, 1.0]).silu_()  # (2,) -> (2,)`"""
    def sin(self) -> Tensor: r"""sin x. Example: `Tensor([0.0, 1.0]).sin()  # (2,) -> (2,)`"""
    def sin_(self) -> Self: r"""`sin`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).sin_()  # (2,) -> (2,)`"""
    def sinh(self) -> Tensor: r"""(e^x - e^-x) / 2. Example: `Tensor([0.0, 1.0]).sinh()  # (2,) -> (2,)`"""
    def sinh_(self) -> Self: r"""`sinh`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).sinh_()  # (2,) -> (2,)`"""
    def slogdet(self) -> tuple[Tensor, ...]: r"""The sign of the determinant and the logarithm of its absolute value: det x = sign e^logabsdet. Example: `Tensor([[2.0, 0.0], [0.0, -4.0]]).slogdet()  # (2, 2) -> (), ()`"""
    def softmax(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""p_i = e^(x_i) / sum_j e^(x_j) along `axis`. Example: `Tensor([0.0, 1.0]).softmax()  # (2,) -> (2,)`"""
    def softmax_(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`softmax`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).softmax_()  # (2,) -> (2,)`"""
    def softmin(self, axis: Axis = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""softmax(-x). Example: `Tensor([0.0, 1.0]).softmin()  # (2,) -> (2,)`"""
    def softplus(self, beta: Number = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""log(1 + e^(beta x)) / beta (7.28): a smooth relu; its derivative is sigma(beta x). Example: `Tensor([-1.0, 1.0]).softplus()  # (2,) -> (2,)`"""
    def softsign(self) -> Tensor: r"""x / (1 + |x|). Example: `Tensor([-1.0, 3.0]).softsign()  # (2,) -> (2,)`"""
    def sort(self, axis: Axis = ..., descending: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""x sorted along `axis`, and the indices that sort it: (values, indices). Example: `Tensor([3, 1, 2]).sort()  # (3,) -> (3,), (3,)`"""
    def sparse_categorical_crossentropy(self, target: Any, ignore_index: Any = ..., label_smoothing: Number = ..., reduction: builtins.str = ..., *, reduce: Any = ..., size_average: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The cross-entropy of labels for logits whose classes are the last axis. Example: `Tensor([[0.0, 0.0]]).sparse_categorical_crossentropy(Tensor([1]))  # (1, 2), (1,) -> ()`"""
    def split(self, sizes: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., size: Any = ..., split_size: Any = ..., split_size_or_sections: Any = ..., unflattened_size: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""Parts of the given sizes along `axis`; an int gives parts of that size, the last may be smaller. A tuple. Example: `Tensor([1, 2, 3]).split(2)  # (3,) -> (2,), (1,)`"""
    def split_with_sizes(self, sizes: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., size: Any = ..., split_size: Any = ..., split_size_or_sections: Any = ..., unflattened_size: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""Parts of these sizes along an axis, as `split`. Example: `Tensor([1.0, 2.0, 3.0]).split_with_sizes([1, 2])  # (3,) -> (1,), (2,)`"""
    def spmm(self, mat2: Any, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The products of matrices, one by one. Example: `Tensor([[[2.0]]]).bmm(Tensor([[[3.0]]]))  # (1, 1, 1), (1, 1, 1) -> (1, 1, 1)`"""
    def sqrt(self) -> Tensor: r"""The square root. Example: `Tensor([4.0, 9.0]).sqrt()  # (2,) -> (2,)`"""
    def sqrt_(self) -> Self: r"""`sqrt`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([4.0, 9.0]).sqrt_()  # (2,) -> (2,)`"""
    def square(self) -> Tensor: r"""x^2. Example: `Tensor([2.0, -3.0]).square()  # (2,) -> (2,)`"""
    def square_(self) -> Self: r"""`square`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([2.0, -3.0]).square_()  # (2,) -> (2,)`"""
    def squeeze(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Remove the axes of size 1, or those of `axis` that have size 1. Example: `Tensor([[1, 2]]).squeeze(0)  # (1, 2) -> (2,)`"""
    def squeeze_(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`squeeze` of this Tensor itself, which has another shape from then on; its memory stays. Example: `Tensor([[1, 2]]).squeeze_(0)  # (1, 2) -> (2,)`"""
    def stack(self, *others: Any, axis: Axis = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Tensors of one shape side by side along a new axis. Example: `Tensor([1, 2]).stack(Tensor([3, 4]))  # (2,), (2,) -> (2, 2)`"""
    def std(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The square root of `var`; where all values are equal its gradient is 0. Example: `Tensor([1.0, 4.0]).std(correction=0)  # (2,) -> ()`"""
    def std_mean(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The standard deviation and the mean over `axis`. Example: `Tensor([1.0, 4.0]).std_mean(correction=0)  # (2,) -> (), ()`"""
    def stride(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Any: r"""How many elements one step along each axis is in memory, or along one. Example: `Tensor([[1, 2, 3]]).stride()`"""
    def sub(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a - b; or a - alpha b. Example: `Tensor([1, 2]).sub(1)  # (2,) -> (2,)`"""
    def sub_(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`sub`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1, 2]).sub_(1)  # (2,) -> (2,)`"""
    def subtract(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""a - b; or a - alpha b. Example: `Tensor([1, 2]).sub(1)  # (2,) -> (2,)`"""
    def subtract_(self, other: Value, alpha: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`subtract`, in place: of a leaf that requires grad under no_grad() only."""
    def sum(self, axis: Axis = ..., keepdim: builtins.bool = ..., dtype: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The sum over `axis` (all axes if None). Booleans and small integers are added up as int64. Example: `Tensor([[1, 2], [3, 4]]).sum(axis=1)  # (2, 2) -> (2,)`"""
    def svd(self, full_matrices: builtins.bool = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""U, S and V^T with U diag(S) V^T = x, S in falling order: (..., m, k), (..., k), (..., k, n), k = min(m, n). Example: `Tensor([[2.0, 0.0], [0.0, 4.0]]).svd()[1]  # (2, 2) -> (2,)`"""
    def swapaxes(self, axis0: Any, axis1: Any, *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Two axes swapped. Example: `Tensor.zeros(2, 3, 4).swapaxes(0, 2).shape`"""
    def swapaxes_(self, axis0: Any, axis1: Any, *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`swapaxes` of this Tensor itself, which has another shape from then on; its memory stays. Example: `Tensor.zeros(2, 3, 4).swapaxes_(0, 2).shape`"""
    def swapdims(self, axis0: Any, axis1: Any, *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Two axes swapped. Example: `Tensor.zeros(2, 3, 4).swapdims(0, 2).shape`"""
    def swapdims_(self, axis0: Any, axis1: Any, *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`swapdims` of this Tensor itself, which has another shape from then on; its memory stays. Example: `Tensor.zeros(2, 3, 4).swapdims_(0, 2).shape`"""
    def swish(self) -> Tensor: r"""x sigma(x), also called Swish. Example: `Tensor([-1.0, 1.0]).silu()  # (2,) -> (2,)`"""
    def t(self) -> Tensor: r"""The transpose of a matrix; a vector stays as it is. Example: `Tensor([[1, 2], [3, 4]]).t()  # (2, 2) -> (2, 2)`"""
    def t_(self) -> Self: r"""`t` of this Tensor itself, which has another shape from then on; its memory stays. Example: `Tensor([[1, 2], [3, 4]]).t_()  # (2, 2) -> (2, 2)`"""
    def take(self, index: Any, *, input: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Elements counted through all rows, in the shape of the index. Example: `Tensor([[1.0, 2.0], [3.0, 4.0]]).take(Tensor([3, 0]))  # (2, 2) -> (2,)`"""
    def take_along_dim(self, indices: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Along the axis the elements that indices name, where the other axes broadcast; without one, of all in a row. Along an axis, indices below 0 count from the end. Example: `Tensor([[1.0, 2.0], [3.0, 4.0]]).take_along_dim(Tensor([[1], [0]]), 1)  # (2, 2) -> (2, 1)`"""
    def tan(self) -> Tensor: r"""tan x. Example: `Tensor([0.0, 1.0]).tan()  # (2,) -> (2,)`"""
    def tan_(self) -> Self: r"""`tan`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).tan_()  # (2,) -> (2,)`"""
    def tanh(self) -> Tensor: r"""(e^x - e^-x) / (e^x + e^-x) (7.25). Example: `Tensor([0.0, 1.0]).tanh()  # (2,) -> (2,)`"""
    def tanh_(self) -> Self: r"""`tanh`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 1.0]).tanh_()  # (2,) -> (2,)`"""
    def tensor_split(self, indices_or_sections: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""Parts along an axis: so many, of lengths that differ by one at most; or cut at these indices. Example: `Tensor([1.0, 2.0, 3.0]).tensor_split(2)  # (3,) -> (2,), (1,)`"""
    def tile(self, *repeats: Any, repeat: Any = ..., reps: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The whole Tensor repeated along each of its last axes. Example: `Tensor([1, 2]).tile(2)  # (2,) -> (4,)`"""
    def to(self, *wanted: Any, **others: Any) -> Tensor: r"""This Tensor with the dtype that is named, if any, or that of a Tensor; a device may be named too. Example: `Tensor([1.7]).to("float64")  # (1,) -> (1,)`"""
    def to_dense(self) -> Tensor: r"""This Tensor: every one is dense. Example: `Tensor([1.0]).coalesce()  # (1,) -> (1,)`"""
    def to_sparse(self) -> Tensor: r"""This Tensor: every one is dense. Example: `Tensor([1.0]).coalesce()  # (1,) -> (1,)`"""
    def topk(self, k: Any, axis: Axis = ..., largest: builtins.bool = ..., sorted: builtins.bool = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., key: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The k largest (or smallest) values along `axis` in order, also with sorted=False, and their indices: (values, indices). Example: `Tensor([3, 1, 2]).topk(2)  # (3,) -> (2,), (2,)`"""
    def trace(self) -> Tensor: r"""The sum of the diagonal of a matrix. Example: `Tensor([[1, 2], [3, 4]]).trace()  # (2, 2) -> ()`"""
    def transpose(self, axis0: Any = ..., axis1: Any = ..., *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Swap two axes. Example: `Tensor.zeros(2, 3, 4).transpose(0, 2).shape`"""
    def transpose_(self, axis0: Any = ..., axis1: Any = ..., *, dim0: Any = ..., dim1: Any = ..., dim2: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`transpose` of this Tensor itself, which has another shape from then on; its memory stays. Example: `Tensor.zeros(2, 3, 4).transpose_(0, 2).shape`"""
    def tril(self, diagonal: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The lower triangle of the last two axes, zeros above the diagonal. Example: `Tensor([[1, 2], [3, 4]]).tril()  # (2, 2) -> (2, 2)`"""
    def tril_(self, diagonal: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`tril`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([[1, 2], [3, 4]]).tril_()  # (2, 2) -> (2, 2)`"""
    def triu(self, diagonal: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The upper triangle of the last two axes, zeros below the diagonal. Example: `Tensor([[1, 2], [3, 4]]).triu()  # (2, 2) -> (2, 2)`"""
    def triu_(self, diagonal: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`triu`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([[1, 2], [3, 4]]).triu_()  # (2, 2) -> (2, 2)`"""
    def true_divide(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""This divided by other, as `div`. Example: `Tensor([1.0, 2.0, 3.0]).true_divide(2)  # (3,) -> (3,)`"""
    def true_divide_(self, b: Any, *, other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`true_divide`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([1.0, 2.0, 3.0]).true_divide_(2)  # (3,) -> (3,)`"""
    def trunc(self) -> Tensor: r"""x without its fraction; the gradient is 0. Example: `Tensor([-1.5, 1.5]).trunc()  # (2,) -> (2,)`"""
    def trunc_(self) -> Self: r"""`trunc`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([-1.5, 1.5]).trunc_()  # (2,) -> (2,)`"""
    def type(self, dtype: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Any: r"""This Tensor with another dtype, also by a name such as "torch.LongTensor"; or its own one. Example: `Tensor([1.0]).type()`"""
    def type_as(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""This Tensor with the dtype of another. Example: `Tensor([1, 2]).type_as(Tensor([0.5]))  # (2,), (1,) -> (2,)`"""
    def unbind(self, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The slices along `axis`, without that axis. A tuple. Example: `Tensor([[1, 2], [3, 4]]).unbind()  # (2, 2) -> (2,), (2,)`"""
    def unflatten(self, axis: Axis, sizes: Any, *, dim: Any = ..., dims: Any = ..., axes: Any = ..., size: Any = ..., split_size: Any = ..., split_size_or_sections: Any = ..., unflattened_size: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Split one axis into several, whose product is its size (one may be -1). Example: `Tensor([1, 2, 3, 4]).unflatten(0, (2, 2))  # (4,) -> (2, 2)`"""
    def unfold(self, axis: Axis, size: Any, step: Any = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The windows of `size` elements that slide along `axis` by `step`; what each sees is a new last axis. Example: `Tensor([1, 2, 3, 4]).unfold(0, 2, 1)  # (4,) -> (3, 2)`"""
    @staticmethod
    def uniform(*shape: Any, low: Number = ..., high: Number = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., size: Any = ..., sizes: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Tensor: r"""Uniform on [low, high). Example: `Tensor.uniform(2, 3, low=-1, high=1).shape`"""
    def uniform_(self, *, low: Number = ..., high: Number = ..., dtype: Any = ..., requires_grad: builtins.bool = ..., generator: Any = ..., capturable: Any = ..., device: Any = ..., differentiable: Any = ..., foreach: Any = ..., fused: Any = ..., inplace: Any = ..., layout: Any = ..., memory_format: Any = ..., non_blocking: Any = ..., out: Any = ..., pin_memory: Any = ..., sparse: Any = ..., stable: Any = ..., verbose: Any = ...) -> Self: r"""Write numbers uniform on [low, high). Example: `Tensor([1.0, 2.0]).uniform_(-1, 1).shape`"""
    def unsqueeze(self, axis: Axis, *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Insert an axis of size 1 at `axis` of the result. Example: `Tensor([1, 2]).unsqueeze(0)  # (2,) -> (1, 2)`"""
    def unsqueeze_(self, axis: Axis, *, dim: Any = ..., dims: Any = ..., axes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`unsqueeze` of this Tensor itself, which has another shape from then on; its memory stays. Example: `Tensor([1, 2]).unsqueeze_(0)  # (2,) -> (1, 2)`"""
    def var(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The variance over `axis`: squared distances to the mean, summed and divided by n - correction. Example: `Tensor([1.0, 3.0]).var()  # (2,) -> ()`"""
    def var_mean(self, *place: Any, axis: Axis = ..., keepdim: builtins.bool = ..., correction: Any = ..., dim: Any = ..., dims: Any = ..., axes: Any = ..., keepdims: Any = ..., unbiased: Any = ..., ddof: Any = ..., **without_effect: Unpack[WithoutEffect]) -> tuple[Tensor, ...]: r"""The variance and the mean over `axis`. Example: `Tensor([1.0, 3.0]).var_mean()  # (2,) -> (), ()`"""
    def vecdot(self, b: Any, axis: Axis = ..., *, dim: Any = ..., dims: Any = ..., axes: Any = ..., other: Any = ..., mat2: Any = ..., exponent: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Sums of products along an axis. Example: `Tensor([[1.0, 2.0], [3.0, 4.0]]).vecdot(Tensor([[1.0, 2.0], [3.0, 4.0]]))  # (2, 2) -> (2,)`"""
    def view(self, *shape: Any, size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The same elements, in C order, in another shape; one size may be -1, to be worked out. Example: `Tensor([1, 2, 3, 4]).reshape(2, -1)  # (4,) -> (2, 2)`"""
    def view_as(self, other: Value, **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""The same elements in the shape of another Tensor. Example: `Tensor([1, 2]).view_as(Tensor([[5], [6]]))  # (2,), (2, 1) -> (2, 1)`"""
    def where(self, x: Any, y: Any, *, input: Any = ..., other: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x where this boolean Tensor is true, else y; or `a.where(condition, y)`: a where it is true, else y. Example: `(Tensor([1, -1]) > 0).where(Tensor([10, 20]), 0)`"""
    def xlogy(self, y: Any, *, other: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""x log y, and 0 where x = 0, unless y is NaN. Example: `Tensor([0.0, 2.0]).xlogy(Tensor([0.0, 1.0]))  # (2,) -> (2,)`"""
    def xlogy_(self, y: Any, *, other: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Self: r"""`xlogy`, in place: of a leaf that requires grad under no_grad() only. Example: `Tensor([0.0, 2.0]).xlogy_(Tensor([0.0, 1.0]))  # (2,) -> (2,)`"""
    def zero_(self, *inputs: Any, **options: Any) -> Self: r"""Write zeros. Example: `Tensor([1, 2]).zero_()  # (2,) -> (2,)`"""
    @staticmethod
    def zeros(*shape: Any, dtype: Any = ..., requires_grad: builtins.bool = ..., size: Any = ..., sizes: Any = ..., **without_effect: Unpack[WithoutEffect]) -> Tensor: r"""Zeros of a shape, float32 if no dtype is given. Example: `Tensor.zeros(2, 3)`"""
    def zeros_like(self, **options: Any) -> Tensor: r"""Zeros of this Tensor's shape and dtype. Example: `Tensor([1, 2]).zeros_like()  # (2,) -> (2,)`"""
