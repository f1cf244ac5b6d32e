"""All that a Tensor has besides what `tensor.py` says, in one class; `surface.pyi` has the types of its methods."""

from .creation import Creation
from .in_place import InPlace
from .methods import Methods
from .more_names import MoreNames
from .names import Names
from .numpy_functions import ForNumPy


class Surface(Names, MoreNames, InPlace, ForNumPy, Methods, Creation):
    """The methods of Tensor: ops, changes in place, names of other libraries, NumPy's protocols, creation."""
