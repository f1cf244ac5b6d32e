"""Compiled kernels on disk: numba's cache, but for its files.

numba keeps, for each function, an index and numbered files of code. A process that is killed between the two, or two
that write at once, can leave an index that points at other code than it says, and one damaged file ends every later
run. Here every compiled kernel is a file of its own, which says what it is: its SHA-256, then the sources and the key
that it was compiled for. What does not match is compiled anew, and replaced.

The key, numba's, has the types of the arguments and the machine. Kernels are compiled not for this processor but for
the highest level of x86-64 that it has: v3 has AVX2 and FMA, v4 AVX-512. So they can be brought along or shared by
machines, give the same bits wherever they were compiled, and run only where their instructions exist. Of a processor
without a level, all that it has is used. The sources are the file of the kernel and those that it
imports from this folder, with what they import: an edit compiles anew what contains the edited code, and nothing else.

The files lie in `kernels`, in NUMBA_CACHE_DIR/tinygrad_like or else in the user's cache folder, so that all
installations share them. A wheel may bring some (`ship.py`), which serve where that folder has none. Files that no run
has used for a month go, and so do all versions of a kernel but the latest few and those of the last day.
"""

import hashlib
import os
import pickle
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import __version__ as llvm_version
from llvmlite import binding as llvm
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from ..environment import cache_folder, without_interrupts

# numba compares the file of the function only, but a kernel contains functions of other files. Nothing of these is in
# another file's kernels:
_BESIDE = "__init__", "cache", "composites", "loops", "notice", "program", "registry", "specialize"
_HERE = Path(__file__).parent
SHIPPED = _HERE / "shipped"  # kernels that a wheel brings, see `ship.py`
_IMPORT = re.compile(rb"^from \.(\w*) import (.*)", re.MULTILINE)  # at the top of a module; what is not, runs in Python
COMPILER = numba.__version__, llvm_version, sys.implementation.cache_tag
_V3 = ("avx avx2 bmi bmi2 cmov crc32 cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2 "
       "ssse3 xsave").split()
