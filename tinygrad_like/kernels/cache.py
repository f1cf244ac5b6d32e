"""Keep compiled kernels on disk.

Each has a file of its own, which starts with its SHA-256 and a hash of everything that its code depends on. A process
may be killed, or two may write at once; a file that does not match is compiled again and replaced.

The hash covers the target processor (`machine.py`), the compiler, and the sources: the kernel's file and those that it
imports from this folder, directly or not. An edit recompiles only the kernels that depend on the edited file.

The files lie in `kernels`, in NUMBA_CACHE_DIR/tinygrad_like or else in the user's cache folder, so all installations
share them. A wheel may bring some (`ship.py`), used where that folder has none. Files that no run has used for a month
are deleted, and so are all versions of a kernel except the latest few and those of the last day.
"""

import hashlib
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from llvmlite import __version__ as llvm_version

from ..environment import cache_folder, locked, without_interrupts
from . import machine, notice
from .late import Function

# A kernel may contain functions of any other file, but never of these:
_BESIDE = "__init__", "cache", "composites", "loops", "notice", "program", "registry", "specialize"
_HERE = Path(__file__).parent
SHIPPED = _HERE / "shipped"  # kernels that a wheel brings, see `ship.py`
_IMPORT = re.compile(rb"^from \.(\w*) import (.*)", re.MULTILINE)  # at the top of a module; other imports run in Python
DAY = 24 * 3600.0  # seconds
UNUSED = 30 * DAY
VERSIONS = 8  # kept of a kernel: several checkouts may share the folder, and each switches back and forth

kept = True  # whether every compiled kernel could be written so far
_tidied: set[Path] = set()


def _numba_version() -> str:
    """The version of the installed numba; importing it takes longer than most programs."""
    spec = find_spec("numba")
    with suppress(OSError, TypeError):
        text = Path(spec.origin).with_name("_version.py").read_text()  # type: ignore[union-attr, arg-type]
        if found := re.search(r'"version": "([^"]+)"', text):
            return found[1]
    return import_module("numba").__version__


COMPILER = _numba_version(), llvm_version, sys.implementation.cache_tag


@lru_cache
def _imports(name: str) -> frozenset[str]:
    """A module of this folder and all that it imports from here, directly or not."""
    found, left = set(), [name]
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            for module, names in _IMPORT.findall((_HERE / f"{name}.py").read_bytes()):
                imported = [module.decode()] if module else re.findall(r"\w+", names.decode())
                left += [each for each in imported if each not in _BESIDE]
    return frozenset(found)


@lru_cache
def _hash(names: frozenset[str]) -> bytes:
    files = [_HERE / f"{name}.py" for name in sorted(names)]
    return hashlib.sha256(b"".join([hashlib.sha256(path.read_bytes()).digest() for path in files])).digest()


def sources(file: Path) -> bytes:
    """A hash of the sources of a file's kernels; for a user's file, of it and all of this folder."""
    if file.parent == _HERE:
        # record.py writes each kernel's entry
        return _hash(_imports(file.stem) | _imports("record") | _imports("inlined"))
    everything = _hash(frozenset([path.stem for path in _HERE.glob("*.py")]))
    return hashlib.sha256(everything + file.read_bytes()).digest()


def folder() -> Path:
    """The folder of compiled kernels."""
    return _folder(os.environ.get("NUMBA_CACHE_DIR", ""))


@lru_cache
def _folder(chosen: str) -> Path:
    try:
        return Path(chosen, "tinygrad_like", "kernels") if chosen else cache_folder("kernels")
    except RuntimeError as error:  # a user without a home
        not_kept(str(error))
        return Path(os.devnull)


def tidy(folder: Path) -> None:
    """Remove files that no run has used for a month, and all but the latest versions of each kernel."""
    now, seen = time.time(), Counter[str]()
    for used, path in sorted([(_used(path), path) for path in folder.iterdir()], reverse=True):
        kernel = path.name.rsplit("-", 1)[0]
        seen[kernel] += path.suffix == ".kernel"
        if used < now - (DAY if seen[kernel] > VERSIONS else UNUSED) and not path.is_dir():
            path.unlink(missing_ok=True)


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another run has just removed it
        return 0.0


