"""Demos on real data: `python -m demos.train`, `demos.predict` and so on, each with `--help`."""

import os
import signal
import sys


def interrupted(number, frame):
    """Handles Ctrl-C during the demo's imports, which take a second, until `cli.command` takes over.

    It raises no exception: in a callback of an import, such as a `__del__`, Python would print it and go on.
    """
    os.write(2, b"\ninterrupted before the run began\n")
    os._exit(130)


if sys.argv[0] == "-m":  # Python is still looking for the module to run
    signal.signal(signal.SIGINT, interrupted)
