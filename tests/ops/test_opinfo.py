"""Every function and method with a name of PyTorch's, called with PyTorch's own samples: values, first and second
gradients.

PyTorch tests itself with these samples (`torch.testing._internal`, which needs `expecttest`): broadcasting, 0-d and
empty Tensors, every argument. REFUSED lists the samples that our ops refuse, with the reason.
"""

import re
import warnings

import numpy as np
import pytest

import nn.functional as F
import tinygrad_like
from tinygrad_like import Tensor, linalg, ops

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")
pytestmark = pytest.mark.torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

# Calls that differ from PyTorch's. All others are the package's function of that name, or the Tensor's method.
OTHERWISE = {
    "where": lambda a, condition, b: ops.where(condition, a, b),
    "einsum": lambda xs, formula: ops.einsum(formula, *xs), "svd": tinygrad_like.svd,
    "nn.functional.embedding": lambda weight, index, **how: ops.embedding(index, weight, **how),
    "zero_": lambda x: x.detach().clone().zero_(),
    "searchsorted": lambda x, values, out_int32=False, right=False, side=None, sorter=None: ops.cast(ops.searchsorted(
        x if sorter is None else x.gather(-1, sorter), values, right=right, side=side),
        dtype=np.int32 if out_int32 else np.int64),
    **{name: lambda x, *args, name=name, **how: getattr(x, name)(*args, **{
        n: value for n, value in how.items() if value is not None}) for name in ("var", "std", "var_mean", "std_mean")},
}


def function_for(name):
    """Our function, or None."""
    if name in OTHERWISE:
        return OTHERWISE[name]
    parts = "_refs.", "fft.", "masked.", "signal.", "sparse.", "special.", "torch."
    home, _, short = name.rpartition(".")
    if name.startswith(parts) or short == "to_sparse":  # not in this package
        return None
    homes = {"nn.functional": [F], "linalg": [linalg]}.get(home, [Tensor, tinygrad_like])
    found = next((getattr(home, short) for home in homes if hasattr(home, short)), None)
    if isinstance(found, property):
        return lambda x, *args, **how: getattr(x, short)(*args, **how) if args or how else getattr(x, short)
    return found


# Random or uninitialized numbers, LU of nonsquare matrices, a Python number, or another function of that name, such as
# `numpy.gradient`.
NOT_COMPARED = set("""
    linalg.lu linalg.lu_factor linalg.lstsq lu lu_unpack nextafter broadcast_shapes empty_like
    randn rand randint randn_like rand_like normal uniform bernoulli multinomial nn.functional.dropout
    nn.functional.dropout2d nn.functional.dropout3d empty new_empty item gradient
""".split())
VARIANTS = {"norm nuc", "linalg.pinv singular", "linalg.pinv hermitian",  # composed of several
            "nn.functional.silu complex", "nn.functional.batch_norm without_cudnn",  # for other devices and dtypes
            "as_strided partial_views"}  # a copy of the sample has other memory
NAMES_OF_CASES = {id(op): f"{op.name} {op.variant_test_name}".strip() for op in op_db}
CASES = [pytest.param(op, id=NAMES_OF_CASES[id(op)]) for op in op_db if op.name not in NOT_COMPARED
         and NAMES_OF_CASES[id(op)] not in VARIANTS and function_for(op.name) is not None]
# Refused samples: the op, its error, and why.
REFUSED = [
    ("softmax|log_softmax|nn.functional.softmin", "nothing to normalise", "probabilities of nothing add up to 0"),
    ("nn.functional.conv.*", "x must be .batch", "a batch axis is required"),
    ("nn.functional.avg_pool2d", "must be a number or a pair", "a sequence of one number, or none, for two axes"),
    ("nn.functional.batch_norm", "cannot work with|x must be .batch, channels", "no axis of channels"),
    ("linalg.svd", "full_matrices=True completes", "a completed basis is not a function of the matrix"),
    ("nn.functional.max_pool3d", "not supported for volumes", "indices of maxima exist for signals and images"),
    ("gather", "needs as many axes", "an index with other axes than x"),
    ("index_select|index_add|unfold", "a 0-d Tensor has none|for the 0 axes", "a number has no axis to split"),
    ("svd", "full_matrices=True completes|use linalg.svdvals", "as for linalg.svd"),
    ("repeat_interleave", "unknown argument 'output_size'", "the size follows from the repeats"),
    ("cat", "axis 1 is out of range", "an empty vector among matrices"),
]
SIGNS = {"svd", "linalg.svd", "linalg.eigh"}  # of vectors are arbitrary: the sample names a function that ignores them
# PyTorch's gradient is 0 where ours does not exist, and it also gives one to every overwritten source.
WITHOUT_GRADIENT = {"floor_divide", "div", "norm", "linalg.vector_norm", "linalg.norm", "zero_"}
NAN_SLOPES = {"subgradients_at_zero"}  # second order: PyTorch divides by 0, ours is 0
OVERWRITTEN = {f"nn.functional.max_unpool{rank}d" for rank in (1, 2, 3)}


def ours(value, leaves):
    """A PyTorch argument as one of ours; Tensors that require grad are appended to `leaves`."""
    if isinstance(value, torch.Tensor):
        x = Tensor(value.detach().numpy())
        if value.requires_grad:
            leaves.append(x.requires_grad_())
        return x
    if isinstance(value, list | tuple):
        return (list if type(value) is list else tuple)(ours(v, leaves) for v in value)
    if isinstance(value, dict):
        return {k: ours(v, leaves) for k, v in value.items() if k not in ("device", "memory_format", "layout")}
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else value


