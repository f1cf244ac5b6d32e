"""Made by `python -m tinygrad_like.compat.stubs`: do not edit."""
import builtins
from collections.abc import Callable
from typing import Any, TypeVar, overload
import numpy as np
from .core.primitive import Residuals as Residuals
from .core.primitive import composite as composite
from .core.primitive import primitive as primitive
from .core.tensor import Tensor as Tensor
from . import dtypes as dtypes
from . import ops as ops
from .dtypes import BOOL as bool_
from .dtypes import FLOAT32 as float32
from .dtypes import FLOAT64 as float64
from .dtypes import INT64 as int64
from .ops import linalg as linalg
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
from .training.saving import save as save
from .training.saving import load as load
from .compat import names as _names
tensor = _names.new
as_tensor = _names.as_tensor
randint = _names.randint
normal = _names.normal
bernoulli = _names.bernoulli
where = _names.where
empty_like = _names.empty_like
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
from .ops import add as add, sub as sub, mul as mul, div as div, neg as neg, square as square, reciprocal as reciprocal, exp as exp, exp2 as exp2, expm1 as expm1, log as log, log2 as log2, log10 as log10, log1p as log1p, erf as erf, sqrt as sqrt, rsqrt as rsqrt, pow as pow, abs as abs, maximum as maximum, minimum as minimum, clip as clip, sign as sign, floor as floor, ceil as ceil, round as round, trunc as trunc, frac as frac, floordiv as floordiv, mod as mod, sin as sin, cos as cos, tan as tan, asin as asin, acos as acos, atan as atan, sinh as sinh, cosh as cosh, asinh as asinh, acosh as acosh, atanh as atanh, hypot as hypot, atan2 as atan2, eq as eq, ne as ne, lt as lt, le as le, gt as gt, ge as ge, logical_and as logical_and, logical_or as logical_or, logical_xor as logical_xor, logical_not as logical_not, isnan as isnan, isinf as isinf, isfinite as isfinite, cast as cast, clone as clone, contiguous as contiguous, identity as identity, gather as gather, take as take, getitem as getitem, embedding as embedding, one_hot as one_hot, argsort as argsort, median as median, searchsorted as searchsorted, sort as sort, topk as topk, reshape as reshape, permute as permute, transpose as transpose, expand as expand, unsqueeze as unsqueeze, squeeze as squeeze, flatten as flatten, unflatten as unflatten, flip as flip, roll as roll, tril as tril, triu as triu, cat as cat, stack as stack, split as split, chunk as chunk, unbind as unbind, repeat as repeat, repeat_interleave as repeat_interleave, shrink as shrink, sum as sum, sum_to as sum_to, mean as mean, var as var, std as std, norm as norm, max as max, min as min, argmax as argmax, argmin as argmin, any as any, all as all, cumsum as cumsum, batched_matmul as batched_matmul, matrix_vector as matrix_vector, outer as outer, linear as linear, relu as relu, leaky_relu as leaky_relu, binary_step as binary_step, sigmoid as sigmoid, tanh as tanh, silu as silu, gelu as gelu, softplus as softplus, logsigmoid as logsigmoid, elu as elu, celu as celu, selu as selu, softsign as softsign, quick_gelu as quick_gelu, mish as mish, hardtanh as hardtanh, relu6 as relu6, hardsigmoid as hardsigmoid, hardswish as hardswish, glu as glu, swiglu as swiglu, logaddexp as logaddexp, signbit as signbit, copysign as copysign, fmod as fmod, truncdiv as truncdiv, divide as divide, clamp as clamp, lshift as lshift, rshift as rshift, bitcast as bitcast, isclose as isclose, allclose as allclose, pad as pad, recurrence as recurrence, cumprod as cumprod, prod as prod, cummax as cummax, cummin as cummin, logcumsumexp as logcumsumexp, log_softmax as log_softmax, logsumexp as logsumexp, cross_entropy as cross_entropy, mse_loss as mse_loss, l1_loss as l1_loss, huber_loss as huber_loss, smooth_l1_loss as smooth_l1_loss, nll_loss as nll_loss, binary_cross_entropy as binary_cross_entropy, binary_cross_entropy_with_logits as binary_cross_entropy_with_logits, kl_div as kl_div, margin_ranking_loss as margin_ranking_loss, triplet_margin_loss as triplet_margin_loss, gaussian_nll_loss as gaussian_nll_loss, dropout1d as dropout1d, dropout2d as dropout2d, gaussian_dropout as gaussian_dropout, batch_norm as batch_norm, batch_norm_relu as batch_norm_relu, instance_norm as instance_norm, avg_pool2d as avg_pool2d, adaptive_avg_pool2d as adaptive_avg_pool2d, adaptive_avg_pool1d as adaptive_avg_pool1d, unfold as unfold, fold as fold, diagonal as diagonal, diag as diag, trace as trace, sliding_windows as sliding_windows, meshgrid as meshgrid, rearrange as rearrange, scatter_add as scatter_add, scatter_reduce as scatter_reduce, masked_select as masked_select, nonzero as nonzero, affine_grid as affine_grid, grid_sample as grid_sample, max_pool_with_indices as max_pool_with_indices, max_unpool as max_unpool, avg_pool3d as avg_pool3d, in_dtype as in_dtype, var_mean as var_mean, std_mean as std_mean, normalize as normalize, layernorm as layernorm, batchnorm as batchnorm, softmin as softmin, multinomial as multinomial, all_sum as all_sum, sync_batch_norm as sync_batch_norm, lstm as lstm, gru as gru, deg2rad as deg2rad, rad2deg as rad2deg, logit as logit, lerp as lerp, nan_to_num as nan_to_num, remainder as remainder, xlogy as xlogy, isposinf as isposinf, isneginf as isneginf, clamp_min as clamp_min, clamp_max as clamp_max, erfinv as erfinv, polygamma as polygamma, lgamma as lgamma, digamma as digamma, atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, hstack as hstack, vstack as vstack, broadcast_tensors as broadcast_tensors, diag_embed as diag_embed, movedim as movedim, tensor_split as tensor_split, take_along_dim as take_along_dim, take_flat as take_flat, tensordot as tensordot, inner as inner, kron as kron, cross as cross, vecdot as vecdot, cdist as cdist, scaled_dot_product_attention as scaled_dot_product_attention, self_attention as self_attention, attention_weights as attention_weights, rotate_halves as rotate_halves

