"""The environment: optional packages, the user's cache folder, locks, and Ctrl-C."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# Optional module -> the extra that installs it (see pyproject.toml), and -> its package, if the names differ.
EXTRAS = {"matplotlib": "pictures", "PIL": "pictures", "tqdm": "pictures", "tensorboardX": "tensorboard",
          "mpi4py": "distributed", "ml_dtypes": "bfloat16", "onnx": "onnx", "zensical": "docs",
          "latex2mathml": "docs", "torch": "torch"}
PACKAGES = {"PIL": "pillow"}
_kept: list = []  # needed by arrays, threads and machine code, which outlive all modules


def never_free(*needed: object) -> None:
    """Keep these alive, even when the interpreter ends."""
    if not _kept:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))
    _kept.extend(needed)


def cache_folder(name: str) -> Path:
    """tinygrad_like/name in the user's cache folder. Raises RuntimeError for a user without a home folder."""
    from pathlib import Path  # here, as it takes longer than a tenth of the package's import

    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        cache = "~/Library/Caches"
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "tinygrad_like" / name


def require(who: str, *modules: str, project: str = "tinygrad-like", otherwise: str = "") -> None:
    """Raise ImportError, before any work, if optional packages are missing; it says who needs them and how to install
    them.

    project: "." for code that only a checkout has, such as the demos. otherwise: an alternative to name.
    """
    missing = [name for name in modules if sys.modules.get(name) is None and find_spec(name) is None]
    if missing:
        extras = ",".join(dict.fromkeys(EXTRAS[name] for name in missing if name in EXTRAS))
        install = [f"'{project}[{extras}]'"] * bool(extras) + [name for name in missing if name not in EXTRAS]
        raise ImportError(f"{who} needs {', '.join([PACKAGES.get(name, name) for name in missing])}: "
                          f"pip install {' '.join(install)}{otherwise}")


@contextmanager
def locked(path: Path, part: int | None = None) -> Iterator[None]:
    """Lock a folder, against threads and processes, for a `with` block; or a part of a file, which is created if
    missing, against processes. On a system without locks, nobody waits."""
    if fcntl is None:
        yield
        return
    place = os.open(path, os.O_RDONLY if part is None else os.O_RDWR | os.O_CREAT)
    try:
        with suppress(OSError):  # some network file systems have no locks; checksums still protect files
            fcntl.flock(place, fcntl.LOCK_EX) if part is None else fcntl.lockf(place, fcntl.LOCK_EX, 1, part)
        yield
    finally:
        os.close(place)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block: for compiled code that calls Python, where an exception would be printed
    and lost, and for imports of compiled modules, which, half done, would crash Python at exit."""
    import _signal as signal  # type: ignore[import-not-found]  # that of Python turns all into enums, which takes long

    before, pressed = signal.getsignal(signal.SIGINT), []  # type: ignore[var-annotated]
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, lambda *press: pressed.append(press))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        for press in pressed:
            before(*press)
