"""The site's page for each file of the repository, and links between pages rewritten accordingly."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from .blocks import outside_code

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {"README.md": "project.md", "CONTRIBUTING.md": "contributing.md",  # pages outside docs/
           "tinygrad_like/capture/README.md": "inside_capture.md"}
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")


class Places:
    """Maps files of the repository to pages of the site, and collects the linked sources and pictures."""

    def __init__(self) -> None:
        self.sources: set[str] = set()
        self.pictures: set[str] = set()

    def page(self, file: str) -> str:
        """The path of the site's Markdown page for a path in the repository."""
        if file in OUTSIDE:
            return OUTSIDE[file]
        path = PurePosixPath(file)
        if path.parts[:1] == ("docs",) and path.suffix in (".md", ".ipynb"):
            inside = path.relative_to("docs").with_suffix(".md")
            return str(inside.with_name("index.md") if inside.name == "README.md" else inside)
        if path.parts[:1] == ("docs",) and (ROOT / file).is_dir():
            return str(path.relative_to("docs") / "index.md")
        if path.parts[:1] == ("docs",):
            self.pictures.add(file)
            return str(path.relative_to("docs"))
        self.sources.add(file)
        return f"source/{file}/index.md" if (ROOT / file).is_dir() else f"source/{file}.md"

    def rewrite(self, text: str, file: str, at: str | None = None) -> str:
        """The text of a file with its links rewritten for its page on the site."""
        here = PurePosixPath(at or self.page(file)).parent

        def link(m: re.Match) -> str:
            target, _, anchor = m[2].partition("#")
            if not target or re.match(r"[a-z]+:", m[2]):
                return m[0]
            found = os.path.normpath(PurePosixPath(file).parent / target)
            if not (ROOT / found).exists():
                raise FileNotFoundError(f"{file} links to {m[2]}")
            to = os.path.relpath(self.page(found), here)
            return f"{m[1]}{to}{'#' if anchor else ''}{anchor}{m[3]}"

        return NAMED.sub(_at_its_line, outside_code(text, lambda part: LINK.sub(link, part)))


NAMED = re.compile(r"(\[`([A-Za-z_][\w.]*)`\]\([^()#\s]*?source/([^()#\s]+\.py)\.md)\)")


def _at_its_line(link: re.Match) -> str:
    """Let a link to a source, whose text names a function, lead to the line of the function."""
    kind, _, name = link[2].rpartition(".")
    text = (ROOT / link[3]).read_text(encoding="utf-8")
    start = re.search(rf"^class {kind}\b", text, re.M) if kind else None
    defined = re.compile(rf"^ *(?:(?:class|def) {name}\b|{name}\b[^\n=(]* = )", re.M)
    found = defined.search(text, start.end() if start else 0)
    line = text.count("\n", 0, found.start()) + 1 if found else 0
    return f"{link[1]}#__codelineno-0-{line})" if line else link[0]


def source_page(file: str) -> str:
    """The page of a source file, or of a folder with a list of its files."""
    path = ROOT / file
    if path.is_dir():
        listed = sorted(p for p in path.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists())
        rows = [f"- `{p.name}{'/' if p.is_dir() else ''}`" for p in listed]
        return "\n".join([f"# {file}/", "", *rows, ""])
    language = {".py": "py", ".toml": "toml", ".md": "md"}.get(path.suffix, "text")
    code = path.read_text(encoding="utf-8").rstrip("\n")
    ticks = "`" * (max([2, *map(len, re.findall(r"`+", code))]) + 1)
    head = "---\nhide: [toc]\nsearch:\n  exclude: true\n---\n"  # no contents, to make room for long lines
    return f"{head}\n# {file}\n\n{ticks}{language} linenums=\"1\"\n{code}\n{ticks}\n"