__version__: str
matmul = ops.matmul
einsum = ops.einsum
softmax = ops.softmax
dropout = ops.dropout
scatter = ops.scatter
interpolate = ops.interpolate
import multiprocessing as multiprocessing
from tinygrad_like.nn import onnx as onnx
from tinygrad_like.compat import func as func
from tinygrad_like.compat import utils as utils
contiguous_format: builtins.str
preserve_format: builtins.str
channels_last: builtins.str
channels_last_3d: builtins.str
strided: builtins.str
Generator: Any
OutOfMemoryError: Any
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
apply_ = Tensor.apply_
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
broadcast_to = Tensor.broadcast_to
byte = Tensor.byte
ceil_ = Tensor.ceil_
celu_ = Tensor.celu_
char = Tensor.char
cholesky = Tensor.cholesky
cholesky_inverse = Tensor.cholesky_inverse
cholesky_solve = Tensor.cholesky_solve
clamp_ = Tensor.clamp_
clamp_max_ = Tensor.clamp_max_
clamp_min_ = Tensor.clamp_min_
clip_ = Tensor.clip_
coalesce = Tensor.coalesce
compile: Any
concat = ops.cat
concatenate = ops.cat
conj = Tensor.conj
conj_physical = Tensor.conj_physical
copy_ = Tensor.copy_
copysign_ = Tensor.copysign_
cos_ = Tensor.cos_
cosh_ = Tensor.cosh_
cpu = Tensor.cpu
cuda: Any
cumprod_ = Tensor.cumprod_
cumsum_ = Tensor.cumsum_
deg2rad_ = Tensor.deg2rad_
det = Tensor.det
detach_ = Tensor.detach_
device: Any
digamma_ = Tensor.digamma_
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
fill_diagonal_ = Tensor.fill_diagonal_
finfo: Any
fix = Tensor.fix
fix_ = Tensor.fix_
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
geometric_ = Tensor.geometric_
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
index_put = Tensor.index_put
index_put_ = Tensor.index_put_
index_select = Tensor.index_select
inf: Any
inference_mode: Any
int: np.dtype
int16: np.dtype
int32: np.dtype
int8: np.dtype
inverse = Tensor.inverse
is_complex = Tensor.is_complex
is_contiguous = Tensor.is_contiguous
is_tensor: Any
kaiming_normal = Tensor.kaiming_normal
kaiming_uniform = Tensor.kaiming_uniform
leaky_relu_ = Tensor.leaky_relu_
lerp_ = Tensor.lerp_
less = Tensor.less
less_equal = Tensor.less_equal
lgamma_ = Tensor.lgamma_
linspace = Tensor.linspace
log10_ = Tensor.log10_
log1p_ = Tensor.log1p_
log2_ = Tensor.log2_
log_ = Tensor.log_
log_normal_ = Tensor.log_normal_
logical_and_ = Tensor.logical_and_
logical_not_ = Tensor.logical_not_
logical_or_ = Tensor.logical_or_
logical_xor_ = Tensor.logical_xor_
logit_ = Tensor.logit_
long: np.dtype
lstsq = Tensor.lstsq
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
normal_ = Tensor.normal_
not_equal = Tensor.not_equal
ones = Tensor.ones
ones_like = Tensor.ones_like
pi: Any
pin_memory = Tensor.pin_memory
positive = Tensor.positive
pow_ = Tensor.pow_
qr = Tensor.qr
rad2deg_ = Tensor.rad2deg_
rand = Tensor.rand
rand_like = Tensor.rand_like
randn = Tensor.randn
randn_like = Tensor.randn_like
random_ = Tensor.random_
randperm = Tensor.randperm
ravel = Tensor.ravel
reciprocal_ = Tensor.reciprocal_
register_post_accumulate_grad_hook = Tensor.register_post_accumulate_grad_hook
relu6_ = Tensor.relu6_
relu_ = Tensor.relu_
remainder_ = Tensor.remainder_
reshape_as = Tensor.reshape_as
resize_ = Tensor.resize_
resize_as_ = Tensor.resize_as_
resolve_conj = Tensor.resolve_conj
resolve_neg = Tensor.resolve_neg
round_ = Tensor.round_
rsqrt_ = Tensor.rsqrt_
scaled_uniform = Tensor.scaled_uniform
scatter_ = Tensor.scatter_
scatter_add_ = Tensor.scatter_add_
scatter_reduce_ = Tensor.scatter_reduce_
select = Tensor.select
selu_ = Tensor.selu_
sequential = Tensor.sequential
set_grad_enabled: Any
short: np.dtype
sigmoid_ = Tensor.sigmoid_
sign_ = Tensor.sign_
silu_ = Tensor.silu_
sin_ = Tensor.sin_
sinh_ = Tensor.sinh_
slogdet = Tensor.slogdet
softmax_ = Tensor.softmax_
sparse_categorical_crossentropy = Tensor.sparse_categorical_crossentropy
split_with_sizes = Tensor.split_with_sizes
spmm = Tensor.spmm
sqrt_ = Tensor.sqrt_
square_ = Tensor.square_
squeeze_ = Tensor.squeeze_
stride = Tensor.stride
sub_ = Tensor.sub_
subtract = Tensor.subtract
subtract_ = Tensor.subtract_
svd = Tensor.svd
swapaxes = Tensor.swapaxes
swapaxes_ = Tensor.swapaxes_
swapdims = Tensor.swapdims
swapdims_ = Tensor.swapdims_
swish = Tensor.swish
t = Tensor.t
t_ = Tensor.t_
tan_ = Tensor.tan_
tanh_ = Tensor.tanh_
tile = Tensor.tile
to = Tensor.to
to_dense = Tensor.to_dense
to_sparse = Tensor.to_sparse
transpose_ = Tensor.transpose_
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
unsqueeze_ = Tensor.unsqueeze_
version: Any
view = Tensor.view
view_as = Tensor.view_as
xlogy_ = Tensor.xlogy_
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
