"""The Tensor's methods, installed on the class from tables: ops, creation, indexing, in-place changes."""

from ..core.tensor import Tensor
from .creation import Creation
from .gradients import Gradients
from .in_place import InPlace
from .of_ops import Methods, complete
from .protocol import Protocol
from .versions import Versions

_OWN = frozenset(vars(Tensor))  # attributes that Tensor already has stay
# Skip what every class has. The hash stays object's, though == compares elements.
_OF_CLASSES = frozenset(("__dict__", "__weakref__", "__module__", "__doc__", "__annotations__", "__hash__"))


def install(*parts: type) -> None:
    """Copy the attributes of these classes to Tensor; later ones win."""
    for part in parts:
        for name, member in vars(part).items():
            if name not in _OWN and name not in _OF_CLASSES:
                setattr(Tensor, name, member)


complete()
install(Gradients, Versions, Protocol, Creation, Methods, InPlace)
