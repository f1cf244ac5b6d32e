"""The time that augmentation adds to a training step of ResNet-8: python -m benchmarks.augment

Batches of 64 images of 3x32x32, with RandAugment(2, 9) and CutMix, and with neither. The loaders take turns; figures
are medians over rounds.
"""

import argparse
import statistics
import time

import numpy as np

import nn
import optim
from nn.models import resnet8
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import CutMix, DataLoader, RandAugment

ROUNDS, BATCHES = 9, 24


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    manual_seed(0)
    rng = np.random.default_rng(0)
    images = rng.random((64 * BATCHES, 3, 32, 32), np.float32)
    labels = rng.integers(0, 10, len(images))
    model, criterion = resnet8(), nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    plain = {"batch_size": 64, "shuffle": True}
    augmented = {**plain, "transform": RandAugment(n=2, magnitude=9), "mix": CutMix(num_classes=10)}
    loaders = {"plain": DataLoader(images, labels, **plain), "augmented": DataLoader(images, labels, **augmented),
               "augmented, prefetch=2": DataLoader(images, labels, **augmented, prefetch=2)}  # fmt: skip

    def epoch(loader) -> float:
        """Milliseconds per step."""
        start = time.perf_counter()
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(Tensor(x)), Tensor(y)).backward()
            optimizer.step()
        return (time.perf_counter() - start) / BATCHES * 1e3

    found: dict[str, list[float]] = {name: [] for name in loaders}
    for _ in range(ROUNDS + 1):
        for name, loader in loaders.items():
            found[name].append(epoch(loader))
    base = found["plain"][1:]
    for name, ms in found.items():
        ratio = statistics.median(m / b for m, b in zip(ms[1:], base, strict=True))
        print(f"{name:24} {statistics.median(ms[1:]):6.2f} ms per step, {ratio - 1:+.1%}")


if __name__ == "__main__":
    main()
