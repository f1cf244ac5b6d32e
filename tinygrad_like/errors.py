"""Error messages for failing ops: the op's name, its inputs, and what is wrong.

Ops check their inputs. This is the last resort, for errors that Python, NumPy or numba raise later.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import os
import re
import struct
import sys
import warnings
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable)
P = ParamSpec("P")  # the parameters of a definition, and so of its op
R = TypeVar("R", covariant=True)


# Functions that may know what a failed call meant: (function or op, inputs, options, error) -> its result, or
# NotImplemented.
rescuers: list[Callable] = []


def rescued(function: Any, inputs: Any, options: dict, error: Exception) -> Any:
    """The result of a failed call if a rescuer knows what it meant; else NotImplemented."""
    found = (rescue(function, inputs, options, error) for rescue in rescuers)
    return next((y for y in found if y is not NotImplemented), NotImplemented)


_OURS = re.compile(r"(\w|\.)+(\(\))?: |the (joint )?VJP of ")  # how our messages start
# A missing key is a wrong index, a division by zero a wrong value. Other classes are left alone.
_KINDS = {AttributeError: TypeError, TypeError: TypeError, IndexError: IndexError, KeyError: IndexError,
          MemoryError: MemoryError, OverflowError: ValueError, struct.error: TypeError,
          ZeroDivisionError: ValueError, ValueError: ValueError}
# Messages of Python and NumPy, and ours in their place.
_REASONS = [
    (r"'(\w+)' object has no attribute '(?:ndim|shape|dtype|size|to|sum|mean)'",
     r"takes Tensors, got \1; make one with Tensor(...)"),
    (r"'.+' not supported between instances of '(\w+)' and '(\w+)'",
     r"\1 and \2 cannot be compared; pass numbers"),
    (r"'([\w.]+)' object (?:cannot be interpreted as an integer|is not iterable|is not subscriptable)",
     r"needs an integer, or a tuple or list of integers, got \1"),
    (r"object of type '([\w.]+)' has no len\(\)", r"needs a tuple or list, got \1"),
    (r"cannot unpack non-iterable (\w+) object", r"needs a tuple or list, got \1"),
    (r"unsupported operand type\(s\) for (.+): '(.+)' and '(.+)'", r"\1 of \2 and \3 is not defined; pass numbers"),
    (r"can't multiply sequence by non-int of type '(.+)'", r"a sequence times \1 is not defined; pass numbers"),
    (r"must be real number, not (.+)", r"needs a real number, got \1"),
    (r"The truth value of an .*", "needs a single number, True or False, got an array"),
    (r"setting an array element with a sequence.*",
     "the nested sequence is ragged, or holds arrays; use Tensor(...) for one array, stack or cat for several"),
    (r"could not broadcast input array from shape (\(.*\)) into shape (\(.*\))",
     r"shape \1 does not broadcast to \2; counted from the last axis, sizes must be equal or 1"),
    (r"shape mismatch: .*", "the shapes do not broadcast; counted from the last axis, sizes must be equal or 1"),
    (r"negative dimensions are not allowed", "a size is negative"),
    (r"(?:float|integer) (?:division by zero|division or modulo by zero|modulo by zero)|division by zero",
     "division by a size or number that is 0"),
    (r"tuple index out of range", "an input has too few axes"),
]


def explain(op, error: Exception, arrays, options) -> None:
    """Replace an error of NumPy or Python in a forward by one that the caller understands."""
    for name in options:
        if name not in op.options:
            raise TypeError(f"{op.called}: unknown argument {name!r}: {op!r}") from None
    if op.explanations and type(error) is not MemoryError and not _OURS.match(str(error)):
        try:
            op.check(op.explanations, arrays, options)
        except Exception as better:
            if _OURS.match(str(better)):
                raise better from None
            error = better  # the same error, for objects without a shape or length
    for x in arrays:
        if isinstance(error, AttributeError) and not isinstance(x, np.ndarray | np.generic):
            raise TypeError(f"{op.called}: takes Tensors or arrays, got {_kind(x)}") from None
    text = str(error)
    if text.startswith(("operands could not be broadcast", "non-broadcastable output operand")):
        shapes = " and ".join(str(np.shape(x)) for x in arrays if x is not None)
        raise ValueError(f"{op.called}: shapes {shapes} do not broadcast; "
                         "counted from the last axis, sizes must be equal or 1") from None
    if isinstance(error, TypeError) and any(word in text for word in ("ufunc", "numpy", "operand")):
        if any(x is None for x in arrays):
            raise TypeError(f"{op.called}: takes Tensors or arrays, got {_kind(None)}") from None
        given = " and ".join(str(getattr(x, "dtype", type(x).__name__)) for x in arrays)
        raise TypeError(f"{op.called}: not defined for {given}; cast, with .float(), .int() or .bool()") from None
    if op.__wrapped__.__module__.startswith("tinygrad_like.ops."):  # a user's op has its own messages
        ours = in_the_name_of(op.called, error, arrays, options)
        if ours is not error:
            raise ours from error


class Contracts(Generic[P]):
    """The part of an op that checks its inputs and options: each check with the names that it uses."""

    called: str  # the op's name in errors
    inputs: list[str]
    options: dict[str, Any]
    variadic: bool
    family: Any
    contracts: list[tuple[Callable, list[str]]]  # checked before the forward
    explanations: list[tuple[Callable, list[str]]]  # checked only after it has failed

    def requires(self, *contracts: Callable) -> Any:
        """Declare checks of inputs and options. Before the forward, dispatch calls `contract(*the arguments it names)`,
        which returns None, or the mistake: a text for a ValueError, or a TypeError or IndexError.

        It checks shapes, dtypes and options. Values are for the forward to check, which may run again alone.
        """
        self.contracts += map(_with_names, contracts)
        self.__class__ = self.family  # its generated code is out of date
        return contracts[0]

    def explains(self, *contracts: Callable) -> Any:
        """Declare checks that dispatch runs only after the forward has failed: what NumPy detects itself needs no check
        before each call."""
        self.explanations += map(_with_names, contracts)
        return contracts[0]

    def check(self, contracts, arrays, options: dict) -> None:
        """Raise the error of the first contract that does not hold."""
        by_name = zip(self.inputs, [arrays] if self.variadic else arrays, strict=False)
        given = {**self.options, **options, **dict(by_name)}
        for contract, names in contracts:
            if (why := contract(*[given[n] for n in names])) is not None:
                raise refusal(self.called, why) from None


def _with_names(contract: Callable) -> tuple[Callable, list[str]]:
    code = inspect.unwrap(contract).__code__  # inspect.signature would take ten times as long, for each of hundreds
    return contract, [*code.co_varnames[:code.co_argcount]]


def refusal(who: str, why: str | Exception) -> Exception:
    """The error for a broken contract: a ValueError, or the contract's own exception."""
    kind, text = (ValueError, why) if isinstance(why, str) else (type(why), why.args[0])
    return kind(f"{who}: {text}")


