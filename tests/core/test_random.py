"""Random numbers depend on a seed, on the number of earlier draws, and on positions, and on nothing else."""

import os

import numpy as np
import pytest

import tinygrad_like as tg
from tinygrad_like import Tensor, manual_seed, random
from tinygrad_like.core.listener import Listener
from tinygrad_like.transforms.switches import after

DRAWS = {
    "rand": lambda g: Tensor.rand(40, generator=g), "randn": lambda g: Tensor.randn(3, 100, generator=g),
    "float64": lambda g: Tensor.randn(5, dtype="float64", generator=g), "float16": lambda g: tg.rand(
        5, dtype="float16", generator=g),
    "randint": lambda g: Tensor.randint(9, high=700, generator=g), "randperm": lambda g: tg.randperm(20, generator=g),
    "normal": lambda g: tg.normal(1.0, 2.0, (3,), generator=g),
    "of means": lambda g: tg.normal(tg.zeros(3), 1.0, generator=g),
    "bernoulli": lambda g: tg.bernoulli(tg.full((40,), 0.5), generator=g),
    "multinomial": lambda g: tg.multinomial(tg.ones(50), 20, generator=g),
    "with replacement": lambda g: tg.multinomial(tg.ones(50), 20, replacement=True, generator=g),
    **{name: lambda g, name=name: getattr(tg.zeros(40), name)(generator=g)
       for name in ("normal_", "uniform_", "bernoulli_", "exponential_")},
}
every_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


@every_draw
def test_a_draw_depends_on_the_seed_and_on_the_number_of_earlier_draws(draw):
    own, package = tg.Generator().manual_seed(3), tg.get_rng_state()
    found = [draw(own).tolist() for _ in range(4)]
    assert own.get_state() == {"seed": 3, "position": 4} and own.initial_seed() == 3
    assert found[0] != found[1] and tg.get_rng_state() == package
    own.set_state({"seed": 3, "position": 2})
    assert draw(own).tolist() == found[2]
    assert draw(tg.Generator().manual_seed(4)).tolist() != found[0]
    draw(None)
    assert tg.get_rng_state() != package
    with pytest.raises(TypeError, match="generator: takes a Generator or None, not a NumPy generator, got int"):
        draw(3)


@every_draw
def test_listeners_change_no_draw(draw):
    own = tg.Generator().manual_seed(3)
    right = draw(own).tolist()
    for listener in Listener(), after(lambda *of: None):
        with listener:
            assert draw(own.manual_seed(3)).tolist() == right


def test_a_seed_is_an_integer_below_2_to_the_64():
    for seed in (0, 1, 2**63, 2**64 - 1, np.int64(5)):
        assert tg.Generator().manual_seed(seed).initial_seed() == seed
    for seed in (-1, 2**64, 1.0, "a", None):
        with pytest.raises(ValueError, match="manual_seed: a seed must be an integer from 0 to 2.64 - 1"):
            tg.Generator().manual_seed(seed)
    assert tg.Generator().seed() != tg.Generator().seed()
    own = tg.Generator().manual_seed(3)  # the same numbers in all versions
    assert random.bits(np.arange(3), random.draw(own)).tolist() == [3726176337, 819103089, 3796527549]


@pytest.mark.parametrize("seeds, positions", [
    (np.zeros(1 << 14), np.arange(1 << 14)), (np.arange(1 << 14), np.zeros(1 << 14))], ids=["positions", "seeds"])
def test_draws_are_independent(seeds, positions):
    """Of consecutive draws and of consecutive seeds: sums of independent terms are normal."""
    x = np.empty((1 << 14, 8))
    for i, state in enumerate(np.stack([seeds, positions], 1).astype(np.uint64)):
        x[i] = random.bits(np.arange(8), np.array(random._take(state, 0, 0)))
    x = (x / 2**32 - 0.5) * 12**0.5
    z = [x.sum(0) / 2**7, ((x * x - 1) / 0.8**0.5).sum(0) / 2**7]
    z += [(np.roll(x, lag, 0).T @ x).ravel() / 2**7 for lag in (1, 2, 3, 5, 8, 64, 256, 4096)]
    z.append((x.T @ x)[np.triu_indices(8, 1)] / 2**7)
    assert np.abs(np.concatenate(z)).max() < 4.7 and abs(np.concatenate(z).std() - 1) < 0.12


def test_threads_share_a_generator(in_threads):
    """No two draws have one key."""
    own, found = tg.Generator(), []
    in_threads(lambda thread: found.extend([random.draw(own).item() for _ in range(2000)]))
    assert len(set(found)) == 8000 and own.get_state()["position"] == 8000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_process_continues_with_the_same_numbers():
    manual_seed(1)
    read, write = os.pipe()
    if not (child := os.fork()):
        os.write(write, random.bits(np.arange(4), random.draw()).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 16) == random.bits(np.arange(4), random.draw()).tobytes()
    os.close(read), os.close(write)


def test_mean_and_std_may_be_tensors():
    manual_seed(0)
    x = Tensor.normal(2000, mean=Tensor(5.0), std=Tensor(0.1))
    manual_seed(0)
    np.testing.assert_allclose(x.numpy(), Tensor.normal(2000, mean=5.0, std=0.1).numpy(), rtol=1e-6)
