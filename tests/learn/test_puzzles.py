"""The puzzles: every solution passes and equals the shipped op's rule, and common wrong answers are named."""

import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from handbook.op_pages import DOCS, extracted, plain
from tinygrad_like import Tensor, ops
from tinygrad_like.learn.files import check_file, load
from tinygrad_like.learn.puzzles import PUZZLES, file_name, make, pages, status, text, watch

TEXTBOOK = [name for name in PUZZLES if "## In NumPy" in (DOCS / f"{name}.md").read_text(encoding="utf-8")]


def test_the_puzzles_texts_are_the_docs():
    assert pages() == extracted()  # if not: python -m handbook.op_pages


def test_formulas_become_plain_text():
    assert plain(r"\bar x = \frac{1}{\sqrt{v + \varepsilon}}\,\big( u - \mathrm{E}[u] \big)") == \
        "x_bar = (1 / sqrt(v + eps)) ( u - E[u] )"
    assert plain(r"\langle g B^\top, dA \rangle_{ij}") == "<g B^T, dA>[ij]"
    assert plain(r"\sum_{j:\,k_{ij} = l} x_{i,k_{ij}} \cos\theta_i") == "sum[j: k[ij] = l] x[i,k[ij]] cos theta_i"
    assert plain(r"\log(1 + e^{\beta x}) A^{-\top} e^{x_j}") == "log(1 + e^(beta x)) A^(-T) e^(x_j)"
    assert plain(r"\frac{1}{n} \sum_i \lfloor x_i \rfloor = \frac{a}{\lVert b \rVert}") == \
        "(1 / n) sum_i floor(x_i) = a / ||b||"
    cases = r"\begin{cases} x & x > 0 \\ \alpha\,x & \text{else} \end{cases}"
    assert plain(f"y = {cases}") == "y = x if x > 0, alpha x else" and plain(cases) == "(x if x > 0, alpha x else)"
    for page in pages().values():
        assert len(page["hints"]) == 3 and all(page["hints"])
        assert "\\" not in page["formula"] + page["math"] + "".join(page["hints"])


@pytest.mark.parametrize("name", PUZZLES)
def test_every_solution_passes_and_no_blank_does(name, tmp_path):
    path = tmp_path / file_name(name)
    path.write_text(text(name, solved=True))
    assert check_file(path).right, check_file(path)
    path.write_text(text(name))
    report = check_file(path)
    assert not report.right and {f.kind for f in report.findings} == {"open"}
    assert path.read_text().count("# Hint ") == 3 and compile(path.read_text(), "", "exec")
    assert all(len(line) < 120 for line in path.read_text().splitlines())


