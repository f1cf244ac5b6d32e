"""Every op, each with its VJP beneath it.

The files below go from easy to hard. An op called on Tensors is recorded; called on arrays, it just runs its forward.
Helpers of rules and other ops, such as the adjoint of pooling, are not exported: import them from their files.

Numbers in brackets, such as (7.20) or (003), are equations and chapters of the source texts: see docs/seeds.md.
"""

# ruff: noqa: I001, F401, E402
# mypy: implicit-reexport
from .elementwise import (
    add, sub, mul, div, neg, square, reciprocal, exp, exp2, expm1, log, log2, log10, log1p, erf, sqrt, rsqrt, pow, abs,
    maximum, minimum, clip, where, sign, floor, ceil, round, trunc, frac, floordiv, mod,
)
from .trigonometry import sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, hypot, atan2
from .compare import (
    eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor, logical_not, isnan, isinf, isfinite, cast, clone,
    contiguous, identity,
)
from .along import gather
from .parts import take
from .table import embedding, one_hot
from .order import argsort, median, searchsorted, sort, topk
from .shape import (
    reshape, permute, transpose, expand, unsqueeze, squeeze, flatten, unflatten, flip, roll, tril, triu, cat, stack,
    split, chunk, unbind, repeat, repeat_interleave, shrink, getitem,
)
from .reduce import sum, sum_to, mean, var, std, norm, max, min, argmax, argmin, any, all, cumsum
from .matmul import batched_matmul, matrix_vector, matmul, outer, linear
from .einsum import einsum
from .activation import (
    relu, leaky_relu, binary_step, sigmoid, tanh, silu, gelu, softplus, logsigmoid, elu, celu, selu, softsign,
    quick_gelu, mish, hardtanh, relu6, hardsigmoid, hardswish, glu, swiglu,
)
from .functions import (
    logaddexp, signbit, copysign, fmod, truncdiv, divide, clamp, lshift, rshift, bitcast, isclose, allclose, deg2rad,
    rad2deg, lerp, nan_to_num, remainder, isposinf, isneginf, clamp_min, clamp_max, erfinv,
)
from .padding import pad
from .scan import recurrence, cumprod, prod, cummax, cummin, logcumsumexp
from .softmax import softmax, log_softmax, logsumexp, cross_entropy
from .loss import (
    mse_loss, l1_loss, huber_loss, smooth_l1_loss, nll_loss, binary_cross_entropy, binary_cross_entropy_with_logits,
    kl_div, margin_ranking_loss, triplet_margin_loss, gaussian_nll_loss,
)
from .dropout import dropout, dropout1d, dropout2d, gaussian_dropout
from .normalization import layer_norm, rms_norm, batch_norm, batch_norm_relu, group_norm, instance_norm
from .pool import (
    max_pool2d, max_pool1d, avg_pool2d, avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool1d, max_pool_with_indices,
    max_unpool,
)
from .conv import unfold, fold, conv2d, conv1d, conv_transpose2d, conv_transpose1d
from .movement import (
    diagonal, diag, trace, sliding_windows, meshgrid, rearrange, atleast_1d, atleast_2d, atleast_3d, broadcast_tensors,
    movedim, take_flat,
)
from .scatter import scatter, scatter_add, scatter_reduce, masked_select, nonzero
from .interpolate import interpolate
from .volume import conv3d, conv_transpose3d, max_pool3d, avg_pool3d
from . import cotangents, linalg
from .statistics import in_dtype, var_mean, std_mean, normalize, layernorm, batchnorm, softmin, multinomial
from .collective import all_sum, sync_batch_norm
from .recurrent import lstm, gru
from .products import tensordot, inner, kron, cross, vecdot, cdist
from .attention import scaled_dot_product_attention, self_attention, attention_weights, rotate_halves

# Compositions are plain functions. This makes their unforeseen errors name them, as a primitive's do.
import types as _types
from ..errors import named as _named
from ..core.dispatch import declared as _declared

for _name, _op in list(globals().items()):
    if isinstance(_op, _types.FunctionType) and _op.__module__.startswith(__name__):
        globals()[_name] = _op if hasattr(_op, "requires") else _named(_op)
        globals()[_name].__module__ = __name__  # where a pickle finds it
for _name, _op in list(vars(linalg).items()):
    if isinstance(_op, _types.FunctionType):
        setattr(linalg, _name, _op if hasattr(_op, "requires") else _named(_op))

for _op in _declared:
    _op.ours = True

# Ops that the engine itself calls, and the path of every call.
from ..core.basics import basics as _basics
from . import compare as _compare, cotangents as _cotangents, operands as _operands, parts as _parts, reduce as _reduce

_basics.cast, _basics.clone, _basics.identity, _basics.copied = cast, clone, identity, _compare.copied
_basics.put, _basics.sum_to, _basics.plus = _parts.put, _reduce.summed_to, _cotangents.plus
_basics.accumulate, _basics.add_part = _cotangents.accumulate, _cotangents.add_part
_basics.one, _basics.own = _cotangents.one, _operands.own
_operands.install()

__all__ = [*[_name for _name, _op in globals().items() if callable(_op) and not _name.startswith("_")], "linalg"]
