"""Two more kinds of puzzle: layers, compared with the built-in ones, and training scripts with one mistake."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..random import manual_seed
from ..transforms.codegen import execute
from .check import Finding
from .files import Report, check_file, load

_HEAD = "import nn\nfrom tinygrad_like import Tensor\n\n\n"

# name -> (what it has to do, the layer with its body left open, that body)
LAYERS = {
    "dropout": ("In training each element is 0 with probability p, independently; the others are x / (1 - p), so that "
                "the mean stays.\nIn evaluation, where self.training is False, the layer does nothing.", '''\
class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, x):
        ...
''', '''\
if not self.training:
            return x
        kept = Tensor.rand(*x.shape) >= self.p
        return x * kept / (1 - self.p)
'''),
    "batch_norm": ('''\
In training each feature, a column of x (batch, features), is shifted and scaled to mean 0 and variance 1 over the
batch; then it is multiplied by weight, and bias is added. eps is added to the variance, which divides by n.
running_mean and running_var move a share `momentum` of the way to the mean and to the variance, here the one that
divides by n - 1. In evaluation they stand in for those of the batch.''', '''\
class BatchNorm(nn.Module):
    def __init__(self, features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight, self.bias = nn.Parameter(Tensor.ones(features)), nn.Parameter(Tensor.zeros(features))
        self.register_buffer("running_mean", Tensor.zeros(features))
        self.register_buffer("running_var", Tensor.ones(features))

    def forward(self, x):
        ...
''', '''\
if self.training:
            mean, var = x.mean(0), x.var(0, correction=0)
            n = x.shape[0]
            self.running_mean += self.momentum * (mean.detach() - self.running_mean)
            self.running_var += self.momentum * (var.detach() * n / (n - 1) - self.running_var)
        else:
            mean, var = self.running_mean, self.running_var
        return (x - mean) / (var + self.eps).sqrt() * self.weight + self.bias
'''),
}

SCRIPT = '''\
import numpy as np

import nn
import nn.functional as F
import optim
from tinygrad_like import Tensor, manual_seed, no_grad

manual_seed(0)
rng = np.random.default_rng(0)


def spirals(n):
    """Points on three arms, x (n, 2) in metres, and which arm, y (n,)."""
    y = rng.integers(0, 3, n)
    r = rng.uniform(0.1, 1, n)
    angle = 2.1 * y + 3 * r + rng.normal(0, 0.1, n)
    return (np.stack([r * np.cos(angle), r * np.sin(angle)], 1) * [10, 40] + 70).astype(np.float32), y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.drop, self.out = nn.Linear(2, 64), nn.Dropout(0.1), nn.Linear(64, 10)

    def forward(self, x):
        return self.out(self.drop(self.hidden(x).relu()))


x, y = spirals(600)
x_test, y_test = spirals(60)
mean, std = x.mean(0), x.std(0)
x, x_test = (x - mean) / std, (x_test - mean) / std

model = Net()
model.out = nn.Linear(64, 3)  # there are three arms, not ten
optimizer = optim.Adam(model.parameters(), lr=0.02)


def accuracy():
    model.eval()
    with no_grad():
        guess = model(Tensor(x_test)).argmax(1).numpy()
    model.train()
    return float((guess == y_test).mean())


history = []  # of each epoch the loss and the share of the test that is right
for epoch in range(12):
    order = rng.permutation(len(x))
    total = 0.0
    for k in range(0, len(x), 50):
        batch = order[k:k + 50]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(Tensor(x[batch])), Tensor(y[batch]))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    history.append((total / len(x), accuracy()))

if __name__ == "__main__":
    for row in history:
        print("loss %.3f, right %.0f %%" % (row[0], 100 * row[1]))
'''

_OUT = "model.out = nn.Linear(64, 3)  # there are three arms, not ten\n"
_ADAM = "optimizer = optim.Adam(model.parameters(), lr=0.02)\n"

# The ten mistakes that people make most: (what stands in the script, what stands there instead, hints).
BUGS = [
    ("        optimizer.zero_grad()\n", "", "What does backward() do to a .grad that is there?",
     "It adds to it. Whose gradients does the second step use?"),
    ("Tensor(y[batch])", "Tensor(y[k:k + 50])", "Which rows of x are in the batch, and which of y?",
     "The loss stays near ln 3, that of guessing."),
    ("self.out(self.drop(self.hidden(x).relu()))", "self.out(self.drop(self.hidden(x).relu())).softmax(-1)",
     "What does cross_entropy take: logits or probabilities?", "The loss cannot come below 0.55. Why?"),
    ("    model.eval()\n", "", "Is accuracy() the same if you call it twice?",
     "Which layer does something else in training than in evaluation?"),
    ("    model.train()\n    return", "    return", "In which mode is the model after the first epoch?",
     "From the second epoch on nothing is dropped."),
    ("(x_test - mean) / std", "(x_test - x_test.mean(0)) / x_test.std(0)",
     "Would the accuracy of a single point make sense?", "What is known of the test set when the model is made?"),
    ("total += loss.item() * len(batch)", "total += loss * len(batch)", "What is `total` after an epoch?",
     "A Tensor that holds the graphs of all steps."),
    ("self.hidden(x).relu()", "self.hidden(x).detach().relu()", "Which parameters have a gradient after backward()?",
     "Where does the graph end?"),
    (f"{_OUT}{_ADAM}", f"{_ADAM}{_OUT}",
     "Which parameters does the optimizer have?", "Does model.out change in a step?"),
    (".argmax(1).numpy()", ".argmax(1, keepdim=True).numpy()", "What is the shape of guess == y_test?",
     "(60, 1) and (60,) broadcast to (60, 60)."),
]

NAMES = [*(f"layer_{name}" for name in LAYERS), *(f"bug_{n:02}" for n in range(1, len(BUGS) + 1))]


def text(name: str, solved: bool = False) -> str:
    """The file of an exercise; solved, if it is to be."""
    kind, _, which = name.partition("_")
    if kind == "layer":
        task, layer, body = LAYERS[which]
        code = layer.replace("...", body.rstrip()) if solved else layer
        return f'"""Write a layer: {which}\n\n{task}\n"""\n\n{_HEAD}{code}'
    right, wrong, *hints = BUGS[int(which) - 1]
    script = SCRIPT if solved else SCRIPT.replace(right, wrong)
    told = "" if solved else "\n" * 15 + (8 * "\n").join(f"# Hint {n}: {hint}\n" for n, hint in enumerate(hints, 1))
    task = "This script has one mistake, of those that people make most. Find it and mend it; change nothing else."
    return f'"""Find the bug: {which}\n\n{task}\n"""\n\n{script}{told}'


def checked(path: Path) -> Report:
    """The report on an exercise, or on a file of ops."""
    name = path.stem.partition("_")[2]
    if name not in NAMES:
        return check_file(path)
    if path.read_text(encoding="utf-8") == text(name):
        return _told(name, path, "is as it was made", "open")
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            module = load(path)
            wrong = _wrong_layer(name, module) if name.startswith("layer") else _wrong_script(vars(module))
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    return _told(name, path, wrong, "wrong")


def _told(name: str, path: Path, wrong: str, kind: str) -> Report:
    found = [Finding(name, "", kind, "", wrong, str(path), "")] if wrong else []
    return Report([f"{name}: {wrong or 'right'}"], found, not wrong)


def _wrong_layer(name: str, module: Any) -> str:
    from .. import nn

    if name == "layer_dropout":
        return _wrong_dropout(module.Dropout)
    mine, built_in = module.BatchNorm(3, eps=0.1, momentum=0.3), nn.BatchNorm1d(3, eps=0.1, momentum=0.3)
    rng = np.random.default_rng(0)
    for training in (True, True, False):
        x, g = rng.normal(2, 3, (6, 3)).astype(np.float32), rng.normal(size=(6, 3)).astype(np.float32)
        seen = []
        layer: Any
        for layer in (mine, built_in):
            layer.train(training)
            start = Tensor(x, requires_grad=True)
            y = layer(start)
            if not isinstance(y, Tensor):
                return "forward must return a Tensor"
            y.backward(Tensor(g))
            seen.append({"the output": y, "the gradient of x": start.grad, "weight.grad": layer.weight.grad,
                         "bias.grad": layer.bias.grad, "running_mean": layer.running_mean,
                         "running_var": layer.running_var})
        for what, value in seen[0].items():
            if value is None or not np.allclose(value._data, seen[1][what]._data, rtol=1e-3, atol=1e-4):
                return f"in {'training' if training else 'evaluation'} {what} differs from that of nn.BatchNorm1d"
    return ""


def _wrong_dropout(layer: Callable) -> str:
    manual_seed(0)
    p, x = 0.2, Tensor(np.full((100, 100), 3.0, np.float32), requires_grad=True)
    mine = layer(p)
    y = mine(x)
    if not isinstance(y, Tensor):
        return "forward must return a Tensor"
    kept = y._data != 0
    if not np.allclose(y._data[kept], 3 / (1 - p), rtol=1e-4):
        return "in training what is not dropped must be x / (1 - p), as nn.Dropout does"
    if abs(kept.mean() - (1 - p)) > 0.02:
        return f"in training a share p = {p} must be dropped; here it is {1 - kept.mean():.2f}"
    if kept.all(0).any() or kept.all(1).any() or (mine(x)._data == y._data).all():
        return "each element is dropped by itself, and anew in each call"
    y.sum().backward()
    if x.grad is None or not np.allclose(x.grad._data, kept / (1 - p), rtol=1e-4):
        return "the gradient must be that of what was kept: g / (1 - p) there, else 0"
    mine.eval()
    return "" if np.array_equal(mine(x)._data, x._data) else "in evaluation the layer must give x as it is"


def _wrong_script(space: dict) -> str:
    """Whether the script behaves as without its mistake: losses, accuracies, and the state it leaves behind."""
    right, history = _reference(), space.get("history", [])
    if any(type(v) is not float for row in history for v in row):
        return "the history must be numbers, and not Tensors, which hold their graphs"
    if space["accuracy"]() != space["accuracy"]():
        return "two evaluations of one model must agree"
    if len(history) != len(right) or not np.allclose(history, right, rtol=1e-2, atol=1e-3):
        at = next((k for k, (a, b) in enumerate(zip(history, right, strict=False))
                   if not np.allclose(a, b, rtol=1e-2, atol=1e-3)), 0)
        return f"from epoch {at + 1} on it does something else than without its mistake"
    return ""


@lru_cache(maxsize=1)
def _reference() -> list:
    space: dict[str, Any] = {"__name__": "reference"}
    execute(SCRIPT, "<reference>", space)
    return space["history"]
