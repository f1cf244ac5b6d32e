"""Allocate NumPy's arrays in blocks that start at a cache line.

NumPy's own blocks start at any multiple of 16 bytes. With AVX-512, nearly every vector store then crosses a cache line:
adding two arrays of 8,192 numbers takes twice as long.

NumPy accepts another allocator (NEP 49). Ours starts a block at the first cache line in the memory from malloc, and
stores malloc's address before it. (Freed blocks of aligned_alloc leave gaps that the next block of the same size does
not fit into: a step takes a quarter more memory, and GPT's is slower by a fifth.)

Arrays keep the allocator that made them, and threads the one they started with: ours serves the thread that first ran a
kernel. With TINYGRAD_LIKE_MALLOC=default, or without glibc, NumPy keeps its own.
"""

import ctypes

from . import memory
from .atomics import get, put
from .cache import compiled
from .late import external
from .memory import HUGE, PAGE
from .simd import inner

_LINE = 64  # bytes

_malloc = external("malloc", "intp", "intp")
_calloc = external("calloc", "intp", "intp", "intp")
_usable = external("malloc_usable_size", "intp", "intp")
_free = external("free", "void", "intp")
_sbrk = external("sbrk", "intp", "intp")
_madvise = external("madvise", "int32", "intp", "intp", "int32")
_memcpy = external("memcpy", "intp", "intp", "intp", "intp")


@inner
def _block(state, memory):
    """The block in malloc's memory, whose address is a multiple of 16. If the heap has grown, ask the system for large
    pages: each replaces 512 small ones, which would be mapped one by one and overflow the TLB."""
    if memory == 0:
        return 0
    block, end = (memory + _LINE) & -_LINE, _sbrk(0)
    put(block - 8, memory)
    if end != get(state) and block < end:
        begin = block & -PAGE
        _madvise(begin, (end - begin) & -PAGE, HUGE)
        put(state, end)
    return block


# NumPy calls these. `state` points to the end of the heap when large pages were last requested.


@compiled()
def _allocate(state, size):
    return _block(state, _malloc(size + _LINE))


@compiled()
def _allocate_zeros(state, count, each):
    return _block(state, _calloc(1, count * each + _LINE))


@compiled()
def _resize(state, block, size):
    new = _block(state, _malloc(size + _LINE))
    if block != 0 and new != 0:
        memory = get(block - 8)
        _memcpy(new, block, min(size, memory + _usable(memory) - block))
        _free(memory)
    return new


@compiled()
def _release(state, block, size):
    if block != 0:
        _free(get(block - 8))
    return 0


# Kernels call these in place of numba's allocator, for their scratch arrays. A block starts with numba's record of it,
# of which compiled code uses the reference count and the address of the data.


@compiled()
def _allocate_scratch(size, align):
    align &= 0xFFFFFFFF  # of 32 bits
    block = _malloc(size + align + _LINE)
    if block != 0:
        put(block, 1)
        put(block + 24, (block + _LINE + align - 1) & -align)
        put(block + 32, size)
    return block


@compiled()
def _release_scratch(block):
    _free(block)
    return 0


SCRATCH = {"tinygrad_like_allocate": _allocate_scratch, "tinygrad_like_release": _release_scratch}


# Installation --------------------------------------------------------------------------------------------------------


_state = ctypes.c_int64()


def install() -> None:
    """From now on, allocate NumPy's arrays here in this thread, unless NumPy is to be left alone."""
    if not memory.allocates_by_itself():
        functions = [f.code["c"] for f in (_allocate, _allocate_zeros, _resize, _release)]
        handler = memory.Handler(b"tinygrad_like", 1, ctypes.addressof(_state), *functions)
        memory.hand_over(handler, _state)
