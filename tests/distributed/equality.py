"""Train small nets in ways that could make ranks differ from one process; each rank saves its results.

    [mpiexec -n N] python equality.py FOLDER: writes FOLDER/<ranks>_<rank>.npz, arrays by case/name.
"""

import sys
from pathlib import Path

import numpy as np

import nn
import optim
from tinygrad_like import distributed, eager, manual_seed
from tinygrad_like.data import DataLoader, RandomShift
from tinygrad_like.training import accuracy, fit, predict

F = nn.functional
rng = np.random.default_rng(0)
IMAGES, LABELS = rng.standard_normal((65, 1, 8, 8)), rng.integers(0, 5, 65)
TOKENS = rng.integers(0, 9, (26, 7))


class Net(nn.Module):
    """Convolution and both batch norms, without biases before them: their gradient would be rounding, made large."""

    def __init__(self, drop):
        self.conv = nn.Conv2d(1, 6, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.unused = nn.Linear(3, 3)
        self.channels = nn.Dropout2d(drop / 2)
        self.hidden = nn.Linear(96, 16, bias=False)
        self.norm1 = nn.BatchNorm1d(16)
        self.drop, self.noise = nn.Dropout(drop), nn.GaussianDropout(drop / 2)
        self.head = nn.DropConnect(16, 5, p=drop / 2)

    def forward(self, x):
        x = self.channels(F.max_pool2d(F.relu(self.norm(self.conv(x))), 2))
        return self.head(self.noise(self.drop(F.relu(self.norm1(self.hidden(x.reshape(x.shape[0], -1)))))))


def per_token(output, tokens):
    return F.cross_entropy(output.reshape(-1, 9), tokens.reshape(-1))


def listed(dtype):
    """Batches in a list."""
    model, loader = images(dtype)
    return model, list(loader)


def images(dtype, drop=0.4, n=65, batch_size=20, transform=None, **options):
    return Net(drop), DataLoader(IMAGES[:n].astype(dtype), LABELS[:n], batch_size=batch_size, shuffle=True,
                                 transform=transform, **options)


def tokens(dtype):
    model = nn.LanguageModel(9, 16, num_layers=2, num_heads=2, max_length=7, dropout=0.3,
                             bias=False)  # that of keys changes nothing: its gradient would be rounding, made large
    return model, DataLoader(TOKENS, TOKENS, batch_size=7, shuffle=True)


def adamw(model):
    return optim.AdamW(optim.decay_groups(model, 0.05), lr=3e-3)


def sgd(model):
    return optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=0.01)


class Weighed(nn.CrossEntropyLoss):
    """Ignored labels, and classes of different weights."""

    def __init__(self):
        super().__init__(weight=np.array([1, 2, 1, 0.5, 3], np.float32), ignore_index=2, label_smoothing=0.1)


PLAIN = nn.CrossEntropyLoss

# name: (model and loader, criterion, optimizer, options of fit)
CASES = {
    "sgd": (images, PLAIN, sgd, {}),
    "adamw, everything": (images, lambda: PLAIN(ignore_index=2, label_smoothing=0.1), adamw,
                          dict(clip_norm=0.3, accumulate=2, ema=0.9, l1=1e-3)),
    "class weights": (lambda dtype: images(dtype, 0.2), Weighed, sgd, {}),
    "ranks without rows, accumulated": (lambda dtype: images(dtype, 0.3, n=15, batch_size=6), PLAIN, sgd,
                                        dict(accumulate=3, ema=0.5)),
    "prefetch": (lambda dtype: images(dtype, prefetch=2), PLAIN, sgd, dict(accumulate=2)),
    "sum": (lambda dtype: images(dtype, 0.2), lambda: PLAIN(reduction="sum"), lambda model: optim.SGD(
        model.parameters(), lr=1e-3), {}),
    "a list": (listed, PLAIN, sgd, {}),
    "gpt": (tokens, lambda: per_token, adamw, dict(metrics={}, clip_norm=1.0)),
}
ONLY_FLOAT32 = {"augmented": (lambda dtype: images(dtype, transform=RandomShift(1)), PLAIN, sgd, {})}


FLOAT32 = ("adamw, everything", "gpt", "augmented")  # the others in float64 alone


def run(name, dtype, build, criterion, optimizer, options):
    manual_seed(3)
    model, loader = build(dtype)
    if dtype == "float64":
        model.double()
    criterion, options = criterion(), dict(options)
    if dtype == "float64" and getattr(criterion, "weight", None) is not None:
        criterion.double()
    optimizer, l1 = optimizer(model), options.pop("l1", 0)
    if l1:
        options["penalty"] = lambda: l1 * optim.l1_penalty([model.head.weight])
    if "ema" in options:
        options["ema"] = optim.EMA(model, options["ema"])

    def evaluate(model):
        if name != "sgd":
            return {}
        x = IMAGES.astype(dtype)
        alone, shared = (predict(model, x, batch_size=7, shared=shared) for shared in (False, True))
        assert np.array_equal(alone, shared)
        return {"test_accuracy": accuracy(shared, LABELS)}

    rows = fit(model, loader, criterion, optimizer, 2, evaluate=evaluate, **options)
    found = {f"weights/{key}": t._data for key, t in model.state_dict().items()}
    for key in rows[0].keys() - {"seconds", "examples_per_second"}:
        found[f"rows/{key}"] = np.array([row[key] for row in rows])
    return {f"{name}/{dtype}/{key}": value for key, value in found.items()}


def long_run():
    """50 steps in float32, in which the ranks' weights could drift apart."""
    manual_seed(5)
    model = Net(0.3)
    loader = DataLoader(IMAGES.astype("float32"), LABELS, batch_size=13, shuffle=True)
    fit(model, loader, PLAIN(), adamw(model), 10, ema=optim.EMA(model, 0.9), clip_norm=0.5)
    return {f"long/{key}": t._data for key, t in model.state_dict().items()}


def own_loop():
    """The loop of docs/distributed.md, with an unsynchronised batch norm."""
    manual_seed(7 + distributed.rank)  # on purpose: broadcast makes them equal
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 5))
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    distributed.broadcast(model, optimizer)
    loader = DataLoader(IMAGES.astype("float32"), LABELS, batch_size=22, shuffle=True,
                        shard=(distributed.rank, distributed.size))
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = PLAIN()(model(x), y)
        (loss * len(y)).backward()
        (loss_sum,) = distributed.average_gradients(model, len(y), [loss.item() * len(y)])
        total += loss_sum
        optimizer.step()
    return {**{f"own/{key}": t._data for key, t in model.state_dict().items()}, "own/loss": np.array(total)}


if __name__ == "__main__":
    found = {}
    with eager():  # as several ranks run anyway
        for name, case in CASES.items():
            found |= run(name, "float64", *case)
        for name in FLOAT32:
            found |= run(name, "float32", *(CASES | ONLY_FLOAT32)[name])
        found |= long_run() | own_loop()
    np.savez(Path(sys.argv[1]) / f"{distributed.size}_{distributed.rank}.npz", **found)
