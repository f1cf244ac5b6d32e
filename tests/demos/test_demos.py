"""The demos run short: what they print, and what they leave on disk."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import activations, augmentations, moons
from tinygrad_like import manual_seed

PNG = b"\x89PNG\r\n\x1a\n"


def test_moons(tmp_path, capsys):
    moons.main(["--steps", "10", "300", "--out", str(tmp_path / "new" / "figure.png")])
    printed = capsys.readouterr().out.splitlines()
    assert float(printed[1].split()[-1].rstrip("%")) > 97
    assert (tmp_path / "new" / "figure.png").read_bytes().startswith(PNG)


def test_two_moons_are_half_circles():
    manual_seed(0)
    points, label = moons.two_moons(200, noise=0.0)
    centre = np.where(label[:, None] == 0, [0.0, 0.0], [1.0, 0.5])
    assert np.allclose(np.linalg.norm(points - centre, axis=1), 1, atol=1e-6)
    assert label.mean() == 0.5


def test_activations(tmp_path, capsys):
    activations.main(["--points", "200", "--out", str(tmp_path / "new" / "figure.png")])
    assert f"picture: {tmp_path / 'new' / 'figure.png'}" in capsys.readouterr().out
    assert (tmp_path / "new" / "figure.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("name", activations.ACTIVATIONS)
def test_activation_derivatives_are_the_slopes_of_the_curves(name):
    points = np.linspace(-3.99, 4, 400)  # steps of 0.02, none at 0
    value, derivative = activations.value_and_derivative(activations.ACTIVATIONS[name][0], points)
    slope = (value[2:] - value[:-2]) / (points[2:] - points[:-2])
    smooth = np.abs(points[1:-1]) > 0.05
    assert np.allclose(slope[smooth], derivative[1:-1][smooth], atol=1e-3)


def test_augmentations(tmp_path, capsys):
    augmentations.main(["--rows", "2", "--columns", "2", "--out", str(tmp_path / "new")])
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 13
    for line in printed:
        assert Path(line.removeprefix("picture: ")).read_bytes().startswith(PNG)


def test_mixed_labels_in_words():
    assert augmentations.in_words(np.array([0, 0.3, 0, 0.7])) == "70% 3, 30% 1"
    assert augmentations.in_words(np.array([0, 0, 1.0])) == "100% 2"
