"""Every public call, with arguments that make no sense: there is a result, or an error in the name of what was called.

TINYGRAD_LIKE_NONSENSE=6000 runs more cases than usual. `python tests/test_nonsense.py FIRST LAST LOG` runs some by hand
and prints all that fail; the last line of LOG is the case that ended the process, should one do so.
"""

import inspect
import os
import re
import sys
import warnings

import numpy as np
import pytest

import nn
import nn.functional as F
from tinygrad_like import Tensor, manual_seed, ops
from tinygrad_like.core.dispatch import declared

CASES = int(os.environ.get("TINYGRAD_LIKE_NONSENSE", 1500))
GROUP = 250
ALLOWED = (TypeError, ValueError, IndexError, RuntimeError, NotImplementedError, MemoryError, ZeroDivisionError)
SKIPPED = {"backward", "gradient", "register_hook", "sequential", "from_dlpack", "numpy", "tolist", "assign", "touch",
           "randperm"}
LARGEST = 1 << 22  # numbers of a result that is worth a backward


class Thing:
    """Something no library has heard of."""

    def __repr__(self):
        return "Thing()"


def tensor(rng, shape=None, dtype=None):
    if shape is None:
        shape = tuple(rng.choice([0, 1, 2, 3, 4, 6], rng.integers(0, 6), p=[0.07, 0.13, 0.2, 0.2, 0.2, 0.2]).tolist())
    dtype = dtype or rng.choice(["float32"] * 6 + ["float64", "int64", "int32", "uint8", "bool"])
    values = 3 * rng.standard_normal(shape)
    if rng.random() < 0.1:
        values = np.where(rng.random(shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf, 1e38]), values)
    if dtype == "uint8":
        values = np.abs(values)
    with np.errstate(all="ignore"):
        x = Tensor(np.asarray(values).astype(dtype))
    return x.requires_grad_() if dtype.startswith("float") and rng.random() < 0.8 else x


def integer(rng):
    return int(rng.choice([-3, -2, -1, 0, 1, 2, 3, 4, 6, 8]))


