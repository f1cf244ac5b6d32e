"""The same updates and schedules as PyTorch's, and checkpoints that load from there."""

import numpy as np
import pytest

import optim
from optim import schedule
from tinygrad_like import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SHAPES = [(5, 3), (7,), (), (2, 1, 4), (1500,)]
THEIRS = {optim.SGD: torch.optim.SGD, optim.Adam: torch.optim.Adam, optim.AdamW: torch.optim.AdamW,
          optim.RMSProp: torch.optim.RMSprop, optim.Adagrad: torch.optim.Adagrad, optim.Adadelta: torch.optim.Adadelta,
          optim.Adamax: torch.optim.Adamax, optim.Adafactor: torch.optim.Adafactor}
CASES = [
    (optim.SGD, dict(lr=0.1)),
    (optim.SGD, dict(lr=0.1, weight_decay=0.1, maximize=True)),
    (optim.SGD, dict(lr=0.1, momentum=0.9)),
    (optim.SGD, dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1)),
    (optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1, maximize=True)),
    (optim.Adam, dict(lr=0.01)),
    (optim.Adam, dict(lr=0.01, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1, maximize=True)),
    (optim.AdamW, dict(lr=0.01)),
    (optim.AdamW, dict(lr=0.01, betas=(0.8, 0.95), weight_decay=0.3, maximize=True)),
    (optim.Adam, dict(lr=0.01, betas=(0.8, 0.9), amsgrad=True, weight_decay=0.1)),
    (optim.AdamW, dict(lr=0.01, betas=(0.8, 0.9), amsgrad=True)),
    (optim.Adagrad, dict(lr=0.1)),
    (optim.Adagrad, dict(lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5, maximize=True)),
    (optim.Adadelta, dict()),
    (optim.Adadelta, dict(lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.1, maximize=True)),
    (optim.RMSProp, dict(lr=0.01)),
    (optim.RMSProp, dict(lr=0.01, alpha=0.9, eps=1e-3, weight_decay=0.1, momentum=0.9, maximize=True)),
    (optim.RMSProp, dict(lr=0.01, alpha=0.9, momentum=0.5, centered=True)),
    (optim.Adamax, dict(lr=0.01)),
    (optim.Adamax, dict(lr=0.01, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, maximize=True)),
    (optim.Adafactor, dict()),
    (optim.Adafactor, dict(lr=0.3, beta2_decay=-0.5, eps=(1e-2, 0.1), d=1.5, weight_decay=0.1, maximize=True)),
]


def parameters(dtype):
    values = [np.random.default_rng(i).standard_normal(shape).astype(dtype) for i, shape in enumerate(SHAPES)]
    return [Tensor(v, requires_grad=True) for v in values], [torch.tensor(v, requires_grad=True) for v in values]


def steps(ours, theirs, first=0, count=20):
    """The same random gradients to both; every fifth, one parameter has none."""
    for n in range(first, first + count):
        rng = np.random.default_rng(1000 + n)
        for i, (p, q) in enumerate(zip(params_of(ours), params_of(theirs), strict=True)):
            g = rng.standard_normal(p.shape).astype(p.data.dtype if isinstance(p, Tensor) else None)
            skip = n % 5 == 2 and i == 1
            p.grad, q.grad = (None, None) if skip else (Tensor(g), torch.tensor(g))
        ours.step()
        theirs.step()


def params_of(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def assert_equal(ours, theirs, rtol):
    for p, q in zip(params_of(ours), params_of(theirs), strict=True):
        q = q.detach().numpy()
        np.testing.assert_allclose(p.data, q, rtol=0, atol=rtol * np.max(np.abs(q), initial=1.0))


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-12), ("float32", 1e-6)])
@pytest.mark.parametrize("cls, options", CASES)
def test_updates(cls, options, dtype, rtol):
    p, q = parameters(dtype)
    ours, theirs = cls(p, **options), THEIRS[cls](q, **options)
    steps(ours, theirs)
    assert_equal(ours, theirs, rtol)


