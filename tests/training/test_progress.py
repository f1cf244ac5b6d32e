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


def run(epochs=2, **options):
    manual_seed(0)
    model = nn.MLP([6, 16, 3])
    return fit(model, DataLoader(X, Y, batch_size=30, shuffle=True), nn.CrossEntropyLoss(),
               optim.SGD(model.parameters(), lr=0.1, momentum=0.9), epochs, **options)


def test_progress_is_a_bar_and_few_rows_on_stderr(on_terminal, capsys):
    run(epochs=300)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and lines[0].split()[:2] == ["epoch", "loss"] and lines[1].split()[0] == "1"
    assert lines[-1].split()[0] == "300" and len(lines) < 200
    terminal = on_terminal()
    run(epochs=3)
    assert "examples/s" in terminal.getvalue() and capsys.readouterr().out == ""
    assert [line.split()[0] for line in terminal.lines() if line][-1] == "3"


def test_progress_can_be_turned_off(capsys):
    run(progress=False)
    with Log(quiet=True) as log:
        run(log=log)
    assert capsys.readouterr() == ("", "") and len(log.rows) == 2


def test_a_failed_run_leaves_no_line(on_terminal):
    terminal = on_terminal()

    def fails(output, y):
        raise OverflowError

    with pytest.raises(OverflowError):
        run(metrics={"accuracy": fails})
    assert terminal.lines() == [""] and sys.stderr is terminal
