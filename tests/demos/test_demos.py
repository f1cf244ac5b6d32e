"""The demos run short: what they print, and what they leave on disk."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import activations, augmentations, figures, moons
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


@pytest.mark.parametrize("options, name", [
    (["moons", "--steps", "0"], "--steps"), (["moons", "--lr", "nan"], "--lr"), (["moons", "--out", "."], "--out"),
    (["neural_ode", "--steps", "0"], "--steps"), (["lesion", "--blocks", "0"], "--blocks"),
    (["regularization", "--each", "2"], "--each"), (["uncertainty", "--p", "1"], "--p"),
    (["scale_invariance", "--scales", "0"], "--scales"), (["gradient_depth", "--width", "x"], "--width"),
    (["augmentations", "--data-dir", "."], "--data-dir"), (["augmentations", "--rows", "11"], "--rows"),
    (["activations", "--range", "inf"], "--range"),
])
def test_options_that_make_no_sense_are_refused(options, name, capsys):
    with pytest.raises(SystemExit) as stop:
        import_module(f"demos.{options[0]}").main(options[1:])
    assert stop.value.code == 2 and f"error: argument {name}: " in capsys.readouterr().err


def test_steps_given_twice_are_drawn_once(tmp_path, capsys):
    moons.main(["--steps", "9", "5", "5", "--out", str(tmp_path / "figure.png")])
    assert [line[:10] for line in capsys.readouterr().out.splitlines()[:-1]] == ["step     5", "step     9"]


def test_a_picture_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    with figures.style():
        fig = figures.figure(1, 1)
        figures.save(fig, tmp_path / "figure.png")
        before = (tmp_path / "figure.png").read_bytes()

        def full(path, **options):
            path.write_bytes(before[:99])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(fig, "savefig", full)
        with pytest.raises(OSError, match=r"No space left on device: '.*figure.png'"):
            figures.save(fig, tmp_path / "figure.png")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]
