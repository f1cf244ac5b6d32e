"""Training steps as they are written for PyTorch, one of each kind of program, which `ours` of test_programs.py brings
here.

Each program is a function that gives its step, what to call it with, and the Tensors that it trains or starts from.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def all_of(*parts):
    return [p for part in parts for p in (part.parameters() if isinstance(part, nn.Module) else [part])]


@program
def nerf():
    R, S, L = 128, 24, 6
    net = nn.Sequential(nn.Linear(3 + 6 * L, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(),
                        nn.Linear(96, 4))
    opt = optim.Adam(net.parameters(), lr=5e-4)
    def encode(x):
        parts = [x]
        for i in range(L):
            parts += [torch.sin(2.0 ** i * x), torch.cos(2.0 ** i * x)]
        return torch.cat(parts, dim=-1)
    def step(o, d, target):
        z = torch.linspace(2, 6, S)
        pts = o[:, None, :] + d[:, None, :] * z[None, :, None]
        raw = net(encode(pts))
        rgb, sigma = torch.sigmoid(raw[..., :3]), F.relu(raw[..., 3])
        delta = torch.cat([z[1:] - z[:-1], torch.tensor([1e3])])
        alpha = 1.0 - torch.exp(-sigma * delta)
        trans = torch.cumprod(torch.cat([torch.ones(R, 1), 1.0 - alpha + 1e-10], dim=-1), dim=-1)[:, :-1]
        weights = alpha * trans
        pred = (weights[..., None] * rgb).sum(dim=1)
        loss = ((pred - target) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.randn(R, 3), F.normalize(torch.randn(R, 3), dim=-1), torch.rand(R, 3))
    return step, inputs, all_of(net)


@program
def gat():
    N, E, FI, H, FO = 1000, 5000, 32, 4, 16
    W = nn.Linear(FI, H * FO, bias=False)
    a_s = nn.Parameter(torch.randn(H, FO) * 0.1)
    a_d = nn.Parameter(torch.randn(H, FO) * 0.1)
    head = nn.Linear(H * FO, 7)
    opt = optim.Adam([*W.parameters(), a_s, a_d, *head.parameters()], lr=5e-3)
    def step(x, src, dst, y):
        h = W(x).view(N, H, FO)
        es = (h * a_s).sum(-1)
        ed = (h * a_d).sum(-1)
        e = F.leaky_relu(es[src] + ed[dst], 0.2)
        e = torch.exp(e - e.max().detach())
        den = torch.zeros(N, H).index_add(0, dst, e)
        alpha = e / (den[dst] + 1e-9)
        out = torch.zeros(N, H, FO).index_add(0, dst, alpha[..., None] * h[src])
        logits = head(F.elu(out.reshape(N, -1)))
        loss = F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.randn(N, FI), torch.randint(0, N, (E,)), torch.randint(0, N, (E,)), torch.randint(0, 7, (N,)))
    return step, inputs, all_of(W, a_s, a_d, head)


@program
def dqn():
    def mk():
        return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    q, target = mk(), mk()
    target.load_state_dict(q.state_dict())
    opt = optim.AdamW(q.parameters(), lr=1e-4, amsgrad=True)
    def step(s, a, r, s2, done):
        qa = q(s).gather(1, a)
        with torch.no_grad():
            nxt = target(s2).max(1).values
            t = r + 0.99 * nxt * (1 - done)
        loss = F.smooth_l1_loss(qa, t.unsqueeze(1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(q.parameters(), 100)
        opt.step()
        ts, qs = target.state_dict(), q.state_dict()
        for k in qs:
            ts[k] = qs[k] * 0.005 + ts[k] * 0.995
        target.load_state_dict(ts)
        return loss.detach()
    B = 128
    inputs = (torch.randn(B, 8), torch.randint(0, 4, (B, 1)), torch.randn(B), torch.randn(B, 8),
              (torch.rand(B) > 0.9).float())
    return step, inputs, all_of(q, target)


@program
def made():
    D, H, B = 64, 256, 128
    class MaskedLinear(nn.Linear):
        def __init__(self, i, o, mask):
            super().__init__(i, o)
            self.register_buffer("mask", mask)
        def forward(self, x):
            return F.linear(x, self.weight * self.mask, self.bias)
    m0 = torch.arange(D)
    m1 = torch.randint(0, D - 1, (H,))
    net = nn.Sequential(MaskedLinear(D, H, (m1[:, None] >= m0[None]).float()), nn.ReLU(),
                        MaskedLinear(H, D, (m0[:, None] > m1[None]).float()))
    opt = optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
    def step(x):
        loss = F.binary_cross_entropy_with_logits(net(x), x, reduction="sum") / x.shape[0]
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = ((torch.rand(B, D) > 0.5).float(),)
    return step, inputs, all_of(net)


@program
def triplet():
    net = nn.Sequential(nn.Conv2d(1, 16, 5), nn.PReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(16, 32, 5), nn.PReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(512, 64), nn.PReLU(), nn.Linear(64, 16))
    opt = optim.Adam(net.parameters(), lr=1e-3)
    def step(x, y):
        e = F.normalize(net(x), dim=1)
        d = torch.cdist(e, e)
        same = (y[:, None] == y[None, :]).float()
        far = (d * same).max(dim=1)[0]
        near = (d + 10.0 * same).min(dim=1)[0]
        loss = F.relu(far - near + 0.3).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,)))
    return step, inputs, all_of(net)


@program
def sinkhorn():
    n, d = 100, 3
    x = nn.Parameter(torch.randn(n, d))
    opt = optim.Adam([x], lr=0.01)
    def step(y):
        C = ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)
        f, g, eps = torch.zeros(n), torch.zeros(n), 0.1
        loga = torch.full((n,), -math.log(n))
        for _ in range(30):
            f = -eps * torch.logsumexp((g[None, :] - C) / eps + loga[None, :], dim=1)
            g = -eps * torch.logsumexp((f[:, None] - C) / eps + loga[:, None], dim=0)
        P = torch.exp((f[:, None] + g[None, :] - C) / eps) / n ** 2
        loss = (P * C).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.randn(n, d),)
    return step, inputs, all_of(x)


@program
def vqvae():
    enc = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 4, 2, 1), nn.ReLU(),
                        nn.Conv2d(32, 16, 1))
    dec = nn.Sequential(nn.ConvTranspose2d(16, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1))
    book = nn.Embedding(128, 16)
    book.weight.data.uniform_(-1 / 128, 1 / 128)
    opt = optim.Adam([*enc.parameters(), *dec.parameters(), *book.parameters()], lr=1e-3)
    def step(x):
        z = enc(x).permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, 16)
        d = (flat ** 2).sum(1, keepdim=True) + (book.weight ** 2).sum(1) - 2 * flat @ book.weight.t()
        idx = torch.argmin(d, dim=1)
        q = book(idx).view(z.shape)
        vq = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(q.detach(), z)
        q = z + (q - z).detach()
        loss = F.mse_loss(dec(q.permute(0, 3, 1, 2).contiguous()), x) + vq
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.rand(16, 3, 32, 32),)
    return step, inputs, all_of(enc, dec, book)


@program
def wave_slices():
    c = nn.Parameter(torch.ones(48, 48))
    opt = optim.Adam([c], lr=0.01)
    def step(src, target):
        prev, cur = torch.zeros(48, 48), src.clone()
        for _ in range(25):
            lap = torch.zeros(48, 48)
            lap[1:-1, 1:-1] = cur[2:, 1:-1] + cur[:-2, 1:-1] + cur[1:-1, 2:] + cur[1:-1, :-2] - 4 * cur[1:-1, 1:-1]
            prev, cur = cur, 2 * cur - prev + 0.1 * c ** 2 * lap
        loss = F.mse_loss(cur, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.rand(48, 48), torch.rand(48, 48))
    return step, inputs, all_of(c)


@program
def gp():
    n = 120
    ls, os, ns = (nn.Parameter(torch.tensor(v)) for v in (0.0, 0.0, -2.0))
    opt = optim.Adam([ls, os, ns], lr=0.05)
    def step(x, y):
        d2 = (x[:, None] - x[None, :]) ** 2
        K = torch.exp(os) * torch.exp(-0.5 * d2 / torch.exp(ls) ** 2) + (torch.exp(ns) + 1e-4) * torch.eye(n)
        L = torch.linalg.cholesky(K)
        a = torch.cholesky_solve(y[:, None], L)
        loss = 0.5 * (y[:, None] * a).sum() + torch.log(torch.diagonal(L)).sum() + 0.5 * n * math.log(2 * math.pi)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.linspace(0, 5, n), torch.randn(n))
    return step, inputs, all_of(ls, os, ns)
