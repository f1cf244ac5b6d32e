"""Made by `python -m handbook.stubs`: do not edit."""
import builtins
from collections.abc import Callable
from typing import Any, TypeVar, overload
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
from .compat import autograd as autograd
from .capture.capture import eager as eager
import nn as nn
import optim as optim
from . import data as data
from . import distributed as distributed
from . import distributions as distributions
from . import random as random
from . import training as training
from .training.checkpoint import save as save
from .training.checkpoint import load as load
from .compat import torch_names as _names
tensor = _names.new
as_tensor = _names.as_tensor
randint = _names.randint
normal = _names.normal
bernoulli = _names.bernoulli
where = _names.where
from nn.functional import avg_pool1d as avg_pool1d
from nn.functional import conv1d as conv1d
from nn.functional import conv2d as conv2d
from nn.functional import conv3d as conv3d
from nn.functional import conv_transpose1d as conv_transpose1d
from nn.functional import conv_transpose2d as conv_transpose2d
from nn.functional import conv_transpose3d as conv_transpose3d
from nn.functional import cosine_similarity as cosine_similarity
from nn.functional import group_norm as group_norm
from nn.functional import hardshrink as hardshrink
from nn.functional import layer_norm as layer_norm
from nn.functional import max_pool1d as max_pool1d
from nn.functional import max_pool2d as max_pool2d
from nn.functional import max_pool3d as max_pool3d
from nn.functional import prelu as prelu
from nn.functional import rms_norm as rms_norm
from .ops import abs as abs, acos as acos, acosh as acosh, adaptive_avg_pool1d as adaptive_avg_pool1d, adaptive_avg_pool2d as adaptive_avg_pool2d, add as add, all as all, all_sum as all_sum, allclose as allclose, any as any, argmax as argmax, argmin as argmin, argsort as argsort, asin as asin, asinh as asinh, atan as atan, atan2 as atan2, atanh as atanh, atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, attention_weights as attention_weights, avg_pool2d as avg_pool2d, avg_pool3d as avg_pool3d, batch_norm as batch_norm, batch_norm_relu as batch_norm_relu, batched_matmul as batched_matmul, batchnorm as batchnorm, binary_cross_entropy as binary_cross_entropy, binary_cross_entropy_with_logits as binary_cross_entropy_with_logits, binary_step as binary_step, bitcast as bitcast, broadcast_tensors as broadcast_tensors, cast as cast, cat as cat, cdist as cdist, ceil as ceil, celu as celu, chunk as chunk, clamp as clamp, clamp_max as clamp_max, clamp_min as clamp_min, clip as clip, clone as clone, contiguous as contiguous, copysign as copysign, cos as cos, cosh as cosh, cross as cross, cross_entropy as cross_entropy, cummax as cummax, cummin as cummin, cumprod as cumprod, cumsum as cumsum, deg2rad as deg2rad, diag as diag, diagonal as diagonal, div as div, divide as divide, dropout1d as dropout1d, dropout2d as dropout2d, elu as elu, embedding as embedding, eq as eq, erf as erf, erfinv as erfinv, exp as exp, exp2 as exp2, expand as expand, expm1 as expm1, flatten as flatten, flip as flip, floor as floor, floordiv as floordiv, fmod as fmod, fold as fold, frac as frac, gather as gather, gaussian_dropout as gaussian_dropout, gaussian_nll_loss as gaussian_nll_loss, ge as ge, gelu as gelu, getitem as getitem, glu as glu, gru as gru, gt as gt, hardsigmoid as hardsigmoid, hardswish as hardswish, hardtanh as hardtanh, huber_loss as huber_loss, hypot as hypot, identity as identity, in_dtype as in_dtype, inner as inner, instance_norm as instance_norm, isclose as isclose, isfinite as isfinite, isinf as isinf, isnan as isnan, isneginf as isneginf, isposinf as isposinf, kl_div as kl_div, kron as kron, l1_loss as l1_loss, layernorm as layernorm, le as le, leaky_relu as leaky_relu, lerp as lerp, linear as linear, log as log, log10 as log10, log1p as log1p, log2 as log2, log_softmax as log_softmax, logaddexp as logaddexp, logcumsumexp as logcumsumexp, logical_and as logical_and, logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor, logsigmoid as logsigmoid, logsumexp as logsumexp, lshift as lshift, lstm as lstm, lt as lt, margin_ranking_loss as margin_ranking_loss, masked_select as masked_select, matrix_vector as matrix_vector, max as max, max_pool_with_indices as max_pool_with_indices, max_unpool as max_unpool, maximum as maximum, mean as mean, median as median, meshgrid as meshgrid, min as min, minimum as minimum, mish as mish, mod as mod, movedim as movedim, mse_loss as mse_loss, mul as mul, multinomial as multinomial, nan_to_num as nan_to_num, ne as ne, neg as neg, nll_loss as nll_loss, nonzero as nonzero, norm as norm, normalize as normalize, one_hot as one_hot, outer as outer, pad as pad, permute as permute, pow as pow, prod as prod, quick_gelu as quick_gelu, rad2deg as rad2deg, rearrange as rearrange, reciprocal as reciprocal, recurrence as recurrence, relu as relu, relu6 as relu6, remainder as remainder, repeat as repeat, repeat_interleave as repeat_interleave, reshape as reshape, roll as roll, rotate_halves as rotate_halves, round as round, rshift as rshift, rsqrt as rsqrt, scaled_dot_product_attention as scaled_dot_product_attention, scatter_add as scatter_add, scatter_reduce as scatter_reduce, searchsorted as searchsorted, self_attention as self_attention, selu as selu, shrink as shrink, sigmoid as sigmoid, sign as sign, signbit as signbit, silu as silu, sin as sin, sinh as sinh, sliding_windows as sliding_windows, smooth_l1_loss as smooth_l1_loss, softmin as softmin, softplus as softplus, softsign as softsign, sort as sort, split as split, sqrt as sqrt, square as square, squeeze as squeeze, stack as stack, std as std, std_mean as std_mean, sub as sub, sum as sum, sum_to as sum_to, swiglu as swiglu, sync_batch_norm as sync_batch_norm, take_flat as take_flat, tan as tan, tanh as tanh, tensordot as tensordot, topk as topk, trace as trace, transpose as transpose, tril as tril, triplet_margin_loss as triplet_margin_loss, triu as triu, trunc as trunc, truncdiv as truncdiv, unbind as unbind, unflatten as unflatten, unfold as unfold, unsqueeze as unsqueeze, var as var, var_mean as var_mean, vecdot as vecdot

