"""Bad calls, and what the user is told: the op, the shapes, the rule that was broken, and what to do."""

import copy
import re

import numpy as np
import pytest

import nn
import optim
import tinygrad_like as torch
from optim import lr_scheduler
from tinygrad_like import Tensor, detect_anomaly, is_grad_enabled, jacobian, linalg, manual_seed, no_grad, ops
from tinygrad_like.data import DataLoader
from tinygrad_like.ops.table import add_rows

X = Tensor(np.ones((2, 3)), requires_grad=True, dtype="float32")  # a leaf
V = Tensor([1.0, 2.0, 3.0])
I = Tensor.arange(3)  # noqa: E741
D = Tensor(np.ones((2, 3)))  # float64
W = Tensor(np.ones((4, 3)), dtype="float32")
IMAGE = Tensor(np.ones((1, 2, 4, 6)), dtype="float32")


def sgd(lr):
    return optim.SGD([nn.Parameter([1.0])], lr=lr)


BAD_CALLS = [
    # Data and creation
    (lambda: Tensor("text"), TypeError, "Tensor: cannot hold str data of dtype <U4; cast to one of"),
    (lambda: Tensor(["a", "b"]), TypeError, "Tensor: cannot hold list data of dtype <U1; cast to one of"),
    (lambda: Tensor([[1, 2], [3]]), ValueError,
     "Tensor: the nested sequence is ragged; all its rows must have the same length"),
    (lambda: Tensor([1j]), TypeError, "Tensor: cannot hold list data of dtype complex128; cast to one of"),
    (lambda: Tensor(np.ones(2, np.uint16)), TypeError,
     "Tensor: cannot hold ndarray data of dtype uint16; cast to one of"),
    (lambda: Tensor(np.ones(2, np.uint16)), TypeError,
     "Tensor: cannot hold ndarray data of dtype uint16; cast to one of"),
    (lambda: Tensor(None), TypeError, "Tensor: cannot hold NoneType data of dtype object; cast to one of"),
    (lambda: Tensor(object()), TypeError, "Tensor: cannot hold object data of dtype object; cast to one of"),
    (lambda: Tensor({1: 2}), TypeError, "Tensor: cannot hold dict data of dtype object; cast to one of"),
    (lambda: Tensor([1.0], dtype="uint16"), TypeError, "Tensor: dtype uint16 is not supported; cast to one of"),
    (lambda: X.cast("float8"), TypeError, "cast: 'float8' is no dtype; use one of bfloat16, bool, float16, "),
    (lambda: Tensor([1.0], dtype="nonsense"), TypeError, "Tensor: 'nonsense' is no dtype; use one of"),
    (lambda: Tensor([2**70]), TypeError, "Tensor: cannot hold list data of dtype object; cast to one of"),
    (lambda: Tensor([X, X]), TypeError,
     "Tensor: a sequence of Tensors that require grad would lose their graph; join them with stack or cat"),
    (lambda: Tensor([1, 2], requires_grad=True), TypeError,
     "requires_grad: a Tensor of int64 cannot require grad; cast it with .float() first"),
    (lambda: Tensor.arange(2).requires_grad_(), TypeError,
     "requires_grad: a Tensor of int64 cannot require grad; cast it with .float() first"),
    (lambda: (X*2).requires_grad_(False), RuntimeError,
     "requires_grad_: this Tensor was computed by mul; use detach()"),
    (lambda: Tensor.from_numpy(np.ones(2, np.uint16)), TypeError,
     "from_numpy: dtype uint16 is not supported; cast to one of"),
    (lambda: Tensor.from_numpy([1.0]), TypeError,
     "from_numpy: takes a NumPy array, got list; Tensor(data) copies what it is given"),
    (lambda: Tensor.zeros(2, -1), ValueError, "zeros: a shape is made of non-negative integers, got (2, -1)"),
    (lambda: Tensor.zeros(2.5), ValueError, "zeros: a shape is made of non-negative integers, got (2.5,)"),
    (lambda: Tensor.rand(2, dtype="int64"), TypeError, "uniform: cannot draw int64; draw another dtype and cast()"),
    (lambda: Tensor.randint(3, low=5, high=5), ValueError, "randint: low=5 must be below high=5"),
    (lambda: Tensor.randint(3, dtype="float32"), TypeError,
     "randint: cannot draw float32; draw another dtype and cast()"),
    (lambda: Tensor.arange(None), TypeError, "arange: start, stop and step are numbers, got 0, None, 1"),
    (lambda: Tensor.arange(None, 3), TypeError, "arange: start, stop and step are numbers, got None, 3, 1"),
    (lambda: Tensor.arange(0, 5, 0), ValueError, "arange: step must not be 0"),
    (lambda: Tensor.eye(-1), ValueError, "eye: a shape is made of non-negative integers, got (-1, -1)"),
    # Attention and embedding
    (lambda: ops.scaled_dot_product_attention(X, W, V), ValueError,
     "scaled_dot_product_attention: v needs axes (..., length, size), got shape (3,)"),
    (lambda: ops.scaled_dot_product_attention(X, W.T, X), ValueError,
     "scaled_dot_product_attention: q of shape (2, 3) and k of shape (3, 4) must agree in their last axis"),
    (lambda: ops.scaled_dot_product_attention(X, W, X), ValueError,
     "scaled_dot_product_attention: k of shape (4, 3) and v of shape (2, 3) must have as many keys as values"),
    (lambda: ops.scaled_dot_product_attention(*[Tensor.ones(n, 2, 3) for n in (2, 3, 3)]), ValueError,
     "scaled_dot_product_attention: the leading axes of q (2, 2, 3), k (3, 2, 3) and v (3, 2, 3) do not broadcast"),
    (lambda: ops.scaled_dot_product_attention(D, X, X), TypeError,
     "scaled_dot_product_attention: all inputs must be of one floating dtype, got float64, float32, float32"),
    (lambda: ops.scaled_dot_product_attention(X, W, W, Tensor(np.ones((4, 2), bool))), ValueError,
     "scaled_dot_product_attention: attn_mask of shape (4, 2) does not broadcast to the scores' shape "
     "(..., queries, keys) = (2, 4)"),
    (lambda: ops.scaled_dot_product_attention(X, W, W, Tensor(np.ones((2, 4), int))), TypeError,
     "scaled_dot_product_attention: attn_mask must be boolean or float32, as the inputs are; got int64"),
    (lambda: ops.scaled_dot_product_attention(X, X, X, dropout_p=1.5), ValueError,
     "scaled_dot_product_attention: dropout_p must lie in [0, 1], got 1.5"),
    (lambda: ops.scaled_dot_product_attention(*[Tensor.ones(2, 3, 0)] * 3), ValueError,
     "scaled_dot_product_attention: heads of size 0 in an input of shape (2, 3, 0) have no default scale"),
    (lambda: ops.self_attention(Tensor.ones(4, 0), num_heads=2), ValueError,
     "self_attention: heads of size 0 in an input of shape (4, 0) have no default scale"),
    (lambda: ops.attention_weights(Tensor.ones(4, 0), Tensor.ones(4, 0)), ValueError,
     "attention_weights: heads of size 0 in an input of shape (4, 0) have no default scale"),
    (lambda: ops.rotate_halves(X, V, V), ValueError,
     "rotate_halves: x (2, 3) needs a last axis of an even size 2 n, and cos (3,) and sin (3,) one of size n"),
    (lambda: ops.sync_batch_norm(Tensor.ones(2, 0, 2)), ValueError,
     "sync_batch_norm: nothing to normalise in an input of shape (2, 0, 2); it needs a channel"),
    (lambda: nn.functional.batch_norm(V, None, None, training=True), ValueError,
     "batch_norm: expected (batch, channels, ...), got shape (3,)"),
    (lambda: ops.pad(V, padding=(1, 1), value=1j), TypeError, "pad: value must be a real number, got 1j"),
    (lambda: Tensor.linspace(0, 1, 2.5), ValueError,
     "linspace: steps is how many values there are, an integer from 0, got 2.5"),
    (lambda: manual_seed(-2), ValueError, "manual_seed: a seed is an integer from 0 to 2^64 - 1, got -2"),
    (lambda: ops.self_attention(Tensor.ones(4, 12), num_heads=3), ValueError,
     "self_attention: qkv must be (..., T, 3 E) with E a multiple of num_heads=3, got shape (4, 12)"),
    (lambda: ops.self_attention(Tensor.ones(4, 12), Tensor(np.ones((3, 3), bool)), num_heads=2), ValueError,
     "self_attention: attn_mask of shape (3, 3) does not broadcast to the scores' shape (..., queries, keys) = "
     "(2, 4, 4)"),
    (lambda: ops.embedding(Tensor([[0, 5]]), W), IndexError,
     "embedding: index 5 at position (0, 1) is out of range for a table of 4 rows (0 to 3)"),
    (lambda: ops.embedding(V, W), TypeError, "embedding: the index must hold integers, got float32"),
    (lambda: ops.embedding(I, V), ValueError, "embedding: weight must be (rows, size), got shape (3,)"),
    # Elementwise
    (lambda: X + Tensor(np.ones((2, 2))), ValueError,
     "add: shapes (2, 3) and (2, 2) do not broadcast; counted from the last axis, sizes must be equal or 1"),
    (lambda: X * np.ones((4, 3, 5)), ValueError,
     "mul: shapes (2, 3) and (4, 3, 5) do not broadcast; counted from the last axis, sizes must be equal or 1"),
    (lambda: ops.where(X > 0, X, np.ones(5)), ValueError,
     "where: shapes (2, 3) and (2, 3) and (5,) do not broadcast; counted from the last axis, sizes must be equal "
     "or 1"),
    (lambda: ops.where(X, X, X), TypeError,
     "where: the condition must be boolean, got float32; compare, as in x > 0, or cast with .bool()"),
    (lambda: X + "text", TypeError, "add: cannot hold str data of dtype <U4; cast to one of"),
    (lambda: "text" * X, TypeError, "mul: cannot hold str data of dtype <U4; cast to one of"),
    (lambda: X + None, TypeError,
     "add: takes Tensors or arrays, got None, as what a function gives that has no return"),
    (lambda: X - object(), TypeError, "sub: cannot hold object data of dtype object; cast to one of"),
    (lambda: X + {1: 2}, TypeError, "add: cannot hold dict data of dtype object; cast to one of"),
    (lambda: X & X, TypeError,
     "logical_and: not defined for float32 and float32; cast, with .float(), .int() or .bool()"),
    (lambda: ~X, TypeError, "logical_not: not defined for float32; cast, with .float(), .int() or .bool()"),
    (lambda: Tensor([True]) - Tensor([True]), TypeError,
     "sub: not defined for bool and bool; cast, with .float(), .int() or .bool()"),
    (lambda: -Tensor([True]), TypeError, "neg: not defined for bool; cast, with .float(), .int() or .bool()"),
    (lambda: I ** -1, ValueError, "pow: an integer to a negative power is no integer; cast the base with .float()"),
    (lambda: ops.erf(np.ones(2, complex)), TypeError, "erf: takes real numbers, got complex128"),
    (lambda: X.clip(), ValueError, "clip: give min, max or both"),
    (lambda: X.clip(min_=Tensor.ones(4)), ValueError, "lt: shapes (2, 3) and (4,) do not broadcast"),
    # Conversion
    (lambda: bool(X), ValueError, "bool: the truth of a Tensor of shape (2, 3) is ambiguous; use .any() or .all()"),
    (lambda: X if X > 0 else X, ValueError,
     "bool: the truth of a Tensor of shape (2, 3) is ambiguous; use .any() or .all()"),
    (lambda: float(X), ValueError, "item: only a Tensor of one element converts to a number, this has shape (2, 3)"),
    (lambda: int(V), ValueError, "item: only a Tensor of one element converts to a number, this has shape (3,)"),
    (lambda: X.item(), ValueError, "item: only a Tensor of one element converts to a number, this has shape (2, 3)"),
    (lambda: X[X[0, 0]], TypeError,
     "getitem: Tensor of dtype float32 is no index; use integers, slices, None, ... or integer or boolean arrays"),
    (lambda: len(Tensor(1.0)), TypeError, "len: a 0-d Tensor has no length"),
    (lambda: list(Tensor(1.0)), TypeError, "iter: a 0-d Tensor cannot be iterated over; use .item()"),
    # Axes and reductions
    (lambda: X.sum(axis=2), IndexError, "sum: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: X.sum(axis=(0, 0)), ValueError, "sum: axis (0, 0) names an axis twice"),
    (lambda: X.sum(axis="rows"), TypeError, "sum: axis must be an integer, got 'rows'"),
    (lambda: X.sum(axis=1.0), TypeError, "sum: axis must be an integer, got 1.0"),
    (lambda: X.mean(axis=-3), IndexError, "mean: axis -3 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: Tensor(np.zeros((0, 3))).mean(), ValueError,
     "mean: nothing to average over axis (0, 1) of shape (0, 3)"),
    (lambda: Tensor(np.zeros((0, 3))).max(axis=0), ValueError,
     "max: axis (0,) of shape (0, 3) is empty, and an empty set has no max"),
    (lambda: Tensor(np.zeros((0, 3))).argmin(axis=0), ValueError,
     "argmin: axis (0,) of shape (0, 3) is empty, and an empty set has no argmin"),
    (lambda: X.var(axis=5), IndexError, "var: axis 5 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: Tensor([1.0]).var(), ValueError,
     "var: 1 values along axis None of shape (1,) with correction=1; it divides by n - correction, so use "
     "correction=0 or more values"),
    (lambda: ops.var(np.ones(3, complex)), TypeError, "var: takes real numbers, got complex128"),
    (lambda: ops.sum_to(X, (2, 2)), ValueError, "sum_to: (2, 3) is not (2, 2) nor broadcasts from it"),
    (lambda: ops.sum_to(X, (1, 2, 3)), ValueError, "sum_to: (2, 3) is not (1, 2, 3) nor broadcasts from it"),
    (lambda: X.argmax(axis=(0, 1)), TypeError, "argmax: axis must be an integer, got (0, 1)"),
    (lambda: X.softmax(axis=2), IndexError, "softmax: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: Tensor(np.zeros((2, 0))).softmax(), ValueError,
     "softmax: axis 1 of shape (2, 0) is empty, so there is nothing to normalise"),
    (lambda: Tensor(np.zeros((2, 0))).log_softmax(), ValueError,
     "log_softmax: axis 1 of shape (2, 0) is empty, so there is nothing to normalise"),
    (lambda: Tensor(np.zeros((2, 0))).logsumexp(axis=1), ValueError,
     "logsumexp: axis (1,) of shape (2, 0) is empty, and an empty set has no logsumexp"),
    (lambda: X.cumsum(axis=2), IndexError, "cumsum: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    # Shape
    (lambda: X.reshape(4, 2), ValueError, "reshape: 6 elements of shape (2, 3) do not fill shape (4, 2)"),
    (lambda: X.reshape(-1, -1), ValueError, "reshape: 6 elements of shape (2, 3) do not fill shape (-1, -1)"),
    (lambda: X.reshape(2.5, 2), ValueError, "reshape: 6 elements of shape (2, 3) do not fill shape (2.5, 2)"),
    (lambda: X.reshape("ab"), ValueError, "reshape: 6 elements of shape (2, 3) do not fill shape ('ab',)"),
    (lambda: X.permute(0), ValueError, "permute: 1 axes (0,) for a Tensor of shape (2, 3); give each axis once"),
    (lambda: X.permute(0, 0), ValueError, "permute: axis (0, 0) names an axis twice"),
    (lambda: X.permute(0, 2), IndexError, "permute: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: X.transpose(0, 2), IndexError,
     "transpose: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: X.expand(-2, 3), ValueError, "expand: shape (2, 3) does not broadcast to (-2, 3); -1 keeps"),
    (lambda: X.expand(-1, 2, 3), ValueError, "expand: shape (2, 3) does not broadcast to (-1, 2, 3); -1 "),
    (lambda: X.expand(4, 3), ValueError,
     "expand: shape (2, 3) does not broadcast to (4, 3); only axes of size 1 stretch"),
    (lambda: X.expand(3), ValueError, "expand: shape (2, 3) does not broadcast to (3,); only axes of size 1 stretch"),
    (lambda: X.squeeze(2), IndexError, "squeeze: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: X.unsqueeze(4), IndexError, "unsqueeze: axis 4 is out of range; with 3 axes it lies between -3 and 2"),
    (lambda: X.flatten(1, 0), ValueError, "flatten: start_axis 1 comes after end_axis 0"),
    (lambda: X.unflatten(1, (2, 2)), ValueError,
     "unflatten: sizes (2, 2) do not multiply to 3, the size of axis 1 of shape (2, 3)"),
    (lambda: X.unflatten(1, (1, 2)), ValueError,
     "unflatten: sizes (1, 2) do not multiply to 3, the size of axis 1 of shape (2, 3)"),
    (lambda: X.flip(2), IndexError, "flip: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: X.roll(1, 2), IndexError, "roll: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: X.roll(1.5, 0), TypeError, "roll: shifts must be an integer or several, got 1.5"),
    (lambda: X.roll((1, 2, 3), (0, 1)), ValueError, "roll: 3 shifts (1, 2, 3) for 2 axes (0, 1); give one for each"),
    (lambda: V.tril(), ValueError, "tril: needs at least two axes, got shape (3,)"),
    (lambda: V.mT, IndexError, "transpose: axis -2 is out of range; with 1 axes it lies between -1 and 0"),
    (lambda: X.pad((1,)), ValueError,
     "pad: flat padding (1,) must hold a (before, after) pair for at most 2 axes, last axis first"),
    (lambda: X.pad((1, 1, 1, 1, 1, 1)), ValueError,
     "pad: flat padding (1, 1, 1, 1, 1, 1) must hold a (before, after) pair for at most 2 axes, last axis first"),
    (lambda: X.pad((-4, 0)), ValueError,
     "pad: negative padding takes away ((0, 0), (4, 0)), more than there is of shape (2, 3)"),
    (lambda: ops.pad(X, padding=((1, 2, 3), (0, 0))), ValueError,
     "pad: padding must be (before, after) pairs of numbers, got ((1, 2, 3), (0, 0))"),
    (lambda: X.pad((1, 1), mode="mirror"), ValueError,
     "pad: mode 'mirror' is none of constant, reflect, replicate, circular"),
    (lambda: X.pad((3, 0), mode="reflect"), ValueError,
     "pad: reflect padding (3, 0) of axis 1 exceeds 2, as far as size 3 reaches"),
    (lambda: X.pad(((1, 1),)), ValueError, "pad: 1 (before, after) pairs for a Tensor of 2 axes"),
    (lambda: X.repeat(2), ValueError,
     "repeat: give a non-negative count for each of the 2 axes of shape (2, 3), got (2,)"),
    (lambda: X.repeat(2, -1), ValueError,
     "repeat: give a non-negative count for each of the 2 axes of shape (2, 3), got (2, -1)"),
    (lambda: X.repeat_interleave(-1), ValueError,
     "repeat_interleave: the number of repeats must not be negative, got -1"),
    (lambda: X.shrink(((0, 3), None)), ValueError,
     "shrink: range (0, 3) of axis 0 must lie in 0 <= start <= stop <= 2"),
    (lambda: X.shrink((None,)), ValueError, "shrink: 1 ranges for 2 axes of shape (2, 3)"),
    (lambda: ops.cat(), ValueError, "cat: needs at least one Tensor"),
    (lambda: ops.cat(X, Tensor(np.ones((2, 2))), axis=0), ValueError,
     "cat: Tensor 1 has shape (2, 2) but Tensor 0 has (2, 3); all axes except axis 0 must agree"),
    (lambda: ops.cat(X, X[:, :1], X[:1], axis=1), ValueError,
     "cat: Tensor 2 has shape (1, 3) but Tensor 0 has (2, 3); all axes except axis 1 must agree"),
    (lambda: ops.cat(X, V), ValueError,
     "cat: Tensor 1 has shape (3,) but Tensor 0 has (2, 3); all axes except axis 0 must agree"),
    (lambda: ops.cat([X, V]), ValueError,
     "cat: Tensor 1 has shape (3,) but Tensor 0 has (2, 3); all axes except axis 0 must agree"),
    (lambda: ops.cat([]), ValueError, "cat: needs at least one Tensor"),
    (lambda: X.sum(dim=2), IndexError, "sum: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: X.sum(axis=0, dim=1), TypeError, "sum: dim and axis are the same; give one of them"),
    (lambda: X.to("cuda"), RuntimeError,
     "device: there is only the CPU, not 'cuda'; write device='cpu', or leave it out"),
    (lambda: ops.cat(X, 1.0), TypeError, "cat: takes Tensors or arrays, got float"),
    (lambda: ops.cat(X, X, axis=2), IndexError, "cat: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: ops.cat(Tensor(1.0), Tensor(1.0)), IndexError, "cat: axis 0 is out of range; a 0-d Tensor has none"),
    (lambda: ops.stack(), ValueError, "stack: needs at least one Tensor"),
    (lambda: ops.stack(X, V), ValueError, "stack: Tensor 1 has shape (3,) but Tensor 0 has (2, 3); all must agree"),
    (lambda: ops.stack(X, X, axis=4), IndexError,
     "stack: axis 4 is out of range; with 3 axes it lies between -3 and 2"),
    (lambda: X.split((1, 1), 1), ValueError,
     "split: sizes [1, 1] do not add up to 3, the size of axis 1 of shape (2, 3)"),
    (lambda: X.split(0), ValueError, "split: the size must be positive, got 0"),
    (lambda: X.chunk(0), ValueError, "chunk: needs at least 1 chunk, got 0"),
    (lambda: X.unbind(3), IndexError, "unbind: axis 3 is out of range; with 2 axes it lies between -2 and 1"),
    # Indices
    *[(lambda index=index: IMAGE[0][index], IndexError,
       f"getitem: a boolean mask of shape ({n},) at axis {axis} of shape (2, 4, 6); a mask must have the shape of the ")
      for index, n, axis in (((..., np.ones(4, bool)), 4, 2), ((0, np.ones(6, bool)), 6, 1),
                             ((None, np.ones(3, bool)), 3, 0), ((np.ones((2, 4), bool), np.ones(5, bool)), 5, 2))],
    (lambda: Tensor.zeros(2, 3).__setitem__((None, ..., [3]), 1.0), IndexError,
     "getitem: index 3 is out of range for axis 1 of size 3 (shape (2, 3))"),
    (lambda: X[2], IndexError, "getitem: index 2 is out of range for axis 0 of size 2 (shape (2, 3))"),
    (lambda: X[0, 3], IndexError, "getitem: index 3 is out of range for axis 1 of size 3 (shape (2, 3))"),
    (lambda: X[0, 0, 0], IndexError, "getitem: 3 indices for the 2 axes of shape (2, 3)"),
    (lambda: X[[0, 5]], IndexError, "getitem: index 5 is out of range for axis 0 of size 2 (shape (2, 3))"),
    (lambda: X[[-2, 5]], IndexError, "getitem: index 5 is out of range for axis 0 of size 2 (shape (2, 3))"),
    (lambda: ops.take(X, index=[0]), TypeError,
     "getitem: the index must be a tuple, as plain_index makes it, got list"),
    (lambda: X["a"], TypeError,
     "getitem: str of dtype <U1 is no index; use integers, slices, None, ... or integer or boolean arrays"),
    (lambda: X[1.5], TypeError,
     "getitem: float of dtype float64 is no index; use integers, slices, None, ... or integer or boolean arrays"),
    (lambda: X[..., ...], IndexError, "getitem: an index has at most one Ellipsis (...)"),
    (lambda: X[np.ones(3, bool)], IndexError,
     "getitem: a boolean mask of shape (3,) at axis 0 of shape (2, 3); a mask must have the shape of the axes it "
     "selects from"),
    (lambda: X[np.ones((2, 2), bool)], IndexError,
     "getitem: a boolean mask of shape (2, 2) at axis 0 of shape (2, 3); a mask must have the shape of the axes it"
     " selects from"),
    (lambda: X[V], TypeError,
     "getitem: Tensor of dtype float32 is no index; use integers, slices, None, ... or integer or boolean arrays"),
    (lambda: X[[0, 1], [0, 1, 2]], IndexError,
     "getitem: index arrays of shapes (2,) and (3,) do not broadcast; they are taken element by element (a mask "),
    (lambda: D.__setitem__((np.array([True, True]), [[0], [1], [2]], [0, 1]), 0.0), IndexError,
     "getitem: 3 indices for the 2 axes of shape (2, 3)"),
    (lambda: D.__setitem__((np.array([True, True]), [0, 1, 2]), 0.0), IndexError,
     "getitem: index arrays of shapes (2,) and (3,) do not broadcast"),
    (lambda: nn.Conv2d(1, 1, 1)([1, 2]), TypeError,
     "Conv2d: takes Tensors, got list; Tensor(data) makes one of numbers"),
    (lambda: nn.Sequential(nn.BatchNorm1d(2))([[1.0, 2.0]]), TypeError, "BatchNorm1d: takes Tensors, got list"),
    (lambda: X[{}], TypeError,
     "getitem: dict of dtype object is no index; use integers, slices, None, ... or integer or boolean arrays"),
    (lambda: X.gather(0, V), TypeError, "gather: index must hold integers, got float32"),
    (lambda: X.gather(1, [0, 1]), ValueError,
     "gather: index of shape (2,) does not fit shape (2, 3): it needs as many axes, and none but axis 1 may be "),
    (lambda: X.gather(0, [0]), ValueError,
     "gather: index of shape (1,) does not fit shape (2, 3): it needs as many axes, and none but axis 0 may be "
     "longer"),
    (lambda: X.gather(0, [[5, 0, 0]]), IndexError,
     "gather: index 5 is out of range for axis 0 of size 2 (shape (2, 3))"),
    (lambda: X.gather(0, [[-2, 5, 0]]), IndexError,
     "gather: index -2 is out of range for axis 0 of size 2 (shape (2, 3)); only x[index] counts from the end"),
    (lambda: X.gather(2, [[0]]), IndexError, "gather: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: X.scatter(0, [[0, 1]], V), ValueError,
     "scatter: src has shape (3,) but index has shape (1, 2); src must be as large"),
    (lambda: X.scatter(0, [[0, 2]], 1.0), IndexError,
     "scatter: index 2 is out of range for axis 0 of size 2 (shape (2, 3))"),
    (lambda: Tensor(1.0).scatter(0, Tensor(1), 2.0), IndexError,
     "scatter: index 1 is out of range for axis 0 of size 1 (shape (1,))"),
    (lambda: X.scatter_add(0, [[-9, 1]], 1.0), IndexError,
     "scatter_add: index -9 is out of range for axis 0 of size 2 (shape (2, 3))"),
    (lambda: X.scatter_add(1, [[0], [1], [0]], 1.0), ValueError,
     "scatter_add: index of shape (3, 1) does not fit shape (2, 3): it needs as many axes, and none but axis 1 may"
     " be longer"),
    (lambda: V.one_hot(3), TypeError, "one_hot: needs integers, got float32"),
    (lambda: I.one_hot(2.5), ValueError,
     "one_hot: num_classes is how many, or -1 for as many as there are, got 2.5"),
    (lambda: I.one_hot(-2), ValueError,
     "one_hot: num_classes is how many, or -1 for as many as there are, got -2"),
    (lambda: I.one_hot(2), IndexError, "one_hot: index 2 is out of range for 2 classes"),
    (lambda: Tensor([-1]).one_hot(2), IndexError, "one_hot: index -1 is out of range for 2 classes"),
    (lambda: V.diagonal(), ValueError, "diagonal: needs at least two axes, got shape (3,)"),
    (lambda: X.diagonal(0, 1, 1), ValueError, "diagonal: axis1 and axis2 must differ, got 1 and 1"),
    (lambda: IMAGE.diag(), ValueError, "diag: takes a vector or a matrix, got shape "),
    (lambda: V.trace(), ValueError, "trace: takes a matrix, got shape (3,)"),
    (lambda: X.unfold(1, 4), ValueError, "unfold: windows of size 4 by steps of 1 do not fit axis 1 of shape (2, 3)"),
    (lambda: V.meshgrid(V, indexing="ji"), ValueError, 'meshgrid: takes vectors and indexing "ij" or "xy", got shapes '
     "[(3,), (3,)] and 'ji'"),
    (lambda: X.rearrange("a b"), ValueError, "rearrange: 'a b' must be like "),
    (lambda: X.rearrange("a b c -> a"), ValueError, "rearrange: 'a b c -> a' names 3 axes but the shape is (2, 3)"),
    (lambda: X.rearrange("a (b c) -> a b c", b=2), ValueError,
     "rearrange: (b c) of 'a (b c) -> a b c' does not divide an axis of size 3; sizes given: "),
    (lambda: X.rearrange("a b -> a c"), ValueError, "rearrange: both sides of 'a b -> a c' must have the same names"),
    (lambda: X.rearrange("a b- -> a b"), ValueError, "rearrange: 'a b-' must be made of names, parentheses and '...'"),
    (lambda: X.repeat_interleave([1, 2], 1), ValueError,
     "repeat_interleave: repeats must be one integer for each of the 3 of axis 1 of shape (2, 3), none negative, got "
     "int64 of shape (2,)"),
    (lambda: X.scatter_reduce(1, [[0], [1]], X, "max"), ValueError,
     "scatter_reduce: reduce must be one of sum, prod, mean, amax, amin, got 'max'"),
    (lambda: X.masked_select(X), TypeError, "masked_select: the mask must be boolean, got float32; compare, or cast "),
    (lambda: X.masked_select(Tensor([True])[:, None].repeat(4, 1)), ValueError,
     "masked_select: shapes (2, 3) and (4, 1) do not broadcast"),
    (lambda: ops.recurrence(X, V), ValueError, "recurrence: x has shape (2, 3) but decay (3,); they must agree"),
    (lambda: X.cumprod(2), IndexError, "cumprod: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: X.celu(-1.0), ValueError, "celu: alpha must be positive, got -1.0"),
    (lambda: X.hardtanh(1.0, 0.0), ValueError, "hardtanh: min_val 1.0 must not exceed max_val 0.0"),
    (lambda: X.div(X, rounding_mode="up"), ValueError,
     "div: rounding_mode must be None, \"trunc\" or \"floor\", got 'up'"),
    (lambda: Tensor([-1.0, 2]).multinomial(), ValueError, "multinomial: takes (n) or (rows, n) weights, none below 0 "),
    (lambda: Tensor([np.inf, 2]).multinomial(), ValueError, "multinomial: takes (n) or (rows, n) weights, none "),
    (lambda: ops.smooth_l1_loss(Tensor([1.0]), Tensor([1.0, 2.0])), ValueError, "smooth_l1_loss: input has shape (1,)"),
    (lambda: ops.kl_div(Tensor.zeros(0, 3), Tensor.zeros(0, 3), reduction="batchmean"), ValueError,
     "kl_div: an input of shape "),
    (lambda: Tensor([0.0, 2]).multinomial(2), ValueError, "multinomial: 2 samples without replacement of fewer "),
    (lambda: Tensor.full((2,), 1j, dtype="float32"), TypeError, "full: a Tensor holds real numbers, got 1j"),
    (lambda: IMAGE.t(), ValueError, "t: takes a matrix, got shape (1, 2, 4, 6); use x.transpose(-2, -1) or x.mT"),
    (lambda: X.narrow(1, 2, 2), IndexError, "narrow: 2 elements from 2 on do not lie in axis 1 of shape (2, 3)"),
    (lambda: jacobian(lambda x: 3)(X), TypeError, "jacobian: f must give a Tensor, got int"),
    # Layers
    (lambda: nn.Linear(2, 2, biass=True), TypeError,
     "Linear: unknown argument 'biass'; it takes in_features, out_features, bias"),
    (lambda: nn.Conv1d(3, 4, 3, padding="full"), ValueError,
     'Conv1d: padding must be numbers, "same" or "valid", got \'full\''),
    (lambda: DataLoader(np.ones((4, 2)), transform=3), TypeError,
     "DataLoader: transform must be a function of a batch and a generator, got 3"),
    (lambda: lr_scheduler.StepLR(optim.SGD(nn.Linear(2, 2).parameters(), 0.1), 0), ValueError,
     "StepLR: step_size=0 must be > 0"),
    (lambda: optim.SGD([W], learning_rate=0.1), TypeError,
     "SGD: unknown argument 'learning_rate'; it takes params, lr, momentum, "),
    (lambda: nn.MultiheadAttention(4, 2, rotary=nn.RotaryEncoding(2))(*W.reshape(1, 3, 4).expand(3, 1, 3, 4)),
     ValueError, "MultiheadAttention: rotary and cache are for self-attention"),
    (lambda: nn.SinusoidalEncoding(4)(X), ValueError, "SinusoidalEncoding: takes (..., T, 4), got shape (2, 3)"),
    (lambda: nn.LearnedEncoding(5, 4)(V), ValueError, "LearnedEncoding: takes (..., T, 4), got shape (3,)"),
    (lambda: nn.LearnedEncoding(5, 4)(Tensor.ones(6, 4)), ValueError,
     "LearnedEncoding: positions 0 to 5 of an input (6, 4) are not all in the table, which has 5 "),
    (lambda: nn.RotaryEncoding(4)(X), ValueError, "RotaryEncoding: takes (..., T, heads, 4), got shape (2, 3)"),
    (lambda: nn.Residual(3), TypeError, "Residual: f must be a Module or a function, got int"),
    (lambda: nn.TransformerEncoder(3, 2), TypeError,
     "TransformerEncoder: the layer to be copied must be a Module, got int"),
    (lambda: nn.TransformerEncoder(nn.Identity(), -1), ValueError,
     "TransformerEncoder: num_layers must be an integer from 0 to 9,999, got -1"),
    (lambda: ops.lstm(X, V, V, V), ValueError,
     "lstm: takes x (T, batch, 4 H) with T > 0, and weight (4 H, H), got shapes (2, 3) and (3,)"),
    (lambda: ops.gru(*map(Tensor.ones, [(2, 1, 6), (1, 2), (6, 2), (5,)])), ValueError,
     "gru: bias must have shape (6,), got (5,)"),
    (lambda: ops.gru(*map(Tensor.ones, [(2, 1, 6), (2, 2), (6, 2), (6,)])), ValueError,
     "gru: h must have shape (1, 2) for x of shape (2, 1, 6), got (2, 2)"),
    (lambda: ops.gru(Tensor.ones(2, 1, 6), Tensor.ones(1, 2), Tensor.ones(6, 2).double(), Tensor.ones(6)), TypeError,
     "gru: weight is float64 but x float32; cast one with .float() or .double()"),
    # Schedulers
    (lambda: lr_scheduler.StepLR(3, 1), TypeError, "StepLR: takes an Optimizer, got int"),
    (lambda: lr_scheduler.StepLR(sgd(0.1), 1, last_epoch=3), ValueError,
     "StepLR: last_epoch=3 needs the rate at which each group began"),
    (lambda: lr_scheduler.LambdaLR(sgd(0.1), [abs, abs]), ValueError, "LambdaLR: 2 functions for 1 groups"),
    (lambda: lr_scheduler.StepLR(sgd(lambda step: 0.1), 1), TypeError,
     "StepLR: the optimizer's lr is already a schedule; give it a number"),
    (lambda: linalg.inv(X), ValueError, "inv: takes square matrices in the last two axes, got shape (2, 3)"),
    (lambda: linalg.det(V), ValueError, "det: takes square matrices in the last two axes, got shape (3,)"),
    (lambda: linalg.inv(Tensor.zeros(2, 2)), ValueError, "solve: singular matrix, in shape (2, 2) and (2, 2)"),
    (lambda: linalg.cholesky(Tensor.ones(2, 2, dtype="int64")), TypeError, "cholesky: takes floating point, got int64"),
    (lambda: linalg.solve(Tensor.eye(2), V), ValueError,
     "solve: a of float32 (2, 2) and b of float32 (3,) do not fit; b must be a vector or matrix with 2 rows, of the "),
    (lambda: linalg.eigh(Tensor.eye(2), "X"), ValueError, "eigh: UPLO must be \"L\" or \"U\", got 'X'"),
    (lambda: linalg.svd(Tensor.ones(2, 3, requires_grad=True)), ValueError,
     "svd: the bases that full_matrices=True completes have no gradient; use full_matrices=False"),
    (lambda: linalg.solve_triangular(X, V[:, None], upper=True), ValueError,
     "solve_triangular: takes square matrices in the last two axes, got shape (2, 3)"),
    (lambda: linalg.solve_triangular(Tensor.eye(3), V, upper=True), ValueError,
     "solve_triangular: takes matrices in the last two axes, got shape (3,)"),
    (lambda: linalg.norm(IMAGE, 2), ValueError,
     "norm: with ord=2, and no axis, takes a vector or a matrix, got shape (1, 2, 4, 6)"),
    (lambda: linalg.matrix_norm(X, 3), ValueError, "matrix_norm: ord must be "),
    (lambda: linalg.matrix_norm(X, axis=(1, -1)), ValueError, "matrix_norm: takes two different axes, got (1, -1)"),
    (lambda: X.topk(4), ValueError, "topk: k=4 must be between 0 and 3, the size of axis 1 of shape (2, 3)"),
    (lambda: X.topk([1]), TypeError, "topk: k is how many, an integer, got [1]"),
    (lambda: X.topk(1.5), TypeError, "topk: k is how many, an integer, got 1.5"),
    (lambda: X.topk(True), TypeError, "topk: k is how many, an integer, got True"),
    (lambda: X.topk(-1), ValueError, "topk: k=-1 must be between 0 and 3, the size of axis 1 of shape (2, 3)"),
    (lambda: Tensor(1.0).topk(2), ValueError, "topk: k=2 must be between 0 and 1, the size of axis 0 of shape ()"),
    (lambda: X.sort(axis=2), IndexError, "sort: axis 2 is out of range; with 2 axes it lies between -2 and 1"),
    # Products
    (lambda: X @ X, ValueError,
     "matmul: shapes (2, 3) and (2, 3) do not fit: the last axis of the first is 3 but the second last axis of the"
     " second is 2"),
    (lambda: X @ Tensor(1.0), ValueError, "matmul: shapes (2, 3) and (): a 0-d operand has no rows; use * to scale"),
    (lambda: X @ D, ValueError,
     "matmul: shapes (2, 3) and (2, 3) do not fit: the last axis of the first is 3 but the second last axis of the"
     " second is 2"),
    (lambda: Tensor(np.ones((2, 2, 3)), dtype="float32") @ Tensor(np.ones((3, 3, 2)), dtype="float32"), ValueError,
     "matmul: batch axes (2,) and (3,) of shapes (2, 2, 3) and (3, 3, 2) do not broadcast"),
    (lambda: X @ "text", TypeError, "matmul: cannot hold str data of dtype <U4; cast to one of"),
    (lambda: X @ [[1.0]], ValueError,
     "matmul: shapes (2, 3) and (1, 1) do not fit: the last axis of the first is 3 but the second last axis of the"
     " second is 1"),
    (lambda: ops.linear(X, Tensor.ones(1, 1, 3)), ValueError, "linear: weight must be (out, in), got shape (1, 1, 3)"),
    (lambda: ops.linear(X, Tensor(np.ones((4, 2)), dtype="float32")), ValueError,
     "linear: the last axis of the input, shape (2, 3), must be 2, the second of the weight (out, in) = (4, 2)"),
    (lambda: ops.linear(X, W, V), ValueError,
     "linear: bias has shape (3,) but the weight (out, in) = (4, 3) needs (4,)"),
    (lambda: ops.linear(D, W), TypeError,
     "linear: the input is float64 but the weight float32; cast the input with .float()"),
    (lambda: ops.linear(X, W, Tensor.zeros(4, dtype="float64")), TypeError,
     "linear: the bias is float64 but the weight float32; cast one of them"),
    (lambda: ops.linear(X, W, Tensor.arange(4)), TypeError,
     "linear: the bias is int64 but the weight float32; cast one of them"),
    (lambda: ops.linear(Tensor(1.0), W), ValueError,
     "linear: the last axis of the input, shape (), must be 3, the second of the weight (out, in) = (4, 3)"),
    (lambda: ops.linear(X, W.numpy().tolist(), "b"), TypeError,
     "linear: cannot hold str data of dtype <U1; cast to one of"),
    (lambda: ops.outer(X, V), ValueError, "outer: takes two vectors, got shapes (2, 3) and (3,)"),
    (lambda: ops.einsum("ij,jk", X), ValueError, "einsum: 'ij,jk' names 2 operands but 1 were given"),
    (lambda: ops.einsum("ijk->i", X), ValueError,
     "einsum: 'ijk' of 'ijk->i' names 3 axes but its operand has shape (2, 3)"),
    (lambda: ops.einsum("ij,jk->ik", X, X), ValueError,
     "einsum: axis 'j' of 'ij,jk->ik' has size 2 in shape (2, 3) but 3 before"),
    (lambda: ops.einsum("ij->k", X), ValueError, "einsum: output axis 'k' of 'ij->k' is in no input"),
    (lambda: ops.einsum("ij->ii", X), ValueError, "einsum: the output of 'ij->ii' names an axis twice"),
    (lambda: ops.einsum("i1->i", X), ValueError, "einsum: 'i1' must be letters, with at most one '...'"),
    (lambda: ops.einsum(X, "ij"), TypeError,
     'einsum: the formula comes first, as in einsum("ij,jk->ik", a, b); got Tensor'),
    # Activations and losses
    (lambda: ops.glu(X), ValueError,
     "glu: axis 1 of shape (2, 3) must have an even size, to be split into value and gate"),
    (lambda: ops.gelu(X, approximate="erf"), ValueError, "gelu: approximate must be \"none\" or \"tanh\", got 'erf'"),
    (lambda: ops.softplus(X, beta=0), ValueError, "softplus: beta must be positive, got 0"),
    (lambda: ops.cross_entropy(X, [0, 3]), IndexError,
     "cross_entropy: label 3 is out of range for 3 classes (0 to 2); ignore_index is -100"),
    (lambda: ops.cross_entropy(X, [0, -1]), IndexError,
     "cross_entropy: label -1 is out of range for 3 classes (0 to 2); ignore_index is -100"),
    (lambda: ops.cross_entropy(X, [0]), ValueError,
     "cross_entropy: an input of shape (2, 3) (classes on axis 1) takes labels of shape (2,), got (1,)"),
    *[(lambda f=f, x=x, y=y: f(x, y), TypeError,
       f"{f.__name__}: labels are integers, got {kind}; cast the target with .long()")
      for f in (ops.cross_entropy, ops.nll_loss)
      for x, y, kind in ((X, Tensor([0.0, 1.0]), "float32"), (X, Tensor([True, False]), "bool"))],
    (lambda: ops.cross_entropy(X[..., None], X[:, :1]), TypeError,
     "cross_entropy: labels are integers, got float32; cast the target with .long()"),
    (lambda: ops.cross_entropy(X[0], X[0, 0]), TypeError, "cross_entropy: labels are integers, got float32; cast the "),
    (lambda: ops.cross_entropy(X, X[:1]), ValueError,
     "cross_entropy: probabilities of shape (1, 3) for logits of shape (2, 3); they must agree (class indices are "),
    (lambda: ops.cross_entropy(X, ["a", "b"]), TypeError, "cross_entropy: cannot hold list data of dtype <U1"),
    (lambda: ops.cross_entropy(X, [[0], [1]]), ValueError,
     "cross_entropy: an input of shape (2, 3) (classes on axis 1) takes labels of shape (2,), got (2, 1); reshape the "
     "target to (2,)"),
    # The two in the other order:
    *[(lambda f=f, x=x: f(x, X), TypeError,
       f"{f.__name__}: {name} must be floating point, got int64; cast with .float(), or swap the two: the target, here "
       "float32, comes second")
      for f, x, name in ((ops.cross_entropy, I[0], "the input"), (ops.nll_loss, I[0], "the input"),
                         (ops.mse_loss, I, "the input"),
                         (ops.binary_cross_entropy_with_logits, I, "the input"))],
    (lambda: ops.cross_entropy(X[:, 0], X), ValueError,
     "cross_entropy: probabilities of shape (2, 3) for logits of shape (2,); they must agree. The logits come first"),
    (lambda: ops.cross_entropy(I, Tensor(0)), TypeError,
     "cross_entropy: the input must be floating point, got int64; cast with .float()"),
    (lambda: ops.cross_entropy(Tensor(1.0), Tensor(0)), ValueError,
     "cross_entropy: the input needs an axis of classes, got a 0-d Tensor"),
    (lambda: ops.cross_entropy(X, [0, 1], weight=V[:2]), ValueError,
     "cross_entropy: weight has shape (2,) but there are 3 classes; it needs (3,)"),
    (lambda: ops.cross_entropy(X, [0, 1], weight=[1.0]), ValueError,
     "cross_entropy: weight has shape (1,) but there are 3 classes; it needs (3,)"),
    (lambda: ops.cross_entropy(X, [0, 1], reduction="avg"), ValueError,
     "cross_entropy: reduction must be \"mean\", \"sum\" or \"none\", got 'avg'"),
    (lambda: ops.cross_entropy(X, [0, 1], label_smoothing=1.5), ValueError,
     "cross_entropy: label_smoothing must lie in [0, 1], got 1.5"),
    (lambda: ops.cross_entropy(X, [0, 1], ignore_index=2**63), ValueError,
     "cross_entropy: ignore_index must be an integer of 64 bits, got 9223372036854775808"),
    (lambda: ops.cross_entropy(X, [0, 1], ignore_index=-(2**63) - 1), ValueError,
     "cross_entropy: ignore_index must be an integer of 64 bits, got -9223372036854775809"),
    *[(lambda i=i: ops.nll_loss(X, I[:2], ignore_index=i), ValueError,
       f"nll_loss: ignore_index must be an integer of 64 bits, got {i!r}") for i in (2**63, -(2**63) - 1, 1.5, "0")],
    (lambda: ops.embedding(I, X, padding_idx=1.5), ValueError,
     "embedding: padding_idx=1.5 is out of range for a table of 2 rows"),
    (lambda: nn.Embedding(4, 2, padding_idx=1.5), ValueError, "Embedding: padding_idx=1.5 is out of range for 4 rows"),
    (lambda: ops.cross_entropy(X, [0, 1], ignore_index=1.5), ValueError,
     "cross_entropy: ignore_index must be an integer of 64 bits, got 1.5"),
    (lambda: ops.nll_loss(X, [0, 3]), IndexError, "nll_loss: label 3 is out of range for 3 classes (0 to 2)"),
    (lambda: ops.nll_loss(X, [0.0, 1.0]), TypeError,
     "nll_loss: labels are integers, got float32; cast the target with .long()"),
    (lambda: ops.nll_loss(Tensor(1.0), Tensor(0)), ValueError, "nll_loss: the input needs an axis of classes"),
    (lambda: ops.nll_loss(X, [0]), ValueError,
     "nll_loss: an input of shape (2, 3) (classes on axis 1) takes labels of shape (2,), got (1,)"),
    (lambda: ops.nll_loss(X, [0, 1], weight=V[:2]), ValueError,
     "nll_loss: weight has shape (2,) but there are 3 classes; it needs (3,)"),
    (lambda: ops.nll_loss(X, [0, 1], reduction=""), ValueError,
     "nll_loss: reduction must be \"mean\", \"sum\" or \"none\", got ''"),
    (lambda: ops.mse_loss(X, V), ValueError,
     "mse_loss: input has shape (2, 3) but target (3,); they must agree (broadcasting a loss is nearly always a "
     "mistake: reshape one)"),
    (lambda: ops.mse_loss(X[:0], X[:0]), ValueError,
     "mse_loss: an input of shape (0, 3) is empty, and nothing has no mean"),
    (lambda: ops.embedding(I, X, padding_idx=2), ValueError,
     "embedding: padding_idx=2 is out of range for a table of 2 rows"),
    (lambda: ops.mse_loss(X, 1.0), TypeError,
     "mse_loss: the target must be a Tensor or an array, got float"),
    (lambda: ops.mse_loss(I, I), TypeError,
     "mse_loss: the input must be floating point, got int64; cast with .float()"),
    (lambda: ops.mse_loss(X, X, reduction="average"), ValueError,
     "mse_loss: reduction must be \"mean\", \"sum\" or \"none\", got 'average'"),
    (lambda: ops.l1_loss(X, V), ValueError,
     "l1_loss: input has shape (2, 3) but target (3,); they must agree (broadcasting a loss is nearly always a "
     "mistake: reshape one)"),
    (lambda: ops.l1_loss(X, 1.0), TypeError,
     "l1_loss: the target must be a Tensor or an array, got float"),
    (lambda: ops.huber_loss(X, V), ValueError, "huber_loss: input has shape (2, 3) but target (3,); they must agree"),
    (lambda: ops.huber_loss(X, X, delta=0), ValueError, "huber_loss: delta must be positive, got 0"),
    (lambda: ops.smooth_l1_loss(X, X, beta=-1), ValueError, "smooth_l1_loss: beta must not be negative, got -1"),
    (lambda: ops.binary_cross_entropy(X * 2, X), ValueError,
     "binary_cross_entropy: probabilities must lie in [0, 1]; for logits use binary_cross_entropy_with_logits"),
    (lambda: ops.binary_cross_entropy(X, V), ValueError,
     "binary_cross_entropy: input has shape (2, 3) but target (3,); they must agree (broadcasting a loss is nearly"
     " always a mistake: reshape one)"),
    (lambda: ops.binary_cross_entropy_with_logits(X, V), ValueError,
     "binary_cross_entropy_with_logits: input has shape (2, 3) but target (3,); they must agree (broadcasting a "
     "loss is nearly always a mistake: reshape one)"),
    (lambda: ops.binary_cross_entropy_with_logits(X, X, weight=np.ones((4, 2, 3))), ValueError,
     "binary_cross_entropy_with_logits: a weight of shape (4, 2, 3) does not broadcast to the input's, (2, 3)"),
    (lambda: ops.binary_cross_entropy_with_logits(X, X, pos_weight=np.ones(2)), ValueError,
     "binary_cross_entropy_with_logits: a pos_weight of shape (2,) does not broadcast to the input's, (2, 3)"),
    (lambda: ops.kl_div(X, V), ValueError,
     "kl_div: input has shape (2, 3) but target (3,); they must agree (broadcasting a loss is nearly always a "
     "mistake: reshape one)"),
    # Normalisation
    (lambda: ops.layer_norm(X, normalized_shape=4), ValueError,
     "layer_norm: normalized_shape is (4,), but the input has shape (2, 3); it must end in (4,)"),
    (lambda: ops.layer_norm(X, W), ValueError,
     "layer_norm: the weight's shape is (4, 3), but the input has shape (2, 3); it must end in (4, 3)"),
    (lambda: ops.layer_norm(X, V, Tensor([1.0])), ValueError,
     "layer_norm: bias has shape (1,) but the weight's shape is (3,); they must agree"),
    (lambda: ops.layer_norm(X, normalized_shape=()), ValueError, "layer_norm: normalized_shape is (), but the input"),
    (lambda: ops.layer_norm(Tensor.ones(2, 0)), ValueError,
     "layer_norm: nothing to normalise over the last 1 axes of shape (2, 0)"),
    (lambda: ops.layer_norm(I), TypeError,
     "layer_norm: the input must be floating point, got int64; cast with .float()"),
    (lambda: ops.layer_norm(D, V), TypeError,
     "layer_norm: weight is float32 but the input float64; cast one with .float() or .double()"),
    (lambda: ops.rms_norm(X, I), TypeError,
     "rms_norm: weight is int64 but the input float32; cast one with .float() or .double()"),
    (lambda: ops.group_norm(X, num_groups=2), ValueError,
     "group_norm: 3 channels (input shape (2, 3)) cannot be shared out into num_groups=2; it must be an integer that "
     "divides them"),
    (lambda: ops.group_norm(V), ValueError, "group_norm: expected (batch, channels, ...), got shape (3,)"),
    (lambda: ops.group_norm(X, Tensor([1.0])), ValueError,
     "group_norm: weight has shape (1,) but the input, shape (2, 3), has 3 channels (axis 1); it needs (3,)"),
    (lambda: ops.group_norm(Tensor.ones(2, 3, 0)), ValueError,
     "group_norm: nothing to normalise in an input of shape (2, 3, 0)"),
    (lambda: ops.group_norm(Tensor.ones(2, 0, 3)), ValueError,
     "group_norm: nothing to normalise in an input of shape (2, 0, 3)"),
    (lambda: ops.instance_norm(X), ValueError,
     "instance_norm: expected (batch, channels, ...) with more than 1 value per channel and example, got shape (2, 3)"),
    (lambda: ops.batch_norm(X[:1]), ValueError,
     "batch_norm: expected more than 1 value per channel to take statistics of, got an input of shape (1, 3); use a "
     "larger batch, or running statistics (as a module in eval() does)"),
    (lambda: ops.batch_norm(X, V, V, V, Tensor([1.0, 2.0])), ValueError,
     "batch_norm: running_var has shape (2,) but the input, shape (2, 3), has 3 channels (axis 1); it needs (3,)"),
    (lambda: ops.batch_norm(X, V, V, V), ValueError, "batch_norm: give both running_mean and running_var, or neither"),
    (lambda: ops.batch_norm(D, V.double(), V), TypeError,
     "batch_norm: bias is float32 but the input float64; cast one with .float() or .double()"),
    (lambda: ops.batch_norm_relu(X, skip=V), ValueError,
     "batch_norm_relu: skip has shape (3,) but the input (2, 3); they must agree"),
    (lambda: ops.batch_norm_relu(X, skip=D), TypeError,
     "batch_norm_relu: skip is float64 but the input float32; cast one with .float() or .double()"),
    # Gradients
    (lambda: X.backward(), ValueError,
     "backward: a Tensor of shape (2, 3) needs gradient=, a cotangent of that shape; or reduce it to one number, "
     "with .sum() or .mean()"),
    (lambda: (X * 2).backward([1.0]), ValueError,
     "backward: gradient has shape (1,) but the Tensor has shape (2, 3)"),
    (lambda: V.backward(), RuntimeError,
     "backward: this Tensor does not require grad: it was computed from Tensors without requires_grad=True, "
     "under no_grad, or by an op without VJP rules"),
    (lambda: (X * 2).backward("g"), TypeError, "backward: cannot hold str data of dtype <U1; cast to one of"),
    (lambda: (X*2).sum().gradient(V), ValueError,
     "gradient: target 0, a Tensor, is no Tensor that requires grad; pass Tensors one by one, made with "
     "requires_grad=True before use"),
    (lambda: (X*2).sum().gradient(Tensor(1.0, requires_grad=True)), ValueError,
     "gradient: the result does not depend on target 0 (shape ()); pass materialize_grads=True to get zeros"),
    # Numbers that are Tensors
    (lambda: X.leaky_relu(Tensor(0.1, requires_grad=True)), TypeError,
     "leaky_relu: negative_slope is an option, which no gradient reaches, but a Tensor that requires grad; pass its "
     ".item(), or compute with operators what is to be differentiated"),
    (lambda: Tensor.full((2,), X.sum()), TypeError,
     "full: no gradient reaches the numbers it takes, but one is a Tensor that requires grad; pass its .item(), or "
     "compute with operators, as in mean + std * Tensor.randn(3)"),
    (lambda: X.full_like(X.sum()), TypeError, "full: no gradient reaches"),
    (lambda: Tensor.normal(3, mean=X.sum()), TypeError, "normal: no gradient reaches"),
    (lambda: Tensor.normal(3, std=X.sum()), TypeError, "normal: no gradient reaches"),
    (lambda: Tensor.uniform(3, low=X.sum()), TypeError, "uniform: no gradient reaches"),
    (lambda: Tensor.uniform(3, high=X.sum()), TypeError, "uniform: no gradient reaches"),
    (lambda: Tensor.arange(X.sum(), 3.0), TypeError, "arange: no gradient reaches"),
    (lambda: Tensor.linspace(X.sum(), 3.0, 4), TypeError, "linspace: no gradient reaches"),
    # In-place change
    (lambda: X.assign(V), ValueError, "assign: value has shape (3,) but the Tensor has shape (2, 3)"),
    (lambda: X.assign("a"), ValueError, "assign: value has shape () but the Tensor has shape (2, 3)"),
    (lambda: (X * 2).assign(X), RuntimeError,
     "assign: this Tensor was computed by mul; assign to a leaf, or to a clone()"),
    (lambda: X.__setitem__(0, 1.0), RuntimeError,
     "setitem: a leaf that requires grad cannot be changed in place while ops are recorded; do it in a block of "
     "no_grad(), or build the result with where, cat or scatter for a new Tensor"),
    (lambda: (X * 2).__setitem__(0, V[:2]), ValueError,
     "setitem: a value of shape (2,) does not broadcast to (3,), the shape of x[index]"),
    (lambda: Tensor([1, 2]).__setitem__(0, X.sum()), TypeError,
     "setitem: x is int64, through which no gradient reaches the value; cast x with .float()"),
    (lambda: D.__setitem__(5, 1.0), IndexError,
     "getitem: index 5 is out of range for axis 0 of size 2 (shape (2, 3))"),
    (lambda: D.__setitem__(0, [1.0, 2.0]), ValueError,
     "setitem: a value of shape (2,) does not broadcast to (3,), the shape of x[index]"),
    (lambda: V.expand(2, 3).__setitem__(0, 1.0), ValueError,
     "setitem: this Tensor of shape (2, 3) shows memory that must not be written, as expand does and read-only "
     "arrays are; change a clone()"),
    (lambda: V.expand(2, 3).assign(D), ValueError,
     "assign: this Tensor of shape (2, 3) shows memory that must not be written"),
    (lambda: D.__setitem__(0, "a"), TypeError, "setitem: cannot hold str data of dtype <U1; cast to one of"),
    (lambda: V.register_hook(print), RuntimeError, "register_hook: this Tensor does not require grad"),
    (lambda: V.retain_grad(), RuntimeError, "retain_grad: this Tensor does not require grad"),
    # Calls
    (lambda: copy.deepcopy(X * 2), RuntimeError,
     "copy: this Tensor was computed by mul, and a graph cannot be copied or pickled; take a leaf, or x.detach()"),
    (lambda: ops.cast(X, dtype="uint16"), TypeError, "cast: dtype uint16 is not supported; cast to one of"),
    (lambda: X.cast("text"), TypeError, "cast: 'text' is no dtype; use one of"),
    (lambda: ops.mul(X), TypeError, "mul: missing input 'b': <op mul(a, b)>"),
    (lambda: ops.one_hot(X), TypeError, "one_hot: needs integers, got float32"),
    (lambda: X.masked_fill(X, 0.0), TypeError,
     "where: the condition must be boolean, got float32; compare, as in x > 0, or cast with .bool()"),
    (lambda: X.norm(axis=4), IndexError, "norm: axis 4 is out of range; with 2 axes it lies between -2 and 1"),
    (lambda: X.lerp(V[:2], 0.5), ValueError,
     "lerp: shapes (2, 3) and (2,) and () do not broadcast; counted from the last axis, sizes must be equal or 1"),
    (lambda: f"{X:.2f}", ValueError,
     "item: only a Tensor of one element converts to a number, this has shape (2, 3)"),
    # Pooling
    (lambda: ops.max_pool2d(X, 2), ValueError,
     "max_pool2d: takes (batch, channels, height, width) or (channels, height, width), got shape (2, 3)"),
    (lambda: ops.avg_pool1d(V, 2), ValueError,
     "avg_pool1d: takes (batch, channels, length) or (channels, length), got shape (3,)"),
    (lambda: X.detach().clone().fill_(V), ValueError,
     "fill_: takes a number, got a value of shape (3,); copy_ takes what broadcasts"),
    (lambda: V.roll(True), TypeError, "roll: shifts must be an integer or several, got True"),
    (lambda: V.roll((1, 2)), ValueError, "roll: 2 shifts (1, 2) for the flattened Tensor, which takes one"),
    (lambda: V.roll(()), ValueError, "roll: 0 shifts () for the flattened Tensor, which takes one"),
    (lambda: Tensor.linspace(0, 1, True), ValueError,
     "linspace: steps is how many values there are, an integer from 0, got True"),
    (lambda: Tensor.linspace("0", 1, 3), TypeError, "linspace: start and stop must be numbers, got '0' and 1"),
    (lambda: Tensor.linspace([0.0], 1, 3), TypeError, "linspace: start and stop must be numbers, got [0.0] and 1"),
    (lambda: Tensor.linspace(0, 300, 3, dtype="uint8"), ValueError, "linspace: 0 to 300 does not fit into uint8"),
    (lambda: Tensor.linspace(-1, 3, 3, dtype="uint8"), ValueError, "linspace: -1 to 3 does not fit into uint8"),
    (lambda: Tensor.linspace(0, np.nan, 3, dtype="int64"), ValueError, "linspace: 0 to nan does not fit into int64"),
    (lambda: Tensor.linspace(0, 1, 3, dtype="bool"), TypeError, "linspace: takes a dtype of numbers, got bool"),
    (lambda: X.scatter(0, Tensor([[0, 1]]), 1.0, reduce="sum"), ValueError,
     "scatter: reduce must be 'add' or 'multiply', got 'sum'; others: scatter_reduce"),
    (lambda: ops.max_pool1d(Tensor([[True, False]]), 2), TypeError,
     "max_pool1d: takes floating point or integers, got bool; cast with .float()"),
    (lambda: ops.avg_pool1d(Tensor([[1, 2]]), 2), TypeError,
     "avg_pool1d: takes floating point, got int64; cast with .float()"),
    (lambda: ops.max_pool2d(IMAGE, 5), ValueError,
     "max_pool2d: kernel_size 5 exceeds size 4 + 2 * padding 0 of axis -2 of shape (1, 2, 4, 6)"),
    (lambda: ops.max_pool2d(IMAGE, (1, 5), dilation=2, padding=(0, 1)), ValueError,
     "max_pool2d: kernel_size 5 with dilation 2 spans 9, which exceeds size 6 + 2 * padding 1 of axis -1 of shape "
     "(1, 2, 4, 6)"),
    (lambda: ops.avg_pool2d(IMAGE, 2, 0), ValueError,
     "avg_pool2d: stride must be a number or a pair of numbers, at least 1, got 0"),
    (lambda: ops.avg_pool2d(IMAGE, 2, 2**31), ValueError,
     "avg_pool2d: stride must be a number or a pair of numbers, at least 1 and below 2^31, got 2147483648"),
    (lambda: ops.max_pool1d(IMAGE[0], 2, -1), ValueError, "max_pool1d: stride must be a number, at least 1, got -1"),
    (lambda: ops.max_pool2d(IMAGE, (2, 2, 2)), ValueError,
     "max_pool2d: kernel_size must be a number or a pair of numbers, at least 1, got (2, 2, 2)"),
    (lambda: ops.avg_pool2d(IMAGE, 2.5), TypeError, "avg_pool2d: kernel_size must be made of integers, got 2.5"),
    (lambda: ops.avg_pool2d(IMAGE, 3, padding=2), ValueError,
     "avg_pool2d: padding 2 exceeds half the kernel_size 3 along axis -2; some windows would see nothing but padding"),
    (lambda: ops.max_pool2d(IMAGE, 2, 1, (1, 0), (5, 1)), ValueError,
     "max_pool2d: with kernel_size 2, stride 1, padding 1 and dilation 5 a window sees nothing but padding along axis "
     "-2 of shape (1, 2, 4, 6)"),
    (lambda: ops.adaptive_avg_pool2d(IMAGE, 0), ValueError,
     "adaptive_avg_pool2d: output_size must be a number or a pair of numbers, at least 1, got (0, 0)"),
    (lambda: ops.adaptive_avg_pool2d(X, 1), ValueError,
     "adaptive_avg_pool2d: takes (batch, channels, height, width) or (channels, height, width), got shape (2, 3)"),
    (lambda: ops.adaptive_avg_pool2d(IMAGE[:, :, :0], 1), ValueError,
     "adaptive_avg_pool2d: nothing to pool over in the spatial axes of shape (1, 2, 0, 6)"),
    (lambda: ops.interpolate(IMAGE.long(), 2, mode="bilinear"), TypeError,
     "interpolate: takes floating point, got int64; cast with"),
    (lambda: ops.interpolate(IMAGE, 2, 2), ValueError,
     "interpolate: give either size or scale_factor, got size=2, scale_factor=2"),
    (lambda: ops.interpolate(IMAGE, scale_factor=-1.5), ValueError,
     "interpolate: scale_factor must be a positive number, or one for each of 2 axes, got -1.5"),
    (lambda: ops.interpolate(IMAGE, 2, mode="linearly"), ValueError,
     "interpolate: mode 'linearly' does not fit 2 spatial axes; use nearest, nearest-exact, area, linear, bilinear, "),
    (lambda: ops.interpolate(IMAGE, 2, mode="trilinear"), ValueError,
     "interpolate: mode 'trilinear' does not fit 2 spatial axes; "),
    (lambda: ops.interpolate(IMAGE, 2, align_corners=True), ValueError,
     "interpolate: align_corners has no meaning for mode 'nearest'"),
    (lambda: ops.interpolate(X, 2), ValueError,
     "interpolate: takes (batch, channels, *spatial) with one to three spatial axes, got shape (2, 3)"),
    (lambda: ops.conv3d(IMAGE, IMAGE), ValueError, "conv3d: takes x (batch, channels, depth, height, width) and a "),
    (lambda: ops.conv3d(Tensor.ones(1, 1, 2, 4, 4), Tensor.ones(1, 1, 3, 3, 3)), ValueError,
     "conv3d: the kernel of depth 3 is larger than the padded input (shape (1, 1, 2, 4, 4), padding (0, 0) along the "),
    (lambda: ops.conv3d(Tensor.ones(1, 1, 4, 4, 4), Tensor.ones(1, 1, 3, 3, 3), stride=2, padding="same"), ValueError,
     'conv3d: padding="same" is for stride 1, got stride (2,); give the padding in numbers'),
    (lambda: ops.conv_transpose3d(Tensor.ones(1, 1, 4, 4, 4), Tensor.ones(1, 1, 3, 3, 3), output_padding=1), ValueError,
     "conv_transpose3d: output_padding (1, 1, 1) must be less than stride (1, 1, 1) or dilation (1, 1, 1)"),
    (lambda: ops.max_pool3d(IMAGE[0], 2), ValueError,
     "max_pool3d: takes (batch, channels, depth, height, width) or (channels, depth, height, width), got shape "),
    (lambda: ops.max_unpool(IMAGE, IMAGE[0].long(), 2), ValueError,
     "max_unpool2d: takes values and indices (batch, channels, ...) of one shape, got "),
    (lambda: ops.scaled_dot_product_attention(IMAGE, Tensor.ones(1, 3, 4, 6), IMAGE, enable_gqa=True), ValueError,
     "scaled_dot_product_attention: with enable_gqa the heads of q "),
    # Dropout
    (lambda: ops.dropout(X, 1.5), ValueError, "dropout: p, the probability to drop, must lie in [0, 1], got 1.5"),
    (lambda: ops.dropout2d(IMAGE, -0.1), ValueError,
     "dropout2d: p, the probability to drop, must lie in [0, 1], got -0.1"),
    (lambda: ops.gaussian_dropout(X, -0.1), ValueError,
     "gaussian_dropout: p, the probability to drop, must lie in [0, 1], got -0.1"),
    (lambda: ops.gaussian_dropout(X, 1), ValueError,
     "gaussian_dropout: p must be below 1, where the variance p / (1 - p) is infinite"),
    (lambda: ops.dropout(I), TypeError, "dropout: takes floating point, got int64; cast with .float()"),
    (lambda: ops.dropout2d(V), ValueError, "dropout2d: takes (batch, channels, height, width), got shape (3,)"),
    (lambda: ops.dropout1d(V), ValueError,
     "dropout1d: takes (batch, channels, length) or (channels, length), got shape (3,)"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD_CALLS, ids=[text[:50] for _, _, text in BAD_CALLS])
def test_a_bad_call_says_what_is_wrong(call, error, text):
    with pytest.raises(error, match="^" + re.escape(text)) as caught:
        call()
    assert type(caught.value) is error
    assert re.match(r"\w+: ", str(caught.value))  # the op comes first
    # Nothing raw: neither in the message, nor as a second error in the traceback.
    assert not re.search(r"ufunc|operands could not|numba|inhomogeneous|numpy\.|has no attribute", str(caught.value))
    assert caught.value.__cause__ is None and (caught.value.__context__ is None or caught.value.__suppress_context__)


FOUND_LATE = [  # what Python or NumPy find out, in words of ours
    (lambda: ops.conv1d([1.0], W, V), TypeError, "takes Tensors, got list; make one with Tensor(...)"),
    (lambda: nn.Dropout([]), TypeError, "cannot be compared; give numbers"),
    (lambda: ops.split(X, 2.5), TypeError, "float is given in place of an integer, or of a tuple or list of them"),
    (lambda: ops.permute(X, axes=0), TypeError, "int is given in place of a tuple or list"),
    (lambda: add_rows(X, Tensor([0, 1]), rows=0, padding_idx=0), ValueError, "divided by is 0"),
    (lambda: ops.softplus((), beta=1.5), TypeError, "a sequence times float has no meaning; give numbers"),
    (lambda: X.requires_grad_(np.ones(2)), ValueError, "an array is given in place of a single number"),
    (lambda: ops.tanh([[1, 2], [3]]), ValueError, "the nested sequence is ragged, or holds arrays"),
    (lambda: ops.batched_matmul(X, Tensor(1.0)), IndexError, "an input has too few axes"),
    (lambda: nn.functional.cosine_similarity(X, W), ValueError,
     "the shapes do not broadcast; counted from the last axis"),
]


@pytest.mark.parametrize(("call", "error", "text"), FOUND_LATE, ids=[text[:40] for _, _, text in FOUND_LATE])
def test_what_python_finds_out_is_told_with_what_to_do(call, error, text):
    with pytest.raises(error, match=r"^\w+: cannot work with \(.*\): .*" + re.escape(text)) as caught:
        call()
    assert type(caught.value) is error and caught.value.__cause__ is not None


def test_a_failed_call_changes_nothing():
    before = X.data.copy(), V.data.copy(), I.data.copy(), D.data.copy()
    for call, error, _ in BAD_CALLS:
        with pytest.raises(error):
            call()
    for x, old in zip((X, V, I, D), before, strict=True):
        assert np.array_equal(x.data, old)
    assert X.grad is None and D.version in (None, [0])


# Beyond the table -----------------------------------------------------------------------------------------------------


def test_arguments_that_do_not_exist():
    with pytest.raises(TypeError, match="sum: unknown argument 'keep'; it takes axis, keepdim"):
        X.sum(keep=True)
    with pytest.raises(TypeError, match=r"exp\(\) takes 1 positional argument"):
        X.exp(3)
    with pytest.raises(TypeError, match=r"no_grad: takes no arguments, got False; write with no_grad\(\):"):
        no_grad(False)
    for switch in torch.set_grad_enabled, torch.inference_mode, detect_anomaly:
        with pytest.raises(TypeError, match=f"{switch.__name__}: takes True or False, got 'train'"):
            switch("train")
    assert is_grad_enabled()


def test_a_tensor_is_no_condition():
    with pytest.raises(ValueError, match=r"Tensor of shape \(2, 3\) is ambiguous; use \.any\(\) or \.all\(\)"):
        if X > 0:
            pass
    with pytest.raises(ValueError, match="ambiguous"):
        assert X > 0 and X < 2
    with pytest.raises(ValueError, match="ambiguous"):
        assert X in [V]
    assert bool(Tensor([[2.0]])) and not Tensor(0)


def test_a_float_tensor_is_no_index_of_a_list():
    with pytest.raises(TypeError, match="index: only an integer Tensor of one element is an index, this is float32"):
        [1, 2, 3][V]
    assert [1, 2, 3][I[1]] == 2


def test_backward_twice():
    y = (X * X).sum()
    y.backward()
    X.zero_grad()
    with pytest.raises(RuntimeError, match="backward: the graph through mul was already freed by an earlier backward, "
                                           "even if an exception stopped that one; to walk it twice, pass "):
        y.backward()


def test_mixed_dtypes_in_products_are_an_error_and_in_sums_are_not():
    for call in (lambda: X @ D.T, lambda: ops.einsum("ij,kj->ik", X, D), lambda: ops.linear(D, W)):
        with pytest.raises(TypeError, match=r"float32.*float64|float64.*float32.*\.float\(\)"):
            call()
    assert (X + D).dtype == "float64"


def test_the_message_of_a_composed_op_names_the_composed_op():
    for call, name in (
        (lambda: X.std(axis=4), "var"), (lambda: X.T.unbind(-3), "unbind"), (lambda: X.chunk(2, 5), "chunk"),
        (lambda: X.repeat_interleave(2, 4), "repeat_interleave"), (lambda: X.logsumexp(axis=3), "logsumexp"),
    ):
        with pytest.raises(IndexError, match=f"^{name}: axis"):
            call()


def test_a_function_that_met_other_names_once_still_looks_at_them():
    rows = Tensor([[3.0, 4.0], [0.0, 2.0]])
    for _ in range(3):
        assert ops.linalg.norm(rows, dim=1).tolist() == [5, 2]
        with pytest.raises(TypeError, match="dim and axis are the same"):
            ops.linalg.norm(rows, dim=1, axis=1)
        with pytest.raises(TypeError, match="norm: .*'dmi'"):
            ops.linalg.norm(rows, dmi=1)
        assert ops.linalg.norm(rows, axis=0, keepdim=True).shape == (1, 2)