def blame(rule: str, error: Exception) -> None:
    """Name the VJP rule that an error of Python's or NumPy's came from; leave other classes alone."""
    if type(error) in (AttributeError, IndexError, TypeError, ValueError):
        hint = ""
        if isinstance(error, AttributeError) or "off the graph" in str(error):
            hint = ("; a rule gets arrays, or Tensors for a gradient with a graph: "
                    "write it with operators and ops, such as ops.cos(x)")
        raise type(error)(f"{rule}: {error}{hint}") from error


def in_the_name_of(who: str, error: Exception, inputs, options=None) -> Exception:
    """The error to raise in place of `error`: the same one if its message is ours, else one that starts with `who`."""
    text = str(error)
    if _OURS.match(text):
        return error
    numba = type(error).__module__.startswith("numba")
    kind = TypeError if numba else next((ours for raw, ours in _KINDS.items() if isinstance(error, raw)), None)
    if kind is None:
        return error
    given = ", ".join([*map(_brief, inputs), *(f"{name}={_brief(value)}" for name, value in (options or {}).items())])
    if inputs and inputs[0] is None:
        return TypeError(f"{who}: takes Tensors or arrays, got {_kind(None)}")
    why = "no kernel takes these types" if numba else text.partition("\n")[0]
    for said, better in _REASONS:
        if found := re.fullmatch(said, why):
            why = found.expand(better)
            break
    return kind(f"{who}: cannot work with ({given}): {why}")