def read(path: Path) -> bytes | None:
    """The content that `keep` wrote; None if the file is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(content[32:]).digest() != content[:32]:
        return None
    with suppress(OSError):
        os.utime(path)
    return content[32:]


def keep(path: Path, content: bytes) -> None:
    """Write a file atomically, with its SHA-256 first, so that a reader sees all of it or nothing.

    If it cannot be written, say so once and go on: the compiled code is in memory.
    """
    fresh = path.with_suffix(f".{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            fresh.write_bytes(hashlib.sha256(content).digest() + content)
            os.replace(fresh, path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        if not path.exists():  # Windows replaces no file that another run is reading
            not_kept(str(error))
        return
    if path.parent not in _tidied:
        _tidied.add(path.parent)
        with suppress(OSError):
            tidy(path.parent)


def load(path: Path, key: bytes) -> bytes | None:
    """The content kept there, or in a wheel, under a key of 32 bytes; None if there is none."""
    for place in (path, SHIPPED / path.name):
        content = read(place)
        if content is not None and content[:32] == key:
            return content[32:]
    return None


class Compiled(Function):
    """A function of integers that is called by its address; read from disk, or compiled at its first use.

    exported: whether Python and C call it, too, and not only compiled code. made_of: what its code depends on besides
    the sources.
    """

    def __init__(self, function: Callable, options: dict, exported: bool = True, made_of: str = ""):
        super().__init__(function, options)
        self.exported, self.made_of, self.count = exported, made_of, function.__code__.co_argcount
        self.found = False  # on disk

    def key(self) -> bytes:
        options = sorted([(name, sorted(value) if isinstance(value, set) else value)
                          for name, value in self.options.items()])
        about = (COMPILER, sources(Path(self.py_func.__code__.co_filename)), machine.MACHINE, self.__module__,
                 self.py_func.__qualname__, self.count, options, self.exported, self.made_of)
        return hashlib.sha256(repr(about).encode()).digest()

    @cached_property
    def code(self) -> dict[str, int]:
        """The addresses of its entry points: `code`, for compiled code; and if it is exported, `c` and `python`."""
        with without_interrupts():
            if not os.path.exists(self.py_func.__code__.co_filename):
                return machine.loaded(self._compiled())
            key, stem = self.key(), Path(self.py_func.__code__.co_filename).stem
            path = folder() / f"{stem}.{self.__name__}-{key.hex()[:20]}.kernel"
            if (content := load(path, key)) is None:
                with ExitStack() as stack:
                    with suppress(OSError):  # without a folder to write to, each process compiles
                        path.parent.mkdir(parents=True, exist_ok=True)
                        stack.enter_context(locked(path.parent / "lock", int.from_bytes(key[:4], "big")))
                    if (content := load(path, key)) is None:
                        content = self._compiled()
                        keep(path, key + content)
                        return machine.loaded(content)
            self.found = True
            return machine.loaded(content)

    def _compiled(self) -> bytes:
        with notice.compiling():
            make = import_module(".inlined", __package__).machine_code
            return make(self.py_func, self.options, self.count, self.exported)

    @cached_property
    def call(self) -> Callable:
        """The function that Python calls, without the GIL."""
        return machine.builtin(self.__name__, self.code["python"])

    def __call__(self, *arguments: int) -> int:
        return self.call(*arguments)


def compiled(**options: Any) -> Callable:
    """Decorator for functions of integers that Python or C calls."""
    return lambda function: Compiled(function, options)


def not_kept(why: str) -> None:
    """Say once that the next run has to compile again."""
    global kept
    if kept:
        kept = False
        print(f"compiled kernels cannot be kept: {why}; NUMBA_CACHE_DIR can name a folder", file=sys.stderr, flush=True)
