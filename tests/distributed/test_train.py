"""python -m demos.train on several ranks."""

import csv

import pytest

pytestmark = pytest.mark.slow


def rows(path):
    with path.open() as file:
        return [{k: float(v) for k, v in row.items() if "seconds" not in k and "per_second" not in k}
                for row in csv.DictReader(file)]


def test_the_demo_trains_on_two_ranks_as_on_one_and_prints_once(job, tmp_path):
    options = ["--model", "mlp", "--epochs", 2, "--limit", 300, "--augment", "light", "--early-stop", 3]
    found = {}
    for ranks in (1, 2):
        status, out, err = job(ranks, "demos.train", *options, "--out", tmp_path / str(ranks))
        assert status == 0, err
        assert out.count("\ntest accuracy") == out.count("\n    2 ") == 1
        assert {path.suffix for path in (tmp_path / str(ranks)).iterdir()} == {
            ".csv", ".png", ".safetensors", ".ckpt", ".previous"}
        found[ranks] = rows(tmp_path / str(ranks) / "mlp_digits_split0.csv")
    for one, two in zip(found[1], found[2], strict=True):
        assert two == pytest.approx(one, rel=1e-3, abs=0.02)
    options[3] = 3
    status, out, err = job(2, "demos.train", *options, "--resume", "--out", tmp_path / "1")
    assert status == 0 and "\n    3 " in out, err


@pytest.mark.parametrize("module, options, message", [
    ("demos.train", ["--model", "nothing"], "argument --model: invalid choice"),
    ("demos.train", ["--model", "mlp", "--resume"], "there is no checkpoint"),
    ("demos.moons", [], "python -m demos.moons runs as one process, not on several MPI ranks"),
])
def test_bad_options_are_reported_once(job, tmp_path, module, options, message):
    out = ["--out", tmp_path] if module == "demos.train" else []
    status, _, err = job(2, module, *options, *out)
    assert status != 0 and err.count(message) == 1 and "Traceback" not in err, err
