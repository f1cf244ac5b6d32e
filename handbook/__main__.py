"""python -m handbook [FOLDER]: build the site from docs/, offline, into FOLDER (build/site), and check it."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tinygrad_like.environment import require

from . import notebooks
from .blocks import run
from .check import problems
from .figures import figures
from .links import OUTSIDE, ROOT, Places, source_page
from .navigation import navigation
from .reference import reference

HERE = Path(__file__).parent


def texts(places: Places) -> dict[str, str]:
    """Page of the site -> its Markdown, with blocks run and links rewritten."""
    from tests.ops.samples import CASES  # calls of all ops

    files = [*[ROOT / file for file in OUTSIDE], *sorted((ROOT / "docs").rglob("*.md"))]
    names = [path.relative_to(ROOT).as_posix() for path in files]
    # The first build compiles kernels in these blocks, which takes most of its time, so they run in parallel.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as others:
        ran = others.map(run, [path.read_text(encoding="utf-8") for path in files], names)
        made = reference(places)
        drawn = figures(CASES)
        shown = list(ran)
    for path, file, text in zip(files, names, shown, strict=True):
        if path.parent.name == "ops" and path.stem in drawn:  # the figure goes before the derivation
            text = text.replace("\n## Derivation\n", f"\n{drawn[path.stem]}\n## Derivation\n", 1)
        made[places.page(file)] = places.rewrite(text, file)
    for path in sorted((ROOT / "docs").rglob("*.ipynb")):
        file = path.relative_to(ROOT).as_posix()
        made[places.page(file)] = places.rewrite(notebooks.page(path), file)
    done: set[str] = set()
    while places.sources - done:  # a page of a folder may link to more files
        for file in sorted(places.sources - done):
            made[places.page(file)] = source_page(file)
            done.add(file)
    return made


def write(folder: Path) -> None:
    """Write the Markdown of all pages, the pictures and the configuration, for Zensical."""
    shutil.rmtree(folder, ignore_errors=True)
    places = Places()
    for page, text in texts(places).items():
        path = folder / "docs" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for picture in places.pictures:
        path = folder / "docs" / places.page(picture)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / picture, path)
    shutil.copy(HERE / "style.css", folder / "docs" / "style.css")
    settings = (HERE / "zensical.toml").read_text(encoding="utf-8")
    nav = navigation((ROOT / "docs" / "ops" / "README.md").read_text(encoding="utf-8"))
    (folder / "zensical.toml").write_text(settings.replace("nav = []", f"nav = {nav}", 1), encoding="utf-8")


def build(out: Path, pages: Path) -> None:
    """Write the pages to one folder, and the site to another."""
    write(pages)
    # Zensical imports handbook/mathematics.py.
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    made = subprocess.run([sys.executable, "-m", "zensical", "build", "--clean"], cwd=pages, env=env, text=True,
                          capture_output=True)
    said = re.sub(r"\x1b\[[0-9;]*m", "", made.stdout + made.stderr)
    if made.returncode or "error" in said.lower():
        raise SystemExit(f"zensical build failed:\n{said}")
    shutil.rmtree(out, ignore_errors=True)
    # 404.html has addresses from the root of a server, so it has no style when opened from a folder.
    shutil.copytree(pages / "site", out, ignore=shutil.ignore_patterns("404.html"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m handbook", description=__doc__)
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "build" / "site", help="folder for the site")
    out = parser.parse_args().out
    try:
        require("the handbook", "zensical", "latex2mathml", "matplotlib", "onnx", project=".")
    except ImportError as error:
        raise SystemExit(f"error: {error}") from None
    start = time.perf_counter()
    build(out, out.parent / "handbook")
    found = problems(out)
    pages = len(list(out.rglob("*.html")))
    print(*found, f"{out}: {pages} pages in {time.perf_counter() - start:.1f} s, {len(found)} problems", sep="\n")
    if not found:  # search needs a server: browsers do not let a page read its index from the disk
        print(f"Open {out / 'index.html'}; with search: python -m http.server --bind 127.0.0.1 --directory {out}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
