"""How numba compiles functions that only other compiled code calls: to what is linked into their callers, no further.

By itself numba would make machine code of each such function too, which nobody runs.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder


class _Silent:
    """A code generator for which there is no place that an environment could be written to."""

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
        """Only numba's first pass of two: its callers are optimized with it."""
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


# What a library does when it is finished is numba's own affair, and may be otherwise in a version that is not known.
Inlined = _Inlined if numba.version_info.short == (0, 68) else Compiler
