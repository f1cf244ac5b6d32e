"""Every op, each with its VJP beneath it.

The files go from easy to hard in the order below; this is their table of contents. An op is called on Tensors, and
recorded, or on arrays, and is then just its forward.
"""

# ruff: noqa: I001, F401
from .elementwise import (
    add, plus, sub, mul, div, neg, square, reciprocal, exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan,
    asin, acos, atan, sinh, cosh, erf, sqrt, rsqrt, pow, abs, maximum, minimum, share, clip, where, sign, floor,
    ceil, round, trunc, floordiv, mod,
)
from .compare import (
    eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor, logical_not, isnan, isinf, isfinite, cast, clone,
    contiguous, identity,
)
from .index import (
    take, put, getitem, plain_index, diagonal, gather, scatter_add, scatter, embedding, add_rows, one_hot, argsort,
    sort, topk,
)
from .shape import (
    reshape, permute, transpose, expand, unsqueeze, squeeze, flatten, unflatten, flip, roll, tril, triu, cat, stack,
    split, chunk, unbind, repeat, repeat_interleave, shrink, pad, surround,
)
from .reduce import (
    sum, spread, sum_to, mean, var, std, norm, max, min, tie_weights, argmax, argmin, any, all, prod, cumsum,
)
from .matmul import (
    batched_matmul, matmul, outer, linear, linear_relu, res_relu, einsum,
)
from .activation import (
    relu, keep_positive, leaky_relu, binary_step, sigmoid, tanh, silu, gelu, softplus, logsigmoid, elu, glu, swiglu,
)
from .softmax import (
    softmax, log_softmax, softmax_vjp, log_softmax_vjp, logsumexp, cross_entropy,
)
from .loss import (
    mse_loss, l1_loss, huber_loss, smooth_l1_loss, nll_loss, binary_cross_entropy, binary_cross_entropy_with_logits,
    kl_div,
)
from .dropout import (
    drop, dropout, dropout1d, dropout2d, gaussian_dropout,
)
from .normalization import (
    layer_norm, rms_norm, batch_norm, batch_norm_relu, group_norm, instance_norm,
)
from .pool import (
    max_windows, put_taps, take_taps, max_pool2d, max_pool1d, sum_windows, spread_windows, avg_pool2d, avg_pool1d,
    adaptive_avg_pool2d, adaptive_avg_pool1d, adaptive_max_pool2d, adaptive_max_pool1d, interpolate,
)
from .conv import (
    unfold, fold, conv2d, conv1d, conv_matrix, conv_transpose2d, conv_transpose1d,
)
from .attention import (
    scaled_dot_product_attention, self_attention, attention_weights, rotate_halves,
)

# The ops composed of others are plain functions: their unforeseen errors are named as those of primitives are.
import types as _types
from ..errors import named as _named

for _name, _op in list(globals().items()):
    if isinstance(_op, _types.FunctionType) and _op.__module__.startswith(__name__) and _op is not plus:
        globals()[_name] = _named(_op)
