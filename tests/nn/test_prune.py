"""Parameters of which some entries are kept at 0: which, and as in PyTorch."""

import copy

import numpy as np
import pytest

import nn
import optim
from nn.utils import prune
from tinygrad_like import Tensor, capture, manual_seed


def layer():
    manual_seed(0)
    return nn.Linear(4, 3)


def zeros(module, name="weight"):
    return (getattr(module, name).detach().numpy() == 0).sum()


def test_the_smallest_are_pruned_and_stay_so():
    net = layer()
    before = net.weight.detach().numpy().copy()
    assert prune.l1_unstructured(net, "weight", amount=5) is net and isinstance(net, nn.Linear)
    assert list(net.state_dict()) == ["bias", "weight_orig", "weight_mask"] and prune.is_pruned(nn.Sequential(net))
    smallest = np.sort(np.abs(before).reshape(-1))[:5]
    assert np.array_equal(net.weight.detach().numpy(), np.where(np.abs(before) <= smallest[-1], 0, before))
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    @capture
    def step(x):
        loss = net(x).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(5):
        step(Tensor.randn(2, 4))
    assert zeros(net) == 5 and len(step.programs) == 1
    assert (net.weight_orig.grad.numpy()[net.weight_mask.numpy() == 0] == 0).all()
    twin, after = copy.deepcopy(net), net.weight.detach().numpy().copy()
    prune.remove(net, "weight")
    assert type(net) is nn.Linear and sorted(net.state_dict()) == ["bias", "weight"] and not prune.is_pruned(net)
    assert np.array_equal(net.weight.detach().numpy(), after) and isinstance(net.weight, nn.Parameter)
    assert prune.is_pruned(twin) and np.array_equal(twin.weight.detach().numpy(), after)


def test_pruned_again_it_chooses_among_those_that_are_kept():
    net = layer()
    prune.random_unstructured(net, "weight", amount=0.5)
    prune.random_unstructured(net, "weight", amount=0.5)
    assert zeros(net) == 9
    prune.random_unstructured(net, "weight", amount=3)
    assert zeros(net) == 12
    net = layer()
    prune.random_structured(net, "weight", amount=1, dim=0)
    assert zeros(net) == 4 and (net.weight_mask.numpy().sum(1) == 0).sum() == 1
    prune.ln_structured(net, "weight", amount=0.5, n=2, dim=1)
    assert zeros(net) == 8
    prune.identity(net, "bias")
    assert zeros(net, "bias") == 0 and "bias_mask" in net.state_dict()


def pruned(lib, nn_, tensor, name, times):
    """What is kept in a library, after it was pruned so many times."""
    values, scores = np.random.default_rng(0).standard_normal((2, 5, 4)).astype("f")

    class Every(lib.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::3] = 0
            return mask

    net = nn_.Sequential(nn_.Linear(4, 5), nn_.Linear(4, 5, bias=False))
    for p, v in zip((net[0].weight, net[1].weight), (values, scores), strict=True):
        p.data.copy_(tensor(v))
    prune_once = {
        "l1": lambda: lib.l1_unstructured(net[0], "weight", 0.3),
        "scores": lambda: lib.l1_unstructured(net[0], "weight", 4, importance_scores=tensor(scores)),
        "ln rows": lambda: lib.ln_structured(net[0], "weight", 0.4, n=1, dim=0),
        "ln columns": lambda: lib.ln_structured(net[0], "weight", amount=1, n=float("inf"), dim=-1),
        "mask": lambda: lib.custom_from_mask(net[0], "weight", tensor((scores > 0).astype("f"))),
        "global": lambda: lib.global_unstructured([(net[0], "weight"), (net[1], "weight")],
                                                  pruning_method=lib.L1Unstructured, amount=0.4),
        "own": lambda: Every.apply(net[0], "weight")}[name]
    for _ in range(times):
        prune_once()
    net[0](tensor(values)).sum().backward()
    state = {k: v.numpy() for k, v in net.state_dict().items() if k != "0.bias"}
    return list(net.state_dict()), [*state.values(), net[0].weight.detach().numpy(), net[0].weight_orig.grad.numpy()]


@pytest.mark.torch
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("name", ["l1", "scores", "ln rows", "ln columns", "mask", "global", "own"])
def test_as_pytorchs(name, times):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torch.nn.utils.prune")
    keys, arrays = pruned(prune, nn, Tensor, name, times)
    expected, others = pruned(theirs, torch.nn, torch.tensor, name, times)
    assert keys == expected
    for a, b in zip(arrays, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("call, why", [
    (lambda m: prune.l1_unstructured(m, "weights", 1), "prune: Linear has no parameter 'weights'"),
    (lambda m: prune.l1_unstructured(m, "weight", 1.5), "amount=1.5 must be"),
    (lambda m: prune.l1_unstructured(m, "weight", 13), "amount=13 is more than the 12"),
    (lambda m: prune.l1_unstructured(m, "weight", 1, Tensor.ones(2)), "importance_scores has shape"),
    (lambda m: prune.custom_from_mask(m, "weight", Tensor.ones(2)), "mask has shape"),
    (lambda m: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=2), "is structured"),
    (lambda m: prune.remove(m, "weight"), "is not pruned")])
def test_errors(call, why):
    net = layer()
    with pytest.raises(ValueError, match=why):
        call(net)
    assert type(net) is nn.Linear and sorted(net.state_dict()) == ["bias", "weight"]
