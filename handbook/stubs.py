"""Write the stub for type checkers and editors: `python -m handbook.stubs`.

Tensor's methods, and functions under names of other libraries, are installed from tables when the package is imported,
so checkers cannot see them. The stub has their signatures, return types and docstrings. A test checks that it is up to
date.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import tinygrad_like
from nn import functional
from tinygrad_like import ops
from tinygrad_like.compat import keyword_aliases, names, torch_names
from tinygrad_like.compat.absent import LEADS
from tinygrad_like.compat.numpy_functions import ForNumPy
from tinygrad_like.core.primitive import Primitive
from tinygrad_like.methods import Creation, Methods
from tinygrad_like.methods.gradients import Gradients
from tinygrad_like.methods.in_place import InPlace
from tinygrad_like.methods.protocol import Protocol
from tinygrad_like.methods.versions import Versions


class Surface(names.Names, InPlace, ForNumPy, Methods, Creation, Protocol, Gradients, Versions):
    """All methods that are installed on Tensor."""


STUB = Path(tinygrad_like.__file__).with_suffix(".pyi")

_HEADER = '''"""Made by `python -m handbook.stubs`: do not edit."""
'''
# Return types other than Tensor.
_RETURNS = {"is_floating_point": "builtins.bool", "is_complex": "builtins.bool", "sequential": "Any", "in_dtype": "Any",
            "tolist": "Any", "dim": "builtins.int", "nelement": "builtins.int", "element_size": "builtins.int",
            "ndimension": "builtins.int", "stride": "Any", "is_contiguous": "builtins.bool", "type": "Any",
            "manual_seed": "Any", "equal": "builtins.bool", "register_post_accumulate_grad_hook": "Any"}
_ANNOTATED = {"axis": "_Axis", "keepdim": "builtins.bool", "other": "_Value", "exponent": "_Value",
              "eps": "_Number | None"}
_OPERATORS = [f"__{side}{name}__" for name in
              "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split() for side in ("", "r", "i")]
_OPERATORS += [f"__{name}__" for name in "neg abs invert lt le gt ge eq ne getitem".split()]


_PACKAGES = ["data", "distributed", "distributions", "random", "training"]
_CAPTURE = """_F = TypeVar("_F", bound=Callable[..., Any])
@overload
def capture(function: _F, *, fuse: builtins.bool = ..., strict: builtins.bool = ...) -> _F: ...
@overload
def capture(*, fuse: builtins.bool = ..., strict: builtins.bool = ...) -> Callable[[_F], _F]: ..."""  # keeps the type
_LATE = {"save": "training.checkpoint", "load": "training.checkpoint", "eager": "capture.capture"}
_FUNCTIONS = {"tensor": "new"} | {name: name for name in ("as_tensor", "randint", "normal", "bernoulli", "where")}


def _sentence(f: Any) -> str:
    """The first paragraph of the docstring in one line."""
    text = " ".join(inspect.cleandoc(f.__doc__ or "").partition("\n\n")[0].split())
    return f'r"""{text} """'.replace('. """', '."""') if text else "..."


def _parameter(p: inspect.Parameter) -> str:
    stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
    note = p.annotation if isinstance(p.annotation, str) else _ANNOTATED.get(p.name, "")
    if not note and type(p.default) in (bool, float, str):
        note = "float" if type(p.default) is float else f"builtins.{type(p.default).__name__}"
    note = re.sub(r"\bAxis\b", "_Axis", re.sub(r"(?<!\.)\b(int|bool|str|float)\b", r"builtins.\1", note))
    return f"{stars}{p.name}: {note or 'Any'}" + (" = ..." if p.default is not p.empty else "")


def _function(name: str, f: Any, indent: str = "", returns: str = "", like: Any = None) -> str:
    """The declaration of a function, op or method in one line."""
    static = isinstance(f, staticmethod)
    f = getattr(f, "__func__", f)
    signature = inspect.signature(like or f)
    parameters = [p for p in signature.parameters.values() if p.name != "by_other_names"]
    if indent and not static:
        parameters = parameters[1:]
    others = {target for targets in keyword_aliases.OPTIONS.values() for target in targets}
    method = bool(indent) and not static
    first = next((i for i, p in enumerate(parameters) if (i or method) and p.name in others), len(parameters))
    parameters = [p.replace(default=None) if i >= first and p.default is p.empty and "VAR" not in p.kind.name else p
                  for i, p in enumerate(parameters)]  # optional, since the caller may use its other name
    if "__" in name:
        parameters = [p.replace(default=p.empty) for p in parameters[:1]]
    required = [p.default is p.empty for p in parameters]
    options_by_position = isinstance(inspect.unwrap(like or f, stop=lambda f: isinstance(f, Primitive)), Primitive)
    if options_by_position and not _variadic(parameters) and required == sorted(required, reverse=True):
        parameters = [p.replace(kind=p.POSITIONAL_OR_KEYWORD) if p.kind is p.KEYWORD_ONLY else p for p in parameters]
    shown = ["self"] * (bool(indent) and not static) + [_parameter(p) for p in parameters]
    keywords = [i for i, p in enumerate(parameters, len(shown) - len(parameters)) if p.kind is p.KEYWORD_ONLY]
    if keywords and not _variadic(parameters):
        shown.insert(keywords[0], "*")
    if parameters and not any(p.kind is p.VAR_KEYWORD for p in parameters) and name[0] != "_":
        shown += _elsewhere({p.name for p in parameters}, "*" in shown or _variadic(parameters))
    returns = returns or _RETURNS.get(name) or _annotated(signature.return_annotation)
    head = f"{indent}@staticmethod\n" if static else ""
    body = "..." if name[0] == "_" else _sentence(f)
    ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    return f"{head}{indent}def {name}({', '.join(shown)}) -> {returns}: {body}{ignored}"


def _elsewhere(known: set[str], keywords: bool) -> list[str]:
    """More keyword parameters of a function with these parameters: names in other libraries, and options without
    effect. keywords: whether the function has keyword-only parameters."""
    others = [name for name, targets in keyword_aliases.OPTIONS.items()
              if name != "self" and name not in known and not known.isdisjoint(targets)]
    others += sorted(keyword_aliases._REDUCTION) if "reduction" in known else []
    without = keyword_aliases._WITHOUT_EFFECT.keys() - {*others}
    rest = ["**without_effect: Unpack[_WithoutEffect]"]
    if without & known or len(without) < len(keyword_aliases._WITHOUT_EFFECT):
        others, rest = others + sorted(without - known), []
    return ["*"] * (not keywords and bool(others)) + [f"{name}: Any = ..." for name in others] + rest


def _variadic(parameters: list[inspect.Parameter]) -> bool:
    return any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _annotated(note: Any) -> str:
    if not isinstance(note, str):
        return "Tensor"
    return {"int": "builtins.int", "bool": "builtins.bool", "Found": "_Found"}.get(note, note)


def _methods() -> Iterator[str]:
    yield "    def __setitem__(self, index: Any, value: Any) -> None: ..."
    for name in sorted(dir(Surface)):
        member = inspect.getattr_static(Surface, name)
        if name.startswith("_") and name not in (*_OPERATORS, "_become") or name in names.MISSING:
            continue
        if name in vars(Protocol) or name in vars(Gradients) or name in vars(Versions):  # inherited
            continue
        if isinstance(member, property):
            kind = {"size": "_torch.Count", "device": "_habits.device",
                    **dict.fromkeys(("T", "mT", "mH", "real"), "Tensor")}.get(name, "Callable[..., Tensor]")
            yield f"    @property\n    def {name}(self) -> {kind}: {_sentence(member)}"
        elif not callable(getattr(member, "__func__", member)):
            yield f"    {name}: builtins.bool"
        elif name in vars(InPlace):
            like = getattr(Surface, f"__{name[3:]}" if name[-2:] == "__" else name[:-1], None)
            yield _function(name, member, "    ", "Self", like if inspect.isfunction(like) else None)
        else:
            yield _function(name, member, "    ")


def _functions() -> Iterator[str]:
    """The ops, or the functions of `nn.functional` that replace them in the package's names."""
    own = {name for name, f in torch_names._NAMES.items() if callable(f)}
    of_layers = {name: getattr(functional, name) for name in torch_names.FUNCTIONAL}
    for name, f in sorted({**_public(ops), **of_layers}.items()):
        if name not in own:
            yield _function(name, f)


