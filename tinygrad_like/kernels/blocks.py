"""Memory for NumPy's arrays: blocks that start at a cache line, and that the next array reuses while they are cached.

NumPy's own blocks start at any multiple of 16 bytes, and come from the system's heap. With AVX-512, nearly every vector
that is stored then crosses a cache line: adding two arrays of 8,192 numbers takes twice as long. And a step of a model
makes the same arrays again and again, and the heap is searched for each.

NumPy can use another allocator (NEP 49). This one has a list of free blocks for each size class, 64 bytes or a 16th
apart, and takes the block that was freed last. All blocks come from glibc, and are as large as their class; glibc gets
large ones back at once, as well as those that exceed the limit of the lists. A block starts at the first cache line in
the memory from malloc, with malloc's address before it. (Freed blocks of aligned_alloc leave gaps that the next block
of the same size does not fit into, so that a step takes half as much memory again.) NumPy calls the allocator with
the GIL; if two threads ever met here, the second would turn to glibc.

Arrays keep the allocator that they were made with, and threads the one they started with: this one serves the thread
that first ran a kernel. TINYGRAD_LIKE_MALLOC=default, or a system without glibc, leaves NumPy as it is.
"""

import ctypes

from . import memory
from .atomics import exchange, get, put
from .cache import compiled
from .late import external
from .memory import HUGE, PAGE
from .simd import inner

_LEAST, _MOST = 256, 2**20  # bytes of a block in a list
_HELD = 2**25  # bytes in all lists together
UNLISTED = 2**62  # counts as a full list: no block then gets into a list
_LINE = 64
_FINE = 8192  # bytes, below which classes are a cache line apart

# The state, an address: a lock, bytes in the lists, where the heap ended when large pages were last asked for, and from
# _LISTS on the first block of each list, which holds the address of the next.
_LOCK, _BYTES, _END, _LISTS = 0, 8, 16, 64
_SIZE = 4096

_malloc = external("malloc", "intp", "intp")
_calloc = external("calloc", "intp", "intp", "intp")
_usable = external("malloc_usable_size", "intp", "intp")
_free = external("free", "void", "intp")
_sbrk = external("sbrk", "intp", "intp")
_madvise = external("madvise", "int32", "intp", "intp", "int32")
_memset = external("memset", "intp", "intp", "int32", "intp")
_memcpy = external("memcpy", "intp", "intp", "intp", "intp")


@inner
def _class_of(size):
    """The list for blocks of so many bytes, and the size of its blocks."""
    if size <= _FINE:
        return (size + _LINE - 1) // _LINE, (size + _LINE - 1) // _LINE * _LINE
    step, octave = _FINE // 16, 0
    while size > 32 * step:
        step, octave = 2 * step, octave + 1
    parts = (size + step - 1) // step  # 17 to 32
    return _FINE // _LINE + 16 * octave + parts - 16, parts * step


@inner
def _aligned(memory):
    """The first cache line in malloc's memory, a multiple of 16, that leaves room for an address before it."""
    if memory == 0:
        return 0
    block = (memory + _LINE) & -_LINE
    put(block - 8, memory)
    return block


@inner
def _fresh(state, memory):
    """The block in malloc's memory. If the heap has grown, ask the system for large pages: each replaces 512 small
    ones, which would be mapped one by one and overflow the processor's TLB."""
    block, end = _aligned(memory), _sbrk(0)
    if end != get(state + _END) and 0 < block < end:
        begin = block & -PAGE
        _madvise(begin, (end - begin) & -PAGE, HUGE)
        put(state + _END, end)
    return block


@inner
def _taken(state, size):
    if size < _LEAST or size > _MOST:
        return _fresh(state, _malloc(size + _LINE))
    number, room = _class_of(size)
    if get(state + _LISTS + 8 * number) == 0 or exchange(state + _LOCK, 0, 1) != 0:
        return _fresh(state, _malloc(room + _LINE))
    first = state + _LISTS + 8 * number
    block = get(first)
    if block != 0:
        put(first, get(block))
        put(state + _BYTES, get(state + _BYTES) - room)
    put(state + _LOCK, 0)
    return block if block != 0 else _fresh(state, _malloc(room + _LINE))


@inner
def _listed(state, block, size):
    """Put the block in a list; returns whether there was room."""
    if size < _LEAST or size > _MOST:
        return False
    number, room = _class_of(size)
    held = get(state + _BYTES) + room
    if held > _HELD or exchange(state + _LOCK, 0, 1) != 0:
        return False
    first = state + _LISTS + 8 * number
    put(block, get(first))
    put(first, block)
    put(state + _BYTES, held)
    put(state + _LOCK, 0)
    return True


# What NumPy calls, all of them with the state first.


@compiled()
def _allocate(state, size):
    return _taken(state, size)


@compiled()
def _allocate_zeros(state, count, each):
    size = count * each
    if size > _MOST:
        return _fresh(state, _calloc(1, size + _LINE))
    block = _taken(state, size)
    if block != 0:
        _memset(block, 0, size)
    return block


@compiled()
def _resize(state, block, size):
    new = _taken(state, size)
    if block != 0 and new != 0:
        memory = get(block - 8)
        _memcpy(new, block, min(size, memory + _usable(memory) - block))
        _free(memory)
    return new


@compiled()
def _release(state, block, size):
    if block != 0 and not _listed(state, block, size):
        _free(get(block - 8))
    return 0


@compiled()
def _emptied(state):
    """Return all blocks in the lists to glibc."""
    if exchange(state + _LOCK, 0, 1) == 0:
        for first in range(state + _LISTS, state + _SIZE, 8):
            while get(first) != 0:
                block = get(first)
                put(first, get(block))
                _free(get(block - 8))
        put(state + _BYTES, 0)
        put(state + _LOCK, 0)
    return 0


# Kernels call these in place of numba's functions of the same names, for the arrays that they make. A block starts with
# numba's record of it, of which they use the reference count and the address of the data.


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


# Handing it to NumPy --------------------------------------------------------------------------------------------------


_state = ctypes.create_string_buffer(_SIZE)
held = ctypes.c_int64.from_buffer(_state, _BYTES)  # bytes in all lists


def install() -> None:
    """Use these blocks for NumPy's arrays from now on in this thread, unless NumPy is to be left alone."""
    if not memory.allocates_by_itself():
        functions = [f.code["c"] for f in (_allocate, _allocate_zeros, _resize, _release)]
        handler = memory.Handler(b"tinygrad_like", 1, ctypes.addressof(_state), *functions)
        memory.hand_over(handler, _state)


def emptied() -> None:
    """Return the blocks in the lists to the system's heap."""
    if 0 < held.value < UNLISTED:
        _emptied(ctypes.addressof(_state))
