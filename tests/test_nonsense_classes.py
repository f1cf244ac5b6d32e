"""Optimizers, schedulers, data sets, distributions and functional transforms, made and used with one nonsensical
argument, give a result, or an error that begins with the name of the call."""

import inspect
import re

import numpy as np
import pytest

import nn
import optim
from nn.utils import rnn
from optim import lr_scheduler
from tests.test_nonsense import ALLOWED, NONSENSE
from tinygrad_like import Tensor, data, func, manual_seed
from tinygrad_like import distributions as D

NONSENSE = [make(np.random.default_rng(0)) for make in NONSENSE]


def parameters():
    return [nn.Parameter(np.ones(shape, np.float32)) for shape in ((3, 2), (4,))]


def trained(make):
    def use(**options):
        optimizer = make(parameters()[:1 if make is optim.Muon else 2], **options)
        for _ in range(3):
            for p in optimizer.param_groups[0]["params"]:
                p.grad = Tensor(np.ones(p.shape, np.float32))
            optimizer.step()
    return use


def scheduled(make):
    def use(**options):
        optimizer = optim.SGD(parameters(), lr=0.1, momentum=0.9)
        scheduler = make(optimizer, **options)
        for _ in range(4):
            optimizer.step()
            scheduler.step(*[1.0] * (make is lr_scheduler.ReduceLROnPlateau))
    return use


def distribution(make):
    def use(*parameters, value, shape):
        d = make(*parameters)
        return d.sample(shape), d.log_prob(value), d.entropy(), repr(d)
    return use


X = Tensor(np.ones((6, 2)))
ROWS = Tensor(np.ones((4, 2, 3), np.float32))
V = Tensor(np.ones((1, 2, 4, 4, 4), np.float32))
OPTIMIZERS = [optim.SGD, optim.Adam, optim.AdamW, optim.RMSProp, optim.Adagrad, optim.Adadelta, optim.Adamax,
              optim.Adafactor, optim.Muon]
SCHEDULERS = {
    "StepLR": dict(step_size=2, gamma=0.1), "MultiStepLR": dict(milestones=[1, 2], gamma=0.1),
    "ExponentialLR": dict(gamma=0.9), "CosineAnnealingLR": dict(T_max=3, eta_min=0.0),
    "LinearLR": dict(start_factor=0.3, end_factor=1.0, total_iters=3),
    "OneCycleLR": dict(max_lr=0.1, total_steps=10, pct_start=0.3, anneal_strategy="cos", div_factor=25.0),
    "ReduceLROnPlateau": dict(mode="min", factor=0.1, patience=1, threshold=1e-4, threshold_mode="rel", cooldown=0,
                              min_lr=0.0, eps=1e-8),
}
CALLS = {  # the call, its arguments by position, and by name
    **{make.__name__: (trained(make), [], {"lr": 0.1} | {
        n: p.default for n, p in inspect.signature(make.__init__).parameters.items() if p.default is not p.empty})
       for make in OPTIMIZERS},
    **{name: (scheduled(getattr(lr_scheduler, name)), [], options) for name, options in SCHEDULERS.items()},
    "TensorDataset": (data.TensorDataset, [X, X], {}),
    "random_split": (data.random_split, [data.TensorDataset(X), [2, 4], None], {}),
    "RandomSampler": (lambda *a: list(data.RandomSampler(*a)), [X, False, None, None], {}),
    "WeightedRandomSampler": (lambda *a: list(data.WeightedRandomSampler(*a)), [[1.0, 2.0], 3, True, None], {}),
    "default_collate": (data.default_collate, [[X, X]], {}),
    "Normal": (distribution(D.Normal), [0.0, 1.0], dict(value=0.5, shape=(2,))),
    "Uniform": (distribution(D.Uniform), [0.0, 1.0], dict(value=0.5, shape=(2,))),
    "Bernoulli": (distribution(D.Bernoulli), [0.3, None], dict(value=1.0, shape=(2,))),
    "Categorical": (distribution(D.Categorical), [[0.3, 0.7], None], dict(value=1, shape=(2,))),
    "MultivariateNormal": (distribution(D.MultivariateNormal), [[0.0, 1.0], np.eye(2, dtype=np.float32), None, None],
                           dict(value=ROWS[0, 0, :2], shape=(2,))),
    "Independent": (D.Independent, [D.Normal(X, 1.0), 1], {}),
    "vmap": (lambda f, *how: func.vmap(f, *how)(X, X), [lambda a, b: a * b, 0, 0, "error"], {}),
    **{of.__name__: (lambda f, argnums, x, of=of: of(f, argnums)(x, X), [lambda a, b: (a * b).sum(), 0, X], {})
       for of in (func.jacrev, func.hessian, func.grad)},
    "jvp": (func.jvp, [lambda a: a * a, (X,), (X,)], {}),
    "vjp": (func.vjp, [lambda a: a * a, X], {}),
    "pad_sequence": (rnn.pad_sequence, [[ROWS[0], ROWS[1, :1]], False, 0.0, "right"], {}),
    "LSTM": (lambda *a: nn.LSTM(3, 4)(*a), [ROWS, None], {}),
    **{layer.__name__: (lambda *a, layer=layer: layer(*a)(V), list(a), {}) for layer, *a in (
        (nn.Conv3d, 2, 2, 2, 1, 0, 1, 1), (nn.ConvTranspose3d, 2, 2, 2, 1, 0, 0, 1), (nn.MaxPool3d, 2, 1, 0),
        (nn.AvgPool3d, 2, 1, 0), (nn.BatchNorm3d, 2, 1e-5, 0.1),
        (nn.InstanceNorm3d, 2, 1e-5), (nn.Dropout3d, 0.5), (nn.ConstantPad3d, 1, 0.0))},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_a_nonsensical_argument_gives_a_result_or_our_error(name):
    call, given, named = CALLS[name]
    found = []
    with np.errstate(all="ignore"):
        call(*given, **named)
        for where in [*range(len(given)), *named]:
            for value in NONSENSE:
                manual_seed(0)
                args = [value if where == i else x for i, x in enumerate(given)]
                try:
                    call(*args, **{n: value if where == n else x for n, x in named.items()})
                except Exception as error:
                    said = f"argument {where!r} = {value!r}: {type(error).__name__}: {error}"
                    if not isinstance(error, ALLOWED) or not re.match(r"(a )?[\w.]+(\(\))?: ", str(error)):
                        found.append(said)
    assert not found, "\n".join(found)