def _public(module: ModuleType) -> dict[str, Any]:
    return {name: f for name, f in sorted(vars(module).items()) if name[0] != "_" and callable(f)
            and getattr(getattr(f, "__wrapped__", f), "__module__", "").startswith("tinygrad_like.ops")}


def _imports() -> dict[str, str]:
    """The package's imports, by name; other names come from tables."""
    found = {}
    top = ast.parse(STUB.with_suffix(".py").read_text(encoding="utf-8")).body
    for node in [inner for outer in top for inner in (outer.body if isinstance(outer, ast.If) else [outer])]:
        for alias in getattr(node, "names", ()):
            name = alias.asname or alias.name
            if isinstance(node, ast.ImportFrom) and name[0] != "_" and name != "capture":
                found[name] = f"from .{node.module or ''} import {alias.name} as {name}"
    for name, place in {**dict.fromkeys(_PACKAGES, ""), **_LATE}.items():
        found[name] = f"from .{place} import {name} as {name}"
    for name, place in {"nn": "nn", "optim": "optim", **LEADS}.items():
        package, _, last = place.replace("tinygrad_like.nn", "nn").rpartition(".")
        found[name] = f"from {package} import {last} as {name}" if package else f"import {last} as {name}"
    return found


def _other_names(known: set[str]) -> Iterator[str]:
    """Methods as functions, dtypes and other names."""
    methods = {name for name in dir(Surface) if name[0] != "_" and name not in names.MISSING
               and inspect.isfunction(getattr(Surface, name)) and name not in {
                   **vars(ForNumPy), **vars(Protocol), **vars(Gradients), **vars(Versions)}
               and (name not in vars(InPlace) or name[-1] == "_")}
    yield from [f"{name} = _names.{f}" for name, f in _FUNCTIONS.items()]
    yield from [f"{name} = {same}" for name, same in torch_names._SAME.items()]
    known |= {*_public(ops), *torch_names.FUNCTIONAL} - torch_names._NAMES.keys()
    for name in sorted({*torch_names._NAMES, *methods} - known - _FUNCTIONS.keys()):
        value = torch_names._NAMES.get(name)
        kind = "np.dtype" if hasattr(value, "itemsize") or name == "bfloat16" else "Any"
        yield f"{name}: {'builtins.str' if isinstance(value, str) else kind}" if name in torch_names._NAMES else (
            f"{name} = Tensor.{name}")


