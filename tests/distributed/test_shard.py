"""Without MPI: parts of batches, the noise of their rows, and one process, which is unaffected."""

import copy

import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor, distributed, get_rng_state, manual_seed, ops, random
from tinygrad_like.data import (
    Compose,
    DataLoader,
    GaussianNoise,
    MixUp,
    RandAugment,
    RandomCrop,
    RandomShift,
    StandardScaler,
)
from tinygrad_like.training import train_epoch

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((23, 1, 4, 4)).astype(np.float32), np.arange(23) % 3


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("options", [
    {}, {"drop_last": True}, {"prefetch": 2}, {"transform": RandomShift(1)}, {"mix": MixUp(3), "prefetch": 1},
    {"transform": Compose([RandomCrop(4, padding=1), RandAugment(), GaussianNoise(p=0.5), StandardScaler().fit(X)])},
    {"transform": lambda images, generator: images + generator.random(images.shape, np.float32)},
])
def test_parts_make_up_the_batches_in_order(size, options):
    """Also if the last batch has fewer rows than there are ranks."""
    def batches(shard):
        manual_seed(4)
        return list(DataLoader(X, Y, batch_size=10, shuffle=True, shard=shard, **options))

    whole, parts = batches(None), [batches((rank, size)) for rank in range(size)]
    for i, batch in enumerate(whole):
        for k, expected in enumerate(batch):
            mine = [part[i][k].numpy() for part in parts]
            for rank, part in enumerate(mine):
                assert np.array_equal(part, expected.numpy()[rank::size])
            assert max(map(len, mine)) - min(map(len, mine)) <= 1
    assert {len(part) for part in parts} == {len(whole)}


@pytest.mark.parametrize("shard", [(2, 2), (-1, 2), (0, 0)])
def test_a_rank_out_of_range_raises(shard):
    with pytest.raises(ValueError, match=r"DataLoader: shard=.* must be \(rank, size\)"):
        DataLoader(X, batch_size=2, shard=shard)


def test_random_rows_are_the_current_batchs():
    loader = DataLoader(X, batch_size=10, shard=(1, 4))
    seen = [random.rows for _ in loader]
    assert [(r.first, r.count, r.total, r.step) for r in seen] == [(1, 3, 10, 4), (1, 3, 10, 4), (1, 1, 3, 4)]
    assert random.rows is None


NOISE = {
    "dropout": lambda x: ops.dropout(x, 0.4),
    "dropout1d": lambda x: ops.dropout1d(x, 0.4),
    "gaussian_dropout": lambda x: ops.gaussian_dropout(x, 0.4),
    "rows folded into others": lambda x: ops.dropout(x.reshape(-1, x.shape[-1]), 0.4).reshape(*x.shape),
    "attention": lambda x: ops.scaled_dot_product_attention(x, x, x, dropout_p=0.4),
    "attention of heads": lambda x: ops.scaled_dot_product_attention(
        *[x.reshape(x.shape[0], 6, 2, 4).transpose(1, 2)] * 3, dropout_p=0.4),
    "self_attention": lambda x: ops.self_attention(ops.cat(x, x, x, axis=-1), num_heads=2, dropout_p=0.4),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NOISE)
def test_a_parts_noise_is_that_of_its_rows(name, dtype):
    """All parts leave the generator in the same state as the whole, even a part without rows."""
    x = rng.standard_normal((7, 6, 8)).astype(dtype)

    def run(rows, x):
        manual_seed(9)
        with random.of_rows(rows):
            y = NOISE[name](Tensor(x))
        return y.detach().numpy(), get_rng_state()

    whole, state = run(None, x)
    for size in (2, 3, 9):
        parts = [random.Rows.of(rank, size, 7) for rank in range(size)]
        found = [run(rows, x[rows.part] if rows.count else x[:1]) for rows in parts]
        for (y, _), rows in zip(found, parts, strict=True):
            if rows.count:
                np.testing.assert_allclose(y, whole[rows.part], rtol=1e-5, atol=1e-6)
        assert all(s == state for _, s in found)


def test_all_ranks_drop_the_same_weights():
    layer = nn.DropConnect(8, 8, p=0.5)
    x = Tensor.ones(4, 8)
    manual_seed(1)
    whole = layer(x).detach().numpy()
    manual_seed(1)
    with random.of_rows(random.Rows(1, 4, 8, 2)):
        assert np.array_equal(layer(x).detach().numpy(), whole)


def test_one_process_is_unaffected():
    assert (distributed.rank, distributed.size) == (0, 1) and distributed.init() is distributed.init()
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    synced = nn.convert_sync_batchnorm(copy.deepcopy(model))
    assert isinstance(synced[2], nn.SyncBatchNorm) and synced.state_dict().keys() == model.state_dict().keys()
    for m in (model, synced):
        distributed.broadcast(m)
        train_epoch(m, DataLoader(X, Y, batch_size=9), nn.CrossEntropyLoss(), optim.SGD(m.parameters(), lr=0.1))
    for a, b in zip(model.state_dict().values(), synced.state_dict().values(), strict=True):
        np.testing.assert_allclose(a._data, b._data, rtol=1e-5, atol=1e-6)
    assert distributed.all_reduce([1, 2], "min").tolist() == [1, 2] and distributed.from_rank_0(lambda: 5) == 5
    assert distributed.all_gather(X) is not X
    with pytest.raises(ValueError, match="op='mean' must be"):
        distributed.all_reduce(1.0, "mean")


def test_average_gradients_divides_by_the_count():
    p = nn.Parameter([1.0, 2.0])
    model = nn.Module()
    model.p = p
    p.grad = Tensor([6.0, 9.0])
    assert distributed.average_gradients(model, 3, [7]).tolist() == [7] and p.grad.tolist() == [2, 3]
    distributed.average_gradients(model)
    assert p.grad.tolist() == [2, 3]
    distributed.average_gradients(model, 0)
    assert p.grad.tolist() == [0, 0]
    for count in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="average_gradients: count="):
            distributed.average_gradients(model, count)
