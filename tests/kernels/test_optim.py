"""Kernels of optimizers against their formulas, with random options, on one thread and on several."""

import numpy as np
import pytest

import optim
from optim.optimizer import fused_update
from tinygrad_like import Tensor
from tinygrad_like.kernels.kinds import Table

OPTIONS = {  # for each option a range of numbers, or a list of choices
    optim.SGD: dict(lr=(0.01, 0.3), momentum=[0.0, 0.9, 0.5], dampening=[0.0, 0.3], weight_decay=[0.0, 0.1],
                    nesterov=[False, True], maximize=[False, True]),
    optim.Adam: dict(lr=(0.001, 0.03), betas=(0.5, 0.999), eps=(1e-8, 1e-2), weight_decay=[0.0, 0.1],
                     amsgrad=[False, True], maximize=[False, True]),
    optim.AdamW: dict(lr=(0.001, 0.03), betas=(0.5, 0.999), eps=(1e-8, 1e-2), weight_decay=[0.0, 0.3],
                      amsgrad=[False, True], maximize=[False, True]),
    optim.RMSProp: dict(lr=(0.001, 0.03), alpha=(0.5, 0.99), eps=(1e-3, 1e-2), weight_decay=[0.0, 0.1],
                        momentum=[0.0, 0.9], centered=[False, True], maximize=[False, True]),
    optim.Adamax: dict(lr=(0.001, 0.03), betas=(0.5, 0.999), eps=(1e-3, 1e-2), weight_decay=[0.0, 0.1],
                       maximize=[False, True]),
    optim.Adagrad: dict(lr=(0.001, 0.3), lr_decay=[0.0, 0.1], weight_decay=[0.0, 0.1], eps=(1e-3, 1e-2),
                        initial_accumulator_value=[0.0, 0.5], maximize=[False, True]),
    optim.Adadelta: dict(lr=(0.1, 1.0), rho=(0.5, 0.99), eps=(1e-4, 1e-2), weight_decay=[0.0, 0.1],
                         maximize=[False, True]),
}
SHAPES = [(3, 5), (1,), (), (0,), (17,), (130, 130), (700, 300)]  # of every tail length, serial and parallel


def drawn(rng, options):
    found = {name: rng.choice(of).item() if isinstance(of, list) else float(rng.uniform(*of))
             for name, of in options.items()}
    if "betas" in found:
        found["betas"] = found["betas"], float(rng.uniform(*options["betas"]))
    if found.get("nesterov") and found["momentum"]:
        found["dampening"] = 0.0
    return found if found.get("momentum") else {**found, **({"nesterov": False} if "nesterov" in found else {})}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cls", OPTIONS, ids=lambda cls: cls.__name__)
def test_the_kernel_equals_the_formula(cls, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    options, shapes = drawn(rng, OPTIONS[cls]), SHAPES[:5] if seed else SHAPES
    values = [rng.standard_normal(shape) for shape in shapes]
    dtype, tolerance = ("float64", 1e-12) if seed % 3 == 1 else ("float32", 1e-5)
    fast, exact = ([Tensor(v.astype(kind), requires_grad=True) for v in values] for kind in (dtype, "float64"))
    a, b = (cls([{"params": params[::2]}, {"params": params[1::2], "lr": options["lr"] / 2}], **options)
            for params in (fast, exact))
    assert fused_update(cls.update, fast[0].dtype) and not fused_update(optim.Muon.update, fast[0].dtype)
    for n in range(5):
        for p, q in zip(fast, exact, strict=True):
            g = rng.standard_normal(p.shape).astype(dtype)
            p.grad, q.grad = (None, None) if n == 2 and p is fast[0] else (Tensor(g), Tensor(g.astype("float64")))
        a.step()
        with monkeypatch.context() as patched:
            patched.setattr("optim.optimizer.fused_update", lambda *_: None)
            b.step()
    for p, q in zip(fast, exact, strict=True):
        np.testing.assert_allclose(p._data, q._data, rtol=tolerance, atol=tolerance, err_msg=str(options))
        assert a._states[p].keys() == b._states[q].keys()
        for name, value in a._states[p].items():
            np.testing.assert_allclose(value, b._states[q][name], rtol=2 * tolerance, atol=tolerance, err_msg=name)
    assert a.steps == b.steps == 5


def test_an_overridden_formula_has_no_kernel():
    class Adam(optim.Adam):
        def update(self, x, g, state, lr, **options):
            x -= lr

    x = Tensor(np.zeros(3, "float32"), requires_grad=True)
    x.grad = Tensor([1.0, 2.0, 3.0])
    Adam([x], lr=0.5).step()
    assert x.tolist() == [-0.5] * 3


def test_nan_stays_nan():
    x = Tensor(np.ones(3, "float32"), requires_grad=True)
    optimizer = optim.Adam([x], lr=0.1, amsgrad=True)
    for _ in range(2):
        x.grad = Tensor([1.0, np.nan, 1.0])
        optimizer.step()
    assert np.isnan(x._data).tolist() == [False, True, False]


def locked(a):
    a.flags.writeable = False
    return a


@pytest.mark.parametrize("wrong", [
    np.zeros((3, 4)), np.zeros((3, 4), ">f4"), np.zeros((4, 3), np.float32).T, np.zeros((3, 8), np.float32)[:, ::2],
    np.zeros((4, 3), np.float32), np.zeros(3, np.float32), np.zeros((3, 4, 1), np.float32), np.zeros(12, np.float32),
    np.zeros((3, 5), np.float32), np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.float32(0),
    np.zeros((3, 4), np.float32).view(np.recarray), np.zeros(13, np.int8)[1:].view(np.float32).reshape(3, 1),
    np.zeros(49, np.int8)[1:].view(np.float32).reshape(3, 4), [0.0] * 12, None, 3,
])
def test_unsuitable_rows_are_recognized(wrong):
    right, numbers = np.zeros((3, 4), np.float32), np.zeros(2)
    good = (*(right,) * 4, np.array(1), numbers)
    assert Table([good]).suited
    for i in range(2 if wrong is None else 5):
        assert not Table([good, (*good[:i], wrong, *good[i + 1:])]).suited
        assert not Table([(*good[:i], wrong, *good[i + 1:]), good]).suited


def test_suitable_rows_are_recognized():
    right, other, last = np.zeros((3, 4), np.float32), np.zeros((), np.float32), (np.array(1), locked(np.zeros(2)))
    good = (right, locked(np.zeros((3, 4), np.float32)), right, None, *last)
    assert Table([good]).suited and Table([good, (other, other, None, other, None, last[1]), good]).suited
    assert not Table([(right, right, locked(np.zeros((3, 4), np.float32)), right, *last)]).suited
    assert not Table([(good[1], right, right, right, *last)]).suited
    assert not Table([(right, None, right, right, *last)]).suited
    assert not Table([(right, right, right, right, locked(np.array(1)), last[1])]).suited
