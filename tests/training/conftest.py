import io
import os
import shutil
import sys

import pytest


class Terminal(io.StringIO):
    """Shows written text as a terminal would."""

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
    """A function that makes stderr a terminal, and returns it."""
    def make(columns=100):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((columns, 24)))
        return terminal

    return make
