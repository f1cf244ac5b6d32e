"""Run the Python programs of pages with the installed package, outside the tree: PYTHON tests/wheel.py README.md ...

Each runs in its own process and an empty folder. The exit status is 1 if one fails, if the packages are those of the
tree, or, with --compiled as the first argument, if one compiles a kernel although the wheel has kernels for this
processor.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
AVAILABLE = "from tinygrad_like.kernels import machine; print(machine.levels())"
WHERE = "import nn, optim, tinygrad_like; print(nn.__file__, optim.__file__, tinygrad_like.__file__, sep='\\n')"


compiled = False


def run(code: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        environment |= {"NUMBA_CACHE_DIR": cache} if compiled else {}
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
        kernels = [path.name for path in Path(cache).rglob("*.kernel")]
    if done.returncode or kernels:
        raise SystemExit(f"{code}\n{done.stderr}" + "".join([f"\nit compiled {name}" for name in kernels]))
    return done.stdout


pages = sys.argv[1:]
compiled = pages[0] == "--compiled" and run(AVAILABLE).strip() != "[]"


places = run(WHERE).split()
if any(Path(place).is_relative_to(HERE) for place in places):
    raise SystemExit(f"these packages are not the installed ones: {places}")
programs = [code for page in pages if page != "--compiled"
            for code in re.findall(r"^```python\n(.*?)^```", Path(page).read_text(), re.M | re.S)]
for program in programs:
    run(program)
print(f"{len(programs)} programs ran with {places[-1]}")
