"""Machine code, from LLVM to executable memory: the target processor, and loading from disk without LLVM.

Kernels are compiled not for this processor but for the highest level of x86-64 that it supports: v3 has AVX2 and FMA,
v4 AVX-512. So machines can share them, they return the same bits wherever they were compiled, and run only where their
instructions exist. For a processor without a level, code uses all of its features.

Loading an object file needs LLVM, and importing LLVM's library takes longer than loading ten kernels. So on x86-64
Linux, an object is linked here, right after it is compiled: its sections become one image, in which only some addresses
are left to fill in.
"""

from __future__ import annotations

import ctypes
import marshal
import mmap
import os
import struct
import sys
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from ..environment import never_free
from .late import llvm

_V3 = ("avx avx2 bmi bmi2 cmov crc32 cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2 "
       "ssse3 xsave").split()
LEVELS = {"x86-64-v4": [*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"], "x86-64-v3": _V3}


def level_settings(level: str) -> tuple[str, str]:
    """The compiler's settings for a level: the names of a processor and of its features."""
    return level, ",".join(f"+{feature}" for feature in LEVELS[level])


def levels() -> list[str]:
    """The levels that this processor supports, the highest first."""
    known = getattr(np._core._multiarray_umath, "__cpu_features__", {})  # type: ignore[attr-defined]
    if "X86_V3" in known:
        return [level for level in LEVELS if known[f"X86_V{level[-1]}"]]
    try:
        has = llvm.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot say
        return []
    return [level for level, needs in LEVELS.items() if all(has.get(feature) for feature in needs)]


def _target() -> tuple[str, str]:
    """The processor to compile for, and its features: numba's environment variables, a level, or this one."""
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    if name is features is None and (found := levels()):
        return level_settings(found[0])
    if features is None:
        features = "" if name == "generic" else llvm.get_host_cpu_features().flatten()
    return name or llvm.get_host_cpu_name(), features


CPU, _features = _target()
FEATURES = frozenset(_features.split(","))
_PROCESSOR = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "").lower()
ARM, X86 = _PROCESSOR in ("aarch64", "arm64"), _PROCESSOR in ("x86_64", "amd64", "i386", "i686")
MACHINE = sys.platform, _PROCESSOR, CPU, ",".join(sorted(FEATURES))
_LINKED = MACHINE[:2] == ("linux", "x86_64")


@lru_cache
def compiler() -> Any:
    """LLVM's target machine for the processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    how = {"reloc": "pic", "codemodel": "small"} if _LINKED else {}
    return target.create_target_machine(cpu=CPU, features=MACHINE[-1], opt=3, **how)


def emitted(module: Any, names: list[str]) -> bytes:
    """The machine code of an LLVM module with these functions as entries, for `loaded`."""
    code = compiler().emit_object(module)
    with suppress(ValueError):
        return marshal.dumps(_image(code, names)) if _LINKED else marshal.dumps((code, names))
    return marshal.dumps((code, names))


# --- Linking: see the ELF-64 specification, and the System V ABI for x86-64 -------------------------------------------

_CONTENT, _ZEROS, _SYMBOLS, _RELOCATIONS = (1, 14, 15, 16), 8, 2, 4  # kinds of sections
_WRITABLE, _LOADED = 1, 2
_ABSOLUTE, _RELATIVE, _CALL, _TABLE = 1, 2, 4, (9, 41, 42)  # kinds of relocations
_JUMP = b"\xff\x25\0\0\0\0\0\0"  # relative to the address after it, with two spare bytes
_PAGE = 4096


def _image(code: bytes, names: list[str]) -> tuple:
    """Link an ELF object into one image: its bytes, the start of their read-only part, the offsets of the named
    functions, (offset, name) of each address of an outside function, and (offset, target) of each address of its own.

    Raises ValueError for relocations that compiled kernels do not have.
    """
    start, each, count = struct.unpack_from("<Q10xHH", code, 40)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, start + i * each) for i in range(count)]
    image, places, slots = bytearray(), dict[int, int](), dict[tuple, int]()
    outside, own = list[tuple[int, str]](), list[tuple[int, int]]()

    def add(content: bytes, align: int) -> int:
        image.extend(bytes(-len(image) % max(align, 1)) + content)
        return len(image) - len(content)

    for writable in (_WRITABLE, 0):
        fixed = add(b"", _PAGE)
        for i, (_, kind, flags, _, offset, size, _, _, align, _) in enumerate(headers):
            if flags & _LOADED and flags & _WRITABLE == writable and kind in (*_CONTENT, _ZEROS):
                places[i] = add(bytes(size) if kind == _ZEROS else code[offset : offset + size], align)
    table = next(header for header in headers if header[1] == _SYMBOLS)
    texts = headers[table[6]][4]
    symbols = list[tuple[str, int | None]]()
    for i in range(table[5] // 24):
        name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", code, table[4] + 24 * i)
        text = code[texts + name : code.index(b"\0", texts + name)].decode()
        symbols.append((text, places[section] + value if section in places else None))

    def address(at: int, name: str, to: int | None) -> None:
        (outside.append((at, name)) if to is None else own.append((at, to)))

    def slot(name: str, to: int | None, jump: bytes) -> int:
        """The offset of a stored address, or of a jump through it."""
        if (name, to, jump) not in slots:
            slots[name, to, jump] = add(jump + bytes(8), 8)
            address(slots[name, to, jump] + max(len(jump) - 2, 0), name, to)
        return slots[name, to, jump]

    for _, kind, _, _, offset, size, _, section, _, _ in headers:
        for i in range(size // 24 if kind == _RELOCATIONS and section in places else 0):
            at, info, more = struct.unpack_from("<QQq", code, offset + 24 * i)
            at, (name, to), how = at + places[section], symbols[info >> 32], info & 0xFFFFFFFF
            if how == _ABSOLUTE and (to is not None or more == 0):
                address(at, name, None if to is None else to + more)
                continue
            if how in _TABLE:
                to = slot(name, to, b"")
            elif how == _CALL and to is None:
                to = slot(name, to, _JUMP)
            elif how not in (_RELATIVE, _CALL) or to is None:
                raise ValueError(f"a relocation of kind {how} for {name}")
            struct.pack_into("<i", image, at, to + more - at)
    where = dict(symbols)
    return bytes(image), fixed, {name: where[name] for name in names}, outside, own


# --- Loading ----------------------------------------------------------------------------------------------------------

# Compiled code calls these instead of numba's functions, whose names belong to numba's own code in this process.
RUNTIME = {"NRT_MemInfo_alloc_aligned": "tinygrad_like_allocate",
           "NRT_MemInfo_alloc_safe_aligned": "tinygrad_like_allocate", "NRT_MemInfo_call_dtor": "tinygrad_like_release"}
functions: dict[str, int] = {}  # their addresses, once they are loaded


def _outside(name: str) -> int:
    """The address of a function outside the image."""
    if name in RUNTIME.values():
        if name not in functions:
            functions[name] = import_module(".blocks", __package__).SCRATCH[name].code["c"]
        return functions[name]
    try:
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    except AttributeError:
        import_module(".inlined", __package__).cpu_target.target_context  # noqa: B018  # declares numba's own functions
        if found := llvm.address_of_symbol(name):
            return found
        raise


def loaded(content: bytes) -> dict[str, int]:
    """Load code that `emitted` returned; returns the addresses of its functions."""
    code, *rest = marshal.loads(content)
    if len(rest) == 1:
        return _loaded_by_llvm(code, *rest)
    fixed, names, outside, own = rest
    memory = mmap.mmap(-1, len(code), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    memory[:] = code
    for at, name in outside:
        struct.pack_into("<Q", memory, at, _outside(name))
    for at, to in own:
        struct.pack_into("<Q", memory, at, begin + to)
    if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(begin + fixed), len(code) - fixed, 1 | 4):
        raise OSError(ctypes.get_errno(), "this system does not let compiled code run")
    never_free(memory)
    return {name: begin + at for name, at in names.items()}


def _loaded_by_llvm(code: bytes, names: list[str]) -> dict[str, int]:
    for name in {*RUNTIME.values()}:
        if name.encode() in code:
            llvm.add_symbol(name, _outside(name))
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), compiler())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    never_free(engine)
    return {name: engine.get_function_address(name) for name in names}


class _Method(ctypes.Structure):
    """PyMethodDef of Python's C API."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


_FASTCALL = 0x80  # arguments come as an array of objects


def builtin(name: str, address: int) -> Any:
    """A Python function, from the address of its code for Python's C API."""
    method = _Method(name.encode(), address, _FASTCALL, None)
    never_free(method)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    return make(ctypes.addressof(method), None, None)
