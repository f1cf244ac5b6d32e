"""The names that Tensor has for habits, installed on it; `surface.pyi` has the types of all its methods."""

from .. import methods
from ..methods import Creation, Gradients, InPlace, Methods, Protocol, Versions
from ..methods.in_place import in_place
from .keyword_aliases import teach
from .names import Names
from .numpy_functions import ForNumPy

for _name in ("absolute addmm divide index_add logical_and logical_or logical_xor multiply negative "
              "subtract").split():
    setattr(InPlace, f"{_name}_", in_place(_name))


class Surface(Names, InPlace, ForNumPy, Methods, Creation, Protocol, Gradients, Versions):
    """The methods of Tensor: ops, changes in place, names of other libraries, NumPy's protocols, creation."""


def install() -> None:
    """Give Tensor all of them, and have them take their options by other names too."""
    for part in Methods, Creation, Names:
        teach(part)
    methods.install(Creation, Methods, ForNumPy, InPlace, Names)
