"""Update the numbers and pictures of docs/experiments.md: run each command that the page shows.

A block that begins with `$ python -m demos.NAME ...` shows the output of that command. This program runs the commands
in the folder above the page's folder, replaces their output on the page, and compresses the pictures.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from demos import cli

BLOCK = re.compile(r"^```console\n\$ (python -m demos\.(\w+)[^\n]*)\n(.*?)^```", re.M | re.S)
ROOT = Path(__file__).resolve().parent.parent
WIDTHS, COLOURS, BYTES = (1600, 1300, 1100, 900), 256, 95_000  # of a picture's file: the first that is small enough


def shrink(picture: Path) -> None:
    """Compress a PNG: fewer pixels, and a palette of few colours."""
    from PIL import Image

    with Image.open(picture) as image:
        whole = image.convert("RGB")
    for width in WIDTHS:
        small = whole.copy()
        small.thumbnail((width, width), Image.Resampling.LANCZOS)
        found = small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
        found.save(picture, optimize=True)
        if picture.stat().st_size < BYTES:
            break


def run(command: str, folder: Path) -> str:
    """The output of a command in a folder; raises ValueError if it fails."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    done = subprocess.run([sys.executable, *shlex.split(command)[1:]], cwd=folder, env=env, capture_output=True,
                          text=True, encoding="utf-8")
    if done.returncode:
        raise ValueError(f"{command}: {done.stderr.strip() or done.stdout.strip()}")
    for name in re.findall(r"^picture: (.*\.png)$", done.stdout, re.M):
        shrink(folder / name)
    return done.stdout


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("experiments", __doc__)
    parser.add_argument("demos", nargs="*", metavar="NAME", help="run only these, such as depth (default: all)")
    parser.add_argument("--page", type=cli.file, default=ROOT / "docs" / "experiments.md", metavar="FILE",
                        help="(default: docs/experiments.md)")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> None:
    text = args.page.read_text(encoding="utf-8")
    blocks = [match for match in BLOCK.finditer(text) if not args.demos or match[2] in args.demos]
    if unknown := set(args.demos) - {match[2] for match in blocks}:
        cli.refuse("NAME", f"{args.page} shows no command of {', '.join(sorted(unknown))}")
    with cli.progress(total=len(blocks), unit="demo") as bar:
        for match in blocks:
            printed = run(match[1], args.page.resolve().parent.parent)
            page = args.page.read_text(encoding="utf-8")
            args.page.write_text(page.replace(match[0], f"```console\n$ {match[1]}\n{printed}```"), encoding="utf-8")
            print(match[1], flush=True)
            bar.update()


if __name__ == "__main__":
    main()
