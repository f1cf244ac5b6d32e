"""Reverse-mode differentiation: the recorded graph, the backward walk, and the switches.

Nothing here knows arrays or mathematics. A cotangent is anything with `+`, and `tests/test_autograd.py` runs this file
on plain floats. What a cotangent means is up to the op (`call.py`).

The walk adds cotangents in place where it may. It owns a buffer that nobody else refers to: the result of one of its
own additions, or what an op gives that is `fresh`, which promises that each buffer it gives is new and apart from the
others. An owned buffer may be written to, and may become a gradient without a copy. When its node is taken from the
heap it is owned no more, since hooks and rules then see it, and may keep it or hand it on. What is not owned is never
written to.
"""

from __future__ import annotations

import inspect
import itertools
import threading
import types
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from functools import wraps
from heapq import heappop, heappush
from typing import Any, Self, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

# One clock stamps every recorded op and every in-place change, so "was this value changed after it was saved?"
# and "which op came later?" are both a comparison of two numbers.
tick = itertools.count(1).__next__

# The graph ------------------------------------------------------------------------------------------------------------


class Node:
    """One recorded op: where its inputs came from and what its VJP rules need.

    A parent is the Node that made the input, or the leaf itself, or None if no gradient flows there. Nodes know their
    parents, not their children, so dropping the output frees the graph at once, without the garbage collector.
    """

    __slots__ = ("op", "parents", "saved", "order", "shape", "dtype", "extra", "__weakref__")

    # Has a `name`, `pull(node, g, parents)`, which gives the parents' cotangents, `fresh` (see above), and `saves`:
    # whether its nodes hold values, so that a walk releases them.
    op: Any
    parents: Any
    saved: Any
    order: int  # the tick at which it was recorded
    shape: Any
    dtype: Any
    extra: Extra | None

    def add_hook(self, hook) -> None:
        """Call `hook(cotangent)` when this node's cotangent is complete; a result other than None replaces it."""
        self.details().hooks.append(hook)

    def details(self) -> Extra:
        if self.extra is None:
            self.extra = Extra()
        return self.extra


class Extra:
    """What few nodes have: hooks, who keeps the gradient, the version if the output has views, the user's line."""

    __slots__ = ("hooks", "keep", "version", "line")

    def __init__(self):
        self.hooks, self.keep, self.version, self.line = [], None, None, None


class Handle:
    """What registering a hook gives: `remove()`, or a call, or the end of a `with` block, removes the hook."""

    def __init__(self, hooks: list[Callable], hook: Callable):
        self._hooks, self._hook = hooks, hook

    def remove(self) -> None:
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)

    __call__ = remove

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()

# The walk -------------------------------------------------------------------------------------------------------------


def plus(total, c, owned: bool):
    """total + c; if the buffer of total is owned, it may be reused."""
    if owned:
        total += c
        return total
    return total + c


def walk(root, g, *, targets=(), since: int = 0, retain: bool = False, plus: Callable = plus,
         owned: set | None = None) -> dict[Any, Any]:
    """Carry the cotangent `g` of `root` back through the graph: leaf (or target) -> cotangent.

    Nodes are taken from a heap, latest first. Whatever uses a value was recorded after it, so when a node is taken its
    cotangent is complete. Nothing recurses: a graph may be any number of ops deep.

    targets: Nodes whose cotangents are wanted besides the leaves'; only paths leading to a target are walked.
    since: stop at nodes recorded up to this tick, and return their cotangents.
    retain: keep what the nodes saved; otherwise each that saved values is released as the walk passes. The others can
    be walked again: a cast or a view of a leaf may be made once for many losses.
    plus: how cotangents are added. owned: an empty set, which gets the keys of those the caller may keep and change.
    """
    mode.waiting = None  # see `Op.general`
    table, owned = {root: g}, set() if owned is None else owned
    heap = [(-root.order, root)] if type(root) is Node else []
    first, needed = 0, None
    if targets:
        first = min([t.order if type(t) is Node else 0 for t in targets])  # leaves are older than any node
        needed = _leading_to(root, targets, first)
    while heap:
        node = heappop(heap)[1]
        g = table[node] if targets and node in targets else table.pop(node)
        owned.discard(node)
        parents = node.parents
        if needed is not None and (parents is not None or node.order == first):
            parents = [p if p in needed else None for p in parents or ()]
        if parents is None:
            raise freed(node)
        if (extra := node.extra) is not None:
            for hook in tuple(extra.hooks):  # a hook may remove itself
                new = hook(g)
                g = g if new is None else new
            if node in targets:
                table[node] = g
            if extra.keep is not None and mode.filling:
                extra.keep(g)
        if needed is not None and all([p is None for p in parents]):
            continue  # a target beyond which nothing is wanted: its own graph is left to another walk
        op, fresh, i = node.op, node.op.fresh, -1
        for c in op.pull(node, g, parents):
            i += 1  # zip takes longer
            parent = parents[i]
            if c is None:
                continue
            if parent not in table:
                table[parent] = c
                if fresh:
                    owned.add(parent)
                if type(parent) is Node and parent.order > since:
                    heappush(heap, (-parent.order, parent))
            else:
                total = table[parent]
                if fresh and parent not in owned:
                    total, c = c, total  # of the two, c is the buffer that may be written to
                table[parent] = plus(total, c, fresh or parent in owned)
                owned.add(parent)
        if op.saves and not retain:
            node.parents = node.saved = None
    return table


