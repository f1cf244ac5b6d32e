"""Made by `python -m tinygrad_like.compat.stubs`: do not edit."""
from typing import Any
import numpy as np
from .core.primitive import Residuals as Residuals
from .core.primitive import fused as fused
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
from .transforms.switches import is_grad_enabled as is_grad_enabled
from .transforms.switches import no_grad as no_grad
from .compat import autograd as autograd
from .capture.capture import capture as capture
from .capture.capture import eager as eager
from . import autograd as autograd
from . import distributed as distributed
from . import distributions as distributions
from . import nn as nn
from . import optim as optim
from . import training as training
from .kernels.threads import get_num_threads as get_num_threads
from .kernels.threads import set_num_threads as set_num_threads
from .training.saving import save as save
from .training.saving import load as load
from .compat.names import new as tensor
from .compat.names import as_tensor as as_tensor
from .compat.names import randint as randint
from .compat.names import normal as normal
from .compat.names import bernoulli as bernoulli
from .compat.names import where as where
from .compat.names import empty_like as empty_like
from .nn.functional import alpha_dropout as alpha_dropout
from .nn.functional import avg_pool1d as avg_pool1d
from .nn.functional import bilinear as bilinear
from .nn.functional import channel_shuffle as channel_shuffle
from .nn.functional import conv1d as conv1d
from .nn.functional import conv2d as conv2d
from .nn.functional import conv3d as conv3d
from .nn.functional import conv_transpose1d as conv_transpose1d
from .nn.functional import conv_transpose2d as conv_transpose2d
from .nn.functional import conv_transpose3d as conv_transpose3d
from .nn.functional import cosine_similarity as cosine_similarity
from .nn.functional import feature_alpha_dropout as feature_alpha_dropout
from .nn.functional import group_norm as group_norm
from .nn.functional import hardshrink as hardshrink
from .nn.functional import layer_norm as layer_norm
from .nn.functional import max_pool1d as max_pool1d
from .nn.functional import max_pool2d as max_pool2d
from .nn.functional import max_pool3d as max_pool3d
from .nn.functional import pairwise_distance as pairwise_distance
from .nn.functional import pdist as pdist
from .nn.functional import pixel_shuffle as pixel_shuffle
from .nn.functional import pixel_unshuffle as pixel_unshuffle
from .nn.functional import prelu as prelu
from .nn.functional import rms_norm as rms_norm
from .nn.functional import rrelu as rrelu
from .nn.functional import threshold as threshold
from .ops import add, sub, mul, div, neg, square, reciprocal, exp, exp2, expm1, log, log2, log10, log1p, erf, sqrt, rsqrt, pow, abs, maximum, minimum, clip, sign, floor, ceil, round, trunc, frac, floordiv, mod, sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, hypot, atan2, eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor, logical_not, isnan, isinf, isfinite, cast, clone, contiguous, identity, getitem, gather, one_hot, argsort, searchsorted, sort, topk, reshape, permute, transpose, expand, unsqueeze, squeeze, flatten, unflatten, flip, roll, tril, triu, cat, stack, split, chunk, unbind, repeat, repeat_interleave, shrink, sum, sum_to, mean, var, std, norm, argmax, argmin, any, all, prod, cumsum, batched_matmul, matrix_vector, outer, linear, relu, leaky_relu, binary_step, sigmoid, tanh, silu, gelu, softplus, logsigmoid, elu, celu, selu, softsign, quick_gelu, mish, hardtanh, relu6, hardsigmoid, hardswish, glu, swiglu, logaddexp, signbit, copysign, fmod, truncdiv, divide, clamp, gcd, lcm, lshift, rshift, bitcast, isclose, allclose, pad, recurrence, cumprod, cummax, cummin, logcumsumexp, log_softmax, logsumexp, cross_entropy, mse_loss, l1_loss, huber_loss, smooth_l1_loss, nll_loss, binary_cross_entropy, binary_cross_entropy_with_logits, kl_div, margin_ranking_loss, hinge_embedding_loss, soft_margin_loss, multilabel_soft_margin_loss, multi_margin_loss, cosine_embedding_loss, triplet_margin_loss, gaussian_nll_loss, poisson_nll_loss, multilabel_margin_loss, dropout1d, dropout2d, gaussian_dropout, batch_norm_relu, avg_pool2d, adaptive_avg_pool2d, adaptive_avg_pool1d, adaptive_max_pool2d, adaptive_max_pool1d, unfold, fold, diagonal, diag, trace, sliding_windows, meshgrid, rearrange, scatter_add, scatter_reduce, masked_select, nonzero, affine_grid, grid_sample, fractional_max_pool, max_pool_with_indices, max_unpool, avg_pool3d, in_dtype, var_mean, std_mean, normalize, layernorm, batchnorm, softmin, multinomial, all_sum, sync_batch_norm, lstm, gru, ctc_loss, fmax, fmin, deg2rad, rad2deg, heaviside, logaddexp2, logit, lerp, nan_to_num, remainder, sinc, xlogy, xlog1py, entr, float_power, isposinf, isneginf, clamp_min, clamp_max, sgn, erfc, erfinv, ndtr, ldexp, lgamma, digamma, bessel_i, i0, i0e, i1, i1e, atleast_1d, atleast_2d, atleast_3d, hstack, vstack, dstack, column_stack, block_diag, broadcast_tensors, cartesian_prod, combinations, diag_embed, diagflat, fliplr, flipud, rot90, movedim, tensor_split, hsplit, vsplit, dsplit, take_along_dim, index_fill, index_copy, select_scatter, slice_scatter, masked_scatter, take_flat, kthvalue, median, nanmedian, nansum, nanmean, quantile, nanquantile, mode, bincount, count_nonzero, histc, unique, unique_consecutive, bucketize, tensordot, inner, kron, cross, vecdot, ger, multi_dot, chain_matmul, baddbmm, addbmm, addmv, addr, cdist, dist, renorm, diff, trapezoid, cumulative_trapezoid, cov, corrcoef, vander, scaled_dot_product_attention, self_attention, attention_weights, rotate_halves

