"""SIGKILL of a random rank at random times: the job ends, and goes on to the same end, bit by bit.

TINYGRAD_LIKE_KILLS says how often; run as a program, this file does it 50 times, and prints a line for each:

    python tests/distributed/test_kill.py [TIMES]
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from conftest import start  # noqa: E402

TIMES = int(os.environ.get("TINYGRAD_LIKE_KILLS", 2))
RANKS, SOON = 3, 10


def finish(process, seconds=300):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def ranks_of(folder: Path) -> list[int]:
    """The processes that have told their ids."""
    return [int(path.suffix[1:]) for path in sorted(folder.glob("pid.*"))]


def killed(folder: Path, chance: random.Random) -> str:
    """Start or resume the job, kill a rank at a random time, and check how it ends; "over" if it was done before."""
    for path in folder.glob("pid.*"):
        path.unlink()
    process = start(RANKS, "killed.py", folder)
    try:
        end = time.monotonic() + 60
        while len(ranks_of(folder)) < RANKS and time.monotonic() < end and process.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 3))
        pids = ranks_of(folder)
        assert pids, finish(process, 60)
        victim = chance.choice(pids)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
        begun = time.monotonic()
        status, out, err = finish(process, 60)
    finally:
        process.kill()
    if "done" in out:
        assert status == 0 or time.monotonic() - begun < SOON
        return "over"
    took = time.monotonic() - begun
    assert status != 0 and took < SOON, (status, took, err)
    assert "Traceback" not in err, err
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]
    return f"a rank of {RANKS} was killed, and the job ended {took:.1f} s later"


def result(folder: Path) -> dict[str, np.ndarray]:
    return dict(np.load(folder / "result.npz"))


def kill_and_compare(folder: Path, times: int, seed: int, tell=lambda text: None) -> int:
    """Kill, resume, kill, ... and when a run is over, compare it with one that was left alone, and begin anew."""
    (folder / "whole").mkdir()
    status, _, err = finish(start(RANKS, "killed.py", folder / "whole"))
    assert status == 0, err
    whole, chance, kills, runs = result(folder / "whole"), random.Random(seed), 0, 0
    while kills < times or not runs:
        here = folder / f"run{runs}"
        here.mkdir(exist_ok=True)
        if kills < times:
            what = killed(here, chance)
        else:
            what, (status, _, err) = "over", finish(start(RANKS, "killed.py", here))
            assert status == 0, err
        kills += what != "over"
        tell(f"{kills}: {what}")
        if what == "over":
            runs += 1
            for name, expected in whole.items():
                assert result(here)[name].tobytes() == expected.tobytes(), name
    return runs


@pytest.mark.slow
def test_a_job_with_a_killed_rank_ends_and_goes_on_to_the_same_bits(tmp_path, job):
    assert kill_and_compare(tmp_path, TIMES, seed=os.getpid()) > 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runs = kill_and_compare(folder, int(sys.argv[1]) if len(sys.argv) > 1 else 50, 0,
                                lambda text: print(text, flush=True))
        print(f"{runs} runs came to their end, all with the weights of a run that was left alone")
        chance = random.Random(1)
        for ranks in (1, 2, 4):
            here = folder / f"on {ranks}"
            here.mkdir()
            while killed(here, chance) == "over" or not (here / "run.ckpt").exists():
                shutil.rmtree(here)
                here.mkdir()
            status, _, err = finish(start(ranks, "killed.py", here))
            assert status == 0, err
            found, expected = result(here), result(folder / "whole")
            print(f"killed on {RANKS} ranks, resumed on {ranks}: numbers differ by at most "
                  f"{max(np.abs(found[name] - expected[name]).max() for name in expected):.1e}", flush=True)
