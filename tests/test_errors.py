"""Errors of bad calls name the op, the shapes, the broken rule, and what to do."""

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


BAD_CALLS = {
    TypeError: [
        (lambda: X.cast("float8"), "cast: 'float8' is not a dtype; use one of bfloat16, bool, float16, float32, float"),
        (lambda: Tensor([1.0], dtype="nonsense"), "Tensor: 'nonsense' is not a dtype; use one of bfloat16, bool, floa"),
        (lambda: Tensor([X, X]), "Tensor: a sequence of Tensors that require grad would lose their graph; join them w"),
        (lambda: Tensor([1, 2], requires_grad=True), "requires_grad: a Tensor of int64 cannot require grad; cast it w"),
        (lambda: Tensor.from_numpy(np.ones(2, np.uint16)), "from_numpy: dtype uint16 is not supported; cast to one of"),
        (lambda: Tensor.from_numpy([1.0]), "from_numpy: takes a NumPy array, got list; Tensor(data) copies other data"),
        (lambda: Tensor.rand(2, dtype="int64"), "uniform: cannot draw int64; draw another dtype and cast()"),
        (lambda: Tensor.randint(3, dtype="float32"), "randint: cannot draw float32; draw another dtype and cast()"),
        (lambda: Tensor.arange(None), "arange: start, stop and step must be numbers, got 0, None, 1"),
        (lambda: ops.scaled_dot_product_attention(D, X, X), "scaled_dot_product_attention: k is float32 but q float64"),
        (lambda: ops.scaled_dot_product_attention(X, W, W, Tensor(np.ones((2, 4), int))),
         "scaled_dot_product_attention: attn_mask must be boolean, or float32 like the inputs; got int64"),
        (lambda: ops.pad(V, padding=(1, 1), value=1j), "pad: value must be a real number, got 1j"),
        (lambda: ops.embedding(V, W), "embedding: index must be integers, got float32; cast with .lon"),
        (lambda: ops.where(X, X, X), "where: the condition must be boolean, got float32; compare, as in x > 0, or cas"),
        (lambda: X + None, "add: takes Tensors or arrays, got None, which a function without return returns"),
        (lambda: X - object(), "sub: cannot hold object data of dtype object; cast to one of"),
        (lambda: X + {1: 2}, "add: cannot hold dict data of dtype object; cast to one of"),
        (lambda: X & X, "logical_and: not defined for float32 and float32; cast, with .float(), .int() or .bool()"),
        (lambda: ~X, "logical_not: not defined for float32; cast, with .float(), .int() or .bool()"),
        (lambda: Tensor([True]) - Tensor([True]), "sub: not defined for bool and bool; cast, with .float(), .int() or"),
        (lambda: -Tensor([True]), "neg: not defined for bool; cast, with .float(), .int() or .bool()"),
        (lambda: X[X[0, 0]], "getitem: Tensor of dtype float32 is not an index; use integers, slices, None, ... or in"),
        (lambda: len(Tensor(1.0)), "len: a 0-d Tensor has no length"),
        (lambda: list(Tensor(1.0)), "iter: a 0-d Tensor cannot be iterated over; use .item()"),
        (lambda: ops.var(np.ones(3, complex)), "var: takes real numbers, got complex128"),
        (lambda: X.argmax(axis=(0, 1)), "argmax: axis must be an integer, got (0, 1)"),
        (lambda: X.sum(axis=0, dim=1), "sum: dim and axis are the same; give one of them"),
        (lambda: ops.cat(X, 1.0), "cat: takes Tensors or arrays, got float"),
        (lambda: ops.take(X, index=[0]), "getitem: the index must be a tuple, as plain_index makes it, got list"),
        (lambda: X["a"], "getitem: str of dtype <U1 is not an index; use integers, slices, None, ... or integer or bo"),
        (lambda: X[1.5], "getitem: float of dtype float64 is not an index; use integers, slices, None, ... or integer"),
        (lambda: nn.Conv2d(1, 1, 1)([1, 2]), "Conv2d: takes Tensors, got list; make one with Tensor(data)"),
        (lambda: nn.Sequential(nn.BatchNorm1d(2))([[1.0, 2.0]]), "BatchNorm1d: takes Tensors, got list"),
        (lambda: X.gather(0, V), "gather: index must hold integers, got float32"),
        (lambda: V.one_hot(3), "one_hot: index must be integers, got float32; cast"),
        (lambda: X.masked_select(X), "masked_select: the mask must be boolean, got float32; compare, or cast "),
        (lambda: Tensor.full((2,), 1j, dtype="float32"), "full: a Tensor holds real numbers, got 1j"),
        (lambda: jacobian(lambda x: 3)(X), "jacobian: f must return a Tensor, got int"),
        (lambda: nn.Linear(2, 2, biass=True), "Linear: unknown argument 'biass'; it takes in_features, out_features,"),
        (lambda: DataLoader(np.ones((4, 2)), transform=3), "DataLoader: transform must be a function of a batch and a"),
        (lambda: optim.SGD([W], learning_rate=0.1), "SGD: unknown argument 'learning_rate'; it takes params, lr, mome"),
        (lambda: nn.Residual(3), "Residual: f must be a Module or a function, got int"),
        (lambda: nn.TransformerEncoder(3, 2), "TransformerEncoder: the layer to copy must be a Module, got int"),
        (lambda: ops.gru(Tensor.ones(2, 1, 6), Tensor.ones(1, 2), Tensor.ones(6, 2).double(), Tensor.ones(6)),
         "gru: x is float32 but weight float64; cast one with .float() or .double()"),
        (lambda: nn.Module(3), "Module: without __init__ it takes no arguments, got (3,)"),
        (lambda: nn.BatchNorm1d(2, momentum="slow"), "BatchNorm1d: momentum must be a number or None, got 'slow'"),
        (lambda: nn.LSTM(3, 2)(X, V), "LSTM: the state must be a pair (h, c), got Tensor"),
        (lambda: nn.GRU(3, 2)(X, (V, V)), "GRU: the state must be a Tensor, got tuple"),
        (lambda: lr_scheduler.StepLR(3, 1), "StepLR: takes an Optimizer, got int"),
        (lambda: lr_scheduler.StepLR(sgd(lambda step: 0.1), 1), "StepLR: the optimizer's lr is already a schedule; us"),
        (lambda: X.topk(True), "topk: k must be an integer, got True"),
        (lambda: ops.linear(D, W), "linear: x is float64 but weight float32; cast one with .float() or .double()"),
        (lambda: ops.linear(X, W, Tensor.zeros(4, dtype="float64")), "linear: bias is float64 but weight float32; cas"),
        (lambda: ops.einsum(X, "ij"), 'einsum: the formula comes first, as in einsum("ij,jk->ik", a, b); got Tensor'),
        (lambda: ops.cross_entropy(X[0], X[0, 0]), "cross_entropy: labels must be integers, got float32; cast the tar"),
        (lambda: ops.cross_entropy(X, ["a", "b"]), "cross_entropy: cannot hold list data of dtype <U1"),
        (lambda: ops.cross_entropy(I, Tensor(0)), "cross_entropy: the input must be floating point, got int64; cast w"),
        (lambda: ops.cross_entropy(X, Tensor([0.0, 1.0])), "cross_entropy: labels must be integers, got float32; cast"),
        (lambda: ops.cross_entropy(Tensor([0, 1]), X), "cross_entropy: the input must be floating point, got int64; "
         "cast with .float(), or swap the two: the target, here float32, comes second"),
        (lambda: ops.nll_loss(X, [0.0, 1.0]), "nll_loss: labels must be integers, got float32; cast the target with ."),
        (lambda: ops.mse_loss(X, 1.0), "mse_loss: the target must be a Tensor or an array, got float"),
        (lambda: ops.mse_loss(I, I), "mse_loss: the input must be floating point, got int64; cast with .float()"),
        (lambda: ops.l1_loss(X, 1.0), "l1_loss: the target must be a Tensor or an array, got float"),
        (lambda: ops.layer_norm(I), "layer_norm: x must be floating point, got int64; cast with .float()"),
        (lambda: ops.rms_norm(X, I), "rms_norm: weight is int64 but x float32; cast one with .float() or .double()"),
        (lambda: ops.batch_norm(D, V.double(), V), "batch_norm: bias is float32 but x float64; cast one with .float()"),
        (lambda: ops.batch_norm_relu(X, skip=D), "batch_norm_relu: skip is float64 but x float32; cast one with .floa"),
        (lambda: X.leaky_relu(Tensor(0.1, requires_grad=True)), "leaky_relu: negative_slope is an option, which gets"),
        (lambda: Tensor.full((2,), X.sum()), "full: its arguments get no gradient, but one is a Tensor that requires"),
        (lambda: X.full_like(X.sum()), "full: its arguments get no gradient, but one is a Tensor that requires grad;"),
        (lambda: Tensor.normal(3, mean=X.sum()), "normal: its arguments get no gradient, but one is a Tensor that req"),
        (lambda: Tensor.uniform(3, low=X.sum()), "uniform: its arguments get no gradient, but one is a Tensor that re"),
        (lambda: Tensor([1, 2]).__setitem__(0, X.sum()), "setitem: x is int64, so the value would get no gradient; ca"),
        (lambda: ops.cast(X, dtype="uint16"), "cast: dtype uint16 is not supported; cast to one of"),
        (lambda: X.cast("text"), "cast: 'text' is not a dtype; use one of bfloat16, bool, float16, float32, float64,"),
        (lambda: ops.mul(X), "mul: missing input 'b': <op mul(a, b)>"),
        (lambda: V.roll(True), "roll: shifts must be an integer or several, got True"),
        (lambda: Tensor.linspace("0", 1, 3), "linspace: start and stop must be numbers, got '0' and 1"),
        (lambda: Tensor.linspace(0, 1, 3, dtype="bool"), "linspace: dtype must be numeric, got bool"),
        (lambda: ops.max_pool1d(Tensor([[True, False]]), 2), "max_pool1d: x must be floating point or integers, got b"),
        (lambda: ops.avg_pool2d(IMAGE, 2.5), "avg_pool2d: kernel_size must be made of integers, got 2.5"),
        (lambda: ops.interpolate(IMAGE.long(), 2, mode="bilinear"), "interpolate: x must be floating point, got int64"),
        (lambda: ops.dropout(I), "dropout: x must be floating point, got int64; cast with .float()"),
    ],
    ValueError: [
        (lambda: Tensor([[1, 2], [3]]), "Tensor: the nested sequence is ragged; all rows must have the same length"),
        (lambda: Tensor.zeros(2, -1), "zeros: a shape must consist of non-negative integers, got (2, -1)"),
        (lambda: Tensor.randint(3, low=5, high=5), "randint: low=5 must be below high=5"),
        (lambda: Tensor.arange(0, 5, 0), "arange: step must not be 0"),
        (lambda: Tensor.eye(-1), "eye: a shape must consist of non-negative integers, got (-1, -1)"),
        (lambda: ops.scaled_dot_product_attention(X, W, V), "scaled_dot_product_attention: v must be (..., S, e), got"),
        (lambda: ops.scaled_dot_product_attention(X, W.T, X), "scaled_dot_product_attention: k must be (..., S, d) wi"),
        (lambda: ops.scaled_dot_product_attention(X, W, X), "scaled_dot_product_attention: v must be (..., S, e) with"),
        (lambda: ops.scaled_dot_product_attention(*[Tensor.ones(n, 2, 3) for n in (2, 3, 3)]),
         "scaled_dot_product_attention: the leading axes of q (2, 2, 3), k (3, 2, 3) and v (3, 2, 3) do not broadcas"),
        (lambda: ops.scaled_dot_product_attention(X, X, X, dropout_p=1.5),
         "scaled_dot_product_attention: dropout_p must lie in [0, 1], got 1.5"),
        (lambda: ops.attention_weights(Tensor.ones(4, 0), Tensor.ones(4, 0)),
         "attention_weights: heads of size 0 in an input of shape (4, 0) have no default scale"),
        (lambda: ops.rotate_halves(X, V, V), "rotate_halves: x must be (..., 2 * n), got shape (2, 3)"),
        (lambda: ops.sync_batch_norm(Tensor.ones(2, 0, 2)), "sync_batch_norm: channels must not be 0, as in x of shap"),
        (lambda: nn.functional.batch_norm(V, None, None, training=True), "batch_norm: x must be (batch, channels, ..."),
        (lambda: manual_seed(-2), "manual_seed: a seed must be an integer from 0 to 2^64 - 1, got -2"),
        (lambda: ops.self_attention(Tensor.ones(4, 12), num_heads=3), "self_attention: qkv must be (..., T, 3 * num_h"),
        (lambda: ops.self_attention(Tensor.ones(4, 12), Tensor(np.ones((3, 3), bool)), num_heads=2),
         "self_attention: attn_mask of shape (3, 3) does not broadcast to the scores' shape (..., queries, keys) = ("),
        (lambda: ops.embedding(I, V), "embedding: weight must be (rows, size), got shape (3,)"),
        (lambda: X + Tensor(np.ones((2, 2))), "add: shapes (2, 3) and (2, 2) do not broadcast; counted from the last"),
        (lambda: X * np.ones((4, 3, 5)), "mul: shapes (2, 3) and (4, 3, 5) do not broadcast; counted from the last ax"),
        (lambda: ops.where(X > 0, X, np.ones(5)), "where: shapes (2, 3) and (2, 3) and (5,) do not broadcast; counted"),
        (lambda: I ** -1, "pow: an integer to a negative power is not an integer; cast the base with .float()"),
        (lambda: X.clip(), "clip: give min, max or both"),
        (lambda: X.clip(min_=Tensor.ones(4)), "lt: shapes (2, 3) and (4,) do not broadcast"),
        (lambda: bool(X), "bool: the truth of a Tensor of shape (2, 3) is ambiguous; use .any() or .all()"),
        (lambda: float(X), "item: only a Tensor of one element converts to a number, this has shape (2, 3)"),
        (lambda: X.sum(axis=(0, 0)), "sum: axis (0, 0) names an axis twice"),
        (lambda: Tensor(np.zeros((0, 3))).mean(), "mean: nothing to average over axis (0, 1) of shape (0, 3)"),
        (lambda: Tensor(np.zeros((0, 3))).max(axis=0), "max: axis (0,) of shape (0, 3) is empty, and so has no max"),
        (lambda: Tensor([1.0]).var(), "var: 1 values along axis None of shape (1,) with correction=1; var divides by"),
        (lambda: ops.sum_to(X, (2, 2)), "sum_to: (2, 3) is not a broadcast of (2, 2)"),
        (lambda: Tensor(np.zeros((2, 0))).softmax(), "softmax: axis 1 of shape (2, 0) is empty, so there is nothing t"),
        (lambda: Tensor(np.zeros((2, 0))).log_softmax(), "log_softmax: axis 1 of shape (2, 0) is empty, so there is n"),
        (lambda: X.reshape(4, 2), "reshape: 6 elements of shape (2, 3) do not fill shape (4, 2)"),
        (lambda: X.permute(0), "permute: 1 axes (0,) for a Tensor of shape (2, 3); give each axis once"),
        (lambda: X.permute(0, 0), "permute: axis (0, 0) names an axis twice"),
        (lambda: X.expand(-1, 2, 3), "expand: shape (2, 3) does not broadcast to (-1, 2, 3); -1 "),
        (lambda: X.expand(4, 3), "expand: shape (2, 3) does not broadcast to (4, 3); only axes of size 1 stretch"),
        (lambda: X.flatten(1, 0), "flatten: start_axis 1 comes after end_axis 0"),
        (lambda: X.unflatten(1, (2, 2)), "unflatten: sizes (2, 2) do not multiply to 3, the size of axis 1 of shape ("),
        (lambda: X.roll((1, 2, 3), (0, 1)), "roll: 3 shifts (1, 2, 3) for 2 axes (0, 1); pass one for each"),
        (lambda: X.pad((1,)), "pad: flat padding (1,) must hold a (before, after) pair for at most 2 axes, last axis"),
        (lambda: X.pad((-4, 0)), "pad: negative padding ((0, 0), (4, 0)) removes more than shape (2, 3) has"),
        (lambda: ops.pad(X, padding=((1, 2, 3), (0, 0))), "pad: padding must be (before, after) pairs of numbers, got"),
        (lambda: X.pad((1, 1), mode="mirror"), "pad: mode must be one of constant, reflect, replicate, circular"),
        (lambda: X.pad((3, 0), mode="reflect"), "pad: reflect padding (3, 0) of axis 1 exceeds 2, the limit for size"),
        (lambda: X.pad(((1, 1),)), "pad: 1 (before, after) pairs for a Tensor of 2 axes"),
        (lambda: X.repeat(2), "repeat: pass a non-negative count for each of the 2 axes of shape (2, 3), got (2,)"),
        (lambda: X.repeat_interleave(-1), "repeat_interleave: the number of repeats must not be negative, got -1"),
        (lambda: X.shrink(((0, 3), None)), "shrink: range (0, 3) of axis 0 must lie in 0 <= start <= stop <= 2"),
        (lambda: X.shrink((None,)), "shrink: 1 ranges for 2 axes of shape (2, 3)"),
        (lambda: ops.cat(), "cat: needs at least one Tensor"),
        (lambda: ops.cat(X, Tensor(np.ones((2, 2))), axis=0), "cat: Tensor 1 has shape (2, 2) but Tensor 0 has (2, 3)"),
        (lambda: ops.stack(), "stack: needs at least one Tensor"),
        (lambda: ops.stack(X, V), "stack: Tensor 1 has shape (3,) but Tensor 0 has (2, 3); all must agree"),
        (lambda: X.split((1, 1), 1), "split: sizes [1, 1] do not add up to 3, the size of axis 1 of shape (2, 3)"),
        (lambda: X.split(0), "split: the size must be positive, got 0"),
        (lambda: X.chunk(0), "chunk: needs at least 1 chunk, got 0"),
        (lambda: X.scatter(0, [[0, 1]], V), "scatter: src has shape (3,) but index has shape (1, 2); src must be no s"),
        (lambda: X.scatter_add(1, [[0], [1], [0]], 1.0), "scatter_add: index of shape (3, 1) does not fit shape (2, 3"),
        (lambda: I.one_hot(2.5), "one_hot: num_classes must be a non-negative integer, or -1 to infer it, got 2.5"),
        (lambda: V.diagonal(), "diagonal: needs at least two axes, got shape (3,)"),
        (lambda: X.diagonal(0, 1, 1), "diagonal: axis1 and axis2 must differ, got 1 and 1"),
        (lambda: IMAGE.diag(), "diag: x must be (n) or (m, n), got shape (1, 2, 4, 6)"),
        (lambda: V.trace(), "trace: x must be (m, n), got shape (3,)"),
        (lambda: X.unfold(1, 4), "unfold: windows of size 4 by steps of 1 do not fit axis 1 of shape (2, 3)"),
        (lambda: V.meshgrid(V, indexing="ji"), 'meshgrid: takes vectors and indexing "ij" or "xy", got shapes [(3,),'),
        (lambda: X.rearrange("a b c -> a"), "rearrange: 'a b c -> a' names 3 axes, but the shape is (2, 3)"),
        (lambda: X.rearrange("a (b c) -> a b c", b=2), "rearrange: (b c) of 'a (b c) -> a b c' does not divide an axi"),
        (lambda: X.rearrange("a b -> a c"), "rearrange: both sides of 'a b -> a c' must have the same names"),
        (lambda: X.rearrange("a b- -> a b"), "rearrange: 'a b-' must be made of names, parentheses and '...'"),
        (lambda: X.repeat_interleave([1, 2], 1), "repeat_interleave: repeats must be 3 integers, one per entry of axi"),
        (lambda: X.scatter_reduce(1, [[0], [1]], X, "max"), "scatter_reduce: reduce must be one of sum, prod, mean, a"),
        (lambda: X.masked_select(Tensor([True])[:, None].repeat(4, 1)), "masked_select: shapes (2, 3) and (4, 1) do n"),
        (lambda: ops.recurrence(X, V), "recurrence: x has shape (2, 3) but decay (3,); they must agree"),
        (lambda: X.celu(-1.0), "celu: alpha must be positive, got -1.0"),
        (lambda: X.hardtanh(1.0, 0.0), "hardtanh: min_val 1.0 must not exceed max_val 0.0"),
        (lambda: X.div(X, rounding_mode="up"), "div: rounding_mode must be None, \"trunc\" or \"floor\", got 'up'"),
        (lambda: Tensor([np.inf, 2]).multinomial(), "multinomial: takes weights (n) or (rows, n), none negative or in"),
        (lambda: ops.smooth_l1_loss(Tensor([1.0]), Tensor([1.0, 2.0])), "smooth_l1_loss: input has shape (1,)"),
        (lambda: ops.kl_div(Tensor.zeros(0, 3), Tensor.zeros(0, 3), reduction="batchmean"),
         "kl_div: an input of shape"),
        (lambda: Tensor([0.0, 2]).multinomial(2), "multinomial: 2 samples without replacement need as many positive w"),
        (lambda: IMAGE.t(), "t: takes a matrix, got shape (1, 2, 4, 6); use x.transpose(-2, -1) or x.mT"),
        (lambda: nn.Conv1d(3, 4, 3, padding="full"), "Conv1d: padding must be numbers, \"same\" or \"valid\", got 'fu"),
        (lambda: lr_scheduler.StepLR(optim.SGD(nn.Linear(2, 2).parameters(), 0.1), 0),
         "StepLR: step_size=0 must be > 0"),
        (lambda: nn.MultiheadAttention(4, 2, rotary=nn.RotaryEncoding(2))(*W.reshape(1, 3, 4).expand(3, 1, 3, 4)),
         "MultiheadAttention: rotary and cache are for self-attention"),
        (lambda: lr_scheduler.CosineAnnealingLR(sgd(0.1), 0), "CosineAnnealingLR: T_max=0 must be > 0"),
        (lambda: nn.SinusoidalEncoding(4)(X), "SinusoidalEncoding: takes (..., T, 4), got shape (2, 3)"),
        (lambda: nn.LearnedEncoding(5, 4)(V), "LearnedEncoding: takes (..., T, 4), got shape (3,)"),
        (lambda: nn.LearnedEncoding(5, 4)(Tensor.ones(6, 4)), "LearnedEncoding: positions 0 to 5 of an input (6, 4) e"),
        (lambda: nn.RotaryEncoding(4)(X), "RotaryEncoding: takes (..., T, heads, 4), got shape (2, 3)"),
        (lambda: nn.TransformerEncoder(nn.Identity(), -1), "TransformerEncoder: num_layers must be an integer from 0"),
        (lambda: ops.lstm(X, V, V, V), "lstm: weight must be (4 * H, H), got shape (3,)"),
        (lambda: ops.gru(*map(Tensor.ones, [(2, 1, 6), (1, 2), (6, 2), (5,)])), "gru: bias must be (3 * H) with H=2 a"),
        (lambda: ops.gru(*map(Tensor.ones, [(2, 1, 6), (2, 2), (6, 2), (6,)])), "gru: h must be (batch, H) with batch"),
        (lambda: lr_scheduler.StepLR(sgd(0.1), 1, last_epoch=3), "StepLR: last_epoch=3 needs each group's initial rat"),
        (lambda: lr_scheduler.LambdaLR(sgd(0.1), [abs, abs]), "LambdaLR: 2 functions for 1 groups"),
        (lambda: linalg.inv(Tensor.zeros(2, 2)), "solve: singular matrix, in shape (2, 2) and (2, 2)"),
        (lambda: linalg.solve(Tensor.eye(2), V), "solve: b must be a vector or matrix with 2 rows for a of shape (2,"),
        (lambda: linalg.eigh(Tensor.eye(2), "X"), "eigh: UPLO must be \"L\" or \"U\", got 'X'"),
        (lambda: linalg.svd(Tensor.ones(2, 3, requires_grad=True)), "svd: the bases that full_matrices=True completes"),
        (lambda: linalg.solve_triangular(X, V[:, None], upper=True), "solve_triangular: a must be (..., n, n), got sh"),
        (lambda: linalg.solve_triangular(Tensor.eye(3), V, upper=True), "solve_triangular: b must be (..., n, k), got"),
        (lambda: linalg.norm(IMAGE, 2), "norm: ord=2 without axis takes a vector or a matrix, got shape (1, 2, 4, 6)"),
        (lambda: linalg.matrix_norm(X, 3), "matrix_norm: ord must be "),
        (lambda: linalg.matrix_norm(X, axis=(1, -1)), "matrix_norm: takes two different axes, got (1, -1)"),
        (lambda: X.topk(4), "topk: k=4 must be between 0 and 3, the size of axis 1 of shape (2, 3)"),
        (lambda: X @ X, "matmul: shapes (2, 3) and (2, 3) do not fit: the last axis of the first is 3 but the second"),
        (lambda: X @ Tensor(1.0), "matmul: shapes (2, 3) and (): a 0-d operand is not a matrix; use * to scale"),
        (lambda: Tensor(np.ones((2, 2, 3)), dtype="float32") @ Tensor(np.ones((3, 3, 2)), dtype="float32"),
         "matmul: batch axes (2,) and (3,) of shapes (2, 2, 3) and (3, 3, 2) do not broadcast"),
        (lambda: ops.linear(X, Tensor.ones(1, 1, 3)), "linear: weight must be (out, in), got shape (1, 1, 3)"),
        (lambda: ops.linear(X, Tensor(np.ones((4, 2)), dtype="float32")), "linear: x must be (..., in) with in=2 as i"),
        (lambda: ops.linear(X, W, V), "linear: bias must be (out) with out=4 as in weight of shape (4, 3), got shape"),
        (lambda: ops.outer(X, V), "outer: a must be (m), got shape (2, 3)"),
        (lambda: ops.einsum("ij,jk", X), "einsum: 'ij,jk' names 2 operands but 1 were given"),
        (lambda: ops.einsum("ijk->i", X), "einsum: 'ijk' of 'ijk->i' names 3 axes but its operand has shape (2, 3)"),
        (lambda: ops.einsum("ij,jk->ik", X, X), "einsum: axis 'j' of 'ij,jk->ik' has size 2 in shape (2, 3) but 3 bef"),
        (lambda: ops.einsum("ij->k", X), "einsum: output axis 'k' of 'ij->k' is in no input"),
        (lambda: ops.einsum("ij->ii", X), "einsum: the output of 'ij->ii' names an axis twice"),
        (lambda: ops.einsum("i1->i", X), "einsum: 'i1' must be letters, with at most one '...'"),
        (lambda: ops.glu(X), "glu: axis 1 of shape (2, 3) must have an even size to split into value and gate"),
        (lambda: ops.gelu(X, approximate="erf"), "gelu: approximate must be \"none\" or \"tanh\", got 'erf'"),
        (lambda: ops.softplus(X, beta=0), "softplus: beta must be positive, got 0"),
        (lambda: ops.cross_entropy(X, X[:1]), "cross_entropy: probabilities of shape (1, 3) for logits of shape (2, 3"),
        (lambda: ops.cross_entropy(Tensor(1.0), Tensor(0)), "cross_entropy: the input needs a class axis, got a 0-d T"),
        (lambda: ops.cross_entropy(X, [0, 1], weight=V[:2]), "cross_entropy: weight has shape (2,) but there are 3 cl"),
        (lambda: ops.cross_entropy(X, [0, 1], label_smoothing=1.5), "cross_entropy: label_smoothing must lie in [0, 1"),
        (lambda: ops.nll_loss(X, I[:2], ignore_index=1.5), "nll_loss: ignore_index must be a 64-bit integer, got 1.5"),
        (lambda: ops.embedding(I, X, padding_idx=1.5), "embedding: padding_idx=1.5 is out of range for a table of 2 r"),
        (lambda: nn.Embedding(4, 2, padding_idx=1.5), "Embedding: padding_idx=1.5 is out of range for 4 rows"),
        (lambda: ops.cross_entropy(X, [0, 1], ignore_index=1.5), "cross_entropy: ignore_index must be a 64-bit intege"),
        (lambda: ops.nll_loss(Tensor(1.0), Tensor(0)), "nll_loss: the input needs a class axis, got a 0-d Tensor"),
        (lambda: ops.nll_loss(X, [0]), "nll_loss: an input of shape (2, 3) (classes on axis 1) needs labels of shape"),
        (lambda: ops.cross_entropy(X, [[1, 0, 0], [0, 1, 0]]), "cross_entropy: an input of shape (2, 3) (classes on "
         "axis 1) needs labels of shape (2,), got (2, 3); turn one-hot labels into indices with .argmax(1)"),
        (lambda: ops.nll_loss(X, [0, 1], weight=V[:2]), "nll_loss: weight has shape (2,) but there are 3 classes; it"),
        (lambda: ops.nll_loss(X, [0, 1], reduction=""), 'nll_loss: reduction must be "mean", "sum" or "none", got'),
        (lambda: ops.mse_loss(X, V), "mse_loss: input has shape (2, 3) but target (3,); they must agree (broadcasting"),
        (lambda: ops.mse_loss(X[:0], X[:0]), "mse_loss: an input of shape (0, 3) is empty and has no mean"),
        (lambda: ops.mse_loss(X, X, reduction="average"), 'mse_loss: reduction must be "mean", "sum" or "none", got'),
        (lambda: ops.huber_loss(X, X, delta=0), "huber_loss: delta must be positive, got 0"),
        (lambda: ops.smooth_l1_loss(X, X, beta=-1), "smooth_l1_loss: beta must not be negative, got -1"),
        (lambda: ops.binary_cross_entropy(X * 2, X), "binary_cross_entropy: probabilities must lie in [0, 1]; for log"),
        (lambda: ops.binary_cross_entropy(X, V), "binary_cross_entropy: input has shape (2, 3) but target (3,); they"),
        (lambda: ops.binary_cross_entropy_with_logits(X, X, weight=np.ones((4, 2, 3))),
         "binary_cross_entropy_with_logits: a weight of shape (4, 2, 3) does not broadcast to the input's, (2, 3)"),
        (lambda: ops.binary_cross_entropy_with_logits(X, X, pos_weight=np.ones(2)),
         "binary_cross_entropy_with_logits: a pos_weight of shape (2,) does not broadcast to the input's, (2, 3)"),
        (lambda: ops.layer_norm(X, W), "layer_norm: the weight's shape is (4, 3), but the input has shape (2, 3), whi"),
        (lambda: ops.layer_norm(X, V, Tensor([1.0])), "layer_norm: bias has shape (1,) but the weight's shape is (3,)"),
        (lambda: ops.layer_norm(X, normalized_shape=()), "layer_norm: normalized_shape is (), but the input"),
        (lambda: ops.layer_norm(Tensor.ones(2, 0)), "layer_norm: nothing to normalise over the last 1 axes of shape ("),
        (lambda: ops.group_norm(X, num_groups=2), "group_norm: x must be (batch, num_groups * size, ...) with num_gro"),
        (lambda: ops.group_norm(V), "group_norm: x must be (batch, num_groups * size, ...), got shape (3,)"),
        (lambda: ops.group_norm(X, Tensor([1.0])), "group_norm: weight must be (num_groups * size) with num_groups=1"),
        (lambda: ops.group_norm(Tensor.ones(2, 3, 0)), "group_norm: nothing to normalise in an input of shape (2, 3,"),
        (lambda: ops.instance_norm(X), "instance_norm: expected (batch, channels, ...) with more than 1 value per cha"),
        (lambda: ops.batch_norm(X[:1]), "batch_norm: expected more than 1 value per channel for batch statistics, got"),
        (lambda: ops.batch_norm(X, V, V, V, Tensor([1.0, 2.0])), "batch_norm: running_var must be (channels) with cha"),
        (lambda: ops.batch_norm(X, V, V, V), "batch_norm: give both running_mean and running_var, or neither"),
        (lambda: ops.batch_norm_relu(X, skip=V), "batch_norm_relu: skip must be (batch, channels, ...), got shape (3,"),
        (lambda: X.backward(), "backward: a Tensor of shape (2, 3) needs gradient=, a cotangent of that shape; or red"),
        (lambda: (X * 2).backward([1.0]), "backward: gradient has shape (1,) but the Tensor has shape (2, 3)"),
        (lambda: (X*2).sum().gradient(V), "gradient: target 0, a Tensor, is not a Tensor that requires grad; pass Ten"),
        (lambda: (X*2).sum().gradient(Tensor(1.0, requires_grad=True)), "gradient: the result does not depend on targ"),
        (lambda: X.assign(V), "assign: value has shape (3,) but the Tensor has shape (2, 3)"),
        (lambda: (X * 2).__setitem__(0, V[:2]), "setitem: a value of shape (2,) does not broadcast to (3,), the shape"),
        (lambda: V.expand(2, 3).__setitem__(0, 1.0), "setitem: this Tensor of shape (2, 3) has read-only memory, as e"),
        (lambda: V.expand(2, 3).assign(D), "assign: this Tensor of shape (2, 3) has read-only memory, as expand's res"),
        (lambda: X.lerp(V[:2], 0.5), "lerp: shapes (2, 3) and (2,) and () do not broadcast; counted from the last axi"),
        (lambda: ops.avg_pool1d(V, 2), "avg_pool1d: x must be (batch, channels, length) or (channels, length), got sh"),
        (lambda: X.detach().clone().fill_(V), "fill_: takes a number, got a value of shape (3,); copy_ takes what bro"),
        (lambda: V.roll((1, 2)), "roll: 2 shifts (1, 2) for the flattened Tensor, which takes one"),
        (lambda: Tensor.linspace(0, 1, True), "linspace: steps must be a non-negative integer, got True"),
        (lambda: Tensor.linspace(0, 300, 3, dtype="uint8"), "linspace: 0 to 300 does not fit into uint8"),
        (lambda: Tensor.linspace(0, np.nan, 3, dtype="int64"), "linspace: 0 to nan does not fit into int64"),
        (lambda: X.scatter(0, Tensor([[0, 1]]), 1.0, reduce="sum"), "scatter: reduce must be 'add' or 'multiply', got"),
        (lambda: ops.max_pool2d(IMAGE, 5), "max_pool2d: kernel_size 5 exceeds size 4 + 2 * padding 0 of axis -2 of sh"),
        (lambda: ops.max_pool2d(IMAGE, (1, 5), dilation=2, padding=(0, 1)), "max_pool2d: kernel_size 5 with dilation"),
        (lambda: ops.max_pool1d(IMAGE[0], 2, -1), "max_pool1d: stride must be a number, at least 1, got -1"),
        (lambda: ops.max_pool2d(IMAGE, (2, 2, 2)), "max_pool2d: kernel_size must be a number or a pair of numbers, at"),
        (lambda: ops.avg_pool2d(IMAGE, 3, padding=2), "avg_pool2d: padding 2 exceeds half the kernel_size 3 along axi"),
        (lambda: ops.max_pool2d(IMAGE, 2, 1, (1, 0), (5, 1)), "max_pool2d: with kernel_size 2, stride 1, padding 1 an"),
        (lambda: ops.adaptive_avg_pool2d(IMAGE, 0), "adaptive_avg_pool2d: output_size must be a number or a pair of n"),
        (lambda: ops.adaptive_avg_pool2d(X, 1), "adaptive_avg_pool2d: x must be (batch, channels, height, width) or ("),
        (lambda: ops.adaptive_avg_pool2d(IMAGE[:, :, :0], 1), "adaptive_avg_pool2d: nothing to pool over in the spati"),
        (lambda: ops.interpolate(IMAGE, 2, 2), "interpolate: give either size or scale_factor, got size=2, scale_fact"),
        (lambda: ops.interpolate(IMAGE, scale_factor=-1.5), "interpolate: scale_factor must be a positive number, or"),
        (lambda: ops.interpolate(IMAGE, 2, mode="linearly"), "interpolate: mode 'linearly' does not fit 2 spatial axe"),
        (lambda: ops.interpolate(IMAGE, 2, mode="trilinear"), "interpolate: mode 'trilinear' does not fit 2 spatial a"),
        (lambda: ops.interpolate(IMAGE, 2, align_corners=True), "interpolate: align_corners has no meaning for mode '"),
        (lambda: ops.interpolate(X, 2), "interpolate: takes (batch, channels, *spatial) with one to three spatial axe"),
        (lambda: ops.conv3d(IMAGE, IMAGE), "conv3d: weight must be (groups * out, in, kd, kh, kw), got shape (1, 2,"),
        (lambda: ops.conv3d(Tensor.ones(1, 1, 2, 4, 4), Tensor.ones(1, 1, 3, 3, 3)),
         "conv3d: the kernel 3 x 3 x 3 is larger than the padded input 2 x 4 x 4; pad more or use a smaller kernel"),
        (lambda: ops.conv3d(Tensor.ones(1, 1, 4, 4, 4), Tensor.ones(1, 1, 3, 3, 3), stride=2, padding="same"),
         'conv3d: padding="same" needs stride 1, got stride (2, 2, 2); give the padding in numbers'),
        (lambda: ops.conv_transpose3d(Tensor.ones(1, 1, 4, 4, 4), Tensor.ones(1, 1, 3, 3, 3), output_padding=1),
         "conv_transpose3d: output_padding (1, 1, 1) must be less than stride (1, 1, 1) or dilation (1, 1, 1)"),
        (lambda: ops.max_pool3d(IMAGE[0], 2), "max_pool3d: x must be (batch, channels, depth, height, width) or (chan"),
        (lambda: ops.max_unpool(IMAGE, IMAGE[0].long(), 2), "max_unpool2d: takes values and indices (batch, channels,"),
        (lambda: ops.scaled_dot_product_attention(IMAGE, Tensor.ones(1, 3, 4, 6), IMAGE, enable_gqa=True),
         "scaled_dot_product_attention: with enable_gqa the heads of q"),
        (lambda: ops.gaussian_dropout(X, -0.1), "gaussian_dropout: p, the probability of dropping, must lie in [0, 1]"),
        (lambda: ops.gaussian_dropout(X, 1), "gaussian_dropout: p must be below 1, since the variance p / (1 - p) is"),
    ],
    RuntimeError: [
        (lambda: (X*2).requires_grad_(False), "requires_grad_: this Tensor was computed by mul; use detach()"),
        (lambda: X.to("cuda"), "device: there is only the CPU, not 'cuda'; write device='cpu', or leave it out"),
        (lambda: V.backward(), "backward: this Tensor does not require grad: it was computed from Tensors without req"),
        (lambda: (X * 2).assign(X), "assign: this Tensor was computed by mul; assign to a leaf, or to a clone()"),
        (lambda: X.__setitem__(0, 1.0), "setitem: a leaf that requires grad cannot be changed in place while ops are"),
        (lambda: V.register_hook(print), "register_hook: this Tensor does not require grad"),
        (lambda: V.retain_grad(), "retain_grad: this Tensor does not require grad"),
        (lambda: copy.deepcopy(X * 2), "copy: this Tensor was computed by mul, and a graph cannot be copied or pickle"),
    ],
    IndexError: [
        (lambda: ops.embedding(Tensor([[0, 5]]), W), "embedding: index 5 is out of range for axis 0 of size 4 (sha"),
        (lambda: X.mean(axis=-3), "mean: axis -3 is out of range; with 2 axes it lies between -2 and 1"),
        (lambda: X.var(axis=5), "var: axis 5 is out of range; with 2 axes it lies between -2 and 1"),
        (lambda: Tensor.zeros(2, 3).__setitem__((None, ..., [3]), 1.0), "getitem: index 3 is out of range for axis 1"),
        (lambda: X[0, 0, 0], "getitem: 3 indices for the 2 axes of shape (2, 3)"),
        (lambda: X[..., ...], "getitem: an index has at most one Ellipsis (...)"),
        (lambda: X[np.ones(3, bool)], "getitem: a boolean mask of shape (3,) at axis 0 of shape (2, 3); a mask must h"),
        (lambda: D.__setitem__((np.array([True, True]), [0, 1, 2]), 0.0), "getitem: index arrays of shapes (2,) and ("),
        (lambda: X.gather(0, [[5, 0, 0]]), "gather: index 5 is out of range for axis 0 of size 2 (shape (2, 3))"),
        (lambda: X.gather(0, [[-2, 5, 0]]), "gather: index -2 is out of range for axis 0 of size 2 (shape (2, 3)); on"),
        (lambda: X.scatter(0, [[0, 2]], 1.0), "scatter: index 2 is out of range for axis 0 of size 2 (shape (2, 3))"),
        (lambda: I.one_hot(2), "one_hot: index 2 is out of range for 2 classes"),
        (lambda: X.narrow(1, 2, 2), "narrow: 2 elements from 2 on do not lie in axis 1 of shape (2, 3)"),
        (lambda: ops.cross_entropy(X, [0, 3]), "cross_entropy: label 3 is out of range for 3 classes (0 to 2); ignore"),
        (lambda: ops.nll_loss(X, [0, 3]), "nll_loss: label 3 is out of range for 3 classes (0 to 2)"),
    ],
}


