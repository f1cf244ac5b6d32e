"""Habits of PyTorch, NumPy and tinygrad users work as there, or raise an error that names the replacement. This file
has other names of options, and devices; `names.py` has names of methods, `torch_names.py` of functions.

`taught` wraps methods once, and renames options before the call. For ops, layers and other functions, renaming happens
only after a call has failed (`errors.rescuers`), so calls with our own names pay nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..core.dispatch import Op
from ..dtypes import as_dtype
from ..errors import in_the_name_of
from ..ops.operands import by_position

# Options --------------------------------------------------------------------------------------------------------------

# Their name -> our names; the first one that a function has is used.
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
    "input": ("x", "a", "index"), "self": ("x", "a"), "other": ("b", "exponent", "y"), "mat2": ("b",), "vec": ("b",),
    "exponent": ("b",), "train": ("training",),
}
MEMORY_FORMATS = "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"  # ours are NumPy's
# Options without effect here, and their allowed values; device= is checked separately.
_WITHOUT_EFFECT: dict[str, tuple] = {
    "device": (), "non_blocking": (True, False), "pin_memory": (True, False), "layout": (None, "strided"),
    "out": (None,), "memory_format": (None, *MEMORY_FORMATS), "generator": (None,), "sparse": (False,),
    "foreach": (None, True, False),
    "fused": (None, True, False), "capturable": (False,), "differentiable": (False,), "inplace": (True, False),
    "verbose": (True, False), "stable": (None, True, False),
}
_REDUCTION = frozenset({"size_average", "reduce"})  # PyTorch's old names for a loss's reduction
# Functions whose last argument in PyTorch is inplace, even by position; ours take it only by name.
_IN_PLACE = frozenset("""
    relu relu6 leaky_relu elu selu celu silu mish hardswish hardsigmoid hardtanh
    dropout dropout1d dropout2d dropout3d
""".split())


def renamed(who: str, known: Mapping[str, Any], given: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """`given`, options under the names in `known` (name -> default), merged with `others`, under another library's
    names.

    Raises TypeError in the name of `who` for an unknown name or a repeated option.
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
            options[target] = int(value) if name == "unbiased" else value
    return options


def _with_reduction(others: Mapping[str, Any]) -> Mapping[str, Any]:
    """`others`, with `reduction` in place of PyTorch's old size_average and reduce, which take precedence there too."""
    if _REDUCTION.isdisjoint(others):
        return others
    average, reduce = others.get("size_average"), others.get("reduce")
    reduction = {} if average is None and reduce is None else {
        "reduction": "none" if reduce is False else "sum" if average is False else "mean"}
    return {**{name: value for name, value in others.items() if name not in _REDUCTION}, **reduction}


# The parameters of a function -----------------------------------------------------------------------------------------


class Parameters(NamedTuple):
    """The parameters of a function, without `self`."""

    known: dict[str, Any]  # with their defaults
    own: frozenset[str]  # those that may be named
    starred: str  # the name of *these
    most: int | None  # the number of positional ones
    open: bool  # whether it takes any name
    method: bool
    targets: dict[str, str]  # their names -> ours


_parameters: WeakKeyDictionary[Any, Parameters] = WeakKeyDictionary()  # of ops and functions


def parameters_of(f: Any) -> Parameters:
    if (found := _parameters.get(f)) is None:
        all_of_them = list(inspect.signature(f).parameters.values())
        method = bool(all_of_them) and all_of_them[0].name == "self"
        given = all_of_them[method:]
        known = {p.name: p.default for p in given if p.kind is not p.VAR_KEYWORD}
        starred = "".join([p.name for p in given if p.kind is p.VAR_POSITIONAL])
        most = sum([p.kind is not p.KEYWORD_ONLY for p in given]) + (by_position(f) if isinstance(f, Op) else 0)
        found = _parameters[f] = Parameters(
            known, frozenset({*known} - {starred}), starred, None if starred else most,
            any([p.kind is p.VAR_KEYWORD for p in given]), method, _targets(known))
    return found


def _targets(known: Iterable[str]) -> dict[str, str]:
    found = {name: next((n for n in targets if n in known), "") for name, targets in OPTIONS.items()}
    return {name: target for name, target in found.items() if target and name not in known}


