"""The checker names beginners' mistakes first, with the line of the file."""

import re

import pytest

from tests.learn.mistakes import HEAD, MISTAKES
from tinygrad_like.learn.files import check_file
from tinygrad_like.learn.remedy import _IMPORTS


@pytest.mark.parametrize("said, text", [mistake[1:] for mistake in MISTAKES], ids=[name for name, *_ in MISTAKES])
def test_the_mistake_is_named(said, text, tmp_path):
    path = tmp_path / "my_ops.py"
    path.write_text(text if "primitive\n" in text.partition("@")[0] or "import ops\n" in text else HEAD + text)
    report = check_file(path)
    told = next(iter(report.findings), None)
    first = str(report) if told is None else f"{told.kind}: {told.text}"
    assert re.search(said, first), f"{first}\n\n{report}"
    assert report.right == said.startswith("right")
    assert report.right or "my_ops.py:" in str(report) and "Traceback" not in str(report)


def test_the_suggested_imports_work():
    for name, line in _IMPORTS.items():
        space = {}
        exec(line, space)
        assert name in space