NONSENSE = [
    lambda rng: None, lambda rng: "two", lambda rng: "", lambda rng: [], lambda rng: (), lambda rng: {},
    lambda rng: 2**70, lambda rng: -(2**70), lambda rng: float("nan"), lambda rng: float("inf"), lambda rng: 1.5,
    lambda rng: True, lambda rng: 1j, lambda rng: Thing(), lambda rng: [1, "a"], lambda rng: [[1, 2], [3]],
    lambda rng: slice(None), lambda rng: Ellipsis, lambda rng: np.zeros((0, 3), np.float32), lambda rng: b"bytes",
    lambda rng: np.array(["text"]), lambda rng: np.array([None]), lambda rng: np.ones(3, np.complex64),
    lambda rng: np.float16(1), lambda rng: [None], lambda rng: (1, 2, 3, 4, 5), lambda rng: [1.5, 2],
    lambda rng: {1}, lambda rng: np.int8(3), lambda rng: range(3), lambda rng: -1, lambda rng: 0,
    lambda rng: [tensor(rng), tensor(rng)], lambda rng: (integer(rng), integer(rng)), tensor, integer,
]
SENSIBLE = {  # by how a parameter's name begins
    "x xs input self a b q query k key v value g y z p other end image skip": tensor,
    "weight pos_weight": lambda rng: tensor(rng, dtype="float32"),
    "bias running": lambda rng: tensor(rng, (3,), "float32"),
    "index target mask attn_mask condition labels": lambda rng: tensor(
        rng, dtype=rng.choice(["int64", "bool", "float32", "uint8"])),
    "axis dim start_ end_": lambda rng: int(rng.choice([-2, -1, 0, 1, 2])),
    "axes shape sizes size padding repeats shifts normalized": lambda rng: tuple(
        int(n) for n in rng.choice([0, 1, 2, 3, -1], rng.integers(1, 4))),
    "keepdim training ceil is_ descending largest bias_ affine track batch_first": lambda rng: bool(rng.random() < 0.5),
    "reduction": lambda rng: rng.choice(["mean", "sum", "none"]),
    "mode": lambda rng: rng.choice(["constant", "reflect", "nearest", "circular"]),
    "dropout eps momentum label_smoothing alpha beta delta scale_": lambda rng: float(rng.choice([0.0, 0.1, 0.5, 1.0])),
    "dtype": lambda rng: rng.choice(["float32", "float64", "int64", "bool", "uint8"]),
    "formula": lambda rng: rng.choice(["ij,jk->ik", "i,i->", "ii->i", "...i->...", "ab->ba"]),
}
# Calls that fit together, of sizes n, c, h, k, i from 0 up, of which half then get one argument that does not fit.
# t(...) is a float Tensor of that shape, j(m, ...) one of integers below m.
FUNCTIONS = {
    "conv1d": lambda t, j, n, c, h, k, i: [t(n, c, h), t(k, c, i), t(k)],
    "conv2d": lambda t, j, n, c, h, k, i: [t(n, 2 * c, h, h), t(2 * k, c, i, i), t(2 * k), 1, 1, 1, 2],
    "conv_transpose1d": lambda t, j, n, c, h, k, i: [t(n, c, h), t(c, k, i), t(k)],
    "conv_transpose2d": lambda t, j, n, c, h, k, i: [t(n, c, h, h), t(c, k, i, i), t(k), 2],
    "unfold": lambda t, j, n, c, h, k, i: [t(n, c, h, h), i],
    "fold": lambda t, j, n, c, h, k, i: [t(n, c * i * i, (h - i + 1) ** 2), h, i],
    "max_pool1d avg_pool1d": lambda t, j, n, c, h, k, i: [t(n, c, h), i, k],
    "max_pool2d avg_pool2d": lambda t, j, n, c, h, k, i: [t(n, c, h, h), i, k],
    "adaptive_avg_pool1d": lambda t, j, n, c, h, k, i: [t(n, c, h), i],
    "adaptive_avg_pool2d": lambda t, j, n, c, h, k, i: [t(n, c, h, h), (i, k)],
    "interpolate": lambda t, j, n, c, h, k, i: [t(n, c, h, h), (i, k)],
    "layer_norm rms_norm": lambda t, j, n, c, h, k, i: [t(n, h, c), (c,), t(c)],
    "group_norm": lambda t, j, n, c, h, k, i: [t(n, 2 * c, h), 2, t(2 * c), t(2 * c)],
    "batch_norm": lambda t, j, n, c, h, k, i: [t(n, c, h), t(c).detach(), t(c).detach() ** 2, t(c), t(c), k > 2],
    "batch_norm_relu": lambda t, j, n, c, h, k, i: [t(n, c, h), t(c), t(c), None, None, t(n, c, h)],
    "sync_batch_norm": lambda t, j, n, c, h, k, i: [t(n, c, h), t(c), t(c)],
    "instance_norm": lambda t, j, n, c, h, k, i: [t(n, c, h, h), t(c), t(c)],
    "linear": lambda t, j, n, c, h, k, i: [t(n, h, c), t(k, c), t(k)],
    "matmul batched_matmul dot": lambda t, j, n, c, h, k, i: [t(n, h, c), t(c, k) if i > 2 else t(n, c, k)],
    "outer": lambda t, j, n, c, h, k, i: [t(n), t(c)],
    "einsum": lambda t, j, n, c, h, k, i: ["nc,ck->nk", t(n, c), t(c, k)],
    "embedding": lambda t, j, n, c, h, k, i: [j(k, n, c), t(k, h), None],
    "add_rows": lambda t, j, n, c, h, k, i: [t(n, h), j(k, n), k],
    "one_hot": lambda t, j, n, c, h, k, i: [j(k, n, c), k],
    "cross_entropy nll_loss": lambda t, j, n, c, h, k, i: [t(n, c, h), j(c, n, h), t(c).detach()],
    "mse_loss l1_loss huber_loss smooth_l1_loss kl_div binary_cross_entropy_with_logits": (
        lambda t, j, n, c, h, k, i: [t(n, c), t(n, c)]),
    "binary_cross_entropy": lambda t, j, n, c, h, k, i: [t(n, c).sigmoid(), t(n, c)],
    "scaled_dot_product_attention": lambda t, j, n, c, h, k, i: [t(n, h, c), t(n, k, c), t(n, k, i)],
    "self_attention": lambda t, j, n, c, h, k, i: [t(n, h, 6 * c), None, {"num_heads": 2}],
    "lstm": lambda t, j, n, c, h, k, i: [t(n, h, 4 * c), t(h, c), t(h, c), t(4 * c, c)],
    "gru": lambda t, j, n, c, h, k, i: [t(n, h, 3 * c), t(h, c), t(3 * c, c), t(3 * c)],
    "rotate_halves": lambda t, j, n, c, h, k, i: [t(n, h, 2 * c), t(h, c).detach(), t(h, c).detach()],
    "gather": lambda t, j, n, c, h, k, i: [t(n, c), j(c, n, k), {"axis": 1}],
    "x.gather": lambda t, j, n, c, h, k, i: [t(n, c), 1, j(c, n, k)],
    "scatter scatter_add": lambda t, j, n, c, h, k, i: [t(n, c), j(c, n, k), t(n, k), {"axis": 1}],
    "x.scatter x.scatter_add": lambda t, j, n, c, h, k, i: [t(n, c), 1, j(c, n, k), t(n, k)],
    "getitem __getitem__": lambda t, j, n, c, h, k, i: [t(n, c), (slice(None), j(c, k))],
    "pad": lambda t, j, n, c, h, k, i: [t(n, c), {"padding": (k, i, h, 0)}],
    "permute": lambda t, j, n, c, h, k, i: [t(n, c, h), (2, 0, 1)],
    "reshape view": lambda t, j, n, c, h, k, i: [t(n, 2 * c), (n, 2, c)],
    "unflatten": lambda t, j, n, c, h, k, i: [t(n, c * k), 1, (c, k)],
    "repeat": lambda t, j, n, c, h, k, i: [t(n, c), (k, i, h)],
    "repeat_interleave": lambda t, j, n, c, h, k, i: [t(n, c), k, 1],
    "shrink": lambda t, j, n, c, h, k, i: [t(n, c), [(0, n), None]],
    "split": lambda t, j, n, c, h, k, i: [t(n, c + k), [c, k], 1],
    "topk": lambda t, j, n, c, h, k, i: [t(n, c), min(k, c), 1],
    "cat": lambda t, j, n, c, h, k, i: [t(n, c), t(k, c)],
    "stack": lambda t, j, n, c, h, k, i: [t(n, c), t(n, c)],
    "where": lambda t, j, n, c, h, k, i: [t(n, c) > 0, t(n, c), t(c)],
    "dropout2d": lambda t, j, n, c, h, k, i: [t(n, c, h, h), 0.5],
    "mean var std max min prod norm logsumexp sum softmax log_softmax cumsum sort": (
        lambda t, j, n, c, h, k, i: [t(n, c, h), 1]),
}
LAYERS = {  # the arguments of the constructor, and of the call
    "Linear": lambda t, j, n, c, h, k, i: ([c, k], [t(n, c)]),
    "Unflatten": lambda t, j, n, c, h, k, i: ([1, (c, k)], [t(n, c * k)]),
    "Permute": lambda t, j, n, c, h, k, i: ([(1, 0)], [t(n, c)]),
    "Conv1d ConvTranspose1d": lambda t, j, n, c, h, k, i: ([c, k, i], [t(n, c, h)]),
    "Conv2d ConvTranspose2d": lambda t, j, n, c, h, k, i: ([c, k, i], [t(n, c, h, h)]),
    "LayerNorm RMSNorm": lambda t, j, n, c, h, k, i: ([c], [t(n, c)]),
    "BatchNorm1d SyncBatchNorm InstanceNorm1d": lambda t, j, n, c, h, k, i: ([c], [t(n, c, h)]),
    "BatchNorm2d InstanceNorm2d": lambda t, j, n, c, h, k, i: ([c], [t(n, c, h, h)]),
    "GroupNorm": lambda t, j, n, c, h, k, i: ([k, c * k], [t(n, c * k, h)]),
    "MaxPool1d AvgPool1d AdaptiveAvgPool1d": lambda t, j, n, c, h, k, i: ([i], [t(n, c, h)]),
    "MaxPool2d AvgPool2d AdaptiveAvgPool2d Upsample": (
        lambda t, j, n, c, h, k, i: ([i], [t(n, c, h, h)])),
    "Dropout1d Dropout2d": lambda t, j, n, c, h, k, i: ([0.5], [t(n, c, h, h)]),
    "Embedding": lambda t, j, n, c, h, k, i: ([k, c], [j(k, n, h)]),
    "MultiheadAttention MultiHeadAttention": lambda t, j, n, c, h, k, i: ([c * k, k], [t(n, h, c * k)] * 3),
    "FeedForward Res": lambda t, j, n, c, h, k, i: ([c, k], [t(n, h, c)]),
    "TransformerEncoderLayer": lambda t, j, n, c, h, k, i: ([c * k, k, i], [t(n, h, c * k)]),
    "TransformerDecoderLayer": lambda t, j, n, c, h, k, i: ([c * k, k, i], [t(n, h, c * k), t(n, i, c * k)]),
    "TransformerEncoder": lambda t, j, n, c, h, k, i: (
        [nn.TransformerEncoderLayer(4, 2, 8), k], [t(n, h, 4)]),
    "Residual DropConnect": lambda t, j, n, c, h, k, i: ([nn.Linear(3, 3)], [t(n, 3)]),
    "Sequential": lambda t, j, n, c, h, k, i: ([nn.Linear(c or 1, k or 1), nn.ReLU()], [t(n, c)]),
    "SinusoidalEncoding": lambda t, j, n, c, h, k, i: ([2 * c], [t(n, h, 2 * c)]),
    "LearnedEncoding": lambda t, j, n, c, h, k, i: ([h, c], [t(n, h, c)]),
    "RotaryEncoding": lambda t, j, n, c, h, k, i: ([2 * c], [t(n, h, k, 2 * c)]),
    "BasicBlock": lambda t, j, n, c, h, k, i: ([c, k], [t(n, c, h, h)]),
    "Bottleneck": lambda t, j, n, c, h, k, i: ([c, k], [t(n, c, h, h)]),
    "ConvNeXtBlock": lambda t, j, n, c, h, k, i: ([c], [t(n, c, h, h)]),
    "CrossEntropyLoss NLLLoss": lambda t, j, n, c, h, k, i: ([], [t(n, c), j(c, n)]),
    "MSELoss L1Loss HuberLoss SmoothL1Loss BCEWithLogitsLoss KLDivLoss": (
        lambda t, j, n, c, h, k, i: ([], [t(n, c), t(n, c)])),
    "BCELoss": lambda t, j, n, c, h, k, i: ([], [t(n, c).sigmoid(), t(n, c)]),
    "MLP": lambda t, j, n, c, h, k, i: ([[c, k, i]], [t(n, c)]),
    "ResNetS": lambda t, j, n, c, h, k, i: ([c, h, 1, k], [t(n, c)]),
}
# Those whose defaults are of a size for real use.
HUGE = {"ViT", "ResNet", "Transformer", "Seq2Seq", "LanguageModel"}


