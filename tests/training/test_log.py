import csv
import math
import os
import re
import sys

import pytest

from tinygrad_like.training import Log


def row(epoch, loss=0.5):
    return {"epoch": epoch, "loss": loss, "test_accuracy": 0.875, "lr": 0.001, "seconds": 0.25,
            "examples_per_second": 12345.6}


def written(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rows_are_printed_for_readers(capsys):
    with Log() as log:
        log.begin(steps=4)
        log.epoch(row(1))
        log.step(10, loss=0.3)
        log.epoch(row(2, math.nan))
    assert capsys.readouterr().out.splitlines() == [
        "epoch      loss  test acc        lr   seconds  examples/s",
        "    1    0.5000    87.50%  1.00e-03     0.250      12,346",
        "    2       nan    87.50%  1.00e-03     0.250      12,346",
    ]


def test_each_epoch_is_in_the_csv_file_at_once(tmp_path):
    path = tmp_path / "new" / "folders" / "log.csv"
    log = Log(path, quiet=True)
    log.begin(steps=2)
    for epoch in (1, 2):
        log.epoch(row(epoch))
        assert [int(r["epoch"]) for r in written(path)] == list(range(1, epoch + 1))
    assert float(written(path)[0]["examples_per_second"]) == 12345.6
    log.close()


def test_the_csv_file_gains_a_column_when_a_row_does(tmp_path):
    with Log(tmp_path / "log.csv", quiet=True) as log:
        log.begin(steps=4)
        log.epoch({"epoch": 1, "loss": 0.5})
        log.epoch({"epoch": 2, "accuracy": 0.9, "loss": 0.4})
        log.epoch({"epoch": 3, "loss": 0.3})
        assert list(written(tmp_path / "log.csv")[0]) == ["epoch", "loss", "accuracy"]
        assert [tuple(r.values()) for r in written(tmp_path / "log.csv")] == [
            ("1", "0.5", ""), ("2", "0.4", "0.9"), ("3", "0.3", "")]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_reported_with_the_files_name(tmp_path):
    (tmp_path / "log.csv").symlink_to("/dev/full")
    log = Log(tmp_path / "log.csv", quiet=True)
    with pytest.raises(OSError, match=r"Log: .*log.csv could not be written \(No space left on device\)"):
        log.epoch(row(1))


def test_a_resumed_runs_csv_file_has_only_the_checkpoints_rows(tmp_path):
    for rows, epochs in ([], (1, 2, 3)), ([row(1), row(2)], (3, 4)), ([], (1,)):
        with Log(tmp_path / "log.csv", quiet=True) as log:
            log.begin(steps=4, rows=rows)
            for epoch in epochs:
                log.epoch(row(epoch))
        assert [int(r["epoch"]) for r in written(tmp_path / "log.csv")] == list(range(1, epochs[-1] + 1))


def test_the_picture_is_drawn_now_and_then_and_at_the_end():
    def drawings(seconds):
        drawn = []
        with Log(quiet=True, picture=lambda rows: drawn.append(len(rows)), picture_seconds=seconds) as log:
            log.begin(steps=3)
            for epoch in (1, 2, 3):
                log.epoch(row(epoch))
        return drawn

    assert drawings(0) == [1, 2, 3] and drawings(3600) == [3]


def test_the_bar_shows_loss_metric_and_speed(on_terminal, capsys):
    terminal = on_terminal()
    with Log(title="mlp") as log:
        log.begin(steps=10, done=4)
        log.step(50, loss=1.5, accuracy=0.25)
        assert re.fullmatch(r"mlp   50% \[#{10} {10}\]  0:00 left  loss 1.5000  accuracy 25.00%  [\d,]+ examples/s",
                            terminal.lines()[-1]), terminal.lines()
        log.step(50, loss=1.0, accuracy=0.5)
        log.epoch(row(1))
        assert terminal.lines() == [""]  # out of the way of the row
    assert capsys.readouterr().out.count("\n") == 2


def test_the_bar_moves_ten_times_a_second_and_knows_the_speed(on_terminal, monkeypatch):
    """In a resumed run only the new steps count."""
    terminal, now = on_terminal(), [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    log, seen = Log(), []
    log.begin(steps=10, done=4)
    for seconds in (2.0, 0.05, 1.95):
        now[0] += seconds
        log.step(50, loss=1.0)
        seen.append(re.sub(r" \[.*\]|loss 1.0000 ", "", terminal.lines()[-1]).split())
    assert seen == [["50%", "0:10", "left", "25", "examples/s"]] * 2 + [["70%", "0:04", "left", "38", "examples/s"]]
    log.close()
    log.begin(steps=1)
    now[0] += 2
    log.step(2)
    assert terminal.lines()[-1].split() == ["100%", "[####################]", "0:00", "left", "1", "examples/s"]


def test_a_brief_log_prints_a_row_a_second_and_the_last(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    with Log(brief=True) as log:
        for epoch, seconds in enumerate((0, 0.9, 0.9, 0.9), 1):
            now[0] += seconds
            log.epoch({"epoch": epoch})
        now[0] += 1.5
        log.epoch({"epoch": 5})
        log.epoch({"epoch": 6})
    assert capsys.readouterr() == ("", "epoch\n    1\n    3\n    5\n    6\n")


def test_the_bar_fits_into_one_line(on_terminal):
    terminal = on_terminal(30)
    with Log(title="a long title") as log:
        log.begin(steps=2)
        log.step(10, loss=0.5)
        assert terminal.lines() == [terminal.lines()[0][:29]] and terminal.lines()[0].startswith("a long title   50%")


def test_tensorboard_reads_the_log(tmp_path):
    pytest.importorskip("tensorboardX")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    for rows, epochs in ([], (1, 2, 3)), ([row(1), row(2)], (3, 4)):  # killed after 3, resumed after 2
        with Log(quiet=True, tensorboard=tmp_path / "events") as log:
            log.begin(steps=4, rows=rows)
            for epoch in epochs:
                log.epoch(row(epoch, loss=1 / epoch))
    events = accumulator.EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    assert set(events.Tags()["scalars"]) == {"loss", "test_accuracy", "lr", "seconds", "examples_per_second"}
    points = [(e.step, e.value) for e in events.Scalars("loss")]
    assert points == [(epoch, pytest.approx(1 / epoch)) for epoch in (1, 2, 3, 4)]


def test_a_missing_tensorboardx_raises_at_once(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match="tinygrad-like.tensorboard"):
        Log(tensorboard=tmp_path)
