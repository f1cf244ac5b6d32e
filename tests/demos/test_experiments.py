import shlex
from importlib import import_module

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("PIL")

from PIL import Image

from demos import experiments

PAGE = experiments.ROOT / "docs" / "experiments.md"
SHOWN = [pytest.param(match[1], match[3], id=match[2])
         for match in experiments.BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("command, printed", SHOWN)
def test_a_command_of_the_page_is_valid_and_its_picture_exists(command, printed):
    _, _, module, *options = shlex.split(command)
    args = import_module(module).make_parser().parse_args(options)
    assert printed.endswith(f"picture: {args.out}\n") and printed.count("\n") > 2
    picture = experiments.ROOT / args.out
    assert picture.stat().st_size < 100_000
    with Image.open(picture) as image:
        assert image.width > 600
    assert f"]({args.out.relative_to('docs')})" in PAGE.read_text(encoding="utf-8")


def test_numbers_and_pictures_are_written_again(tmp_path, capsys):
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    block = "```console\n$ python -m demos.convolution --at 1 1 --out docs/a.png\n{}```\n"
    other = "```console\n$ python -m demos.paths\nold\n```\n"
    page.write_text("# Title\n\n" + block.format("old\n") + "\nBetween.\n\n" + other)
    experiments.main(["convolution", "--page", str(page)])
    text = page.read_text()
    assert text.startswith("# Title\n\n") and text.endswith("\nBetween.\n\n" + other)
    _, printed, rest = text.partition("--out docs/a.png\n")[2].partition(" -3  -4  -4  -4  -4  -3\n")
    assert printed and "old\n" not in rest.partition("```")[0] and "picture: docs/a.png\n```" in rest
    with Image.open(tmp_path / "docs" / "a.png") as image:
        assert image.mode == "P"
    with pytest.raises(SystemExit):
        experiments.main(["moons", "--page", str(page)])
    assert "shows no command of moons" in capsys.readouterr().err


def test_a_command_that_fails_is_reported(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ python -m demos.convolution --at 9 9\nold\n```\n")
    with pytest.raises(SystemExit, match="(?s)demos.convolution --at 9 9: .*must be a whole number"):
        experiments.main(["--page", str(page)])
    assert "old" in page.read_text()
