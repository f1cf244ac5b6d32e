"""Test accuracy of nets trained here and in PyTorch, with the same layers, initial weights, batches and recipe.

    python -m benchmarks.trained                                     the embedded digits
    python -m benchmarks.trained digits mnist fashion --data-dir DIR  DIR/mnist and DIR/fashion hold the published files

Both nets take a step on each batch. They differ by rounding, which training amplifies, so means over seeds are
compared. It prints a table for docs/accuracy.md, and fails if the means differ by more than 0.2 points.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import nn
import optim
from tinygrad_like import Tensor, capture, manual_seed, set_num_threads
from tinygrad_like.data import DataLoader, load_digits, load_fashion_mnist, load_mnist, stratified_split
from tinygrad_like.training import accuracy, predict

ALLOWED = 0.2  # points


class Recipe(NamedTuple):
    """AdamW with weight decay 0.01 and a one-cycle schedule."""

    epochs: int
    batch_size: int
    lr: float


def mlp(nn: Any, pixels: int) -> Any:
    """An MLP of either library; `nn` is ours or torch.nn, with the same names."""
    return nn.Sequential(nn.Flatten(), nn.Linear(pixels**2, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def cnn(nn: Any, pixels: int) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * (pixels // 4)**2, 10))


NETS = {"mlp": mlp, "cnn": cnn}
RECIPES = {("digits", "mlp"): Recipe(30, 64, 3e-3), ("digits", "cnn"): Recipe(20, 64, 3e-3),
           ("mnist", "mlp"): Recipe(5, 128, 2e-3), ("mnist", "cnn"): Recipe(2, 128, 3e-3),
           ("fashion", "mlp"): Recipe(5, 128, 2e-3), ("fashion", "cnn"): Recipe(2, 128, 3e-3)}


def load(data: str, folder: Path | None, seed: int) -> tuple[np.ndarray, ...]:
    """Training and test images and labels; the seed selects the split of the digits."""
    if data == "digits":
        x, y = load_digits()
        train, test = stratified_split(y, 0.2, seed)
        return x[train], y[train], x[test], y[test]
    return {"mnist": load_mnist, "fashion": load_fashion_mnist}[data](None if folder is None else folder / data)


def train(net: Any, recipe: Recipe, arrays: tuple[np.ndarray, ...], seed: int) -> tuple[float, float]:
    """The test accuracy of our net and of PyTorch's, in percent."""
    x, y, x_test, y_test = arrays
    manual_seed(seed)
    ours, theirs = net(nn, x.shape[-1]), net(torch.nn, x.shape[-1])
    theirs.load_state_dict({name: torch.tensor(t.numpy()) for name, t in ours.state_dict().items()})
    loader = DataLoader(x, y, batch_size=recipe.batch_size, shuffle=True)
    steps = recipe.epochs * len(loader)
    our_optimizer = optim.AdamW(ours.parameters(), lr=optim.schedule.one_cycle(recipe.lr, steps), weight_decay=0.01)
    their_optimizer = torch.optim.AdamW(theirs.parameters(), lr=recipe.lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(their_optimizer, recipe.lr, steps, cycle_momentum=False)
    our_loss, their_loss = nn.CrossEntropyLoss(), torch.nn.CrossEntropyLoss()

    @capture
    def step(images: Tensor, labels: Tensor) -> None:
        our_optimizer.zero_grad()
        our_loss(ours(images), labels).backward()
        our_optimizer.step()

    for _ in range(recipe.epochs):
        for images, labels in loader:
            step(images, labels)
            their_optimizer.zero_grad()
            their_loss(theirs(torch.tensor(images.numpy())), torch.tensor(labels.numpy())).backward()
            their_optimizer.step()
            schedule.step()
    theirs.eval()
    with torch.no_grad():
        scores = [theirs(torch.from_numpy(x_test[i:i + 1000])).numpy() for i in range(0, len(x_test), 1000)]
    return 100 * accuracy(predict(ours, x_test), y_test), 100 * accuracy(np.concatenate(scores), y_test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["digits"], help="digits, mnist, fashion (default: digits)")
    parser.add_argument("--nets", nargs="+", choices=tuple(NETS), default=list(NETS), help="(default: both)")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (default: 3)")
    parser.add_argument("--data-dir", type=Path, help="folder with mnist/ and fashion/; by default they are "
                                                      "downloaded to your cache folder")
    parser.add_argument("--limit", type=int, help="train only on this many images")
    parser.add_argument("--threads", type=int, help="threads of both libraries; 1 on a busy machine (default: all)")
    args = parser.parse_args()
    if args.threads is not None:
        set_num_threads(args.threads)
        torch.set_num_threads(args.threads)
    if unknown := set(args.data) - {data for data, _ in RECIPES}:
        parser.error(f"unknown data set {', '.join(unknown)}")
    print("| data | net | epochs | ours, % | PyTorch, % | difference of the means |\n" + "| --- " * 6 + "|")
    worst = 0.0
    for data, name in [(data, name) for data in args.data for name in args.nets]:
        found = []
        for seed in range(args.seeds):
            x, y, *test = load(data, args.data_dir, seed)
            found.append(train(NETS[name], RECIPES[data, name], (x[:args.limit], y[:args.limit], *test), seed))
        ours, theirs = np.mean(found, axis=0)
        worst = max(worst, abs(ours - theirs))
        shown = (f"{mean:.2f} ({', '.join(f'{run[i]:.2f}' for run in found)})" for i, mean in enumerate((ours, theirs)))
        print(f"| {data} | {name} | {RECIPES[data, name].epochs} | {' | '.join(shown)} | {ours - theirs:+.2f} |",
              flush=True)
    if worst > ALLOWED:
        sys.exit(f"the means of a row differ by {worst:.2f} points, more than {ALLOWED}")


if __name__ == "__main__":
    main()
