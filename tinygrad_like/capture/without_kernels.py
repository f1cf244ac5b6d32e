"""What stands in for capture where there are no kernels to make a program of: functions run as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..transforms.switches import Switch


def capture(function: Callable | None = None, **options: Any) -> Any:
    """The function itself."""
    return function if function is not None else capture


class eager(Switch):
    """As ever."""

    def on(self) -> None:
        pass

    def off(self, before: Any) -> None:
        pass
