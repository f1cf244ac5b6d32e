"""All demos: refused options, tables, legends, and pictures written whole."""

import shlex
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from demos import augmentations, cli, figures
from tinygrad_like import Tensor, manual_seed


def test_augmentations_are_drawn(tmp_path, capsys):
    augmentations.main(["--rows", "2", "--columns", "2", "--out", str(tmp_path / "new")])
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 13
    for line in printed:
        assert Path(line.removeprefix("picture: ")).read_bytes().startswith(b"\x89PNG")


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
    attention_pictures --dim 6 --heads 2 | argument --dim: must be a multiple of twice --heads 2
    augmentations --data-dir . | argument --data-dir:
    augmentations --rows 11 | argument --rows:
    activations --range inf | argument --range:
    filters --image 99999 | argument --image: 99999 is beyond the last test image, 358
    filters --epochs 3 --net FILE | argument --epochs: cannot be combined with --net
    finetune --data mnist --model vit | there is no recipe for vit on mnist
    finetune --classes 77 | argument --classes: must be 2 to 8 of the numbers from 0 to 9
    finetune --classes 3 3 | argument --classes: must be 2 to 8
    finetune --examples 0 | argument --examples: must be a whole number of at least 1
    finetune --examples 1 1000 | argument --examples: must be at most 1
    finetune --model mlp --net FILE | argument --model: cannot be combined with --net
    finetune --data-dir . | argument --data-dir: the digits come with the package
    finetune --out figure.pdf | must be a file whose name ends in .png
    language --text nowhere.txt | argument --text: there is no file 'nowhere.txt'
    language --context 1 | argument --context: must be a whole number of at least 2
    language --generate "" | at least one character
    language --d-model 30 | argument --d-model: must be a multiple of twice --heads 4
    language --temperature -1 | argument --temperature: must be a number at least 0
    language --resume --out nowhere | there is no checkpoint nowhere/language.ckpt
    sort --length 0 | argument --length: must be a whole number from 1 to 18
    sort --d-model 6 --heads 4 | argument --d-model: must be an even multiple of --heads 4
    sort --examples 5 --epochs 1 | make 1 steps; at least 11 are needed
    sort --resume --out nowhere | there is no checkpoint nowhere/sort.ckpt
    train --mixup 0.2 --cutmix 1 | not allowed with
    train --resume oldest | invalid choice
    train --epoch 3 | unrecognized arguments
    train --data mnist --data-dir . --repeat-splits 0,1 | mnist has its own test set
    train --epochs 0 | argument --epochs: must be a whole number of at least 1, not '0'
    train --repeat-splits 0,x | must be a whole number of at least 0, not 'x'
    train --lr nan | argument --lr: must be a number above 0 and at most 10, not 'nan'
    train --lr 1e6 | argument --lr: must be
    train --label-smoothing 1 | argument --label-smoothing: must be a number at least 0 and below 1
    train --threads 9999 | argument --threads: must be a whole number from 1 to
    train --out FILE | argument --out: must be a folder, but
    train --out FILE/runs | is a file, so
    train --config nowhere.toml | argument --config: there is no file 'nowhere.toml'
    train --validation 0.2 | argument --validation: has no use without --early-stop
    train --data-dir . | argument --data-dir: the digits come with the package
    train --model vit --width 20 | argument --width: must be a multiple of 16
    train --model mlp --limit 5 --epochs 1 | make 1 steps, but one_cycle needs 4
    train --model vit --norm batch | vit has layer, rms, not batch
    train --model resnet8 --norm rms | not rms
    train --resume | there is no checkpoint
    train --split-seed 1 --repeat-splits 0,1 | argument --split-seed: is for one split
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_bad_options_are_refused(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command, message = line.split(" | ")
    demo, *options = shlex.split(command.replace("FILE", __file__))
    with pytest.raises(SystemExit) as stop:
        import_module(f"demos.{demo}").main(options)
    assert stop.value.code == 2 and message.strip() in capsys.readouterr().err


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


def test_quick_sets_the_options_in_its_help_and_yields_to_others():
    parser = cli.parser("name", "", draws=True, seeds=3, quick=dict(sizes=[1, 2], seeds=1))
    parser.add_argument("--sizes", type=cli.whole(), nargs="+", default=[4])
    assert "it sets --sizes 1 2 --seeds 1" in " ".join(parser.format_help().split())
    for words, expected in (([], ([4], 3)), (["--quick"], ([1, 2], 1)), (["--quick", "--seeds", "2"], ([1, 2], 2))):
        args = parser.parse_args(words)
        assert (args.sizes, args.seeds) == expected


def test_every_case_runs_with_every_seed():
    args = cli.parser("name", "", seeds=2).parse_args(["--seed", "5"])
    drawn = figures.over_seeds(args, "ab", lambda case: Tensor.rand(1).item())
    manual_seed(6)
    assert np.array_equal(drawn["a"], drawn["b"]) and drawn["a"].tolist()[1:] == Tensor.rand(1).tolist()


def test_a_table_shows_mean_and_deviation(capsys):
    figures.table("title", [1, 0.5], {"x": np.array([[0.1, 0.2], [0.3, 0.2]])})
    assert capsys.readouterr().out == "title\n              1         0.5\n  x  20.0 ±10.0   20.0 ±0.0\n"
    figures.table("title", ["a"], {"x": np.array([[1.0], [10.0], [1000.0]])}, ".0e", 1)
    assert capsys.readouterr().out == "title\n         a\n  x  1e+01\n"


def test_a_slide_has_one_legend_of_all_lines(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(figures, "save", lambda fig, path: seen.append(fig) or path)
    with figures.slide(tmp_path / "a.png", "title", 1, 2) as (left, right):
        for axes in (left, right):
            figures.spread(axes, [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]), label="line", color="red")
        right.plot([1, 2], [1, 2], label="another")
    fig, = seen
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["line", "another"]
    assert tuple(fig.get_size_inches()) == figures.SLIDE and not any(axes.get_legend() for axes in fig.axes)
    with figures.slide(tmp_path / "b.png", "title", 1, 3, note="a note") as panels:
        for axes, name in zip(panels, ("left", "middle", "right"), strict=True):
            axes.plot([1, 2], [1, 2], label=name)
        panels[1].legend()
    assert [[text.get_text() for text in legend.get_texts()] for legend in seen[1].legends] == [["left"], ["right"]]
    assert [legend.get_title().get_text() for legend in seen[1].legends] == ["a note", ""]
