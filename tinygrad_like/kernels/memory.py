"""What becomes of freed memory: it stays in the process for the next step. And where arrays begin: with a cache line.

By default glibc gives freed blocks of over 128 KiB back to the system, and those of the next step are mapped and zeroed
anew, page by page: half the time of a step of a 784-512-512-10 MLP. With the thresholds raised, they stay in the heap.
That covers every array, and costs no peak memory.

The heap asks for pages of 2 MiB. A step passes over more memory than a processor knows pages of 4 KiB of, and to look
one up takes longer than to read it: without them Adam's pass over a small GPT, once in a step, takes ten times as long.

NumPy's arrays begin at any multiple of 16 bytes, and then nearly every vector of AVX-512 crosses the end of a line:
32x128 @ 128x512 takes a sixth longer. NumPy lets its allocator be exchanged (NEP 49): from the import on it is
`aligned_alloc`, so that parameters made before the first kernel begin with a line; from the first kernel on, the blocks
of `kernels/blocks.py`.

Set the environment variable TINYGRAD_LIKE_MALLOC=default to leave the allocator alone. Without glibc nothing is done.
"""

import ctypes
import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

from ..environment import never_free

_MUCH = 2**24  # bytes
_GROWTH = 2**26  # bytes of the heap for which large pages are asked for at once
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
    # The largest value mallopt takes for blocks is 1 GiB here; larger ones are always mapped.
    settings = ((_MMAP_THRESHOLD, 2**30), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, 2**24))
    accepted = all([mallopt(option, value) == 1 for option, value in settings])
    if accepted:
        _grow(libc)
    return accepted


def _grow(libc: ctypes.CDLL) -> None:
    """Let the heap grow now, by addresses that take no memory before they are used, and ask for large pages there:
    parameters are made before the first kernel."""
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


_SET_HANDLER, _GET_HANDLER = 304, 305  # their places in the table of NumPy's C API


def _of_capsule(capsule: ctypes.py_object, name: bytes | None) -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, name)


def _of_numpy(place: int) -> int:
    """The address of a function of NumPy's C API."""
    table = _of_capsule(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[place]


def allocates_by_itself() -> bool:
    """Whether arrays get their memory as NumPy and the system see fit."""
    return os.environ.get("TINYGRAD_LIKE_MALLOC") == "default" or os.name != "posix" or (
        not hasattr(ctypes.CDLL(None), "mallopt") or not hasattr(np, "_core"))


def hand_over(handler: Handler, *needed: object) -> None:
    """Let NumPy's arrays get their memory from a handler, from now on, in this thread. It stays, like `needed`."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new(ctypes.addressof(handler), b"mem_handler", None)
    never_free(capsule, handler, *needed)
    ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(_of_numpy(_SET_HANDLER))(capsule)


def align() -> None:
    """Let arrays begin with a cache line, unless somebody else has exchanged NumPy's allocator already."""
    if allocates_by_itself():
        return
    capsule = ctypes.PYFUNCTYPE(ctypes.py_object)(_of_numpy(_GET_HANDLER))()
    handler = Handler.from_buffer_copy(Handler.from_address(_of_capsule(capsule, b"mem_handler")))
    if handler.name == b"default_allocator":
        # NumPy's functions do not look at the state. aligned_alloc gets it as the first argument: the alignment.
        handler.name, handler.state = b"aligned_alloc", 64
        handler.malloc = ctypes.cast(ctypes.CDLL(None).aligned_alloc, ctypes.c_void_p)
        hand_over(handler)


def give_back(count: int = _MUCH) -> None:
    """Give freed memory back to the system, where glibc allows it, if it is for the sake of many bytes."""
    if count < _MUCH:
        return
    if "tinygrad_like.kernels.blocks" in sys.modules:
        sys.modules["tinygrad_like.kernels.blocks"].emptied()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        pass


@contextmanager
def thrifty(count: int | None) -> Iterator[None]:
    """In a `with` block that makes so many bytes, or nobody knows how many: what is freed makes room for anything.

    Nothing is kept for arrays of the same size then, which takes longer, unless the bytes are few.
    """
    if count is not None and count < _MUCH:
        yield
        return
    from . import blocks  # which takes longer to import than most programs need

    blocks.emptied()
    blocks.held.value = blocks.UNLISTED
    try:
        yield
    finally:
        blocks.held.value = 0


def pages(count: int) -> np.ndarray:
    """Memory for so many bytes; if they are many, in pages as large as the system has, where it asks to be told so.

    Of 4 KiB each, pages take longer to be made than to be filled, and a processor knows few of them by heart.
    """
    if count < _MUCH or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(count, np.uint8)
    mapped = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a system without them
        mapped.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(mapped, np.uint8)
