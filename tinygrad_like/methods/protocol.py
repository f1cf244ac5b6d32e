"""Python's and NumPy's protocols: a Tensor's memory, values, truth, conversion to numbers, and copies."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ..core.dispatch import Op
from ..core.graph import Node, mode
from ..core.listener import effect, observe, tell
from ..core.tensor import Tensor
from ..dtypes import BOOL, FLOAT32, FLOATS, INT64, as_array, checked, get_default_dtype


class Protocol:
    """The part of Tensor for Python's protocols, and its memory."""

    @property
    def data(self: Any) -> Tensor:
        """The values without the graph, like `detach()`: a Tensor on the same memory, with the same version.

        Setting it, as `x.data -= ...` does too, counts as an in-place change. Setting it to another Tensor shares
        memory. Raises TypeError unless the value is a Tensor, or a plain NumPy array of a dtype that a Tensor may have.
        """
        return self.detach()

    @data.setter
    def data(self: Any, value: Any) -> None:
        array = value._data if isinstance(value, Tensor) else value
        if array is not self._data:  # it is after `x.data -= ...`
            array = checked(np.asarray(array) if isinstance(array, np.generic) else array, "data")
            if self.requires_grad and array.dtype.kind not in FLOATS:
                raise TypeError(f"data: a Tensor that requires grad cannot be {array.dtype}; cast it with .float()")
            tell("varies", "data is set to another array", "change it in place, as x.data -= ... or x.data.copy_(...)")
            self.touch()
            if isinstance(value, Tensor):  # nodes that saved this Tensor must notice later changes of either
                value.shared_version().show(self)
            self._data = array
        self.touch()

    @property
    def is_leaf(self: Any) -> bool:
        """Whether this Tensor is not the result of a recorded op; gradients accumulate in leaves."""
        return self.node is None

    def numpy(self: Any, *, force: bool = False) -> np.ndarray:
        """The values as a read-only array, without a copy.

        force: allow a Tensor that requires grad. Otherwise that raises RuntimeError, since NumPy's computations are off
        the graph: detach() it.
        """
        if not force:
            self._off_the_graph("numpy")
        observe("numpy()")
        view = self._data.view()
        view.flags.writeable = False
        return view

    def _off_the_graph(self: Any, who: str) -> None:
        if self.requires_grad:
            raise RuntimeError(f"{who}: this Tensor requires grad, but another library's results have no "
                               "gradient; use x.detach().numpy() if you need none, else compute with ops")

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self: Any, **options: Any) -> Any:
        self._off_the_graph("__dlpack__")
        observe("an array of a Tensor's memory by DLPack")
        return self._data.__dlpack__(**options)

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        return self._data.__dlpack_device__()

    __array_ufunc__: Any = None  # `array * x` is x.__rmul__(array)

    def numel(self: Any) -> int:
        """The number of elements."""
        return self._data.size

    size = property(numel)

    def is_floating_point(self: Any) -> bool:
        return self._data.dtype.kind in FLOATS

    def __repr__(self: Any) -> str:
        observe("print(), str() or repr() of a Tensor, or one in an f-string,")
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

    def item(self: Any) -> float:
        """The single element as a Python number. Raises ValueError if there is not exactly one."""
        if self._data.size != 1:
            raise ValueError(f"item: only a Tensor of one element converts to a number, this has shape {self.shape}")
        observe("item(), or a number made of a Tensor,", self)
        return self._data.item()

    nbytes: int = property(operator.attrgetter("_data.nbytes"))  # type: ignore[assignment]

    def tolist(self: Any) -> Any:
        observe("tolist()", self)
        return self._data.tolist()

    def __format__(self: Any, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __bool__(self: Any) -> bool:
        if self._data.size != 1:
            raise ValueError(f"bool: the truth of a Tensor of shape {self.shape} is ambiguous; use .any() or .all()")
        observe("the truth of a Tensor", self)
        return bool(self._data.item())

    def __float__(self: Any) -> float:
        return float(self.item())

    def __int__(self: Any) -> int:
        return int(self.item())

    def __index__(self: Any) -> int:
        if self._data.size != 1 or self.dtype.kind not in "iu":
            raise TypeError("index: only an integer Tensor of one element can be an index, "
                            f"this is {self.dtype} {self.shape}")
        observe("an index made of a Tensor", self)
        return int(self._data.item())

    def __len__(self: Any) -> int:
        if not self.ndim:
            raise TypeError("len: a 0-d Tensor has no length")
        return len(self._data)

    def __iter__(self: Any) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iter: a 0-d Tensor cannot be iterated over; use .item()")
        return (self[i] for i in range(len(self._data)))

    def __contains__(self: Any, value: Any) -> bool:
        observe("`in`")
        return bool((self._data == (value._data if isinstance(value, Tensor) else value)).any())

    def __getstate__(self: Any) -> dict:
        """The state for copies and pickles, without hooks and version, which belong to this Tensor."""
        observe("a pickle of a Tensor, or a copy other than clone(),")
        if self.node is not None:
            raise RuntimeError(f"copy: this Tensor was computed by {self.node.op.name}, and a graph cannot be "
                               "copied or pickled; use a leaf, or x.detach()")
        left_out = {"version", "_hooks", "_after", "_viewed", "_apart"}
        state = {k: v for k, v in self.__dict__.items() if k not in left_out}
        return state if self._grad is None else state | {"_grad": self._grad.detach().clone()}

    def __setstate__(self: Any, state: dict) -> None:
        self.__dict__.update(state, _data=as_array(state["_data"], None, "Tensor"))  # with this process's dtype objects

    def assign(self: Any, value: Any) -> Tensor:
        """Overwrite the values in place, unrecorded. Raises if the shape differs, or if this Tensor was computed."""
        if (node := self.node) is not None:
            raise RuntimeError(f"assign: this Tensor was computed by {node.op.name}; assign to a leaf, or to a clone()")
        value = value._data if isinstance(value, Tensor) else as_array(value, self.dtype, "assign")
        if value.shape != self.shape:
            raise ValueError(f"assign: value has shape {value.shape} but the Tensor has shape {self.shape}")
        self._require_writable("assign")
        write(self._data, ..., value)
        self.touch()
        return self

    def _require_writable(self: Any, who: str) -> None:
        if not self._data.flags.writeable:
            raise ValueError(f"{who}: this Tensor of shape {self.shape} has read-only memory, "
                             "as expand's results and read-only arrays have; change a clone()")


def write(array: np.ndarray, index: Any, value: Any) -> None:
    """array[index] = value"""
    if mode.listener is None:
        array[index] = value
    else:
        effect("assign", operator.setitem, array, index, value, writes=[array])


def _find(module: str, name: str) -> Op:
    found = [op for op in vars(import_module(module)).values() if isinstance(op, Op) and op.name == name]
    if not found:
        raise AttributeError(f"the op {name} is not in {module}; pickle needs ops to be module attributes")
    return found[0]


# A copy of an op is the op itself; a pickle holds its module and name.
setattr(Op, "__reduce__", lambda self: (_find, (self.__module__, self.name)))  # noqa: B010


def _node(node: Node) -> str:
    return f"<{node.op.name.strip('_')}, of shape {node.shape}>"


setattr(Node, "__repr__", _node)  # noqa: B010  # as of y.grad_fn
