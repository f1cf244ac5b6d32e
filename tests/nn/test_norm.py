
import numpy as np
import pytest

import nn
from nn.norm import activated_sum
from tinygrad_like import Tensor, capture, no_grad, ops

rng = np.random.default_rng(0)


def some(*shape):
    return Tensor(rng.standard_normal(shape).astype(np.float32))


def statistics(layer):
    return [b.numpy().copy() for b in (layer.running_mean, layer.running_var, layer.num_batches_tracked)]


def drawn(layer):
    """The layer with random parameters, running mean and variance."""
    for module in layer.modules():
        for name, t in (*module._own_parameters(), *module._own_buffers()):
            if t.is_floating_point():
                t.assign(rng.uniform(0.5, 2, t.shape).astype(t.detach().numpy().dtype) * (1 if "var" in name else -1))
    return layer


# Layer norm and its relatives -----------------------------------------------------------------------------------------


def test_layer_norm_is_equation_7_41():
    layer = drawn(nn.LayerNorm(6))
    z = some(4, 6)
    for row, y in zip(z.detach().numpy(), layer(z).detach().numpy(), strict=True):
        mu = row.sum() / 6
        sigma = np.sqrt(((row - mu) ** 2).sum() / 6)
        np.testing.assert_allclose(y, layer.bias._data + layer.weight._data * (row - mu) / sigma, rtol=1e-4)


@pytest.mark.parametrize("a", [0.01, 3.0, 1000.0])
@pytest.mark.parametrize("norm", [nn.LayerNorm, nn.RMSNorm, nn.BatchNorm1d, lambda n: nn.GroupNorm(2, n)])
def test_the_scale_of_the_weights_before_a_norm_changes_nothing(norm, a):
    """LN(MM_{aW, ab}(z)) = LN(MM_{W, b}(z)) (7.42-7.47), here with eps = 0; and so the gradient is orthogonal to W."""
    mm, ln, z = nn.Linear(5, 8), norm(8), some(16, 5)
    ln.eps = 0.0
    w, b = mm.weight.clone().detach(), mm.bias.clone().detach()

    def f(a):
        return ln(ops.linear(z, a * w, a * b))

    np.testing.assert_allclose(f(a).detach().numpy(), f(1.0).detach().numpy(), rtol=1e-4, atol=1e-5)
    (ln(mm(z)) * some(16, 8)).sum().backward()
    along = (mm.weight.grad * mm.weight).sum().item() + (mm.bias.grad * mm.bias).sum().item()
    assert abs(along) < 1e-4 * np.abs(mm.weight.grad.numpy()).sum()


# Batch norm -----------------------------------------------------------------------------------------------------------


def test_running_statistics_follow_their_formula():
    layer, x = nn.BatchNorm1d(3, momentum=0.25), some(8, 3)
    layer(x)
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.25 * x.numpy().mean(0), rtol=1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), 0.75 + 0.25 * x.numpy().var(0, ddof=1), rtol=1e-5)
    before = statistics(layer)
    layer.eval()
    y = layer(x[:1])
    expected = (x.numpy()[:1] - before[0]) / np.sqrt(before[1] + layer.eps)
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-5)
    assert all(np.array_equal(a, b) for a, b in zip(before, statistics(layer), strict=True))
    layer.reset_running_stats()
    assert [s.tolist() for s in statistics(layer)] == [[0, 0, 0], [1, 1, 1], 0]


@pytest.mark.needs("kernels")
def test_backward_notices_that_a_later_forward_changed_the_statistics():
    layer, x = nn.BatchNorm1d(3).eval(), some(8, 3).requires_grad_()
    y = layer(x)
    layer.train()(x)
    with pytest.raises(RuntimeError, match="batch_norm .* was changed in place"):
        y.sum().backward()


def ops_of(y):
    names, nodes = [], [y.node]
    while nodes:
        node = nodes.pop()
        if hasattr(node, "op"):
            names.append(node.op.name)
            nodes += [p for p in node.parents if p is not None]
    return names


@pytest.mark.needs("kernels")
def test_the_end_of_a_residual_block_is_one_op():
    x, skip = some(4, 3, 5, 5).requires_grad_(), some(4, 3, 5, 5)
    norm = nn.BatchNorm2d(3)
    y = activated_sum(norm, nn.ReLU(), x, skip)
    assert ops_of(y) == ["batch_norm_relu"]
    expected = nn.BatchNorm2d(3)(x) + skip
    np.testing.assert_allclose(y.detach().numpy(), expected.relu().detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(activated_sum(nn.BatchNorm2d(3), nn.Tanh(), x, skip)._data, expected.tanh()._data,
                               atol=1e-6)
    np.testing.assert_array_equal(activated_sum(nn.Identity(), nn.ReLU(), x, skip)._data, (x + skip).relu()._data)


def test_frozen_batch_norm_keeps_its_statistics_in_training():
    model, x = drawn(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))), some(8, 4)
    assert nn.freeze_batch_norm(model) is model
    before, expected = statistics(model[1]), model.eval()(x).detach().numpy()
    y = model.train()(x)
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    assert all(np.array_equal(a, b) for a, b in zip(before, statistics(model[1]), strict=True))
    y.sum().backward()
    assert model[1].weight.grad is not None and "frozen=True" in repr(model[1])
    nn.freeze_batch_norm(model, False)(x)
    assert not np.array_equal(before[0], model[1].running_mean.numpy())


