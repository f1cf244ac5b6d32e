"""The checker on students' rules: no wrong one passes, and 9 in 10 first remarks are right."""

import re

import pytest

from tests.learn.students import HEAD, STUDENTS
from tinygrad_like.learn.files import check_file


def test_the_first_diagnosis_is_nearly_always_right(tmp_path):
    passed, wrong, harmful = [], [], []
    for k, (name, said, text) in enumerate(STUDENTS):
        path = tmp_path / f"op{k}.py"
        path.write_text(text)
        report = check_file(path)
        if report.right:
            passed.append(name)
        elif not re.search(said, f"{report.findings[0].kind}: {report.findings[0].text}"):
            wrong.append(f"{name}: {report.findings[0].kind}: {report.findings[0].text}")
        if "example(" in "".join(f.text for f in report.findings):  # other inputs, at which the mistake may not show
            harmful.append(name)
    assert len(STUDENTS) == 64 and not passed and not harmful
    assert len(wrong) <= 6, "\n".join(wrong)


GAUSSIAN = """def gaussian(x, *, width=1.0):
    return np.exp(-(x / width) ** 2)

gaussian.vjp(x=lambda g, x, out, width: g * out * -2 * x / width ** 2)
"""


@pytest.mark.parametrize("text, told", [
    (GAUSSIAN, r"inputs of shape .*, with width=1.7 and 0.6, of numbers from -8.06 to 8.06$"),
    (GAUSSIAN.replace("x, *, width=1.0", "x, *, width=None").replace("/ width", "/ (width or 1)"),
     "Not tried: width other than None"),
])
def test_the_report_states_the_inputs_and_options_tried(tmp_path, text, told):
    path = tmp_path / "op.py"
    path.write_text(HEAD + text)
    report = check_file(path)
    assert report.right and re.search(told, str(report), re.M), report
