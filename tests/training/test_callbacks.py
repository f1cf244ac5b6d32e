import sys

import numpy as np
import pytest

import nn
import optim
from tinygrad_like import manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import Callback, Log, fit

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


class Told:
    """All that a callback is told; it needs no base class."""

    def __init__(self):
        self.events = []

    def on_train_begin(self, run):
        self.events.append(("begin", run.epochs, len(run.rows), run.optimizer.steps))

    def on_step_end(self, run):
        self.events.append(("step", run.optimizer.steps, run.values))

    def on_epoch_end(self, run):
        self.events.append(("epoch", run.rows[-1]["epoch"], run.rows[-1]["loss"]))

    def on_train_end(self, run):
        self.events.append(("end", len(run.rows)))


def test_callbacks_are_told_of_steps_and_epochs():
    told = Told()
    rows, after = run(callbacks=[Callback(), told], accumulate=2)
    assert [event[:2] for event in told.events] == [
        ("begin", 2), ("step", 1), ("step", 2), ("epoch", 1), ("step", 3), ("step", 4), ("epoch", 2), ("end", 2)]
    losses = [event[2]["loss"] for event in told.events if event[0] == "step"]
    assert losses[:2] @ np.array([2 / 3, 1 / 3]) == pytest.approx(rows[0]["loss"])
    assert {*told.events[1][2]} == {"loss", "accuracy"}
    assert np.array_equal(run(accumulate=2)[1], after)  # they change nothing


def test_a_callback_stops_the_run_and_adds_to_its_rows():
    class Enough(Callback):
        def on_step_end(self, run):
            if run.optimizer.steps == 4:
                run.stop()

        def on_epoch_end(self, run):
            run.rows[-1]["steps"] = run.optimizer.steps

    rows, _ = run(epochs=9, callbacks=[Enough()])
    assert [row["steps"] for row in rows] == [3, 6]


def test_the_state_of_a_callback_is_part_of_the_checkpoint(tmp_path):

    class Counter(Callback):
        def __init__(self):
            self.steps = 0

        def on_step_end(self, run):
            self.steps += 1

        def state_dict(self):
            return {"steps": self.steps}

        def load_state_dict(self, state):
            self.steps = state["steps"]

    path, first, second = tmp_path / "c", Counter(), Counter()
    run(callbacks=[first], checkpoint=path)
    rows, weights = run(epochs=4, callbacks=[second], resume=path)
    assert (first.steps, second.steps, len(rows)) == (6, 12, 4)
    assert np.array_equal(weights, run(epochs=4)[1])  # a run that was over went on to the bit
    with pytest.raises(ValueError, match="has no 'callback0'"):
        run(checkpoint=path)
        run(epochs=3, callbacks=[Counter()], resume=path)


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

    class Fails(Callback):
        def on_step_end(self, run):
            raise OverflowError

    with pytest.raises(OverflowError):
        run(callbacks=[Fails()], progress=True)
    assert terminal.lines() == [""] and sys.stderr is terminal
