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
def makemore():
    V, C, E, H, B = 27, 8, 24, 128, 64
    Cm = torch.randn(V, E)
    W1 = torch.randn(C * E, H) * 0.1
    g = torch.ones(1, H)
    b = torch.zeros(1, H)
    W2 = torch.randn(H, V) * 0.05
    b2 = torch.zeros(V)
    params = [Cm, W1, g, b, W2, b2]
    for p in params:
        p.requires_grad = True
    rm, rv = torch.zeros(1, H), torch.ones(1, H)
    def step(x, y):
        e = Cm[x]
        h = e.view(e.shape[0], -1) @ W1
        m = h.mean(0, keepdim=True)
        v = h.var(0, keepdim=True)
        hh = g * (h - m) / torch.sqrt(v + 1e-5) + b
        with torch.no_grad():
            rm.mul_(0.999).add_(0.001 * m)
            rv.mul_(0.999).add_(0.001 * v)
        logits = torch.tanh(hh) @ W2 + b2
        loss = F.cross_entropy(logits, y)
        for p in params:
            p.grad = None
        loss.backward()
        for p in params:
            p.data += -0.1 * p.grad
        return loss.detach()
    inputs = (torch.randint(0, V, (B, C)), torch.randint(0, V, (B,)))
    return step, inputs, all_of(*params)


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
def word2vec():
    V, D, B, K = 5000, 64, 256, 8
    inp, outp = nn.Embedding(V, D), nn.Embedding(V, D)
    opt = optim.SGD([*inp.parameters(), *outp.parameters()], lr=0.05)
    def step(c, o, neg):
        v, u, n = inp(c), outp(o), outp(neg)
        pos = F.logsigmoid((v * u).sum(1))
        neg_s = F.logsigmoid(-torch.bmm(n, v.unsqueeze(2)).squeeze(2)).sum(1)
        loss = -(pos + neg_s).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.randint(0, V, (B,)), torch.randint(0, V, (B,)), torch.randint(0, V, (B, K)))
    return step, inputs, all_of(inp, outp)


@program
def ddpm():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = nn.Embedding(100, 64)
            self.i = nn.Linear(2, 64)
            self.m = nn.ModuleList([nn.Linear(64, 64) for _ in range(3)])
            self.o = nn.Linear(64, 2)
        def forward(self, x, t):
            h = self.i(x) + self.t(t)
            for m in self.m:
                h = h + F.gelu(m(h))
            return self.o(h)
    net = Net()
    opt = optim.AdamW(net.parameters(), lr=1e-3)
    betas = torch.linspace(1e-4, 0.02, 100)
    abar = torch.cumprod(1 - betas, dim=0)
    def step(x0):
        t = torch.randint(0, 100, (x0.shape[0],))
        noise = torch.randn_like(x0)
        a = abar[t].unsqueeze(1)
        xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
        loss = F.mse_loss(net(xt, t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.randn(512, 2),)
    return step, inputs, all_of(net)


@program
def unet():
    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU())
    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.d1, self.d2, self.mid = block(1, 16), block(16, 32), block(32, 32)
            self.u1, self.out = block(64, 16), nn.Conv2d(32, 1, 3, padding=1)
        def forward(self, x):
            a = self.d1(x)
            b = self.d2(F.max_pool2d(a, 2))
            m = F.interpolate(self.mid(F.max_pool2d(b, 2)), scale_factor=2, mode="nearest")
            u = self.u1(torch.cat([m, b], dim=1))
            u = F.interpolate(u, scale_factor=2, mode="nearest")
            return self.out(torch.cat([u, a], dim=1))
    net = UNet()
    opt = optim.Adam(net.parameters(), lr=1e-3)
    def step(x, y):
        loss = F.binary_cross_entropy_with_logits(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.randn(8, 1, 32, 32), (torch.rand(8, 1, 32, 32) > 0.5).float())
    return step, inputs, all_of(net)


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
def mobilenet():
    def dw(i, o, s):
        return nn.Sequential(nn.Conv2d(i, i, 3, s, 1, groups=i, bias=False), nn.BatchNorm2d(i), nn.ReLU6(),
                             nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU6())
    net = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(),
                        dw(16, 32, 2), dw(32, 32, 1), dw(32, 64, 2), dw(64, 64, 1),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    opt = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,)))
    return step, inputs, all_of(net)


@program
def dcgan28():
    G = nn.Sequential(nn.ConvTranspose2d(32, 64, 7, 1, 0, bias=False), nn.BatchNorm2d(64), nn.ReLU(True),
                      nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
                      nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Tanh())
    D = nn.Sequential(nn.Conv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.2, True),
                      nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.2, True),
                      nn.Flatten(), nn.Linear(64 * 49, 1))
    oG, oD = optim.Adam(G.parameters(), 2e-4, (0.5, 0.999)), optim.Adam(D.parameters(), 2e-4, (0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    def step(real):
        B = real.size(0)
        one, zero = torch.ones(B, 1), torch.zeros(B, 1)
        fake = G(torch.randn(B, 32, 1, 1))
        dl = bce(D(real), one) + bce(D(fake.detach()), zero)
        oD.zero_grad()
        dl.backward()
        oD.step()
        gl = bce(D(fake), one)
        oG.zero_grad()
        gl.backward()
        oG.step()
        return gl.detach()
    inputs = (torch.rand(32, 1, 28, 28) * 2 - 1,)
    return step, inputs, all_of(G, D)


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
def heat():
    u0 = nn.Parameter(torch.zeros(64, 64))
    k = nn.Parameter(torch.tensor(0.1))
    opt = optim.Adam([u0, k], lr=0.01)
    def step(target):
        u = u0
        for _ in range(30):
            lap = torch.roll(u, 1, 0) + torch.roll(u, -1, 0) + torch.roll(u, 1, 1) + torch.roll(u, -1, 1) - 4 * u
            u = u + k * lap
        loss = ((u - target) ** 2).mean() + 1e-3 * (u0 ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.rand(64, 64),)
    return step, inputs, all_of(u0, k)


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


@program
def maml_sine():
    shapes = [(1, 40), (40,), (40, 40), (40,), (40, 1), (1,)]
    ps = [nn.Parameter(torch.randn(*s) * (s[0] ** -0.5 if len(s) > 1 else 0.0)) for s in shapes]
    opt = optim.Adam(ps, lr=1e-3)
    def net(x, p):
        h = F.relu(x @ p[0] + p[1])
        h = F.relu(h @ p[2] + p[3])
        return h @ p[4] + p[5]
    def step(xs, ys, xq, yq):
        total = 0.0
        for i in range(xs.shape[0]):
            p = ps
            for _ in range(2):
                g = torch.autograd.grad(F.mse_loss(net(xs[i], p), ys[i]), p, create_graph=True)
                p = [w - 0.01 * d for w, d in zip(p, g, strict=True)]
            total = total + F.mse_loss(net(xq[i], p), yq[i])
        loss = total / xs.shape[0]
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = tuple(torch.randn(4, 10, 1) for _ in range(4))
    return step, inputs, all_of(*ps)


@program
def conv1d_audio():
    net = nn.Sequential(nn.Conv1d(1, 16, 9, stride=4, padding=4), nn.BatchNorm1d(16), nn.ReLU(),
                        nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(4),
                        nn.Conv1d(32, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
                        nn.Linear(32, 8))
    opt = optim.Adam(net.parameters(), lr=1e-3)
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    inputs = (torch.randn(16, 1, 2000), torch.randint(0, 8, (16,)))
    return step, inputs, all_of(net)
