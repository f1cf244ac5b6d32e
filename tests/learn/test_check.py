"""The checker is silent on right rules, and names each kind of mistake and its line."""

import collections
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.core.test_declarations import declare
from tests.ops.samples import CASES
from tinygrad_like import Tensor, ops, primitive
from tinygrad_like.core.primitive import Primitive
from tinygrad_like.learn import example
from tinygrad_like.learn.check import check_op, explain
from tinygrad_like.learn.files import check_file, check_one
from tinygrad_like.learn.measure import Point
from tinygrad_like.transforms.switches import after


def shipped():
    """Every shipped op, with the inputs of its calls in CASES."""
    calls = collections.defaultdict(list)

    def watch(op, inputs, options, y):
        if y.node is not None and isinstance(op, Primitive):
            calls[op].append((list(inputs), dict(options)))

    with after(watch):
        for f, *inputs in CASES.values():
            f(*[Tensor(x, requires_grad=True) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
                for x in inputs])
    return sorted(calls.items(), key=lambda pair: pair[0].name)


@pytest.mark.parametrize("constant", [np.ones, lambda n: np.ones(n).tolist(), lambda n: Tensor(np.ones(n))])
def test_a_constant_input_needs_no_rule(constant):
    @primitive
    def scaled(x, by):
        return x * by

    scaled.vjp(x=lambda g, by: g * by)
    assert "right by itself (scaled)" in explain(lambda x: scaled(x, constant(2)), [np.ones((3, 2))])


@pytest.mark.slow
def test_no_false_alarm_on_shipped_ops():
    """Whichever sample comes first."""
    everything = shipped()
    assert len(everything) > 95
    for op, calls in everything:
        alone = {(str([np.shape(x) for x in inputs]), str(options)): (inputs, options) for inputs, options in calls}
        samples = [[call] for call in [*alone.values()][:4]]
        for sample in [*samples, calls[:4], calls[3::-1]]:
            found = check_op(op, [Point(op, inputs, options) for inputs, options in sample])
            assert not found, "\n".join(map(str, found))


def sine(x):
    return np.sin(x)


