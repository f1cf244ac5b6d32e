"""The demos run short: what they print, what they leave on disk, and that the same seed gives the same numbers."""

import csv
import struct
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos.progress import Progress

from demos import activations, augmentations, figures, moons, train
from tinygrad_like import manual_seed

PNG = b"\x89PNG\r\n\x1a\n"


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_train_leaves_curves_and_picture(tmp_path, capsys):
    results = train.main(["--epochs", "3", "--limit", "400", "--width", "32", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert [r.model for r in results] == ["mlp", "resnet_s"]
    for result in results:
        path = tmp_path / f"{result.model}_digits_split0"
        curves = rows(path.with_suffix(".csv"))
        assert [int(row["epoch"]) for row in curves] == [1, 2, 3]
        assert float(curves[-1]["loss"]) < float(curves[0]["loss"])
        assert float(curves[-1]["test_accuracy"]) == result.accuracy
        assert path.with_suffix(".png").read_bytes().startswith(PNG)
        assert f"test accuracy {result.accuracy:.2%}" in printed
        assert f"picture: {path.with_suffix('.png')}" in printed
    # a table of both at the end; parameters as in 001: (d + 1) m_1 + (m_1 + 1) m_2 + ...
    assert f"mlp              {65 * 32 + 33 * 32 + 33 * 10:,}" in printed.splitlines()[-2]


def test_same_seed_same_numbers(tmp_path):
    def run(*options):
        (result,) = train.main(["--model", "resnet_s", "--depth", "2", "--epochs", "2", "--limit", "300",
                                "--shift", "1", "--out", str(tmp_path), *options])
        return [(e.loss, e.train_accuracy, e.test_accuracy, e.lr) for e in result.epochs], result.predictions.tolist()

    first = run("--seed", "1")
    assert first == run("--seed", "1")
    assert first != run("--seed", "2")
    assert first != run("--seed", "1", "--split-seed", "1")


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw", "rmsprop"])
@pytest.mark.parametrize("schedule", ["one_cycle", "cosine", "constant"])
def test_every_optimizer_and_schedule_learns(tmp_path, monkeypatch, optimizer, schedule):
    monkeypatch.setattr(train, "figures", None)
    (result,) = train.main(["--model", "mlp", "--epochs", "8", "--limit", "600", "--optimizer", optimizer,
                            "--schedule", schedule, "--out", str(tmp_path)])
    assert result.accuracy > 0.7
    assert (result.epochs[-1].lr == result.epochs[0].lr) == (schedule == "constant")


def test_digits_are_read_as_well_as_promised(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(train, "figures", None)
    results = train.main(["--model", "mlp", "--repeat-splits", "0,1,2", "--out", str(tmp_path)])
    mean = np.mean([r.accuracy for r in results])
    assert mean >= 0.972
    assert capsys.readouterr().out.splitlines()[-1].split()[2:4] == ["mean", f"{mean:.2%}"]


def test_without_matplotlib_it_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(train, "figures", None)
    train.main(["--model", "mlp", "--epochs", "1", "--limit", "100", "--schedule", "constant", "--out", str(tmp_path)])
    assert "pip install 'tinygrad-like[demos]'" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.png")) and len(list(tmp_path.glob("*.csv"))) == 1


@pytest.mark.parametrize("data", ["mnist", "fashion"])
def test_train_on_idx_files(tmp_path, data):
    rng = np.random.default_rng(0)
    for part, n in (("train", 60), ("t10k", 20)):
        labels = np.arange(n, dtype=np.uint8) % 10
        images = rng.integers(0, 30, (n, 28, 28), np.uint8)
        images[np.arange(n), 2 * labels] = 255  # the label is a bright row
        header = struct.pack(">4B3I", 0, 0, 8, 3, n, 28, 28)
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(header + images.tobytes())
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, n) + labels.tobytes())
    (result,) = train.main(["--model", "mlp", "--data", data, "--data-dir", str(tmp_path), "--width", "64",
                            "--epochs", "15", "--batch-size", "20", "--schedule", "constant",
                            "--out", str(tmp_path / "runs")])
    assert result.accuracy == 1.0
    assert (tmp_path / "runs" / f"mlp_{data}.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("options, message", [
    (["--data", "mnist"], "needs --data-dir"),
    (["--data", "mnist", "--data-dir", ".", "--repeat-splits", "0,1"], "test set of its own"),
    (["--epochs", "0"], "'0' is no whole number of at least 1"),
    (["--repeat-splits", "0,x"], "'x' is no whole number"),
])
def test_options_that_make_no_sense_are_refused(options, message, capsys):
    with pytest.raises(SystemExit):
        train.main(options)
    assert message in capsys.readouterr().err


def test_report_of_a_perfect_and_of_a_hopeless_model(tmp_path):
    epochs = [train.Epoch(1, 2.0, 0.1, 0.1, 1e-3, 1.0, 10.0)]
    images, labels = np.zeros((40, 1, 8, 8)), np.arange(40) % 10
    for name, read in (("perfect", labels), ("hopeless", np.full(40, 3))):
        path = figures.training_report(tmp_path / f"{name}.png", name, epochs, images, labels, read, train.DIGITS)
        assert path.read_bytes().startswith(PNG)


def test_progress_without_a_terminal_prints_plain_lines(capsys):
    with Progress(2, "work") as progress:
        progress.update()
        progress.write("a line")
    assert capsys.readouterr() == ("a line\n", "")


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
