"""Random training programs, run in Python and captured: the same numbers, to the bit, call by call.

    python -m tests.capture.attack 2000 [first seed]     # random programs
    python -m tests.capture.attack habits [word]         # each habit once, or those whose name has the word
    python -m tests.capture.attack show "habit's name"   # or a seed: the program's text
    python -m tests.capture.attack wrong                 # writes the list of habits known to change results

A program is source text: a model, an optimizer, and a step with some habits. A habit keeps Python state of one kind,
uses it in the loss, and may be changed between calls. The program runs twice, once captured with `fuse=False`. After
each call everything visible must be equal: the result, or the exception; weights, gradients and the optimizer's state;
the habits' state, types included; and at the end all results of earlier calls. Falling back to Python is always right;
the tests look for wrong numbers without a warning.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import io
import math
import os
import pathlib
import random
import sys
import threading
import types
import warnings
from collections import deque
from typing import Any

import numpy as np

import nn
import optim
from tinygrad_like import Tensor, capture, manual_seed

from .attack_habits import AIMED
from .attack_programs import Program

CALLS = 12
PATCHED = [(nn.functional, "relu"), (nn.functional, "cross_entropy"), (nn.Linear, "forward"), (np, "cos"), (np, "mean"),
           (math, "cos"), (Tensor, "relu"), (Tensor, "mean"), (builtins, "abs"), (optim, "clip_grad_norm"),
           (optim.SGD, "step"), (nn.Module, "__call__"), (nn.functional, "gelu"), (nn.Tanh, "forward"),
           (Tensor, "__mul__"), (Tensor, "__gt__"), (nn, "Linear"),
           (os, "cpu_count"), (random, "random")]  # by some habit


def plain(value: Any, depth: int = 0) -> Any:
    """All that is visible of a value, types included, so that `==` compares it to the bit."""
    kind = type(value).__name__
    if depth > 8:
        return kind
    if isinstance(value, Tensor):
        return kind, str(value.dtype), value.shape, value.detach().numpy().tobytes()
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, value.tolist() if value.dtype == object else value.tobytes()
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | bytearray | np.generic):
        return kind, repr(value)
    if isinstance(value, dict):
        return kind, [(plain(k, depth + 1), plain(v, depth + 1)) for k, v in value.items()]
    if isinstance(value, list | tuple | deque):
        return kind, [plain(v, depth + 1) for v in value]
    if isinstance(value, set | frozenset):
        return kind, sorted(repr(plain(v, depth + 1)) for v in value)
    if isinstance(value, types.FunctionType):
        return kind, [plain(c.cell_contents, depth + 1) for c in value.__closure__ or ()]
    slots = [n for t in type(value).__mro__ for n in getattr(t, "__slots__", ()) if not n.startswith("__")]
    held = {**getattr(value, "__dict__", {}), **{n: getattr(value, n, None) for n in slots}}
    if isinstance(value, type | types.ModuleType | nn.Module) or not type(value).__flags__ & 1 << 9:  # or of C
        return kind
    return kind, [(k, plain(v, depth + 1)) for k, v in held.items()]


def weights(names: dict[str, Any]) -> Any:
    """The model's parameters and buffers, the gradients, and the optimizer's state."""
    model, optimizer = names["model"], names["optimizer"]
    state = [plain(v) for p in model.parameters() for v in (optimizer.state.get(p) or {}).values()]
    return [plain(p) for p in model.state_dict().values()], [plain(p.grad) for p in model.parameters()], state


def run(program: Program, captured: bool, calls: int = CALLS, reset: bool = False) -> list[tuple[str, Any]]:
    """All that is visible after each call. With `reset`, all habits start again before each call: they keep nothing."""
    module = sys.modules["program"] = types.ModuleType("program")
    names: dict[str, Any] = vars(module) if program.seed % 2 else {}  # code without a module, too
    names["captured"] = (lambda f: capture(f, fuse=False)) if captured else (lambda f: f)
    exec(compile(program.text, f"<{program.name}>", "exec"), names)
    rng, seen, results = np.random.default_rng(program.seed), [], []
    xs = [Tensor(rng.standard_normal((5 - 2 * (k == program.short), 4)).astype(np.float32)) for k in range(4)]
    ys = [Tensor(rng.integers(0, 3, len(x))) for x in xs]
    manual_seed(2)
    random.seed(3)
    np.random.seed(4)
    result, was = None, None
    for i in range(calls):
        x, y = xs[i % 4], ys[i % 4]
        if reset:
            exec(program.setup, names)
        else:
            # A habit may upset another one, or the form of a random program, between the calls.
            with contextlib.suppress(*[Exception] * (program.name != program.habits[0])):
                names["between"](i, x, y, result)
        was = result
        try:
            result = in_thread(lambda i=i, x=x, y=y: names["call"](i, x, y)) if program.threads and i % 2 else \
                names["call"](i, x, y)
        except Exception as error:
            result = error
        results.append(result)
        same = (result is was, result is x) if isinstance(result, Tensor | list | dict | set) else None
        seen += [("result", f"{type(result).__name__}: {result}" if isinstance(result, Exception) else plain(result)),
                 ("identity of the result", same), ("weights", weights(names)),
                 ("state", state_shown(names, x, y, result)), ("argument", plain([x, x.grad, y]))]
    return [*seen, ("earlier results", plain([r for r in results if not isinstance(r, Exception)]))]


def state_shown(names: dict[str, Any], x: Tensor, y: Tensor, result: Any) -> Any:
    try:
        return plain(names["shows"](x, y, result))
    except Exception as error:  # if the result is an exception
        return f"{type(error).__name__}: {error}"


def in_thread(call: Any) -> Any:
    found: list[Any] = []

    def body() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


@contextlib.contextmanager
def restored() -> Any:
    """Put back all that a program patches, and the environment."""
    saved, environ, path = [(o, n, getattr(o, n)) for o, n in PATCHED], dict(os.environ), list(sys.path)
    numbers = np.geterr()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        for o, n, value in saved:
            setattr(o, n, value)
        os.environ.clear()
        os.environ.update(environ)
        sys.path[:] = path
        np.seterr(**numbers)


def seen(program: Program, captured: bool, calls: int = CALLS, reset: bool = False,
         ) -> tuple[list[tuple[str, Any]], list[str]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with restored():
            found = run(copy.copy(program), captured, calls, reset)
    return found, [str(w.message) for w in told]


def difference(program: Program, expected: list[tuple[str, Any]]) -> str:
    """How the captured run differs from the run in Python, as text; empty if it does not.

    It begins with "silent"; with "told" if capture has warned, by then or later; or with "loud" for an exception.
    Refusing the first call is no difference."""
    try:
        found, told = seen(program, True)
    except Exception as error:
        return f"loud: {type(error).__name__}: {str(error)[:200]}"
    if isinstance(found[0][1], str) and found[0][1].startswith("Refused"):
        return ""
    for k, ((what, a), (_, b)) in enumerate(zip(expected, found, strict=True)):
        if isinstance(a, str) and isinstance(b, str) and b.split(":")[0] in (a.split(":")[0], "Refused"):
            continue  # messages may differ
        if a != b:
            call = f"call {min(k // 5, CALLS - 1)}: {what}"
            if isinstance(b, str) and not isinstance(a, str):
                return f"loud: {call}: {b[:200]}"
            return f"{'told' if told else 'silent'}: {call}: {first_difference(a, b)}"
    return ""


def first_difference(a: Any, b: Any) -> str:
    """Where two plain values differ."""
    while isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
        pairs = [(u, v) for u, v in zip(a, b, strict=True) if u != v]
        if not pairs or a[0] != b[0] and isinstance(a[0], str) or all(isinstance(u, bytes) for u, _ in pairs):
            break
        a, b = pairs[0]
    return f"{str(a)[:80]} became {str(b)[:80]}"


def main() -> None:
    first = sys.argv[1] if len(sys.argv) > 1 else "300"
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    if first == "show":
        print(Program.random(int(word)).text if word.isdigit() else Program.of(word).text)
        return
    if first in ("habits", "wrong"):
        programs = [Program.of(h.name) for h in AIMED if word in h.name]
    else:
        programs = [Program.random(k) for k in range(int(word or 0), int(word or 0) + int(first))]
    wrong = []
    for program in programs:
        if found := difference(program, seen(program, False)[0]):
            wrong.append(program.name)
            print(f"{program.name} | {' + '.join(program.habits)} | {found}", flush=True)
    print(f"{len(programs)} programs, {len(wrong)} differ")
    if first == "wrong":
        (pathlib.Path(__file__).parent / "attack_wrong.txt").write_text("".join(f"{name}\n" for name in wrong))


if __name__ == "__main__":
    main()
