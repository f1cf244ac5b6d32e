"""Layers to write and scripts with a bug: every solution passes, and no mistake does."""

import re

import pytest

from tinygrad_like.learn.exercises import NAMES, checked, sections, text

WRONG_LAYERS = [
    ("layer_dropout", " / (1 - self.p)", "", "must be x / \\(1 - p\\)"),
    ("layer_dropout", "rand(*x.shape) >=", "rand(*x.shape) <", "must be x / \\(1 - p\\)|a share p = 0.2"),
    ("layer_dropout", "rand(*x.shape)", "rand(x.shape[1])", "each element must be dropped independently"),
    ("layer_dropout", "return x * kept", "return x.detach() * kept", "the gradient|backward|grad"),
    ("layer_dropout", "if not self.training:", "if False:", "in evaluation the layer must return x unchanged"),
    ("layer_batch_norm", "x.var(0, correction=0)", "x.var(0)", "in training, the output differs"),
    ("layer_batch_norm", " * n / (n - 1)", "", "in training, running_var differs"),
    ("layer_batch_norm", "(x - mean) /", "(x - mean.detach()) /", "in training, the gradient of x differs"),
    ("layer_batch_norm", "mean, var = self.running_mean, self.running_var",
     "mean, var = x.mean(0), x.var(0, correction=0)", "in evaluation, the output differs"),
]


def report(tmp_path, name, code):
    path = tmp_path / f"30_{name}.py"
    path.write_text(code)
    return checked(path)


@pytest.mark.parametrize("name, right, wrong, said", WRONG_LAYERS)
def test_a_wrong_layer_is_distinguished_from_the_built_in_one(tmp_path, name, right, wrong, said):
    solution = text(name, solved=True)
    assert right in solution
    found = report(tmp_path, name, solution.replace(right, wrong))
    assert not found.right
    assert re.search(said, str(found)), found


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("layer")])
def test_a_right_layer_passes(tmp_path, name):
    assert report(tmp_path, name, text(name, solved=True)).right
    assert report(tmp_path, name, text(name)).findings[0].kind == "open"
    assert not report(tmp_path, name, text(name) + "\n").right


def test_a_script_passes_only_without_its_bug(tmp_path):
    script = sections()["script"].blocks[0]
    assert len(NAMES) == 12 and all(script.count(sections()[n].blocks[0]) == 1 for n in NAMES if n.startswith("bug"))
    assert report(tmp_path, "bug_01", text("bug_01", solved=True)).right
    for name in NAMES:
        if name.startswith("bug"):
            found = report(tmp_path, name, text(name) + "\n")  # changed, and so run
            assert not found.right and "bug" not in found.findings[0].text, found
            assert text(name).count("# Hint") == 2
    assert "history must hold numbers" in str(report(tmp_path, "bug_07", text("bug_07") + "\n"))
