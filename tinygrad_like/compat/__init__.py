"""Names and habits of PyTorch, NumPy and tinygrad, in tables that map them to ours."""

from functools import update_wrapper
from typing import Any

from ..core.tensor import Tensor
from ..errors import rescuers
from . import absent  # noqa: F401
from .keyword_aliases import rescued
from .names import Size
from .surface import install  # type: ignore[attr-defined]  # whose stub has the types of methods

install()
rescuers.append(rescued)


def lookup(name: str) -> Any:
    """The package's attribute under a name of PyTorch's or NumPy's. Raises AttributeError if there is none."""
    from .torch_names import function

    return function(name)


_init = Tensor.__init__


def _of_sizes(self: Any, data: Any, requires_grad: Any = False, dtype: Any = None, *sizes: int) -> None:
    """`Tensor(2, 3)`, or of a shape from `x.size()`, is zeros of that shape, as in PyTorch."""
    if type(requires_grad) is int:
        sizes = (requires_grad, *(() if dtype is None else (dtype,)), *sizes)
        data, requires_grad, dtype = Tensor.zeros(data, *sizes), False, None
    elif type(data) is Size:
        data = Tensor.zeros(*data)
    _init(self, data, requires_grad, dtype)


update_wrapper(_of_sizes, _init)
setattr(Tensor, "__init__", _of_sizes)  # noqa: B010
