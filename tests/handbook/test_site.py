"""The site generator: formulas, blocks, links, the reference, and the check of the built site."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("latex2mathml")

import markdown
import numpy as np

from handbook.blocks import ONE_PROGRAM, programs, run
from handbook.check import problems
from handbook.figures import _path, figures
from handbook.links import Places, source_page
from handbook.mathematics import MathExtension, mathml
from handbook.navigation import navigation
from handbook.reference import MODULES, document, exported, found, reference, signature
from tests.ops.samples import CASES
from tinygrad_like import Tensor, ops, primitive

ROOT = Path(__file__).resolve().parent.parent.parent


def test_formulas_become_mathml_and_code_does_not():
    made = markdown.markdown("$a_1$ costs `$5` and $10.\n\n$$\\frac{1}{2}$$", extensions=[MathExtension()])
    assert made.count("<math") == 2 and "<code>$5</code>" in made and "$10" in made and 'display="block"' in made


@pytest.mark.parametrize("tex", [r"\nosuchcommand x", r"\begin{aligned} a &= b \end{aligned}"])
def test_an_unknown_formula_raises(tex):
    with pytest.raises(ValueError, match="no MathML"):
        mathml(tex, True)


def test_every_formula_of_the_docs_is_converted():
    count = 0
    for page in (ROOT / "docs").rglob("*.md"):
        made = markdown.markdown(page.read_text(encoding="utf-8"), extensions=[MathExtension(), "fenced_code"])
        count += made.count("<math")
        assert not re.search(r"\$\$|\\frac|\\bar|\\mathrm", re.sub(r"<code.*?</code>", "", made, flags=re.S)), page
    assert count > 1500


def test_a_long_name_may_be_broken_after_an_underscore():
    made = markdown.markdown("`test_of_something_or_other` `x_y`", extensions=[MathExtension()])
    assert "test_<wbr>of_<wbr>something_<wbr>or_<wbr>other" in made and "<code>x_y</code>" in made


def test_mathml_handles_words_signs_and_primes():
    assert "<mi>out</mi>" in mathml(r"\mathrm{out}", False)
    assert '<mi mathvariant="normal">E</mi>' in mathml(r"\mathrm{E}[x]", False)
    assert mathml("(-1)", False).count('form="prefix"') == 1 and 'form="prefix"' not in mathml("a-b", False)
    assert r"\langle" not in mathml(r"\Big\langle x \Big\rangle", True)
    assert mathml(r"\lVert w \rVert^2", False).count('stretchy="false"') == 2
    assert "<mrow><mi>g</mi><mi>′</mi></mrow>" in mathml("g'", False) and "msup" not in mathml("u_r'", False)
    assert "<msup><mrow><mi>h</mi><mi>′</mi></mrow><mrow><mi>⊤</mi></mrow></msup>" in mathml(r"h'^\top x", False)


def test_a_curve_breaks_at_jumps_and_not_at_steep_places():
    xs = np.linspace(-4, 4, 801)
    small_jump = np.where(xs < 0, 0.7 * np.exp(np.minimum(xs, 0)), 1.0)
    for ys, pieces in (small_jump, 2), (np.tanh(20 * xs), 1), (np.abs(xs), 1), (np.sign(xs - 0.005), 2):
        assert _path(xs, ys, ys, -4.0, 4.0).count("M") == pieces


def test_blocks_run_and_their_output_is_shown():
    page = "# T\n\n```python\nx = 2\nprint(x + 40)\n```\n\nmore\n\n```python\nprint('x' in globals())\n```\n"
    made = run(page, "T")
    assert '```text title="prints"\n42\n```' in made and "False\n```" in made
    assert "True\n```" in run(f"{ONE_PROGRAM}\n{page}", "T") and len(programs(f"{ONE_PROGRAM}\n{page}")) == 1


def test_a_blocks_error_names_the_page_and_line():
    with pytest.raises(ZeroDivisionError) as caught:
        run("# T\n\n```python\n1 / 0\n```\n", "docs/T.md")
    last = caught.traceback[-1]
    assert str(last.path).endswith("docs/T.md") and last.lineno + 1 == 4


def test_a_graph_is_shown_as_a_picture():
    block = ("```python\nfrom tinygrad_like import Tensor, graph\n"
             "print(graph(Tensor([1.0], requires_grad=True).exp()))\n```\n")
    mermaid = '\n```mermaid\nflowchart TD\n    n0["leaf<br/>(1,)"]:::leaf\n    n1("exp<br/>(1,)")\n    n0 --> n1\n```\n'
    made = run(block, "T")
    assert made.count("<svg") == 1 and ">exp<" in made
    both = run(block + mermaid, "T")
    assert both.count("<svg") == 1 and "mermaid" not in both
    assert run(mermaid, "T").count("<svg") == 1


def test_links_are_rewritten_and_broken_ones_raise():
    places = Places()
    text = places.rewrite("[a](../../README.md#why) [`b`](../../nn/linear.py) [c](https://example.org) `[d](e)`",
                          "docs/ops/relu.md")
    graph = (ROOT / "tinygrad_like" / "core" / "graph.py").read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(graph) if text.startswith("def walk("))
    linked = places.rewrite("[`walk`](../tinygrad_like/core/graph.py)", "docs/a.md")
    assert linked == f"[`walk`](source/tinygrad_like/core/graph.py.md#__codelineno-0-{line})"
    assert text == ("[a](../project.md#why) [`b`](../source/nn/linear.py.md) [c](https://example.org) `[d](e)`")
    assert "(source/nn/norm.py.md)" in places.rewrite("- a\n\n  ```\n  b\n  ```\n\n`c` [d](nn/norm.py)", "README.md")
    assert places.sources == {"nn/linear.py", "nn/norm.py", "tinygrad_like/core/graph.py"}
    assert places.page("docs/ops/README.md") == "ops/index.md" and "# nn/linear.py" in source_page("nn/linear.py")
    with pytest.raises(FileNotFoundError, match="nowhere.md"):
        places.rewrite("[a](nowhere.md)", "docs/learn.md")


def test_the_reference_has_every_exported_name():
    pages = reference(Places())
    for module in MODULES:
        names = [name for name, _ in exported(found(module))]
        assert names, module
        for name in names:
            assert f"\n## {name}" in pages[f"reference/{module}.md"], f"{module}.{name}"
    tensor = pages["reference/Tensor.md"]
    assert "\n## astype" not in tensor and "| `astype` |" in tensor
    kinds = re.findall(r"^## (.*)", tensor, re.M)
    assert kinds[:4] == ["The Tensor itself", "Gradients", "Creation", "Arithmetic"] and "Reductions" in kinds
    assert "### sum " in tensor.split("\n## Reductions\n")[1].split("\n## ")[0]
    assert "## matmul" in tensor and "\n## exp_" not in tensor and "`exp_`" in tensor
    for op in "softmax", "max_windows":  # max_pool2d calls it
        assert f"](../ops/{op}.md)" in tensor and f"](../ops/{op}.md)" in pages["reference/tinygrad_like.ops.md"]
    for page, row in ("nn", "Containers | [Sequential]"), ("nn.functional", "Norms | [batch_norm]"):
        assert f"\n| {row}(#" in pages[f"reference/{page}.md"]
    composite = pages["reference/tinygrad_like.ops.md"].split("\n## cross_entropy ")[1].split("\n## ")[0]
    assert "[tinygrad_like/ops/softmax.py](" in composite  # where it is defined, not where it runs
    assert "<dt><code>monitor</code></dt>" in pages["reference/tinygrad_like.training.md"]  # within a paragraph of fit


def test_a_docstring_becomes_paragraphs_lists_and_code():
    made = document("One.\n\n    x = 1\n\n    y = 2\n\nn: how many,\n    at least 1.\nm: the same\nof m.\n"
                    "Raises ValueError for 0.")
    assert made == ('<div class="doc"><p>One.</p><pre><code>x = 1\n&#8203;\ny = 2</code></pre>'
                    "<dl><dt><code>n</code></dt><dd>how many, at least 1.</dd></dl>"
                    "<dl><dt><code>m</code></dt><dd>the same of m.</dd></dl>"
                    "<p>Raises ValueError for 0.</p></div>\n")


def test_examples_keep_their_indentation():
    made = document("One.\n\n    class A:\n        def f(self):\n            pass\n\n        def g(self):\n"
                    "            pass")
    assert "class A:\n    def f(self):\n        pass\n&#8203;\n    def g(self):" in made


def test_each_line_of_shapes_is_separate():
    made = document("One.\n\nx: (..., in) -> y: (..., out)\nweight: (out, in)")
    assert "<dt><code>x</code></dt>" in made and "<dt><code>weight</code></dt><dd>(out, in)</dd>" in made


def test_a_signature_shows_strings_in_quotes_and_types_without():
    class Pair(NamedTuple):
        one: "Tensor"

    def named(prefix: str = "", *, other: "np.Array | None" = None) -> "Tensor":
        ...

    assert signature(named) == "(prefix: str = '', *, other: Array | None = None) -> Tensor"
    assert signature(Pair) == "(one: Tensor)"


def test_figures_show_the_op_and_its_rule():
    @primitive
    def cube(x):
        return x ** 3

    @primitive
    def rows(x):
        return x.sum(1)

    cube.vjp(x=lambda g, x: 3 * g * x * x)
    rows.vjp(x=lambda g, x_shape: np.broadcast_to(g[:, None], x_shape))
    drawn = figures({"cube": (cube, np.array([0.5, 2.0])), "rows": (rows, np.arange(6.0).reshape(2, 3))})
    assert 'class="out"' in drawn["cube"] and 'class="slope"' in drawn["cube"]
    assert drawn["rows"].count('class="plus"') == 6 and "minus" not in drawn["rows"]


@pytest.mark.slow
def test_every_op_page_has_a_figure():
    assert {p.stem for p in (ROOT / "docs" / "ops").glob("*.md")} - {"README"} == set(figures(CASES))


CALLS = """x[index]: x[0]; split: x.split(1)[0]; gather: x.gather(3, i); sort: x.sort()[0]; topk: x.topk(2)[0]
scatter_add: x.scatter_add(3, i, x); scatter: x.scatter(3, i, x); view: x.view(-1); squeeze: x.squeeze(0)
flatten: x.flatten(); transpose: x.transpose(0, 1); pad: x.pad((1, 1)); x[index] = v: changed(x * 1)
std: x.std(); matmul: x @ x; einsum: Tensor.einsum("...ij,...jk->...ik", x, x); dropout: x.dropout(0.5)
max_pool2d: x.max_pool2d(2); avg_pool2d: x.avg_pool2d(2); linalg.solve: linalg.solve(x, x); linalg.inv: linalg.inv(x)
huber_loss: ops.huber_loss(x, y); scaled_dot_product_attention: ops.scaled_dot_product_attention(x, x, x)
instance_norm: ops.instance_norm(x); conv1d: ops.conv1d(x[0], x[0])"""


def changed(x):
    x[0] = 0 * x[0]
    return x


def test_functions_in_brackets_call_the_op_before_them():
    calls = dict(call.split(": ", 1) for call in re.split(r"; |\n", CALLS))
    listed = (ROOT / "docs" / "ops" / "README.md").read_text(encoding="utf-8")
    pairs = [(op, name) for op, names in re.findall(r"\]\((\w+)\.md\) \(([^)]*)\)", listed)
             for name in re.findall("`([^`]+)`", names)]
    x, y, i = Tensor.rand(1, 2, 4, 4, requires_grad=True), Tensor.rand(1, 2, 4, 4), Tensor.zeros(1, 2, 4, 4).long()
    assert {name for _, name in pairs} == set(calls)
    for op, name in pairs:
        graph, todo = set(), [eval(calls[name], {"Tensor": Tensor, "ops": ops, "linalg": ops.linalg, "x": x, "y": y,
                                                 "i": i, "changed": changed}).node]
        while todo:
            node = todo.pop()
            if hasattr(node, "op"):
                graph.add(node.op.name.strip("_"))
                todo += node.parents
        assert op in graph, f"{name} calls {graph}, not {op}"


def test_every_page_is_in_the_tree_once():
    tree, places = navigation((ROOT / "docs" / "ops" / "README.md").read_text(encoding="utf-8")), Places()
    for page in [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]:
        assert tree.count(f'"{places.page(page.relative_to(ROOT).as_posix())}"') == 1, page


def test_the_check_finds_broken_links_and_requests(tmp_path):
    for i in range(100):
        (tmp_path / f"{i}.html").write_text('<a id="here" href="0.html#here">x</a>')
    assert problems(tmp_path) == []
    (tmp_path / "0.html").write_text(
        '<a id="here" href="gone.html">x</a><a href="1.html#gone">y</a><img src="https://example.org/a.png">'
        '<link rel="stylesheet" href="//fonts.example.org/f.css"><a href="https://example.org">no request</a>')
    (tmp_path / "2.html").write_text('<pre class="mermaid">a --> b</pre>')
    (tmp_path / "s.css").write_text("@import 'x.css';")
    found = "\n".join(problems(tmp_path))
    assert len(found.splitlines()) == 6
    for part in ("gone.html does not exist", "#gone has no such anchor", "loads https://example.org/a.png",
                 "loads //fonts.example.org", "2.html: has class=", "s.css: loads from another server"):
        assert part in found