ROWS = [(call, error, text) for error, rows in BAD_CALLS.items() for call, text in rows]


@pytest.mark.parametrize(("call", "error", "text"), ROWS, ids=[text[:50] for *_, text in ROWS])
def test_a_bad_call_says_what_is_wrong(call, error, text):
    with pytest.raises(error, match="^" + re.escape(text)) as caught:
        call()
    assert type(caught.value) is error
    assert re.match(r"\w+: ", str(caught.value))  # the op comes first
    # Nothing raw: neither in the message, nor as a second error in the traceback.
    assert not re.search(r"ufunc|operands could not|numba|inhomogeneous|numpy\.|has no attribute", str(caught.value))
    assert caught.value.__cause__ is None and (caught.value.__context__ is None or caught.value.__suppress_context__)


FOUND_LATE = [  # errors that Python or NumPy find, in our words
    (lambda: ops.conv1d([1.0], W, V), TypeError, "takes Tensors, got list; make one with Tensor(...)"),
    (lambda: nn.Dropout([]), TypeError, "cannot be compared; pass numbers"),
    (lambda: ops.split(X, 2.5), TypeError, "needs an integer, or a tuple or list of integers, got float"),
    (lambda: ops.permute(X, axes=0), TypeError, "needs a tuple or list, got int"),
    (lambda: add_rows(X, Tensor([0, 1]), rows=0, padding_idx=0), ValueError, "division by a size or number that is 0"),
    (lambda: ops.softplus((), beta=1.5), TypeError, "a sequence times float is not defined; pass numbers"),
    (lambda: X.requires_grad_(np.ones(2)), ValueError, "needs a single number, True or False, got an array"),
    (lambda: ops.tanh([[1, 2], [3]]), ValueError, "the nested sequence is ragged, or holds arrays"),
    (lambda: ops.batched_matmul(X, Tensor(1.0)), IndexError, "an input has too few axes"),
    (lambda: nn.functional.cosine_similarity(X, W), ValueError,
     "the shapes do not broadcast; counted from the last axis"),
]


