"""Compile loops on demand: elementwise functions over arrays of any shape and strides.

A `Loop` says how to compute each element of its outputs, as a list of values that refer to earlier ones. All loops of a
program become one LLVM module, which takes some 10 ms per loop to compile; compiled code is kept on disk, under a hash
of the loops, the machine and the compiler. Shapes, strides and numbers are constants in the code, so that short inner
loops unroll and long ones are vectorised.

The result is NumPy's, to the bit: arithmetic is not rearranged, and no product is fused with a sum.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from ..dtypes import BOOL, FLOAT32, FLOAT64, INT64
from . import cache, machine
from .late import llvm
from .record import HEADER
from .simd import I32, I64, POINTER, call, integer, signature
from .views import address

FORMULAS: dict[str, Any] = {}  # by the name of a value; see `formula.py`
INT32 = np.dtype(np.int32)
KINDS = {FLOAT32: ir.FloatType(), FLOAT64: ir.DoubleType(), INT64: I64, BOOL: ir.IntType(1), INT32: I32,
         np.dtype(np.uint8): ir.IntType(8)}

_COST = 0.06  # nanoseconds per element that is read or written


class Value(NamedTuple):
    """One value per element: its operation, the earlier values that it takes, and its dtype.

    make: "load" (of operand number arguments[0]), "number" (arguments[0] itself), "cast", or a name of `MAKE` or of
    `FORMULAS`.
    """

    make: str
    arguments: tuple
    dtype: np.dtype


class Loop(NamedTuple):
    """For each element of `shape`: the values to compute, some of which are stored to arrays."""

    shape: tuple[int, ...]
    operands: tuple[np.ndarray, ...]  # broadcast to the shape
    values: tuple[Value, ...]
    stores: tuple[tuple[int, np.ndarray], ...]  # index of a value, and the array it goes to; of this shape

    def reads(self) -> list[np.ndarray]:
        return list(self.operands)

    def writes(self) -> list[np.ndarray]:
        return [array for _, array in self.stores]

    def record(self, code: int) -> bytes:
        """The record of a call of the compiled code at this address."""
        numbers = [*map(address, self.operands), *map(address, self.writes())]
        return np.array([code, 8 * (HEADER + len(numbers)), 0, 0, 1, *numbers], np.int64).tobytes()


# Operations; `b` is the builder that appends instructions -------------------------------------------------------------


def _intrinsic(name: str) -> Callable:
    def make(b, dtype, *x):
        kind = x[0].type
        return call(b, f"llvm.{name}.{'f32' if isinstance(kind, ir.FloatType) else 'f64'}", kind, *x)

    return make


def _unsigned(x) -> bool:
    return x.type.width in (1, 8)  # a bool or a byte


def _compare(sign: str) -> Callable:
    def make(b, dtype, x, y):
        if isinstance(x.type, ir.FloatType | ir.DoubleType):
            return (b.fcmp_unordered if sign == "!=" else b.fcmp_ordered)(sign, x, y)
        return (b.icmp_unsigned if _unsigned(x) else b.icmp_signed)(sign, x, y)

    return make


def _either(of_floats: str, of_integers: str) -> Callable:
    def make(b, dtype, *x):
        return getattr(b, of_floats if isinstance(x[0].type, ir.FloatType | ir.DoubleType) else of_integers)(*x)

    return make


def _extreme(sign: str) -> Callable:
    def make(b, dtype, x, y):  # NaN wins; of equal zeros NumPy takes the second
        taken = _compare(sign)(b, dtype, x, y)
        if isinstance(x.type, ir.FloatType | ir.DoubleType):
            taken = b.or_(taken, b.fcmp_unordered("uno", x, x))
        return b.select(taken, x, y)

    return make


def _sign(b, dtype, x):
    zero, one = ir.Constant(x.type, 0.0), ir.Constant(x.type, 1.0)
    above = b.select(b.fcmp_ordered(">", x, zero), one, b.select(b.fcmp_ordered("<", x, zero), b.fneg(one), zero))
    return b.select(b.fcmp_unordered("uno", x, x), x, above)


def _mod(b, dtype, x, n):  # of signed numbers, for n > 0; 0.0 is added to -0.0
    left, zero = _either("frem", "srem")(b, dtype, x, n), ir.Constant(x.type, None)
    return MAKE["add"](b, dtype, left, b.select(_compare("<")(b, dtype, left, zero), n, zero))


def _reciprocal(b, dtype, x):
    return b.fdiv(ir.Constant(x.type, 1.0), x)


_sqrt = _intrinsic("sqrt")
MAKE: dict[str, Callable] = {
    "add": _either("fadd", "add"), "sub": _either("fsub", "sub"), "mul": _either("fmul", "mul"),
    "div": _either("fdiv", ""), "neg": _either("fneg", "neg"), "square": lambda b, d, x: MAKE["mul"](b, d, x, x),
    "reciprocal": _reciprocal, "sqrt": _sqrt, "rsqrt": lambda b, d, x: _reciprocal(b, d, _sqrt(b, d, x)),
    "abs": _intrinsic("fabs"), "floor": _intrinsic("floor"), "ceil": _intrinsic("ceil"), "trunc": _intrinsic("trunc"),
    "round": _intrinsic("rint"), "sign": _sign, "maximum": _extreme(">"), "minimum": _extreme("<"),
    "mod": _mod, "where": lambda b, d, c, x, y: b.select(c, x, y),
    "logical_and": lambda b, d, x, y: b.and_(x, y), "logical_or": lambda b, d, x, y: b.or_(x, y),
    "logical_xor": lambda b, d, x, y: b.xor(x, y), "logical_not": lambda b, d, x: b.not_(x),
    "isnan": lambda b, d, x: b.fcmp_unordered("uno", x, x), "relu": lambda b, d, x: MAKE["relu vjp"](b, d, x, x),
    "relu vjp": lambda b, d, g, x: b.select(b.fcmp_ordered("<=", x, (zero := ir.Constant(x.type, 0.0))), zero, g),
    "leaky relu": lambda b, d, x, slope: MAKE["leaky relu vjp"](b, d, x, x, slope),
    "leaky relu vjp": lambda b, d, g, x, slope: b.select(
        b.fcmp_ordered(">", x, ir.Constant(x.type, 0.0)), g, b.fmul(g, slope)),
    **{name: _compare(sign) for name, sign in dict(eq="==", ne="!=", lt="<", le="<=", gt=">", ge=">=").items()},
}


def _cast(b, x, dtype: np.dtype):
    kind, floats = KINDS[dtype], ir.FloatType | ir.DoubleType
    if x.type == kind:
        return x
    if dtype is BOOL:
        zero = ir.Constant(x.type, 0.0 if isinstance(x.type, floats) else 0)
        return (b.fcmp_unordered if isinstance(x.type, floats) else b.icmp_signed)("!=", x, zero)
    if isinstance(x.type, floats):
        if isinstance(kind, floats):
            return b.fpext(x, kind) if isinstance(kind, ir.DoubleType) else b.fptrunc(x, kind)
        if kind.width < 32:
            return b.trunc(_cast(b, x, INT32), kind)
        whole, most = b.fptosi(x, kind), 2 ** (kind.width - 1)
        fits = [b.fcmp_ordered(sign, x, ir.Constant(x.type, float(n))) for sign, n in ((">=", -most), ("<", most))]
        return b.select(b.and_(*fits), whole, ir.Constant(kind, -most))  # to LLVM it may be any other number
    if isinstance(kind, floats):
        return (b.uitofp if _unsigned(x) else b.sitofp)(x, kind)
    if kind.width < x.type.width:
        return b.trunc(x, kind)
    return (b.zext if _unsigned(x) else b.sext)(x, kind)


def _formula(b, name: str, x: Sequence) -> Any:
    """The value of a formula, by a call in numba's calling convention, which LLVM inlines."""
    with b.goto_entry_block():
        result = b.alloca(ir.FloatType())
    call(b, FORMULAS[name].code[0], I32, result, ir.Constant(POINTER, None), *x)
    return b.load(result, typ=ir.FloatType())


