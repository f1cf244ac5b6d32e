"""Compiled kernels on disk: numba's cache, but for its files.

numba keeps, for each function, an index and numbered files of code. A process that is killed between the two, or two
that write at once, can leave an index that points at other code than it says, and one damaged file ends every later
run. Here every compiled kernel is a file of its own, which says what it is: its SHA-256, then the sources and the key
that it was compiled for. What does not match is compiled anew, and replaced.

The key, numba's, has the types of the arguments and the machine: no other host runs this one's code.
"""

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from .interrupts import without_interrupts

# numba compares the file of the function only. But a kernel contains functions of other files: the sources of all
# kernels must be the same.
SOURCES = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).digest()
COMPILER = numba.__version__, llvmlite.__version__, sys.version

kept = True  # whether compiled kernels have found a folder so far


class Files:
    """The files of one kernel, in place of numba's IndexDataCacheFile."""

    def __init__(self, folder: str, name: str):
        self.folder, self.name = Path(folder), name

    def path(self, key: tuple) -> Path:
        digest = hashlib.sha256(repr((COMPILER, key)).encode()).hexdigest()
        return self.folder / f"{self.name}-{digest[:20]}.kernel"

    def load(self, key: tuple) -> Any:
        """What was saved for this key; None if there is nothing, or it is damaged, or of other sources."""
        try:
            content = self.path(key).read_bytes()
        except OSError:
            return None
        digest, sources, rest = content[:32], content[32:64], content[64:]
        if sources != SOURCES or hashlib.sha256(sources + rest).digest() != digest:
            return None
        saved, data = pickle.loads(rest)
        return data if saved == key else None

    def save(self, key: tuple, data: Any) -> None:
        """Write the file of this key, whole or not at all, also for those who read it at this moment."""
        content, path = SOURCES + dumps((key, data)), self.path(key)
        fresh = path.with_suffix(f".{os.getpid()}.new")
        try:
            fresh.write_bytes(hashlib.sha256(content).digest() + content)
            os.replace(fresh, path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise

    def flush(self) -> None:
        for path in self.folder.glob(f"{self.name}-*.kernel"):
            path.unlink(missing_ok=True)


def keep(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, with its SHA-256 first; if it cannot be written, say so once."""
    fresh = path.with_suffix(f".{os.getpid()}.new")
    try:
        path.parent.mkdir(exist_ok=True)
        fresh.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(fresh, path)
    except OSError as error:
        not_kept(str(error))


class KernelCache(FunctionCache):
    """The cache of one kernel. Raises RuntimeError if there is no folder that can be written to."""

    def __init__(self, function: Callable):
        super().__init__(function)
        self._cache_file = Files(self.cache_path, f"{Path(function.__code__.co_filename).stem}.{function.__name__}")

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # the disk is full, the folder is gone: the kernel is in memory all the same
            not_kept(str(error))


def attach(dispatcher: Any) -> None:
    """Have what numba compiles of a function kept on disk, if it is in a file, and there is a folder for it."""
    dispatcher.compile = without_interrupts()(dispatcher.compile)
    if not os.path.exists(dispatcher.py_func.__code__.co_filename):
        return
    try:
        dispatcher._cache = KernelCache(dispatcher.py_func)
    except RuntimeError:
        not_kept("no folder for them can be written to")


def not_kept(why: str) -> None:
    """Say once that the next run has to compile again."""
    global kept
    if kept:
        kept = False
        print(f"compiled kernels cannot be kept: {why}; NUMBA_CACHE_DIR can name a folder", file=sys.stderr, flush=True)
