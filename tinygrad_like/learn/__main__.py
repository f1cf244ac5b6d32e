"""The command line: check a file of ops, make the puzzles, explore a graph."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .files import check_file
from .puzzles import make, status, watch


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tinygrad_like.learn", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="say of every op in a file whether its rules are right, and if not, why")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE.py")
    puzzles = commands.add_parser("puzzles", help="make a folder of ops without their rules, to be found by you")
    puzzles.add_argument("folder", nargs="?", type=Path, default=Path("puzzles"), help="default: puzzles")
    puzzles.add_argument("--watch", action="store_true", help="check every file when it is saved")
    options = parser.parse_args(arguments)
    if options.command == "puzzles":
        return _puzzles(options)
    reports = [check_file(path) for path in options.files]
    for report in reports:
        print(report)
    return 0 if all(report.right for report in reports) else 1


def _puzzles(options: argparse.Namespace) -> int:
    paths = make(options.folder)
    if options.watch:
        try:
            watch(paths)
        except KeyboardInterrupt:
            return 0
    print(status(paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
