"""The command line: check a file of ops, make the puzzles, explore a graph."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .examples import explore_file, write
from .exercises import checked
from .puzzles import make, status, watch


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tinygrad_like.learn",
                                     description="Learn to write VJP rules: check your own, find those of 24 ops, "
                                                 "write layers, find bugs, and step through a graph.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="check the rules of every op in a file, and explain mistakes")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE.py")
    puzzles = commands.add_parser("puzzles", help="make a folder of exercises: ops without rules, layers without "
                                                   "bodies, and scripts with a mistake")
    puzzles.add_argument("folder", nargs="?", type=Path, default=Path("puzzles"), help="default: puzzles")
    puzzles.add_argument("--watch", action="store_true", help="check every file when it is saved")
    explore = commands.add_parser("explore", help="make a page that steps through a graph, forward and backward")
    explore.add_argument("file", nargs="?", type=Path, metavar="FILE.py",
                         help="a program; shows the Tensor of its first call of backward(), else its variable `loss`. "
                              "Without a file: an MLP, a ResNet-S and a block of a GPT")
    explore.add_argument("--out", type=Path, help="the page, or a folder; default: FILE.html, or without a file: .")
    options = parser.parse_args(arguments)
    if options.command == "explore":
        return _explore(options)
    if options.command == "puzzles":
        return _puzzles(options)
    reports = [checked(path) for path in options.files]
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


def _explore(options: argparse.Namespace) -> int:
    if options.file is None:
        paths = write(options.out or Path("."))
    else:
        try:
            page = options.file.with_suffix(".html")
            out = options.out or page
            if out.suffix != ".html":
                out.mkdir(parents=True, exist_ok=True)
                out /= page.name
            paths = [explore_file(options.file, out)]
        except (ValueError, OSError) as error:
            print(error)
            return 1
    for path in paths:
        print(f"{path}: open it in a browser")
    return 0


if __name__ == "__main__":
    sys.exit(main())
