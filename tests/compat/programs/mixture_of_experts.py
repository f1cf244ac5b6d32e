"""Attention from a few latent vectors to a sequence, and a mixture of experts that takes rows by masks."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class MoE(nn.Module):
    def __init__(self, d=6, E=4, k=2):
        super().__init__()
        self.k, self.E = k, E
        self.gate = nn.Linear(d, E, bias=False)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(d, 12), nn.GELU(), nn.Linear(12, d)) for _ in range(E)])

    def forward(self, x):
        shape = x.shape
        x = x.view(-1, shape[-1])
        w, sel = torch.topk(F.softmax(self.gate(x), dim=1, dtype=torch.float), self.k, dim=-1)
        w = w / w.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        for i, e in enumerate(self.experts):
            b, n = torch.where(sel == i)
            out[b] += w[b, n, None] * e(x[b])
        p = F.softmax(self.gate(x), -1).mean(0)
        f = F.one_hot(sel[:, 0], self.E).float().mean(0)
        return out.view(*shape), self.E * (p * f).sum()


class PerceiverIO(nn.Module):
    def __init__(self):
        super().__init__()
        self.lat = nn.Parameter(torch.linspace(-1, 1, 3 * 6).view(1, 3, 6))
        self.att = nn.MultiheadAttention(6, 2, batch_first=True, kdim=4, vdim=4)
        self.moe = MoE()
        self.ln = nn.LayerNorm(6)
        self.head = nn.Linear(6, 2)
        self.hooked = []
        self.att.register_forward_hook(lambda mod, i, o: self.hooked.append(o[1].detach().sum().item()))

    def forward(self, x, mask):
        z, w = self.att(self.lat.expand(x.size(0), -1, -1), x, x, key_padding_mask=mask, average_attn_weights=False)
        y, aux = self.moe(self.ln(z))
        return self.head((z + y).mean(1)), aux, w


def build():
    return {"m": PerceiverIO()}


def train(ms):
    m = ms["m"]
    rng = np.random.default_rng(0)
    out = []
    opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, dampening=0.1, weight_decay=1e-3)
    warm = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.1, total_iters=3)
    for i in range(6):
        x = torch.from_numpy(rng.standard_normal((4, 5, 4)).astype(np.float32))
        mask = torch.zeros(4, 5).bool()
        mask[2, 3:] = True
        y = torch.from_numpy(rng.dirichlet((1, 1), 4).astype(np.float32))
        o, aux, w = m(x, mask)
        l = F.cross_entropy(o, y) + 0.1 * aux + F.kl_div(F.log_softmax(o, -1), y, reduction="batchmean")
        opt.zero_grad()
        l.backward()
        opt.step()
        warm.step()
        out += [l.item(), w[2].std().item(), opt.param_groups[0]["lr"]]
    return out + m.hooked