def sensible(name, rng):
    for beginnings, make in SENSIBLE.items():
        if name.startswith(tuple(beginnings.split())) and (len(name) > 1 or name in beginnings.split()):
            return make(rng)
    return integer(rng)


def arguments(function, rng, skip=0):
    """Positional and keyword arguments for a function: most of them sensible, or all, or none."""
    odd = rng.choice([0.05, 0.3, 0.9])
    positional, named = [], {}

    def make(name):
        return NONSENSE[rng.integers(len(NONSENSE))](rng) if rng.random() < odd else sensible(name, rng)

    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += [make(parameter.name) for _ in range(rng.integers(0, 4))]
        elif parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif parameter.default is not parameter.empty and rng.random() < 0.5:
            if parameter.kind is not parameter.KEYWORD_ONLY:
                positional.append(parameter.default)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = make(parameter.name)
        else:
            positional.append(make(parameter.name))
    return positional, named


def fitting(table, name, rng):
    """What the table has for a call, of random sizes, perhaps with one argument replaced; None if it has nothing."""
    short = name.split(".")[1]
    make = next((make for names, make in table.items() if name in names.split()), None) or next(
        (make for names, make in table.items() if short in names.split()), None)
    if make is None:
        return None
    dtype = "float64" if rng.random() < 0.2 else "float32"

    def t(*shape):
        return Tensor(rng.standard_normal(shape).astype(dtype), requires_grad=bool(rng.random() < 0.8))

    def j(below, *shape):
        return Tensor(rng.integers(0, max(below, 1), shape).astype(rng.choice(["int64", "int32", "uint8"])))

    sizes = rng.choice([0, 1, 2, 3, 5, 16], 5, p=[0.08, 0.2, 0.2, 0.22, 0.2, 0.1]).tolist()
    lists = make(t, j, *sizes)
    for values in lists if isinstance(lists, tuple) else (lists,):
        if values and rng.random() < 0.5:
            at, odd = rng.integers(len(values)), NONSENSE[rng.integers(len(NONSENSE))](rng)
            values[at] = dict.fromkeys(values[at], odd) if isinstance(values[at], dict) else odd
    return lists