LEVELS = {"x86-64-v4": [*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"], "x86-64-v3": _V3}
DAY = 24 * 3600.0  # seconds
UNUSED = 30 * DAY
VERSIONS = 8  # of a kernel, which stay: there are several checkouts, and one goes back and forth

kept = True  # whether compiled kernels could be written so far
_tidied: set[Path] = set()


def level_settings(level: str) -> tuple[str, str]:
    """How numba is told to compile for a level: the names of a processor and of what it has."""
    return level, ",".join(f"+{feature}" for feature in LEVELS[level])


def levels() -> list[str]:
    """The levels that this processor has, the highest first."""
    try:
        has = llvm.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot say
        return []
    return [level for level, needs in LEVELS.items() if all(has.get(feature) for feature in needs)]


def choose_level() -> None:
    """Have numba compile for the highest level, unless the environment names a processor, or it has compiled already:
    a process has one code generator."""
    if config.CPU_NAME is config.CPU_FEATURES is None and "_toplevel_target_context" not in vars(cpu_target):
        for level in levels()[:1]:
            config.CPU_NAME, config.CPU_FEATURES = level_settings(level)


@lru_cache
def _imports(name: str) -> frozenset[str]:
    """The modules of this folder that one imports, and those that they import, with itself."""
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
    """A hash of what the kernels of a file are made of; of a user's, of all that it could import."""
    if file.parent == _HERE:
        return _hash(_imports(file.stem) | _imports("record"))  # which writes each kernel's entry
    everything = _hash(frozenset([path.stem for path in _HERE.glob("*.py")]))
    return hashlib.sha256(everything + file.read_bytes()).digest()


def folder() -> Path:
    """Where compiled kernels lie."""
    return _folder(config.CACHE_DIR)


@lru_cache
def _folder(chosen: str) -> Path:
    try:
        return Path(chosen, "tinygrad_like", "kernels") if chosen else cache_folder("kernels")
    except RuntimeError as error:  # a user without a home
        not_kept(str(error))
        return Path(os.devnull)


def tidy(folder: Path) -> None:
    """Remove what no run has used for long, and all but the latest versions of each kernel."""
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
    """What `keep` wrote; None if there is nothing, or it is damaged."""
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
    """Write a file whole or not at all, also for those who read it at this moment, with its SHA-256 first.

    If it cannot be written, say so once: what was compiled is in memory all the same.
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


class Files:
    """The files of one kernel, in place of numba's IndexDataCacheFile."""

    def __init__(self, folder: Path, name: str, sources: bytes):
        self.folder, self.name, self.sources = folder, name, sources

    def path(self, key: tuple) -> Path:
        digest = hashlib.sha256(repr((COMPILER, self.sources, key)).encode()).hexdigest()
        return self.folder / f"{self.name}-{digest[:20]}.kernel"

    def load(self, key: tuple) -> Any:
        """What was saved for this key; None if there is nothing, or it is damaged, or of other sources."""
        path = self.path(key)
        for place in (path, SHIPPED / path.name):
            content = read(place)
            if content is not None and content[:32] == self.sources:
                try:
                    saved, data = pickle.loads(content[32:])
                except (ImportError, AttributeError):  # it names a formula that stands in another file by now
                    continue
                if saved == key:
                    return data
        return None

    def save(self, key: tuple, data: Any) -> None:
        keep(self.path(key), self.sources + dumps((key, data)))

    def flush(self) -> None:
        for path in self.folder.glob(f"{self.name}-*.kernel"):
            path.unlink(missing_ok=True)


class _Place(InTreeCacheLocator):
    """numba looks for a folder that can be written to, for each function; here there is one for all."""

    def get_cache_path(self) -> str:
        return str(folder())

    def get_source_stamp(self) -> None:
        pass

    def ensure_cache_path(self) -> None:
        pass


class _Results(CompileResultCacheImpl):
    def __init__(self, function: Callable):
        self._locator = _Place(function, function.__code__.co_filename)
        self._lineno = function.__code__.co_firstlineno
        self._filename_base = function.__name__

    def reduce(self, data: Any) -> Any:
        """What numba keeps, without LLVM's form of the code, which is half of it and takes most of the time to load:
        only functions compiled later would be linked with it, and none calls a kernel by its name."""
        (name, kind, (code, form)), *others = super().reduce(data)
        f, module = data.fndesc, llvm.parse_bitcode(form)
        entries = {f.llvm_func_name, f.llvm_cpython_wrapper_name, f.llvm_cfunc_wrapper_name}
        defined = [x.name for x in (*module.functions, *module.global_variables)
                   if not x.is_declaration and (x.name in entries or x.name.startswith("_ZN08NumbaEnv"))]
        text = "\n".join([f'@"{x}" = global i8 0' for x in defined])
        return (name, kind, (code, llvm.parse_assembly(text).as_bitcode())), *others


class KernelCache(FunctionCache):
    """The cache of one kernel."""

    _impl_class = _Results

    def __init__(self, function: Callable):
        super().__init__(function)
        file = Path(function.__code__.co_filename)
        self._cache_file = Files(folder(), f"{file.stem}.{function.__name__}", sources(file))


def attach(dispatcher: Any) -> None:
    """Have what numba compiles of a function kept on disk, if it is in a file."""
    dispatcher.compile = without_interrupts()(dispatcher.compile)
    if os.path.exists(dispatcher.py_func.__code__.co_filename):
        dispatcher._cache = KernelCache(dispatcher.py_func)


def not_kept(why: str) -> None:
    """Say once that the next run has to compile again."""
    global kept
    if kept:
        kept = False
        print(f"compiled kernels cannot be kept: {why}; NUMBA_CACHE_DIR can name a folder", file=sys.stderr, flush=True)