# Code -----------------------------------------------------------------------------------------------------------------


def _axes(loop: Loop) -> list[tuple[int, list[int]]]:
    """The length of each axis, and all arrays' strides along it: axes in the outputs' order in memory, merged where all
    arrays allow it."""
    arrays = [x if x.shape == loop.shape else np.broadcast_to(x, loop.shape) for x in loop.operands] + loop.writes()
    found = [(n, [x.strides[a] for x in arrays]) for a, n in enumerate(loop.shape) if n != 1]
    found.sort(key=lambda axis: -abs(axis[1][-1]))
    joined: list[tuple[int, list[int]]] = []
    for n, strides in found:
        if joined and all(outer == n * inner for outer, inner in zip(joined[-1][1], strides, strict=True)):
            joined[-1] = joined[-1][0] * n, strides
        else:
            joined.append((n, strides))
    return joined or [(1, [0] * len(arrays))]


def _function(module: ir.Module, name: str, loop: Loop) -> None:
    """Emit f(record, task, tasks), as kernels are called; and the loop itself, whose arrays do not overlap, except
    those that are read and then written at the same place."""
    axes, count = _axes(loop), len(loop.operands) + len(loop.stores)
    cut = max(range(len(axes)), key=lambda a: axes[a][0])
    inner = ir.Function(module, signature(ir.VoidType(), I64, I64, *[POINTER] * count), f"{name}_loop")
    inner.linkage = "internal"
    for i in range(len(loop.operands), count):
        inner.args[2 + i].attributes.add("noalias")
    b = ir.IRBuilder(inner.append_basic_block())
    arrays = list(inner.args[2:])
    for i, j in _in_place(loop):
        arrays[i] = arrays[len(loop.operands) + j]  # data written through an argument is read through the same one
    _nest(b, loop, axes, cut, inner.args[:2], arrays)
    # numba's calling convention: the first argument is the address of the result, and 0 means no error.
    outer = ir.Function(module, signature(I32, POINTER, POINTER, I64, I64, I64), name)
    b = ir.IRBuilder(outer.append_basic_block())
    result, _, record, task, tasks = outer.args
    b.store(integer(0), result)
    made = sum(12 if v.make in FORMULAS else v.make not in ("load", "number") for v in loop.values)
    work = int(_COST * math.prod(loop.shape) * (count + made / 4))
    with b.if_then(b.icmp_signed("<", task, integer(0))):
        b.store(integer(work), result)
        b.ret(ir.Constant(I32, 0))
    numbers = b.inttoptr(record, POINTER)
    arrays = [b.inttoptr(b.load(b.gep(numbers, [integer(HEADER + i)], source_etype=I64), typ=I64), POINTER)
              for i in range(count)]
    ends = [b.sdiv(b.mul(t, integer(axes[cut][0])), tasks) for t in (task, b.add(task, integer(1)))]
    b.call(inner, [*ends, *arrays])
    b.ret(ir.Constant(I32, 0))


