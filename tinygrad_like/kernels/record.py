"""The record of a kernel's call, a row of numbers that compiled code reads.

The first entries are the address of the kernel's code, the record's length, and how to run it; then come the arguments
in order: for an array the address of its NumPy object, for anything else the number itself. For each kernel this module
generates code that unpacks them, compares the arrays with their declaration, and calls the kernel's body.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..dtypes import INT64
from ..transforms.codegen import define
from .cache import Compiled
from .kinds import DTYPES, INTEGER, KNOWN_AT, REAL, Array, Plan, Rows
from .late import njit
from .views import integer_at, largest, real_at, suits, table_suits, view

if TYPE_CHECKING:
    from .program import Kernel

CODE, SIZE, KNOWN, BESIDE, TASKS, HEADER = range(6)  # indices of the first entries, and their count
_READERS = {INTEGER: "integer_at", REAL: "real_at"}


def compiled_for(kernel: Kernel) -> tuple[Compiled, Callable]:
    """Code of (record, task, tasks) that does one task of a call or, for task -1, returns its work in nanoseconds, -1
    if arrays do not fit; and the function that packs arguments into a record."""
    body = kernel.body
    names = {"__name__": body.__module__, "body": njit(**kernel.options)(body),
             "integer_at": integer_at, "real_at": real_at, "suits": suits, "largest": largest,
             "table_suits": table_suits, "work": kernel.work, "cost": kernel.cost}
    fields, packed, arguments, checks, sizes = "", *([] for _ in range(4))  # type: ignore[var-annotated]

    def array(kind: Array, expression: str) -> str:
        nonlocal fields
        place, fields = HEADER + len(fields), fields + "q"
        packed.append(f"0 if {expression} is None else id({expression})" if kind.optional else f"id({expression})")
        address = f"integer_at(record, {place})"
        checks.append(f"suits({address}, integer_at(record, {KNOWN}), {DTYPES.index(kind.dtype)}, "
                      f"{int(kind.writes)}, {kind.axes})")
        if kind.axes == 0:
            return address
        shown = f"view_{kind.dtype.name}_{kind.axes}"
        names[shown] = view(kind.dtype, kind.axes)
        sizes.append(f"{shown}({address}).size")
        return f"{shown}({address})"

    for name, kind in kernel.kinds.items():
        if isinstance(kind, Array):
            arguments.append(array(kind, name))
        elif isinstance(kind, Rows):
            arguments.append(array(Array(dtype=INT64, axes=2), f"{name}.ids"))
            checks.append(f"table_suits(integer_at(record, {HEADER + len(fields) - 1}), "
                          f"integer_at(record, {KNOWN}), {DTYPES.index(kind.dtype)})")
        elif isinstance(kind, Plan):
            names[f"kind_{name}"], parts = kind.kind, []
            for i, field in enumerate(kind.kind._fields):
                if field in kind.axes:
                    parts.append(array(Array(dtype=INT64, axes=kind.axes[field]), f"{name}[{i}]"))
                else:
                    parts.append(f"integer_at(record, {HEADER + len(fields)})")
                    packed.append(f"{name}[{i}]")
                    fields += "q"
            arguments.append(f"kind_{name}({', '.join(parts)})")
        else:
            arguments.append(f"{_READERS[kind]}(record, {HEADER + len(fields)})")
            packed.append(name)
            fields += kind
    given = ", ".join(arguments)
    amount = f"work({given})" if kernel.work else f"largest(max({', '.join([*sizes, '0'])}), cost)"
    entry = f"{kernel.__name__}_entry"  # not the body's name: their code would have the same name
    text = (f"def {entry}(record, task, tasks):\n"
            f"    if task >= 0: body({given}, task, tasks)\n"
            f"    elif not ({' and '.join(checks) or 'True'}): return -1\n"
            f"    else: return {amount}\n"
            "    return 0\n")
    code = Compiled(define(entry, text, body.__code__.co_filename, names), {}, False, repr((text, kernel.options)))
    record = struct.Struct(f"{HEADER}q{fields}")
    # No argument may have one of these names.
    names |= {"_pack": record.pack, "_code": code.code["code"], "_size": record.size,
              "_known": KNOWN_AT, "_tasks": kernel.tasks}
    text = (f"def pack({', '.join(kernel.kinds)}, beside=0):\n"
            f"    return _pack(_code, _size, _known, beside, _tasks, {', '.join(packed)})\n")
    return code, define("pack", text, f"<arguments of {kernel.__name__}>", names)
