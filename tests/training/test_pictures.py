"""The learning-rate range test, and pictures of predictions."""

import re
import sys

import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor, get_rng_state, manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import find_lr, fit, show

rng = np.random.default_rng(0)
X = rng.standard_normal((90, 6)).astype(np.float32)
Y = (X @ rng.standard_normal((6, 3))).argmax(axis=1)


def setup(**options):
    manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 3))
    return (model, DataLoader(X, Y, batch_size=30, shuffle=True), nn.CrossEntropyLoss(),
            optim.SGD(model.parameters(), **{"lr": 0.1, "momentum": 0.9, **options}))


def test_it_finds_a_rate_that_learns_and_stops_where_the_loss_diverges():
    found = find_lr(*setup(), end=1e4)
    n = len(found.lrs)
    assert 20 < n < 100 and len(found.losses) == len(found.smoothed) == n
    np.testing.assert_allclose(found.lrs[1:] / found.lrs[:-1], 1e10 ** (1 / 99))
    assert 1e-4 < found.suggestion < 1 and found.suggestion in found.lrs
    losses = {}
    for factor in (1e-3, 1):
        model, loader, criterion, optimizer = setup(lr=factor * found.suggestion)
        losses[factor] = fit(model, loader, criterion, optimizer, 10, progress=False)[-1]["loss"]
    assert losses[1] < 0.7 * losses[1e-3]


def test_nothing_is_changed():
    model, loader, criterion, optimizer = setup()
    fit(model, loader, criterion, optimizer, 1, progress=False)
    before = {name: t.numpy().copy() for name, t in model.state_dict().items()}
    state, rate, steps, generator = optimizer.state_dict(), optimizer.lr, optimizer.steps, get_rng_state()
    find_lr(model, loader, criterion, optimizer, steps=12)
    assert all(np.array_equal(before[name], t.numpy()) for name, t in model.state_dict().items())
    assert (optimizer.lr, optimizer.steps) == (rate, steps) and str(optimizer.state_dict()) == str(state)
    assert str(get_rng_state()) == str(generator)


def test_bad_arguments_of_find_lr():
    model, loader, criterion, optimizer = setup()
    for options in ({"start": 0.0}, {"start": 1.0, "end": 0.1}, {"steps": 3}):
        with pytest.raises(ValueError, match="must be 0 < start < end, and steps=.* at least 10"):
            find_lr(model, loader, criterion, optimizer, **options)
    with pytest.raises(ValueError, match="the loader gave no batch"):
        find_lr(model, [], criterion, optimizer)
    with pytest.raises(FloatingPointError, match="the batch itself is not finite"):
        find_lr(model, [(Tensor(X * np.nan), Tensor(Y))], criterion, optimizer)


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    find_lr(*setup(), steps=20).show(tmp_path / "lr.png")
    images = rng.random((12, 1, 5, 5)).astype(np.float32)
    model = nn.Sequential(nn.Flatten(), nn.Linear(25, 3))
    figure = show(model, images, np.arange(12) % 3, tmp_path / "new" / "images.png", count=4, names=["a", "b", "c"])
    assert (tmp_path / "lr.png").stat().st_size > 5000 and (tmp_path / "new" / "images.png").stat().st_size > 5000
    titles = [axes.get_title() for part in figure.subfigs for axes in part.axes]
    losses = [float(title.rpartition("loss ")[2]) for title in titles]
    assert len(titles) == 8 and losses[:4] == sorted(losses[:4])[::-1] and losses[4:] == sorted(losses[4:])
    assert all(re.match(r"row \d+\nis [abc]\nsays [abc] \(\d+%\)\nloss ", title) for title in titles)
    expected = nn.functional.cross_entropy(model(Tensor(images)), Tensor(np.arange(12) % 3), reduction="none").data
    assert losses[0] == pytest.approx(expected.max(), rel=0.05) and losses[4] == pytest.approx(expected.min(), rel=0.05)


def test_show_of_numbers(tmp_path):
    pytest.importorskip("matplotlib")
    figure = show(nn.Linear(6, 1), X, X[:, :1], count=3)
    assert len(figure.subfigs[0].axes) == 3 and "says" in figure.subfigs[0].axes[0].get_title()
    assert [axes.get_xlabel() for axes in figure.subfigs[1].axes] == ["position", "", ""]
    show(nn.Linear(6, 2), X, X[:, :2], count=3, loss=lambda z, y: np.abs(z - y).max(1))
    show(nn.Conv2d(3, 3, 1), rng.random((4, 3, 5, 5)).astype("f"), rng.random((4, 3, 5, 5)).astype("f"), count=9)


def test_what_cannot_be_shown(monkeypatch):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match=r"y must be classes \(n,\), or of the output's shape \(90, 3\)"):
        show(nn.Linear(6, 3), X, X[:, :2])
    with pytest.raises(ValueError, match="the loss must give one number for each of the 90 examples"):
        show(nn.Linear(6, 3), X, Y, loss=lambda z, y: z)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"show needs matplotlib: pip install 'tinygrad-like\[pictures\]'"):
        show(nn.Linear(6, 3), X, Y)
