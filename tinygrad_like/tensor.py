"""Tensor: an array, its gradient, and the node that made it.

The methods that are ops stand in `methods.py`, those that make a Tensor from nothing but a shape in `creation.py`;
`surface.py` has all of them.
"""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from . import ops
from .array import Array, shows
from .autograd import Handle, Node, mode, setting, tick, walk
from .dtypes import BOOL, FLOAT32, FLOATS, INT64, as_array, checked, get_default_dtype
from .errors import named
from .memory import fills
from .several import added, backward_to, call_after, set_gradient
from .surface import Surface
from .versions import Version


class Tensor(Surface):
    """An n-dimensional array that remembers how it was computed.

    `Tensor(data)` copies `data` (a number, nested sequence, array or Tensor). Python floats become float32 (see
    `set_default_dtype`) and ints int64; arrays keep their dtype. With `requires_grad=True`, ops on it are recorded and
    `backward()` fills `.grad`.
    `Tensor(2, 3)` is zeros of that shape. `Tensor(5)` is the number 5, but a row of 5 numbers, as in PyTorch, where it
    becomes a Parameter or is filled, as by `uniform_()`. `Tensor([1, 2])` is int64, but becomes float32, as it is in
    PyTorch from the beginning, where only floats will do: as a Parameter, or where one is written into it.
    Raises TypeError for data no array can hold and for integers that require grad, ValueError for ragged rows.
    """

    # Defaults live on the class: a result stores only what differs, which makes recording cheap.
    _data: np.ndarray  # what `data` gives, which checks what it is set to; here it is read and set without detour
    _grad: Tensor | None = None  # what `grad` gives
    node: Node | None = None  # the op that made this Tensor, while the graph is alive
    requires_grad: bool = False
    version: Version | None = None  # shared with views
    _viewed: tuple[Callable[[], Tensor | None], Any] | None = None  # what this is an index of, if it shows its memory
    _apart: object = None  # the same for views of one another; another one is made where one is detached
    _count: int | None = None  # n, if this was made as Tensor(n); -1 if of an array or rows of whole numbers
    _hooks: list[Callable] | None = None  # of a leaf; an inner Tensor's hooks are on its node
    _after: list[Callable] | None = None  # of a leaf: what is called once its .grad is there

    def __init__(self, data: Any, requires_grad: bool = False, dtype: Any = None, *sizes: int):
        if type(data) is int:
            if type(requires_grad) is int:
                sizes = (data, requires_grad, *(() if dtype is None else (dtype,)), *sizes)
                self._data = np.zeros(sizes, get_default_dtype())
                return
            self._count = data
        if isinstance(data, Tensor) and mode.tape is not None:
            data = ops.clone(data.detach())
            self._data = (data if dtype is None else data.cast(dtype))._data
            if requires_grad:
                self.requires_grad_()
            return
        given = data._data if isinstance(data, Tensor) else data, dtype, "Tensor"
        if mode.tape is None:
            self._data = as_array(*given)
        else:
            from .counted import array_of

            noted = isinstance(data, np.ndarray)  # which may hold other numbers the next time
            self._data = mode.tape.unit("tensor", as_array, given) if noted else array_of(*given)
        if requires_grad:
            self.requires_grad_()
        elif dtype is None and self._data.dtype.kind in "iu" and isinstance(data, list | tuple | np.ndarray):
            self._count = -1
            if hasattr(data, "numel"):  # a shape, as x.size() gives it
                self._data = np.zeros(data, get_default_dtype())

    # What it is -----------------------------------------------------------------------------------------------------
    # With attrgetter, since a function written here would take as long again.
    shape: tuple[int, ...] = property(operator.attrgetter("_data.shape"))  # type: ignore[assignment]
    ndim: int = property(operator.attrgetter("_data.ndim"))  # type: ignore[assignment]
    dtype: np.dtype = property(operator.attrgetter("_data.dtype"))  # type: ignore[assignment]
    nbytes: int = property(operator.attrgetter("_data.nbytes"))  # type: ignore[assignment]
    grad: Tensor | None = property(operator.attrgetter("_grad"), set_gradient,  # type: ignore[assignment]
                                   lambda self: self.__dict__.pop("_grad", None))

    def numel(self) -> int:
        """Number of elements."""
        return self._data.size

    def _set_data(self, value: Any) -> None:
        if mode.tape is not None and not mode.tape.inside:
            return mode.tape.set_data(self, value)
        if not shows(value, self._data):  # as it does after `x.data -= ...`
            array = value._data if isinstance(value, Tensor) else value
            # NumPy's functions give numbers where arrays were 0-d.
            array = checked(np.asarray(array) if isinstance(array, np.generic) else array, "data")
            if self.requires_grad and array.dtype.kind not in FLOATS:
                raise TypeError(f"data: a Tensor that requires grad cannot be {array.dtype}; cast it with .float()")
            if isinstance(value, Tensor):  # both lie on one memory now, and what saved this one must see it too
                self.touch()
                value.shared_version().show(self)
            self._data = array
        self.touch()

    def _get_data(self) -> Array:
        return self._data.view(Array) if mode.tape is None or mode.tape.inside else mode.tape.data(self)

    data: Any = property(_get_data, _set_data, doc="""The memory, as a NumPy array that takes a Tensor's methods too.

        Setting it counts as a change in place, also by `x.data -= ...`. A write to the array is not seen, as that of
        `x.data.zero_()`: `assign` is.
        Raises TypeError unless it is set to a plain NumPy array, or a Tensor, of a dtype a Tensor may have.
        """)  # type: ignore[assignment]

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made this Tensor; gradients gather in leaves."""
        return self.node is None

    def is_floating_point(self) -> bool:
        return self._data.dtype.kind in FLOATS

    def item(self) -> float:
        """The single element as a Python number. Raises ValueError if there is not exactly one."""
        if self._data.size != 1:
            raise ValueError(f"item: only a Tensor of one element converts to a number, this has shape {self.shape}")
        _python("item(), or a number made of a Tensor,", self)
        return self._data.item()

    def tolist(self) -> Any:
        _python("tolist()", self)
        return self._data.tolist()

    def __repr__(self) -> str:
        _python("print(), str() or repr() of a Tensor, or one in an f-string,")
        data, digits = (self._data, None) if self.dtype.kind != "V" else (self._data.astype(FLOAT32), 4)
        values = np.array2string(data, separator=", ", prefix="Tensor(", threshold=100, precision=digits)
        notes = "" if self._data.size else f", shape={self.shape}"
        if self.dtype not in (get_default_dtype(), INT64, BOOL):
            notes += f", dtype={self.dtype}"
        if self.node is not None:
            notes += f", op={self.node.op.name}"
        elif self.requires_grad:
            notes += ", requires_grad=True"
        return f"Tensor({values}{notes})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise ValueError(f"bool: the truth of a Tensor of shape {self.shape} is ambiguous; use .any() or .all()")
        _python("the truth of a Tensor", self)
        return bool(self._data.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._data.size != 1 or self.dtype.kind not in "iu":
            raise TypeError("index: only an integer Tensor of one element is an index, "
                            f"this is {self.dtype} {self.shape}")
        _python("an index made of a Tensor", self)
        return int(self._data.item())

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len: a 0-d Tensor has no length")
        return len(self._data)

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iter: a 0-d Tensor cannot be iterated over; use .item()")
        return (self[i] for i in range(len(self._data)))

    def __contains__(self, value: Any) -> bool:
        _python("`in`")
        return bool((self._data == (value._data if isinstance(value, Tensor) else value)).any())

    __hash__ = object.__hash__  # by identity: == compares elements

    def __getstate__(self) -> dict:
        """For copies and pickles: neither hooks nor the version, which belong to this one."""
        _python("a pickle of a Tensor, or a copy that is no clone(),")
        if self.node is not None:
            raise RuntimeError(f"copy: this Tensor was computed by {self.node.op.name}, and a graph cannot be "
                               "copied or pickled; take a leaf, or x.detach()")
        left_out = {"version", "_hooks", "_after", "_viewed", "_apart"}
        state = {k: v for k, v in self.__dict__.items() if k not in left_out}
        return state if self._grad is None else state | {"_grad": self._grad.detach().clone()}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state, _data=as_array(state["_data"], None, "Tensor"))  # with this process's dtype objects

    # Gradients ------------------------------------------------------------------------------------------------------

    @named
    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether ops on this leaf are recorded, and return it. Raises TypeError unless it is floating point."""
        if requires_grad and self._count is not None:
            self._as_floats()  # type: ignore[attr-defined]
        if requires_grad and not self.is_floating_point():
            raise TypeError(f"requires_grad: a Tensor of {self.dtype} cannot require grad; cast it with .float() first")
        if self.node is not None and not requires_grad:
            raise RuntimeError(f"requires_grad_: this Tensor was computed by {self.node.op.name}; use detach()")
        self.requires_grad = requires_grad
        return self

    def backward(self, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False,
                 inputs: Any = None) -> None:
        """Add d(self)/d(leaf), contracted with `gradient`, to the `.grad` of every leaf that requires grad.

        gradient: the cotangent of this Tensor, of its shape; may be left out for a single element, where it is 1.
        retain_graph: keep the graph for another backward; otherwise it is freed as the walk passes.
        create_graph: record the gradients themselves, so that they can be differentiated (implies retain_graph).
        inputs: the Tensors whose `.grad` is to be added to, instead of all leaves'.

        Raises ValueError for a missing or mis-shaped `gradient`, RuntimeError if nothing was recorded or it was freed.
        An exception in a rule or a hook leaves the `.grad` of every leaf as it was; only one that comes while the found
        gradients are added, as no memory or Ctrl-C, may leave some with theirs: call zero_grad() before the next try.
        """
        if inputs is not None:
            return backward_to(self, inputs, gradient, retain_graph, create_graph)
        g = self._seed("backward", gradient, create_graph)
        before = mode.recording, mode.filling
        try:
            mode.recording, mode.filling = create_graph, True
            retain = retain_graph or create_graph
            owned: set = set()
            found = []
            table = walk(self.node or self, g, retain=retain, plus=ops.cotangents.plus, owned=owned)
            while table:  # emptied, so that what is copied is freed one by one
                leaf, c = table.popitem()
                if not leaf.requires_grad:  # any more
                    continue
                if leaf._grad is None or leaf._hooks or type(c) is not np.ndarray:
                    c = _own(c, leaf in owned)
                if leaf._hooks:
                    for hook in tuple(leaf._hooks):
                        c = hook(c)
                if leaf._grad is not None and leaf._grad.shape != c.shape:
                    raise RuntimeError(f"backward: the gradient has shape {c.shape}, but .grad, from before .data was "
                                       f"changed, {leaf._grad.shape}; call zero_grad() first")
                found.append((leaf, c))
            with _adding:
                for leaf, c in reversed(found):
                    if mode.tape is not None:
                        mode.tape.leaf(leaf)
                    leaf._grad = c if leaf._grad is None else added(leaf._grad, c)
            for leaf in [leaf for leaf, _ in found if leaf._after]:
                call_after(leaf)
        finally:
            mode.recording, mode.filling = before

    def gradient(self, *targets: Tensor, gradient: Any = None, create_graph: bool = False,
                 retain_graph: bool | None = None, materialize_grads: bool = False) -> list[Tensor]:
        """The gradients of this Tensor with respect to `targets`, in their order; no `.grad` is touched.

        Only the graph between the two is walked, and freed: after `dh, = loss.gradient(h)`, `h.backward(dh)` goes on.

        gradient: the cotangent of this Tensor (1 for a single element).
        retain_graph: keep the graph (default: as create_graph).
        materialize_grads: give zeros for a target this Tensor does not depend on, instead of raising ValueError.
        """
        g = self._seed("gradient", gradient, create_graph)
        for i, t in enumerate(targets):
            if not isinstance(t, Tensor) or not t.requires_grad:
                raise ValueError(f"gradient: target {i}, a {type(t).__name__}, is no Tensor that requires grad; pass "
                                 "Tensors one by one, made with requires_grad=True before use")
        if not targets:
            return []  # for the walk, no targets are all leaves
        keys = [t.node or t for t in targets]
        with setting("recording", create_graph), setting("filling", False):
            retain = create_graph if retain_graph is None else retain_graph
            owned: set = set()
            table = walk(self.node or self, g, targets=set(keys), retain=retain, plus=ops.cotangents.plus, owned=owned)
            found, first = [], {}  # type: ignore[var-annotated]
            for i, (t, key) in enumerate(zip(targets, keys, strict=True)):
                if key in first:  # asked for twice: hooks are called once, and memory is not shared
                    found.append(ops.clone(first[key]))
                    continue
                c = table.get(key)
                if c is None:  # no gradient flows here, and no hook is called
                    if not materialize_grads:
                        raise ValueError(f"gradient: the result does not depend on target {i} (shape {t.shape}); "
                                         "pass materialize_grads=True to get zeros")
                    found.append(wrap(np.zeros(t.shape, t.dtype)))
                    continue
                c = _own(c, key in owned)
                for hook in tuple(t._hooks or ()) if key is t else ():
                    c = hook(c)
                first[key] = c
                found.append(c)
        return found

    def _seed(self, who: str, gradient: Any, create_graph: bool) -> Any:
        if not self.requires_grad:
            raise RuntimeError(f"{who}: this Tensor does not require grad: it was computed from Tensors without "
                               "requires_grad=True, under no_grad, or by an op without VJP rules, such as argmax")
        if gradient is None:
            if self._data.size != 1:
                raise ValueError(f"{who}: a Tensor of shape {self.shape} needs gradient=, a cotangent of that shape; "
                                 "or reduce it to one number, with .sum() or .mean()")
            one = _one(self.shape, self.dtype)
            return wrap(one.copy()) if create_graph and mode.tape is None else wrap(one) if mode.tape else one
        gradient = gradient if isinstance(gradient, Tensor) else wrap(as_array(gradient, self.dtype, who))
        if gradient.shape != self.shape:
            raise ValueError(f"{who}: gradient has shape {gradient.shape} but the Tensor has shape {self.shape}")
        if gradient.dtype is not self.dtype:
            gradient = ops.cast(gradient, dtype=self.dtype)
        return gradient if create_graph or mode.tape is not None else gradient._data

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Handle:
        """Call `hook(gradient)` when this Tensor's gradient is complete; what it returns, if not None, replaces it.

        Returns a handle, whose `remove()` removes the hook.
        """
        if not self.requires_grad:
            raise RuntimeError("register_hook: this Tensor does not require grad")

        def call(g):
            given = g if isinstance(g, Tensor) else wrap(np.array(g))
            new = hook(given)
            if new is None:
                return g
            if not isinstance(new, Tensor) or new.shape != given.shape or new.dtype is not given.dtype:
                got = f"{new.dtype} {new.shape}" if isinstance(new, Tensor) else type(new).__name__
                raise ValueError(f"register_hook: the hook must return None or a Tensor, {given.dtype} {given.shape}; "
                                 f"got {got}")
            return new if isinstance(g, Tensor) else new._data

        if self.node is not None:
            self.node.add_hook(call)
            hooks = self.node.details().hooks
        else:
            hooks = self._hooks = self._hooks or []
            hooks.append(call)
        return Handle(hooks, call)

    def retain_grad(self) -> Tensor:
        """Have backward fill `.grad` of this inner Tensor too, with what its hooks have left; returns the Tensor."""
        if not self.requires_grad:
            raise RuntimeError("retain_grad: this Tensor does not require grad")
        if self.node is not None:
            ref = weakref.ref(self)  # the node must not keep the Tensor: that would be a cycle

            def keep(g):
                t = ref()
                if t is not None:
                    with _adding:
                        c = _own(g, False)
                        t._grad = c if t._grad is None else t._grad + c

            self.node.details().keep = keep
        return self

    def detach(self) -> Tensor:
        """The same values without the graph. Memory is shared, and so is the version: a change is seen by both."""
        out = wrap(self._data)
        self.shared_version().show(out)
        out._apart = object()
        return out

    def zero_grad(self) -> None:
        self._grad = None

    # In-place change, each a tick that backward checks ----------------------------------------------------------------

    def shared_version(self) -> Version:
        """The cell that holds the tick of the last in-place change of this memory."""
        if self.version is None:
            node = self.node
            if node is None or getattr(node.op, "out", 0) is None:  # it keeps no output that might change
                self.version = Version.of(0, [weakref.ref(self)])
            elif (extra := node.details()).version is None:
                self.version = extra.version = Version.of(0, [weakref.ref(self)])
            else:  # of the output there may be several Tensors: rules get one of their own
                extra.version.show(self)
        return self.version  # type: ignore[return-value]

    def touch(self) -> None:
        """Note that the values have changed in place, so that a backward that needs the old ones raises."""
        self.shared_version().change(tick())

    def assign(self, value: Any) -> Tensor:
        """Overwrite the values in place; not recorded. Raises if the shape differs, or if this Tensor was computed."""
        if (node := self.node) is not None:
            raise RuntimeError(f"assign: this Tensor was computed by {node.op.name}; assign to a leaf, or to a clone()")
        value = value._data if isinstance(value, Tensor) else np.asarray(value)
        if value.shape != self.shape:
            raise ValueError(f"assign: value has shape {value.shape} but the Tensor has shape {self.shape}")
        self._require_writable("assign")
        _write(self._data, ..., value)
        self.touch()
        return self

    def _require_writable(self, who: str) -> None:
        if not self._data.flags.writeable:
            raise ValueError(f"{who}: this Tensor of shape {self.shape} shows memory that must not be written, "
                             "as expand does and read-only arrays are; change a clone()")


