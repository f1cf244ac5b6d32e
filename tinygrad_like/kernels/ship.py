"""Compile all kernels before they are needed: for this machine, or into a wheel.

    python -m tinygrad_like.kernels.ship                 for this machine, into the cache
    python -m tinygrad_like.kernels.ship gemm. .adam_    only those whose names contain one of these words
    python -m tinygrad_like.kernels.ship --wheel dist    a wheel of this source tree, with kernels for each level of
                                                         x86-64 that this machine has

One process per core shares the work. A wheel's kernels lie in `kernels/shipped`, as files of the cache: each is used if
Python's minor version, numba and the level are those that it was compiled for, and its checksum is right. Otherwise
the kernel is compiled, as without a wheel.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from operator import itemgetter
from pathlib import Path

from . import cache, machine, notice, registry
from .program import Kernel
from .threads import count

_ROOT = Path(__file__).resolve().parents[2]


def declared() -> list[tuple[str, Callable[[], object]]]:
    """The name of each kernel that this package has, and a function that compiles it."""
    import_module("tinygrad_like.nn")  # its ops have kernels, too

    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        import_module(f".{path.stem}", __package__)
    for make in registry.makers:
        make()
    found: list[tuple[str, Callable[[], object]]] = []
    for x in gc.get_objects():  # no other list is complete, since users' kernels may be freed
        if type(x) is Kernel:
            found.append((f"{x.body.__module__}.{x.__name__}", partial(getattr, x, "pack")))
        elif type(x) is cache.Compiled and x.exported:  # Python calls it itself
            found.append((f"{x.__module__}.{x.__name__}", partial(getattr, x, "code")))
    return found


def compile_part(part: int, parts: int, words: list[str]) -> None:
    """Compile kernels that none of `parts` processes has compiled yet; each process starts at a different one."""
    notice.said = part > 0  # one process says it for all
    found = sorted([each for each in declared() if not words or any(word in each[0] for word in words)],
                   key=itemgetter(0))
    first = part * len(found) // parts
    for _, compiled in found[first:] + found[:first]:
        compiled()


def compile_all(settings: dict[str, str] | None = None, parts: int = count, words: Sequence[str] = ()) -> None:
    """Compile all kernels, or those with these words, in `parts` processes with these environment variables."""
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), **(settings or {})}
    code = "from tinygrad_like.kernels.ship import compile_part; compile_part({}, {}, {})"
    processes = [subprocess.Popen([sys.executable, "-c", code.format(part, parts, [*words])], env=environment)
                 for part in range(parts)]
    if any([process.wait() for process in processes]):
        raise SystemExit("error: kernels could not be compiled; the message is above")


def wheel(out: Path, levels: list[str]) -> None:
    """Make a wheel of this tree and its kernels, compiled for these levels of x86-64."""
    if not (_ROOT / "pyproject.toml").exists():
        raise SystemExit("error: a wheel is made from a source tree, and this is an installation")
    with tempfile.TemporaryDirectory() as folder:
        tree, shipped = Path(folder, "tree"), Path(folder, "tree", cache.SHIPPED.relative_to(_ROOT))
        leave = shutil.ignore_patterns(".*", "__pycache__", "build", "runs", "*.egg-info")
        shutil.copytree(_ROOT, tree, ignore=leave)
        shipped.mkdir()
        for level in levels:
            name, features = machine.level_settings(level)
            settings = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
            begun, store = time.time(), cache.folder()  # it holds files of earlier runs
            if level != machine.levels()[0]:
                store = _ROOT / "build" / level
                settings["NUMBA_CACHE_DIR"] = str(store)
            compile_all(settings)
            for path in store.rglob("*.kernel"):
                if path.stat().st_mtime >= begun - 1:
                    shutil.copy(path, shipped)
        python, system = "cp" + "".join(platform.python_version_tuple()[:2]), sysconfig.get_platform()
        tag = f"--python-tag={python} --plat-name={system.replace('-', '_').replace('.', '_')}"
        subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--wheel-dir", str(out), f"--config-settings=--build-option={tag}", str(tree)], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, metavar="FOLDER", help="where to put the wheel")
    parser.add_argument("--highest", action="store_true", help="for the highest level alone, in half of the time")
    parser.add_argument("words", nargs="*", help="compile only kernels whose names contain one of these")
    options = parser.parse_args()
    if options.wheel is None:
        compile_all(words=options.words)
    else:
        wheel(options.wheel, machine.levels()[:1 if options.highest else None])
