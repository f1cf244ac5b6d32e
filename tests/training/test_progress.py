import sys

import numpy as np
import pytest

import nn
import optim
from tinygrad_like import manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import Log, fit

rng = np.random.default_rng(0)
X = rng.standard_normal((90, 6)).astype(np.float32)
Y = (X @ rng.standard_normal((6, 3))).argmax(axis=1)


def run(epochs=2, batch_size=30, setup=None, **options):
    manual_seed(0)
    model = nn.MLP([6, 16, 3])
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rows = fit(model, DataLoader(X, Y, batch_size=batch_size, shuffle=True), nn.CrossEntropyLoss(), optimizer, epochs,
               **{"progress": False, **options})
    return rows, np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])


def test_one_line_of_progress_by_default(on_terminal, capsys):
    terminal = on_terminal()
    run(epochs=3, progress=True)
    line, = [line for line in terminal.lines() if line]
    assert line.startswith("epoch 3  loss 0.") and "train_accuracy" in line
    assert "epoch 1" in terminal.getvalue() and "examples/s" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_progress_without_a_terminal_and_without_progress(capsys):
    run(epochs=3, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("epoch 3  loss") and len(lines) <= 3
    run(progress=False)
    assert capsys.readouterr() == ("", "")
    with Log(quiet=True) as log:
        run(log=log)
    assert capsys.readouterr() == ("", "") and len(log.rows) == 2


def test_a_run_that_fails_leaves_no_line(on_terminal):
    terminal = on_terminal()

    def fails(output, y):
        raise OverflowError

    with pytest.raises(OverflowError):
        run(metrics={"accuracy": fails}, progress=True)
    assert terminal.lines() == [""] and sys.stderr is terminal
