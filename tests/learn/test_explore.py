"""The page to step through a graph: what it says is what the engine computes; and in a browser, that it works."""

import base64
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import nn
import nn.functional as F
from tests.learn.browser import CHROMIUM, Page
from tinygrad_like import Tensor, checkpoint, graph
from tinygrad_like.learn import explore
from tinygrad_like.learn.examples import examples
from tinygrad_like.learn.explore import Data
from tinygrad_like.learn.summary import NAN, summary
from tinygrad_like.learn.trace import Trace, watched


def data(path):
    text = path.read_text()
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)[1])


def named(told, op):
    return [n for n in told["nodes"] if n["op"] == op]


def numbers(told, v):
    return np.array(told["values"][v]["values"]).reshape(told["values"][v]["shape"])


def small(tmp_path):
    x, w = Tensor([[1.0, 2.0]], requires_grad=True), Tensor([[3.0], [4.0]], requires_grad=True)
    path = explore(lambda: ((x * w).exp() + x * 2).sum(), tmp_path / "graph.html", {"x": x, "w": w})
    return x, w, data(path)


# What is shown ------------------------------------------------------------------------------------------------------


def test_values_cotangents_and_what_was_summed_away(tmp_path):
    x, w, told = small(tmp_path)
    loss = ((x * w).exp() + x * 2).sum()
    gx, gw = loss.gradient(x, w, retain_graph=True)
    (leaf_x,), (leaf_w,) = named(told, "x"), named(told, "w")
    np.testing.assert_allclose(numbers(told, leaf_x["g"]), gx.numpy(), rtol=1e-3)
    np.testing.assert_allclose(numbers(told, leaf_w["g"]), gw.numpy(), rtol=1e-3)
    assert len(leaf_x["terms"]) == 2 and len(leaf_w["terms"]) == 1
    np.testing.assert_allclose(sum(numbers(told, v) for *_, v in leaf_x["terms"]), gx.numpy(), rtol=1e-3)
    product, = [n for n in named(told, "mul") if n["shape"] == [2, 2]]
    raw, given = product["given"][0]
    assert told["values"][raw]["shape"] == [2, 2] and told["values"][given]["shape"] == [1, 2]
    np.testing.assert_allclose(numbers(told, product["out"]), (x * w).detach().numpy(), rtol=1e-3)
    assert [name for name, *_ in product["in"]] == ["a", "b"]
    assert {(name, why) for name, _, why in product["saved"]} == {("b", "named by the rule of a"),
                                                                  ("a", "named by the rule of b")}
    exp, = named(told, "exp")
    assert told["rules"][exp["rule"][0]] | {"where": ""} == {
        "of": "x", "where": "", "text": "lambda g, out: g * out", "names": ["out"]}
    assert re.fullmatch(r"tinygrad_like/ops/elementwise\.py:\d+", told["rules"][exp["rule"][0]]["where"])
    assert told["formulas"]["exp"] == "out = e^x" and "test_explore.py" in exp["line"]


def test_the_order_is_that_of_backward(tmp_path):
    _, _, told = small(tmp_path)
    ops = [n for n in told["nodes"] if not n.get("leaf")]
    assert sorted(n["f"] for n in ops) == list(range(len(ops)))
    assert sorted(n["b"] for n in told["nodes"]) == list(range(len(told["nodes"])))
    for n in told["nodes"]:
        for source, _, _ in n["terms"]:
            assert source < 0 or told["nodes"][source]["b"] < n["b"]


def test_exploring_changes_nothing():
    x = Tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).exp().sum()
    Trace(loss)
    assert x.grad is None
    loss.backward()
    assert x.grad.tolist() == [pytest.approx(2 * np.e), pytest.approx(4 * np.e**4)]


def test_a_recorded_tensor_shows_what_was_saved(tmp_path):
    x = Tensor([1.0, 2.0], requires_grad=True)
    told = data(explore((x.exp() + 1).sum(), tmp_path / "g.html", {"x": x}))
    (exp,), (add,) = named(told, "exp"), named(told, "add")
    np.testing.assert_allclose(numbers(told, exp["out"]), np.exp([1, 2]), rtol=1e-3)
    assert add["out"] == -1 and add["saved"] == []


def test_a_gradient_for_more_than_a_number(tmp_path):
    x = Tensor([1.0, 2.0], requires_grad=True)
    told = data(explore(x * 3, tmp_path / "g.html", [("x", x)], gradient=[1.0, 10.0]))
    assert numbers(told, named(told, "x")[0]["g"]).tolist() == [3, 30]


