"""Short runs of the language model: output, files, resuming, and evaluation."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import nn
from demos import language
from tinygrad_like import Tensor, manual_seed, ops
from tinygrad_like.training import Log

SMALL = ["--d-model", "16", "--layers", "1", "--heads", "2", "--context", "16", "--batch-size", "8", "--length", "50"]


@pytest.fixture
def book(tmp_path):
    """Numbers in words, in order: easy to learn."""
    words = "one two three four five six seven eight nine ten".split()
    path = tmp_path / "book.txt"
    path.write_text(" ".join(words[i % 10] for i in range(3000)))
    return path


def test_a_transformer_learns_to_write(book, tmp_path, capsys):
    out = ["--out", str(tmp_path / "new")]
    result = language.main(["--text", str(book), *SMALL, "--steps", "300", "--evaluations", "3", "--lr", "1e-2", *out])
    printed = capsys.readouterr().out
    assert result["model"] < 1.5 < np.log2(20)
    assert f"5-gram: {result['baseline']:.3f} bits per character" in printed
    assert f"GPT {result['model']:.3f} bits per character" in printed
    assert (tmp_path / "new" / "language.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "new" / "language.csv").read_text().splitlines()) == 4
    text = language.main(["--generate", "one two", "--length", "200", *out])
    assert text.startswith("one two") and len(text) == 207
    assert capsys.readouterr().out == text + "\n"
    words = text.split()[2:-1]
    assert sum(w in "one two three four five six seven eight nine ten".split() for w in words) > len(words) / 2


def test_a_recurrent_network_learns_to_write(book, tmp_path, capsys):
    kind = "gru"
    out = ["--model", kind, "--out", str(tmp_path)]
    small = ["--d-model", "24", "--layers", "1", "--context", "16", "--batch-size", "8"]
    result = language.main(["--text", str(book), *small,
                            "--length", "50", "--steps", "200", "--evaluations", "2", "--lr", "2e-2", *out])
    assert result["model"] < 1.5 and f"{kind.upper()} {result['model']:.3f} bits per" in capsys.readouterr().out
    assert (tmp_path / f"language_{kind}.png").read_bytes().startswith(b"\x89PNG")
    assert language.main(["--generate", "one two", "--length", "20", *out]).startswith("one two")


def test_a_resumed_run_ends_like_an_uninterrupted_one(book, tmp_path, monkeypatch, capsys):
    options = ["--text", str(book), *SMALL, "--steps", "12", "--evaluations", "3"]
    whole = language.main([*options, "--out", str(tmp_path / "whole")])

    class Killed(Exception):
        pass

    def after_two(self, row, record=Log.epoch):
        record(self, row)
        if row["epoch"] == 2:
            raise Killed

    out = ["--out", str(tmp_path / "parts")]
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Log, "epoch", after_two)
        language.main([*options, *out])
    assert language.main([*options, *out, "--resume", "--length", "20"]) == whole
    ours, theirs = (language.load(tmp_path / run / "language.safetensors")[0].state_dict()
                    for run in ("whole", "parts"))
    assert all(np.array_equal(ours[name].detach().numpy(), theirs[name].detach().numpy()) for name in ours)
    capsys.readouterr()
    with pytest.raises(SystemExit, match="error: .*other settings .steps per evaluation: 4 then, 3 now"):
        language.main([*options, *out, "--resume", "--steps", "9"])
    # One more evaluation
    language.main([*options, *out, "--resume", "--steps", "16", "--evaluations", "4", "--length", "20"])
    assert len((tmp_path / "parts" / "language.csv").read_text().splitlines()) == 5


@pytest.mark.parametrize("context", [7, 8])
@pytest.mark.parametrize("length", [2, 9, 10, 17, 40])
def test_bits_are_those_of_each_token_given_its_window(length, context):
    manual_seed(0)
    model = nn.LanguageModel(7, 16, 1, 2, positions="rotary")
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.assign(parameter.detach().numpy() * 20)  # else all is equally likely
    tokens = np.random.default_rng(0).integers(7, size=length)
    got = language.bits(model, tokens, context, batch=3)
    assert got.shape == (length - 1,)
    half = context // 2
    for t in range(1, length):
        start = 0
        while start + context < t:  # the first window that reaches so far
            start += half
        logits = model(Tensor(tokens[None, start:t])).detach().numpy()[0, -1]
        assert got[t - 1] == pytest.approx(-ops.log_softmax(logits)[tokens[t]] / np.log(2), rel=1e-4)


def test_generating_needs_a_trained_model(tmp_path):
    with pytest.raises(SystemExit, match="error: .*there is no file"):
        language.main(["--generate", "x", "--out", str(tmp_path)])
