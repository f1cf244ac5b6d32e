"""A progress bar with lines printed above it: tqdm's, if installed and on a terminal, else the lines alone."""

from __future__ import annotations

from typing import Any

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None


class Progress:
    """`with Progress(total, title) as p:` then `p.update()` per step and `p.write(line)` for a line that stays."""

    def __init__(self, total: int, title: str):
        self.bar: Any = None
        if tqdm is not None:
            self.bar = tqdm(total=total, desc=title, unit="step", leave=False, disable=None)  # None: on a terminal only

    def update(self) -> None:
        if self.bar is not None:
            self.bar.update()

    def write(self, line: str) -> None:
        if self.bar is not None and not self.bar.disable:
            self.bar.write(line)
        else:
            print(line, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: Any) -> None:
        if self.bar is not None:
            self.bar.close()