@pytest.mark.parametrize("name", ["mlp", "resnet_s", "gpt_block"])
def test_models_with_their_references_opened(name):
    model, loss = examples()[name]
    y, calls = watched(loss)
    told = Data(Trace(y, None, calls), model, name).json()
    y.backward()
    for parameter, p in model.named_parameters():
        node, *_ = named(told, parameter)  # the others are in the views of references
        shown = told["values"][node["g"]]
        if "values" in shown:
            np.testing.assert_allclose(np.reshape(shown["values"], p.shape), p.grad.numpy(), rtol=2e-3, atol=1e-5)
        else:
            assert shown["max"] == pytest.approx(p.grad.numpy().max(), rel=1e-3)
            assert shown["mean"] == pytest.approx(p.grad.numpy().mean(), rel=1e-2, abs=1e-6)
    fused = [n for n in told["nodes"] if n["opens"] >= 0]
    assert fused
    for n in fused:  # the reference gives each input what the op's own rule gives
        inner = told["views"][n["opens"]]
        leaves = {told["nodes"][number]["op"]: told["nodes"][number] for kind, number, *_ in inner["boxes"]
                  if kind == "leaf"}
        for (input_name, outer, _), pair in zip(n["in"], n["given"], strict=True):
            outer_leaf = outer >= 0 and told["nodes"][outer].get("leaf")
            input_name = told["nodes"][outer]["op"] if outer_leaf else input_name
            assert not pair or input_name in leaves
            if pair and "mean" in told["values"][pair[1]]:
                mine, theirs = told["values"][pair[1]], told["values"][leaves[input_name]["g"]]
                assert mine["std"] == pytest.approx(theirs["std"], rel=1e-2, abs=1e-6)


def test_modules_are_groups_with_views(tmp_path):
    model = nn.models.resnet8(num_classes=3)
    x = Tensor.randn(2, 3, 8, 8)
    told = data(explore(lambda: F.cross_entropy(model(x), Tensor([0, 1])), tmp_path / "g.html", model))
    names = [v["name"] for v in told["views"]]
    assert {"layer1", "layer2", "layer3"} <= set(names)
    top = told["views"][0]
    groups = [number for kind, number, *_ in top["boxes"] if kind == "group"]
    assert [told["views"][g]["name"] for g in groups] == ["layer1", "layer2", "layer3"]
    shown = {told["nodes"][number]["op"] for kind, number, *_ in top["boxes"] if kind == "leaf"}
    assert "conv1.weight" in shown and not any(name.startswith("layer1") for name in shown)
    assert all(told["views"][g]["parent"] == 0 for g in groups)
    y = F.cross_entropy(model(x), Tensor([0, 1]))  # without having watched the modules: from names of parameters
    told = Data(Trace(y), model, "g").json()
    assert {"layer1", "layer2", "layer3"} <= {v["name"] for v in told["views"]}


def test_every_node_is_in_some_view(tmp_path):
    for model, loss in examples().values():
        told = data(explore(loss, tmp_path / "g.html", model))
        seen = {number for v in told["views"] for kind, number, *_ in v["boxes"] if kind in ("op", "leaf")}
        assert seen == set(range(len(told["nodes"])))
        for v in told["views"]:
            assert v["parent"] < told["views"].index(v)
            places = [(x, y) for _, _, x, y, *_ in v["boxes"]]
            assert len(set(places)) == len(places)
            for a, b, *points in v["paths"]:
                assert points[:2] == list(places[a]) and points[-2:] == list(places[b])


def test_other_nodes_than_ops(tmp_path):
    x = Tensor([1.0, 2.0], requires_grad=True)
    told = data(explore(lambda: checkpoint(lambda x: x.sin().cos(), x).sum(), tmp_path / "g.html"))
    assert named(told, "checkpoint")[0]["rule"] == []
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *_: None)
    told = data(explore(lambda: layer(x).sum(), tmp_path / "g.html", layer))
    assert named(told, "weight")[0]["g"] >= 0


def test_arrays_in_few_words():
    assert summary(np.array([1.0, np.nan, np.inf]))["values"] == [1, "NaN", "inf"]
    told = summary(np.arange(48.0).reshape(2, 4, 6) - 20, 4)
    assert (told["rows"], told["columns"], told["block"]) == (4, 3, [2, 2])
    cells = np.frombuffer(base64.b64decode(told["map"]), np.int8).reshape(4, 3)
    expected = (np.arange(48.0) - 20).reshape(4, 2, 3, 2).mean((1, 3))
    np.testing.assert_allclose(cells / 127 * told["top"], expected, atol=0.2)
    broken = np.zeros((5, 7))
    broken[2, 3] = np.nan
    told = summary(broken)
    assert told["nan"] == 1 and np.frombuffer(base64.b64decode(told["map"]), np.int8)[17] == NAN
    assert summary(np.zeros((4, 5)))["zero"] is True and summary(np.zeros((0, 3)))["shape"] == [0, 3]
    assert summary(np.ones(23))["rows"] == 1 and summary(np.ones(64))["rows"] == 8