def targets():
    """Name and function of all that is called, and whether it is a layer, to be called once more."""
    named = {op.name: op for op in declared if op.__wrapped__.__module__.startswith(ops.__name__)} | vars(ops)
    for name, op in sorted(named.items()):
        if not name.startswith("_") and callable(op):
            yield f"ops.{name}", op, "function"
    for name in F.__all__:
        yield f"F.{name}", getattr(F, name), "function"
    for name in sorted({name for owner in Tensor.__mro__[:-1] for name in vars(owner)}):
        method = inspect.getattr_static(Tensor, name)
        operator = name.startswith("__") and hasattr(np.ndarray, name) and hasattr(int, name) or name == "__getitem__"
        if isinstance(method, staticmethod) and name not in SKIPPED:
            yield f"Tensor.{name}", method.__func__, "function"
        elif inspect.isfunction(method) and name not in SKIPPED and (operator or not name.startswith("_")):
            if name not in ("__init__", "__repr__", "__format__", "__hash__", "__bool__", "__float__", "__int__"):
                yield f"x.{name}", method, "method"
    for name in nn.__all__:
        value = getattr(nn, name)
        if isinstance(value, type) and name not in HUGE | {"Module", "Parameter", "Buffer", "MonteCarlo",
                                                           "KeyValueCache"}:
            yield f"nn.{name}", value, "layer"


