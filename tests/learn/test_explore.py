"""The explorer's page shows the engine's numbers. test_browser.py runs it in a browser."""

import base64
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import nn
import nn.functional as F
from tinygrad_like import Tensor, checkpoint, graph
from tinygrad_like.autograd import Function
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


def written(mathml):
    """The text of formulas, separated by spaces."""
    return re.sub("<[^>]*>", "", mathml.replace("</math><math", "</math> <math"))


def small(tmp_path):
    x, w = Tensor([[1.0, 2.0]], requires_grad=True), Tensor([[3.0], [4.0]], requires_grad=True)
    path = explore(lambda: ((x * w).exp() + x * 2).sum(), tmp_path / "graph.html", {"x": x, "w": w})
    return x, w, data(path)


# What is shown ------------------------------------------------------------------------------------------------------


def test_values_cotangents_and_summed_broadcasts_are_shown(tmp_path):
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
        "of": "x", "where": "", "text": "lambda g, out: g * out", "names": ["out"], "math": []}
    assert re.fullmatch(r"tinygrad_like/ops/elementwise\.py:\d+", told["rules"][exp["rule"][0]]["where"])
    assert written(told["formulas"]["exp"]) == "out=ex" and "test_explore.py" in exp["line"]


def test_the_order_is_backwards(tmp_path):
    _, _, told = small(tmp_path)
    ops = [n for n in told["nodes"] if not n.get("leaf")]
    assert sorted(n["f"] for n in ops) == list(range(len(ops)))
    nodes = [n for n in told["nodes"] if not n.get("data")]
    assert sorted(n["b"] for n in nodes) == list(range(len(nodes)))
    for n in nodes:
        for source, _, _ in n["terms"]:
            assert source < 0 or told["nodes"][source]["b"] < n["b"]


def test_exploring_changes_nothing():
    x = Tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).exp().sum()
    Trace(loss)
    assert x.grad is None
    loss.backward()
    assert x.grad.tolist() == [pytest.approx(2 * np.e), pytest.approx(4 * np.e**4)]


def test_a_recorded_tensor_shows_its_saved_values(tmp_path):
    x = Tensor([1.0, 2.0], requires_grad=True)
    told = data(explore((x.exp() + 1).sum(), tmp_path / "g.html", {"x": x}))
    (exp,), (add,) = named(told, "exp"), named(told, "add")
    np.testing.assert_allclose(numbers(told, exp["out"]), np.exp([1, 2]), rtol=1e-3)
    assert add["out"] == -1 and add["saved"] == []


def test_a_vector_is_explored_with_a_cotangent(tmp_path):
    x = Tensor([1.0, 2.0], requires_grad=True)
    told = data(explore(x * 3, tmp_path / "g.html", [("x", x)], gradient=[1.0, 10.0]))
    assert numbers(told, named(told, "x")[0]["g"]).tolist() == [3, 30]


@pytest.mark.parametrize("name", ["mlp", "resnet_s", "gpt_block"])
def test_models_and_their_opened_ops_show_the_right_gradients(name):
    model, loss = examples()[name]
    y, calls = watched(loss)
    told = Data(Trace(y, None, calls), model, name).json()
    y.backward()
    for parameter, p in next(m for m in model.values() if isinstance(m, nn.Module)).named_parameters():
        if not p.requires_grad:
            continue
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
            passed = not outer_leaf or told["nodes"][outer].get("passed", False)
            assert not pair or leaves[input_name].get("passed", False) == passed
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


def test_every_node_is_in_some_view(tmp_path):
    for model, loss in examples().values():
        told = data(explore(loss, tmp_path / "g.html", model))
        seen = {number for v in told["views"] for kind, number, *_ in v["boxes"] if kind in ("op", "leaf", "data")}
        assert seen == set(range(len(told["nodes"])))
        for v in told["views"]:
            assert v["parent"] < told["views"].index(v)
            places = [(x, y) for _, _, x, y, *_ in v["boxes"]]
            assert len(set(places)) == len(places)
            for a, b, *points in v["paths"]:
                beside = points[0] - places[a][0]  # so that two arrows between the same boxes are seen
                assert abs(beside) <= 24 and points[1] == places[a][1]
                assert (points[-2] - beside, points[-1]) == places[b]


def test_checkpoints_and_hooks_are_shown(tmp_path):
    x = Tensor([1.0, 2.0], requires_grad=True)
    told = data(explore(lambda: checkpoint(lambda x: x.sin().cos(), x).sum(), tmp_path / "g.html"))
    assert named(told, "checkpoint")[0]["rule"] == []
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *_: None)
    told = data(explore(lambda: layer(x).sum(), tmp_path / "g.html", layer))
    assert named(told, "weight")[0]["g"] >= 0


def test_arrays_are_summarized():
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


def test_bad_arguments_raise():
    with pytest.raises(TypeError, match="explore: takes a Tensor or a function that returns one, got ndarray"):
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


