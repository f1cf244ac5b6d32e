"""No op or kernel reads or writes outside its arrays, which lie between protected pages.

TINYGRAD_LIKE_GUARDED_CASES sets the number of cases.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tinygrad_like.kernels import threads

CASES = os.environ.get("TINYGRAD_LIKE_GUARDED_CASES", "130")


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="needs mmap and mprotect")
@pytest.mark.parametrize("count", [1, 2])
def test_nothing_outside_the_arrays_is_touched(count):
    if count > threads.most:
        pytest.skip("needs two threads")
    program = Path(__file__).parent / "guarded.py"
    path = os.pathsep.join(filter(None, [str(program.parents[2]), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(program), "--cases", CASES, "--threads", str(count), "--seed", str(count)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    last = "\n".join([*done.stdout.splitlines()[-20:], done.stderr[-3000:]])
    assert done.returncode == 0, f"code {done.returncode}; if it died, then in the last case named here:\n{last}"