def stub() -> str:
    """The stub of the package, including the methods that are installed on Tensor."""
    imports = _imports()
    return "\n".join([
        _HEADER.rstrip(), "import builtins", "from collections.abc import Callable, Sequence",
        "from typing import Any, Self, TypedDict, TypeVar, Unpack, overload", "import numpy as np", *imports.values(),
        "from .compat import keyword_aliases as _habits, names as _torch, torch_names as _names",
        "from .compat.numpy_functions import ForNumPy as _ForNumPy",
        "from .methods.gradients import Gradients as _Gradients", "from .methods.of_ops import Axis as _Axis",
        "from .methods.protocol import Protocol as _Protocol", "from .methods.versions import Versions as _Versions",
        "from .ops.order import Found as _Found", "", "__version__: str",
        f"__all__ = {tinygrad_like.__all__!r}", "_Number = builtins.float",
        "_Value = Tensor | np.ndarray | np.generic | builtins.float", "",
        "class _WithoutEffect(TypedDict, total=False):",
        *[f"    {name}: Any" for name in keyword_aliases._WITHOUT_EFFECT], "",
        "class _Surface(_ForNumPy, _Protocol, _Gradients, _Versions):", *_methods(), "", _CAPTURE, *_functions(),
        *_other_names({*imports}), ""])


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
