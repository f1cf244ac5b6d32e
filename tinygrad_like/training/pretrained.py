"""Models that were trained already: GPT-2 from the file in which Hugging Face keeps it, and a new head for any."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import nn
from .checkpoint import read_arrays

# Theirs -> ours, in a block. A matrix of theirs is (in, out), one of ours (out, in).
BLOCK = {"ln_1": "norm1", "attn.c_attn": "self_attn.in_proj_", "attn.c_proj": "self_attn.out_proj", "ln_2": "norm2",
         "mlp.c_fc": "linear1", "mlp.c_proj": "linear2"}
FIXED = {"n_embd": None, "layer_norm_epsilon": 1e-5, "scale_attn_weights": True, "add_cross_attention": False,
         "scale_attn_by_inverse_layer_idx": False}
ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu",
               "silu": "silu", "swish": "silu"}


def load_gpt2(path: str | os.PathLike, num_heads: int | None = None) -> nn.LanguageModel:
    """The model of a GPT-2 that Hugging Face's `save_pretrained` wrote, or that it offers as model.safetensors.

        model = load_gpt2("gpt2/model.safetensors")
        model.generate(Tensor([464, 3290]), max_new_tokens=20)      # ids of OpenAI's tokenizer, here "The dog"

    path: the safetensors file. Sizes are read from its shapes, the rest from config.json if that lies beside it:
        without it, a head has 64 numbers, as in all of OpenAI's, unless num_heads says otherwise.

    Raises FileNotFoundError, and ValueError if the file is damaged, is not of a GPT-2, or its configuration asks for
    what LanguageModel does not do. The model is in evaluation mode. Source: Radford et al. 2019.
    """
    path = Path(path)
    arrays = {name.removeprefix("transformer."): a for name, a in read_arrays("load_gpt2", path).items()
              if not name.endswith((".attn.bias", ".attn.masked_bias"))}  # the causal mask, in old files
    needed = ("wte.weight", "wpe.weight", "ln_f.weight", "h.0.mlp.c_fc.weight")
    missing = [name for name in needed if name not in arrays]
    if missing:
        raise ValueError(f"load_gpt2: {path} does not hold a GPT-2 in Hugging Face's layout: it has no "
                         f"{', '.join(missing)}, but {', '.join(list(arrays)[:4])}, ...")
    (vocabulary, dim), (max_length, _) = (arrays[f"{name}.weight"].shape for name in ("wte", "wpe"))
    head = arrays.pop("lm_head.weight", arrays["wte.weight"])
    tied = head.shape == (vocabulary, dim) and np.array_equal(head, arrays["wte.weight"])
    config = _config(path.with_name("config.json"), dim)
    model = nn.LanguageModel(
        vocabulary, dim, len({name.split(".")[1] for name in arrays if name.startswith("h.")}),
        num_heads or config.get("n_head") or max(1, dim // 64), max_length, arrays["h.0.mlp.c_fc.weight"].shape[1],
        ACTIVATIONS[config.get("activation_function", "gelu_new")], tied=tied)
    state = dict(_renamed(arrays)) | ({} if tied else {"head.weight": head})
    try:
        model.load_state_dict(state)
    except ValueError as error:
        raise ValueError(f"load_gpt2: {path}: {error}") from None
    return model.eval()


def _renamed(arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    whole = {"wte.weight": "embedding.weight", "wpe.weight": "positions.weight", "ln_f.weight": "norm.weight",
             "ln_f.bias": "norm.bias"}
    for name, a in arrays.items():
        if name.startswith("h."):
            _, i, rest = name.split(".", 2)
            part, _, kind = rest.rpartition(".")
            ours = BLOCK.get(part, part)
            yield f"layers.{i}.{ours}{'' if ours.endswith('_') else '.'}{kind}", a.T if a.ndim == 2 else a
        else:
            yield whole.get(name, name), a


def _config(path: Path, dim: int) -> dict[str, Any]:
    """The configuration, if there is one; ValueError if LanguageModel does not support it."""
    if not path.is_file():
        return {}
    config = json.loads(path.read_text())
    for name, value in {**FIXED, "n_embd": dim}.items():
        if config.get(name, value) != value:
            raise ValueError(f"load_gpt2: {path} asks for {name}={config[name]}; this reads GPT-2s with {value}")
    activation = config.get("activation_function", "gelu_new")
    if activation not in ACTIVATIONS:
        raise ValueError(f"load_gpt2: {path} asks for the activation {activation!r}, which is none of "
                         f"{', '.join(ACTIVATIONS)}")
    return config


def replace_head(model: nn.Module, classes: int) -> nn.Linear:
    """Replace the model's last nn.Linear with a new one that has `classes` outputs, and return it.

    To train only the head, first freeze everything:

        model.requires_grad_(False)
        head = replace_head(model, classes=5)
        optimizer = optim.AdamW(head.parameters())

    A frozen norm still updates its running statistics unless it is in evaluation mode. The last Linear is the one
    defined last. Raises ValueError if the model does not contain one.
    """
    layers = [name for name, module in model.named_modules() if isinstance(module, nn.Linear) and name]
    if not layers:
        raise ValueError(f"replace_head: this {type(model).__name__} has no nn.Linear in it to replace")
    path, _, name = layers[-1].rpartition(".")
    old: nn.Linear = model.get_submodule(layers[-1])  # type: ignore[assignment]
    head = nn.Linear(old.in_features, classes, bias=old.bias is not None).to(old.weight.dtype)
    setattr(model.get_submodule(path), name, head)
    return head