def softmax(x, *, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def product(a, b):
    return a @ b


def cube(x):
    return x**3


def capped(x, *, cap=3.0):
    return cap * np.tanh(x / cap)


WRONG = {
    "an option lost": (declare(capped, x=lambda g, x: g * (1 - ops.tanh(x) ** 2)), "factor", "'x / cap'"),
    "g twice": (declare(sine, x=lambda g, x: g * g * ops.cos(x)), "g", "g is in 'g \\* g' once too often|not linear"),
    "name and factor": (declare(lambda x: x**-0.5, x=lambda g, x, out: -0.5 * g * x * out**2), "name",
                        "'x' should be 'out'"),
    "operands": (declare(product, a=lambda g, b: b.T @ g, b=lambda g, a: a.T @ g), "order",
                 "'b.T @ g' should be 'g @ b.T'"),
    "sum": (declare(softmax, x=lambda g, out, axis: out * (g - g * out)), "sum", "'g \\* out' should be 'ops.sum"),
    "zero": (declare(cube, x=lambda g, x, out: 3 * g * out / x), "points", "elements of x are 0 the rule gives nan"),
    "numpy": (declare(lambda x: np.maximum(x, 0), x=lambda g, x: g * np.piecewise(x, [x > 0], [1.0, 0.0])), "numpy",
              "calls NumPy on what may be a Tensor"),
    "dtype": (declare(sine, x=lambda g, x: g * ops.cos(x) * np.float64(1)), "dtype", "dtype=g.dtype"),
    "no rule": (primitive(sine), "no rule", "add sine.vjp\\(x=lambda g, x: ...\\)"),
    "one rule": (declare(product, a=lambda g, b: ops.matmul(g, b.T)), "no rule", "add product.vjp\\(b="),
}


example(WRONG["operands"][0], (3, 3), (3, 3))


@pytest.mark.parametrize("case", WRONG)
def test_each_kind_of_mistake_is_named(case):
    op, kind, text = WRONG[case]
    findings, told = check_one(op)
    assert findings[0].kind == kind and re.search(text, findings[0].text), told
    assert "test_check.py" in findings[0].where
    assert findings[0].input in (*op.inputs, "")


def test_the_entry_that_differs_most_is_shown():
    @primitive
    def scaled(x):
        return x * np.array([1.0, 2.0, 3.0])

    scaled.vjp(x=lambda g: g * np.array([1.0, 2.0, 5.0]))
    example(scaled, (2, 3))
    (finding,), _ = check_one(scaled)
    assert finding.entry in ("d out[0, 2] / d x[0, 2]: the rule gives 5, differences give 3",
                             "d out[1, 2] / d x[1, 2]: the rule gives 5, differences give 3")


def test_a_joint_rule_that_ignores_wanted_is_found():
    op = primitive(lambda a, b: a * b)
    op.joint_vjp(lambda g, a, b, wanted: [g * b, g * a] if all(wanted) else [g * b, g * b])
    (finding,), _ = check_one(op)
    assert finding.kind == "wanted" and finding.input == "b"


FILE = '''
import numpy as np
from tinygrad_like import ops, primitive
from tinygrad_like.learn import example

@primitive
def good(x, *, axis):
    return np.flip(x, axis)

good.vjp(x=lambda g, axis: ops.flip(g, axis=axis))
example(good, (2, 3), axis=0)
'''


def test_a_file_is_checked(tmp_path):
    path = tmp_path / "my_ops.py"
    path.write_text(FILE)
    report = check_file(path)
    assert report.right and str(report).startswith("good: right in first and second order, at inputs of shape (2, 3), ")
    path.write_text(FILE.replace("ops.flip(g, axis=axis)", "g"))
    report = check_file(path)
    assert not report.right and "transposed: the gradient is reversed along axis 0" in str(report)
    assert "my_ops.py:10" in str(report)


def test_the_handbook_shows_the_real_report(tmp_path, monkeypatch):
    page = (Path(__file__).resolve().parents[2] / "docs" / "learn.md").read_text(encoding="utf-8")
    (tmp_path / "my_ops.py").write_text(re.search(r"```py\n(.*?)```", page, re.DOTALL)[1])
    monkeypatch.chdir(tmp_path)
    assert str(check_file("my_ops.py")) == re.search(r"```text\n(softmax: .*?)\n```", page, re.DOTALL)[1]


def test_a_file_of_a_package_can_be_checked():
    """Relative imports work, and ops without floating-point results need no rules."""
    report = check_file("tinygrad_like/ops/trigonometry.py")
    assert report.right and "acosh: right in first and second order" in str(report), report
    report = check_file("tinygrad_like/ops/compare.py")
    assert "eq: right without rules: it returns bool" in str(report)


def test_an_option_without_a_default_is_guessed():
    def turned(x, *, axes):
        return np.transpose(x, axes)

    op = declare(turned, x=lambda g, axes: 2 * ops.permute(g, axes=axes))
    _, told = check_one(op)
    assert "the rule returns 2 times" in told and "It was called with axes=(1, 0), which is a guess" in told


@pytest.mark.parametrize("text, told", [
    ("x = 1 / 0", "cannot be run: ZeroDivisionError: division by zero\n    my_ops.py:1\n      x = 1 / 0"),
    ("x = 1", "declares no op"),
    (FILE.replace("(2, 3), axis=0", "(2, 3), axis=7"), "AxisError: axis 7 is out .*the example of good does not work"),
    (FILE.replace("example(good, (2, 3), axis=0)", "").replace("np.flip(x, axis)", "np.flip(x, axis['a'])"),
     "TypeError: 'int' object is not subscriptable.*found no inputs"),
])
def test_files_that_cannot_be_checked_are_reported(tmp_path, text, told):
    path = tmp_path / "my_ops.py"
    path.write_text(text)
    report = check_file(path)
    assert not report.right and re.search(told, str(report), re.DOTALL)


def test_the_check_command_reports_and_exits(tmp_path):
    path = tmp_path / "my_ops.py"
    path.write_text(FILE)
    command = [sys.executable, "-m", "tinygrad_like.learn", "check"]
    assert subprocess.run([*command, path]).returncode == 0
    done = subprocess.run([*command, path, tmp_path / "none.py"], capture_output=True, text=True)
    assert done.returncode == 1 and "none.py: no such file" in done.stdout