TARGETS = list(targets())


def tensors(value):
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [t for part in value for t in tensors(part)]
    return []


def backward(out):
    for y in tensors(out):
        if y.requires_grad and y.node is not None and y.size <= LARGEST:
            y.backward(np.ones(y.shape, y.dtype), retain_graph=True)


def check(error, case):
    """The error is ours: of an allowed class, and its message begins with a name."""
    text = str(error)
    assert isinstance(error, ALLOWED), f"{case}: {type(error).__name__}: {text}"
    assert not isinstance(error, RecursionError), case
    # Python itself names the function that it could not call, and backward the rule that failed.
    named = r"(\w|\.)+(\(\))?: |the (joint )?VJP of |(\w|\.)+\(\) (missing|takes|got)|\w+ does not define forward"
    assert re.match(named, text), f"{case}: {type(error).__name__}: {text}"


def run(number, log=lambda case: None):
    """Case `number`: the same in every process. What it gave, or None if there was an error."""
    rng = np.random.default_rng([17, number])
    manual_seed(number)
    name, function, kind = TARGETS[number % len(TARGETS)]
    case = f"case {number}: {name}"
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            fits = None
            if number // len(TARGETS) % 2:  # every second time around, arguments that fit together
                fits = fitting(LAYERS if kind == "layer" else FUNCTIONS, name, rng)
            if fits is not None:
                positional, named = list(fits[0] if kind == "layer" else fits), {}
                if positional and isinstance(positional[-1], dict):  # options that are only known by name
                    named = positional.pop()
                if kind == "method" and not isinstance(positional[0], Tensor):
                    positional[0] = tensor(rng)
            elif kind == "method":
                x = tensor(rng)
                positional, named = arguments(function, rng, skip=1)
                positional.insert(0, x)
            else:
                positional, named = arguments(function, rng)
            case += f"({', '.join([*map(brief, positional), *(f'{k}={brief(v)}' for k, v in named.items())])})"
            log(case)
            out = function(*positional, **named)
            if kind == "layer":
                layer = out
                positional, named = (fits[1], {}) if fits is not None else arguments(layer.forward, rng)
                case += f"({', '.join([*map(brief, positional), *(f'{k}={brief(v)}' for k, v in named.items())])})"
                log(case)
                out = layer(*positional, **named)
            backward(out)
            return out
    except AssertionError as error:
        raise AssertionError(f"{case}: {error!r}") from error
    except Exception as error:
        check(error, case)


def brief(value):
    if isinstance(value, Tensor | np.ndarray):
        values = f" {value.tolist()}" if value.size < 3 else ""
        return f"{type(value).__name__} {value.dtype} {value.shape}{values}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(brief, value))}]"
    return repr(value)[:60]


@pytest.mark.parametrize("first", range(0, CASES, GROUP))
def test_nonsense(first):
    for number in range(first, min(first + GROUP, CASES)):
        run(number)


if __name__ == "__main__":
    first, last, bad = int(sys.argv[1]), int(sys.argv[2]), 0
    with open(sys.argv[3], "w") if len(sys.argv) > 3 else open(os.devnull, "w") as log:
        for number in range(first, last):
            try:
                run(number, lambda case: print(case, file=log, flush=True))
            except AssertionError as error:
                bad += 1
                print(error, flush=True)
    print(f"{bad} of {last - first} cases")
    sys.exit(bad > 0)
