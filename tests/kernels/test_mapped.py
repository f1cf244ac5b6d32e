"""Arrays made of others' entries along each axis, and the adjoint, against their definitions in NumPy."""

import inspect

import numpy as np
import pytest

from tinygrad_like.kernels import mapped as k
from tinygrad_like.ops.padding import Map, map_of, mapped, mapped_vjp


@pytest.mark.parametrize("seed", range(60))
def test_kernels_do_what_their_definitions_say(seed):
    rng = np.random.default_rng(seed)
    maps = []
    for _ in range(rng.integers(1, 5)):
        n = int(rng.choice([1, 2, 5, 17, 33]))
        places = [np.pad(np.arange(n), rng.integers(0, 40, 2), mode=rng.choice(["reflect", "edge", "wrap"])),
                  rng.integers(0, n, rng.integers(1, 40)), np.roll(np.arange(n), 3), np.arange(n)[::-1]]
        maps.append(n if rng.random() < 0.4 else map_of(places[rng.integers(4)], n))
    x = rng.standard_normal([m if type(m) is int else m.size for m in maps], np.float32)
    g = rng.standard_normal([m if type(m) is int else len(m.places) for m in maps], np.float32)
    grouped = k._grouped(maps) is None
    for kernel, definition, given in ((k.mapped, mapped, x), (k.mapped_vjp, mapped_vjp, g)):
        y = kernel(given, tuple(maps))
        if grouped:
            assert y is NotImplemented
        else:
            expected = inspect.unwrap(definition)(given.astype(np.float64), tuple(maps))
            np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("field", ["places", "runs", "begins", "named"])
def test_a_map_of_what_is_not_there_is_an_error(field):
    x = np.ones((4, 4), np.float32)
    good = map_of(np.array([0, 1, 2, 3, 2]), 4)
    for i in range(getattr(good, field).size):
        for wrong in -7, 7:
            bad = getattr(good, field).copy()
            bad[i] = wrong
            maps: tuple[Map, Map] = (good._replace(**{field: bad}),) * 2
            if field in ("places", "runs"):
                with pytest.raises(ValueError, match="do not fit"):
                    k.mapped(x, maps)
            with pytest.raises(ValueError, match="do not fit"):
                k.mapped_vjp(np.ones((5, 5), np.float32), maps)
