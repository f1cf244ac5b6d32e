"""The explorer's page in headless Chromium works by keyboard and mouse, and sends no requests.

    pytest -m browser
"""

import numpy as np
import pytest

import benchmarks.explorer as graphs
from tests.learn.browser import CHROMIUM, Page
from tinygrad_like import Tensor
from tinygrad_like.learn import explore
from tinygrad_like.learn.examples import examples

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]
STATUS = "document.getElementById('status').textContent"


@pytest.fixture
def page(tmp_path):
    model, loss = examples()["gpt_block"]
    with Page(explore(loss, tmp_path / "gpt.html", model).as_uri()) as page:
        yield page
        assert page.problems() == []


def test_keys_step_through_the_graph(page):
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


def test_missing_contributions_are_shown(page):
    page.run("goTo(data.nodes.findIndex((n, k) => n.op === 'add' && n.terms.length === 2), true)")
    text = page.run("panel.textContent")
    assert "The sum of 2 contributions" in text and "not yet" not in text
    add = page.run("now().i")
    page.run(f"go(steps.findIndex((s) => s.backward && title(here().boxes[s.i]) === 'gelu')); choose({add})")
    assert "1 of 2 contributions have arrived." in page.run("panel.textContent")
    assert page.run(f"drawn.get({add}).getAttribute('class')").split()[:3] == ["box", "op", "part"]


def test_boxes_can_be_opened_and_closed(page):
    page.run("go(steps.findIndex((s) => !s.backward && title(here().boxes[s.i]) === 'module self_attn'))")
    before = page.run("left += 20; [left, top_, scale]")
    page.key("Enter")
    assert page.run("$('crumbs').textContent") == "gpt_block / self_attn" or "self_attn" in page.run(
        "$('crumbs').textContent")
    for op in "self_attention", "attention":  # an op opens to its definition, whose ops may have their own
        page.run(f"go(steps.findIndex((s) => title(here().boxes[s.i]) === '{op}'))")
        page.key("Enter")
    boxes = page.run("here().boxes.map((b) => b[5]).join()")
    assert "softmax" in boxes and "matmul" in boxes
    for _ in range(3):
        page.key("Backspace")
    assert page.run("view") == 0 and "self_attn" in page.run(STATUS) and page.run("[left, top_, scale]") == before


def test_the_legend_covers_no_box_if_there_is_room(tmp_path):
    names, loss = examples()["mlp"]
    with Page(explore(loss, tmp_path / "mlp.html", names).as_uri(), 1280, 700) as page:
        assert page.run("""here().boxes.every(([, , x, y, w]) => top_ + (y + HALF) * scale < $('legend').offsetTop ||
            left + (x - w / 2) * scale > $('legend').offsetLeft + $('legend').offsetWidth)""")


def test_the_page_introduces_itself(page):
    assert "Forward" in page.run("$('intro').textContent") and ".grad" in page.run("$('intro').textContent")
    assert page.run("$('legend').open") and "module" in page.run("$('legend').textContent")
    page.run("$('started').click()")
    assert page.run("$('intro') === null")
    page.key("End")
    assert ".grad" in page.run("panel.querySelector('h3').textContent")
    page.run("goTo(data.nodes.findIndex((n) => n.op === 'linear'), true)")
    page.wait("!due")
    assert "dW=g⊤x" in page.run("panel.querySelector('[aria-label=\"the rule\"]').textContent")
    page.run("show(0); choose(here().boxes.findIndex((b) => kind(b) === 'data'))")
    assert "data, which need no gradient" in page.run("panel.textContent")


def test_on_a_phone_nothing_overflows(tmp_path):
    model, loss = examples()["mlp"]
    with Page(explore(loss, tmp_path / "mlp.html", model).as_uri(), width=390, height=844) as page:
        assert page.run("document.documentElement.scrollWidth") <= 390 and not page.run("$('legend').open")
        sides = page.run("[...document.querySelectorAll('footer *')].map((e) => e.getBoundingClientRect().right)")
        assert max(sides) <= 390 and page.problems() == []


def test_an_op_can_be_found_by_keyboard(page):
    page.key("/")
    for letter in "gelu":
        page.key(letter)
    assert not page.run("$('found').hidden")
    page.key("ArrowDown")
    page.key("Enter")
    assert "gelu" in page.run(STATUS) and page.run("$('found').hidden")


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
    computed = page.run("data.nodes.filter((n) => !n.data).length")  # data are in the panel of the op that gets them
    assert reached == [computed, page.run("data.views.length")]


