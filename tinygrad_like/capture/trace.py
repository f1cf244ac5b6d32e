"""The user code that runs while a function is recorded, and its calls that no program can repeat."""

from __future__ import annotations

import dis
import gc
import inspect
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper, lru_cache, partial
from threading import get_ident
from types import FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from ..environment import around_compiling
from ..errors import user_line

Code: Any = type((lambda: 0).__code__)  # the code of a function
OURS, NUMPY, PYTHON, USERS = range(4)
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PURE = frozenset("_abc _collections _collections_abc _functools _operator _py_abc _weakrefset abc builtins cmath "
                  "collections contextlib copy copyreg dataclasses enum functools importlib itertools math numbers "
                  "operator re string types typing warnings".split())  # their functions read only arguments
_IMPURE = frozenset("breakpoint compile eval exec fromfile get_printoptions geterr globals hash id import_module "
                    "input open print reload __import__".split())  # of others
_FILES = "numpy.random", "numpy.lib._npyio", "numpy.lib.npyio", "numpy.lib._datasource", "numpy.lib._format"
_OPTIM = os.path.join(_ROOT, "optim", "")
_LAYERS = os.path.join(_ROOT, "nn", ""), _OPTIM
_READERS = frozenset("get_lr get_last_lr lr rate state_dict steps".split())  # methods of weak references and the like
_SIGNS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "@": "matmul", "**": "pow", "//": "floordiv", "%": "mod"}
_OPERATORS: dict[str, tuple[str, ...]] = {
    sign: (f"__{name}__", f"__r{name}__", f"__i{name}__") for sign, name in _SIGNS.items()}
_OPERATORS |= {"<": ("__lt__", "__gt__"), ">": ("__gt__", "__lt__"), "<=": ("__le__", "__ge__"), "!=": ("__ne__",),
               ">=": ("__ge__", "__le__"), "==": ("__eq__",), "GET_ITER": ("__iter__",),
               "CONTAINS_OP": ("__contains__",), "UNARY_NOT": ("__bool__",),
               "UNARY_NEGATIVE": ("__neg__",), "BINARY_SUBSCR": ("__getitem__",), "STORE_SUBSCR": ("__setitem__",)}
_CALLS = frozenset("abs bool float int iter len round".split())  # builtins that ask for a method of their name
_WHOLE = frozenset("asdict astuple replace".split())  # of dataclasses: they read all attributes
_COMPUTED = frozenset("delattr dir getattr hasattr setattr vars".split())


@lru_cache
def _places() -> tuple[tuple[str, int], ...]:
    """Folders, and the owner of the code there."""
    own = [(os.path.join(_ROOT, name, ""), OURS) for name in ("tinygrad_like", "nn", "optim")]
    installed = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    packages = [(os.path.join(path, name, ""), NUMPY) for path in installed for name in ("numpy", "numba", "llvmlite")]
    return (*own, *packages, *[(os.path.join(path, ""), USERS) for path in installed],
            (os.path.join(sysconfig.get_path("stdlib"), ""), PYTHON))


@lru_cache(None)
def owner_of_file(file: str) -> int:
    """The owner of a file's code; an installed package counts as the user's."""
    if file.startswith("<frozen "):
        return PYTHON
    file = os.path.abspath(file)
    return next((owner for place, owner in _places() if file.startswith(place)), USERS)


def owner_of(module: ModuleType | None) -> int:
    """The owner of a module; one without a file is Python's if Python knows its origin."""
    if module is None:
        return USERS
    own = vars(module)  # a module may have a __getattr__
    if own.get("__file__") is not None:
        return owner_of_file(own["__file__"])
    return PYTHON if own.get("__spec__") is not None and own.get("__name__") != "__main__" else USERS


def owner_of_class(of: type) -> int:
    return owner_of(sys.modules.get(of.__module__)) if of.__flags__ & 1 << 9 else PYTHON  # made by a class statement


def pure(module: str | None) -> bool:
    """Whether the results of a module's functions depend only on their arguments."""
    root = (module or "builtins").partition(".")[0]
    known = root in _PURE or root.startswith("namedtuple_")
    return known or root == "numpy" and not (module or "").startswith(_FILES)