def test_reestimation_computes_the_statistics_of_the_whole_data_set():
    x = 3 * some(50, 4, 2, 3).numpy() + np.linspace(0, 1e4, 50, dtype=np.float32)[:, None, None, None]
    model = nn.Sequential(nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(24, 2), nn.BatchNorm1d(2)).train()
    model[3].eval()
    batches = [(Tensor(part), "labels") for part in np.split(x, [7, 20, 43])]
    assert nn.reestimate_batch_norm(model, batches) is model
    first = model[0]
    np.testing.assert_allclose(first.running_mean.numpy(), x.mean((0, 2, 3), dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(first.running_var.numpy(), x.astype(np.float64).var((0, 2, 3), ddof=1), rtol=1e-5)
    assert model[4].num_batches_tracked.item() == 4 and model.training and not model[3].training
    assert all(module._hooks is None for module in model.modules())
    before = statistics(first)
    frozen = nn.BatchNorm1d(2)
    frozen.running_mean.data = np.broadcast_to(np.float32(0), 2)
    with pytest.raises(ValueError, match="running statistics: their memory is read-only"):
        frozen(Tensor.ones(3, 2))
    with pytest.raises(ValueError, match="reestimate_batch_norm: there are no batches"):
        nn.reestimate_batch_norm(model, iter(()))
    with pytest.raises(ValueError, match="reestimate_batch_norm: this Linear has no BatchNorm with running statistics"):
        nn.reestimate_batch_norm(nn.Linear(1, 1), batches)
    with pytest.raises(ValueError, match="BatchNorm2d: expected"):
        nn.reestimate_batch_norm(model, [Tensor.ones(2, 5)])
    assert all(np.array_equal(a, b) for a, b in zip(before, statistics(first), strict=True)) and model.training


@pytest.mark.parametrize("bias", [True, False])
def test_folded_equals_unfolded_in_evaluation(bias):
    dense = nn.Sequential(nn.Linear(4, 6, bias=bias), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3, bias=bias),
                          nn.BatchNorm1d(3, affine=False))
    images = nn.Sequential(nn.Conv2d(3, 6, 3, bias=bias), nn.BatchNorm2d(6), nn.GELU(),
                           nn.Conv2d(6, 4, 3, stride=2, padding=1, groups=2, bias=bias), nn.BatchNorm2d(4))
    back = nn.Sequential(nn.ConvTranspose2d(4, 6, 3, groups=2, bias=bias), nn.BatchNorm2d(6), nn.ReLU(),
                         nn.ConvTranspose2d(6, 3, 2, stride=2, bias=bias), nn.BatchNorm2d(3))
    signals = nn.Sequential(nn.Conv1d(2, 4, 3, bias=bias), nn.BatchNorm1d(4), nn.ConvTranspose1d(4, 6, 3, bias=bias),
                            nn.BatchNorm1d(6))
    cases = (dense, some(10, 4)), (images, some(6, 3, 6, 6)), (back, some(6, 4, 5, 5)), (signals, some(6, 2, 7))
    for model, x in cases:
        drawn(model)
        folded = nn.fold_batch_norm(model, x[:2])
        np.testing.assert_allclose(folded(x).detach().numpy(), model.eval()(x).detach().numpy(), rtol=1e-4, atol=1e-4)
        assert [type(m) for m in folded if isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d)] == [] and not folded.training
        assert isinstance(model[1], nn.BatchNorm1d | nn.BatchNorm2d) and (model[0].bias is not None) == bias
        if model is dense:
            plain = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
            assert ops_of(folded(x)) == ops_of(plain(x))  # the norm left nothing between the layers


def test_norms_that_cannot_be_folded_are_left_or_refused():
    shared = nn.Linear(4, 4)
    twice = nn.Sequential(shared, nn.BatchNorm1d(4), shared)
    assert isinstance(nn.fold_batch_norm(twice, some(3, 4))[1], nn.BatchNorm1d)
    sequence = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(3))  # (batch, 3, 5): channels are not the features
    assert isinstance(nn.fold_batch_norm(sequence, some(2, 3, 4))[1], nn.BatchNorm1d)

    class Forked(nn.Module):
        def __init__(self):
            self.linear, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)

        def forward(self, x):
            x = self.linear(x)
            return x + self.norm(x)

    with pytest.raises(ValueError, match="fold_batch_norm: this Forked cannot be folded: its output would change"):
        nn.fold_batch_norm(drawn(Forked()), some(3, 4))


