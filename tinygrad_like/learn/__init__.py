"""Tools for learning how backward works: a checker that says why a rule is wrong, puzzles, and a graph to step through.

    python -m tinygrad_like.learn check my_ops.py
    python -m tinygrad_like.learn puzzles
    python -m tinygrad_like.learn explore my_model.py

docs/learn.md shows all three.
"""

from .explore import explore
from .inputs import example

__all__ = ["example", "explore"]