__version__: str
matmul = ops.matmul
einsum = ops.einsum
softmax = ops.softmax
dropout = ops.dropout
scatter = ops.scatter
interpolate = ops.interpolate
ctc = ops.ctc
BoolTensor: Any
ByteTensor: Any
CharTensor: Any
DoubleTensor: Any
FloatTensor: Any
Generator: Any
GradScaler: Any
HalfTensor: Any
IntTensor: Any
LongTensor: Any
OutOfMemoryError: Any
ShortTensor: Any
Size: Any
absolute = Tensor.absolute
accelerator: Any
addcdiv = Tensor.addcdiv
addcmul = Tensor.addcmul
addmm = Tensor.addmm
alpha_dropout_: Any
amax = Tensor.amax
amin = Tensor.amin
aminmax = Tensor.aminmax
amp: Any
arange = Tensor.arange
arccos = Tensor.arccos
arccosh = Tensor.arccosh
arcsin = Tensor.arcsin
arcsinh = Tensor.arcsinh
arctan = Tensor.arctan
arctan2 = Tensor.arctan2
arctanh = Tensor.arctanh
argwhere = Tensor.argwhere
as_strided = Tensor.as_strided
asarray: Any
assign = Tensor.assign
autocast: Any
backends: Any
bartlett_window: Any
batch_norm: Any
bfloat16: np.dtype
binary_crossentropy = Tensor.binary_crossentropy
binary_crossentropy_logits = Tensor.binary_crossentropy_logits
bitwise_and = Tensor.bitwise_and
bitwise_not = Tensor.bitwise_not
bitwise_or = Tensor.bitwise_or
bitwise_xor = Tensor.bitwise_xor
blackman_window: Any
bmm = Tensor.bmm
bool: np.dtype
broadcast_shapes: Any
broadcast_to = Tensor.broadcast_to
byte = Tensor.byte
can_cast: Any
char = Tensor.char
cholesky = Tensor.cholesky
cholesky_inverse = Tensor.cholesky_inverse
cholesky_solve = Tensor.cholesky_solve
coalesce = Tensor.coalesce
compile: Any
concat = ops.cat
concatenate = ops.cat
conj = Tensor.conj
conj_physical = Tensor.conj_physical
cpu = Tensor.cpu
cuda: Any
data_ptr = Tensor.data_ptr
default_generator: Any
det = Tensor.det
device: Any
dim = Tensor.dim
dot = Tensor.dot
double: np.dtype
dropout_: Any
dtype: np.dtype
e: Any
element_size = Tensor.element_size
embedding: Any
empty = Tensor.empty
equal: Any
expand_as = Tensor.expand_as
eye = Tensor.eye
feature_alpha_dropout_: Any
finfo: Any
fix = Tensor.fix
float: np.dtype
float16: np.dtype
floor_divide = Tensor.floor_divide
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
hamming_window: Any
hann_window: Any
histogram: Any
iinfo: Any
index_add = Tensor.index_add
index_put = Tensor.index_put
index_reduce = Tensor.index_reduce
index_select = Tensor.index_select
inf: Any
inference_mode: Any
initial_seed: Any
instance_norm: Any
int: np.dtype
int16: np.dtype
int32: np.dtype
int8: np.dtype
inverse = Tensor.inverse
is_complex: Any
is_contiguous = Tensor.is_contiguous
is_floating_point: Any
is_shared = Tensor.is_shared
is_tensor: Any
isin: Any
kaiming_normal = Tensor.kaiming_normal
kaiming_uniform = Tensor.kaiming_uniform
kaiser_window: Any
less = Tensor.less
less_equal = Tensor.less_equal
linspace = Tensor.linspace
logdet = Tensor.logdet
logspace: Any
long: np.dtype
lstsq = Tensor.lstsq
lu: Any
lu_solve: Any
lu_unpack: Any
masked_fill = Tensor.masked_fill
matrix_exp: Any
matrix_power = Tensor.matrix_power
matrix_rank: Any
max: Any
max_unpool2d = Tensor.max_unpool2d
min: Any
mm = Tensor.mm
moveaxis = Tensor.moveaxis
mps: Any
msort: Any
multiply = Tensor.multiply
mv = Tensor.mv
nan: Any
narrow = Tensor.narrow
ndimension = Tensor.ndimension
negative = Tensor.negative
nelement = Tensor.nelement
new = Tensor.new
newaxis: Any
nextafter: Any
not_equal = Tensor.not_equal
numel: Any
ones = Tensor.ones
ones_like = Tensor.ones_like
pi: Any
pin_memory = Tensor.pin_memory
pinverse: Any
poisson: Any
polygamma: Any
positive = Tensor.positive
promote_types: Any
qr = Tensor.qr
rand = Tensor.rand
rand_like = Tensor.rand_like
randint_like: Any
randn = Tensor.randn
randn_like = Tensor.randn_like
randperm = Tensor.randperm
ravel = Tensor.ravel
real: Any
register_post_accumulate_grad_hook = Tensor.register_post_accumulate_grad_hook
reshape_as = Tensor.reshape_as
resolve_conj = Tensor.resolve_conj
resolve_neg = Tensor.resolve_neg
result_type: Any
retain_grad = Tensor.retain_grad
row_stack = ops.vstack
rrelu_: Any
scalar_tensor: Any
scaled_uniform = Tensor.scaled_uniform
seed: Any
select = Tensor.select
sequential = Tensor.sequential
set_default_device: Any
set_default_dtype: Any
set_default_tensor_type: Any
set_float32_matmul_precision: Any
set_grad_enabled: Any
set_num_interop_threads: Any
set_printoptions: Any
short: np.dtype
slogdet = Tensor.slogdet
sparse: Any
sparse_categorical_crossentropy = Tensor.sparse_categorical_crossentropy
sparse_coo_tensor: Any
special: Any
split_with_sizes = Tensor.split_with_sizes
spmm = Tensor.spmm
storage_offset = Tensor.storage_offset
stride = Tensor.stride
subtract = Tensor.subtract
svd: Any
swapaxes = Tensor.swapaxes
swapdims = Tensor.swapdims
swish = Tensor.swish
t = Tensor.t
take: Any
threshold_: Any
tile = Tensor.tile
to = Tensor.to
to_dense = Tensor.to_dense
to_sparse = Tensor.to_sparse
tolist = Tensor.tolist
trapz = ops.trapezoid
tril_indices: Any
triu_indices: Any
true_divide = Tensor.true_divide
type = Tensor.type
type_as = Tensor.type_as
uint8: np.dtype
uniform = Tensor.uniform
unravel_index: Any
use_deterministic_algorithms: Any
vdot: Any
version: Any
view = Tensor.view
view_as = Tensor.view_as
vmap: Any
xpu: Any
zeros = Tensor.zeros
zeros_like = Tensor.zeros_like
__all__ = ['BoolTensor', 'ByteTensor', 'CharTensor', 'DoubleTensor', 'FloatTensor', 'Generator', 'GradScaler', 'HalfTensor', 'IntTensor', 'LongTensor', 'OutOfMemoryError', 'Picture', 'Residuals', 'ShortTensor', 'Size', 'Tensor', 'abs', 'absolute', 'accelerator', 'acos', 'acosh', 'adaptive_avg_pool1d', 'adaptive_avg_pool2d', 'adaptive_max_pool1d', 'adaptive_max_pool2d', 'add', 'addbmm', 'addcdiv', 'addcmul', 'addmm', 'addmv', 'addr', 'affine_grid', 'all', 'all_sum', 'allclose', 'alpha_dropout', 'alpha_dropout_', 'amax', 'amin', 'aminmax', 'amp', 'any', 'arange', 'arccos', 'arccosh', 'arcsin', 'arcsinh', 'arctan', 'arctan2', 'arctanh', 'argmax', 'argmin', 'argsort', 'argwhere', 'as_strided', 'as_tensor', 'asarray', 'asin', 'asinh', 'assign', 'atan', 'atan2', 'atanh', 'atleast_1d', 'atleast_2d', 'atleast_3d', 'attention_weights', 'autocast', 'autograd', 'avg_pool1d', 'avg_pool2d', 'avg_pool3d', 'backends', 'baddbmm', 'bartlett_window', 'batch_norm', 'batch_norm_relu', 'batched_matmul', 'batchnorm', 'bernoulli', 'bessel_i', 'bfloat16', 'bilinear', 'binary_cross_entropy', 'binary_cross_entropy_with_logits', 'binary_crossentropy', 'binary_crossentropy_logits', 'binary_step', 'bincount', 'bitcast', 'bitwise_and', 'bitwise_not', 'bitwise_or', 'bitwise_xor', 'blackman_window', 'block_diag', 'bmm', 'bool', 'bool_', 'broadcast_shapes', 'broadcast_tensors', 'broadcast_to', 'bucketize', 'byte', 'can_cast', 'capture', 'cartesian_prod', 'cast', 'cat', 'cdist', 'ceil', 'celu', 'chain_matmul', 'channel_shuffle', 'char', 'checkpoint', 'cholesky', 'cholesky_inverse', 'cholesky_solve', 'chunk', 'clamp', 'clamp_max', 'clamp_min', 'clip', 'clone', 'coalesce', 'column_stack', 'combinations', 'compile', 'concat', 'concatenate', 'conj', 'conj_physical', 'contiguous', 'conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'copysign', 'corrcoef', 'cos', 'cosh', 'cosine_embedding_loss', 'cosine_similarity', 'count_nonzero', 'cov', 'cpu', 'cross', 'cross_entropy', 'ctc', 'ctc_loss', 'cuda', 'cummax', 'cummin', 'cumprod', 'cumsum', 'cumulative_trapezoid', 'data_ptr', 'default_generator', 'deg2rad', 'det', 'detect_anomaly', 'device', 'diag', 'diag_embed', 'diagflat', 'diagonal', 'diff', 'digamma', 'dim', 'dist', 'distributed', 'distributions', 'div', 'divide', 'dot', 'double', 'dropout', 'dropout1d', 'dropout2d', 'dropout_', 'dsplit', 'dstack', 'dtype', 'dtypes', 'e', 'eager', 'einsum', 'element_size', 'elu', 'embedding', 'empty', 'empty_like', 'enable_grad', 'entr', 'eq', 'equal', 'erf', 'erfc', 'erfinv', 'exp', 'exp2', 'expand', 'expand_as', 'expm1', 'eye', 'feature_alpha_dropout', 'feature_alpha_dropout_', 'finfo', 'fix', 'flatten', 'flip', 'fliplr', 'flipud', 'float', 'float16', 'float32', 'float64', 'float_power', 'floor', 'floor_divide', 'floordiv', 'fmax', 'fmin', 'fmod', 'fold', 'frac', 'fractional_max_pool', 'from_dlpack', 'from_numpy', 'full', 'full_like', 'fused', 'gather', 'gaussian_dropout', 'gaussian_nll_loss', 'gcd', 'ge', 'gelu', 'ger', 'get_default_device', 'get_default_dtype', 'get_num_threads', 'get_rng_state', 'getitem', 'glorot_uniform', 'glu', 'grad', 'gradcheck', 'gradgradcheck', 'graph', 'greater', 'greater_equal', 'grid_sample', 'group_norm', 'gru', 'gt', 'half', 'hamming_window', 'hann_window', 'hardshrink', 'hardsigmoid', 'hardswish', 'hardtanh', 'heaviside', 'hessian', 'hinge_embedding_loss', 'histc', 'histogram', 'hsplit', 'hstack', 'huber_loss', 'hvp', 'hypot', 'i0', 'i0e', 'i1', 'i1e', 'identity', 'iinfo', 'in_dtype', 'index_add', 'index_copy', 'index_fill', 'index_put', 'index_reduce', 'index_select', 'inf', 'inference_mode', 'initial_seed', 'inner', 'instance_norm', 'int', 'int16', 'int32', 'int64', 'int8', 'interpolate', 'inverse', 'is_complex', 'is_contiguous', 'is_floating_point', 'is_grad_enabled', 'is_shared', 'is_tensor', 'isclose', 'isfinite', 'isin', 'isinf', 'isnan', 'isneginf', 'isposinf', 'jacobian', 'jvp', 'kaiming_normal', 'kaiming_uniform', 'kaiser_window', 'kl_div', 'kron', 'kthvalue', 'l1_loss', 'layer_norm', 'layernorm', 'lcm', 'ldexp', 'le', 'leaky_relu', 'lerp', 'less', 'less_equal', 'lgamma', 'linalg', 'linear', 'linspace', 'load', 'log', 'log10', 'log1p', 'log2', 'log_softmax', 'logaddexp', 'logaddexp2', 'logcumsumexp', 'logdet', 'logical_and', 'logical_not', 'logical_or', 'logical_xor', 'logit', 'logsigmoid', 'logspace', 'logsumexp', 'long', 'lshift', 'lstm', 'lstsq', 'lt', 'lu', 'lu_solve', 'lu_unpack', 'manual_seed', 'margin_ranking_loss', 'masked_fill', 'masked_scatter', 'masked_select', 'matmul', 'matrix_exp', 'matrix_power', 'matrix_rank', 'matrix_vector', 'max', 'max_pool1d', 'max_pool2d', 'max_pool3d', 'max_pool_with_indices', 'max_unpool', 'max_unpool2d', 'maximum', 'mean', 'median', 'meshgrid', 'min', 'minimum', 'mish', 'mm', 'mod', 'mode', 'moveaxis', 'movedim', 'mps', 'mse_loss', 'msort', 'mul', 'multi_dot', 'multi_margin_loss', 'multilabel_margin_loss', 'multilabel_soft_margin_loss', 'multinomial', 'multiply', 'mv', 'nan', 'nan_to_num', 'nanmean', 'nanmedian', 'nanquantile', 'nansum', 'narrow', 'ndimension', 'ndtr', 'ne', 'neg', 'negative', 'nelement', 'new', 'newaxis', 'nextafter', 'nll_loss', 'nn', 'no_grad', 'nonzero', 'norm', 'normal', 'normalize', 'not_equal', 'numel', 'one_hot', 'ones', 'ones_like', 'ops', 'optim', 'outer', 'pad', 'pairwise_distance', 'pdist', 'permute', 'pi', 'pin_memory', 'pinverse', 'pixel_shuffle', 'pixel_unshuffle', 'poisson', 'poisson_nll_loss', 'polygamma', 'positive', 'pow', 'prelu', 'primitive', 'prod', 'promote_types', 'qr', 'quantile', 'quick_gelu', 'rad2deg', 'rand', 'rand_like', 'randint', 'randint_like', 'randn', 'randn_like', 'randperm', 'ravel', 'real', 'rearrange', 'reciprocal', 'recurrence', 'register_post_accumulate_grad_hook', 'relu', 'relu6', 'remainder', 'renorm', 'repeat', 'repeat_interleave', 'reshape', 'reshape_as', 'resolve_conj', 'resolve_neg', 'result_type', 'retain_grad', 'rms_norm', 'roll', 'rot90', 'rotate_halves', 'round', 'row_stack', 'rrelu', 'rrelu_', 'rshift', 'rsqrt', 'save', 'scalar_tensor', 'scaled_dot_product_attention', 'scaled_uniform', 'scatter', 'scatter_add', 'scatter_reduce', 'searchsorted', 'seed', 'select', 'select_scatter', 'self_attention', 'selu', 'sequential', 'set_default_device', 'set_default_dtype', 'set_default_tensor_type', 'set_float32_matmul_precision', 'set_grad_enabled', 'set_num_interop_threads', 'set_num_threads', 'set_printoptions', 'set_rng_state', 'sgn', 'short', 'shrink', 'sigmoid', 'sign', 'signbit', 'silu', 'sin', 'sinc', 'sinh', 'slice_scatter', 'sliding_windows', 'slogdet', 'smooth_l1_loss', 'soft_margin_loss', 'softmax', 'softmin', 'softplus', 'softsign', 'sort', 'sparse', 'sparse_categorical_crossentropy', 'sparse_coo_tensor', 'special', 'split', 'split_with_sizes', 'spmm', 'sqrt', 'square', 'squeeze', 'stack', 'std', 'std_mean', 'storage_offset', 'stride', 'sub', 'subtract', 'sum', 'sum_to', 'svd', 'swapaxes', 'swapdims', 'swiglu', 'swish', 'sync_batch_norm', 't', 'take', 'take_along_dim', 'take_flat', 'tan', 'tanh', 'tensor', 'tensor_split', 'tensordot', 'threshold', 'threshold_', 'tile', 'to', 'to_dense', 'to_sparse', 'tolist', 'topk', 'trace', 'training', 'transpose', 'trapezoid', 'trapz', 'tril', 'tril_indices', 'triplet_margin_loss', 'triu', 'triu_indices', 'true_divide', 'trunc', 'truncdiv', 'type', 'type_as', 'uint8', 'unbind', 'unflatten', 'unfold', 'uniform', 'unique', 'unique_consecutive', 'unravel_index', 'unsqueeze', 'use_deterministic_algorithms', 'value_and_grad', 'vander', 'var', 'var_mean', 'vdot', 'vecdot', 'version', 'view', 'view_as', 'vjp', 'vmap', 'vsplit', 'vstack', 'where', 'xlog1py', 'xlogy', 'xpu', 'zeros', 'zeros_like']
def __getattr__(name: str) -> Any: ...