def place(x: np.ndarray) -> tuple:
    """Where an array's elements lie, equal for all views of them; strides of axes of length 1 are ignored."""
    return address(x), x.shape, tuple([0 if n == 1 else s for n, s in zip(x.shape, x.strides, strict=True)])


def _in_place(loop: Loop) -> list[tuple[int, int]]:
    """Indices of operands whose elements are overwritten, each with the index of the store."""
    stores = {place(x): j for j, x in enumerate(loop.writes())}
    return [(i, j) for i, x in enumerate(loop.operands) if (j := stores.get(place(x))) is not None]


def _nest(b, loop: Loop, axes: list, cut: int, part: Sequence, arrays: Sequence) -> None:
    """Emit the nested loops. part: this task's bounds of axis `cut`."""
    pointers, ends = list(arrays), []
    for a, (n, strides) in enumerate(axes):
        first, last = part if a == cut else (integer(0), integer(n))
        head = b.block
        body, after = b.append_basic_block(), b.append_basic_block()
        if a == cut:
            b.cbranch(b.icmp_signed("<", first, last), body, after)
        else:
            b.branch(body)
        b.position_at_end(body)
        i = b.phi(I64)
        i.add_incoming(first, head)
        pointers = [p if s == 0 else b.gep(p, [b.mul(i, integer(s))], source_etype=ir.IntType(8))
                    for p, s in zip(pointers, strides, strict=True)]
        ends.append((i, last, body, after))
    _place(b, loop, pointers)
    for i, last, body, after in reversed(ends):
        following = b.add(i, integer(1))
        i.add_incoming(following, b.block)
        b.cbranch(b.icmp_signed("<", following, last), body, after)
        b.position_at_end(after)
    b.ret_void()


