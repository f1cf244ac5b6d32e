"""Keep freed memory in the process for the next step, and start arrays at a cache line.

By default, glibc returns freed blocks of over 128 KiB to the system, which maps and zeroes the blocks of the next step
page by page: half the time of a step of a 784-512-512-10 MLP. With higher thresholds they stay in the heap. That covers
every array, and costs no peak memory.

The heap asks for pages of 2 MiB. A step uses more 4 KiB pages than the processor's TLB holds, and a TLB miss takes
longer than reading the page: with small pages, Adam's pass over a small GPT takes ten times as long.

NumPy's arrays start at any multiple of 16 bytes, so that nearly every AVX-512 vector crosses a cache line: 32x128 @
128x512 takes a sixth longer. NumPy accepts another allocator (NEP 49): `aligned_alloc` at import, so that parameters
made before the first kernel start at a cache line, and `kernels/blocks.py` from the first kernel on.

Set the environment variable TINYGRAD_LIKE_MALLOC=default to leave the allocator alone. Without glibc, nothing changes.
"""

import ctypes
import mmap
import os
from contextlib import suppress

import numpy as np

from ..environment import never_free

_MUCH = 2**20  # bytes
_GROWTH = 2**26  # bytes of the heap for which to ask for large pages at once
PAGE, HUGE = 4096, 14  # bytes of a page; MADV_HUGEPAGE
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # malloc.h


def keep_freed_memory() -> bool:
    """Raise glibc's thresholds for this process; returns whether they were accepted."""
    if os.environ.get("TINYGRAD_LIKE_MALLOC") == "default":
        return False
    try:
        libc = ctypes.CDLL(None)
        mallopt = libc.mallopt
    except (AttributeError, OSError, TypeError):
        return False
    # mallopt accepts 1 GiB at most for the size of blocks; larger ones are always mapped.
    settings = ((_MMAP_THRESHOLD, 2**30), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, 2**24))
    accepted = all([mallopt(option, value) == 1 for option, value in settings])
    if accepted:
        _grow(libc)
    return accepted


def _grow(libc: ctypes.CDLL) -> None:
    """Grow the heap now, and ask for large pages there, since parameters are made before the first kernel. It takes no
    memory until it is used."""
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    libc.malloc.argtypes, libc.malloc.restype, libc.free.argtypes = [size], pointer, [pointer]
    libc.sbrk.argtypes, libc.sbrk.restype = [ctypes.c_ssize_t], pointer
    libc.madvise.argtypes = [pointer, size, ctypes.c_int]
    block, end = libc.malloc(_GROWTH) or 0, libc.sbrk(0)
    begin = (block + PAGE - 1) & -PAGE
    if 0 < begin < end:
        libc.madvise(begin, (end - begin) & -PAGE, HUGE)
    libc.free(block)


class Handler(ctypes.Structure):
    """PyDataMem_Handler of NumPy's C API: each of the functions is called with the state first."""

    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("state", ctypes.c_void_p),
                *[(name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")]]


_SET_HANDLER, _GET_HANDLER = 304, 305  # their indices in the table of NumPy's C API


def _of_capsule(capsule: ctypes.py_object, name: bytes | None) -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, name)


def _of_numpy(place: int) -> int:
    """The address of a function of NumPy's C API."""
    table = _of_capsule(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[place]


def allocates_by_itself() -> bool:
    """Whether to leave allocation to NumPy and the system."""
    return os.environ.get("TINYGRAD_LIKE_MALLOC") == "default" or os.name != "posix" or (
        not hasattr(ctypes.CDLL(None), "mallopt") or not hasattr(np, "_core"))


def hand_over(handler: Handler, *needed: object) -> None:
    """Make NumPy allocate arrays with a handler from now on in this thread. Keeps the handler and `needed` alive."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new(ctypes.addressof(handler), b"mem_handler", None)
    never_free(capsule, handler, *needed)
    ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(_of_numpy(_SET_HANDLER))(capsule)


def align() -> None:
    """Align arrays to cache lines, unless someone has already replaced NumPy's allocator."""
    if allocates_by_itself():
        return
    capsule = ctypes.PYFUNCTYPE(ctypes.py_object)(_of_numpy(_GET_HANDLER))()
    handler = Handler.from_buffer_copy(Handler.from_address(_of_capsule(capsule, b"mem_handler")))
    if handler.name == b"default_allocator":
        # NumPy's functions ignore the state. aligned_alloc takes it as its first argument, the alignment.
        handler.name, handler.state = b"aligned_alloc", 64
        handler.malloc = ctypes.cast(ctypes.CDLL(None).aligned_alloc, ctypes.c_void_p)
        hand_over(handler)


def give_back(count: int = _MUCH) -> None:
    """Return freed memory to the system, if glibc can, before `count` bytes are needed, if that is many."""
    if count < _MUCH:
        return
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        pass


def pages(count: int) -> np.ndarray:
    """Memory for `count` bytes; if these are many, in large pages, on systems where one must ask for them.

    Mapping pages of 4 KiB takes longer than filling them, and the processor's TLB holds few of them.
    """
    if count < _MUCH or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(count, np.uint8)
    mapped = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a system without them
        mapped.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(mapped, np.uint8)