def theirs(value, leaves):
    """A copy of an argument in which Tensors are leaves."""
    if isinstance(value, torch.Tensor):
        x = value.detach().clone().requires_grad_(value.requires_grad)
        if x.requires_grad:
            leaves.append(x)
        return x
    if isinstance(value, list | tuple):
        return type(value)(theirs(v, leaves) for v in value) if type(value) in (list, tuple) else tuple(value)
    return {k: theirs(v, leaves) for k, v in value.items()} if isinstance(value, dict) else value


def flat(value):
    if isinstance(value, list | tuple):
        return [x for v in value for x in flat(v)]
    return [value]


def close(a, b, rtol=1e-7, atol=1e-9):
    if a.dtype == "bfloat16":
        a, b = a.float(), b.float()
    np.testing.assert_allclose(a.detach().numpy(), b.numpy(force=True), rtol=rtol, atol=atol)


class Refused(Exception):
    pass


def outputs(call, op, sample, converted, leaves):
    args = [converted(v, leaves) for v in (sample.input, sample.args, sample.kwargs)]
    y = call(args[0], *args[1], **args[2])
    y = sample.output_process_fn_grad(y) if op.name in SIGNS else y
    return [torch.tensor(x) if isinstance(x, bool) else x for x in flat(y)]


# The position of an input of which one triangle is read: PyTorch also gives the other one a gradient.
READ_IN_PART = {"cholesky_solve": 1}


def compare(op, sample):
    xs, ts = [], []
    expected = outputs(op, op, sample, theirs, ts)
    try:
        found = outputs(function_for(op.name), op, sample, ours, xs)
    except Exception as error:
        raise Refused(str(error)) from error
    assert len(found) == len(expected)
    for y, t in zip(found, expected, strict=True):
        assert y.shape == tuple(t.shape)
        assert y.is_floating_point() == t.is_floating_point() and ("bool" in str(y.dtype)) >= (t.dtype is torch.bool)
        close(y, t)
    pairs = [(y, t) for y, t in zip(found, expected, strict=True) if t.requires_grad]
    if op.name in WITHOUT_GRADIENT:
        pairs = [(y, t) for y, t in pairs if y.requires_grad]
    if xs and pairs and not (op.name in OVERWRITTEN and op.variant_test_name != "grad"):
        compare_gradients(xs, ts, pairs, op.supports_gradgrad and op.variant_test_name not in NAN_SLOPES,
                          READ_IN_PART.get(op.name))


def compare_gradients(xs, ts, pairs, second_order, in_part=None):
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(y.shape) for y, _ in pairs]
    total = sum((y * Tensor(w)).sum() for (y, _), w in zip(pairs, weights, strict=True))
    wanted = sum((t * torch.tensor(w)).sum() for (_, t), w in zip(pairs, weights, strict=True))
    expected = torch.autograd.grad(wanted, ts, create_graph=second_order, allow_unused=True)
    expected = [x * 0 if t is None else t for x, t in zip(ts, expected, strict=True)]
    if in_part is not None:
        expected[in_part] = expected[in_part] * (ts[in_part] != 0)
    for recorded in (False, True):
        found = total.gradient(*xs, retain_graph=True, create_graph=recorded, materialize_grads=True)
        for a, t in zip(found, expected, strict=True):
            close(a, t)
    penalty, wanted = sum((d * d).sum() for d in found), sum((t * t).sum() for t in expected)
    if not second_order or not wanted.requires_grad:
        return
    try:
        expected = list(torch.autograd.grad(wanted, ts, allow_unused=True))
    except RuntimeError as error:
        assert "is not implemented" in str(error)
        return
    if in_part is not None:
        expected[in_part] = expected[in_part] * (ts[in_part] != 0)
    found = penalty.gradient(*xs, materialize_grads=True) if penalty.requires_grad else [x.zeros_like() for x in xs]
    for a, t in zip(found, expected, strict=True):
        close(a, torch.zeros(a.shape) if t is None else t, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("op", CASES)
def test_pytorchs_samples_give_pytorchs_results(op):
    torch.manual_seed(0)
    excuses = {message for names, message, _ in REFUSED if re.fullmatch(names, op.name)}
    used, compared = set(), 0
    dtype = torch.float64 if op.supports_dtype(torch.float64, "cpu") else torch.int64
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd and dtype.is_floating_point):
            if sample.kwargs.get("dropout_p"):
                continue
            try:
                compare(op, sample)
                compared += 1
            except Refused as refused:
                message = next((m for m in excuses if re.search(m, str(refused))), None)
                assert message is not None, f"{sample}: {refused}"
                used.add(message)
            except AssertionError as error:
                raise AssertionError(f"{sample}: {error}") from error
    assert compared
    shared = [message for names, message, _ in REFUSED if message in excuses - used and not re.search(r"[|*.]", names)]
    assert not shared, f"no longer refused: {shared}"


def test_most_of_pytorchs_functions_are_compared():
    assert len(CASES) > 250


def test_dlpack_shares_memory_with_pytorch():
    a = torch.arange(6.0).reshape(2, 3)
    x = Tensor.from_dlpack(a)
    a[0, 0] = 10
    assert x.numpy()[0, 0] == 10 and x.dtype == "float32"
    y = Tensor([1.0, 2.0])
    b = torch.from_dlpack(y)
    y.assign([3.0, 4.0])
    assert b.tolist() == [3, 4]
    assert Tensor(torch.ones(2, dtype=torch.float64)).dtype == "float64"
