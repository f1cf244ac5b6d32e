"""The command line: check a file of ops, make the puzzles, explore a graph."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .files import check_file


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tinygrad_like.learn", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="say of every op in a file whether its rules are right, and if not, why")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE.py")
    options = parser.parse_args(arguments)
    reports = [check_file(path) for path in options.files]
    for report in reports:
        print(report)
    return 0 if all(report.right for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
