"""nn.utils.prune: weights that are 0 and stay so."""

import numpy as np
import pytest

import nn
import nn.utils.prune as prune
import optim
import tinygrad_like as tg
from tinygrad_like import Tensor


def layer(cls=nn.Linear, *sizes):
    tg.manual_seed(0)
    return cls(*sizes or (6, 4))


def zeros(module, name="weight"):
    return int((getattr(module, f"{name}_mask") == 0).sum())


def test_the_smallest_weights_are_0_and_stay_so():
    m = layer()
    before = m.weight.clone()
    assert not prune.is_pruned(m) and prune.l1_unstructured(m, "weight", 10) is m and prune.is_pruned(m)
    assert [n for n, _ in m.named_parameters()] == ["bias", "weight_orig"]
    assert [n for n, _ in m.named_buffers()] == ["weight_mask"] and list(m.state_dict())[-1] == "weight_mask"
    least = before.abs().reshape(-1).argsort()[:10]
    assert set((m.weight_mask.reshape(-1) == 0).nonzero()[:, 0].tolist()) == set(least.tolist())
    optimizer, x = optim.SGD(m.parameters(), 0.5, momentum=0.9), Tensor(np.ones((3, 6), np.float32))
    for _ in range(3):
        optimizer.zero_grad()
        (m(x) ** 2).sum().backward()
        optimizer.step()
    assert (m.weight_orig.grad * (1 - m.weight_mask)).abs().sum() == 0
    y = m(x)
    assert zeros(m) == 10 and (m.weight == m.weight_orig * m.weight_mask).all() and not (m.weight == before).all()
    assert prune.remove(m, "weight") is m and not prune.is_pruned(m) and m._hooks is None
    assert [n for n, _ in m.named_parameters()] == ["bias", "weight"] and not list(m.named_buffers())
    assert type(m.weight) is nn.Parameter and (m(x) == y).all() and int((m.weight == 0).sum()) == 10


@pytest.mark.parametrize("amount, expected", [(0, 0), (0.0, 0), (5, 5), (0.25, 6), (24, 24), (1.0, 24)])
def test_amounts(amount, expected):
    for f in prune.l1_unstructured, prune.random_unstructured:
        assert zeros(f(layer(), "weight", amount)) == expected
    by_channels = {0: 0, 0.25: 1, 1.0: 4}
    if amount in by_channels:
        assert zeros(prune.ln_structured(layer(), "weight", amount, 2, 0)) == 6 * by_channels[amount]
        assert zeros(prune.random_structured(layer(), "weight", amount, -2)) == 6 * by_channels[amount]


def test_each_prunes_what_is_left():
    m = layer()
    prune.random_unstructured(m, "weight", 0.5)
    first = m.weight_mask.clone()
    prune.l1_unstructured(m, "weight", 0.5)
    prune.ln_structured(m, "weight", 1, float("inf"), 0)
    assert zeros(m) >= 18 and (m.weight_mask <= first).all()
    assert len(list(m._hooks.before.values())) == 1
    hook, = m._hooks.before.values()
    assert [type(method).__name__ for method in hook] == ["RandomUnstructured", "L1Unstructured", "LnStructured"]
    assert len(hook) == 3 and hook[1].amount == 0.5
    prune.identity(m, "bias")
    assert zeros(m, "bias") == 0 and len(m._hooks.before) == 2
    prune.remove(m, "weight")
    assert prune.is_pruned(m) and [n for n, _ in m.named_parameters()] == ["bias_orig", "weight"]


def test_several_parameters_as_one():
    model = nn.Sequential(layer(), nn.ReLU(), layer(nn.Linear, 4, 3))
    pairs = [(model[0], "weight"), (model[2], "weight")]
    both = np.concatenate([np.abs(m.weight.detach().numpy()).reshape(-1) for m, _ in pairs])
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=9)
    masks = np.concatenate([m.weight_mask.numpy().reshape(-1) for m, _ in pairs])
    assert set(np.flatnonzero(masks == 0)) == set(np.argsort(both)[:9])
    prune.global_unstructured(pairs, prune.L1Unstructured, {pairs[0]: -model[0].weight_orig * 0}, amount=3)
    assert zeros(model[0]) + zeros(model[2]) == 12


