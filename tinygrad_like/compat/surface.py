"""The names that Tensor has for habits, installed on it; `surface.pyi` has the types of all its methods."""

from ..methods import Creation, InPlace, Methods, Protocol, install
from .keyword_aliases import taught
from .more_names import MoreNames
from .names import Names
from .numpy_functions import ForNumPy


class Surface(Names, MoreNames, InPlace, ForNumPy, Methods, Creation, Protocol):
    """The methods of Tensor: ops, changes in place, names of other libraries, NumPy's protocols, creation."""


for _part in Names, MoreNames, Methods, Creation:
    taught(_part)
install(Creation, Methods, ForNumPy, InPlace, MoreNames, Names)
