"""Runnable stories on real data: `python -m demos.train`, `demos.predict` and so on, each with `--help`."""

import os
import signal
import sys


def interrupted(number, frame):
    """Ctrl-C while Python imports the demo, which takes a second, until `cli.command` takes over.

    It raises nothing: an exception in what an import calls back, as in a `__del__`, is printed and the run goes on.
    """
    os.write(2, b"\ninterrupted before anything was begun\n")
    os._exit(130)


if sys.argv[0] == "-m":  # Python looks for the module to run
    signal.signal(signal.SIGINT, interrupted)