@pytest.mark.parametrize(("call", "error", "text"), FOUND_LATE, ids=[text[:40] for _, _, text in FOUND_LATE])
def test_errors_that_python_finds_are_explained(call, error, text):
    with pytest.raises(error, match=r"^\w+: cannot work with \(.*\): .*" + re.escape(text)) as caught:
        call()
    assert type(caught.value) is error and caught.value.__cause__ is not None


def test_a_failed_call_changes_nothing():
    before = [x.detach().numpy().copy() for x in (X, V, I, D)]
    for call, error, _ in ROWS:
        with pytest.raises(error):
            call()
    for x, old in zip((X, V, I, D), before, strict=True):
        assert np.array_equal(x.detach().numpy(), old)
    assert X.grad is None and D.version in (None, [0])


# Beyond the table -----------------------------------------------------------------------------------------------------


def test_unknown_arguments_raise():
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


def test_a_tensor_with_several_elements_has_no_truth_value():
    with pytest.raises(ValueError, match=r"Tensor of shape \(2, 3\) is ambiguous; use \.any\(\) or \.all\(\)"):
        if X > 0:
            pass
    with pytest.raises(ValueError, match="ambiguous"):
        assert X > 0 and X < 2
    with pytest.raises(ValueError, match="ambiguous"):
        assert X in [V]
    assert bool(Tensor([[2.0]])) and not Tensor(0)


