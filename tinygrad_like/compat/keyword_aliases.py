"""What users of PyTorch, NumPy and tinygrad write by habit: it means here what it means there, or an error says what to
write instead. Here: options by other names, and devices. The names of Tensor's methods and of functions: `names.py`.

Names come from tables, and cost a call that uses our own nothing: they are looked up once a call has failed, or in a
line that methods get when the class is made.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any, TypeVar

from ..dtypes import as_dtype

C = TypeVar("C", bound=type)

# Options --------------------------------------------------------------------------------------------------------------

# What others call it -> what it is called here, the first of these that a function has.
OPTIONS: dict[str, tuple[str, ...]] = {
    "dim": ("axis", "axes"), "dims": ("axis", "axes"), "axis": ("axes",), "axes": ("axis",),
    "keepdims": ("keepdim",), "dim0": ("axis0",), "dim1": ("axis1", "axis0"), "dim2": ("axis2", "axis1"),
    "start_dim": ("start_axis",), "end_dim": ("end_axis",), "size": ("shape", "sizes"), "sizes": ("shape",),
    "split_size": ("sizes",), "split_size_or_sections": ("sizes",), "unflattened_size": ("sizes",),
    "min": ("min_",), "max": ("max_",), "a_min": ("min_", "min"), "a_max": ("max_", "max"), "min_": ("min",),
    "max_": ("max",), "unbiased": ("correction",), "ddof": ("correction",), "end": ("stop",), "pad": ("padding",),
    "ord": ("p",), "approximation": ("approximate",), "N": ("n",), "M": ("m",), "num": ("steps",),
    "query": ("q",), "key": ("k",), "value": ("v", "src"), "repeat": ("repeats",), "reps": ("repeats",),
    "shift": ("shifts",),
    "input": ("x", "a", "index"), "self": ("x", "a"), "other": ("b", "exponent", "y"), "mat2": ("b",),
    "exponent": ("b",), "train": ("training",),
}
_CONVERTED: dict[str, Callable] = {"unbiased": int}
MEMORY_FORMATS = "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"  # ours are NumPy's
# What has nothing to say here, and the only values it may have; device= is checked by itself.
_WITHOUT_EFFECT: dict[str, tuple] = {
    "device": (), "non_blocking": (True, False), "pin_memory": (True, False), "layout": (None, "strided"),
    "out": (None,), "memory_format": (None, *MEMORY_FORMATS), "generator": (None,), "sparse": (False,),
    "foreach": (None, True, False),
    "fused": (None, True, False), "capturable": (False,), "differentiable": (False,), "inplace": (True, False),
    "verbose": (True, False), "stable": (None, True, False),
}
_REDUCTION = frozenset({"size_average", "reduce"})  # by which PyTorch's losses said it before there was reduction
# Whose last argument in PyTorch is inplace, by position too: ours have it only by name.
_IN_PLACE = frozenset("""
    relu relu6 leaky_relu elu selu celu silu mish hardswish hardsigmoid hardtanh
    dropout dropout1d dropout2d dropout3d
""".split())


def renamed(who: str, known: Mapping[str, Any], given: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """`given`, options by the names in `known` (name -> default), together with `others`, named by another library.

    Raises TypeError in the name of `who` for a name that nobody uses, or an option given twice.
    """
    options = dict(given)
    for name, value in _with_reduction(others).items():
        if name == "device":
            device(value)
        elif name in _WITHOUT_EFFECT:
            if not any(value is allowed for allowed in _WITHOUT_EFFECT[name]):
                raise TypeError(f"{who}: {name}={value!r} is not supported; leave it out")
        else:
            target = next((n for n in (name, *OPTIONS.get(name, ())) if n in known), None)  # *these by their own name
            if target is None:
                raise TypeError(f"{who}: unknown argument {name!r}; it takes {', '.join(known) or 'none'}")
            if target in options and options[target] is not known[target]:
                said = "size_average or reduce" if name == target else name
                raise TypeError(f"{who}: {said} and {target} are the same; give one of them")
            options[target] = _CONVERTED.get(name, lambda v: v)(value)
    return options


def _with_reduction(others: Mapping[str, Any]) -> Mapping[str, Any]:
    """`others`, with `reduction` in place of PyTorch's former size_average and reduce, which win over it there too."""
    if _REDUCTION.isdisjoint(others):
        return others
    average, reduce = others.get("size_average"), others.get("reduce")
    reduction = {} if average is None and reduce is None else {
        "reduction": "none" if reduce is False else "sum" if average is False else "mean"}
    return {**{name: value for name, value in others.items() if name not in _REDUCTION}, **reduction}


def ends_with_inplace(who: str, inputs: tuple, most: int) -> bool:
    """Whether a function that takes at most so many arguments by position was given PyTorch's inplace after them."""
    return who in _IN_PLACE and len(inputs) == most + 1 and isinstance(inputs[-1], bool)


