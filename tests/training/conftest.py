import io
import os
import shutil
import sys

import pytest


class Terminal(io.StringIO):
    """What a terminal shows of what is written to it."""

    def isatty(self):
        return True

    def lines(self):
        shown = []
        for line in self.getvalue().split("\n"):
            row = ""
            for part in line.split("\r"):
                row = part + row[len(part):]
            shown.append(row.rstrip())
        return shown


@pytest.fixture
def on_terminal(monkeypatch):
    """Called in a test, it makes stderr a terminal, and returns it."""
    def make(columns=100):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((columns, 24)))
        return terminal

    return make
