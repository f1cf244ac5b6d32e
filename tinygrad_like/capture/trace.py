"""The user code that runs while a function is recorded, and its calls that no program can repeat."""

from __future__ import annotations

import dis
import gc
import inspect
import os
import re
import site
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from types import FrameType, FunctionType, MethodType
from typing import Any

from ..core.dispatch import Op
from ..core.graph import mode, setting
from ..core.tensor import Tensor
from ..errors import user_line

Code: Any = type((lambda: 0).__code__)  # the code of a function
OURS, PYTHON, USERS = range(1, 4)
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PURE = frozenset("_abc _collections _collections_abc _functools _operator _py_abc _warnings _weakrefset abc builtins "
                  "cmath collections contextlib copy copyreg dataclasses enum functools itertools math "
                  "numbers operator re string types typing warnings".split())  # their functions read only arguments
_IMPURE = frozenset("Formatter __import__ __reduce__ __reduce_ex__ _reduce_ex __subclasses__ asdict astuple breakpoint "
                    "catch_warnings compile dump errstate eval exec filterwarnings fromfile get_type_hints getbufsize "
                    "geterr geterrcall globals hash id import_module input mro open print reload replace resetwarnings "
                    "seterr seterrcall simplefilter tofile warn warn_explicit".split())
_OTHER = tuple("random _core.arrayprint _core.memmap lib._datasource lib._format lib._npyio".split())  # of NumPy
_NN, _OPTIM = [os.path.join(_ROOT, name, "") for name in ("nn", "optim")]
_READERS = frozenset("get_lr get_last_lr lr rate state_dict steps".split())  # of optimizers and schedules
_OUTSIDE = frozenset("load load_weights read_metadata save save_weights set_default_dtype".split())
_COMPUTED = frozenset("delattr dir getattr hasattr setattr vars".split())
_PASSED = {name: f"{name} without a call" for name in (*_COMPUTED, "eval", "exec", "open", "print")}
HIDING = {*_PASSED.values(), *"attrgetter __dict__ __get__ __getattribute__ __getstate__ __match_args__ f_back".split()}
SEEN = {*_IMPURE, *_COMPUTED, "__get__", "__getattribute__"} - {"replace"}  # known by their calls


@lru_cache
def _places() -> tuple[tuple[str, int], ...]:
    """Folders, and the owner of the code there."""
    own = [(os.path.join(_ROOT, name, ""), OURS) for name in ("tinygrad_like", "nn", "optim")]
    installed = [*site.getsitepackages(), site.getusersitepackages()]
    packages = [(os.path.join(path, name, ""), PYTHON) for path in installed for name in ("numpy", "numba", "llvmlite")]
    return (*own, *packages, *[(os.path.join(path, ""), USERS) for path in installed],
            (os.path.join(os.path.dirname(os.__file__), ""), PYTHON))


@lru_cache(None)
def _owner_of_file(file: str) -> int:
    """The owner of the code in a file; 0 if this names none, as "<string>"."""
    path = os.path.abspath(file)
    return 0 if file[:1] == "<" else next((owner for place, owner in _places() if path.startswith(place)), USERS)


def owner_of(variables: dict[str, Any], file: str = "<") -> int:
    """The owner of code with these globals, from this file; an installed package counts as the user's. Code without a
    file is Python's if Python knows its module's origin."""
    if owner := _owner_of_file(file):
        return owner
    name = str(variables.get("__name__", ""))  # which generated code may not have
    variables = variables if "__spec__" in variables else vars(sys.modules[name]) if name in sys.modules else {}
    known = name not in ("__main__", "builtins")  # whose file may be doctest's; code that `exec` runs without a name
    if known and (path := variables.get("__file__")) is not None:
        return _owner_of_file(path) or USERS
    return PYTHON if known and variables.get("__spec__") is not None else USERS


def owner_of_class(of: type) -> int:
    return owner_of({"__name__": getattr(of, "__module__", "")}) if of.__flags__ & 1 << 9 else PYTHON  # else C's


def title(of: type) -> str:  # type() in code without a name makes classes without a module
    return f"{getattr(of, '__module__', '')}.{of.__qualname__}"


def pure(module: str | None) -> bool:
    """Whether the results of a module's functions depend only on their arguments."""
    root = (module or "builtins").partition(".")[0]
    return root in _PURE or root == "numpy" and not (module or "").removeprefix("numpy.").startswith(_OTHER)


