"""The handbook's pages name existing things and describe the engine rightly; notebooks reproduce their outputs."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from handbook.blocks import ONE_PROGRAM, programs
from handbook.english import findings

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(p for p in DOCS.rglob("*.md") if p.parent.name != "ops")
NAMED = re.compile(r"\[`([A-Za-z_][\w.]*)`\]\(([^)#]+\.py)\)")


def defined(path: Path) -> set[str]:
    """The functions, classes, methods (as `Class.method` and by their names) and variables of a file."""
    names: set[str] = set()

    def visit(body, inside=""):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.update({node.name, f"{inside}{node.name}"})
                if isinstance(node, ast.ClassDef):
                    visit(node.body, f"{node.name}.")
            elif isinstance(node, ast.Assign):
                names.update(t.id for target in node.targets for t in ast.walk(target) if isinstance(t, ast.Name))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)

    visit(ast.parse(path.read_text(encoding="utf-8")).body)
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(DOCS)))
def test_a_link_names_something_in_its_file(page):
    for name, target in NAMED.findall(page.read_text(encoding="utf-8")):
        path = page.parent / target
        if name.startswith("demos."):
            assert path.resolve() == ROOT / f"{name.replace('.', '/')}.py", f"{page.name}: {name} is not {target}"
        elif not name.endswith(".py"):
            assert name in defined(path), f"{page.name}: {target} has no {name}"
        else:
            assert str(path.resolve()).endswith(name), f"{page.name}: {name} is not {target}"


def test_a_missing_name_would_be_noticed():
    names = defined(ROOT / "tinygrad_like" / "core" / "graph.py")
    assert {"walk", "Node", "Node.add_hook", "mode"} <= names and "no_such_function" not in names


def test_read_md_names_the_functions_of_a_call_in_order():
    """`a * b` and its backward run the functions that read.md names, in this order, and no others. They run in a new
    process, since an op's first call runs more functions."""
    page = (DOCS / "read.md").read_text(encoding="utf-8")
    code = programs(page)[0] + "\nimport json\nprint(json.dumps({'forward': forward, 'backward': backward}))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    space = json.loads(ran.stdout.splitlines()[-1])
    for part, seen in (("Forward", space["forward"]), ("Backward", space["backward"])):
        text = page.split(f"\n## {part}\n")[1].split("\n## ")[0]
        seen = [tuple(line.split(" ", 1)) for line in seen]
        functions = [(file, name) for file, name in seen]
        named = [(target.removeprefix("../tinygrad_like/"), name) for name, target in NAMED.findall(text)]
        stations = [station for station in dict.fromkeys(named) if station in functions]
        assert len(stations) >= (4 if part == "Forward" else 6), stations
        first = [functions.index(station) for station in stations]
        assert first == sorted(first), f"{part}: {stations}"
        unnamed = {(file, name) for file, name in functions
                   if not {name, re.sub(r"\.__\w+__$", "", name)} & {said for at, said in named if at == file}}
        assert not unnamed, f"{part} does not name {sorted(unnamed)}"


def lengths(path: Path) -> dict[str, int]:
    """The number of lines of each function, class and method of a file; an op includes its rules."""
    text = path.read_text(encoding="utf-8")
    found, lines = {}, text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{f.name}": f.end_lineno - f.lineno + 1 for f in node.body if hasattr(f, "name")}
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = node.end_lineno - node.lineno + 1
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):  # up to the next empty line
            found[node.targets[0].id] = [*lines[node.lineno - 1:], ""].index("")
    return found


def test_the_code_to_read_is_short_and_counted():
    page = (DOCS / "read.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| (.*?) \| (\d+) \|", page, re.M)
    files = {target for listed, _ in rows for _, target in NAMED.findall(listed)}
    for listed, said in rows:
        assert sum(lengths(DOCS / target)[name] for name, target in NAMED.findall(listed)) == int(said), listed
    total, = map(int, re.findall(r"some (\d+) lines", page))
    assert abs(sum(int(said) for _, said in rows) - total) < 10 and total <= 250 and len(files) <= 6
    assert sum(map(int, re.findall(r"^\| (\d+) \| \[", page, re.M))) <= 30


def test_the_one_hour_engine_is_small_and_learns(capsys):
    page = (DOCS / "backprop.md").read_text(encoding="utf-8")
    assert ONE_PROGRAM in page
    program, = programs(page.split("\n## 9")[0])
    assert 120 < len([line for line in program.splitlines() if line.strip()]) < 180
    space = {"__name__": "block"}
    exec(compile(program, "backprop.md", "exec"), space)
    assert "tinygrad_like" not in program.split("## 8")[0].split("def check")[0]
    assert space["accuracy"] > 0.95 and space["largest"] < 1e-5
    text = capsys.readouterr().out
    assert "seven operations, and every rule is right" in text

    # The check of section 4 finds a wrong rule.
    def wrong(a, b):
        return space["record"](a.data * b.data if isinstance(a, space["Tensor"]) else a * b,
                               (a, lambda g: g * b.data), (b, lambda g: -g * a.data))

    rng = space["np"].random.default_rng(0)
    with pytest.raises(AssertionError):
        space["check"](wrong, rng.standard_normal(3), rng.standard_normal(3))


@pytest.mark.parametrize("path", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
@pytest.mark.filterwarnings("default")
def test_a_notebook_reproduces_its_outputs(path, tmp_path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    stored = nbformat.read(path, 4)
    run = nbformat.from_dict(json.loads(json.dumps(stored)))
    client = nbclient.NotebookClient(run, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable  # not another installed kernel's Python
    client.execute()
    compared = 0
    for before, after in zip(stored.cells, run.cells, strict=True):
        if before.cell_type == "code" and "varies" not in before.metadata.get("tags", ()):
            assert shown(before) == shown(after), before.source
            compared += bool(shown(before))
    assert compared >= 4


def shown(cell) -> list[str]:
    """The texts that a cell shows; for a picture its SVG."""
    texts = ["".join("".join(o.text) for o in cell.outputs if o.get("name") == "stdout")]  # it may come in parts
    for output in cell.outputs:
        data = output.get("data", {})
        if "name" not in output:
            texts.append("".join(data.get("image/svg+xml", data.get("text/plain", ""))))
    return [t.strip() for t in texts if t.strip()]


def test_english_is_checked_outside_code(tmp_path):
    page, module, word = tmp_path / "a.md", tmp_path / "a.py", "an" + "ew"
    page.write_text(f"`{word}`, ${word}$\n\n| {word} |\n```\n{word}\n```\nIt begins\n{word}." + " word" * 50)
    module.write_text(f"{word} = '{word}'\nif {word}:\n    raise ValueError('a list is {'no'} index')  # read {word}\n")
    assert [(line, words.split()[0]) for line, words, _ in findings(page)] == [(7, "word"), (8, word)]
    assert [(line, words) for line, words, _ in findings(module)] == [(3, f"is {'no'} index"), (3, word)]