def _kind(x: Any) -> str:
    return "None, which a function without return returns" if x is None else type(x).__name__


def _brief(x: Any) -> str:
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"{x.dtype} {tuple(x.shape)}"
    if isinstance(x, list | tuple) and x and all(hasattr(part, "dtype") for part in x):
        return f"[{', '.join(map(_brief, x))}]"
    text = " ".join(repr(x).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def named(function: F, method: str = "") -> F:
    """`function`, named in its unforeseen errors; a method by the given name, and without `self`."""
    who, plain, asked = method or function.__name__, function, list[Callable]()

    @functools.wraps(function)
    def call(*inputs, **options):
        try:
            return function(*inputs, **options)
        except Exception as error:
            if (y := rescued(function, inputs, options, error)) is not NotImplemented:
                return y
            ours = in_the_name_of(call.called, error, inputs[1:] if method else inputs, options)
            if ours is error:
                ours = None  # else the error, its traceback and this frame would keep each other alive
                raise
            raise ours from error

    def requires(*contracts: Callable) -> Any:
        nonlocal function
        asked.extend(contracts)
        function = plain
        for contract in reversed(asked):
            function = _asking(function, call, contract)
        return contracts[0]

    call.requires, call.called = requires, who  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


class Checked(Protocol[P, R]):
    """A function whose arguments are checked."""

    called: str  # its name in errors

    def requires(self, *contracts: Callable) -> Any: ...
    def __call__(self, *args: P.args, **options: P.kwargs) -> R: ...


def checked(function: Callable[P, R]) -> Checked[P, R]:
    """Declare a function whose arguments are checked: `@function.requires` beneath it, as for an op."""
    return named(function)  # type: ignore[arg-type]


def _asking(function: F, named: Any, contract: Callable) -> F:
    """`function`, preceded by a check of a contract on the arguments that it names."""
    parameters = inspect.signature(function).parameters
    kinds, empty, wanted = {p.kind: n for n, p in parameters.items()}, inspect.Parameter.empty, _with_names(contract)[1]
    rest, others = (kinds.get(kind, "") for kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD))
    defaults = {n: p.default for n, p in parameters.items() if n not in (rest, others)}
    least = sum(default is empty for default in defaults.values())
    order = [n for n, p in parameters.items() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    # An argument that the contract names: its place, its name, its default.
    places = [(order.index(n) if n in order else sys.maxsize, n, defaults.get(n)) for n in wanted]
    starred = rest in wanted or others in wanted

    @functools.wraps(function)
    def ask(*inputs, **options):
        given, count = options, len(inputs)
        if options and not others and not options.keys() <= parameters.keys() or count + len(options) < least:
            return function(*inputs, **options)  # raises: the arguments do not match the signature
        if starred:
            given = {**options, rest: inputs[len(order):],
                     others: {n: x for n, x in options.items() if n not in parameters}}
        values = [inputs[k] if k < count else given.get(n, default) for k, n, default in places]
        if (why := contract(*values)) is not None:
            raise refusal(named.called, why)
        return function(*inputs, **options)

    return ask  # type: ignore[return-value]

# The user's line ---------------------------------------------------------------------------------------------

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PACKAGES = (*[os.path.join(_ROOT, name, "") for name in ("tinygrad_like", "nn", "optim")],
             *[os.path.join(os.path.dirname(os.__file__), name) for name in (
                 "contextlib.py", "functools.py", "copy.py", "logging")], os.path.dirname(np.__file__))


def user_line(frame: Any = None) -> str:
    """File, line and text of the innermost frame outside the packages, starting at the caller's or the given one."""
    name, number = _users(frame or sys._getframe(1))[:2]
    return f"{name}:{number}: {linecache.getline(name, number).strip()}"


def warn(message: str) -> None:
    """Warn at the user's line."""
    name, number, known = _users(sys._getframe(1))
    warnings.warn_explicit(message, UserWarning, name, number, registry=known.setdefault("__warningregistry__", {}))


def _users(frame: Any) -> tuple[str, int, dict]:
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGES):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno, frame.f_globals