def test_the_mouse_drags_chooses_zooms_and_shows_shapes(page):
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
    page.key("0")
    x, y = page.run("""(() => { const p = here().paths[0], r = stage.getBoundingClientRect();
        return [r.x + left + p[2] * scale, r.y + top_ + (p[3] + HALF + 3) * scale]; })()""")
    page.mouse("mouseMoved", x, y)
    tip = "$('tooltip').hidden ? '' : $('tooltip').textContent"
    assert page.run(tip) == page.run("""(() => { const [a, b] = here().paths[0].slice(0, 2).map((i) => here().boxes[i]);
        return `${title(a)} to ${title(b)}: ${shape(node(facts(a).last).shape)}`; })()""")
    page.mouse("mouseMoved", 5, 500)
    assert page.run(tip) == "" and page.problems() == []


@pytest.mark.parametrize("name", ["mlp", "resnet_s", "gpt_block"])
def test_every_step_of_the_examples_is_shown(tmp_path, name):
    """By arrow key forward and backward to the end; every step is named, in sight, and in the document."""
    model, loss = examples()[name]
    with Page(explore(loss, tmp_path / "g.html", model, title=name).as_uri()) as page:
        steps, forward = page.run("[steps.length, steps.filter((s) => !s.backward).length]")
        sizes = "[stage.clientHeight, $('slider').clientWidth]"
        before = page.run(sizes)
        for k in range(steps):
            way = f"forward {k + 1} of {forward}" if k < forward else f"backward {k - forward + 1} of {steps - forward}"
            assert page.run(STATUS).startswith(way) and page.run("inSight(now().i)")
            assert page.run("$('slider').value") == str(k) and page.run("panel.querySelector('h2').textContent")
            assert page.run(sizes) == before  # what grew would shift the view
            assert page.run("drawn.get(now().i).getAttribute('class')").endswith("now")
            page.key("ArrowRight")
        fused = page.run("here().boxes.findIndex((b) => kind(b) === 'op' && opens(b) >= 0)")
        page.run(f"open({fused})")
        assert page.run("view") > 0 and page.run("steps.length") > 2
        page.key("Backspace")
        assert page.run("view") == 0 and page.problems() == []


def test_the_play_button_starts_and_stops(page):
    page.run("$('play').focus()")
    page.key(" ")
    assert page.run("$('play').getAttribute('aria-pressed')") == "true"
    page.wait("step >= 2")
    page.key(" ")
    assert page.run("$('play').textContent") == "Play" and page.run("timer") is None


def test_problems_of_a_page_are_noticed(tmp_path):
    """The other tests rely on it: an error, a console entry and a request are all noted."""
    path = tmp_path / "bad.html"
    path.write_text("<script>document.documentElement.dataset.ready = 'yes'; console.error('broken');"
                    "fetch('http://127.0.0.1:9/x').catch(() => 0); throw new Error('thrown')</script>")
    with Page(path.as_uri()) as page:
        told = " ".join(page.problems())
        assert "broken" in told and "http://127.0.0.1:9/x" in told and "thrown" in told


def test_the_theme_follows_the_system(tmp_path):
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


@pytest.mark.parametrize("graph", [graphs.chain, graphs.mesh])
def test_two_thousand_nodes_can_be_explored(tmp_path, graph):
    path = explore(graph, tmp_path / "g.html")
    assert path.stat().st_size < 3e6
    with Page(path.as_uri()) as page:
        nodes = page.run("data.nodes.filter((n) => !n.data).length")
        assert nodes >= 2000
        assert 0 < page.run("drawn.size") < 300  # what is out of sight is not in the document
        page.key("End")
        assert page.run("inSight(now().i)") and page.run(STATUS).startswith(f"backward {nodes} of {nodes}")
        page.key("0")
        page.wait("scale < FAR && drawn.size === 0")
        painted = "pen.getImageData(0, 0, map.width, map.height).data.some((v) => v)"
        page.wait(painted)
        page.run("left = -1e6; moved()")
        page.wait(f"!({painted})")
        page.run("scale = 1; centre(now().i)")
        page.wait("drawn.has(now().i)")
        assert page.problems() == []
