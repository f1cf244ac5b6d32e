"""Where NumPy's arrays lie: blocks of memory that begin with a cache line, and that the next array takes, still warm.

NumPy's own blocks begin at any multiple of 16 bytes, and come from the system's heap. With AVX-512 nearly every vector
that is then stored crosses the end of a line: to add two arrays of 8,192 numbers takes twice as long. And a step of a
model makes the same arrays again and again, for each of which the heap is searched.

NumPy lets its allocator be exchanged (NEP 49). This one has a list of free blocks for each of some sizes, 64 bytes or
a 16th apart, so that a block that was freed is the first to be taken again. All blocks are glibc's, as large as their
size's class; what is large, or more than the lists are to hold, glibc gets back at once. Each begins with the first
line in what malloc gave, whose address stands before it: what aligned_alloc gives leaves gaps when it is freed that
the next of the same size does not fit into, and a step takes half as much memory again. NumPy calls the allocator
with the GIL; if ever two threads met here, the second would turn to glibc.

Arrays keep the allocator that they were made with, and threads the one they began with: it serves the thread that first
ran a kernel. TINYGRAD_LIKE_MALLOC=default in the environment leaves NumPy as it is, and so does a system without glibc.
"""

import ctypes

from numba import types
from numba.core.dispatcher import Dispatcher

from . import memory
from .atomics import exchange, get, put
from .memory import HUGE, PAGE
from .simd import compiled, inner

_LEAST, _MOST = 256, 2**20  # bytes of a block in a list
_HELD = 2**25  # bytes in all lists together
UNLISTED = 2**62  # as if there were so many: then no block gets into a list
_LINE = 64
_FINE = 8192  # bytes, below which classes are a cache line apart

# The state, an address: a lock, bytes in the lists, where the heap ended when large pages were last asked for, and from
# _LISTS on the first block of each list, which holds the address of the next.
_LOCK, _BYTES, _END, _LISTS = 0, 8, 16, 64
_SIZE = 4096

_malloc = types.ExternalFunction("malloc", types.intp(types.intp))
_calloc = types.ExternalFunction("calloc", types.intp(types.intp, types.intp))
_usable = types.ExternalFunction("malloc_usable_size", types.intp(types.intp))
_free = types.ExternalFunction("free", types.void(types.intp))
_sbrk = types.ExternalFunction("sbrk", types.intp(types.intp))
_madvise = types.ExternalFunction("madvise", types.int32(types.intp, types.intp, types.int32))
_memset = types.ExternalFunction("memset", types.intp(types.intp, types.int32, types.intp))
_memcpy = types.ExternalFunction("memcpy", types.intp(types.intp, types.intp, types.intp))


@inner
def _class_of(size):
    """Which list blocks for so many bytes are in, and how large they are."""
    if size <= _FINE:
        return (size + _LINE - 1) // _LINE, (size + _LINE - 1) // _LINE * _LINE
    step, octave = _FINE // 16, 0
    while size > 32 * step:
        step, octave = 2 * step, octave + 1
    parts = (size + step - 1) // step  # 17 to 32
    return _FINE // _LINE + 16 * octave + parts - 16, parts * step


@inner
def _aligned(memory):
    """The first line in memory of malloc's, which is a multiple of 16; before it there is room for an address."""
    if memory == 0:
        return 0
    block = (memory + _LINE) & -_LINE
    put(block - 8, memory)
    return block


@inner
def _fresh(state, memory):
    """The block in memory of malloc's. If the heap has grown, the system is asked for large pages, each in place of 512
    that would be made one by one, and of which a processor knows few by heart."""
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
    """Whether the block was put in a list."""
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


@compiled(no_cfunc_wrapper=False)
def _allocate(state, size):
    return _taken(state, size)


@compiled(no_cfunc_wrapper=False)
def _allocate_zeros(state, count, each):
    size = count * each
    if size > _MOST:
        return _fresh(state, _calloc(1, size + _LINE))
    block = _taken(state, size)
    if block != 0:
        _memset(block, 0, size)
    return block


@compiled(no_cfunc_wrapper=False)
def _resize(state, block, size):
    new = _taken(state, size)
    if block != 0 and new != 0:
        memory = get(block - 8)
        _memcpy(new, block, min(size, memory + _usable(memory) - block))
        _free(memory)
    return new


@compiled(no_cfunc_wrapper=False)
def _release(state, block, size):
    if block != 0 and not _listed(state, block, size):
        _free(get(block - 8))
    return 0


@compiled()
def _emptied(state):
    """Give all blocks in the lists back to glibc."""
    if exchange(state + _LOCK, 0, 1) == 0:
        for first in range(state + _LISTS, state + _SIZE, 8):
            while get(first) != 0:
                block = get(first)
                put(first, get(block))
                _free(get(block - 8))
        put(state + _BYTES, 0)
        put(state + _LOCK, 0)


# Handing it to NumPy --------------------------------------------------------------------------------------------------


_state = ctypes.create_string_buffer(_SIZE)
held = ctypes.c_int64.from_buffer(_state, _BYTES)  # bytes in all lists


def _address(function: Dispatcher, arguments: int) -> int:
    """Where C finds the code of a function of integers."""
    signature = (types.intp,) * arguments
    function.compile(signature)
    code = function.overloads[signature]
    return code.library.get_pointer_to_function(code.fndesc.llvm_cfunc_wrapper_name)


def install() -> None:
    """Let these blocks be those of NumPy's arrays, from now on, in this thread, unless NumPy is to be left alone."""
    if not memory.allocates_by_itself():
        functions = [_address(f, n) for f, n in ((_allocate, 2), (_allocate_zeros, 3), (_resize, 3), (_release, 3))]
        handler = memory.Handler(b"tinygrad_like", 1, ctypes.addressof(_state), *functions)
        memory.hand_over(handler, _state, _allocate, _allocate_zeros, _resize, _release)


def emptied() -> None:
    """Give what lies in the lists back to the system's heap."""
    if 0 < held.value < UNLISTED:
        _emptied(ctypes.addressof(_state))