def test_the_explore_command_writes_pages(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "tinygrad_like.learn", "explore"]
    done = subprocess.run([*command, program], capture_output=True, text=True, check=True)
    assert "train.html: open it in a browser" in done.stdout
    told = data(tmp_path / "train.html")
    assert named(told, "head.weight")[0]["g"] >= 0 and named(told, "cross_entropy")[0]["out"] >= 0
    subprocess.run([*command, program, "--out", tmp_path / "new"], check=True, capture_output=True)
    assert data(tmp_path / "new" / "train.html") == told
    program.write_text("x = 1")
    done = subprocess.run([*command, program], capture_output=True, text=True)
    assert done.returncode == 1 and "no recorded Tensor named `loss`" in done.stdout
    subprocess.run([*command, "--out", tmp_path / "all"], check=True, capture_output=True)
    assert {p.name for p in (tmp_path / "all").iterdir()} == {"mlp.html", "resnet_s.html", "gpt_block.html"}
    assert all(re.search(r"/examples\.py:\d+$", n["line"]) for n in data(tmp_path / "all" / "mlp.html")["nodes"]
               if not n.get("leaf") and "line" in n and n["view"] == 0)


# Pictures of what is inside fused ops --------------------------------------------------------------------------------


def labels(picture):
    return [box.label for box in picture.boxes if not box.leaf]


def test_every_input_and_every_edge_is_drawn(tmp_path):
    x, error = Tensor([1.0, 2.0]), Tensor([1.0, 3.0], requires_grad=True)
    told = data(explore(lambda: (error * error * x * 2 + x).sum(), tmp_path / "g.html", {"x": x, "error": error}))
    top = told["views"][0]
    label = [box[5] for box in top["boxes"]]
    edges = sorted((label[a], label[b]) for a, b, *_ in top["paths"])
    assert edges == [("2", "mul"), ("add", "sum"), ("error", "mul"), ("error", "mul"), ("mul", "add"), ("mul", "mul"),
                     ("mul", "mul"), ("x", "add"), ("x", "mul")]
    assert len({tuple(points) for _, _, *points in top["paths"]}) == len(edges)
    shown, = named(told, "x")
    assert shown["data"] and numbers(told, shown["out"]).tolist() == [1, 2]


def test_rules_of_kernels_are_written_as_mathematics(tmp_path):
    told = data(explore(examples()["gpt_block"][1], tmp_path / "g.html"))
    said = {n["op"]: [m for r in n["rule"] for m in told["rules"][r]["math"]] for n in told["nodes"] if "rule" in n}
    linear, products = written(said["linear"][0]), [written(math) for math in said["batched_matmul"]]
    assert linear.startswith("dx=gW dW=g⊤x db") and products == ["dA=gB⊤ dB=A⊤g"]
    assert written(said["attention"][0]).startswith("dV=P⊤g") and said["square"] == []
    assert written(told["formulas"]["gelu"]).startswith("out=xΦ(x)") and "<mfrac>" in told["formulas"]["gelu"]


def test_a_picture_can_show_what_is_inside_fused_ops():
    model, x = nn.MLP([4, 8, 3]), Tensor.randn(2, 4)
    assert labels(graph(model(x))) == ["linear", "relu", "linear"]
    opened = graph(model(x), model.named_parameters(), expand=True)
    assert labels(opened) == ["permute", "batched_matmul", "add", "relu", "permute", "batched_matmul", "add"]
    assert {b.label for b in opened.boxes if b.leaf and not b.data} == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert all(a < b for a, b in opened.arrows)
    model = nn.ResNetS(4, 8, 2, 3)
    opened = graph(model(x), model.named_parameters(), expand=True)
    skips = [b for a, b in opened.arrows if opened.boxes[a].label == opened.boxes[b].label == "add"]
    assert len(skips) >= 1 and labels(opened).count("relu") == 4 and opened.svg()


# Programs of other kinds ----------------------------------------------------------------------------------------------


class Both(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h


def test_a_custom_function_shows_its_backward_and_each_output(tmp_path):
    x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0], requires_grad=True)

    def loss():
        a, b = Both.apply(x, y)
        return (a * b).sum()

    told = data(explore(loss, tmp_path / "graph.html", {"x": x, "y": y}))
    call, = named(told, "Both")
    assert call["outputs"] and [name for name, *_ in call["in"]] == ["x", "y"] and len(call["terms"]) == 2
    assert "ctx.saved_tensors" in told["rules"][call["rule"][0]]["text"]
    assert [name for name, *_ in call["saved"]] == ["saved_tensors[0]", "saved_tensors[1]"]
    first, = named(told, "Both[0]")
    assert numbers(told, first["out"]).tolist() == [3, 8] and numbers(told, first["g"]).tolist() == [4, 6]
    leaf, = named(told, "x")
    assert numbers(told, leaf["g"]).tolist() == loss().gradient(x)[0].tolist()


def test_a_missing_or_freed_graph_raises(tmp_path):
    x = Tensor(3.0, requires_grad=True)
    with pytest.raises(ValueError, match="nothing was recorded for this Tensor: it is a leaf"):
        explore(x, tmp_path / "graph.html")

    def step():
        loss = x * x
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="backward has freed the graph"):
        explore(step, tmp_path / "graph.html")


def test_a_gradient_of_a_gradient_is_shown(tmp_path):
    x = Tensor([1.0, 2.0], requires_grad=True)

    def penalty():
        slope, = (x ** 3).sum().gradient(x, create_graph=True)
        return (slope ** 2).sum()

    told = data(explore(penalty, tmp_path / "graph.html", {"x": x}))
    leaf, = named(told, "x")
    assert numbers(told, leaf["g"]).tolist() == [36, 288]