def wrap(array: np.ndarray) -> Tensor:
    """A Tensor on `array`, without a copy or a check: for arrays made here."""
    t = Tensor.__new__(Tensor)
    t._data = array
    return t


@lru_cache(maxsize=16)
def _one(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The cotangent that backward begins with: always the same array, so that nothing has to be written for it."""
    one = np.ones(shape, dtype)
    one.flags.writeable = False
    return one


def _own(c: Any, owned: bool) -> Tensor:
    """A cotangent as a gradient, on memory of its own: without a copy if the walk owned it."""
    if hasattr(c, "written"):  # the cotangent of a part
        c, owned = c.written(), True
    array = c if type(c) is np.ndarray else getattr(c, "_data", None)
    alone = owned and array is not None and array.flags.c_contiguous and (array.base is None or fills(array))
    if isinstance(c, Tensor):
        return c if alone and not mode.recording else ops.clone(c)
    return wrap(np.array(c) if array is None else array if alone else ops.compare.copied(array))


def _write(array: np.ndarray, index: Any, value: Any) -> None:
    """array[index] = value"""
    if mode.tape is None:
        array[index] = value
    else:
        mode.tape.python("assign", operator.setitem, array, index, value, changes=[array])


def _python(what: str, x: Tensor | None = None) -> None:
    """Say that `what` needs Python, if that will not be there when the function that runs is called again."""
    if mode.tape is not None:
        mode.tape.refuse(what, "return the Tensor and do it outside, or decorate what comes before it", True, x)


_adding = threading.RLock()  # to read, add and write is not one step, and two threads may have the same leaf