@lru_cache(None)
def names_in(code: Code) -> tuple[frozenset[str], frozenset[str], frozenset[tuple[str, str]], frozenset[str]]:
    """The names that code looks up as variables; all that it may use of objects, also in getattr(x, "name") and by
    operators; pairs of names of which the second is looked up in what the first gave; and modules that it imports."""
    variables, pairs, modules, before = set[str](), set[tuple[str, str]](), set[str](), ""
    operators, constant = set[str](), tuple[str, ...]()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
            variables.add(step.argval)
        if step.opname == "IMPORT_NAME":
            modules.add(step.argval)
        for sign in (step.opname, step.argrepr, step.argrepr.rstrip("=")):
            operators.update(_OPERATORS.get(sign, ()))
        if "JUMP" in step.opname and step.opname.endswith(("TRUE", "FALSE", "POP")):
            operators.add("__bool__")
        if step.opname == "LOAD_CONST" and isinstance(step.argval, tuple):
            constant = step.argval
        if step.opname == "MATCH_CLASS":
            operators.update(("__match_args__", *constant))  # the attributes of a pattern
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM") and before:
            pairs.add((before, step.argval))
        if step.opname not in ("CACHE", "PRECALL", "EXTENDED_ARG"):
            named = step.opname.startswith(("LOAD_", "IMPORT_")) and isinstance(step.argval, str)
            before = step.argval if named else ""
    constants = {part for x in code.co_consts if isinstance(x, str) for part in x.split(".") if part.isidentifier()}
    operators.update([f"__{name}__" for name in _CALLS & variables], _OPERATORS["+"] if "sum" in variables else ())
    return (frozenset(variables), frozenset({*code.co_names, *constants, *operators}), frozenset(pairs),
            frozenset(modules))


@lru_cache(None)
def _before_call(code: Code, offset: int) -> list[dis.Instruction]:
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "PRECALL")]
    at = next((i for i, step in enumerate(steps) if step.offset >= offset), 0)
    return steps[max(0, at - 2):at]


def _of_user(function: Any) -> bool:
    """Whether a function, or one that it is made of, is the user's."""
    if isinstance(function, partial):
        return any(map(_of_user, (function.func, *function.args, *function.keywords.values())))
    if isinstance(function, MethodType):
        return owner_of_class(type(function.__self__)) == USERS or _of_user(function.__func__)
    if not isinstance(function, FunctionType):
        return callable(function) and owner_of_class(type(function)) == USERS
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return owner_of_file(function.__code__.co_filename) == USERS or any(map(_of_user, cells))


@contextmanager
def unwatched(function: Any) -> Iterator[None]:
    """In a `with` block that calls a function, stop watching this thread if the function is this library's: it calls no
    user code, and watching each call in it would take longer than the function."""
    watching = sys.getprofile()
    if watching is None or _of_user(function):
        yield
        return
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(watching)


def _reads_counts(frame: FrameType) -> bool:
    """Whether a call reads numbers that a program goes on counting."""
    code = frame.f_code
    if not code.co_filename.startswith(_OPTIM):
        return False
    key = frame.f_locals.get("key") if code.co_name == "__getitem__" else None
    return code.co_name in _READERS or isinstance(key, str) and key == "step"


