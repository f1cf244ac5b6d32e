"""Names and habits of PyTorch, NumPy and tinygrad, in tables that map them to ours."""

from functools import update_wrapper
from typing import Any

from .. import methods
from ..core.tensor import Tensor
from ..errors import rescuers
from ..methods import Creation, InPlace, Methods
from ..methods.in_place import in_place
from .keyword_aliases import rescued, taught, teach
from .names import Names, Size
from .numpy_functions import ForNumPy

for _name in ("absolute addmm divide index_add logical_and logical_or logical_xor multiply negative "
              "subtract").split():
    setattr(InPlace, f"{_name}_", in_place(_name))
for _part in Methods, Creation, Names:
    teach(_part)
methods.install(Creation, Methods, ForNumPy, InPlace, Names)  # whose types `tinygrad_like/__init__.pyi` has
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


setattr(Tensor, "__init__", taught(update_wrapper(_of_sizes, _init), "Tensor"))  # noqa: B010
