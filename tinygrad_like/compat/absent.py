"""PyTorch's names that we lack: its CPU builds' answers for other devices, and remedies for the rest."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..rings import PACKAGE, Twin

_NO_COMPLEX = "there are no complex numbers; NumPy's fft computes with x.numpy(), off the graph"
# Modules and names without a counterpart -> the replacement.
ABSENT = {
    "jit": "use capture", "fx": "use capture, or graph", "_dynamo": "use capture", "export": "use nn.onnx.export",
    "utils.tensorboard": "there is no SummaryWriter; training.Log writes the numbers of a run to a CSV file",
    "hub": "download the weights, and give model.load_state_dict what training's load_safetensors reads",
    "profiler": "use Python's cProfile", "utils.bottleneck": "use Python's cProfile", "utils.benchmark": "use timeit",
    "utils.cpp_extension": "write a kernel in Python, see CONTRIBUTING.md", "_six": "use what Python has itself",
    "quantization": "numbers have 16 bits at least", "ao": "numbers have 16 bits at least",
    **dict.fromkeys(("fft", "stft", "istft", "complex", "polar", "view_as_complex", "view_as_real", "complex64",
                     "complex128", "cfloat", "cdouble"), _NO_COMPLEX)}
ABSENT["utils.model_zoo"] = ABSENT["hub"]
# Modules that have another name here.
LEADS = {"multiprocessing": "multiprocessing", "onnx": "tinygrad_like.nn.onnx", **{
    name: f"tinygrad_like.compat.{name}" for name in ("autograd", "func", "utils")}}


class Part(ModuleType):
    """A PyTorch module without a file here; its error for a missing name says why."""

    __path__: list[str] = []

    def __init__(self, part: str, why: str = "", /, **members: Any):
        super().__init__(f"{PACKAGE}.{part}")
        vars(self).update(members, _why=why)
        sys.modules[self.__name__] = self

    def __getattr__(self, name: str) -> Any:
        hint = f"; {self._why}" if name[:2] != "__" and self._why else ""
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}{hint}", name=name, obj=self)


class Finder:
    """The last finder of `sys.meta_path`, for imports of modules that have no file in this package."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        part = name.removeprefix(f"{PACKAGE}.")
        if part == name:
            return None
        if part in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}: {ABSENT[part]}", name=name)
        getattr(sys.modules[PACKAGE], part.partition(".")[0], None)  # creates the Part, if it is one
        if part in LEADS or name in sys.modules:
            twin: Any = Twin(LEADS.get(part, name))
            return ModuleSpec(name, twin)
        return None


sys.meta_path.append(Finder)


def nothing(*args: Any, **options: Any) -> None:
    """A PyTorch setting without effect here."""


def _false(*args: Any) -> bool:
    return False


def _zero(*args: Any) -> int:
    return 0


def _device(part: str) -> Part:
    """PyTorch's answers on a machine without these devices."""
    return Part(
        part, "there is only the CPU; leave it out, or ask torch.cuda.is_available() before",
        **dict.fromkeys(("is_available", "is_built", "is_initialized", "is_bf16_supported"), _false),
        **dict.fromkeys(("device_count", "memory_allocated", "max_memory_allocated", "memory_reserved",
                         "max_memory_reserved", "memory_cached", "max_memory_cached"), _zero),
        **dict.fromkeys(("manual_seed", "manual_seed_all", "seed", "seed_all", "empty_cache"), nothing),
        get_rng_state_all=list, OutOfMemoryError=MemoryError)


_NONE = "there is no such setting for the CPU; leave it out"
DEVICES: dict[str, Any] = {
    **{name: _device(name) for name in ("cuda", "mps", "xpu")}, "OutOfMemoryError": MemoryError,
    "version": Part("version", cuda=None, hip=None, xpu=None),
    "accelerator": Part("accelerator", "there is only the CPU; leave it out", is_available=_false, device_count=_zero,
                        current_accelerator=nothing),
    "backends": Part(
        "backends", _NONE, mps=_device("backends.mps"), openmp=Part("backends.openmp", is_available=_false),
        cuda=Part("backends.cuda", _NONE, is_built=_false, matmul=Part(
            "backends.cuda.matmul", allow_tf32=False, allow_fp16_reduced_precision_reduction=False,
            allow_bf16_reduced_precision_reduction=False), **dict.fromkeys((
                "enable_flash_sdp", "enable_mem_efficient_sdp", "enable_math_sdp", "enable_cudnn_sdp"), nothing)),
        cudnn=Part("backends.cudnn", benchmark=False, deterministic=False, enabled=False, allow_tf32=False,
                   is_available=_false, version=nothing),
        **{name: Part(f"backends.{name}", is_available=_false, enabled=False)
           for name in ("mkl", "mkldnn", "quantized")}),
}


class Missing:
    """An attribute that only PyTorch's classes have: reading it raises an error with the replacement."""

    def __init__(self, name: str, hint: str):
        self.name, self.hint = name, hint

    def __get__(self, obj: Any, owner: type) -> Any:
        if obj is None:
            return self  # for dir, help and the like
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}; {self.hint}",
                             name=self.name, obj=obj)
