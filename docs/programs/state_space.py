"""A selective state space layer and a recurrence whose outputs are written one by one."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn, optim


class S4ish(nn.Module):
    def __init__(self, d=4, n=6):
        super().__init__()
        self.A_log = nn.Parameter(torch.log(torch.arange(1, n + 1, dtype=torch.float32).repeat(d, 1)))
        self.D = nn.Parameter(torch.ones(d))
        self.x_proj = nn.Linear(d, 2 * n + 1)
        self.dt_proj = nn.Linear(1, d)
        self.conv = nn.Conv1d(d, d, 3, groups=d, padding=2)
        self.inp, self.outp = nn.Linear(d, 2 * d), nn.Linear(d, d)

    def forward(self, x):
        b, l, d = x.shape
        x, res = self.inp(x).split(split_size=[d, d], dim=-1)
        x = F.silu(self.conv(x.transpose(1, 2))[:, :, :l].transpose(1, 2))
        n = self.A_log.shape[1]
        A = -torch.exp(self.A_log.float())
        dt, B, C = self.x_proj(x).split([1, n, n], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        dA = torch.exp(torch.einsum('bld,dn->bldn', dt, A))
        dBu = torch.einsum('bld,bln,bld->bldn', dt, B, x)
        s = torch.zeros((b, d, n))
        ys = []
        for i in range(l):
            s = dA[:, i] * s + dBu[:, i]
            ys.append(torch.einsum('bdn,bn->bd', s, C[:, i, :]))
        y = torch.stack(ys, dim=1) + x * self.D
        return self.outp(y * F.silu(res))


class RWKVish(nn.Module):
    def __init__(self, d=4):
        super().__init__()
        self.w = nn.Parameter(torch.linspace(-2, 0, d))
        self.u = nn.Parameter(torch.zeros(d))
        self.k, self.v, self.r = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.mix = nn.Parameter(torch.full((1, 1, d), 0.5))

    def forward(self, x):
        xx = self.shift(x)
        x = x * self.mix + xx * (1 - self.mix)
        k, v, r = self.k(x), self.v(x), torch.sigmoid(self.r(x))
        num = den = torch.zeros_like(x[:, 0])
        mx = torch.full_like(num, -1e38)
        out = torch.empty_like(v)
        for t in range(x.size(1)):
            kk, vv = k[:, t], v[:, t]
            ww = self.u + kk
            p = torch.maximum(mx, ww)
            e1, e2 = torch.exp(mx - p), torch.exp(ww - p)
            out[:, t] = (e1 * num + e2 * vv) / (e1 * den + e2)
            ww = mx - torch.exp(self.w)
            p = torch.maximum(ww, kk)
            e1, e2 = torch.exp(ww - p), torch.exp(kk - p)
            num = e1 * num + e2 * vv
            den = e1 * den + e2
            mx = p
        return r * out


def build():
    return {"a": S4ish(), "b": RWKVish()}


def train(ms):
    rng = np.random.default_rng(0)
    out = []
    net = nn.Sequential(ms["a"], ms["b"])
    opt = optim.RMSprop(net.parameters(), lr=5e-3, alpha=0.9, momentum=0.5)
    for i in range(5):
        x = torch.from_numpy(rng.standard_normal((3, 7, 4)).astype(np.float32))
        y = net(x)
        l = F.huber_loss(y[:, :-1], x[:, 1:], delta=0.5) + F.mse_loss(torch.cumsum(y, 1), x.cumsum(dim=1))
        net.zero_grad(set_to_none=True)
        l.backward()
        opt.step()
        out.append(l.item())
    out.append(net.state_dict()["0.A_log"].sum().item())
    out.append(len(net.state_dict()))
    return out
