"""`from nn.parameter import Parameter`, as PyTorch's programs import it."""

from .module import Parameter

__all__ = ["Parameter"]
