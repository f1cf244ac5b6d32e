"""Every public call with nonsensical arguments gives a result, or an error that begins with the name of the call.

TINYGRAD_LIKE_NONSENSE=6000 runs more cases than usual. `python tests/test_nonsense.py FIRST LAST LOG` runs some cases
and prints those that fail; if the process crashes, the last line of LOG is the case that crashed it.
"""

import ast
import inspect
import os
import re
import sys
import warnings

import numpy as np
import pytest

import nn
import nn.functional as F
from tests.nn.test_layers import LAYERS, OWN
from tests.ops.samples import CASES
from tinygrad_like import Tensor, manual_seed, ops
from tinygrad_like.core.dispatch import declared
from tinygrad_like.core.listener import Listener

COUNT = int(os.environ.get("TINYGRAD_LIKE_NONSENSE", 1500))
GROUP = 250
ALLOWED = (TypeError, ValueError, IndexError, RuntimeError, NotImplementedError, MemoryError, ZeroDivisionError)
SKIPPED = {"backward", "gradient", "register_hook", "sequential", "from_dlpack", "numpy", "tolist", "assign", "touch",
           "randperm"}
LARGEST = 1 << 22  # no backward from results with more elements


class Thing:
    """A type that no library knows."""

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
SENSIBLE = {  # by the beginning of a parameter's name
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
# Valid calls, many of which then get an argument that does not fit: the op calls of tests/ops/samples.py, the layers of
# tests/nn/test_layers.py, and these.
LABELS = np.array([[0, 2, 1], [1, 1, 0]])
MORE = {
    "Embedding(3, 2)": [LABELS], "CrossEntropyLoss()": [(2, 4, 3), LABELS], "NLLLoss()": [(2, 4, 3), LABELS],
    **dict.fromkeys("MSELoss() L1Loss() HuberLoss() SmoothL1Loss() BCEWithLogitsLoss() BCELoss() KLDivLoss()".split(),
                    [(2, 3), (2, 3)]),
    "MultiheadAttention(4, 2)": [(2, 3, 4)] * 3, "MultiHeadAttention(4, 2)": [(2, 3, 4)],
    "TransformerEncoderLayer(4, 2, 3)": [(2, 3, 4)], "TransformerDecoderLayer(4, 2, 3)": [(2, 3, 4), (2, 5, 4)],
    "TransformerEncoder(TransformerEncoderLayer(4, 2, 8), 2)": [(2, 3, 4)], "SinusoidalEncoding(4)": [(2, 3, 4)],
    "LearnedEncoding(3, 4)": [(2, 3, 4)], "RotaryEncoding(4)": [(2, 3, 2, 4)], "SyncBatchNorm(4)": [(2, 4, 3)],
    "Sequential(Linear(3, 2), ReLU())": [(4, 3)],
}


class Calls(Listener):
    """Collects inputs and options by the op's name."""

    def __init__(self):
        self.of = {}

    def op(self, op, inputs, options, run):
        self.of.setdefault(op.name, []).append((list(inputs), dict(options)))
        return super().op(op, inputs, options, run)


def calls_of_ops():
    with Calls() as calls, np.errstate(all="ignore"):
        for f, *inputs in CASES.values():
            f(*[Tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs])
    return calls.of


def calls_of_layers():
    """By the layer's name: the constructor's positional and keyword arguments, and inputs."""
    found = {}
    for text, given in [*MORE.items(), *((text, shapes[:1]) for text, shapes in {**LAYERS, **OWN}.items())]:
        call = ast.parse(text, mode="eval").body
        args, named = [ast.unparse(a) for a in call.args], {k.arg: ast.unparse(k.value) for k in call.keywords}
        found.setdefault(call.func.id, []).append((args, named, given))
    return found


# Models whose defaults are large.
HUGE = {"ViT", "ResNet", "Transformer", "LanguageModel"}


def sensible(name, rng):
    for beginnings, make in SENSIBLE.items():
        if name.startswith(tuple(beginnings.split())) and (len(name) > 1 or name in beginnings.split()):
            return make(rng)
    return integer(rng)


def arguments(function, rng, skip=0):
    """Positional and keyword arguments for a function: nearly all of them sensible, most, or few."""
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


def fitting(name, kind, rng):
    """Arguments of a valid call, and inputs of the layer it makes, perhaps with arguments replaced; or None."""
    known = (LAYER_CALLS if kind == "layer" else OP_CALLS).get(name.split(".")[1])
    if known is None:
        return None
    positional, named, *inputs = known[rng.integers(len(known))]
    dtype = "float64" if rng.random() < 0.2 else "float32"

    def fresh(x):
        if isinstance(x, tuple) and kind == "layer":
            x = rng.standard_normal(x)
        if not isinstance(x, Tensor | np.ndarray):
            return x
        differentiable = kind == "layer" or isinstance(x, Tensor) and x.requires_grad
        x = Tensor(x.numpy(force=True) if isinstance(x, Tensor) else x)
        x = x[:0] if x.ndim and rng.random() < 0.08 else x
        return x.cast(dtype).requires_grad_(differentiable and bool(rng.random() < 0.8)) if x.is_floating_point() else x

    if kind == "layer":
        positional, named = [eval(a, vars(nn)) for a in positional], {k: eval(a, vars(nn)) for k, a in named.items()}
        inputs = list(map(fresh, inputs[0]))
    else:
        positional, named = list(map(fresh, positional)), dict(named)
    for values in (positional, named, inputs):
        if values and rng.random() < 0.4:
            at = rng.integers(len(values)) if isinstance(values, list) else list(values)[rng.integers(len(values))]
            values[at] = NONSENSE[rng.integers(len(NONSENSE))](rng)
    return positional, named, inputs


def targets():
    """Name, function and kind of everything to call; a layer is called again with inputs."""
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


TARGETS, OP_CALLS, LAYER_CALLS = list(targets()), calls_of_ops(), calls_of_layers()


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
    """Check that an error is ours: its class is allowed, and its message begins with a name."""
    text = str(error)
    assert isinstance(error, ALLOWED), f"{case}: {type(error).__name__}: {text}"
    assert not isinstance(error, RecursionError), case
    # Python names the function that it could not call, and backward the rule that failed.
    named = r"(\w|\.)+(\(\))?: |the (joint )?VJP of |(\w|\.)+\(\) (missing|takes|got)|\w+ does not define forward"
    assert re.match(named, text), f"{case}: {type(error).__name__}: {text}"


def run(number, log=lambda case: None):
    """Run case `number`, the same in every process; return its result, or None if there was an error."""
    rng = np.random.default_rng([17, number])
    manual_seed(number)
    name, function, kind = TARGETS[number % len(TARGETS)]
    case = f"case {number}: {name}"
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            fits = None
            if number // len(TARGETS) % 2:  # every second round: a valid call
                fits = fitting(name, kind, rng)
            if fits is not None:
                positional, named, inputs = fits
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
                positional, named = (inputs, {}) if fits is not None else arguments(layer.forward, rng)
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


@pytest.mark.parametrize("first", range(0, COUNT, GROUP))
def test_nonsensical_calls_give_results_or_our_errors(first):
    for number in range(first, min(first + GROUP, COUNT)):
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
