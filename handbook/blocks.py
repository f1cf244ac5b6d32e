"""The code blocks of a page, run when the site is built; the output of a block is shown below it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Callable, Iterator

from tinygrad_like import Picture, manual_seed
from tinygrad_like.transforms.picture import Box

ONE_PROGRAM = "<!-- one program: the blocks of this page go on from one another -->"
FENCE = re.compile(r"^ *(?P<ticks>`{3,})(?P<language>\w*)[^\n]*\n(?P<code>.*?)^ *(?P=ticks)[ \t]*$\n?", re.M | re.S)
LONGEST = 80  # lines of output that are shown


def programs(page: str) -> list[str]:
    """The Python programs of a page: one per block, or a single one if the page says so."""
    blocks = [m["code"] for m in FENCE.finditer(page) if m["language"] == "python"]
    return ["\n".join(blocks)] if ONE_PROGRAM in page and blocks else blocks


def outside_code(page: str, change: Callable[[str], str]) -> str:
    """The page with `change` applied to its text, not to blocks of code and inline code."""
    parts, end = [], 0
    for m in [*FENCE.finditer(page), None]:
        text = page[end:m.start() if m else len(page)]
        pieces = re.split(r"(``[^`]+``|`[^`]+`)", text)
        # The text of a link may be code, so `change` must see the link in one piece.
        codes = pieces[1::2]
        text = change("".join([p if i % 2 == 0 else f"\0{i // 2}\0" for i, p in enumerate(pieces)]))
        for i, code in enumerate(codes):
            text = text.replace(f"\0{i}\0", code)
        parts.append(text)
        if m:
            parts.append(m[0])
            end = m.end()
    return "".join(parts)


def run(page: str, name: str) -> str:
    """The page with the output below every Python block. An exception in a block ends the build."""
    space: dict = {}
    parts, end, drawn = [], 0, False
    with _folder():
        for m in FENCE.finditer(page):
            parts.append(page[end:m.start()])
            end = m.end()
            if m["language"] == "mermaid":
                parts.append("" if drawn else _framed(_parsed(m["code"])))  # drawn: the picture just above shows it
                continue
            parts.append(m[0])
            if m["language"] != "python":
                continue
            if ONE_PROGRAM not in page or not space:
                space = {"__name__": "block"}
                manual_seed(0)
            before = "\n" * (page[:m.start()].count("\n") + 1)
            shown = list(_execute(before + m["code"], name, space))
            drawn = any(s.startswith("<") for s in shown)
            parts += [f"\n{s}\n" for s in shown]
    return "".join([*parts, page[end:]])


def _parsed(mermaid: str) -> Picture:
    """The picture of a flowchart in the form of `Picture.mermaid`."""
    boxes = [Box(label, under, quoted == "[") for quoted, label, under in
             re.findall(r'^ *n\d+([\[(])"(.*?)<br/>(.*?)"', mermaid, re.M)]
    return Picture(boxes, [(int(a), int(b)) for a, b in re.findall(r"^ *n(\d+) --> n(\d+)", mermaid, re.M)])


def _framed(picture: Picture) -> str:
    svg = re.sub(r"\s*\n\s*", " ", picture.svg())
    return f'<figure class="picture">{svg}</figure>\n'


def _execute(code: str, name: str, space: dict) -> Iterator[str]:
    out, pictures = io.StringIO(), []

    def show(*values, **options):
        pictures.extend(v for v in values if isinstance(v, Picture))
        if not any(isinstance(v, Picture) for v in values):
            print(*values, **{"file": out, **options})

    space["print"] = show
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(code, name, "exec"), space)
    yield from map(_framed, pictures)
    lines = out.getvalue().rstrip().splitlines()
    if lines:
        lines = lines[:LONGEST] + ["..."] * (len(lines) > LONGEST)
        yield "\n".join(["```text title=\"prints\"", *lines, "```", ""])


@contextlib.contextmanager
def _folder():
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
