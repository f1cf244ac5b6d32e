"""What goes wrong on one rank ends the job on all of them, soon, and is told once; the checkpoint goes on."""

import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SOON = 10  # seconds from what happens to the end of the job


def since_event(folder, happened=True):
    return time.time() - (folder / "event").stat().st_mtime if happened else 0


def weights(folder, name):
    return dict(np.load(folder / f"{name}.npz"))


@pytest.mark.parametrize("what, message", [
    ("error", "ValueError: something is wrong"), ("error on all", "ValueError: all have it"),
    ("exit", "this process has ended, with status 3"), ("SystemExit", "this process has ended, with status 4"),
    ("nan", "FloatingPointError: train_epoch: the loss is nan"), ("before", "No space left on device"),
    ("after", "ValueError: after training"),
])
def test_an_error_ends_the_job_and_is_told_once(job, tmp_path, what, message):
    status, out, err = job(3, "endings.py", what, tmp_path)
    assert status != 0 and since_event(tmp_path, what != "before") < SOON
    assert len(re.findall(rf"^(?!\s).*{re.escape(message)}", err, re.M)) == 1, err
    assert ("rank 2 of 3" in err) == (what != "error on all")
    assert ("is done" in out) == (what == "after")


@pytest.mark.parametrize("what, message", [
    ("other model", r"the model: rank 0 has '0.weight \(16, 6\) float32', rank 1 '0.weight \(17, 6\) float32'"),
    ("other data", r"the data: rank 0 has 'array \(400,\) int64, checksum"),
    ("other optimizer", "the optimizer: rank 0 has '.*lr=0.1, "), ("other steps", "the data: rank 0 has '8 batches'"),
    ("other options", "the options: rank 0 has 'epochs=6', rank 1 'epochs=7'"),
])
def test_ranks_that_disagree_are_told_so_before_the_first_step(job, tmp_path, what, message):
    status, _, err = job(2, "endings.py", what, tmp_path)
    told = re.findall(f"^ValueError: the ranks of this job do not agree on {message}", err, re.M)
    assert status == 1 and len(told) == 1, err
    assert not (tmp_path / "run.ckpt").exists()


def press_ctrl_c(process):
    """As a terminal does, once the first epochs are over: mpiexec passes it on."""
    end = time.monotonic() + 60
    while not (Path(process.args[-1]) / "event").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)


@pytest.mark.parametrize("what", ["SIGINT", "SIGKILL", "SIGTERM", "slow"])
def test_a_signal_ends_the_job_and_the_run_goes_on_with_another_number_of_ranks(job, tmp_path, what):
    """Ctrl-C on one rank, or of mpiexec, saves the step it comes in; the others leave the last epoch's checkpoint."""
    (tmp_path / "whole").mkdir()
    assert job(1, "endings.py", "whole", tmp_path / "whole")[0] == 0
    status, out, err = job(3, "endings.py", what, tmp_path, meanwhile=press_ctrl_c if what == "slow" else None)
    assert status != 0 and "is done" not in out and since_event(tmp_path) < SOON
    assert err.count("KeyboardInterrupt\n") == (what in ("SIGINT", "slow"))
    status, _, err = job(2, "endings.py", "resume", tmp_path)
    assert status == 0, err
    one, several = weights(tmp_path / "whole", "whole0"), weights(tmp_path, "resume0")
    for key in one:
        assert np.abs(one[key] - several[key]).max() < 1e-5
    rows = [(folder / "run.csv").read_text().split("\n") for folder in (tmp_path / "whole", tmp_path)]
    assert len(rows[0]) == len(rows[1]) == 8
