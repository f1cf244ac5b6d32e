"""Tensor: an array, its gradient, and the node that made it. Methods are one-liners onto `ops`."""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import ops, random
from .autograd import Node, mode, recording, setting, tick, walk
from .dtypes import BOOL, FLOAT32, FLOAT64, INT64, as_array, as_dtype, checked
from .errors import named
from .memory import fills

Axis = int | tuple[int, ...] | None


class Tensor:
    """An n-dimensional array that remembers how it was computed.

    `Tensor(data)` copies `data` (a number, nested sequence, array or Tensor). Python floats become float32 and ints
    int64; arrays keep their dtype. With `requires_grad=True`, ops on it are recorded and `backward()` fills `.grad`.

    Raises TypeError for data no array can hold, ragged rows (ValueError), and for an integer Tensor with
    `requires_grad`.
    """

    # Defaults live on the class: a result stores only what differs, which makes recording cheap.
    _data: np.ndarray  # what `data` gives, which checks what it is set to; here it is read and set without detour
    grad: Tensor | None = None
    node: Node | None = None  # the op that made this Tensor, while the graph is alive
    requires_grad: bool = False
    version: list[int] | None = None  # tick of the last in-place change, in a cell shared with views
    _hooks: list[Callable] | None = None  # of a leaf; an inner Tensor's hooks are on its node
    __array_ufunc__ = None  # so that `array * tensor` asks Tensor.__rmul__ instead of looping over elements

    def __init__(self, data: Any, requires_grad: bool = False, dtype: Any = None):
        self._data = as_array(data._data if isinstance(data, Tensor) else data, dtype, "Tensor")
        if requires_grad:
            self.requires_grad_()

    # What it is -----------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def dtype(self) -> np.dtype:
        return self._data.dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._data.size

    @property
    def nbytes(self) -> int:
        return self._data.nbytes

    def numel(self) -> int:
        """Number of elements."""
        return self._data.size

    def _set_data(self, value: Any) -> None:
        if value is not self._data:  # as it is after `x.data -= ...`
            array = value._data if isinstance(value, Tensor) else value
            # NumPy's functions give numbers where arrays were 0-d.
            array = checked(np.asarray(array) if isinstance(array, np.generic) else array, "data")
            if self.requires_grad and array.dtype.kind != "f":
                raise TypeError(f"data: a Tensor that requires grad cannot be {array.dtype}; cast it with .float()")
            if isinstance(value, Tensor):  # both lie on one memory now, and what saved this one must see it too
                self.touch()
                self.version = value.shared_version()
            self._data = array
        self.touch()

    # attrgetter, since a function written here would take as long again.
    data: np.ndarray = property(operator.attrgetter("_data"), _set_data, doc="""The array itself.

        Setting it counts as a change in place, also by `x.data -= ...`. A write to the array is not seen: `assign` is.
        Raises TypeError unless it is set to a plain NumPy array, or a Tensor, of a dtype a Tensor may have.
        """)  # type: ignore[assignment]

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made this Tensor; gradients gather in leaves."""
        return self.node is None

    def is_floating_point(self) -> bool:
        return self._data.dtype.kind == "f"

    def numpy(self) -> np.ndarray:
        """The values as a read-only array, without a copy."""
        view = self.data.view()
        view.flags.writeable = False
        return view

    def item(self) -> Any:
        """The single element as a Python number. Raises ValueError if there is not exactly one."""
        if self.size != 1:
            raise ValueError(f"item: only a Tensor of one element converts to a number, this has shape {self.shape}")
        return self.data.item()

    def tolist(self) -> Any:
        return self.data.tolist()

    def __repr__(self) -> str:
        values = np.array2string(self.data, separator=", ", prefix="Tensor(", threshold=100)
        notes = ""
        if self.size == 0:
            notes += f", shape={self.shape}"
        if self.dtype not in (FLOAT32, INT64, BOOL):
            notes += f", dtype={self.dtype}"
        if self.node is not None:
            notes += f", op={self.node.op.name}"
        elif self.requires_grad:
            notes += ", requires_grad=True"
        return f"Tensor({values}{notes})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(f"bool: the truth of a Tensor of shape {self.shape} is ambiguous; use .any() or .all()")
        return bool(self.data.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.size != 1 or self.dtype.kind not in "iu":
            raise TypeError("index: only an integer Tensor of one element is an index, "
                            f"this is {self.dtype} {self.shape}")
        return int(self.data.item())

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len: a 0-d Tensor has no length")
        return len(self.data)

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iter: a 0-d Tensor cannot be iterated over; use .item()")
        return (self[i] for i in range(len(self.data)))

    def __contains__(self, value: Any) -> bool:
        return bool((self.data == (value.data if isinstance(value, Tensor) else value)).any())

    __hash__ = object.__hash__  # by identity: == compares elements

    def __getstate__(self) -> dict:
        """For copies and pickles: neither hooks nor the version, which belong to this one."""
        if self.node is not None:
            raise RuntimeError(f"copy: this Tensor was computed by {self.node.op.name}, and a graph cannot be "
                               "copied or pickled; take a leaf, or x.detach()")
        state = {k: v for k, v in self.__dict__.items() if k not in ("version", "_hooks")}
        return state if self.grad is None else state | {"grad": self.grad.detach()}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state, _data=as_array(state["_data"], None, "Tensor"))  # with this process's dtype objects

    # Interop --------------------------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()

    @staticmethod
    def from_dlpack(x: Any) -> Tensor:
        """A Tensor on the memory of another library's CPU tensor (PyTorch, JAX, NumPy ...), without a copy."""
        return Tensor.from_numpy(np.from_dlpack(x))

    @staticmethod
    def from_numpy(array: np.ndarray) -> Tensor:
        """A Tensor on the memory of `array`, without a copy: later writes to the array change the Tensor, unchecked.

        A read-only array makes a Tensor that cannot be changed in place. Raises TypeError for what is no plain array.
        """
        return wrap(checked(array, "from_numpy"))

    # Gradients ------------------------------------------------------------------------------------------------------

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether ops on this leaf are recorded, and return it. Raises TypeError unless it is floating point."""
        if requires_grad and not self.is_floating_point():
            raise TypeError(f"requires_grad: a Tensor of {self.dtype} cannot require grad; cast it with .float() first")
        if self.node is not None and not requires_grad:
            raise RuntimeError(f"requires_grad_: this Tensor was computed by {self.node.op.name}; use detach()")
        self.requires_grad = requires_grad
        return self

    def backward(self, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False) -> None:
        """Add d(self)/d(leaf), contracted with `gradient`, to the `.grad` of every leaf that requires grad.

        gradient: the cotangent of this Tensor, of its shape; may be left out for a single element, where it is 1.
        retain_graph: keep the graph for another backward; otherwise it is freed as the walk passes.
        create_graph: record the gradients themselves, so that they can be differentiated (implies retain_graph).

        Raises ValueError for a missing or mis-shaped `gradient`, RuntimeError if nothing was recorded or it was freed.
        An exception in a rule or a hook leaves the `.grad` of every leaf as it was; only one that comes while the found
        gradients are added, as no memory or Ctrl-C, may leave some with theirs: call zero_grad() before the next try.
        """
        g = self._seed("backward", gradient, create_graph)
        before = mode.recording, mode.filling
        mode.recording, mode.filling = create_graph, True
        try:
            retain = retain_graph or create_graph
            owned: set = set()
            found = []
            table = walk(self.node or self, g, retain=retain, plus=ops.elementwise.plus, owned=owned)
            while table:  # emptied, so that what is copied is freed one by one
                leaf, c = table.popitem()
                if not leaf.requires_grad:  # any more
                    continue
                c = _own(c, leaf in owned)
                if leaf._hooks:
                    for hook in tuple(leaf._hooks):
                        c = hook(c)
                if leaf.grad is not None and leaf.grad.shape != c.shape:
                    raise RuntimeError(f"backward: the gradient has shape {c.shape}, but .grad, from before .data was "
                                       f"changed, {leaf.grad.shape}; call zero_grad() first")
                found.append((leaf, c))
            with _adding:
                for leaf, c in reversed(found):
                    leaf.grad = c if leaf.grad is None else leaf.grad + c
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
                raise ValueError(f"gradient: target {i} does not require grad; "
                                 "make it with requires_grad=True before use")
        keys = [t.node or t for t in targets]
        with recording(create_graph), setting("filling", False):
            retain = create_graph if retain_graph is None else retain_graph
            owned: set = set()
            table = walk(self.node or self, g, targets=set(keys), retain=retain, plus=ops.elementwise.plus, owned=owned)
            found: list[Tensor] = []
            first: dict[Any, Tensor] = {}
            for i, (t, key) in enumerate(zip(targets, keys, strict=True)):
                if key in first:  # asked for twice: hooks are called once, and memory is not shared
                    found.append(ops.clone(first[key]))
                    continue
                c = table.get(key)
                if c is None and not materialize_grads:
                    raise ValueError(f"gradient: the result does not depend on target {i} (shape {t.shape}); "
                                     "pass materialize_grads=True to get zeros")
                if c is None:  # no gradient flows here, and no hook is called
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
                               "requires_grad=True, or under no_grad")
        if gradient is None:
            if self.size != 1:
                raise ValueError(f"{who}: a Tensor of shape {self.shape} needs gradient=, a cotangent of that shape; "
                                 "or reduce it to one number, with .sum() or .mean()")
            gradient = np.empty(self.shape, self.dtype)
            gradient.fill(1)
            return wrap(gradient) if create_graph else gradient
        gradient = gradient if isinstance(gradient, Tensor) else wrap(as_array(gradient, self.dtype, who))
        if gradient.shape != self.shape:
            raise ValueError(f"{who}: gradient has shape {gradient.shape} but the Tensor has shape {self.shape}")
        if gradient.dtype is not self.dtype:
            gradient = ops.cast(gradient, dtype=self.dtype)
        return gradient if create_graph else gradient.data

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Callable[[], None]:
        """Call `hook(gradient)` when this Tensor's gradient is complete; what it returns, if not None, replaces it.

        Returns a function that removes the hook.
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
            return new if isinstance(g, Tensor) else new.data

        if self.node is not None:
            self.node.add_hook(call)
            hooks = self.node.details().hooks
        else:
            hooks = self._hooks = self._hooks or []
            hooks.append(call)
        return lambda: hooks.remove(call) if call in hooks else None

    def retain_grad(self) -> Tensor:
        """Have backward fill `.grad` of this Tensor too, though it is not a leaf; returns the Tensor.

        The gradient is the one after all hooks of this Tensor.
        """
        if not self.requires_grad:
            raise RuntimeError("retain_grad: this Tensor does not require grad")
        if self.node is not None:
            ref = weakref.ref(self)  # the node must not keep the Tensor: that would be a cycle

            def keep(g):
                t = ref()
                if t is not None:
                    with _adding:
                        c = ops.clone(g) if isinstance(g, Tensor) else wrap(np.array(g))
                        t.grad = c if t.grad is None else t.grad + c

            self.node.details().keep = keep
        return self

    def detach(self) -> Tensor:
        """The same values without the graph.

        Memory is shared, and so is the version: a change through either is seen.
        """
        out = wrap(self.data)
        out.version = self.shared_version()
        return out

    def zero_grad(self) -> None:
        self.grad = None

    # In-place change, each a tick that backward checks ----------------------------------------------------------------

    def shared_version(self) -> list[int]:
        """The cell that holds the tick of the last in-place change of this memory."""
        if self.version is None:
            if self.node is None:
                self.version = [0]
            else:  # of which there may be several Tensors: rules get one of their own
                extra = self.node.details()
                self.version = extra.version = extra.version or [0]
        return self.version

    def touch(self) -> None:
        """Note that the values have changed in place, so that a backward that needs the old ones raises."""
        self.shared_version()[0] = tick()

    def assign(self, value: Any) -> Tensor:
        """Overwrite the values in place; not recorded.

        Raises if the shape differs or this Tensor was itself computed.
        """
        if self.node is not None:
            raise RuntimeError(f"assign: this Tensor was computed by {self.node.op.name}; "
                               "assign to a leaf, or to a clone()")
        value = value.data if isinstance(value, Tensor) else np.asarray(value)
        if value.shape != self.shape:
            raise ValueError(f"assign: value has shape {value.shape} but the Tensor has shape {self.shape}")
        self._require_writable("assign")
        self.data[...] = value
        self.touch()
        return self

    def _require_writable(self, who: str) -> None:
        if not self.data.flags.writeable:
            raise ValueError(f"{who}: this Tensor of shape {self.shape} shows memory that must not be written, "
                             "as expand does and read-only arrays are; change a clone()")

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.requires_grad or (isinstance(value, Tensor) and value.requires_grad):
            raise RuntimeError("setitem: x[index] = value cannot be differentiated; build the result with "
                               "where, cat, scatter or masked_fill, or change x.detach()")
        self._require_writable("setitem")
        index = ops.index.plain_index(index, self.shape)
        value = value.data if isinstance(value, Tensor) else as_array(value, None, "setitem")
        try:
            self.data[index] = value
        except ValueError:
            raise ValueError(f"setitem: a value of shape {value.shape} does not broadcast to {self.data[index].shape}, "
                             "the shape of x[index]") from None
        self.touch()

    # Creation -------------------------------------------------------------------------------------------------------

    @staticmethod
    def empty(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        return _make("empty", np.zeros, shape, dtype, requires_grad)

    @staticmethod
    def zeros(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        return _make("zeros", np.zeros, shape, dtype, requires_grad)

    @staticmethod
    def ones(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        return _make("ones", np.ones, shape, dtype, requires_grad)

    @staticmethod
    def full(shape: int | Sequence[int], fill_value: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        _constant("full", fill_value)
        dtype = Tensor(fill_value).dtype if dtype is None else dtype
        if isinstance(fill_value, complex):
            raise TypeError(f"full: a Tensor holds real numbers, got {fill_value!r}")
        return _make("full", lambda s, d: np.full(s, fill_value, d), (shape,), dtype, requires_grad)

    @staticmethod
    def eye(n: int, m: int | None = None, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        return _make("eye", lambda s, d: np.eye(*s, dtype=d), (n, n if m is None else m), dtype, requires_grad)

    @staticmethod
    def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None,
               requires_grad: bool = False) -> Tensor:
        """start, start + step, ... below stop; `arange(stop)` starts at 0. int64 if all are ints, else float32."""
        _constant("arange", start, stop, step)
        start, stop = (0, start) if stop is None else (start, stop)
        if step == 0:
            raise ValueError("arange: step must not be 0")
        return Tensor(np.arange(start, stop, step).tolist(), requires_grad,
                      dtype or (INT64 if all(isinstance(v, int) for v in (start, stop, step)) else FLOAT32))

    @staticmethod
    def linspace(start: float, stop: float, steps: int, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        """`steps` values from start to stop, both included."""
        _constant("linspace", start, stop)
        return Tensor(np.linspace(start, stop, steps), requires_grad, dtype or FLOAT32)

    @staticmethod
    def rand(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        """Uniform on [0, 1)."""
        return Tensor.uniform(*shape, dtype=dtype, requires_grad=requires_grad)

    @staticmethod
    def randn(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        """Standard normal."""
        return Tensor.normal(*shape, dtype=dtype, requires_grad=requires_grad)

    @staticmethod
    def uniform(*shape: Any, low: float = 0.0, high: float = 1.0, dtype: Any = None,
                requires_grad: bool = False) -> Tensor:
        """Uniform on [low, high)."""
        _constant("uniform", low, high)
        return _make("uniform", lambda s, d: random.generator.random(s, d) * (high - low) + low,
                     shape, dtype, requires_grad)

    @staticmethod
    def normal(*shape: Any, mean: float = 0.0, std: float = 1.0, dtype: Any = None,
               requires_grad: bool = False) -> Tensor:
        """Normal with the given mean and standard deviation."""
        _constant("normal", mean, std)
        return _make("normal", lambda s, d: random.generator.standard_normal(s, d) * std + mean,
                     shape, dtype, requires_grad)

    @staticmethod
    def randint(*shape: Any, low: int = 0, high: int = 10, dtype: Any = None) -> Tensor:
        """Integers, uniform on low, ..., high - 1."""
        if low >= high:
            raise ValueError(f"randint: low={low} must be below high={high}")
        return _make("randint", lambda s, d: random.generator.integers(low, high, s, d), shape, dtype or INT64, False)

    @staticmethod
    def randperm(n: int) -> Tensor:
        """The numbers 0, ..., n - 1 in random order."""
        return wrap(random.generator.permutation(n))

    def zeros_like(self, **options: Any) -> Tensor:
        return Tensor.zeros(self.shape, **{"dtype": self.dtype, **options})

    def ones_like(self, **options: Any) -> Tensor:
        return Tensor.ones(self.shape, **{"dtype": self.dtype, **options})

    def full_like(self, fill_value: Any, **options: Any) -> Tensor:
        return Tensor.full(self.shape, fill_value, **{"dtype": self.dtype, **options})

    def rand_like(self, **options: Any) -> Tensor:
        return Tensor.rand(self.shape, **{"dtype": self.dtype, **options})

    def randn_like(self, **options: Any) -> Tensor:
        return Tensor.randn(self.shape, **{"dtype": self.dtype, **options})

    # Arithmetic -----------------------------------------------------------------------------------------------------

    def __add__(self, other): return ops.add(self, other)
    def __radd__(self, other): return ops.add(other, self)
    def __sub__(self, other): return ops.sub(self, other)
    def __rsub__(self, other): return ops.sub(other, self)
    def __mul__(self, other): return ops.mul(self, other)
    def __rmul__(self, other): return ops.mul(other, self)
    def __truediv__(self, other): return ops.div(self, other)
    def __rtruediv__(self, other): return ops.div(other, self)
    def __floordiv__(self, other): return ops.floordiv(self, other)
    def __rfloordiv__(self, other): return ops.floordiv(other, self)
    def __mod__(self, other): return ops.mod(self, other)
    def __rmod__(self, other): return ops.mod(other, self)
    def __pow__(self, other): return ops.pow(self, other)
    def __rpow__(self, other): return ops.pow(other, self)
    def __matmul__(self, other): return ops.matmul(self, other)
    def __rmatmul__(self, other): return ops.matmul(other, self)
    def __neg__(self): return ops.neg(self)
    def __abs__(self): return ops.abs(self)
    def __eq__(self, other): return ops.eq(self, other)
    def __ne__(self, other): return ops.ne(self, other)
    def __lt__(self, other): return ops.lt(self, other)
    def __le__(self, other): return ops.le(self, other)
    def __gt__(self, other): return ops.gt(self, other)
    def __ge__(self, other): return ops.ge(self, other)
    def __and__(self, other): return ops.logical_and(self, other)
    def __or__(self, other): return ops.logical_or(self, other)
    def __xor__(self, other): return ops.logical_xor(self, other)
    def __invert__(self): return ops.logical_not(self)
    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def add(self, other): return ops.add(self, other)
    def sub(self, other): return ops.sub(self, other)
    def mul(self, other): return ops.mul(self, other)
    def div(self, other): return ops.div(self, other)
    def pow(self, other): return ops.pow(self, other)
    def mod(self, other): return ops.mod(self, other)
    def neg(self): return ops.neg(self)
    def eq(self, other): return ops.eq(self, other)
    def ne(self, other): return ops.ne(self, other)
    def maximum(self, other): return ops.maximum(self, other)
    def minimum(self, other): return ops.minimum(self, other)
    def clip(self, min_=None, max_=None): return ops.clip(self, min=min_, max=max_)
    clamp = clip
    def where(self, x, y):
        """x where this boolean Tensor is true, else y."""
        return ops.where(self, x, y)
    def masked_fill(self, mask, value): return ops.where(mask, value, self)
    def lerp(self, end, weight): return self + (end - self) * weight

    def exp(self): return ops.exp(self)
    def exp2(self): return ops.exp2(self)
    def expm1(self): return ops.expm1(self)
    def log(self): return ops.log(self)
    def log2(self): return ops.log2(self)
    def log10(self): return ops.log10(self)
    def log1p(self): return ops.log1p(self)
    def sqrt(self): return ops.sqrt(self)
    def rsqrt(self): return ops.rsqrt(self)
    def square(self): return ops.square(self)
    def reciprocal(self): return ops.reciprocal(self)
    def sin(self): return ops.sin(self)
    def cos(self): return ops.cos(self)
    def tan(self): return ops.tan(self)
    def asin(self): return ops.asin(self)
    def acos(self): return ops.acos(self)
    def atan(self): return ops.atan(self)
    def sinh(self): return ops.sinh(self)
    def cosh(self): return ops.cosh(self)
    def tanh(self): return ops.tanh(self)
    def erf(self): return ops.erf(self)
    def abs(self): return ops.abs(self)
    def sign(self): return ops.sign(self)
    def floor(self): return ops.floor(self)
    def ceil(self): return ops.ceil(self)
    def round(self): return ops.round(self)
    def trunc(self): return ops.trunc(self)
    def isnan(self): return ops.isnan(self)
    def isinf(self): return ops.isinf(self)
    def isfinite(self): return ops.isfinite(self)
    def logical_not(self): return ops.logical_not(self)

    # Activations ----------------------------------------------------------------------------------------------------

    def relu(self): return ops.relu(self)
    def leaky_relu(self, negative_slope=0.01): return ops.leaky_relu(self, negative_slope=negative_slope)
    def sigmoid(self): return ops.sigmoid(self)
    def gelu(self, approximate="none"): return ops.gelu(self, approximate=approximate)
    def silu(self): return ops.silu(self)
    swish = silu
    def elu(self, alpha=1.0): return ops.elu(self, alpha=alpha)
    def softplus(self, beta=1.0): return ops.softplus(self, beta=beta)
    def logsigmoid(self): return ops.logsigmoid(self)
    def softmax(self, axis=-1): return ops.softmax(self, axis=axis)
    def log_softmax(self, axis=-1): return ops.log_softmax(self, axis=axis)

    # Reductions -----------------------------------------------------------------------------------------------------

    def sum(self, axis: Axis = None, keepdim=False): return ops.sum(self, axis=axis, keepdim=keepdim)
    def mean(self, axis: Axis = None, keepdim=False): return ops.mean(self, axis=axis, keepdim=keepdim)
    def var(self, axis: Axis = None, keepdim=False, correction=1):
        return ops.var(self, axis=axis, keepdim=keepdim, correction=correction)
    def std(self, axis: Axis = None, keepdim=False, correction=1):
        return ops.std(self, axis=axis, keepdim=keepdim, correction=correction)
    def max(self, axis: Axis = None, keepdim=False): return ops.max(self, axis=axis, keepdim=keepdim)
    def min(self, axis: Axis = None, keepdim=False): return ops.min(self, axis=axis, keepdim=keepdim)
    def prod(self, axis: Axis = None, keepdim=False): return ops.prod(self, axis=axis, keepdim=keepdim)
    def norm(self, axis: Axis = None, keepdim=False): return ops.norm(self, axis=axis, keepdim=keepdim)
    def logsumexp(self, axis: Axis = None, keepdim=False): return ops.logsumexp(self, axis=axis, keepdim=keepdim)
    def any(self, axis: Axis = None, keepdim=False): return ops.any(self, axis=axis, keepdim=keepdim)
    def all(self, axis: Axis = None, keepdim=False): return ops.all(self, axis=axis, keepdim=keepdim)
    def argmax(self, axis=None, keepdim=False): return ops.argmax(self, axis=axis, keepdim=keepdim)
    def argmin(self, axis=None, keepdim=False): return ops.argmin(self, axis=axis, keepdim=keepdim)
    def cumsum(self, axis=0): return ops.cumsum(self, axis=axis)

    # Shape ----------------------------------------------------------------------------------------------------------

    @property
    def T(self) -> Tensor:
        """The transpose of a matrix (all axes reversed)."""
        return ops.permute(self, axes=tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped: the transpose of every matrix in a batch."""
        return ops.transpose(self, -1, -2)

    def reshape(self, *shape): return ops.reshape(self, shape=_shape(shape))
    view = reshape
    def permute(self, *axes): return ops.permute(self, axes=_shape(axes))
    def transpose(self, axis0=1, axis1=0): return ops.transpose(self, axis0, axis1)
    def flatten(self, start_axis=0, end_axis=-1): return ops.flatten(self, start_axis, end_axis)
    def unflatten(self, axis, sizes): return ops.unflatten(self, axis, sizes)
    def squeeze(self, axis: Axis = None): return ops.squeeze(self, axis)
    def unsqueeze(self, axis): return ops.unsqueeze(self, axis)
    def expand(self, *shape): return ops.expand(self, shape=_shape(shape))
    def repeat(self, *repeats): return ops.repeat(self, _shape(repeats))
    def repeat_interleave(self, repeats, axis=None): return ops.repeat_interleave(self, repeats, axis)
    def pad(self, padding, mode="constant", value=0.0): return ops.pad(self, padding=padding, mode=mode, value=value)
    def shrink(self, ranges): return ops.shrink(self, ranges)
    def flip(self, *axis): return ops.flip(self, axis=_shape(axis) if axis else None)
    def roll(self, shifts, axis=None): return ops.roll(self, shifts=shifts, axis=axis)
    def cat(self, *others, axis=0): return ops.cat(self, *others, axis=axis)
    def stack(self, *others, axis=0): return ops.stack(self, *others, axis=axis)
    def split(self, sizes, axis=0): return ops.split(self, sizes, axis)
    def chunk(self, chunks, axis=0): return ops.chunk(self, chunks, axis)
    def unbind(self, axis=0): return ops.unbind(self, axis)
    def tril(self, diagonal=0): return ops.tril(self, diagonal=diagonal)
    def triu(self, diagonal=0): return ops.triu(self, diagonal=diagonal)
    def diagonal(self, offset=0): return ops.diagonal(self, offset)

    # Indexing and order ---------------------------------------------------------------------------------------------

    def __getitem__(self, index): return ops.getitem(self, index)
    def gather(self, axis, index): return ops.gather(self, index, axis=axis)
    def scatter(self, axis, index, src): return ops.scatter(self, index, src, axis=axis)
    def scatter_add(self, axis, index, src): return ops.scatter_add(self, index, src, axis=axis)
    def one_hot(self, num_classes=-1): return ops.one_hot(self, num_classes=num_classes)
    def sort(self, axis=-1, descending=False): return ops.sort(self, axis, descending)
    def argsort(self, axis=-1, descending=False): return ops.argsort(self, axis=axis, descending=descending)
    def topk(self, k, axis=-1, largest=True): return ops.topk(self, k, axis, largest)

    # Products -------------------------------------------------------------------------------------------------------

    def matmul(self, other): return ops.matmul(self, other)
    dot = matmul
    def linear(self, weight, bias=None): return ops.linear(self, weight, bias)
    def outer(self, other): return ops.outer(self, other)

    @staticmethod
    def einsum(formula: str, *operands: Any) -> Tensor:
        return ops.einsum(formula, *operands)

    def scaled_dot_product_attention(self, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
        return ops.scaled_dot_product_attention(self, key, value, attn_mask, dropout_p=dropout_p, is_causal=is_causal,
                                                scale=scale)

    # Images ---------------------------------------------------------------------------------------------------------

    def conv2d(self, weight, bias=None, groups=1, stride=1, dilation=1, padding=0):
        return ops.conv2d(self, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    def conv_transpose2d(self, weight, bias=None, groups=1, stride=1, dilation=1, padding=0, output_padding=0):
        return ops.conv_transpose2d(self, weight, bias, stride=stride, padding=padding, output_padding=output_padding,
                                    groups=groups, dilation=dilation)
    def max_pool2d(self, kernel_size=(2, 2), stride=None, dilation=1, padding=0, ceil_mode=False):
        return ops.max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode)
    def avg_pool2d(self, kernel_size=(2, 2), stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        return ops.avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad)

    # Type and copies ------------------------------------------------------------------------------------------------

    def cast(self, dtype): return ops.cast(self, dtype=as_dtype(dtype, "cast"))
    to = cast
    def float(self): return ops.cast(self, dtype=FLOAT32)
    def double(self): return ops.cast(self, dtype=FLOAT64)
    def int(self): return ops.cast(self, dtype=np.dtype("int32"))
    def long(self): return ops.cast(self, dtype=INT64)
    def bool(self): return ops.cast(self, dtype=BOOL)
    def clone(self): return ops.clone(self)
    def contiguous(self): return ops.contiguous(self)

    def sequential(self, layers):
        """x.sequential([f, g]) is g(f(x))."""
        for layer in layers:
            self = layer(self)
        return self


def wrap(array: np.ndarray) -> Tensor:
    """A Tensor on `array`, without a copy or a check: for arrays made here."""
    t = Tensor.__new__(Tensor)
    t._data = array
    return t


def _shape(args: tuple) -> tuple:
    """`f(2, 3)`, `f((2, 3))` and `f([2, 3])` mean the same."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple | list) else args


def _constant(who: str, *values: Any) -> None:
    if any([isinstance(v, Tensor) and v.requires_grad for v in values]):
        raise TypeError(f"{who}: no gradient reaches the numbers it takes, but one is a Tensor that requires grad; "
                        "pass its .item(), or compute with operators, as in mean + std * Tensor.randn(3)")


def _make(who: str, fill: Callable, shape: tuple, dtype: Any, requires_grad: bool) -> Tensor:
    shape = _shape(shape)
    for n in shape:
        if not isinstance(n, int | np.integer) or n < 0:
            raise ValueError(f"{who}: a shape is made of non-negative integers, got {shape}")
    dtype = FLOAT32 if dtype is None else as_dtype(dtype, who)
    try:
        out = wrap(np.asarray(fill(shape, dtype), dtype=dtype))
    except TypeError:
        raise TypeError(f"{who}: cannot draw {dtype}; draw another dtype and cast()") from None
    return out.requires_grad_() if requires_grad else out


def _own(c: Any, owned: bool) -> Tensor:
    """A cotangent as a gradient, on memory of its own: without a copy if the walk owned it."""
    if isinstance(c, Tensor):
        return ops.clone(c)
    moved = owned and isinstance(c, np.ndarray) and c.flags.c_contiguous and fills(c)
    return wrap(c if moved else np.array(c, order="C"))


_adding = threading.RLock()  # to read, add and write is not one step, and two threads may have the same leaf

# What is no op, and so has no op's name in its errors.
for _name, _made in list(vars(Tensor).items()):
    if isinstance(_made, staticmethod):
        setattr(Tensor, _name, staticmethod(named(_made.__func__)))
    elif _name in ("full_like", "ones_like", "rand_like", "randn_like", "requires_grad_", "zeros_like"):
        setattr(Tensor, _name, named(_made))
Tensor.__setitem__ = named(Tensor.__setitem__, "setitem")  # type: ignore[method-assign]
