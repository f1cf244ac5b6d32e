"""A picture shows each op and leaf once and every arrow, no box covers another, and both formats can be parsed."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, checkpoint, graph

SVG = "{http://www.w3.org/2000/svg}"


def diamond():
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    y = x * x
    return x, (y.sin() + y.exp() * 3.0).sum()


def boxes(svg):
    return [tuple(float(r.get(k, 0)) for k in ("x", "y", "width", "height"))
            for r in ElementTree.fromstring(svg).iter(f"{SVG}rect")][1:]  # the first is the paper


def test_a_picture_shows_every_op_and_leaf_once_and_every_arrow():
    x, y = diamond()
    picture = graph(y, {"x": x})
    assert [(b.label, b.shape, b.leaf) for b in picture.boxes] == [
        ("3", (), True), ("x", (1, 2), True), ("mul", (1, 2), False), ("sin", (1, 2), False), ("exp", (1, 2), False),
        ("mul", (1, 2), False), ("add", (1, 2), False), ("sum", (), False)]
    assert [b.data for b in picture.boxes] == [True] + 7 * [False]
    assert sorted(picture.arrows) == [(0, 5), (1, 2), (1, 2), (2, 3), (2, 4), (3, 6), (4, 5), (5, 6), (6, 7)]


def test_a_functions_data_are_one_box_and_a_tensors_are_the_saved_values():
    model, x = nn.ResNetS(4, 8, 1, 3), Tensor.rand(2, 8)
    block = model.blocks[0]
    picture = graph(lambda: block(x), {"x": x, **dict(block.named_parameters())})
    start = [b.label for b in picture.boxes].index("x")
    assert picture.boxes[start].data
    assert [picture.boxes[b].label for a, b in picture.arrows if a == start] == ["linear", "add"]  # with the skip
    of_tensor = graph(block(x), {"x": x})
    assert [(b.label, b.shape) for b in of_tensor.boxes if b.data] == [("x", (2, 8)), ("data", None)]
    assert "<br/>(2, 8)\"]:::data" in str(of_tensor) and "classDef data" in str(of_tensor)
    ways = re.findall(r'<path d="(M[^"]*)" fill="none"', graph(diamond()[1]).svg())
    assert len(set(ways)) == len(ways) == 9  # x * x has two arrows, side by side


def test_mermaid_text_escapes_names():
    x, y = diamond()
    text = str(graph(y, {'"x"': x}))
    assert text.startswith('flowchart TD\n    n0["3<br/>()"]:::data\n    n1["#quot;x#quot;<br/>(1, 2)"]:::leaf\n'
                           '    n2("mul<br/>(1, 2)")\n')
    assert text.count(" --> ") == 9 and "    n6 --> n7\n" in text


def test_svg_shows_texts_and_arrows():
    x, y = diamond()
    picture = graph(y, {"<x>": x})
    tree = ElementTree.fromstring(picture.svg())
    assert [t.text for t in tree.iter(f"{SVG}text")][:4] == ["3", "()", "<x>", "(1, 2)"]
    assert len(list(tree.iter(f"{SVG}path"))) == 1 + len(picture.arrows)
    assert picture._repr_svg_() == picture.svg()


def models():
    yield nn.MLP([4, 8, 3]), Tensor.rand(2, 4)
    yield nn.ResNetS(4, 8, 3, 3), Tensor.rand(2, 4)
    yield nn.TransformerEncoderLayer(8, 2, 16), Tensor.rand(2, 5, 8)
    yield nn.BasicBlock(3, 4, stride=2), Tensor.rand(2, 3, 8, 8)


@pytest.mark.parametrize("number", range(4))
def test_boxes_lie_apart_and_below_their_inputs(number):
    model, x = list(models())[number]
    picture = graph(model(x).sum(), model.named_parameters())
    assert {b.label for b in picture.boxes if b.leaf and not b.data} == {name for name, _ in model.named_parameters()}
    svg = picture.svg()
    places = boxes(svg)
    for i, (x0, y0, w0, h0) in enumerate(places):
        for x1, y1, w1, h1 in places[:i]:
            assert x0 + w0 <= x1 or x1 + w1 <= x0 or y0 + h0 <= y1 or y1 + h1 <= y0
    for a, b in picture.arrows:
        assert places[a][1] + places[a][3] < places[b][1]
    width, height = (float(v) for v in re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())
    assert all(0 <= x and x + w <= width and 0 <= y and y + h <= height for x, y, w, h in places)


def test_a_long_graph_can_be_drawn():
    x = Tensor([1.0], requires_grad=True)
    y = x
    for _ in range(2000):
        y = y * x
    assert len(boxes(graph(y).svg())) == 2001


def test_a_leaf_and_a_checkpoint_can_be_drawn():
    x = Tensor([1.0], requires_grad=True)
    assert [tuple(b) for b in graph(x, [("x", x)]).boxes] == [("x", (1,), True, False)]
    assert [b.label for b in graph(checkpoint(lambda x: x.sin().cos(), x)).boxes] == ["leaf", "checkpoint"]


def test_pictures_are_saved_in_three_formats(tmp_path):
    picture = graph(diamond()[1])
    assert picture.save(tmp_path / "a.svg").read_text() == picture.svg()
    assert picture.save(tmp_path / "a.mmd").read_text() == picture.mermaid()
    assert picture.save(str(tmp_path / "a.md")).read_text() == f"```mermaid\n{picture}```\n"
    with pytest.raises(ValueError, match=r"'a.png' must end in .svg, .mmd or .md"):
        picture.save(tmp_path / "a.png")


def test_graph_refuses_arrays_constants_and_freed_graphs():
    with pytest.raises(TypeError, match="graph: takes a Tensor, got ndarray"):
        graph(np.ones(2))
    with pytest.raises(ValueError, match="graph: nothing was recorded"):
        graph(Tensor([1.0]) * 2)
    x, y = diamond()
    y.backward()
    with pytest.raises(RuntimeError, match="backward has freed the graph through mul"):
        graph(y)