BAD = [
    (lambda: nn.BatchNorm1d(3)(Tensor.ones(1, 3)), "batch_norm: expected more than 1 value per channel"),
    (lambda: nn.BatchNorm1d(3)(Tensor.ones(2, 4)),
     r"BatchNorm1d: expected \(batch, channels\) or \(batch, channels, length\) with 3 channels, got shape \(2, 4\)"),
    (lambda: nn.BatchNorm2d(3)(Tensor.ones(2, 3)), r"BatchNorm2d: expected \(batch, channels, height, width\) with 3"),
    (lambda: nn.BatchNorm2d(0), "BatchNorm2d: num_features must be a positive integer, got 0"),
    (lambda: nn.InstanceNorm1d(3)(Tensor.ones(2, 3, 1)), "instance_norm: expected .* more than 1 value"),
    (lambda: nn.InstanceNorm2d(3)(Tensor.ones(2, 3)), r"InstanceNorm2d: expected \(channels, height, width\) or"),
    (lambda: nn.LayerNorm(3)(Tensor.ones(2, 4)), r"layer_norm: normalized_shape is \(3,\), but .* \(2, 4\)"),
    (lambda: nn.LayerNorm(()), r"LayerNorm: normalized_shape must be one or more positive integers, got \(\)"),
    (lambda: nn.GroupNorm(3, 4), "GroupNorm: num_groups=3 does not divide num_channels=4"),
    (lambda: nn.GroupNorm(2, 4)(Tensor.ones(2, 6)), r"GroupNorm: expected \(batch, 4, ...\), got shape \(2, 6\)"),
    (lambda: nn.freeze_batch_norm(nn.Linear(1, 1)), "freeze_batch_norm: this Linear has no BatchNorm"),
]


@pytest.mark.parametrize(("call", "text"), BAD, ids=range(len(BAD)))
def test_bad_arguments_raise(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_sync_batch_norm_of_one_rank_equals_batch_norm(monkeypatch):
    x, skip = some(6, 3, 4), some(6, 3, 4)
    plain, synced = nn.BatchNorm1d(3), nn.SyncBatchNorm(3)
    for run in (lambda norm: norm(x), lambda norm: norm.rectified(x, skip), lambda norm: norm.rectified(x)):
        np.testing.assert_allclose(run(synced).detach().numpy(), run(plain).detach().numpy(), rtol=1e-5, atol=1e-6)
    for name, value in plain.state_dict().items():
        np.testing.assert_allclose(synced.state_dict()[name].numpy(), value.numpy(), rtol=1e-5, err_msg=name)
    monkeypatch.setattr("tinygrad_like.ops.collective.ranks", lambda: 2)  # this path needs no second rank
    untracked = nn.SyncBatchNorm(3, track_running_stats=False)
    np.testing.assert_allclose(untracked(x).detach().numpy(), nn.BatchNorm1d(3)(x).detach().numpy(), rtol=1e-4,
                               atol=1e-5)


def test_sync_batch_norm_needs_two_values_over_all_ranks(monkeypatch):
    with pytest.raises(ValueError, match="expected more than 1 value per channel on all ranks together, got 1"):
        ops.sync_batch_norm(some(1, 3))
    with pytest.raises(ValueError, match="weight must be .* with channels=3"):
        ops.sync_batch_norm(some(2, 3), Tensor.ones(2))
    monkeypatch.setattr("tinygrad_like.ops.collective.all_reduce", lambda x: 2 * x)
    stats = np.empty((3, 1))
    ops.sync_batch_norm(Tensor([[3.0]]), stats=stats)
    assert stats.tolist() == [[3], [0], [2]]
    norm, x = no_grad()(capture(ops.sync_batch_norm)), some(4, 3)
    for _ in range(4):
        np.testing.assert_allclose(norm(x).numpy(), ops.batch_norm(x).numpy(), rtol=1e-4, atol=1e-5)
        x.detach().mul_(2.0)


def test_instance_norm_keeps_an_unbiased_running_variance():
    layer, x = nn.InstanceNorm1d(3, track_running_stats=True, momentum=1.0), np.random.default_rng(0).random((4, 3, 5))
    layer(Tensor(x, dtype="float32"))
    np.testing.assert_allclose(layer.running_var.numpy(), x.var(axis=2, ddof=1).mean(axis=0), rtol=1e-5)


def test_instance_norm_can_use_running_statistics():
    x = Tensor.rand(2, 3, 4)
    y = nn.functional.instance_norm(x, Tensor.zeros(3), Tensor.ones(3), use_input_stats=False)
    np.testing.assert_allclose(y.numpy(), x.numpy(), rtol=1e-4)


def test_layer_norm_has_variants_a_and_b():
    x = some(2, 3, 4, 4)
    a, b = nn.LayerNorm((3, 4, 4)), nn.LayerNorm(3)
    assert a.weight.shape == (3, 4, 4) and sum(p.size for p in a.parameters()) == 2 * 48
    np.testing.assert_allclose(a(x).detach().numpy().mean((1, 2, 3)), 0, atol=1e-6)
    y = b(x.permute(0, 2, 3, 1))
    np.testing.assert_allclose(y.detach().numpy().mean(-1), 0, atol=1e-6)
    np.testing.assert_allclose(y.detach().numpy().std(-1), 1, atol=1e-2)
