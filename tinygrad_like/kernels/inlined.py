"""How numba compiles kernels: functions that only compiled code calls are linked into their callers and nowhere else.

By itself, numba would also make machine code of each such function, which never runs. Only this module imports numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import config, ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.registry import cpu_target
from numba.core.untyped_passes import IRProcessing

from . import machine

# numba's passes are for the same processor as the code, unless it has compiled already: a process has one generator.
if config.CPU_NAME is config.CPU_FEATURES is None and "_toplevel_target_context" not in vars(cpu_target):
    config.CPU_NAME, config.CPU_FEATURES = machine.CPU, machine.MACHINE[-1]


class _Silent:
    """A code generator that writes no environments."""

    def __init__(self, codegen: Any):
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, env: Any) -> None:
        pass


class Linked(JITCodeLibrary):
    """A library without machine code."""

    @property
    def codegen(self):
        return _Silent(self._codegen)  # type: ignore[has-type]

    def _optimize_final_module(self):
        """Run only the first of numba's two passes: the code is optimized with its callers."""
        codegen = self._codegen
        passes, builder = codegen._module_pass_manager(loop_vectorize=codegen._loopvect, slp_vectorize=False,
                                                       opt=codegen._opt_level, cost="cheap")
        passes.run(self._final_module, builder)

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _Inlined(CompilerBase):
    """numba's compiler, into a `Linked` library."""

    def define_pipelines(self):
        state = self.state
        if state.library is None:
            state.library = Linked(state.targetctx.codegen(), state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


# How a library is finished is internal to numba, and may differ in other versions.
Inlined = _Inlined if numba.version_info.short == (0, 68) else Compiler


@register_pass(mutates_CFG=False, analysis_only=False)
class _AsCompiled(FunctionPass):
    """Replaces the names of a formula by their compiled counterparts, before numba's type inference."""

    _name = "as_compiled"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for block in state.func_ir.blocks.values():
            for value in [assigned.value for assigned in block.find_insts(ir.Assign)]:
                if isinstance(value, ir.Const) and type(value.value) in (int, float):
                    value.value = numba.float32(value.value)
                elif isinstance(value, ir.Global):
                    value.value = state.names.get(value.name, value.value)
        return True


def function(python: Callable, names: dict[str, Any] | None = None, **options: Any) -> Any:
    """numba's dispatcher for a function that only compiled code calls; for a formula, with compiled counterparts of its
    global names."""

    class Renamed(Inlined):  # type: ignore[valid-type, misc]
        def define_pipelines(self) -> list:
            self.state.names = names
            passes, = super().define_pipelines()
            passes.add_pass_after(_AsCompiled, IRProcessing)
            passes.finalize()
            return [passes]

    return numba.njit(pipeline_class=Inlined if names is None else Renamed, error_model="numpy",
                      no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(python)


# --- A function of integers that is called from outside, by its address -----------------------------------------------

_FOR_C = """
declare i32 @code(ptr, ptr, {kinds})
define i64 @c({given}) {{
  %result = alloca i64
  %error = alloca ptr
  %status = call i32 @code(ptr %result, ptr %error, {given})
  %y = load i64, ptr %result
  ret i64 %y
}}
"""
# The wrapper by which Python calls it with a row of objects. A kernel fails only for want of memory.
_FOR_PYTHON = """
@message = internal constant [{room} x i8] c"{message}\\00"
@PyExc_MemoryError = external global ptr
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_BadArgument()
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
define ptr @python(ptr %self, ptr %arguments, i64 %count) {{
  %result = alloca i64
  %error = alloca ptr
  %fits = icmp eq i64 %count, {count}
  br i1 %fits, label %get0, label %unfit
{gets}
get{count}:
  %thread = call ptr @PyEval_SaveThread()
  %status = call i32 @code(ptr %result, ptr %error, {given})
  call void @PyEval_RestoreThread(ptr %thread)
  %done = icmp eq i32 %status, 0
  br i1 %done, label %return, label %memory
return:
  %y = load i64, ptr %result
  %object = call ptr @PyLong_FromLongLong(i64 %y)
  ret ptr %object
memory:
  %kind = load ptr, ptr @PyExc_MemoryError
  call void @PyErr_SetString(ptr %kind, ptr @message)
  ret ptr null
unfit:
  %bad = call i32 @PyErr_BadArgument()
  ret ptr null
failed:
  ret ptr null
}}
"""
_GET = """
get{i}:
  %place{i} = getelementptr ptr, ptr %arguments, i64 {i}
  %object{i} = load ptr, ptr %place{i}
  %a{i} = call i64 @PyLong_AsLongLong(ptr %object{i})
  %odd{i} = icmp eq i64 %a{i}, -1
  br i1 %odd{i}, label %check{i}, label %get{next}
check{i}:
  %raised{i} = call ptr @PyErr_Occurred()
  %fine{i} = icmp eq ptr %raised{i}, null
  br i1 %fine{i}, label %get{next}, label %failed
"""


_MESSAGE = "a kernel ran out of memory; its result is incomplete"


def machine_code(python: Callable, options: dict, count: int, shown: bool) -> bytes:
    """The result of `machine.emitted` for a function of so many integers: `code`, which compiled code calls; and if
    others see it, `c` and `python`."""
    kind = numba.types.intp
    dispatcher = function(python, **options)
    dispatcher.compile(kind(*[kind] * count))
    made, = dispatcher.overloads.values()
    library = made.library
    if isinstance(library, Linked):
        module = llvm.parse_bitcode(library._final_module.as_bitcode())
    else:
        module = llvm.parse_assembly(library.get_llvm_str())
    module.get_function(made.fndesc.llvm_func_name).name = "code"
    names = ["code"]
    if shown:
        words = {"count": count, "message": _MESSAGE, "room": len(_MESSAGE) + 1, "kinds": ", ".join(["i64"] * count),
                 "given": ", ".join([f"i64 %a{i}" for i in range(count)]),
                 "gets": "".join([_GET.format(i=i, next=i + 1) for i in range(count)])}
        module.link_in(llvm.parse_assembly((_FOR_C + _FOR_PYTHON).format(**words)))
        names += ["c", "python"]
    for x in (*module.functions, *module.global_variables):
        if x.is_declaration:
            x.name = machine.RUNTIME.get(x.name, x.name)
        elif x.name not in names:
            x.linkage = "internal"
    if isinstance(library, Linked):
        passes, builder = library._codegen._module_pass_manager()
        passes.run(module, builder)
    return machine.emitted(module, names)