def _place(b, loop: Loop, pointers: list) -> None:
    """Emit the work for one element."""
    values: list = []
    for make, arguments, dtype in loop.values:
        kind = KINDS[dtype]
        if make == "load":
            value = b.load(pointers[arguments[0]], typ=ir.IntType(8) if dtype is BOOL else kind, align=dtype.itemsize)
            value = b.icmp_unsigned("!=", value, ir.Constant(value.type, 0)) if dtype is BOOL else value
        elif make == "number":
            value = ir.Constant(kind, float(dtype.type(arguments[0])) if dtype.kind == "f" else int(arguments[0]))
        elif make == "cast":
            value = _cast(b, values[arguments[0]], dtype)
        elif make in FORMULAS:
            value = _formula(b, make, [values[i] for i in arguments])
        else:
            value = MAKE[make](b, dtype, *[values[i] for i in arguments])
        values.append(value)
    for (i, array), pointer in zip(loop.stores, pointers[len(loop.operands):], strict=True):
        value = values[i]
        b.store(b.zext(value, ir.IntType(8)) if array.dtype is BOOL else value, pointer, align=array.dtype.itemsize)


# Compiling ------------------------------------------------------------------------------------------------------------


_loaded: dict[str, dict[str, int]] = {}  # addresses of functions, by a hash of what their code depends on


def addresses(loops: Sequence[Loop]) -> list[int]:
    """The address of each loop's code. Raises KeyError for a dtype or an operation without code."""
    names: dict[str, str] = {}  # by what the code depends on
    different: list[Loop] = []
    of: list[str] = []
    for loop in loops:
        dtypes = [x.dtype.str for x in (*loop.operands, *loop.writes())]  # the repr of a dtype takes ten times as long
        values = [(make, arguments, dtype.str) for make, arguments, dtype in loop.values]
        key = repr((_axes(loop), dtypes, values, [i for i, _ in loop.stores], _in_place(loop)))
        if key not in names:
            names[key] = f"loop{len(names)}"
            different.append(loop)
        of.append(names[key])
    found = _compiled("".join(names), different)
    return [found[name] for name in of]


def _text(loops: Sequence[Loop]) -> str:
    """The loops in LLVM assembly."""
    module = ir.Module("loops")
    module.triple = llvm.get_process_triple()
    for i, loop in enumerate(loops):
        _function(module, f"loop{i}", loop)
    return str(module)


@lru_cache
def _about() -> str:
    """Everything besides the loops that code depends on: this module, the compiler, and the machine."""
    sources = [cache.sources(Path(__file__).with_name(name)) for name in ("loops.py", "formula.py")]
    return repr((cache.COMPILER, sources, machine.MACHINE))


def _compiled(keys: str, loops: Sequence[Loop]) -> dict[str, int]:
    """The addresses of the loops' code, by their keys."""
    digest = hashlib.sha256((_about() + keys).encode()).hexdigest()
    if digest in _loaded:
        return _loaded[digest]
    file = cache.folder() / f"loops-{digest[:20]}.code"
    code = cache.read(file)
    if code is None:
        module = llvm.parse_assembly(_text(loops))
        for name in {v.make for loop in loops for v in loop.values if v.make in FORMULAS}:
            full, text = FORMULAS[name].code
            module.link_in(llvm.parse_assembly(text))
            module.get_function(full).linkage = "internal"
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = options.slp_vectorization = True
        builder = llvm.create_pass_builder(machine.compiler(), options)
        builder.getModulePassManager().run(module, builder)
        code = machine.emitted(module, [f"loop{i}" for i in range(len(loops))])
        cache.keep(file, code)
    _loaded[digest] = machine.loaded(code)
    return _loaded[digest]