def test_errors():
    with pytest.raises(TypeError, match="explore: takes a Tensor or a function that gives one, got ndarray"):
        explore(np.ones(2))
    with pytest.raises(ValueError, match="explore: nothing was recorded"):
        explore(Tensor([1.0]) * 2)
    x = Tensor([1.0], requires_grad=True)
    y = x * 2
    y.backward()
    with pytest.raises(RuntimeError, match="backward has freed the graph through mul"):
        explore(y)


PROGRAM = '''
import nn, nn.functional as F
from tinygrad_like import Tensor
x, y = Tensor.randn(8, 4), Tensor([0, 1, 2, 0, 1, 2, 0, 1])
model = nn.ResNetS(4, width=8, blocks=1, num_classes=3)
loss = F.cross_entropy(model(x), y)
loss.backward()
raise SystemExit("the program went on")
'''


def test_the_command(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "tinygrad_like.learn", "explore"]
    done = subprocess.run([*command, program], capture_output=True, text=True, check=True)
    assert "train.html: open it in a browser" in done.stdout
    told = data(tmp_path / "train.html")
    assert named(told, "head.weight")[0]["g"] >= 0 and named(told, "cross_entropy")[0]["out"] >= 0
    program.write_text("x = 1")
    done = subprocess.run([*command, program], capture_output=True, text=True)
    assert done.returncode == 1 and "no recorded Tensor named `loss`" in done.stdout
    subprocess.run([*command, "--out", tmp_path / "all"], check=True, capture_output=True)
    assert {p.name for p in (tmp_path / "all").iterdir()} == {"mlp.html", "resnet_s.html", "gpt_block.html"}


# Pictures of what is inside fused ops --------------------------------------------------------------------------------


def labels(picture):
    return [box.label for box in picture.boxes if not box.leaf]


def test_a_picture_can_show_what_is_inside_fused_ops():
    model, x = nn.MLP([4, 8, 3]), Tensor.randn(2, 4)
    assert labels(graph(model(x))) == ["linear_relu"]
    opened = graph(model(x), model.named_parameters(), expand=True)
    assert labels(opened) == ["permute", "batched_matmul", "add", "relu", "permute", "batched_matmul", "add"]
    assert {b.label for b in opened.boxes if b.leaf} == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert all(a < b for a, b in opened.arrows)
    model = nn.ResNetS(4, 8, 2, 3)
    opened = graph(model(x), model.named_parameters(), expand=True)
    skips = [b for a, b in opened.arrows if opened.boxes[a].label == opened.boxes[b].label == "add"]
    assert len(skips) >= 1 and labels(opened).count("relu") == 4 and opened.svg()


# In a browser --------------------------------------------------------------------------------------------------------

browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
STATUS = "document.getElementById('status').textContent"


@pytest.fixture
def page(tmp_path):
    model, loss = examples()["gpt_block"]
    with Page(explore(loss, tmp_path / "gpt.html", model).as_uri()) as page:
        yield page
        assert page.problems() == []


@browser
def test_stepping_with_keys(page):
    ops = page.run("steps.filter(s => !s.backward).length")
    assert page.run(STATUS) == f"forward 1 of {ops}: layer_norm"
    for _ in range(ops):
        page.key("ArrowRight")
    assert page.run(STATUS).startswith("backward 1 of") and page.run("now().backward")
    page.key("ArrowLeft")
    assert page.run(STATUS).startswith(f"forward {ops} of {ops}")
    assert "Has not arrived yet: backward has not begun." in page.run("panel.textContent")
    page.key("b")
    assert "where backward begins" in page.run("panel.textContent")
    page.key("End")
    assert page.run("step === steps.length - 1")
    page.key("Home")
    page.key("ArrowDown")
    assert page.run("step") == 1
    page.run("$('slider').value = 3; $('slider').oninput()")
    assert page.run("step") == 3


@browser
def test_what_has_not_arrived_is_told(page):
    page.run("goTo(data.nodes.findIndex((n, k) => n.op === 'add' && n.terms.length === 2), true)")
    text = page.run("panel.textContent")
    assert "The sum of 2 contributions" in text and "not yet" not in text
    add = page.run("now().i")
    page.run(f"go(steps.findIndex((s) => s.backward && title(here().boxes[s.i]) === 'relu')); choose({add})")
    assert "1 of 2 contributions have arrived." in page.run("panel.textContent")
    assert page.run(f"drawn.get({add}).getAttribute('class')").split()[:3] == ["box", "op", "part"]


