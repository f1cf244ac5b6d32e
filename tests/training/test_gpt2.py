"""GPT-2s that Hugging Face's own library has made and saved."""

import json
import shutil

import numpy as np
import pytest

from tinygrad_like import Tensor, no_grad
from tinygrad_like.training import load_gpt2, load_weights, save_weights

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", reason="pip install 'tinygrad-like[torch]'")
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("torchvision")]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory, torchvision):
    """A small random GPT-2, and the folder it is saved in."""
    return made(tmp_path_factory.mktemp("gpt2"))


def made(folder, **options):
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=61, n_positions=24, n_embd=32, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0, **options)
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for p in model.parameters():  # all of them: biases start at 0, norms at 1
            p.add_(0.1 * torch.randn_like(p))
    model.save_pretrained(folder)
    return model, folder / "model.safetensors"


TOKENS = np.random.default_rng(0).integers(0, 61, (2, 24))


def agree(ours, theirs):
    with no_grad():
        y = ours(Tensor(TOKENS)).numpy()
    z = theirs(torch.from_numpy(TOKENS)).logits.detach().numpy()
    assert np.abs(z).max() > 0.5
    np.testing.assert_allclose(y, z, atol=1e-4)


def test_logits_are_theirs(theirs):
    model, path = theirs
    agree(load_gpt2(path), model)


@pytest.mark.parametrize("options", [{"n_inner": 48}, {"activation_function": "relu"},
                                     {"tie_word_embeddings": False}], ids=str)
def test_options_of_the_configuration(tmp_path, options):
    model, path = made(tmp_path, **options)
    agree(load_gpt2(path), model)


def test_greedy_text_is_theirs(theirs):
    model, path = theirs
    prompt = TOKENS[:1, :4]
    expected = model.generate(torch.from_numpy(prompt), max_new_tokens=12, do_sample=False, eos_token_id=None,
                              pad_token_id=0)[0]
    found = load_gpt2(path).generate(Tensor(prompt[0]), 12, temperature=0)
    assert found.tolist() == expected.tolist()


def test_without_a_configuration(theirs, tmp_path):
    """As OpenAI's weights are offered: names without a prefix, masks among them."""
    model, path = theirs
    files = pytest.importorskip("safetensors.torch")
    bare = {name.removeprefix("transformer."): a for name, a in files.load_file(path).items()}
    bare["h.0.attn.bias"] = torch.ones(1, 1, 24, 24)
    files.save_file(bare, tmp_path / "m.safetensors")
    agree(load_gpt2(tmp_path / "m.safetensors", num_heads=4), model)


def test_saved_here_it_is_a_language_model(theirs, tmp_path):
    model, path = theirs
    ours = load_gpt2(path)
    save_weights(ours, tmp_path / "ours.safetensors")
    again = load_gpt2(path)
    for p in again.parameters():
        p.assign(p.detach().numpy() * 0)
    load_weights(again, tmp_path / "ours.safetensors")
    agree(again, model)


def test_what_does_not_fit_is_refused(theirs, tmp_path):
    _, path = theirs
    shutil.copy(path, tmp_path / "m.safetensors")
    config = json.loads((path.parent / "config.json").read_text())
    for change, message in (({"activation_function": "tanh"}, "asks for the activation 'tanh'"),
                            ({"layer_norm_epsilon": 1e-3}, "layer_norm_epsilon=0.001; this reads GPT-2s with 1e-05")):
        (tmp_path / "config.json").write_text(json.dumps({**config, **change}))
        with pytest.raises(ValueError, match=message):
            load_gpt2(tmp_path / "m.safetensors")
    (tmp_path / "config.json").unlink()
    with pytest.raises(ValueError, match="num_heads=5 must divide"):
        load_gpt2(tmp_path / "m.safetensors", num_heads=5)
    save_weights(load_gpt2(path), tmp_path / "ours.safetensors")
    with pytest.raises(ValueError, match="does not hold a GPT-2 in Hugging Face's layout: it has no wte.weight"):
        load_gpt2(tmp_path / "ours.safetensors")
    with pytest.raises(FileNotFoundError, match="load_gpt2: there is no file"):
        load_gpt2(tmp_path / "none.safetensors")