__version__: str
dropout = ops.dropout
einsum = ops.einsum
interpolate = ops.interpolate
matmul = ops.matmul
scatter = ops.scatter
softmax = ops.softmax
import multiprocessing as multiprocessing
from nn import onnx as onnx
from tinygrad_like.compat import func as func
from tinygrad_like.compat import utils as utils
concat = ops.cat
concatenate = ops.cat
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
_F = TypeVar("_F", bound=Callable[..., Any])
@overload
def capture(function: _F, *, fuse: builtins.bool = ..., strict: builtins.bool = ...) -> _F: ...
@overload
def capture(*, fuse: builtins.bool = ..., strict: builtins.bool = ...) -> Callable[[_F], _F]: ...
__all__ = ['Picture', 'Residuals', 'Tensor', 'bool_', 'capture', 'checkpoint', 'composite', 'detect_anomaly', 'dtypes', 'eager', 'enable_grad', 'float32', 'float64', 'get_num_threads', 'get_rng_state', 'grad', 'gradcheck', 'gradgradcheck', 'graph', 'hessian', 'hvp', 'int64', 'is_grad_enabled', 'jacobian', 'jvp', 'linalg', 'manual_seed', 'nn', 'no_grad', 'ops', 'optim', 'primitive', 'set_num_threads', 'set_rng_state', 'training', 'value_and_grad', 'vjp']
