"""PyTorch's data sets, samplers and collation: batches, their order, and bad arguments."""

import collections

import numpy as np
import pytest

import nn
from tinygrad_like import Generator, Tensor, manual_seed
from tinygrad_like.data import (
    DataLoader,
    Dataset,
    RandomSampler,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)

X, Y = Tensor(np.arange(20, dtype=np.float32).reshape(10, 2)), Tensor(np.arange(10))


class Squares(Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"x": Tensor([float(i)]), "y": i * i, "name": f"n{i}", "pair": (i / 2, np.ones(2))}


def test_tensors_come_in_batches():
    loader = DataLoader(TensorDataset(X, Y), batch_size=4)
    assert [(x.shape, y.tolist()) for x, y in loader] == [((4, 2), [0, 1, 2, 3]), ((4, 2), [4, 5, 6, 7]),
                                                         ((2, 2), [8, 9])]
    assert len(loader) == 3 and len(DataLoader(TensorDataset(X), 4, drop_last=True)) == 2
    assert TensorDataset(X, Y)[3][1].item() == 3 and len(TensorDataset(X, Y)) == 10
    manual_seed(0)
    first, second = ([y.tolist() for _, y in DataLoader(TensorDataset(X, Y), 4, True)] for _ in range(2))
    assert first != second and sorted(sum(first, [])) == list(range(10))
    manual_seed(0)
    assert [y.tolist() for _, y in DataLoader(TensorDataset(X, Y), 4, shuffle=True)] == first


def test_nested_subsets_of_tensors_are_read_at_once(monkeypatch):
    parts = Subset(Subset(TensorDataset(X, Y), [9, 8, 7, 6, 5]), [0, 2, 4])
    monkeypatch.setattr(TensorDataset, "__getitem__", None)
    assert [y.tolist() for _, y in DataLoader(parts, batch_size=2)] == [[9, 7], [5]]


def test_examples_of_every_kind_are_collated():
    batch = next(iter(DataLoader(Squares(), batch_size=3, num_workers=2, pin_memory=True, persistent_workers=True)))
    assert batch["x"].shape == (3, 1) and batch["y"].tolist() == [0, 1, 4] and batch["name"] == ["n0", "n1", "n2"]
    assert batch["pair"][0].dtype == np.float32 and batch["pair"][1].shape == (3, 2)
    Pair = collections.namedtuple("Pair", "a b")
    assert default_collate([Pair(1, "x"), Pair(2, "y")]).a.tolist() == [1, 2]
    for batch, message in [([np.ones(2), np.ones(3)], "pad them, or pass collate_fn"),
                           ([object()], "an example is object"), ([(1, 2), (1,)], "different numbers of parts")]:
        with pytest.raises((TypeError, ValueError), match=message):
            default_collate(batch)


def test_collate_fn_may_pad():
    texts = [Tensor([1, 2, 3]), Tensor([4]), Tensor([5, 6])]
    loader = DataLoader(texts, batch_size=2, collate_fn=lambda batch: nn.utils.rnn.pad_sequence(batch, True))
    assert [x.tolist() for x in loader] == [[[1, 2, 3], [4, 0, 0]], [[5, 6]]]


def test_random_split_partitions_the_data():
    parts = random_split(TensorDataset(X, Y), [7, 3], generator=Generator().manual_seed(3))
    assert [len(p) for p in parts] == [7, 3] and sorted(parts[0].indices + parts[1].indices) == list(range(10))
    again = random_split(TensorDataset(X, Y), [7, 3], generator=Generator().manual_seed(3))
    assert again[0].indices == parts[0].indices
    assert [len(p) for p in random_split(range(11), [0.5, 0.25, 0.25])] == [6, 3, 2]
    with pytest.raises(ValueError, match="add up to the 10 examples"):
        random_split(TensorDataset(X), [7, 4])


def test_samplers_draw_their_distributions():
    manual_seed(2)
    assert sorted(RandomSampler(X)) == list(range(10))
    assert len(list(RandomSampler(X, replacement=True, num_samples=25))) == 25
    assert len(set(RandomSampler(X, num_samples=4))) == len(RandomSampler(X, num_samples=4)) == 4
    drawn = np.bincount(list(WeightedRandomSampler([1, 0, 3.0], 4000)), minlength=3)
    assert drawn[1] == 0 and abs(drawn[2] / drawn[0] - 3) < 0.4
    assert sorted(WeightedRandomSampler(Tensor([0.1, 0.0, 5.0]), 2, replacement=False)) == [0, 2]
    own = Generator().manual_seed(5)
    state = own.get_state()
    first = list(RandomSampler(X, generator=own))
    assert list(RandomSampler(X, generator=own.set_state(state))) == first and own.initial_seed() == 5
    assert own.seed() == own.initial_seed()
    for weights, n, replacement in ([-1, 2], 1, True), ([0, 0], 1, True), ([1, 0], 2, False), ([1], 0, True):
        with pytest.raises(ValueError, match="WeightedRandomSampler: "):
            WeightedRandomSampler(weights, n, replacement)
    for make in (lambda: TensorDataset(X, Y[:3]), lambda: TensorDataset(), lambda: RandomSampler(X, num_samples=-1),
                 lambda: Generator().manual_seed(-1)):
        with pytest.raises(ValueError):
            make()
    with pytest.raises(TypeError, match="takes a Generator or None"):
        list(RandomSampler(X, generator=3))


def test_loaders_take_samplers():
    loader = DataLoader(TensorDataset(X, Y), batch_size=2, sampler=[1, 4, 7])
    assert sorted(sum((y.tolist() for _, y in loader), [])) == [1, 4, 7] and len(loader) == 2
    assert [y.tolist() for _, y in DataLoader(TensorDataset(X, Y), 2, sampler=[1, 4, 7], drop_last=True)] == [[1, 4]]
    own = Generator().manual_seed(3)
    first = [y.tolist() for _, y in DataLoader(TensorDataset(X, Y), 4, True, generator=own)]
    assert [y.tolist() for _, y in DataLoader(TensorDataset(X, Y), 4, True, generator=own.manual_seed(3))] == first
    for options, message in [({"sampler": [1], "shuffle": True}, "pass only one"),
                             ({"batch_size": 0}, "batch_size=0 must be an integer of at least 1")]:
        with pytest.raises(ValueError, match=message):
            DataLoader(TensorDataset(X, Y), **options)
    for make, message in [(lambda: DataLoader(TensorDataset(X), 2, mix=len), "transform and mix are for arrays"),
                          (lambda: DataLoader(X, batch_sampler=[[1]]), "unknown argument 'batch_sampler'"),
                          (lambda: DataLoader(X.data, Y.data, batch_size=2, sampler=[1]), "TensorDataset"),
                          (lambda: DataLoader(X.data, worker=2), "unknown argument 'worker'")]:
        with pytest.raises(TypeError, match=message):
            make()
