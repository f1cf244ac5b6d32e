"""Benchmarks in separate processes, so that the thread pools of two libraries do not disturb each other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def need(*modules: str) -> None:
    """Exit at once, not after minutes of measuring, if packages are missing."""
    from tinygrad_like.environment import require

    try:
        require("this benchmark", *modules, project=".")
    except ImportError as error:
        raise SystemExit(f"error: {error}") from None


class Worker:
    """Runs a module of this project in a process. It answers each line on its standard input with a line of output."""

    def __init__(self, module: str, *arguments: str):
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen([sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})

    def ask(self, line: str) -> str:
        """The answer to a line. Exits if the worker has stopped; its own message is then printed above."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("a benchmark process stopped; its message is above")
        return answer

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()