@pytest.mark.parametrize("name", TEXTBOOK)
def test_a_puzzles_solution_equals_the_shipped_op(name, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / f"{name}.py"
    path.write_text(text(name, solved=True))
    for call in PUZZLES[name]:
        shapes, options = eval(f"(lambda *shapes, **options: (shapes, options))({call})", {"np": np})
        xs = [Tensor(rng.standard_normal(x), requires_grad=True) if isinstance(x, tuple) else x for x in shapes]
        mine, ours = getattr(load(path), name)(*xs, **options), getattr(ops, name)(*xs, **options)
        np.testing.assert_allclose(mine.detach().numpy(), ours.detach().numpy(), rtol=1e-10, atol=1e-12)
        g, xs = rng.standard_normal(ours.shape), [x for x in xs if isinstance(x, Tensor)]
        for a, b in zip(mine.gradient(*xs, gradient=g), ours.gradient(*xs, gradient=g), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)


# Common first attempts: op -> [(the solution's text, the wrong text, kind, the message)]
ANSWERS = {
    "add": [("b=lambda g: g", "b=lambda g: -g", "sign", "minus the right gradient"),
            ("a=lambda g: g", "a=lambda g, b: g * b", "function", "a factor of b"),
            ("a=lambda g: g", "a=lambda g: 1.0", "g", "must be multiplied by it")],
    "sub": [("b=lambda g: -g", "b=lambda g: g", "sign", "minus the right gradient")],
    "mul": [("a=lambda g, b: g * b", "a=lambda g, a: g * a", "name", "'a' should be 'b'"),
            ("b=lambda g, a: g * a", "b=lambda g, a: a", "g", "g is not used"),
            ("b=lambda g, a: g * a", "b=lambda g: g", "function", "a factor of a is missing")],
    "div": [("-g * out / b", "g * out / b", "sign", "minus"), ("g / b,", "g * b,", "function", "b\\^2 is one")],
    "square": [("g * (2 * x)", "g * x", "factor", "1/2 times")],
    "exp": [("lambda g, out: g * out", "lambda g, out, x: g * out * x", "function", "a factor of x is one too many"),
            ("g * out", "g * out * x", "name", "'x' is not among the rule's parameters.*lambda g, out, x: ..."),
            ("lambda g, out: g * out", "lambda g, x: g * x", "name", "'x' should be 'out'")],
    "log": [("g / x", "g * x", "function", "x\\^2 is one too many"),
            ("lambda g, x: g / x", "lambda g, out: g / out", "name", "'out' should be 'x'")],
    "cos": [("-g * sin(x)", "g * sin(x)", "sign", "minus"), ("-g * sin(x)", "-g * cos(x)", "function", "sin")],
    "sqrt": [("where(zero, 0.0, g * 0.5 / where(zero, 1.0, out))", "g * 2 / out", "factor", "4 times"),
             ("g * 0.5 /", "g /", "factor", "2 times")],
    "sigmoid": [("(out * (1 - out))", "(out * (1 + out))", "sign", "'1 \\+ out' should be '1 - out'"),
                ("lambda g, out: g * (out * (1 - out))", "lambda g, x: g * (x * (1 - x))", "name",
                 "'x' should be 'out'")],
    "tanh": [("1 - out * out", "1 - out", "function", "a factor of \\(1 \\+ out\\)"),
             ("lambda g, out: g * (1 - out * out)", "lambda g, x: g * (1 - x * x)", "name",
              "'x' should be 'out'")],
    "relu": [("lambda g, out: where(out <= 0, 0.0, g)", "lambda g, x: g * (np.array(x) > 0)", "numpy", "NumPy"),
             ("out <= 0", "out > 0", "condition", "'out > 0' should be 'out <= 0'"),
             ("where(out <= 0, 0.0, g)", "g", "condition", "g \\* \\((x|out) > 0\\)")],
    "maximum": [("g * share(a, b)", "g * share(b, a)", "order", "should be 'share\\(a, b\\)'"),
                ("g * share(a, b)", "where(ge(a, b), g, 0.0)", "points", "equal")],
    "where": [("a=lambda g, condition: where(condition, g, 0.0)", "a=lambda g: g", "points",
               "where condition is false"),
              ("where(condition, 0.0, g)", "where(condition, g, 0.0)", "condition", "should be")],
    "permute": [("axes=inverse(axes)", "axes=axes", "transposed", "the gradient is permuted")],
    "expand": [("lambda g: g", "lambda g: g / 3", "factor", "1/3 times")],
    "sum": [("expand(g if keepdim else unsqueeze(g, axis), shape=x_shape)", "g", "shape", "repeated to"),
            ("expand(g", "0.5 * expand(g", "factor", "1/2 times")],
    "mean": [(" / count(x_shape, axis)", "", "mean", "rule of a sum, not of a mean")],
    "max": [("where(eq(x, out), 1.0, 0.0)", "0 * x + 1", "points",
             "the slope is 1")],
    "cumsum": [("flip(cumsum(flip(g, axis=axis), axis=axis), axis=axis)", "cumsum(g, axis=axis)", "transposed",
                "by the Jacobian, not by its transpose"),
               ("flip(cumsum(flip(g, axis=axis), axis=axis), axis=axis)", "g", "sum", "diagonal")],
    "batched_matmul": [("batched_matmul(g, transpose(b, -1, -2))", "batched_matmul(g, b)", "transposed",
                        "'ops.transpose\\(b, -1, -2\\)'"),
                       ("batched_matmul(transpose(a, -1, -2), g)", "batched_matmul(g, transpose(a, -1, -2))", "order",
                        "should be 'batched_matmul\\(transpose")],
    "softmax": [(" - sum(g * out, axis=axis, keepdim=True)", "", "sum", "only the diagonal of the Jacobian"),
                ("out * (g - sum(g * out, axis=axis, keepdim=True))", "g * out * (1 - out)", "sum", "diagonal"),
                ("sum(g * out", "mean(g * out", "mean", "should be 'sum\\("),
                (", keepdim=True)", ")", "option", "keepdim=True")],
    "batch_norm": [("(u - mean(u, axis=over, keepdim=True) - xhat", "(u - xhat", "term",
                    "treats 'mean\\(x, "),
                   ("lambda g: sum(g", "lambda g: mean(g", "mean", "1 / n times")],
    "conv2d": [("transpose(weight.reshape((weight.shape[0], -1)), -1, -2)", "weight.reshape((weight.shape[0], -1))",
                "transposed", "should be 'ops.transpose\\(weight.reshape")],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_common_wrong_answers_are_named(name, tmp_path):
    path = tmp_path / "answer.py"
    for right, wrong, kind, said in ANSWERS[name]:
        solution = text(name, solved=True)
        assert right in solution, right
        path.write_text(solution.replace(right, wrong))
        report = check_file(path)
        assert not report.right and report.findings, f"{wrong} passes"
        finding = report.findings[0]
        assert re.fullmatch(kind, finding.kind) and re.search(said, finding.text), f"{wrong}\n{report}"


def test_making_a_folder_again_keeps_the_answers(tmp_path):
    paths = make(tmp_path / "puzzles")
    assert len(paths) == 36 and "0 of 36 solved" in status(paths)
    paths[0].write_text(text("add", solved=True))
    paths[1].unlink()
    assert make(tmp_path / "puzzles") == paths
    told = status(paths)
    assert "1 of 36 solved" in told and re.search("01_add.py +solved\n +02_sub.py +open", told)
    assert f"Next: open {paths[1]}" in told


def test_watching_reports_each_change(tmp_path):
    paths, seen = make(tmp_path), []

    class Enough(Exception):
        pass

    def show(told):
        seen.append(told)
        if "Solved." in told:
            raise Enough

    def solve():
        while not seen:
            time.sleep(0.01)
        time.sleep(0.1)
        paths[2].write_text(text("mul", solved=True).replace("g * b", "-g * b"))
        while len(seen) < 2:
            time.sleep(0.01)
        paths[2].write_text(text("mul", solved=True))

    thread = threading.Thread(target=solve)
    thread.start()
    with pytest.raises(Enough):
        watch(paths, show, pause=0.02)
    thread.join()
    assert "01_add.py" in seen[0] and "sign: the rule returns minus the right gradient" in seen[1] and len(seen) == 3


def test_the_puzzles_command_makes_a_folder(tmp_path):
    done = subprocess.run([sys.executable, "-m", "tinygrad_like.learn", "puzzles", tmp_path / "mine"],
                          capture_output=True, text=True, check=True)
    assert "0 of 36 solved" in done.stdout and len(list((tmp_path / "mine").glob("*.py"))) == 36
