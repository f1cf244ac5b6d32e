"""Gradients of ops across ranks, and messages between ranks; every rank asserts."""

import os

import numpy as np

import nn
import optim
from tinygrad_like import Tensor, capture, distributed, get_num_threads, ops, random
from tinygrad_like.data import DataLoader
from tinygrad_like.training import fit

rank, size = distributed.rank, distributed.size
rng = np.random.default_rng(rank)
together = np.random.default_rng(100)  # the same on all ranks
ROWS = {0: 3, 1: 2, 2: 0, 3: 4}  # of each rank; a rank without rows passes one that is ignored


def checked(f, *inputs, real=True):
    """First and second order of the sum over ranks of <f, cotangent>, against its central differences: every rank moves
    its inputs in a direction of its own, or those that it shares with the others in one."""
    shared = [False, *[True] * (len(inputs) - 1)]
    directions = [together.standard_normal(x.shape) if same else rng.standard_normal(x.shape) * real
                  for x, same in zip(inputs, shared, strict=True)]
    cotangent, probes = rng.standard_normal(f(*map(Tensor, inputs)).shape) * real, [
        rng.standard_normal(x.shape) * real for x in inputs]

    def value(step):
        y = f(*[Tensor(x + step * d) for x, d in zip(inputs, directions, strict=True)])
        return distributed.all_reduce((y._data * cotangent).sum())

    def gradients(step):
        xs = [Tensor(x + step * d, requires_grad=True) for x, d in zip(inputs, directions, strict=True)]
        return xs, (f(*xs) * cotangent).sum().gradient(*xs, create_graph=True)

    def along(gs):
        return distributed.all_reduce(sum((g._data * d).sum() for g, d in zip(gs, directions, strict=True)))

    def probed(step):
        return distributed.all_reduce(sum((g._data * p).sum() for g, p in zip(gradients(step)[1], probes, strict=True)))

    eps = 1e-6
    xs, gs = gradients(0.0)
    expected = (value(eps) - value(-eps)) / (2 * eps)
    assert abs(along(gs) - expected) <= 1e-7 * max(1, abs(expected)), (along(gs), expected)
    plain = (f(*xs) * cotangent).sum().gradient(*xs)  # the fused rule, where there is one
    for a, b in zip(plain, gs, strict=True):
        np.testing.assert_allclose(a._data, b._data, rtol=1e-9, atol=1e-11)
    second = sum((g * p).sum() for g, p in zip(gs, probes, strict=True)).gradient(*xs, materialize_grads=True)
    expected = (probed(eps) - probed(-eps)) / (2 * eps)
    assert abs(along(second) - expected) <= 1e-6 * max(1, abs(expected)), (along(second), expected)


def test_gradients_across_ranks_are_right():
    checked(lambda x: ops.all_sum(x) ** 2 * (rank + 1), rng.standard_normal((3, 4)))
    count = ROWS[rank]
    total, first = sum(ROWS[r] for r in range(size)), sum(ROWS[r] for r in range(rank))
    weight, bias, shift = together.standard_normal((3, 3))
    with random.of_rows(random.Rows(first, count, total)):
        for shape in ((3,), (3, 2, 3)):
            x = rng.standard_normal((max(count, 1), *shape)) * 2 + 3
            checked(lambda x, w, b: ops.sync_batch_norm(x, w, b, shift=shift, eps=1e-3), x, weight, bias,
                    real=count > 0)