# How many axes a batch has, for ops that take one alone; others see to it themselves.
_BATCHES = {"conv2d": 4, "conv_transpose2d": 4, "unfold": 4, "fold": 3}
_signature = lru_cache(None)(inspect.signature)


def again(op: Any, inputs: tuple, options: dict, error: Exception) -> Any:
    """What an op that has failed gives if its options are called by our names, or its input, which has no batch, as a
    batch of one; NotImplemented if that was no reason."""
    if op.name == "linear" and getattr(inputs[1] if len(inputs) > 1 else None, "ndim", 0) == 1:  # one output, no axis
        y = inputs[0] @ inputs[1]
        return y if len(inputs) < 3 or inputs[2] is None else y + inputs[2]
    if inputs and getattr(inputs[0], "ndim", -1) + 1 == _BATCHES.get(op.name):
        y = _anew(op, (inputs[0].reshape((1, *inputs[0].shape)), *inputs[1:]), options)
        return y.reshape(y.shape[1:])
    known = {**dict.fromkeys(op.inputs), **op.options}
    others = _others(known, options)
    if not others:
        return NotImplemented
    wanted = renamed(op.name, known, {n: v for n, v in options.items() if n in known}, others)
    if others.get("inplace"):
        return inputs[0]._become(f"{op.name}_", lambda x: _anew(op, (x, *inputs[1:]), wanted))
    return _anew(op, inputs, wanted)


