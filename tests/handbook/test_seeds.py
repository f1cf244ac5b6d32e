"""docs/seeds.md has a row for each number of the seeds; a row links to code and a test, or says why not."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
NUMBERED = json.loads((Path(__file__).parent / "seeds.json").read_text())


def numbers(document: str) -> set[str]:
    """The document's numbers: prefix -> (first, last)."""
    return {f"{prefix}{i}" for prefix, (a, b) in NUMBERED[document].items() for i in range(a, b + 1)}


def rows(document: str) -> list[list[str]]:
    section = re.search(rf"^## {document}: .*?(?=^## )", PAGE, re.M | re.S)[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines()
            if line.startswith("|") and not line.startswith(("| number", "| ---"))]


def keys(cell: str) -> list[str]:
    """The numbers of a row's first cell, ranges written out: "7.17-7.19", "eq. 8-9, definition 2"."""
    found = []
    for part in cell.split(", "):
        m = re.fullmatch(r"(7\.|(?:[a-z]+\.? )(?:7\.)?)(\d+)(?:-(?:7\.)?(\d+))?", part)
        if m:
            found += [f"{m[1]}{i}" for i in range(int(m[2]), int(m[3] or m[2]) + 1)]
    return found


@pytest.mark.parametrize("document", NUMBERED)
def test_each_number_of_a_seed_has_a_row(document):
    found = [key for row in rows(document) for key in keys(row[0])]
    assert set(found) == numbers(document)
    assert len(found) == len(set(found)), "two rows for one number"


@pytest.mark.parametrize("document", NUMBERED)
def test_a_row_links_to_code_and_a_test_or_says_why_not(document):
    for row in rows(document):
        number, text, code, test = (row + [""] * 4)[:4]
        assert text, number
        assert code.startswith("none: ") or re.search(r"\]\(\.\./(?!tests/).*\.py\)", code), number
        assert code.startswith("none: ") or re.search(r"\]\(\.\./tests/.*\.py\)", test), number


def test_ranges_are_written_out():
    assert keys("7.44-7.47") == ["7.44", "7.45", "7.46", "7.47"] and keys("fig. 7.3") == ["fig. 7.3"]
    assert keys("eq. 8-9, definition 2") == ["eq. 8", "eq. 9", "definition 2"] and keys("weight decay") == []


def test_numbers_in_docstrings_are_explained():
    """The page has every source that a docstring names in brackets, such as (7.41) or (002)."""
    known = {key for document in NUMBERED for row in rows(document) for key in keys(row[0])}
    named = set()
    for folder in ("tinygrad_like", "nn", "optim", "demos"):
        for path in (ROOT / folder).rglob("*.py"):
            found = re.findall(r"\((7\.\d+|00\d)(?:-7\.\d+)?\)", path.read_text(encoding="utf-8"))
            assert folder != "demos" or not found or f"demos/{path.name}" in PAGE, f"{path}: no row leads to it"
            named |= set(found)
    assert len(named) > 20
    for name in named:
        assert name in known or f"| ({name}) |" in PAGE, name
