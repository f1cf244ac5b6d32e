"""Typical lines of PyTorch programs, forward and backward, timed in PyTorch and here.

    python -m benchmarks.lines
    python -m benchmarks.lines --only dim=

Each line computes a Tensor from the inputs below. Nothing was tuned for these lines.
"""

import importlib
from typing import Any

import numpy as np

from .compare import Run, main

LINES = """
x + b
x * y
x / (1 + x.pow(2))
x @ w
x.exp()
p.log()
p.sqrt()
x.abs()
x.clamp(min=0.1)
x.clamp(-1, 1)
torch.tanh(x)
torch.sigmoid(x)
torch.sin(x) * torch.cos(y)
torch.atan2(x, y)
torch.maximum(x, y)
torch.where(x > 0, x, y)
x.masked_fill(x > 0, 0.0)
x.sum(dim=1)
x.mean(dim=0)
x.var(dim=0)
x.std(dim=1, keepdim=True)
(x - x.mean(0)) / (x.std(0) + 1e-5)
x.norm(dim=1)
x.amax(1)
x.cumsum(1)
x.prod(1)
torch.logsumexp(x, dim=1)
x.softmax(dim=-1)
x.log_softmax(dim=-1)
torch.cat([x, y], dim=1)
torch.stack([x, y], dim=1)
x.chunk(4, dim=1)[1]
x.split(32, dim=1)[2]
x.unbind(1)[3]
x[:, :64]
x[:, 0]
x[rows]
x[torch.arange(64), labels]
x.gather(1, columns)
x.index_select(0, rows)
torch.zeros(64, 128).index_add(0, rows, x)
torch.zeros(64, 128).scatter_add(0, everywhere, x)
x.sort(dim=1)[0]
x.topk(5, dim=1)[0]
x.tril()
x.flip(0)
x.roll(1, 0)
x.repeat(2, 1)
x.view(64, 8, 16)
x.unsqueeze(1).expand(64, 4, 128)
sequence.transpose(1, 2).contiguous()
sequence.permute(2, 0, 1).reshape(64, -1)
sequence @ sequence.transpose(1, 2)
torch.bmm(sequence, sequence.transpose(1, 2))
torch.einsum('bhid,bhjd->bhij', heads, heads)
torch.outer(b, b)
((x.unsqueeze(1) - y.unsqueeze(0)) ** 2).sum(-1)
F.pad(images, (1, 1, 1, 1))
F.interpolate(images, scale_factor=2, mode='nearest')
F.interpolate(images, scale_factor=2, mode='bilinear')
F.unfold(images, 3)
F.max_pool2d(images, 2)
F.avg_pool2d(images, 2)
F.adaptive_avg_pool2d(images, 1)
F.relu(x)
F.leaky_relu(x, 0.2)
F.elu(x)
F.gelu(x)
F.silu(x)
F.softplus(x)
F.dropout(x, 0.5)
F.layer_norm(x, (128,))
F.normalize(x, dim=1)
F.cosine_similarity(x, y, dim=1)
F.cross_entropy(x, labels)
F.nll_loss(F.log_softmax(x, dim=1), labels)
F.mse_loss(x, y)
F.l1_loss(x, y)
F.smooth_l1_loss(x, y.detach())
F.binary_cross_entropy_with_logits(x, p.detach())
F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction='batchmean')
F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
nn.Linear(128, 128)(x)
nn.Conv2d(16, 32, 3, padding=1)(images)
nn.ConvTranspose2d(16, 8, 4, 2, 1)(images)
nn.BatchNorm1d(128)(x)
nn.BatchNorm2d(16)(images)
nn.GroupNorm(4, 16)(images)
nn.Embedding(500, 64)(tokens)
nn.LSTMCell(128, 128)(x)[0]
nn.GRUCell(128, 128)(x, y)
nn.LSTM(64, 64, batch_first=True)(sequence)[0]
nn.GRU(64, 64, batch_first=True)(sequence)[0]
nn.MultiheadAttention(64, 4, batch_first=True)(sequence, sequence, sequence)[0]
nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)(sequence)
""".strip().splitlines()

FLOATS = {"x": (64, 128), "y": (64, 128), "p": (64, 128), "w": (128, 128), "b": (128,), "images": (32, 16, 14, 14),
          "sequence": (8, 32, 64), "heads": (8, 4, 32, 16)}
INTEGERS = {"labels": (128, (64,)), "rows": (64, (64,)), "columns": (128, (64, 10)), "tokens": (500, (32, 20)),
            "everywhere": (64, (64, 128))}


def make(library: str, number: int) -> Run:
    return run_of(library, LINES[number], FLOATS, INTEGERS)


def run_of(library: str, text: str, floats: dict[str, tuple], integers: dict[str, tuple]) -> Run:
    """A function that runs a line forward and backward, on named arrays of random numbers. A layer in it is made once.
    """
    torch: Any = importlib.import_module("tinygrad_like" if library == "ours" else "torch")
    nn: Any = importlib.import_module("nn" if library == "ours" else "torch.nn")
    rng, names = np.random.default_rng(0), {"torch": torch, "nn": nn, "F": nn.functional}
    for name, shape in floats.items():
        values = rng.standard_normal(shape).astype(np.float32)
        names[name] = torch.tensor(np.abs(values) if name == "p" else values, requires_grad=True)
    for name, (end, shape) in integers.items():
        names[name] = torch.tensor(rng.integers(0, end, shape))
    leaves = [names[name] for name in floats]
    line, _, inputs = text.partition(")(")
    if line.startswith("nn."):
        names["layer"] = eval(f"{line})", names)
        leaves += names["layer"].parameters()
        code = compile(f"layer({inputs}", "line", "eval")
    else:
        code = compile(text, "line", "eval")
    g = torch.ones_like(eval(code, names)).detach()

    def run() -> None:
        eval(code, names).backward(g)
        for leaf in leaves:
            leaf.grad = None

    return run


if __name__ == "__main__":
    main("lines", ("ours", "torch"), lambda: LINES, make, f"{'us':>10}",
         lambda number, seconds: f"{seconds['ours'] * 1e6:10.1f}", rounds=3, budget=0.05)
