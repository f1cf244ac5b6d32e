"""Each optimizer against its authors' formula, and against PyTorch's optimizer of that name."""

import math

import numpy as np
import pytest

import optim
from tinygrad_like import Tensor

CASES = [
    ("SGD", dict(lr=0.1)), ("SGD", dict(lr=0.1, weight_decay=0.1, maximize=True)), ("SGD", dict(lr=0.1, momentum=0.9)),
    ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1)),
    ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1, maximize=True)),
    ("Adam", dict(lr=0.01)),
    ("Adam", dict(lr=0.01, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1, maximize=True)),
    ("Adam", dict(lr=0.01, betas=(0.8, 0.9), amsgrad=True, weight_decay=0.1)),
    ("AdamW", dict(lr=0.01)), ("AdamW", dict(lr=0.01, betas=(0.8, 0.95), weight_decay=0.3, maximize=True)),
    ("AdamW", dict(lr=0.01, betas=(0.8, 0.9), amsgrad=True)),
    ("Adagrad", dict(lr=0.1)),
    ("Adagrad", dict(lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5, maximize=True)),
    ("Adadelta", dict(lr=1.0)), ("Adadelta", dict(lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.1, maximize=True)),
    ("RMSProp", dict(lr=0.01)),
    ("RMSProp", dict(lr=0.01, alpha=0.9, eps=1e-3, weight_decay=0.1, momentum=0.9, maximize=True)),
    ("RMSProp", dict(lr=0.01, alpha=0.9, momentum=0.5, centered=True)),
    ("Adamax", dict(lr=0.01)), ("Adamax", dict(lr=0.01, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, maximize=True)),
    ("Adafactor", dict(lr=0.01)),
    ("Adafactor", dict(lr=0.3, beta2_decay=-0.5, eps=(1e-2, 0.1), d=1.5, weight_decay=0.1, maximize=True)),
]


def sgd(x, g, s, t, lr, momentum, dampening, weight_decay, nesterov):
    g = g + weight_decay * x
    if momentum:
        b = momentum * s["momentum_buffer"] + (1 - dampening) * g if s else g
        s["momentum_buffer"], g = b, g + momentum * b if nesterov else b
    return x - lr * g


def adam(x, g, s, t, lr, betas, eps, weight_decay, amsgrad):
    g = g + weight_decay * x
    m = s["exp_avg"] = betas[0] * s.get("exp_avg", 0) + (1 - betas[0]) * g
    v = s["exp_avg_sq"] = betas[1] * s.get("exp_avg_sq", 0) + (1 - betas[1]) * g * g
    if amsgrad:
        v = s["max_exp_avg_sq"] = np.maximum(v, s.get("max_exp_avg_sq", 0))
    return x - lr * m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)


def adamw(x, g, s, t, lr, weight_decay, **options):
    return adam(x, g, s, t, lr, weight_decay=0, **options) - lr * weight_decay * x


def adagrad(x, g, s, t, lr, lr_decay, weight_decay, initial_accumulator_value, eps):
    g = g + weight_decay * x
    v = s["sum"] = s.get("sum", initial_accumulator_value) + g * g
    return x - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(v) + eps)


def adadelta(x, g, s, t, lr, rho, eps, weight_decay):
    g, u = g + weight_decay * x, s.get("acc_delta", 0)
    v = s["square_avg"] = rho * s.get("square_avg", 0) + (1 - rho) * g * g
    d = np.sqrt(u + eps) / np.sqrt(v + eps) * g
    s["acc_delta"] = rho * u + (1 - rho) * d * d
    return x - lr * d


def rmsprop(x, g, s, t, lr, alpha, eps, weight_decay, momentum, centered):
    g = g + weight_decay * x
    v = s["square_avg"] = alpha * s.get("square_avg", 0) + (1 - alpha) * g * g
    if centered:
        s["grad_avg"] = alpha * s.get("grad_avg", 0) + (1 - alpha) * g
        v = v - s["grad_avg"] ** 2
    u = g / (np.sqrt(v) + eps)
    if momentum:
        u = s["momentum_buffer"] = momentum * s.get("momentum_buffer", 0) + u
    return x - lr * u


