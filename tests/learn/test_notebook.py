"""Tensors, modules and graphs in a notebook."""

import base64
import re
import zlib
from html.parser import HTMLParser

import numpy as np

import nn
from tinygrad_like import Tensor, graph


class Tags(HTMLParser):
    """Checks that every opened element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def shown(x):
    text = x._repr_html_()
    told = Tags(text)
    assert told.open == [] and "<script" not in text
    return text, told.seen


def test_a_small_tensor_shows_its_numbers():
    text, tags = shown(Tensor([[1.0, 2.0], [3.0, 4.5]], requires_grad=True) * 2)
    assert "(2, 2) float32 · op mul" in text and tags.count("td") == 4 and ">9</td>" in text
    assert "(3,) int64" in shown(Tensor([1, 2, 3]))[0] and ">3</td>" in shown(Tensor([1, 2, 3]))[0]
    assert "requires_grad" in shown(nn.Linear(2, 2).weight)[0]
    assert shown(Tensor(np.zeros((0, 3))))[1].count("td") == 0


def test_a_large_tensor_is_shown_as_a_heat_map():
    x = np.zeros((4, 6), np.float32)
    x[0, 0], x[1, 2], x[3, 5] = 2.0, -2.0, np.nan
    text, _ = shown(Tensor(x))
    assert "mean 0.0" in text and "1 NaN" in text and 'width="60" height="40"' in text
    png = base64.b64decode(re.search(r"base64,([^\"]*)", text)[1])
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    body = png[png.index(b"IDAT") + 4: png.index(b"IEND") - 8]
    pixels = np.frombuffer(zlib.decompress(body), np.uint8).reshape(4, 1 + 6 * 3)[:, 1:].reshape(4, 6, 3)
    assert pixels[0, 0].tolist() == [220, 110, 0] and pixels[1, 2].tolist() == [0, 90, 181]
    assert pixels[3, 5].tolist() == [163, 0, 92] and pixels[2, 2].tolist() == [255, 255, 255]


def test_a_module_is_shown_as_a_tree():
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.BatchNorm1d(3)))
    text, tags = shown(model)
    assert tags.count("details") == 4 and text.count(" open>") == 1  # the outermost is open
    assert "0: <b>Linear</b>(in_features=4, out_features=3, bias=True)" in text and "15 parameters" in text
    assert "weight (3, 4) float32" in text and "running_mean (3,) float32 (buffer)" in text
    assert "<b>Sequential</b>() <span style='color:#777'>21 parameters" in text


def test_a_graph_is_shown_as_a_picture_and_a_node_by_its_op():
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert graph(x * 2)._repr_svg_().startswith("<svg")
    assert repr((x * 2).grad_fn) == "<mul, of shape (2,)>"
