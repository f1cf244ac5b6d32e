"""Checks that Python makes after a kernel, and again in each replay of a program: are labels and indices in range?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import program
from .kinds import INTEGERS
from .program import Call, kernel
from .simd import inner


class Check(NamedTuple):
    """A check after a call: function(*arguments), which raises an error if something is wrong."""

    function: Callable
    arguments: tuple
    flag: np.ndarray  # an integer, nonzero if something is wrong
    lasting: bool  # whether kernels write to it only in that case

    @property
    def call(self) -> Call:
        """A call that does not fit, and so stops those after it, if the flag is set."""
        return Call(_unless, _unless.pack(self.flag), (self.flag,))

    def reads(self) -> list[np.ndarray]:
        return [x for x in self.arguments if isinstance(x, np.ndarray)]

    def writes(self) -> list[np.ndarray]:
        return []


@inner
def _none(flag):
    return -1 if flag[0] != 0 else 0


@kernel(flag=INTEGERS, work=_none)
def _unless(flag, task, tasks):
    pass


def check_again(function: Callable, *arguments: Any, flag: np.ndarray, lasting: bool = False) -> None:
    """When the calls being traced are replayed, call function(*arguments) here if the number in `flag` is not 0."""
    program.note(Check(function, arguments, flag, lasting))
