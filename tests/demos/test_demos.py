"""The demos run short: what they print, and what they leave on disk."""

import shlex
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import activations, augmentations, figures, moons

PNG = b"\x89PNG\r\n\x1a\n"


def test_moons(tmp_path, capsys):
    moons.main(["--steps", "10", "300", "--out", str(tmp_path / "new" / "figure.png")])
    printed = capsys.readouterr().out.splitlines()
    assert float(printed[1].split()[-1].rstrip("%")) > 97
    assert (tmp_path / "new" / "figure.png").read_bytes().startswith(PNG)


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


REFUSED = """
    moons --steps 0 | argument --steps:
    moons --lr nan | argument --lr:
    moons --out . | argument --out:
    neural_ode --steps 0 | argument --steps:
    lesion --blocks 0 | argument --blocks:
    regularization --each 2 | argument --each:
    uncertainty --p 1 | argument --p:
    scale_invariance --scales 0 | argument --scales:
    gradient_depth --width x | argument --width:
    augmentations --data-dir . | argument --data-dir:
    augmentations --rows 11 | argument --rows:
    activations --range inf | argument --range:
    filters --image 99999 | argument --image: 99999 is beyond the last test image, 358
    filters --epochs 3 --net FILE | argument --epochs: is for a net that is trained here
    finetune --data mnist --model vit | there is no recipe for vit on mnist
    finetune --classes 77 | argument --classes: must be 2 to 8 of the numbers from 0 to 9
    finetune --classes 3 3 | argument --classes: must be 2 to 8
    finetune --examples 0 | argument --examples: must be a whole number of at least 1
    finetune --examples 1 1000 | argument --examples: must be at most 1
    finetune --model mlp --net FILE | argument --model: is for a net that is trained here
    finetune --data-dir . | argument --data-dir: the digits come with the package
    finetune --out figure.pdf | must be a file whose name ends in .png
    language --text nowhere.txt | argument --text: there is no file 'nowhere.txt'
    language --context 1 | argument --context: must be a whole number of at least 2
    language --generate "" | at least one character
    language --d-model 30 | argument --d-model: must be a multiple of twice --heads 4
    language --temperature -1 | argument --temperature: must be a number at least 0
    language --resume --out nowhere | there is no nowhere/language.ckpt to go on from
    sort --length 0 | argument --length: must be a whole number from 1 to 18
    sort --d-model 6 --heads 4 | argument --d-model: must be an even multiple of --heads 4
    sort --examples 5 --epochs 1 | make 1 steps; it takes at least 11
    sort --resume --out nowhere | there is no nowhere/sort.ckpt to go on from
    train --mixup 0.2 --cutmix 1 | not allowed with
    train --resume oldest | invalid choice
    train --epoch 3 | unrecognized arguments
    train --data mnist --data-dir . --repeat-splits 0,1 | test set of its own
    train --epochs 0 | argument --epochs: must be a whole number of at least 1, not '0'
    train --repeat-splits 0,x | must be a whole number of at least 0, not 'x'
    train --lr nan | argument --lr: must be a number above 0 and at most 10, not 'nan'
    train --lr 1e6 | argument --lr: must be
    train --label-smoothing 1 | argument --label-smoothing: must be a number at least 0 and below 1
    train --threads 9999 | argument --threads: must be a whole number from 1 to
    train --out FILE | argument --out: must be a folder, but
    train --out FILE/runs | is a file, so there can be no folder
    train --config nowhere.toml | argument --config: there is no file 'nowhere.toml'
    train --validation 0.2 | argument --validation: nothing is decided by it without --early-stop
    train --data-dir . | argument --data-dir: the digits come with the package
    train --model vit --width 20 | argument --width: must be a multiple of 16
    train --model mlp --limit 5 --epochs 1 | make 1 of the 4 steps that one_cycle takes
    train --resume | there is no checkpoint
    train --split-seed 1 --repeat-splits 0,1 | argument --split-seed: is for one split
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_options_that_make_no_sense_are_refused(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command, message = line.split(" | ")
    demo, *options = shlex.split(command.replace("FILE", __file__))
    with pytest.raises(SystemExit) as stop:
        import_module(f"demos.{demo}").main(options)
    assert stop.value.code == 2 and message.strip() in capsys.readouterr().err


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
