import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("safetensors")
pytest.importorskip("PIL")

from PIL import Image

from demos import predict, train
from tinygrad_like.data import load_digits


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    train.main(["--model", "mlp", "--epochs", "25", "--out", str(out)])
    return out / "mlp_digits_split0.safetensors"


def test_reads_digits_from_files(net, tmp_path, capsys):
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
    assert printed[0].startswith(f"{paths[0]}: {labels[0]} {probabilities[0].max():.1%}  ")
    assert len(printed) == 3 and printed[2].count("%") == 3


def test_ink_on_paper(net, tmp_path):
    images, labels = load_digits()
    Image.fromarray(255 - (255 * images[4, 0]).astype(np.uint8)).save(tmp_path / "x.png")
    assert predict.main(["--net", str(net), "--invert", str(tmp_path / "x.png")]).argmax() == labels[4]


def test_shape_and_scale(tmp_path):
    colours = np.zeros((4, 6, 3), np.uint8)
    colours[:, :3, 0] = 255
    Image.fromarray(colours).save(tmp_path / "x.png")
    image = predict.read_image(tmp_path / "x.png", (3, 4, 6))
    assert image.shape == (3, 4, 6) and image.dtype == np.float32
    assert image[0].tolist() == [[1, 1, 1, 0, 0, 0]] * 4 and not image[1:].any()
    assert predict.read_image(tmp_path / "x.png", (3, 2, 2))[0].tolist() == [[1, 0], [1, 0]]
    assert predict.read_image(tmp_path / "x.png", (1, 2, 2), invert=True)[0, :, 1].tolist() == [1, 1]


def test_what_cannot_be_read(net, tmp_path):
    (tmp_path / "x.png").write_text("no image")
    with pytest.raises(SystemExit, match="error: .*x.png"):
        predict.main(["--net", str(net), str(tmp_path / "x.png")])
    with pytest.raises(SystemExit, match="error: .*there is no file"):
        predict.main(["--net", str(tmp_path / "none"), str(tmp_path / "x.png")])