def _steps(code: Code) -> Iterator[dis.Instruction]:
    """The instructions that a reader of the source would expect. Python 3.13 joins some to one."""
    for step in dis.get_instructions(code):
        if isinstance(step.argval, tuple) and len(joined := re.findall("LOAD_FAST|STORE_FAST", step.opname)) > 1:
            yield from [step._replace(opname=kind, argval=name) for kind, name in zip(joined, step.argval, strict=True)]
        elif step.opname not in ("CACHE", "PRECALL", "EXTENDED_ARG", "COPY"):
            yield step


@lru_cache(None)
def names_in(code: Code) -> tuple[frozenset[str], frozenset[str], frozenset[tuple[str, str]], frozenset[str]]:
    """The names that code looks up as variables; all that it may use of objects, also in getattr(x, "name"); pairs of
    names of which the second is looked up in what the first gave; and modules that it imports."""
    variables, pairs, modules, before = set[str](), set[tuple[str, str]](), set[str](), ""
    names, module, keys, steps = {*code.co_names}, "", set[tuple[str, Any]](), [*_steps(code)]
    for last, step, after in zip([*steps[:1], *steps[:-1]], steps, [*steps[1:], *steps[-1:]], strict=True):
        kind, value = step.opname, step.argval
        if kind in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
            variables.add(value)
        if kind == "LOAD_CONST" and after.opname != "CALL_KW":  # which gives the names of arguments
            pairs.update([("", x) for x in (value if type(value) is tuple else [value]) if type(x) is str])
        if kind == "IMPORT_NAME":
            modules.add(module := value)
        if kind == "IMPORT_FROM":
            pairs.add((module.rpartition(".")[2], value))
        passed = _PASSED if kind == "LOAD_GLOBAL" else ("getattr", "setattr") if kind == "LOAD_ATTR" else ()
        if value in passed and "NULL" not in step.argrepr:
            names.add(_PASSED[value])
        if kind == "MATCH_CLASS" and step.arg or kind == "IS_OP" and before:  # by positions; not with None
            names.add("is_" if kind == "IS_OP" else "__match_args__")
        if before:  # what is not followed by an attribute's name is used as a whole
            pairs.add((before, value if kind in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR") else "__dict__"))
            keys.add((before, value if kind == "LOAD_CONST" and after.opname.endswith("SUBSCR") else ...))
        item = kind == "BINARY_SUBSCR" and not (last.opname == "LOAD_CONST" and type(last.argval) is str)
        before = value if kind.startswith(("LOAD_", "IMPORT_")) and type(value) is str else "[]" if item else ""
    names |= {"[]" for name, key in keys if key == "params" and (name, ...) in keys}  # a group, which it may read
    texts = [x for c in code.co_consts for x in (c if isinstance(c, tuple) else [c]) if isinstance(x, str)]
    names.update(part for x in texts for part in (x, *x.split(".")))
    return frozenset(variables), frozenset(names), frozenset(pairs), frozenset(modules)


@lru_cache(None)
def _asked(code: Code, offset: int) -> str | None:
    """The constant name in a call getattr(x, "name"), or with a default after it."""
    steps = [*_steps(code)]
    at = next((i for i, step in enumerate(steps) if step.offset >= offset), 0)
    name = steps[at - 2] if steps[at].arg == 3 and steps[at - 1].opname.startswith("LOAD_") else steps[at - 1]
    jumps = [s for s in dis.get_instructions(code) if s.is_jump_target and name.offset < s.offset <= offset]  # of `or`
    return name.argval if name.opname == "LOAD_CONST" and not jumps and isinstance(name.argval, str) else None


def _of_user(x: Any) -> bool:
    """Whether an object, such as a function or an op, is the user's, or may be made of one that is."""
    if type(x) in (Tensor, list, dict, partial, MethodType):
        return type(x) is not Tensor
    parts: Any = x if type(x) is tuple else (x.start, x.stop, x.step) if type(x) is slice else ()
    if isinstance(x, Op):
        parts = () if x.ours else (
            getattr(x, "definition", x.forward), *[rule for rule, _ in x.rules.values()], *(x.joint or ())[:1])
    elif isinstance(x, FunctionType):
        own = owner_of(x.__globals__, x.__code__.co_filename) != USERS
        return not own or x.__closure__ is not None and any([_of_user(cell.cell_contents) for cell in x.__closure__])
    return any(map(_of_user, parts)) if parts else owner_of_class(type(x)) == USERS


class Trace:
    """The code that ran, with its variables; the first unknown call; how names were looked up."""

    def __init__(self) -> None:
        self.ran: dict[Code, dict[str, Any]] = {}  # user code, with its globals
        self.inner = set[Code]()  # user code that an op or an effect calls
        self.own: dict[Code, dict[str, Any]] = {}  # code of layers, optimizers, and functions that the user calls
        self.unknown = ""
        self.asked: set[str] = set()  # names passed to getattr() and the like
        self.watching: Any = None  # what watches this thread now, if anything does

    @contextmanager
    def on(self) -> Iterator[None]:
        """Watch this thread in a `with` block."""
        outer, collects = sys.getprofile(), gc.isenabled()
        self.aside = 0  # depth of calls by an import, which are not part of a step
        self.watching = self._event
        try:
            gc.disable()  # finalizers of garbage are no part of a step, either
            sys.setprofile(self.watching)
            with setting("around", self.unwatched):
                yield
        finally:
            getattr(outer, "enable", partial(sys.setprofile, outer))()  # a cProfile.Profile is not a function
            self.watching = None
            if collects:
                gc.enable()

    def unwatched(self, of: Any, run: Callable, *arguments: Any) -> Any:
        """Call `run`, which calls `of`. It is not watched if that is this library's: it calls no user code, and
        watching each call in it would take longer than the function. `_event` stops when it is told of this call."""
        watching, self.watching = self.watching, None
        try:
            if watching is not None and _of_user(of):
                self.watching = watching
                sys.setprofile(watching)
            return run(*arguments)
        finally:
            self.watching = watching
            sys.setprofile(watching)

    def _event(self, frame: FrameType, event: str, function: Any) -> None:
        if event == "c_return" or event == "return" and not self.aside:
            return
        code = frame.f_code
        owner = _owner_of_file(code.co_filename) or owner_of(frame.f_globals)  # most calls end in the first
        if event == "c_call" and owner == USERS and not self.aside:
            self._called(frame, function)
        if code.co_filename.startswith("<frozen importlib._boot"):
            self.aside += (event == "call") - (event == "return")
        if self.aside or event != "call":
            return
        if owner == USERS:
            self.ran.setdefault(code, frame.f_globals)
            if getattr(mode.listener, "inside", False):
                self.inner.add(code)
        elif code is Trace.unwatched.__code__:
            sys.setprofile(None)
        elif (back := frame.f_back) is not None and (back.f_globals.get("__name__") == "contextlib" or owner_of(
                back.f_globals, back.f_code.co_filename) == USERS):  # contextlib: an ExitStack runs its callbacks
            if owner == OURS:
                self.own.setdefault(code, frame.f_globals)
                if code.co_name in _OUTSIDE or code.co_filename.startswith(_OPTIM) and (
                        code.co_name in _READERS or "step" in [  # optimizer.state[p]["step"]
                            x for x in frame.f_locals.values() if type(x) is str]):
                    self._note(f"it calls {code.co_qualname}, which reads or sets what a program does not track", back)
            elif not pure(frame.f_globals.get("__name__")) or not _IMPURE.isdisjoint(code.co_qualname.split(".")):
                self._note(f"it calls {frame.f_globals.get('__name__')}.{code.co_qualname}", back)
        elif owner == OURS and code.co_filename.startswith((_NN, _OPTIM)):
            self.own[code] = frame.f_globals

    def _called(self, frame: FrameType, function: Any) -> None:
        name, of = function.__name__, getattr(function, "__self__", None)
        if of is None or inspect.ismodule(of):
            if name in _COMPUTED and function.__module__ == "builtins":
                if asked := _asked(frame.f_code, frame.f_lasti):
                    self.asked.add(asked)
                else:
                    self._note(f"it calls {name} with a name that it computes", frame)
            elif not pure(function.__module__) or name in _IMPURE:
                self._note(f"it calls {function.__module__}.{name}", frame)
        elif type(of) is str and name in ("format", "format_map") and re.search(r"{[^}:]*[.]", of):
            self._note(f"it calls {name} of a str that names attributes", frame)
        else:
            kind = of if isinstance(of, type) else type(of)
            if name in SEEN or not pure(title(kind)) and owner_of_class(kind) == PYTHON:
                self._note(f"it calls {title(kind)}.{name}", frame)

    def _note(self, what: str, frame: FrameType) -> None:
        self.unknown = self.unknown or f"{what}, at {user_line(frame)}; do that outside, and pass the result"