def freed(node: Node) -> RuntimeError:
    """What to raise where something is needed that `node` no longer has."""
    return RuntimeError(f"backward: the graph through {node.op.name} was already freed by an earlier backward, even if "
                        "an exception stopped that one; to walk it twice, pass retain_graph=True to the first")


def _leading_to(root, targets: Iterable, first: int) -> set:
    """All on a path from `root` to one of `targets`, the targets included; and freed nodes, for the walk to report.

    first: the tick of the oldest target; no path leads on from what is older.
    """
    seen, stack, nodes, needed = {root}, [root], [], set(targets)
    while stack:
        node = stack.pop()
        if type(node) is not Node or node.order <= first:
            continue
        if node.parents is None:
            needed.add(node)
        else:
            nodes.append(node)
            for parent in node.parents:
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
    for node in sorted(nodes, key=lambda node: node.order):  # inputs before outputs
        if not needed.isdisjoint(node.parents):
            needed.add(node)
    return needed

# The switches ---------------------------------------------------------------------------------------------------------


_SPECIAL = frozenset({"recording", "anomaly", "tape", "waiting", "watchers"})  # summed up in `usual`


class _Mode(threading.local):
    recording = True
    anomaly = False
    within = False  # whether a function runs that is being differentiated, see `transforms.py`
    filling = True  # whether a walk fills .grad where retain_grad asked for it
    eager = False  # whether captured functions run without capture
    compiled = False  # whether kernels do what NumPy does faster when Python calls it
    tape: Any = None  # where ops are noted, see `tape.py`
    waiting: list | None = None  # calls of kernels that a block puts off until it ends, see `kernels.program.together`
    answer: Callable | None = None  # gives what a reduction over ranks would, see `distributed/group.py`
    watchers: tuple[Callable, ...] = ()  # called with (op, inputs, options, result) after every op
    usual: bool | None = True  # `recording`, or None if one of the other _SPECIAL is set: all that most ops look at

    def __init__(self):
        self.entered = []  # the switches that are on, with what they will restore

    def __setattr__(self, field, value):
        mine = self.__dict__  # this thread's
        mine[field] = value
        if field in _SPECIAL:
            special = self.anomaly or self.tape is not None or self.waiting is not None or self.watchers
            mine["usual"] = None if special else self.recording


mode = _Mode()  # per thread


class setting:
    """Set a field of `mode` for a `with` block."""

    __slots__ = ("field", "value", "before")

    def __init__(self, field: str, value: Any):
        self.field, self.value = field, value

    def __enter__(self):
        self.before = getattr(mode, self.field)
        try:
            setattr(mode, self.field, self.value)
        except BaseException:  # Ctrl-C, after it was set: the block does not begin, and so does not end
            setattr(mode, self.field, self.before)
            raise

    def __exit__(self, *error):
        setattr(mode, self.field, self.before)