def adamax(x, g, s, t, lr, betas, eps, weight_decay):
    g = g + weight_decay * x
    m = s["exp_avg"] = betas[0] * s.get("exp_avg", 0) + (1 - betas[0]) * g
    u = s["exp_inf"] = np.maximum(betas[1] * s.get("exp_inf", 0), np.abs(g) + eps)
    return x - lr / (1 - betas[0] ** t) * m / u


def adafactor(x, g, s, t, lr, beta2_decay, eps, d, weight_decay):
    v = s["variance"] = s.get("variance", 0) + t**beta2_decay * (g * g - s.get("variance", 0))
    alpha = max(eps[1], math.sqrt((x * x).mean())) * min(lr, 1 / math.sqrt(t))
    u = g / np.maximum(np.sqrt(v), np.finfo(np.float32).eps if eps[0] is None else eps[0])
    return x * (1 - lr * weight_decay) - alpha * u / max(1, math.sqrt((u * u).mean()) / d)


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-10), ("float32", 2e-5)])
@pytest.mark.parametrize("name, options", CASES)
def test_steps_and_state_follow_the_formulas(name, options, dtype, rtol):
    """float32 runs in a kernel, float64 in NumPy. Some gradients are 0."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(300)
    p, state = Tensor(x, requires_grad=True, dtype=dtype), {}
    optimizer = getattr(optim, name)([p], **options)
    how = {k: v for k, v in optimizer.param_groups[0].items() if k not in ("params", "maximize")}
    for t in range(1, 9):
        g = rng.standard_normal(300) * (rng.random(300) < 0.9)
        p.grad = Tensor(g, dtype=dtype)
        optimizer.step()
        x = globals()[name.lower()](x, -g if options.get("maximize") else g, state, t, **how)
        np.testing.assert_allclose(p._data, x, rtol=rtol, atol=rtol)
    kept = optimizer.state_dict()["state"].get(0, {})
    assert kept.pop("step", 8) == 8 and kept.keys() == state.keys()
    for key, value in state.items():
        np.testing.assert_allclose(kept[key], value, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_centered_rmsprop_survives_a_constant_gradient(dtype):
    """The variance tends to 0, and rounding makes v - a^2 negative."""
    x = Tensor(np.zeros(50, dtype), requires_grad=True)
    x.grad = Tensor(np.random.default_rng(0).uniform(0.1, 1, 50).astype(dtype))
    optimizer = optim.RMSProp([x], lr=1e-6, alpha=0.5, centered=True)
    for _ in range(100):
        optimizer.step()
    assert np.isfinite(x._data).all()


def test_momentum_may_be_switched_on_later():
    x = Tensor([1.0], requires_grad=True, dtype="float64")
    optimizer = optim.SGD([x], lr=0.1)
    for g, momentum in [(2.0, 0.0), (3.0, 0.5), (1.0, 0.5)]:
        optimizer.param_groups[0]["momentum"] = momentum
        x.grad = Tensor([g], dtype="float64")
        optimizer.step()
    assert x.item() == pytest.approx(1 - 0.2 - 0.3 - 0.25, abs=1e-12)


def test_adafactor_keeps_a_matrixs_row_and_column_means():
    x, g = Tensor(np.ones((2, 3)), requires_grad=True), np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])
    optimizer = optim.Adafactor([x], lr=0.1)
    for _ in range(3):  # with a constant gradient these are the means of its squares
        x.grad = Tensor(g)
        optimizer.step()
    state = optimizer.state[x]
    np.testing.assert_allclose(state["row_var"], (g * g).mean(1, keepdims=True))
    np.testing.assert_allclose(state["col_var"], (g * g).mean(0, keepdims=True))
    tree = optimizer.state_dict()
    tree["state"][0]["row_var"] = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"row_var of parameter 0 has shape \(2, 3\), but a param"):
        optimizer.load_state_dict(tree)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3)])
def test_muon_makes_the_step_orthogonal(shape):
    """With the coefficients of a converging Newton-Schulz iteration."""
    x, g = Tensor(np.zeros(shape), requires_grad=True), np.random.default_rng(0).standard_normal(shape)
    x.grad = Tensor(g)
    optim.Muon([x], lr=0.5, weight_decay=0.0, ns_steps=30, ns_coefficients=(1.5, -0.5, 0.0)).step()
    u, _, vt = np.linalg.svd(g, full_matrices=False)
    r = math.sqrt(max(1, shape[0] / shape[1]))
    np.testing.assert_allclose(x.detach().numpy(), -0.5 * r * u @ vt, atol=1e-12)


X = Tensor([1.0, 2.0, 3.0], requires_grad=True)


@pytest.mark.parametrize("name, options, message", [
    ("SGD", dict(lr=-0.1), "lr=-0.1 must be a number >= 0"), ("SGD", dict(lr=float("nan")), "lr=nan must be"),
    ("SGD", dict(weight_decay=-1), "weight_decay=-1 must be >= 0"),
    ("SGD", dict(nesterov=True), "nesterov=True must be used with momentum > 0 and dampening=0"),
    ("SGD", dict(nesterov=True, momentum=0.9, dampening=0.1), "nesterov=True must be used with"),
    ("Adam", dict(betas=(0.9, 1.0)), r"betas=\(0.9, 1.0\) must be two numbers in \[0, 1\)"),
    ("Adam", dict(betas=(0.9,)), r"betas=\(0.9,\) must be two numbers"), ("AdamW", dict(eps=-1e-8), "eps=-1e-08 must"),
    ("AdamW", dict(weight_decay=-1), "weight_decay=-1 must be"), ("RMSProp", dict(alpha=1.5), "alpha=1.5 must be "),
    ("RMSProp", dict(momentum=-0.1), "momentum=-0.1 must be >= 0"), ("Adagrad", dict(lr_decay=-1), "lr_decay=-1 must"),
    ("Adagrad", dict(eps=-1), "eps=-1 must be"), ("Adadelta", dict(rho=1.5), "rho=1.5 must be"),
    ("Adadelta", dict(weight_decay=-1), "weight_decay=-1 must be"),
    ("Adamax", dict(betas=(0.9, 1.0)), r"betas=\(0.9, 1.0\) must be two numbers"),
    ("Adafactor", dict(eps=(None, None)), "eps=.* must be two numbers"), ("Adafactor", dict(d=0.5), "d=0.5 must be"),
    ("Adafactor", dict(beta2_decay=0.5), "beta2_decay=0.5 must be <= 0"),
    ("Muon", {}, r"a parameter of shape \(3,\) is not a matrix; pass those"),
    ("Muon", dict(adjust_lr_fn="rms"), "adjust_lr_fn='rms' must be 'or"),
    ("Muon", dict(ns_steps=100), "ns_steps=100 must be an integer from"),
])
def test_bad_options_are_refused(name, options, message):
    x = Tensor([[1.0]], requires_grad=True) if name == "Muon" and options else X
    with pytest.raises(ValueError, match=f"{name}: {message}"):
        getattr(optim, name)([x], **options)


# PyTorch's ------------------------------------------------------------------------------------------------------------

SHAPES = [(5, 3), (7,), (), (2, 1, 4), (1500,)]


def parameters(dtype="float64", shapes=SHAPES):
    torch = pytest.importorskip("torch")
    values = [np.random.default_rng(i).standard_normal(shape).astype(dtype) for i, shape in enumerate(shapes)]
    return [Tensor(v, requires_grad=True) for v in values], [torch.tensor(v, requires_grad=True) for v in values]


def theirs_of(name):
    torch = pytest.importorskip("torch")
    return getattr(torch.optim, name.replace("RMSProp", "RMSprop"))


def steps(ours, theirs, first=0, count=20):
    """The same random gradients to both; every fifth, one parameter has none."""
    torch = pytest.importorskip("torch")
    for n in range(first, first + count):
        rng = np.random.default_rng(1000 + n)
        for i, (p, q) in enumerate(zip(params_of(ours), params_of(theirs), strict=True)):
            g = rng.standard_normal(p.shape).astype(p._data.dtype)
            p.grad, q.grad = (None, None) if n % 5 == 2 and i == 1 else (Tensor(g), torch.tensor(g))
        ours.step()
        theirs.step()


def params_of(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def assert_equal(ours, theirs, rtol=1e-12):
    for p, q in zip(params_of(ours), params_of(theirs), strict=True):
        q = q.detach().numpy()
        np.testing.assert_allclose(p._data, q, rtol=0, atol=rtol * np.max(np.abs(q), initial=1.0))


@pytest.mark.torch
@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-12), ("float32", 1e-6)])
@pytest.mark.parametrize("name, options", CASES)
def test_updates_equal_pytorchs(name, options, dtype, rtol):
    p, q = parameters(dtype)
    ours, theirs = getattr(optim, name)(p, **options), theirs_of(name)(q, **options)
    steps(ours, theirs)
    assert_equal(ours, theirs, rtol)
    ours, theirs = (cls(x).param_groups[0] for cls, x in ((getattr(optim, name), p), (theirs_of(name), q)))
    assert {k: v for k, v in ours.items() if k != "params"} == {k: theirs[k] for k in ours if k != "params"}


@pytest.mark.torch
@pytest.mark.parametrize("name, options", CASES)
def test_checkpoints_load_from_and_into_pytorch(name, options):
    torch = pytest.importorskip("torch")
    p, q = parameters()
    ours, theirs = getattr(optim, name)(p, **options), theirs_of(name)(q, **options)
    steps(ours, theirs, count=6)
    resumed = getattr(optim, name)(p, lr=99.0)
    resumed.load_state_dict(theirs.state_dict())
    steps(resumed, theirs, first=6, count=6)
    assert_equal(resumed, theirs)
    tree = resumed.state_dict()
    saved = {i: {k: torch.tensor(v, dtype=torch.float64) for k, v in s.items()} for i, s in tree["state"].items()}
    theirs = theirs_of(name)(q, **options)
    theirs.load_state_dict({"state": saved, "param_groups": theirs.state_dict()["param_groups"]})
    steps(resumed, theirs, first=12, count=6)
    assert_equal(resumed, theirs)


@pytest.mark.torch
@pytest.mark.parametrize("options", [
    dict(), dict(lr=0.1, nesterov=False, weight_decay=0.0, ns_steps=3, ns_coefficients=(3.0, -4.0, 2.0)),
    dict(lr=0.1, momentum=0.5, weight_decay=0.3, adjust_lr_fn="match_rms_adamw")])
def test_muon_equals_pytorchs(options, monkeypatch):
    """PyTorch rounds products to bfloat16; without that the results agree, and with it nearly."""
    torch = pytest.importorskip("torch")
    for atol in (0.05, 1e-12):
        p, q = parameters(shapes=[(5, 3), (4, 9), (6, 6)])
        ours, theirs = optim.Muon(p, **options), torch.optim.Muon(q, **options)
        steps(ours, theirs, count=8)
        for a, b in zip(p, q, strict=True):
            np.testing.assert_allclose(a._data, b.detach().numpy(), rtol=0, atol=atol * 8 * theirs.defaults["lr"])
        monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    assert ours.state_dict()["state"][1].keys() == theirs.state_dict()["state"][1].keys()
    resumed = optim.Muon(p, lr=99.0)
    resumed.load_state_dict(theirs.state_dict())
    steps(resumed, theirs, first=8, count=4)
    assert_equal(resumed, theirs)
    group = optim.Muon(p).param_groups[0]
    assert {k: v for k, v in group.items() if k != "params"} == torch.optim.Muon(q).defaults