def again_function(f: Callable, inputs: tuple, options: dict, who: str) -> Any:
    """`again` for a plain function. Raises TypeError, with the names there are, for an option that nobody has, and for
    arguments by position that are to be given by name."""
    parameters = _signature(f).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return NotImplemented
    others = {name: value for name, value in options.items() if name not in parameters}
    by_position = [p for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
    if ends_with_inplace(f.__name__, inputs, len(by_position)):
        inputs, others = inputs[:-1], {**others, "inplace": inputs[-1]}
    _by_name(who, len(inputs), parameters)
    if not others:
        return NotImplemented
    given = {n: v for n, v in options.items() if n not in others}
    if others.get("inplace") and hasattr(inputs[0] if inputs else None, "_become"):
        return inputs[0]._become(f"{f.__name__}_", lambda x: _anew(called, (f, (x, *inputs[1:]), given, others), {}))
    return _anew(called, (f, inputs, given, others), {})


def _by_name(who: str, given: int, parameters: Mapping[str, inspect.Parameter]) -> None:
    """Raise TypeError if so many arguments by position are too many, and the others would be taken by name."""
    own = [p for p in parameters.values() if p.name != "self"]
    most = [p.name for p in own if p.kind is not p.KEYWORD_ONLY]
    rest = [p.name for p in own if p.kind is p.KEYWORD_ONLY]
    if rest and given - len(parameters) + len(own) > len(most) and all([p.kind is not p.VAR_POSITIONAL for p in own]):
        hint = ' (size_average=False is reduction="sum", reduce=False is "none")' if "reduction" in rest else ""
        raise TypeError(f"{who}: takes {', '.join(most) or 'nothing'} by position; give {', '.join(rest)} by "
                        f"name{hint}")


def other_names(f: Callable, options: Mapping[str, Any]) -> dict[str, str]:
    """What f calls those options that came by other names, and are nothing else than what they are in PyTorch."""
    targets = _parameters(f)[2]
    return {name: targets[name] for name in options if name in targets}


def _others(known: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that other libraries call by these names; none if there is one that nobody uses."""
    others = {name: value for name, value in options.items() if name not in known}
    return others if all(name in OPTIONS or name in _WITHOUT_EFFECT or name in _REDUCTION for name in others) else {}


def taught(cls: C) -> C:
    """Have the methods of a class take their options by the names in `OPTIONS` too.

    They are compiled once more, with `**by_other_names` and first lines that look whether there are any: a wrapper
    would cost every call. The names most used are taken there, the others by `called`. Without the source nothing
    changes: then those names are errors.
    """
    module = sys.modules[cls.__module__]
    try:
        tree = ast.parse(inspect.getsource(module))
    except OSError:
        return cls
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls.__name__).body
    methods: list[ast.stmt] = [node for node in body if isinstance(node, ast.FunctionDef) and _teach(node, cls)]
    found: dict[str, Any] = {}
    exec(compile(ast.Module(methods, []), str(module.__file__), "exec"), vars(module), found)
    learned = {getattr(cls, name): f for name, f in found.items()}
    for old, f in learned.items():
        f.__qualname__, f.__module__ = old.__qualname__, old.__module__
        first, *rest = inspect.signature(f).parameters.values()
        vars(f)["__signature__"] = inspect.Signature([first.replace(default=first.empty), *rest])
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType) and member in learned:  # under every name that it has
            setattr(cls, name, learned[member])
    return cls


def _teach(node: ast.FunctionDef, cls: type) -> bool:
    """Give the definition of a method `**by_other_names` and its first line, if one of its options has other names."""
    a = node.args
    options = [p.arg for p in (*a.args[1:], *a.kwonlyargs)]
    if node.decorator_list or a.kwarg or _TARGETS.isdisjoint({*options, a.vararg.arg if a.vararg else ""}):
        return False
    none = ast.copy_location(ast.Constant(None), node)
    a.defaults = [none] * (len(a.args) - len(a.defaults)) + a.defaults  # self too: it may come as input=
    a.kwarg = ast.copy_location(ast.arg("by_other_names"), node)
    inputs = f"(self, *{a.vararg.arg})" if a.vararg else "(self,)"
    given = "{" + ", ".join(f"{n!r}: {n}" for n in options) + "}"
    values = [*a.defaults[1:], *a.kw_defaults]
    defaults = {n: ast.unparse(value) for n, value in zip(options, values, strict=True) if value}
    often = [(name, next((n for n in OPTIONS[name] if n in options), "")) for name in ("dim", "min", "max")]
    taken = [f" if {name!r} in by_other_names and {target} == {defaults[target]}:\n"
             f"  {target} = by_other_names.pop({name!r})\n"
             for name, target in often if target in defaults and name not in options]
    line = ast.parse("if by_other_names:\n" + "".join(taken) + " if by_other_names:\n"
                     f"  from {__name__} import called\n"
                     f"  return called({cls.__name__}.{node.name}, {inputs}, {given}, by_other_names)").body[0]
    node.body.insert(bool(ast.get_docstring(node)), line)
    return True


_TARGETS = {target for targets in OPTIONS.values() for target in targets} - {"a", "b", "x"}


def called(f: Callable, inputs: tuple, given: Mapping[str, Any], others: Mapping[str, Any]) -> Any:
    """What the function or method `f` gives if some of its options come by other names."""
    if inputs and inputs[0] is None and (first := {"input", "tensors"} & others.keys()):  # torch.sum(input=x)
        others = dict(others)
        inputs = (others.pop(first.pop()), *inputs[1:])
    known, starred, targets = _parameters(f)
    options = dict(given)
    for name, value in others.items():
        target = targets.get(name)
        if target is None or options.get(target, known[target]) is not known[target]:
            break
        options[target] = value
    else:  # as with dim= for axis=: what follows would take several times as long as the call itself
        return f(*inputs, **options)
    who = f.__qualname__.removesuffix(".__init__") if f.__name__ == "__init__" else f.__name__
    options = renamed(who, known, given, others)
    if starred in options:
        if len(inputs) > 1:
            raise TypeError(f"{who}: {starred} is given twice, by position and by name")
        inputs = (*inputs, options.pop(starred))
    return _anew(f, inputs, options)


@lru_cache(None)
def _parameters(f: Callable) -> tuple[dict[str, Any], str, dict[str, str]]:
    """The parameters of a function with their defaults, the name of *these, and what others call one of the rest."""
    parameters = [p for p in _signature(f).parameters.values() if p.name != "self"]
    known = {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD}
    starred = "".join([p.name for p in parameters if p.kind is p.VAR_POSITIONAL])
    found = {name: next((n for n in targets if n in known), "") for name, targets in OPTIONS.items()}
    return known, starred, {name: target for name, target in found.items()
                            if target and target != starred and name not in known and name not in _CONVERTED}


def _anew(f: Callable, inputs: tuple, options: Mapping[str, Any]) -> Any:
    """f(*inputs, **options), whose errors do not tell of the first call's."""
    try:
        return f(*inputs, **options)
    except Exception as error:
        error.__suppress_context__ = True
        raise

# Devices --------------------------------------------------------------------------------------------------------------


class device(str):
    """The device that computes everything: "cpu". Raises RuntimeError for any other."""

    type = "cpu"
    index: Any = None  # type: ignore[assignment]  # as of PyTorch's devices

    def __new__(cls, name: Any = "cpu", index: Any = None) -> device:
        if name is not None and not _names_device(name, "cpu"):
            raise RuntimeError(f"device: there is only the CPU, not {name!r}; write device='cpu', or leave it out")
        return super().__new__(cls, "cpu")


def _names_device(x: Any, *kinds: str) -> bool:
    return isinstance(x, str) and x.lower().partition(":")[0] in kinds


def wanted_dtype(who: str, *wanted: Any, dtype: Any = None, **others: Any) -> Any:
    """The dtype among what PyTorch's `to` takes, or None: dtypes, Tensors whose dtype is meant, devices."""
    for x in wanted:
        if x is None or isinstance(x, bool) or _names_device(x, "cpu", "cuda", "mps", "xpu", "gpu", "meta"):
            device(x if isinstance(x, str) else None)
        else:
            dtype = x if isinstance(x, type) else getattr(x, "dtype", x)
    others.pop("copy", None)
    renamed(who, {}, {}, others)
    return None if dtype is None else as_dtype(dtype, who)