def test_sync_batch_norm_equals_batch_norm_of_all_rows():
    """The kernel in float32, against batch_norm of all rows in one place, with large means."""
    x = together.standard_normal((7, 5, 6, 6)).astype(np.float32) * 3 + 100
    g, w, b = (together.standard_normal(s).astype(np.float32) for s in (x.shape, 5, 5))
    mine = random.Rows.of(rank, size, len(x)).part
    whole, part = nn.BatchNorm2d(5), nn.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(5)))
    for m in (whole, part[0]):
        m.weight.assign(w), m.bias.assign(b)
    for _ in range(2):
        xs = Tensor(x, requires_grad=True), Tensor(x[mine], requires_grad=True)
        ys = whole(xs[0]), part(xs[1])
        ys[0].backward(g), ys[1].backward(g[mine])
        np.testing.assert_allclose(ys[1]._data, ys[0]._data[mine], atol=2e-4)
        np.testing.assert_allclose(xs[1].grad._data, xs[0].grad._data[mine], atol=1e-5)
    for a, c in ((whole.weight, part[0].weight), (whole.bias, part[0].bias)):
        np.testing.assert_allclose(distributed.all_reduce(c.grad._data), a.grad._data, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(part[0].running_mean._data, whole.running_mean._data, rtol=1e-6)
    np.testing.assert_allclose(part[0].running_var._data, whole.running_var._data, rtol=1e-4)
    try:
        with random.of_rows(random.Rows(0, int(rank == 0), 1)):
            nn.SyncBatchNorm(2)(Tensor.ones(1, 2))
    except ValueError as error:
        assert "more than 1 value per channel on all ranks together, got 1" in str(error)
    else:
        raise AssertionError("one value has no variance")


def test_ranks_reduce_gather_and_broadcast():
    assert distributed.all_reduce(rank + 1) == size * (size + 1) // 2
    assert distributed.all_reduce(np.array([rank, -rank]), "max").tolist() == [size - 1, 0]
    assert distributed.all_reduce(np.float32(rank), "min") == 0 and distributed.all_reduce(2.5).dtype == np.float64
    assert np.array_equal(distributed.all_reduce(np.ones((2, 3), order="F")), np.full((2, 3), size))
    rows = distributed.all_gather(np.full((rank, 2), rank, np.int64))
    assert rows[:, 0].tolist() == [r for r in range(size) for _ in range(r)] and rows.shape[1] == 2
    assert distributed.from_rank_0(lambda: {"rank": rank}) == {"rank": 0}
    try:
        distributed.from_rank_0(lambda: [][1])
    except IndexError as error:
        assert "out of range" in str(error)
    else:
        raise AssertionError("rank 0's error is everyone's")


def test_16_bit_models_are_broadcast_and_averaged():
    for dtype in "float16", "bfloat16":
        model, x = nn.Linear(3, 2).to(dtype), Tensor([1.5], dtype=dtype)
        model.weight.assign(np.full((2, 3), float(rank)))
        distributed.broadcast(model)
        assert model.weight.tolist() == [[0] * 3] * 2
        model(Tensor.full((1, 3), rank + 1.0, dtype=dtype)).sum().backward()
        distributed.average_gradients(model, 1)
        assert model.weight.grad.dtype == dtype
        assert model.weight.grad.tolist() == (Tensor.full((2, 3), (size + 1) / 2, dtype=dtype)).tolist()
        assert (distributed.all_gather(x) == 1.5).all() and distributed.all_reduce(x).dtype == dtype
        assert distributed.all_reduce(x) == ops.all_sum(x).numpy() == 1.5 * size


def test_gradients_are_means_over_all_labels():
    """Counts differ, one rank lacks a gradient, and no rank uses the last parameter; without counts, sums."""
    model = nn.ModuleDict({name: nn.Linear(2, 1, bias=False) for name in ("all", "first", "none")})
    model.double()
    distributed.broadcast(model)
    for count, expected in ((rank, sum(range(size)) or 1), (None, 1)):
        for _ in range(2):
            for p in model.parameters():
                p.grad = None
            model["all"].weight.grad = Tensor([[1.0, rank]], dtype=np.float64)
            if rank == 0:
                model["first"].weight.grad = Tensor([[5.0, 6.0]], dtype=np.float64)
            more = distributed.average_gradients(model, count, [1.0, rank])
            assert more.tolist() == [size, sum(range(size))]
            np.testing.assert_allclose(model["all"].weight.grad._data, [[size / expected, sum(range(size)) / expected]])
            np.testing.assert_allclose(model["first"].weight.grad._data, [[5.0 / expected, 6.0 / expected]])
            assert model["none"].weight.grad is None
    model["all"].weight.grad = Tensor([[1.0, 1.0]], dtype=np.float64)
    distributed.average_gradients(model, 0)
    assert model["all"].weight.grad.tolist() == [[0, 0]]  # no label counts anywhere


IMAGES, LABELS = together.standard_normal((33, 1, 6, 6)).astype(np.float32), together.integers(0, 4, 33)


def test_sync_batch_norm_works_if_a_rank_has_no_rows():
    x = together.standard_normal((6, 3, 4)).astype(np.float32)
    whole = Tensor(x, requires_grad=True)
    expected = ops.batch_norm(whole)
    (expected * expected * expected).sum().backward()
    part = Tensor(x if rank == 0 else x[:0], requires_grad=True)
    found = ops.sync_batch_norm(part)
    (found * found * found).sum().backward()
    assert found.shape == part.shape == part.grad.shape
    if rank == 0:
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), atol=1e-5)
        np.testing.assert_allclose(part.grad.numpy(), whole.grad.numpy(), atol=1e-4)


def test_with_several_ranks_functions_run_without_capture():
    function = capture(lambda x: ops.all_sum(x * 2), strict=False)
    for i in range(4):
        assert function(Tensor([float(rank + i)])).item() == sum(2.0 * (r + i) for r in range(size))
    assert not function.programs and "several ranks" in function.gave_up


def test_ranks_that_disagree_raise_before_the_first_step():
    """On all ranks; the error names the first difference."""
    last = rank == size - 1

    def message(lr=0.1, epochs=1, batch_size=10, labels=LABELS, loss=nn.CrossEntropyLoss):
        model = nn.Sequential(nn.Flatten(), nn.Linear(36, 4))
        try:
            fit(model, DataLoader(IMAGES, labels, batch_size=batch_size), loss(), optim.SGD(model.parameters(), lr=lr),
                epochs)
        except ValueError as error:
            return str(error)
        return ""

    assert message() == ""
    for options, expected in (
            ({"lr": 0.2}, "the optimizer: rank 0 has"), ({"epochs": 2}, "the options: rank 0 has 'epochs=1', rank"),
            ({"batch_size": 5}, "the data: rank 0 has '4 batches', rank"), ({"loss": nn.NLLLoss}, "the loss: rank 0 "),
            ({"labels": LABELS[::-1]}, "the data: rank 0 has 'array (33,) int64, checksum")):
        assert message(**options if last else {}).startswith(
            f"the ranks of this job do not agree on {expected}"), (options, message(**options if last else {}))


def test_each_rank_has_its_share_of_the_cores():
    if "NUMBA_NUM_THREADS" not in os.environ:
        assert get_num_threads() == max(1, len(os.sched_getaffinity(0)) // size)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            if rank == 0:
                print(f"{name}: passed")
