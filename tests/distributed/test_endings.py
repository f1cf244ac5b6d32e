"""An error on one rank soon ends the job on all ranks and is reported once; the run can be resumed."""

import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SOON = 15  # seconds from the event to the end of the job


def since_event(folder):
    return time.time() - (folder / "event").stat().st_mtime


def weights(folder, name):
    return dict(np.load(folder / f"{name}.npz"))


@pytest.mark.parametrize("what, message", [
    ("error", "ValueError: something is wrong"), ("error on all", "ValueError: all have it"),
    ("exit", "this process has ended, with status 3"), ("before", "No space left on device"),
    ("after", "ValueError: after training"), ("exit outside", "this process has ended, with status 5"),
    ("other model", "ValueError: the ranks of this job do not agree on the model: rank 0 has '0.weight (16, 6)"),
])
def test_an_error_ends_the_job_and_is_reported_once(job, tmp_path, what, message):
    status, out, err = job(2, "endings.py", what, tmp_path)
    assert status != 0
    assert len(re.findall(rf"^(?!\s).*{re.escape(message)}", err, re.M)) == 1, err
    assert ("rank 1 of 2" in err) == (what not in ("error on all", "other model"))
    assert ("is done" in out) == (what == "after")
    if (tmp_path / "event").exists():
        assert since_event(tmp_path) < SOON


def press_ctrl_c(process):
    """Like a terminal, once the first epochs are over; mpiexec passes it on."""
    end = time.monotonic() + 60
    while not (Path(process.args[-1]) / "event").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of an uninterrupted run of one process."""
    return tmp_path_factory.mktemp("whole")


@pytest.mark.parametrize("what, ranks", [("SIGINT", 3), ("SIGKILL", 1), ("slow", 1)])
def test_a_signal_ends_the_job_and_another_number_of_ranks_resumes_the_run(job, tmp_path, whole, what, ranks):
    """Ctrl-C on one rank, or on mpiexec, saves the current step; other signals leave the last epoch's checkpoint."""
    if not (whole / "whole0.npz").exists():
        assert job(1, "endings.py", "whole", whole)[0] == 0
    status, out, err = job(2, "endings.py", what, tmp_path, meanwhile=press_ctrl_c if what == "slow" else None)
    assert status != 0 and "is done" not in out and since_event(tmp_path) < SOON
    assert err.count("KeyboardInterrupt\n") == (what in ("SIGINT", "slow")) and "rank 1 of 2" not in err
    status, _, err = job(ranks, "endings.py", "resume", tmp_path)
    assert status == 0, err
    one, several = weights(whole, "whole0"), weights(tmp_path, "resume0")
    for key in one:
        assert np.abs(one[key] - several[key]).max() < 1e-5
    rows = [(folder / "run.csv").read_text().split("\n") for folder in (whole, tmp_path)]
    assert len(rows[0]) == len(rows[1]) == 8