@pytest.mark.parametrize("cls", THEIRS)
def test_defaults_are_theirs(cls):
    p, q = parameters("float64")
    ours, theirs = cls(p).param_groups[0], THEIRS[cls](q).param_groups[0]
    assert {k: v for k, v in ours.items() if k != "params"} == {k: theirs[k] for k in ours if k != "params"}


def test_groups():
    p, q = parameters("float64")
    ours = optim.SGD([{"params": p[:2]}, {"params": p[2:], "lr": 0.5, "momentum": 0.0}], lr=0.1, momentum=0.9)
    theirs = torch.optim.SGD([{"params": q[:2]}, {"params": q[2:], "lr": 0.5, "momentum": 0.0}], lr=0.1, momentum=0.9)
    steps(ours, theirs)
    assert_equal(ours, theirs, 1e-12)


@pytest.mark.parametrize("cls, options", CASES)
def test_a_checkpoint_goes_both_ways(cls, options):
    p, q = parameters("float64")
    ours, theirs = cls(p, **options), THEIRS[cls](q, **options)
    steps(ours, theirs, count=6)

    resumed = cls(p, lr=99.0)
    resumed.load_state_dict(theirs.state_dict())
    steps(resumed, theirs, first=6, count=6)
    assert_equal(resumed, theirs, 1e-12)

    tree = resumed.state_dict()
    saved = {i: {k: torch.tensor(v, dtype=torch.float64) for k, v in s.items()} for i, s in tree["state"].items()}
    theirs = THEIRS[cls](q, **options)
    theirs.load_state_dict({"state": saved, "param_groups": theirs.state_dict()["param_groups"]})
    steps(resumed, theirs, first=12, count=6)
    assert_equal(resumed, theirs, 1e-12)


MUON = [dict(), dict(lr=0.1, nesterov=False, weight_decay=0.0, ns_steps=3, ns_coefficients=(3.0, -4.0, 2.0)),
        dict(lr=0.1, momentum=0.5, weight_decay=0.3, adjust_lr_fn="match_rms_adamw")]


@pytest.mark.parametrize("options", MUON)
def test_muon(options, monkeypatch):
    """Theirs rounds products to bfloat16; without that they are the same, and with it nearly."""
    values = [np.random.default_rng(i).standard_normal(shape) for i, shape in enumerate([(5, 3), (4, 9), (6, 6)])]
    for atol in (0.05, 1e-12):
        p, q = [Tensor(v, requires_grad=True) for v in values], [torch.tensor(v, requires_grad=True) for v in values]
        ours, theirs = optim.Muon(p, **options), torch.optim.Muon(q, **options)
        steps(ours, theirs, count=8)
        for a, b in zip(p, q, strict=True):
            np.testing.assert_allclose(a.data, b.detach().numpy(), rtol=0, atol=atol * 8 * theirs.defaults["lr"])
        monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    assert ours.state_dict()["state"][1].keys() == theirs.state_dict()["state"][1].keys()
    resumed = optim.Muon(p, lr=99.0)
    resumed.load_state_dict(theirs.state_dict())
    steps(resumed, theirs, first=8, count=4)
    assert_equal(resumed, theirs, 1e-12)
    group = optim.Muon(p).param_groups[0]
    assert {k: v for k, v in group.items() if k != "params"} == torch.optim.Muon(q).defaults


def torch_rates(make, lr, count):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    scheduler, rates = make(optimizer), []
    for _ in range(count):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


