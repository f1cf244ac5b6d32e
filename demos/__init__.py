"""Runnable stories on real data: `python -m demos.train`, `demos.predict` and so on, each with `--help`."""

import signal
import sys

if sys.argv[0] == "-m":  # while Python looks for the module to run, whose imports take a second
    def _excepthook(kind, error, traceback):
        if issubclass(kind, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            print("\ninterrupted before anything was begun", file=sys.stderr)
            raise SystemExit(130)
        sys.__excepthook__(kind, error, traceback)

    sys.excepthook = _excepthook
