"""Averaged models and SWALR: by hand, and as in PyTorch."""

import numpy as np
import pytest

import nn
import optim
from optim.swa_utils import SWALR, AveragedModel, get_ema_avg_fn
from tinygrad_like import Tensor, capture, manual_seed


def model(lib):
    return lib.Sequential(lib.Linear(3, 4), lib.BatchNorm1d(4), lib.Linear(4, 2))


def test_the_mean_of_all_weights():
    net = nn.Linear(2, 1)
    averaged, seen = AveragedModel(net), []
    for value in (1.0, 4.0, 7.0):
        nn.init.constant_(net.weight, value)
        averaged.update_parameters(net)
        seen.append(averaged.module.weight.tolist()[0][0])
    assert seen == [1.0, 2.5, 4.0] and averaged.n_averaged.item() == 3
    assert averaged(Tensor([[1.0, 1.0]])).item() == pytest.approx(8 + averaged.module.bias.item())
    other = AveragedModel(net)
    other.load_state_dict(averaged.state_dict())
    assert other.module.weight.tolist() == averaged.module.weight.tolist() and other.n_averaged.item() == 3
    with pytest.raises(ValueError, match="other shapes"):
        averaged.update_parameters(nn.Linear(3, 1))
    with pytest.raises(ValueError, match="must lie in"):
        get_ema_avg_fn(1.5)


def test_a_rate_that_settles():
    optimizer = optim.SGD([Tensor([1.0], requires_grad=True)], lr=0.5)
    scheduler = SWALR(optimizer, 0.1, anneal_epochs=2, anneal_strategy="linear")
    rates = [optimizer.lr]
    for _ in range(3):
        scheduler.step()
        rates.append(optimizer.lr)
    assert rates == pytest.approx([0.5, 0.3, 0.1, 0.1])
    for options in dict(anneal_strategy="no"), dict(anneal_epochs=-1):
        with pytest.raises(ValueError, match="must be"):
            SWALR(optimizer, 0.1, **options)
    assert optim.swa_utils.SWALR is SWALR
    with pytest.raises(AttributeError, match="no attribute 'swa'"):
        optim.swa  # noqa: B018


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("kind", ["mean", "ema"])
def test_as_in_pytorch(kind):
    torch = pytest.importorskip("torch")
    swa = torch.optim.swa_utils
    manual_seed(1)
    ours, theirs = model(nn), model(torch.nn)
    theirs.load_state_dict({k: torch.tensor(v.detach().numpy()) for k, v in ours.state_dict().items()})
    rng = np.random.default_rng(2)
    batches = [rng.standard_normal((16, 3)).astype(np.float32) for _ in range(8)]
    results = []
    for lib, net, tools, optimizers in ((Tensor, ours, optim.swa_utils, optim),
                                        (torch.tensor, theirs, swa, torch.optim)):
        options = {"avg_fn": tools.get_ema_avg_fn(0.6)} if kind == "ema" else {}
        averaged = tools.AveragedModel(net, **options)
        optimizer = optimizers.SGD(net.parameters(), lr=0.2, momentum=0.9)
        scheduler, rates = tools.SWALR(optimizer, swa_lr=0.05, anneal_epochs=3), []
        for x in batches:
            loss = (net(lib(x)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            averaged.update_parameters(net)
            scheduler.step()
            rates.append(optimizer.param_groups[0]["lr"])
        results.append((rates, {k: v.detach().numpy() for k, v in averaged.state_dict().items()}))
    (rates, found), (rates_, expected) = results
    assert rates == pytest.approx(rates_) and found.keys() == expected.keys()
    for name in found:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("options", [
    {}, {"avg_fn": get_ema_avg_fn(0.9)}, {"avg_fn": lambda a, x, n: a + (x - a) / (n.item() + 1)},
], ids=["mean", "ema", "a count that is looked at"])
@pytest.mark.filterwarnings("ignore:capture")
def test_captured_as_without(options):
    found = []
    for kind in (lambda f: f, lambda f: capture(f, fuse=False, strict=False)):
        manual_seed(0)
        net = model(nn)
        averaged, optimizer = AveragedModel(net, **options), optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()  # noqa: B023
            loss = net(x).square().mean()  # noqa: B023
            loss.backward()
            optimizer.step()  # noqa: B023
            averaged.update_parameters(net)  # noqa: B023
            return loss.detach()

        step = kind(step)
        xs = np.random.default_rng(0).standard_normal((8, 5, 3)).astype("f")
        found.append([[step(Tensor(x)).item() for x in xs], {k: v.tolist() for k, v in averaged.state_dict().items()}])
    assert found[0] == found[1]
    assert step.programs or "item()" in step.gave_up
