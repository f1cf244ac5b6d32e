"""Remove rings and run the remaining tests: python -m tests.rings [ring ...] [--all]

Each ring that the engine uses in every call is removed by itself, the outer rings together; test_rings.py removes each
of them. The tree is copied without the folder tinygrad_like/<ring>, and the tests run in the copy. No list says which
tests belong to the ring and so do not run. They are

- those in tests/<ring>,
- those that import the ring, or use something only it has (a public name of the package, a method that compat adds),
- and those marked `needs(ring)`, where nothing else shows it.

If the packages themselves ask for a missing ring, that is an error: see `needs` in conftest.py. In the engine's folders
every second test function runs: its first case, and a share of the others that differs by ring. --all runs all tests,
also slow ones.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tinygrad_like.rings import RINGS

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(".*", "build", "runs", "*.egg-info")  # .pyc files are copied
INNER = "kernels", "capture", "compat"  # rings that the engine uses in every call
GROUPS = [[ring] for ring in INNER] + [[ring for ring in RINGS if ring not in INNER]]
SHARES = 24  # every 24th case of a function runs, besides the first
ENGINE = "core", "transforms", "ops", "nn", "optim"  # must work without any ring


def without(*rings: str, folder: Path) -> Path:
    """A copy of the tree, without some rings."""
    shutil.copytree(ROOT, folder, symlinks=True, ignore=NOT_COPIED, dirs_exist_ok=True)
    for ring in rings:
        shutil.rmtree(folder / "tinygrad_like" / ring)
    return folder


def run(folder: Path, *command: str, **options) -> subprocess.CompletedProcess:
    """Run Python in a copy of the tree, and with nothing of this tree on its path."""
    return subprocess.run([sys.executable, *command], cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)},
                          **options)


def tested(rings: list[str], every: bool, processes: int) -> bool:
    """Whether the tests pass without some rings."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = without(*rings, folder=Path(name))
        share = f"{[*RINGS].index(rings[0])}/{SHARES}/2"
        chosen = [] if every else [
            "-m", "not slow and not torch and not browser", f"--share={share}", *[f"tests/{room}" for room in ENGINE]]
        done = run(folder, "-m", "pytest", "-q", "-n", str(processes), "-p", "no:cacheprovider", *chosen, text=True,
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(f"{done.stdout}-- without {', '.join(rings)}: {time.perf_counter() - start:.0f} s", flush=True)
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.rings", description=__doc__.partition("\n")[0])
    parser.add_argument("rings", nargs="*", metavar="ring", help=f"{', '.join(RINGS)}, one after the other")
    parser.add_argument("--all", action="store_true", help="all tests of all folders, also those marked slow")
    arguments = parser.parse_args()
    if unknown := {*arguments.rings} - {*RINGS}:
        parser.error(f"no ring: {', '.join(unknown)}; there are {', '.join(RINGS)}")
    groups = [[ring] for ring in arguments.rings] or GROUPS
    with ThreadPoolExecutor(2) as pool:  # two copies in parallel, as two workers for one would both collect all tests
        passed = pool.map(lambda rings: tested(rings, arguments.all, 0 if len(groups) > 1 else 2), groups)
        failed = [", ".join(rings) for rings, well in zip(groups, passed, strict=True) if not well]
    if failed:
        sys.exit(f"tests fail without {'; without '.join(failed)}")


if __name__ == "__main__":
    main()
