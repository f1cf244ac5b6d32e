"""Runs everything that README and docs/ show: Python blocks, and commands as far as a test may run them.

A page may say that it is one program, in which each block continues the one before.
"""

import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from handbook.blocks import programs
from tinygrad_like.learn.puzzles import PUZZLES

ROOT = Path(__file__).resolve().parent.parent
CAPTURE = ROOT / "tinygrad_like" / "capture" / "README.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", CAPTURE, *sorted((ROOT / "docs").glob("**/*.md"))]


def python_blocks():
    for page in PAGES:
        for i, code in enumerate(programs(page.read_text())):
            yield pytest.param(code, id=f"{page.name}-{i}")


@pytest.mark.parametrize("code", list(python_blocks()))
def test_python_block_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "block", "exec"), {"__name__": "block"})


def test_a_mermaid_block_is_the_output_of_the_python_block_before_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pairs = [pair for page in PAGES
             for pair in re.findall(r"^```python\n([^`]*)^```\n\n```mermaid\n([^`]*)^```", page.read_text(), re.M)
             if "print(graph(" in pair[0]]
    assert pairs
    for code, picture in pairs:
        exec(compile(code, "block", "exec"), {"__name__": "block"})
        assert capsys.readouterr().out.strip() == picture.strip()


def test_readme_is_short():
    assert len(PAGES[0].read_text().splitlines()) <= 160


def test_readme_quotes_the_current_multiplication():
    quoted, = re.findall(r"^```py\n(.*?)^```", PAGES[0].read_text(), re.M | re.S)
    assert f"\n{quoted}\n" in (ROOT / "tinygrad_like" / "ops" / "elementwise.py").read_text()


def test_readme_counts_the_lines_of_the_core():
    text = PAGES[0].read_text()
    lines = {path.name: len(path.read_text().splitlines()) for path in (ROOT / "tinygrad_like" / "core").glob("*.py")}
    for said in re.findall(r"(\d+) lines of Python", text.split("\n## Try it")[0]) + \
            re.findall(r"The engine is (\d+) lines", text):
        if said != "94":  # micrograd's
            assert 0 <= int(said) - sum(lines.values()) <= 10
    rows = re.findall(r"^\| (\[`.*?) \| (\d+) \|", text, re.M)
    named = [re.findall(r"`(\w+\.py)`", files) for files, _ in rows]
    assert {name for names in named for name in names} == set(lines) - {"__init__.py"}
    for names, (_, said) in zip(named, rows, strict=True):
        assert abs(sum(lines[name] for name in names) - int(said)) <= 5


def commands():
    for block in re.findall(r"^```bash\n(.*?)^```", "\n".join(page.read_text() for page in PAGES), re.M | re.S):
        for line in block.splitlines():
            if command := line.split("#")[0].strip():
                yield pytest.param(command, id=command[:60].replace("/", "_"))


@pytest.mark.parametrize("command", list(commands()))
def test_command_works(command, tmp_path):
    words = shlex.split(command)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    if words[0] == "make":  # only show its commands
        subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, check=True, capture_output=True)
    elif words[0] == "mpiexec" or words[2:] and words[2].startswith("demos."):  # tests/distributed and demos run these
        words = words[words.index("python"):]
        import_module(words[2]).make_parser().parse_args([word for word in words[3:] if word != "--help"])
    elif words[0] == "python":
        subprocess.run([sys.executable, *words[1:]], cwd=tmp_path, env=env, check=True, capture_output=True,
                       timeout=300)
    elif words[:2] != ["git", "clone"] and words[0] != "cd":
        pytest.fail(f"no test knows how to run {command!r}")


def test_commands_within_text_exist():
    text = "\n".join(page.read_text() for page in PAGES)
    modules = set(re.findall(r"`(?:mpiexec -n \d+ )?python -m ([\w.]+)", text))
    assert len(modules) > 15 and all(find_spec(name) for name in modules)
    targets = set(re.findall(r"`make ([\w-]+)", text))
    assert len(targets) > 8 and targets <= set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_named_files_exist():
    """Pages, docstrings and comments name files that exist, with the right folders."""
    others = {"nn.py", "config.json", "script.py", "my_ops.py", "my_model.py"}  # a user's files
    code = [path for room in ("tinygrad_like", "nn", "optim") for path in (ROOT / room).rglob("*.py")]
    folders = ("tinygrad_like", "nn", "optim", "demos", "benchmarks", "docs", "handbook", "tests")
    files = {path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*.*")}
    for path in [*PAGES, *code]:
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"`([\w./-]*\w\.(?:py|txt|json|js|css|html))`" if path.suffix == ".md" else
                           r"(?<![\w/.\"'{}>])([a-z_][\w/]*\.py)\b", text)
        for name in set(found) - others:
            assert any(f == name or f.endswith(f"/{name}") for f in files), f"{path.relative_to(ROOT)} names {name}"


def test_readme_says_where_every_room_is():
    tree = re.search(r"^```\ntinygrad_like/\n(.*?)^```", PAGES[0].read_text(), re.M | re.S)[1]
    names = [re.match(r" *((?:[\w.]+(?:/|\.py) ?)*)", line)[1].split() for line in tree.splitlines()]
    rooms = {f"{path.parent.name}/" for path in (ROOT / "tinygrad_like").glob("*/__init__.py")}
    files = {path.name for path in (ROOT / "tinygrad_like").glob("*.py")} - {"__init__.py"}
    assert {name for line in names for name in line} == rooms | files | {"nn/", "optim/"}


def test_capture_says_what_each_of_its_files_does():
    named = set(re.findall(r"`(\w+\.py)`", CAPTURE.read_text()))
    assert named == {path.name for path in CAPTURE.parent.glob("*.py")} - {"__init__.py"}


@pytest.mark.parametrize(("said", "count", "off"), [
    (r"\b(\d+) puzzles", len(PUZZLES), 0),
    (r"\b(\d+) ops without their rules", len(PUZZLES), 0),
    (r"\b(\d+) more ops", len(list((ROOT / "docs" / "ops").glob("*.md"))), 20),
    (r"\b(\d+) pages derive", len(list((ROOT / "docs" / "ops").glob("*.md"))) - 1, 5),
    (r"\[(\d+) programs\]\(docs/programs", len(list((ROOT / "docs/programs").glob("*.py"))), 0),
    (r"(\d+) idioms run with only", (ROOT / "tests/compat/idioms.txt").read_text(encoding="utf-8").count("### "), 10),
])
def test_counts_in_the_pages_are_right(said, count, off):
    found = [int(n) for page in PAGES for n in re.findall(said, page.read_text())]
    assert found and all(abs(n - count) <= off for n in found), f"{found} for {count}"
