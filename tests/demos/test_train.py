"""Short training runs: their output, their files, how they resume, and what they refuse."""

import csv
import re
import struct

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import figures, recipes, train
from tinygrad_like import Tensor
from tinygrad_like.training import Log

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
        assert path.with_suffix(".safetensors").exists()
        assert f"test accuracy {result.accuracy:.2%}" in printed
        assert f"picture: {path.with_suffix('.png')}" in printed
    # a table of both at the end; parameters as in 001: (d + 1) m_1 + (m_1 + 1) m_2 + ...
    assert f"mlp              {65 * 32 + 33 * 32 + 33 * 10:,}" in printed


def test_same_seed_same_numbers(tmp_path, no_pictures):
    def run(*options):
        (result,) = train.main(["--model", "resnet_s", "--depth", "1", "--epochs", "2", "--limit", "150",
                                "--augment", "randaugment", "--mixup", "0.2", "--out", str(tmp_path), *options])
        numbers = [{k: v for k, v in row.items() if "second" not in k} for row in result.rows]
        return numbers, result.predictions.tolist()

    first = run("--seed", "1")
    assert first == run("--seed", "1")
    assert first != run("--seed", "2")
    assert first != run("--seed", "1", "--split-seed", "1")


@pytest.mark.parametrize("optimizer, schedule", [
    ("sgd", "one_cycle"), ("adam", "cosine"), ("rmsprop", "plateau"), ("adamw", "constant")])
def test_every_optimizer_and_schedule_learns(tmp_path, optimizer, schedule, no_pictures):
    (result,) = train.main(["--model", "mlp", "--epochs", "8", "--limit", "600", "--optimizer", optimizer,
                            "--schedule", schedule, "--out", str(tmp_path)])
    assert result.accuracy > 0.65
    rates = [row["lr"] for row in result.rows]
    assert (rates[-1] == rates[0]) == (schedule in ("constant", "plateau"))
    assert ("val_accuracy" in result.rows[0]) == (schedule == "plateau")


def test_digits_are_read_with_the_promised_accuracy(tmp_path, capsys, no_pictures):
    results = train.main(["--model", "mlp", "--repeat-splits", "0,1", "--out", str(tmp_path)])
    mean = np.mean([r.accuracy for r in results])
    assert mean >= 0.972
    table = capsys.readouterr().out.rpartition("\nmodel ")[2]  # followed by the compilation time, if long
    assert table.splitlines()[3].split()[2:4] == ["mean", f"{mean:.2%}"]


@pytest.mark.slow
def test_a_convolutional_net_reads_digits_better(tmp_path, no_pictures):
    (result,) = train.main(["--model", "resnet8", "--epochs", "10", "--out", str(tmp_path)])
    assert result.accuracy >= 0.97  # with all of its epochs, on average over splits, 98.6 %


def test_training_reads_idx_files(tmp_path):
    rng = np.random.default_rng(0)
    for part, n in (("train", 60), ("t10k", 20)):
        labels = np.arange(n, dtype=np.uint8) % 10
        images = rng.integers(0, 30, (n, 28, 28), np.uint8)
        images[np.arange(n), 2 * labels] = 255  # the label is a bright row
        header = struct.pack(">4B3I", 0, 0, 8, 3, n, 28, 28)
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(header + images.tobytes())
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, n) + labels.tobytes())
    (result,) = train.main(["--model", "mlp", "--data", "fashion", "--data-dir", str(tmp_path), "--width", "64",
                            "--epochs=15", "--batch-size=20", "--schedule=constant", "--out", str(tmp_path / "runs")])
    assert result.accuracy == 1.0
    assert (tmp_path / "runs" / "mlp_fashion.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("options", [
    [], ["--early-stop", "3", "--schedule", "plateau", "--ema", "0.9", "--cutmix", "1"],
])
def test_a_resumed_run_ends_like_an_uninterrupted_one(tmp_path, monkeypatch, capsys, options, no_pictures):
    base = ["--model", "mlp", "--epochs", "6", "--limit", "300", "--width", "32", "--augment", "light", *options]
    train.main([*base, "--out", str(tmp_path / "whole")])

    class Killed(Exception):
        pass

    def after_three(self, row, record=Log.epoch):
        record(self, row)
        if row["epoch"] == 3:
            raise Killed

    out = ["--out", str(tmp_path / "parts")]
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Log, "epoch", after_three)
        train.main([*base, *out])
    for resume in ("--resume", "--resume=previous"):
        capsys.readouterr()
        train.main([*base, *out, resume])
        assert re.search(rf"^ +{4 if resume == '--resume' else 6} ", capsys.readouterr().out, re.M)
        whole, parts = (recipes.load_net(tmp_path / run / "mlp_digits_split0.safetensors")[0].state_dict()
                        for run in ("whole", "parts"))
        assert all(np.array_equal(whole[name].numpy(), parts[name].numpy()) for name in whole)
        ours, theirs = ([{k: v for k, v in row.items() if "second" not in k}
                         for row in rows(tmp_path / run / "mlp_digits_split0.csv")] for run in ("whole", "parts"))
        assert ours == theirs and len(ours) == 6


def test_resuming_also_starts_the_runs_that_had_not_begun(tmp_path, no_pictures):
    options = ["--epochs", "2", "--limit", "200", "--width", "16", "--out", str(tmp_path)]
    train.main([*options, "--model", "mlp"])
    assert [r.model for r in train.main([*options, "--resume"])] == ["mlp", "resnet_s"]


