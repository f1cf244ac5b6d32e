"""docs/ops has a page for every op with a VJP, and quotes the current code. test_readme.py runs its examples."""

import re
from pathlib import Path

import pytest

from tinygrad_like import ops
from tinygrad_like.core.dispatch import declared

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "ops"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")


def differentiable() -> set[str]:
    return {op.name.lstrip("_") for op in declared
            if op.differentiable and op.__wrapped__.__module__.startswith(ops.__name__)}


def test_every_differentiable_op_has_a_page():
    assert len(differentiable()) > 90
    assert {page.stem for page in PAGES} == differentiable()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_derives_quotes_and_checks(page):
    text = re.sub(r"^## In NumPy\n.*?(?=^## )", "", page.read_text(), flags=re.M | re.S)  # this is no quotation
    headings = re.findall(r"^#+ (.*)", text, re.M)
    assert [headings[0], *[h for h in headings if h in ("Derivation", "In the code", "By hand")]] == [
        page.stem, "Derivation", "In the code", "By hand"]
    assert "$$" in text and re.search(r"^```python\n.*?assert .*?^```", text, re.M | re.S)
    source, quoted = None, 0
    for link, code in re.findall(r"^\[`[^`]*`\]\(([^)]*)\)|^```py\n(.*?)^```", text, re.M | re.S):
        if link:
            source = (page.parent / link).read_text()
        else:
            assert code.rstrip("\n") in source
            quoted += 1
    assert quoted


def test_the_list_of_pages_is_complete():
    listed = re.findall(r"\[([a-z0-9_]+)\]\(([a-z0-9_]+)\.md\)", (FOLDER / "README.md").read_text())
    assert all(name == target for name, target in listed)
    assert sorted(name for name, _ in listed) == [page.stem for page in PAGES]