lrs = torch.optim.lr_scheduler
SCHEDULES = {
    "linear": (schedule.linear(0.03, 0.3, 10), lambda o: lrs.LinearLR(o, 0.1, 1.0, 10)),
    "cosine": (lambda n: schedule.cosine(0.3, 30, end=0.01)(n), lambda o: lrs.CosineAnnealingLR(o, 30, 0.01)),
    "step": (schedule.step(0.3, every=7, factor=0.5), lambda o: lrs.StepLR(o, 7, 0.5)),
    "exponential": (schedule.exponential(0.3, 0.9), lambda o: lrs.ExponentialLR(o, 0.9)),
    "one_cycle": (schedule.one_cycle(0.3, 30), lambda o: lrs.OneCycleLR(o, 0.3, total_steps=30)),
    "one_cycle, options": (
        schedule.one_cycle(0.3, 30, warm=0.21, start=0.5, end=0.01),
        lambda o: lrs.OneCycleLR(o, 0.3, total_steps=30, pct_start=0.21, div_factor=2, final_div_factor=100),
    ),
    "warmup": (
        schedule.warmup(5, schedule.cosine(0.3, 25), start=0.03),
        lambda o: lrs.SequentialLR(o, [lrs.LinearLR(o, 0.1, 1.0, 5), lrs.CosineAnnealingLR(o, 25)], [5]),
    ),
    "joined": (
        schedule.joined([schedule.exponential(0.3, 0.9), schedule.step(0.3, 3), schedule.constant(0.15)], [4, 17]),
        lambda o: lrs.SequentialLR(
            o, [lrs.ExponentialLR(o, 0.9), lrs.StepLR(o, 3), lrs.ConstantLR(o, 0.5, 1000)], [4, 17]),
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.filterwarnings("ignore:The epoch parameter in `scheduler.step")  # SequentialLR's own doing
def test_schedules(name):
    ours, theirs = SCHEDULES[name]
    assert [ours(n) for n in range(30)] == pytest.approx(torch_rates(theirs, 0.3, 30), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("ours, theirs", [
    ({}, {}),
    (dict(mode="max", factor=0.5, patience=2), dict(mode="max", factor=0.5, patience=2)),
    (dict(patience=1, cooldown=2, least=1e-3), dict(patience=1, cooldown=2, min_lr=1e-3)),
    (dict(patience=1, threshold=0.1, relative=False), dict(patience=1, threshold=0.1, threshold_mode="abs")),
    (dict(mode="max", patience=1, threshold=0.1), dict(mode="max", patience=1, threshold=0.1)),
])
@pytest.mark.parametrize("least", [0.1, -1])
def test_reduce_on_plateau(ours, theirs, least):
    metrics = np.random.default_rng(0).uniform(least, 1, 200)
    plateau, optimizer = schedule.ReduceOnPlateau(0.1, **ours), torch.optim.SGD([torch.zeros(1)], lr=0.1)
    scheduler = lrs.ReduceLROnPlateau(optimizer, eps=0, **theirs)
    for metric in metrics:
        plateau.update(metric)
        scheduler.step(metric)
        assert plateau(0) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)
    assert plateau(0) < 0.1


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.5, float("inf")])
@pytest.mark.parametrize("max_norm", [0.5, 1e4])
def test_clip_grad_norm(norm_type, max_norm):
    p, q = parameters("float64")
    for a, b in zip(p, q, strict=True):
        a.grad, b.grad = Tensor(3 * a.data), 3 * b.detach()
    p.append(Tensor([1.0], requires_grad=True))
    norm = optim.clip_grad_norm(p, max_norm, norm_type)
    assert norm.item() == pytest.approx(torch.nn.utils.clip_grad_norm_(q, max_norm, norm_type).item(), rel=1e-12)
    for a, b in zip(p, q, strict=False):
        np.testing.assert_allclose(a.grad.data, b.grad.numpy(), rtol=1e-12)


def test_clip_grad_value():
    p, q = parameters("float32")
    for a, b in zip(p, q, strict=True):
        a.grad, b.grad = Tensor(a.data), b.detach().clone()
    optim.clip_grad_value(p, 0.25)
    torch.nn.utils.clip_grad_value_(q, 0.25)
    for a, b in zip(p, q, strict=True):
        assert np.array_equal(a.grad.data, b.grad.numpy())
