"""Every op, captured: forward and backward return eager code's results, for new numbers too."""

import numpy as np
import pytest

from tests.ops.samples import CASES
from tinygrad_like import Tensor, capture, ops

# Refused, since these read values or call NumPy.
REFUSED = {"x[LABELS._data % 3]", "det", "det of singular matrices"}


def leaf(x):
    if not isinstance(x, Tensor | np.ndarray):
        return x
    x = x.numpy() if isinstance(x, Tensor) else x
    return Tensor(x.astype(np.float32), requires_grad=True) if x.dtype.kind == "f" else Tensor(x)


SEVERAL = 8  # ops in a program: to record and compile one takes the same time for all of them
CHOSEN = [case for case in CASES if case not in REFUSED]


@pytest.mark.parametrize("some", [CHOSEN[i:i + SEVERAL] for i in range(0, len(CHOSEN), SEVERAL)], ids="; ".join)
def test_a_replayed_op_equals_the_eager_one(some):
    calls = []
    for case in some:
        f, *inputs = CASES[case]
        calls.append((f, [leaf(x) for x in inputs]))
    leaves = [x for _, inputs in calls for x in inputs if isinstance(x, Tensor) and x.requires_grad]

    def step():
        for x in leaves:
            x.grad = None
        losses = []
        for f, inputs in calls:
            results = f(*inputs)
            results = results if isinstance(results, tuple | list) else [results]
            losses.append(sum([(y * y).sum() for y in results if y.requires_grad]))
            losses[-1].backward()
        return losses

    def found(function):
        return [y.detach().numpy() for y in function()] + [np.array(x.grad.numpy()) for x in leaves
                                                           if x.grad is not None]

    replayed = capture(step)
    for _ in range(4):
        found(replayed)
    assert len(replayed.programs) == 1
    for x in leaves:
        x.data *= np.float32(1.003)  # the order stays
    for a, b in zip(found(replayed), found(step), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * np.abs(b).max(initial=1e-2))


@pytest.mark.parametrize("name", ["hypot", "atan2", "logaddexp", "fmod", "mod", "erfinv", "exp2", "lerp", "maximum",
                                  "minimum", "clip", "prod"])
@pytest.mark.parametrize("shape", [(100, 90), (5, 3)])
def test_replays_have_the_same_bits(name, shape):
    """Large enough for kernels, in the rules too, or not; zeros, of both signs, only in a replay."""
    op, rng = getattr(ops, name), np.random.default_rng(0)
    options = {"clip": dict(min=0, max=1), "prod": dict(axis=1)}.get(name, {})

    def step(*xs):
        y = op(*xs, **options)
        return y, *(y * y).sum().gradient(*xs)

    captured = capture(step, fuse=False)
    for i in range(5):
        xs = [leaf(rng.uniform(-0.9, 0.9, shape) * (i < 4 or name[-3:] == "mod")) for _ in op.inputs]
        for ours, plain in zip(captured(*xs), step(*xs), strict=True):
            bits = [np.where(np.isnan(t.detach()), np.float32(7), t.detach()).view(np.int32) for t in (ours, plain)]
            np.testing.assert_array_equal(*bits)  # a NaN may be of either sign
    assert len(captured.programs) == 1