def _translated(f: Any, who: str, inputs: tuple, options: Mapping[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Inputs and options under our names. Raises TypeError, listing the known names, for an unknown one."""
    known, own, starred, _, _, method, targets = parameters_of(f)
    given: dict[str, Any] = {}
    for name, value in options.items():
        target = name if name in own else targets.get(name)
        if target is None or target in given or target == starred or name == "unbiased":
            break
        given[target] = value
    else:  # such as dim= for axis=: the general way takes several times as long as the call
        return inputs, given
    others = {name: value for name, value in options.items() if name not in own}
    if method and not inputs and (first := {"input", "self", "tensors"} & others.keys()):  # torch.sum(input=x)
        inputs = (others.pop(first.pop()),)
    given = renamed(who, known, {name: value for name, value in options.items() if name in own}, others)
    if starred in given:
        if len(inputs) > method:
            raise TypeError(f"{who}: {starred} is given twice, by position and by name")
        inputs = (*inputs, given.pop(starred))
    return inputs, given

# Methods --------------------------------------------------------------------------------------------------------------


def _names(f: Any) -> tuple[tuple[str, ...], str, bool]:
    """The keywords of a function, the name of its *args, and whether it has **kwargs, from its code."""
    code = f.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    starred = code.co_varnames[count] if code.co_flags & inspect.CO_VARARGS else ""
    return code.co_varnames[:count], starred, bool(code.co_flags & inspect.CO_VARKEYWORDS)


# A function needs other names only if it has one of these.
_WORTH = {target for targets in OPTIONS.values() for target in targets} - {"a", "b", "x"} | {"dtype"}


def taught(f: Callable, who: str = "") -> Callable:
    """A function that also accepts its options under the names in `OPTIONS`, and is named in errors."""
    names, who = _names(inspect.unwrap(f))[0], who or f.__name__
    own, method = frozenset(names) - {"self"}, names[:1] == ("self",)

    @functools.wraps(f, updated=())
    def call(*inputs: Any, **options: Any) -> Any:
        try:
            if options and not own.issuperset(options):
                inputs, options = _translated(f, who, inputs, options)
            return f(*inputs, **options)
        except Exception as error:
            ours: Any = in_the_name_of(who, error, inputs[method:], options)
            if ours is error:
                ours = None  # else the error, its traceback and this frame would keep each other alive
                raise
            raise ours from error

    return call


_BY_POSITION = frozenset({"reshape", "view"})  # called so often that a name for the shape costs too much


def teach(cls: type) -> None:
    """Make the methods of a class, under all their names, accept other libraries' option names."""
    learned: dict[Callable, Callable] = {}
    for name, member in list(vars(cls).items()):
        f = getattr(member, "__func__", member)
        if not isinstance(f, FunctionType) or name[:2] == "__" or f.__name__ in _BY_POSITION:
            continue
        own, starred, open_ = _names(inspect.unwrap(f))
        if not open_ and not _WORTH.isdisjoint((*own, starred)):
            if f not in learned:  # of what `named` wraps, or of the op that is all that a method calls
                learned[f] = taught(getattr(f, "__wrapped__", f), f.__name__)
            setattr(cls, name, staticmethod(learned[f]) if isinstance(member, staticmethod) else learned[f])

# Calls that failed ----------------------------------------------------------------------------------------------------

# The number of axes of a batch, for ops that require a batch axis.
_BATCHES = {"conv2d": 4, "conv_transpose2d": 4, "unfold": 4, "fold": 3}


def rescued(f: Any, inputs: tuple, options: dict, error: Exception) -> Any:
    """The result of a failed call after renaming its options to ours; NotImplemented if there are none to rename.

    Raises TypeError, listing the known names, for an unknown option, and for positional arguments that must be named.
    """
    try:
        return _rescued(f, inputs, options, error)
    except Exception as better:
        better.__suppress_context__ = True  # hide the first call's error
        raise


def _rescued(f: Any, inputs: tuple, options: dict, error: Exception) -> Any:
    if isinstance(f, Op):
        return NotImplemented if type(error) is OverflowError else _of_op(f, inputs, options)
    if type(error) is not TypeError or not isinstance(f, FunctionType):
        return NotImplemented
    if f.__qualname__ == "Module.to":
        return _cast(*inputs, **options)
    parameters = parameters_of(f)
    if parameters.open:
        if not parameters.method or inputs or "input" not in options:
            return NotImplemented
        return f(options["input"], **{name: value for name, value in options.items() if name != "input"})
    if f.__name__ == "__init__" and hasattr(inputs[0], "named_buffers"):
        return _layer(f, parameters, inputs, options)
    if _ends_with_inplace(f.__name__, inputs, parameters.most):
        inputs, options = inputs[:-1], {**options, "inplace": inputs[-1]}
    return _again(f, f.__name__ if f.__name__ != "__init__" else type(inputs[0]).__name__, parameters, inputs, options)


def _again(f: Any, who: str, parameters: Parameters, inputs: tuple, options: dict) -> Any:
    """The call with options under our names, if it has others."""
    _refuse_by_position(who, len(inputs), parameters)
    if parameters.own.issuperset(options):
        return NotImplemented
    inputs, given = _translated(f, who, inputs, options)
    if options.get("inplace") and inputs and hasattr(inputs[0], "_become"):
        return inputs[0]._become(f"{who}_", lambda x: f(x, *inputs[1:], **given))
    return f(*inputs, **given)


def _of_op(op: Op, inputs: tuple, options: dict) -> Any:
    """The same for an op; an input without a batch axis becomes a batch of one."""
    if op.name == "linear" and getattr(inputs[1] if len(inputs) > 1 else None, "ndim", 0) == 1:  # one output, no axis
        y = inputs[0] @ inputs[1]
        return y if len(inputs) < 3 or inputs[2] is None else y + inputs[2]
    if inputs and getattr(inputs[0], "ndim", -1) + 1 == _BATCHES.get(op.name):
        y = op(inputs[0].reshape((1, *inputs[0].shape)), *inputs[1:], **options)
        return y.reshape(y.shape[1:])
    parameters = parameters_of(op)
    if _ends_with_inplace(op.name, inputs, parameters.most):
        inputs, options = inputs[:-1], {**options, "inplace": inputs[-1]}
    if all([name in parameters.own or name in OPTIONS or name in _WITHOUT_EFFECT or name in _REDUCTION
            for name in options]):
        return _again(op, op.name, parameters, inputs, options)
    return NotImplemented


def _ends_with_inplace(who: str, inputs: tuple, most: int | None) -> bool:
    """Whether a call ends with PyTorch's inplace, after the function's `most` positional arguments."""
    return most is not None and who in _IN_PLACE and len(inputs) == most + 1 and isinstance(inputs[-1], bool)


def _refuse_by_position(who: str, given: int, parameters: Parameters) -> None:
    """Raise TypeError if there are too many positional arguments, and the rest must be named."""
    most = parameters.most
    if most is not None and given > most + parameters.method and most < len(parameters.known):
        names = list(parameters.known)
        hint = ' (size_average=False is reduction="sum", reduce=False is "none")' if "reduction" in names[most:] else ""
        raise TypeError(f"{who}: takes {', '.join(names[:most]) or 'nothing'} by position; give "
                        f"{', '.join(names[most:])} by name{hint}")


# Layers ---------------------------------------------------------------------------------------------------------------


def _layer(init: Callable, parameters: Parameters, inputs: tuple, options: dict) -> Any:
    """Create a layer with the options that all of PyTorch's layers have: inplace, device, dtype."""
    (module, *args), options = inputs, dict(options)
    dtype = options.pop("dtype", None) if "dtype" not in parameters.own else None
    inplace = None
    if hasattr(type(module), "inplace"):
        if len(args) == len(parameters.known) + 1 and isinstance(args[-1], bool):
            options["inplace"] = args.pop()
        if isinstance(options.get("inplace"), bool):
            inplace = options.pop("inplace")
    who = type(module).__name__
    _refuse_by_position(who, len(args) + 1, parameters)
    if dtype is inplace is None and len(args) + 1 == len(inputs) and parameters.own.issuperset(options):
        return NotImplemented
    if not parameters.own.issuperset(options):
        given, options = _translated(init, who, (module, *args), options)
        args = list(given[1:])
    init(module, *args, **options)
    if inplace is not None:
        module.inplace = inplace
    return None if dtype is None else module.to(dtype) and None


def _cast(module: Any, *wanted: Any, **others: Any) -> Any:
    """`Module.to` that accepts, like PyTorch's, devices and Tensors with the wanted dtype."""
    if len(wanted) == 1 and not others and not isinstance(wanted[0], str | None) and not hasattr(wanted[0], "dtype"):
        return NotImplemented
    dtype = wanted_dtype("to", *wanted, **others)
    return module if dtype is None else module.to(dtype)

# Devices --------------------------------------------------------------------------------------------------------------


class device(str):
    """The only device, "cpu". Raises RuntimeError for any other."""

    type = "cpu"
    index: Any = None  # type: ignore[assignment]  # as of PyTorch's devices

    def __new__(cls, name: Any = "cpu", index: Any = None) -> device:
        if name is not None and not _names_device(name, "cpu"):
            raise RuntimeError(f"device: there is only the CPU, not {name!r}; write device='cpu', or leave it out")
        return super().__new__(cls, "cpu")


def _names_device(x: Any, *kinds: str) -> bool:
    return isinstance(x, str) and x.lower().partition(":")[0] in kinds


def wanted_dtype(who: str, *wanted: Any, dtype: Any = None, **others: Any) -> Any:
    """The dtype among the arguments of PyTorch's `to` (dtypes, Tensors with the wanted dtype, devices), or None."""
    for x in wanted:
        if x is None or isinstance(x, bool) or _names_device(x, "cpu", "cuda", "mps", "xpu", "gpu", "meta"):
            device(x if isinstance(x, str) else None)
        else:
            dtype = x if isinstance(x, type) else getattr(x, "dtype", x)
    others.pop("copy", None)
    renamed(who, {}, {}, others)
    return None if dtype is None else as_dtype(dtype, who)