class Trace:
    """The code that ran, with its variables; the first unknown call; how names were looked up."""

    def __init__(self) -> None:
        self.ran: dict[Code, dict[str, Any]] = {}  # user code, with its globals
        self.own: dict[Code, dict[str, Any]] = {}  # code of layers, optimizers, and functions that the user calls
        self.unknown, self.computed = "", False
        self.aside = 0  # depth of calls by an import or the garbage collector, which are not part of a step
        self.asked: set[str] = set()  # names passed to getattr() and the like
        self.owners: dict[Code, int] = {}

    @contextmanager
    def on(self) -> Iterator[None]:
        """Watch this thread in a `with` block, except in numba's compiler."""
        outer, off, thread = sys.getprofile(), list[Any](), get_ident()
        self.aside = 0

        def collects(phase: str, _: Any) -> None:
            self.aside += phase == "start" and get_ident() == thread

        def collected(phase: str, _: Any) -> None:
            self.aside -= phase == "stop" and get_ident() == thread

        def pause(*_: Any) -> None:
            off.append(sys.getprofile())
            sys.setprofile(None)

        def resume(*_: Any) -> None:
            sys.setprofile(off.pop())

        with _while_compiling(pause, resume):
            gc.callbacks.insert(0, collects)  # around all others
            gc.callbacks.append(collected)
            sys.setprofile(self._event)
            try:
                yield
            finally:
                sys.setprofile(outer)
                gc.callbacks.remove(collects)
                gc.callbacks.remove(collected)

    def _owner(self, frame: FrameType) -> int:
        if (owner := self.owners.get(code := frame.f_code)) is None:
            name = frame.f_globals.get("__name__", "")
            module = sys.modules.get(name) if code.co_filename[:1] == "<" else None
            owner = self.owners[code] = owner_of(module) if module is not None else (
                PYTHON if name.startswith("namedtuple_") else owner_of_file(code.co_filename))
        return owner

    def _event(self, frame: FrameType, event: str, function: Any) -> None:
        code = frame.f_code
        if code.co_name in ("_find_and_load", "_find_spec"):
            self.aside += (event == "call") - (event == "return")
        if self.aside:
            return
        owner = self._owner(frame)
        if event == "c_call":
            if owner == USERS:
                self._called(frame, function)
        elif event == "call":
            if owner == USERS:
                self.ran.setdefault(code, frame.f_globals)
            elif (back := frame.f_back) is not None and self._owner(back) == USERS:
                if owner == OURS:
                    self.own.setdefault(code, frame.f_globals)
                    if _reads_counts(frame):
                        self._note(f"it reads what changes from call to call, by {code.co_qualname}", back)
                elif code.co_name in _WHOLE:
                    self.computed = True
                elif not pure(frame.f_globals.get("__name__")) or code.co_name in _IMPURE:
                    self._note(f"it calls {frame.f_globals.get('__name__')}.{code.co_qualname}", back)
            elif owner == OURS and code.co_filename.startswith(_LAYERS) and code.co_name[:1] != "_":
                self.own[code] = frame.f_globals

    def _called(self, frame: FrameType, function: Any) -> None:
        name, of = function.__name__, getattr(function, "__self__", None)
        if of is None or inspect.ismodule(of):
            if name in _COMPUTED and function.__module__ == "builtins":
                asked = [step.argval for step in _before_call(frame.f_code, frame.f_lasti)
                         if step.opname == "LOAD_CONST" and isinstance(step.argval, str)]
                self.asked.update(asked)
                self.computed = self.computed or not asked
            elif not pure(function.__module__) or name in _IMPURE and function.__module__ in ("builtins", "numpy"):
                self._note(f"it calls {function.__module__}.{name}", frame)
        elif type(of) is str and name in ("format", "format_map"):
            self.computed = self.computed or "." in of  # it may name attributes
        elif isinstance(of, type):
            if name in ("__subclasses__", "mro") or not pure(of.__module__) and owner_of_class(of) == PYTHON:
                self._note(f"it calls {of.__module__}.{of.__name__}.{name}", frame)
        elif isinstance(of, _lru_cache_wrapper) or not pure(type(of).__module__) and owner_of_class(type(of)) == PYTHON:
            self._note(f"it calls {name} of a {type(of).__module__}.{type(of).__name__}", frame)

    def _note(self, what: str, frame: FrameType) -> None:
        self.unknown = self.unknown or f"{what}, at {user_line(frame)}; do that outside, and pass what comes of it"


@contextmanager
def _while_compiling(pause: Any, resume: Any) -> Iterator[None]:
    """In a `with` block, call these when a kernel, or a function of the user's, begins and ends to be compiled."""
    around_compiling.append((pause, resume))
    listener = None
    if "numba" in sys.modules:
        from numba import core

        class Compiling(core.event.Listener):
            def on_start(self, _: Any) -> None:
                pause()

            def on_end(self, _: Any) -> None:
                resume()

        listener = Compiling()
        core.event.register("numba:compile", listener)
    try:
        yield
    finally:
        around_compiling.remove((pause, resume))
        if listener is not None:
            core.event.unregister("numba:compile", listener)