def test_a_float_tensor_cannot_index_a_list():
    with pytest.raises(TypeError, match="index: only an integer Tensor of one element can be an index, this is"):
        [1, 2, 3][V]
    assert [1, 2, 3][I[1]] == 2


def test_mixed_dtypes_raise_in_products_and_promote_in_sums():
    for call in (lambda: X @ D.T, lambda: ops.einsum("ij,kj->ik", X, D), lambda: ops.linear(D, W)):
        with pytest.raises(TypeError, match=r"float32.*float64|float64.*float32.*\.float\(\)"):
            call()
    assert (X + D).dtype == "float64"


def test_an_error_of_a_composed_op_names_the_composed_op():
    for call, name in (
        (lambda: X.std(axis=4), "var"), (lambda: X.T.unbind(-3), "unbind"), (lambda: X.chunk(2, 5), "chunk"),
        (lambda: X.repeat_interleave(2, 4), "repeat_interleave"), (lambda: X.logsumexp(axis=3), "logsumexp"),
    ):
        with pytest.raises(IndexError, match=f"^{name}: axis"):
            call()


def test_argument_names_are_checked_in_every_call():
    rows = Tensor([[3.0, 4.0], [0.0, 2.0]])
    for _ in range(3):
        assert ops.linalg.norm(rows, dim=1).tolist() == [5, 2]
        with pytest.raises(TypeError, match="dim and axis are the same"):
            ops.linalg.norm(rows, dim=1, axis=1)
        with pytest.raises(TypeError, match="norm: .*'dmi'"):
            ops.linalg.norm(rows, dmi=1)
        assert ops.linalg.norm(rows, axis=0, keepdim=True).shape == (1, 2)