def test_l1_clipping_and_accumulation_take_effect(tmp_path, no_pictures):
    def run(*options):
        (result,) = train.main(["--model", "mlp", "--limit", "400", "--epochs", "4", "--width", "32", "--out",
                                str(tmp_path), *options])
        weights = recipes.load_net(tmp_path / "mlp_digits_split0.safetensors")[0].state_dict().values()
        return result.rows[-1]["lr"], sum(float(np.abs(w.numpy()).sum()) for w in weights)

    plain = run()
    assert run("--l1", "0.01")[1] < 0.9 * plain[1]
    assert run("--clip-norm", "0.001")[1] != plain[1]
    assert run("--accumulate", "7")[0] < plain[0] / 1000  # an epoch is one step, and the last has the schedule's end


def test_early_stopping_uses_separate_validation_images(tmp_path, no_pictures):
    args = train.parse(["--early-stop", "2"])
    data, plain = train.load(args, 0), train.load(train.parse([]), 0)
    assert len(data.x_train) + len(data.x_val) == len(plain.x_train) and len(data.x_val) == 143
    assert np.array_equal(data.x_test, plain.x_test)
    flat = [{image.tobytes() for image in part} for part in (data.x_train, data.x_val, data.x_test)]
    assert not flat[0] & flat[1] and not flat[1] & flat[2]
    (result,) = train.main(["--model", "mlp", "--early-stop", "2", "--epochs", "60", "--out", str(tmp_path)])
    assert len(result.rows) < 60
    scores = [row["val_accuracy"] for row in result.rows]
    assert scores.index(max(scores)) == len(scores) - 3
    assert result.accuracy == result.rows[-3]["test_accuracy"]


def test_options_are_read_from_a_file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('model = "mlp"\nbatch_size = 32\nlabel-smoothing = 0.2\nrepeat_splits = [0, 2]\n'
                    'tensorboard = true\nmixup = 0.3\n')
    args = train.parse(["--config", str(path), "--batch-size", "16", "--no-tensorboard"])
    assert (args.model, args.batch_size, args.label_smoothing, args.repeat_splits, args.tensorboard, args.mixup) == (
        "mlp", 16, 0.2, [0, 2], False, 0.3)
    assert train.parse(["--config", str(path)]).tensorboard


@pytest.mark.parametrize("text, message", [
    ("batchsize = 3", "unknown key 'batchsize'; did you mean 'batch-size'?"),
    ("[size]\nwidth = 3", "unknown key 'size'"),
    ("epochs = 0", "must be a whole number of at least 1, not '0'"),
    ('data = "mnits"', "invalid choice: 'mnits'"),
    ("epochs = ", "Invalid value"),
    ("a = " + 2000 * "[", "recursion"),
    ("epochs = 0x" + 5000 * "9", "run.toml: Exceeds the limit"),
    (None, "there is no file"),
])
def test_bad_files_are_refused(tmp_path, capsys, text, message):
    path = tmp_path / "run.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(SystemExit):
        train.main(["--config", str(path)])
    assert message in capsys.readouterr().err


def test_pictures_and_tensorboard_are_written_during_training(tmp_path, monkeypatch):
    pytest.importorskip("tensorboardX")
    drawn = []
    monkeypatch.setattr(figures, "training_curves", lambda path, title, rows, least: drawn.append(len(rows)))
    monkeypatch.setattr(train, "Log", lambda *a, **k: Log(*a, **{**k, "picture_seconds": 0}))
    train.main(["--model", "mlp", "--epochs", "3", "--limit", "100", "--tensorboard", "--out", str(tmp_path)])
    assert drawn == [1, 2, 3]
    assert len(list((tmp_path / "tensorboard" / "mlp_digits_split0").glob("events.out.tfevents.*"))) == 1


@pytest.mark.parametrize("data, model", recipes.RECIPES)
def test_every_recipe_builds_a_net_and_knows_its_options(data, model):
    args = train.parse(["--data", data, "--model", model])
    options = train.settings(args, model)
    assert options["lr"] > 0 and set(options) <= set(vars(args))
    shape = {"digits": (1, 8, 8), "cifar10": (3, 32, 32)}.get(data, (1, 28, 28))
    net = recipes.MODELS[model].build(shape, 10, options.get("width"), options.get("depth"))
    assert net.eval()(Tensor.zeros(2, *shape)).shape == (2, 10)


def test_options_override_the_recipe(monkeypatch):
    monkeypatch.setitem(recipes.RECIPES, ("digits", "mlp"), dict(width=8, depth=1, epochs=2, batch_size=4, lr=7.0,
                                                                 label_smoothing=0.0, augment="light"))
    options = train.settings(train.parse(["--width", "9", "--label-smoothing", "0.3"]), "mlp")
    assert options == dict(width=9, depth=1, epochs=2, batch_size=4, lr=7.0, label_smoothing=0.3, augment="light",
                           optimizer="adamw", schedule="one_cycle", weight_decay=0.01, norm=None, activation=None,
                           dropout=None)
    assert train.settings(train.parse(["--optimizer", "sgd"]), "mlp")["lr"] == recipes.LEARNING_RATES["sgd"]