def test_scores_and_masks_of_ones_own():
    m, scores = layer(), Tensor.arange(24).reshape(4, 6).float()
    prune.l1_unstructured(m, "weight", 7, importance_scores=scores)
    assert m.weight_mask.reshape(-1).tolist() == [0] * 7 + [1] * 17
    m, mask = layer(), Tensor([[1, 0, 1, 1, 1, 1]] * 4)
    prune.custom_from_mask(m, "weight", mask)
    assert m.weight_mask.tolist() == mask.tolist() and m.weight_mask.dtype == "float32"
    t = Tensor([[3.0, -1.0], [0.5, 2.0]], requires_grad=True)
    pruned = prune.L1Unstructured(2).prune(t)
    assert pruned.tolist() == [[3, 0], [0, 2]]
    mask = Tensor([[0.0, 1.0], [1.0, 1.0]])
    assert prune.LnStructured(1, 1, 0).prune(t, default_mask=mask).tolist() == [[0, -1], [0, 0]]
    pruned.sum().backward()
    assert t.grad.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("call, error, message", [
    (lambda m: prune.l1_unstructured(m, "weight", 25), ValueError, "amount=25 is more than the 24 numbers"),
    (lambda m: prune.l1_unstructured(m, "weight", 1.5), ValueError, "amount=1.5 must be a count"),
    (lambda m: prune.random_unstructured(m, "weight", -1), ValueError, "amount=-1 must be"),
    (lambda m: prune.random_unstructured(m, "weight", True), ValueError, "amount=True must be"),
    (lambda m: prune.l1_unstructured(m, "no", 1), ValueError, "Linear has no parameter 'no', only"),
    (lambda m: prune.ln_structured(m, "weight", 5, 2, 0), ValueError, "=5 is more than the 4 channels along axis 0"),
    (lambda m: prune.ln_structured(m, "weight", 1, "nuc", 0), ValueError, "n='nuc' must be"),
    (lambda m: prune.ln_structured(m, "weight", 1, 2, 2), (IndexError, ValueError), "prune: .*2"),
    (lambda m: prune.ln_structured(m, "bias", 1, 2, 0), ValueError, "at least two axes"),
    (lambda m: prune.custom_from_mask(m, "weight", Tensor.ones(6, 4)), ValueError, "the mask has shape"),
    (lambda m: prune.l1_unstructured(m, "weight", 1, Tensor.ones(3)), ValueError, "importance_scores have shape"),
    (lambda m: prune.remove(m, "weight"), ValueError, "remove: 'weight' of Linear has not been pruned"),
    (lambda m: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=2), TypeError, "structured"),
    (lambda m: prune.global_unstructured([(m, "no")], prune.L1Unstructured, amount=1), ValueError, "no parameter 'no'"),
    (lambda m: prune.global_unstructured([], prune.L1Unstructured, amount=1), ValueError, "there are no parameters"),
])
def test_what_is_refused_changes_nothing(call, error, message):
    m = layer()
    before = m.state_dict()
    with pytest.raises(error, match=message):
        call(m)
    assert m.state_dict().keys() == before.keys() and m._hooks is None and not prune.is_pruned(m)


@pytest.mark.torch
def test_like_pytorch():
    torch, theirs_prune = pytest.importorskip("torch"), pytest.importorskip("torch.nn.utils.prune")
    theirs = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 3), torch.nn.Flatten(), torch.nn.Linear(20, 4))
    ours = nn.Sequential(nn.Conv2d(3, 5, 3), nn.Flatten(), nn.Linear(20, 4))
    ours.load_state_dict(theirs.state_dict())
    for model, p in (ours, prune), (theirs, theirs_prune):
        p.l1_unstructured(model[0], "weight", 0.3)
        p.ln_structured(model[0], "weight", amount=2, n=2, dim=1)
        p.ln_structured(model[2], name="weight", amount=0.5, n=float("-inf"), dim=0)
        p.l1_unstructured(model[2], "bias", 1)
        p.global_unstructured([(model[0], "weight"), (model[2], "weight")], p.L1Unstructured, amount=0.2)
        p.ln_structured(model[2], "weight", 3, "fro", -1)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype("float32")
    a, b = ours(Tensor(x)), theirs(torch.tensor(x))
    a.square().sum().backward()
    b.square().sum().backward()
    for (name, p), (_, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)
    for name, mask in theirs.named_buffers():
        np.testing.assert_array_equal(ours.get_buffer(name).numpy(), mask.numpy(), err_msg=name)
    for model, p in (ours, prune), (theirs, theirs_prune):
        p.remove(model[0], "weight")
    assert list(ours.state_dict()) == list(theirs.state_dict())
    np.testing.assert_allclose(ours[0].weight.detach().numpy(), theirs[0].weight.detach().numpy())
