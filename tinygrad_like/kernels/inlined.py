"""Compile kernels with numba: functions that only compiled code calls are linked into their callers and nowhere else.

By default, numba also emits machine code for each such function, which never runs. Only this module imports numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import config, ir, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.registry import cpu_target
from numba.core.runtime import nrtdynmod

from . import machine

# numba's own passes target the processor of the code, unless it has compiled already: a process has one generator.
if config.CPU_NAME is config.CPU_FEATURES is None and "_toplevel_target_context" not in vars(cpu_target):
    config.CPU_NAME, config.CPU_FEATURES = machine.CPU, machine.MACHINE[-1]

# Whether numba's record of a scratch array is as `blocks.py` writes it: a count, two pointers for a destructor,
# the address of the data, and its bytes. Otherwise, numba's own allocator serves.
_SAME_RECORD = str(nrtdynmod._meminfo_struct_type).replace("i8*", "ptr") == "{i64, ptr, ptr, ptr, i64}"
_KNOWN = numba.version_info.short == (0, 68)  # finalizing a library may differ in other versions


class Linked(JITCodeLibrary):
    """A library without machine code."""

    @property
    def codegen(self):
        return self  # where numba looks for `set_env`

    def set_env(self, name: str, env: Any) -> None:
        """Do nothing: there is no code with a place for an environment."""

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        """Leave it as it is: the code is optimized once, with that of its callers."""

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


@register_pass(mutates_CFG=False, analysis_only=False)
class _AsCompiled(FunctionPass):
    """Replace the names in a formula with their compiled counterparts, before numba's type inference."""

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


# The passes of numba that kernels need: none for closures, generators or array expressions.
_PASSES = (untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, untyped_passes.IRProcessing, _AsCompiled,
           untyped_passes.GenericRewrites, untyped_passes.ReconstructSSA, typed_passes.NopythonTypeInference,
           typed_passes.PreLowerStripPhis, typed_passes.IRLegalization, typed_passes.NativeLowering,
           typed_passes.NoPythonBackend)


def function(python: Callable, names: dict[str, Any] | None = None, **options: Any) -> Any:
    """numba's dispatcher for a function that only compiled code calls; for a formula, with compiled counterparts of its
    global names."""

    class Passes(CompilerBase):
        def define_pipelines(self) -> list:
            self.state.names, passes = names, PassManager("kernels")
            for each in _PASSES:
                if each is not _AsCompiled or names is not None:
                    passes.add_pass(each, each.__name__)
            passes.finalize()
            return [passes]

    made = numba.njit(pipeline_class=Passes, error_model="numpy",
                      no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(python)
    called = made.get_call_template
    # Otherwise, numba would compile it again for each literal number in a call.
    made.get_call_template = lambda arguments, named: called(tuple(map(numba.types.unliteral, arguments)), named)
    return made


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
# The wrapper that Python calls, with an array of objects. A kernel fails only if it runs out of memory.
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


def machine_code(python: Callable, options: dict, count: int, exported: bool) -> bytes:
    """The result of `machine.emitted` for a function of `count` integers: with entry `code`, for compiled code; and if
    it is exported, `c` and `python`."""
    kind = numba.types.intp
    dispatcher = function(python, **options)
    codegen = cpu_target.target_context.codegen()
    with global_compiler_lock:  # numba's own functions become `Linked`, too
        before, codegen._library_class = codegen._library_class, Linked if _KNOWN else codegen._library_class
        try:
            dispatcher.compile(kind(*[kind] * count))
        finally:
            codegen._library_class = before
    made, = dispatcher.overloads.values()
    library = made.library
    if isinstance(library, Linked):
        module = llvm.parse_bitcode(library._final_module.as_bitcode())
    else:
        module = llvm.parse_assembly(library.get_llvm_str())
    module.get_function(made.fndesc.llvm_func_name).name = "code"
    names = ["code"]
    if exported:
        words = {"count": count, "message": _MESSAGE, "room": len(_MESSAGE) + 1, "kinds": ", ".join(["i64"] * count),
                 "given": ", ".join([f"i64 %a{i}" for i in range(count)]),
                 "gets": "".join([_GET.format(i=i, next=i + 1) for i in range(count)])}
        module.link_in(llvm.parse_assembly((_FOR_C + _FOR_PYTHON).format(**words)))
        names += ["c", "python"]
    for x in (*module.functions, *module.global_variables):
        if x.is_declaration:
            x.name = machine.RUNTIME.get(x.name, x.name) if _SAME_RECORD else x.name
        elif x.name not in names:
            x.linkage = "internal"
    if isinstance(library, Linked):
        # Not after numba's cheap passes, which keep LLVM from vectorising the remainder of a loop.
        passes, builder = library._codegen._module_pass_manager()
        passes.run(module, builder)
    return machine.emitted(module, names)
