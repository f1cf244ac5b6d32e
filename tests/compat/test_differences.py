"""Every row of docs/coming_from.md's tables of differences is run."""

import re
from pathlib import Path

import pytest

from tinygrad_like import Tensor

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming_from.md"
TEXT = PAGE.read_text()
NAMES = re.search(r"^## What differs\n.*?^```python\n(.*?)^```", TEXT, re.M | re.S)[1]


def rows():
    for section in TEXT[TEXT.index("### PyTorch"):].split("### ")[1:]:
        for line in section.splitlines():
            cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) == 3 and cells[0].startswith("`"):
                yield pytest.param(*cells, id=f"{section.split()[0]} {cells[0]}")


def code(cell):
    return re.fullmatch(r"`(.*)`", cell)[1].replace("\\|", "|")


def run(source, names):
    """The value of the last expression, if it is one."""
    *before, last = source.split("; ")
    exec("; ".join(before), names)
    try:
        compile(last, "row", "eval")
    except SyntaxError:
        return exec(last, names)
    return eval(last, names)


@pytest.fixture
def names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield fresh
    if "training" in vars(Tensor):
        del Tensor.training


def fresh():
    found: dict = {}
    exec(NAMES, found)
    return found


@pytest.mark.parametrize(("theirs", "here", "ours"), list(rows()))
def test_a_row_is_right(theirs, here, ours, names):
    if here.startswith("error: "):
        with pytest.raises(Exception, match=re.escape(here.removeprefix("error: "))):
            run(code(theirs), names())
    else:
        found, expected = run(code(theirs), names()), run(code(here), names())
        assert found == (pytest.approx(expected, rel=1e-5) if isinstance(expected, float) else expected)
    run(code(ours), names())


def test_the_rows_are_found():
    assert len(list(rows())) > 30
