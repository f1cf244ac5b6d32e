"""The checker on students' rules: no wrong one passes, and 9 in 10 first remarks are right."""

import ast
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
    assert len(STUDENTS) == 79 and not passed and not harmful
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


def changed(text, finding):
    """The file with a proposed change made, in every place of the rule that it names; None if there is no proposal."""
    proposed = re.match(r"(['\"])(.+?)\1 should be (['\"])(.+?)\3[,;]", finding.text)
    if not proposed:
        return None
    old, new, tree = proposed[2], proposed[4], ast.parse(text)
    rules = {k.arg: k.value for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith(".vjp")
             for k in n.keywords}
    rule = rules[finding.input]
    if isinstance(rule, ast.Name):
        rule = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == rule.id)
    forward = next(n for n in tree.body if isinstance(n, ast.FunctionDef))
    known = ["out", *(a.arg for a in [*forward.args.args, *forward.args.kwonlyargs])]

    class Changed(ast.NodeTransformer):
        count = 0

        def visit(self, node):
            if isinstance(node, ast.expr | ast.keyword) and ast.unparse(node) == old:
                self.count += 1
                made = ast.parse(f"f({new})" if isinstance(node, ast.keyword) else new, mode="eval").body
                return made.keywords[0] if isinstance(node, ast.keyword) else made
            return self.generic_visit(node)

    change = Changed()
    change.visit(rule)
    assert change.count == (int(m[1]) if (m := re.search(r"in all (\d+)", finding.text)) else
                            2 if "in both" in finding.text else 1), finding
    used, own = ({n.id for n in ast.walk(rule) if isinstance(n, ast.Name)}, [a.arg for a in rule.args.args])
    rule.args.args += [ast.arg(n) for n in known if n in used and n not in own]
    return ast.unparse(ast.fix_missing_locations(tree))


def test_a_proposed_change_makes_the_rule_right(tmp_path):
    """Each is made and checked: then the rule is right, or wrong only at the zeros and ties that the proposal names."""
    made = 0
    for k, (name, _, text) in enumerate(STUDENTS):
        (path := tmp_path / f"op{k}.py").write_text(text)
        first = check_file(path).findings[0]
        better = changed(text, first)
        if better is not None:
            made += 1
            (path := tmp_path / f"better{k}.py").write_text(better)
            left = [f for f in check_file(path).findings if f.input == first.input and f.kind != "second order"]
            assert not left or left[0].kind == "points" and "except where" in first.text, f"{name}: {first}\n{left[0]}"
    assert made > 20
