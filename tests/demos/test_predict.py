import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("PIL")

from PIL import Image

from demos import predict, train
from demos.recipes import DATA, Frame
from tinygrad_like.data import load_digits


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    train.main(["--model", "mlp", "--out", str(out)])
    return out / "mlp_digits_split0.safetensors"


def test_digits_are_read_from_files(net, tmp_path, capsys):
    images, labels = load_digits()
    paths = [tmp_path / name for name in ("a.png", "b.jpg", "c.png")]
    pixels = [(255 * images[i, 0]).astype(np.uint8) for i in range(3)]
    Image.fromarray(pixels[0]).save(paths[0])
    Image.fromarray(np.kron(pixels[1], np.ones((9, 9), np.uint8))).convert("RGB").save(paths[1], quality=95)
    Image.fromarray(pixels[2]).convert("RGBA").save(paths[2])
    probabilities = predict.main(["--net", str(net), *map(str, paths)])
    assert probabilities.argmax(axis=1).tolist() == labels[:3].tolist()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 27 and printed[26].count("%") == 3
    assert printed[8].startswith(f"{paths[0]}: {labels[0]} {probabilities[0].max():.1%}  ")
    assert printed[:8] == predict.in_characters(pixels[0] / pixels[0].max()).splitlines()  # the image as read


def test_a_photograph_is_scaled_as_a_whole(tmp_path):
    colours = np.zeros((4, 6, 3), np.uint8)
    colours[:, :3, 0] = 255
    Image.fromarray(colours).save(tmp_path / "x.png")
    image = predict.read_image(tmp_path / "x.png", (3, 4, 6), None)
    assert image.shape == (3, 4, 6) and image.dtype == np.float32
    assert image[0].tolist() == [[1, 1, 1, 0, 0, 0]] * 4 and not image[1:].any()
    assert predict.read_image(tmp_path / "x.png", (3, 2, 2), None)[0].tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize("data", ["digits", "mnist", "fashion"])
@pytest.mark.parametrize("ink", [255, 0])
def test_size_place_and_brightness_make_no_difference(tmp_path, data, ink):
    frame, size = DATA[data].frame, 8 if data == "digits" else 28
    shape = np.zeros((24, 12), bool)
    shape[:4] = shape[:, :4] = True  # the Greek letter gamma
    seen = []
    for scale, top, left in ((1, 0, 1), (4, 30, 5), (3, 2, 60)):
        paper = np.full((150, 170), 255 - ink, np.uint8)
        drawing = np.kron(shape, np.ones((scale, scale), bool))
        paper[top:top + 24 * scale, left:left + 12 * scale][drawing] = ink
        Image.fromarray(paper).save(tmp_path / "x.png")
        seen.append(predict.read_image(tmp_path / "x.png", (1, size, size), frame)[0])
    for other in seen[1:]:
        np.testing.assert_allclose(other, seen[0], atol=0.35)  # edges between pixels fall a little differently
        assert abs(other - seen[0]).mean() < 0.03
    rows = np.flatnonzero(seen[0].max(axis=1) > 0.4)
    assert abs(rows[-1] + 1 - rows[0] - frame.rows) <= 1


def test_transparent_pixels_are_white(tmp_path):
    pixels = np.zeros((8, 8, 4), np.uint8)
    pixels[2:6, 3:5, 3] = 255  # black where it is not transparent
    Image.fromarray(pixels).save(tmp_path / "x.png")
    image = predict.read_image(tmp_path / "x.png", (1, 8, 8), Frame(8, 6))
    assert image[0, 2:6, 3:5].min() == 1 and image.sum() == 8


def test_unreadable_and_empty_images_are_reported(net, tmp_path, capsys):
    (tmp_path / "x.png").write_text("no image")
    with pytest.raises(SystemExit, match="error: .*x.png cannot be read as an image"):
        predict.main(["--net", str(net), str(tmp_path / "x.png")])
    Image.new("L", (20, 20), 70).save(tmp_path / "x.png")
    with pytest.raises(SystemExit, match="error: .*x.png is blank"):
        predict.main(["--net", str(net), str(tmp_path / "x.png")])
    for options, message in ((["--net", "none", str(tmp_path / "x.png")], "python -m demos.train writes"),
                             ([str(tmp_path / "none.png")], "there is no file"),
                             (["--top", "0", str(tmp_path / "x.png")], "argument --top")):
        with pytest.raises(SystemExit):
            predict.main(options)
        assert message in capsys.readouterr().err