class Switch(ContextDecorator):
    """Set something for a `with` block, or for each call of a function, each step of a generator or coroutine.

    One object may be entered again inside itself, and by several threads. A decorator needs no brackets.
    """

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        if len(arguments) == 1 and not options and callable(arguments[0]):
            return cls()(arguments[0])  # a function; what checkers see is a switch
        return super().__new__(cls)

    def __init__(self, *arguments: Any):
        if arguments:
            name = type(self).__name__
            raise TypeError(f"{name}: takes no arguments, got {arguments[0]!r}; write with {name}(): or decorate a "
                            "function with it")

    on: Callable  # sets it, and returns what `off` takes to restore what was before
    off: Callable

    def __enter__(self) -> Self:
        mine, entered = mode.__dict__, mode.entered
        before, count = mine.copy(), len(entered)
        try:
            entered.append((self, self.on()))  # not to self, which other threads may have entered
        except BaseException:  # see `setting`
            del entered[count:]
            mine.clear()
            mine.update(before)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        entered = mode.entered
        i = -1
        while entered[i][0] is not self:  # a suspended generator may have entered another since
            i -= 1
        self.off(entered.pop(i)[1])

    def __call__(self, function: F) -> F:
        again = self._recreate_cm
        if inspect.isasyncgenfunction(function):
            raise TypeError(f"{type(self).__name__}: {function.__name__} is an asynchronous generator, between whose "
                            "steps it would stay on; use a with block around each step")
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def stepwise(*args: Any, **options: Any) -> Any:
                return await _steps(again, function(*args, **options))

            return stepwise  # type: ignore[return-value]
        if inspect.isgeneratorfunction(function):
            steps: Any = wraps(function)(lambda *args, **options: _steps(again, function(*args, **options)))
            return steps
        return super().__call__(function)

    def _recreate_cm(self):
        return type(self)()  # one instance per call: a decorated function may recurse


@types.coroutine
def _steps(switch: Callable, inner: Any):
    """A generator or coroutine, each step inside a new switch, and what happens between its steps outside."""
    resume, given = inner.send, None
    try:
        while True:
            with switch():
                made, given = resume(given), None  # no cycle of an error and this frame
            try:
                resume, given = inner.send, (yield made)
            except GeneratorExit:
                with switch():
                    inner.close()
                raise
            except BaseException as error:
                resume, given = inner.throw, error
    except StopIteration as end:
        return end.value


class _Recording(Switch):
    value: bool

    def on(self):
        before, mode.recording = mode.recording, self.value
        return before

    def off(self, before):
        mode.recording = before


class no_grad(_Recording):
    """Record nothing inside: results do not require grad. `with no_grad(): ...` or `@no_grad()`; per thread."""

    value = False


class enable_grad(_Recording):
    """Record again inside a `no_grad` block. `with enable_grad(): ...` or `@enable_grad()`; per thread."""

    value = True


class eager(Switch):
    """Run captured functions without capture, for this thread: `with eager(): ...` or `@eager()`."""

    def on(self):
        before, mode.eager = mode.eager, True
        return before

    def off(self, before):
        mode.eager = before


class set_grad_enabled(_Recording):
    """Record or not: from this call on, in a block, `with set_grad_enabled(training): ...`, or in a function alone,
    `@set_grad_enabled(False)`; per thread. Raises TypeError for what is not True or False."""

    def __init__(self, mode: bool):
        self.value = true_or_false("set_grad_enabled", mode)
        self.before = super().on()

    def on(self):
        super().on()
        return self.before

    def __call__(self, function: F) -> F:
        self.off(self.before)  # it is in the function that it holds
        return super().__call__(function)

    def _recreate_cm(self):
        return type(self)(self.value)


class inference_mode(_Recording):
    """PyTorch's name for `no_grad`; with mode=False for `enable_grad`."""

    def __init__(self, mode: bool = True):
        self.value = not true_or_false("inference_mode", mode)

    def _recreate_cm(self):
        return type(self)(not self.value)


def true_or_false(who: str, value: Any) -> bool:
    """The setting of a switch. Raises TypeError for what is neither."""
    if value != bool(value):
        raise TypeError(f"{who}: takes True or False, got {value!r}")
    return bool(value)


def is_grad_enabled() -> bool:
    """Whether ops called in this thread are being recorded."""
    return mode.recording
