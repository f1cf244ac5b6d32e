"""Takes rings away, one at a time, and runs what is left: python -m tests.rings [ring ...] [--all]

The tree is copied without the folder tinygrad_like/<ring>, and the tests run in the copy. Which of them belong to the
ring, and so do not run, no list says. They are

- those in tests/<ring>,
- those that import the ring, or use what only it has (a name of the package's face, a method that compat adds),
- and those that are marked `needs(ring)`, which nothing else tells.

What the packages ask of a missing ring is an error: see `needs` in conftest.py. In the folders of the engine, every
second test function runs, or every sixth where not every call meets the ring: its first case, and a share of the
others, another one for each ring. --all runs all there is, also what is marked slow.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tinygrad_like.rings import RINGS

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(".*", "build", "runs", "*.egg-info")  # but what Python has compiled
SHARES = 3 * len(RINGS)  # of the cases of a function besides the first
INNER = "kernels", "capture", "compat"  # rings that the engine meets in every call
ENGINE = "core", "transforms", "ops", "nn", "optim"  # what must not miss any ring


def without(ring: str, folder: Path) -> Path:
    """A copy of the tree, without a ring."""
    shutil.copytree(ROOT, folder, symlinks=True, ignore=NOT_COPIED, dirs_exist_ok=True)
    shutil.rmtree(folder / "tinygrad_like" / ring)
    return folder


def run(folder: Path, *command: str, **options) -> subprocess.CompletedProcess:
    """Python in a copy of the tree, and with nothing of this one on its path."""
    return subprocess.run([sys.executable, *command], cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)},
                          **options)


def tested(ring: str, every: bool) -> bool:
    """Whether the tests pass without a ring."""
    with tempfile.TemporaryDirectory() as name:
        folder = without(ring, Path(name))
        share = f"{[*RINGS].index(ring)}/{SHARES}/{2 if ring in INNER else 6}"
        chosen = [] if every else [
            "-m", "not slow and not torch and not browser", f"--share={share}",
            *[f"tests/{room}" for room in ENGINE]]
        return run(folder, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *chosen).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.rings", description=__doc__.partition("\n")[0])
    parser.add_argument("rings", nargs="*", metavar="ring", help=f"{', '.join(RINGS)} (default: one after the other)")
    parser.add_argument("--all", action="store_true", help="all tests of all folders, also those marked slow")
    arguments, failed = parser.parse_args(), []
    for ring in arguments.rings or RINGS:
        if ring not in RINGS:
            parser.error(f"{ring} is no ring: {', '.join(RINGS)}")
        start = time.perf_counter()
        print(f"-- without {ring}", flush=True)
        failed += [ring] * (not tested(ring, arguments.all))
        print(f"-- without {ring}: {time.perf_counter() - start:.0f} s", flush=True)
    if failed:
        sys.exit(f"tests fail without {', '.join(failed)}")


if __name__ == "__main__":
    main()
