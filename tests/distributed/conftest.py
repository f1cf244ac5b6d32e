"""Tests start real MPI jobs, with more ranks than there may be cores."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def command(ranks: int, script: str, *args) -> list[str]:
    """The command to run a script of this folder, or with -m a module, on `ranks` ranks; without MPI on 1."""
    what = ["-m", script] if script.startswith("demos.") else [str(HERE / script)]
    return [*([MPIEXEC, "-n", str(ranks)] if ranks > 1 else []), sys.executable, *what, *map(str, args)]


def start(ranks: int, script: str, *args, **options) -> subprocess.Popen:
    if MPIEXEC is None:
        pytest.skip("needs the extra `distributed`")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    return subprocess.Popen(command(ranks, script, *args), cwd=ROOT, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.fixture
def job():
    """A function (ranks, script, *args) -> (status, stdout, stderr) that runs a job, and ends it if it takes too long.

    meanwhile: called with the process of mpiexec.
    """
    running = []

    def run(ranks: int, script: str, *args, seconds: float = 300, meanwhile=None) -> tuple[int, str, str]:
        running.append(start(ranks, script, *args))
        if meanwhile is not None:
            meanwhile(running[-1])
        out, err = running[-1].communicate(timeout=seconds)
        return running[-1].returncode, out, err

    yield run
    for process in running:
        if process.poll() is None:
            process.kill()
            process.communicate()
