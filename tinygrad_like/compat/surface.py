"""The names that Tensor has for habits, installed on it; `surface.pyi` has the types of all its methods."""

# ruff: noqa: E402  # names.py gives other names to methods that take other libraries' keywords already
from pathlib import Path

from ..methods import Creation, Gradients, InPlace, Methods, Protocol, Versions, install
from ..methods.docstrings import FILES
from ..methods.in_place import in_place
from .keyword_aliases import taught

for _part in Methods, Creation:
    taught(_part)

from .more_names import MoreNames
from .names import Names
from .numpy_functions import ForNumPy

for _name in ("absolute addmm divide index_add index_put logical_and logical_or logical_xor multiply negative "
              "subtract").split():
    setattr(InPlace, f"{_name}_", in_place(_name))


class Surface(Names, MoreNames, InPlace, ForNumPy, Methods, Creation, Protocol, Gradients, Versions):
    """The methods of Tensor: ops, changes in place, names of other libraries, NumPy's protocols, creation."""


for _part in MoreNames, Names:
    taught(_part)
FILES.append(Path(__file__).with_name("docstrings.txt"))
install(Creation, Methods, ForNumPy, InPlace, MoreNames, Names)