@browser
def test_opening_and_going_back(page):
    page.run("go(steps.findIndex((s) => !s.backward && title(here().boxes[s.i]) === 'module self_attn'))")
    page.key("Enter")
    assert page.run("$('crumbs').textContent") == "gpt_block / self_attn" or "self_attn" in page.run(
        "$('crumbs').textContent")
    page.run("go(steps.findIndex((s) => title(here().boxes[s.i]) === 'self_attention'))")
    page.key("Enter")
    assert "softmax" in page.run("here().boxes.map((b) => b[5]).join()")
    page.key("Backspace")
    page.key("Backspace")
    assert page.run("view") == 0 and "self_attn" in page.run(STATUS)


@browser
def test_finding_by_keyboard(page):
    page.key("/")
    for letter in "relu":
        page.key(letter)
    assert not page.run("$('found').hidden")
    page.key("ArrowDown")
    page.key("Enter")
    assert "relu" in page.run(STATUS) and page.run("$('found').hidden")


@browser
def test_everything_can_be_reached_by_keyboard(page):
    """From the start of the page, Tab comes to every control; steps and Enter come to every box of every view."""
    page.run("document.body.focus(); window.met = new Set()")
    for _ in range(40):
        page.key("Tab")
        page.run("met.add(document.activeElement.id)")
    assert set(page.run("[...met]")) >= {"search", "theme", "help", "panel", "first", "back", "play", "next", "last",
                                         "slider"}
    reached = page.run("""(() => { const seen = new Set(), nodes = new Set(); const visit = (v) => {
        if (seen.has(v)) return; seen.add(v); show(v);
        for (let k = 0; k < steps.length; k++) { go(k); const box = here().boxes[now().i];
            if (kind(box) !== "group") nodes.add(box[1]);
            const to = opens(box); if (to >= 0) { visit(to); show(v); } } };
        visit(0); return [nodes.size, seen.size]; })()""")
    assert reached == [page.run("data.nodes.length"), page.run("data.views.length")]


@browser
def test_mouse(page):
    box = page.run("(() => { const r = drawn.get(now().i).getBoundingClientRect(); return [r.x + r.width / 2, "
                   "r.y + r.height / 2]; })()")
    before = page.run("[left, top_]")
    page.mouse("mousePressed", 30, 700, button="left", clickCount=1)
    page.mouse("mouseMoved", 90, 740, button="left")
    page.mouse("mouseReleased", 90, 740, button="left", clickCount=1)
    assert page.run("[left, top_]") == pytest.approx([before[0] + 60, before[1] + 40])
    page.mouse("mousePressed", box[0] + 60, box[1] + 40, button="left", clickCount=1)
    page.mouse("mouseReleased", box[0] + 60, box[1] + 40, button="left", clickCount=1)
    assert page.run("chosen") == page.run("now().i")
    page.mouse("mouseWheel", 400, 400, deltaX=0, deltaY=-200)
    assert page.run("scale") > 1
    tip = page.run("""(() => { const e = document.querySelector('.reach'), r = e.getBoundingClientRect();
        e.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: r.x, clientY: r.y }));
        return $('tooltip').textContent; })()""")
    assert re.fullmatch(r".+ to .+: \(\d.*\)", tip)


@browser
def test_dark_is_told_by_the_system(tmp_path):
    x = Tensor([1.0, np.nan], requires_grad=True)
    path = explore(lambda: (x * 0.0).sum(), tmp_path / "g.html", {"x": x})
    colours = []
    for dark in False, True:
        with Page(path.as_uri(), dark=dark) as page:
            colours.append(page.run("getComputedStyle(document.body).backgroundColor"))
            assert page.run("[...document.querySelectorAll('.mark')].map((m) => m.textContent)").count("NaN") >= 1
            page.run("$('theme').click()")
            colours.append(page.run("getComputedStyle(document.body).backgroundColor"))
            assert page.problems() == []
    assert colours[0] == colours[3] != colours[1] == colours[2]


@browser
@pytest.mark.slow
def test_two_thousand_nodes(tmp_path):
    x = Tensor.randn(4, 16, requires_grad=True)

    def f():
        y = x
        for _ in range(500):
            y = (y * x).tanh() + y * 0.5
        return y.sum()

    path = explore(f, tmp_path / "g.html", {"x": x})
    assert path.stat().st_size < 3e6
    with Page(path.as_uri()) as page:
        assert page.run("data.nodes.length") == 2002
        assert page.run("performance.getEntriesByType('navigation')[0].loadEventEnd") < 5000  # 0.4 s if undisturbed
        assert page.run("drawn.size") < 60  # what is out of sight is not in the document
        page.key("End")
        assert page.run("inSight(now().i)") and page.run(STATUS).startswith("backward 2002 of 2002")
        page.key("0")
        page.wait("!$('map').hidden && drawn.size === 0")
        assert page.problems() == []
