"""Training steps written for PyTorch, one of each kind of program; `ours` of test_programs.py changes their imports.

Each program is a function that returns its step, the step's arguments, and the Tensors that it trains.
"""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.checkpoint import checkpoint

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
    net = nn.Sequential(nn.Conv2d(1, 16, 5), nn.PReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.PReLU(),
                        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 64), nn.PReLU(), nn.Linear(64, 16))
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


@program
def mpnn_scatter():
    class MeanMaxConv(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.msg = nn.Sequential(nn.Linear(2 * d_in, d_out), nn.ReLU())
            self.upd = nn.Linear(d_in + 2 * d_out, d_out)
        def forward(self, x, edge_index):
            src, dst = edge_index
            m = self.msg(torch.cat([x[src], x[dst] - x[src]], dim=-1))
            idx = dst.unsqueeze(-1).expand_as(m)
            mean = torch.zeros(x.size(0), m.size(1)).scatter_reduce(0, idx, m, reduce='mean', include_self=False)
            mx = torch.zeros(x.size(0), m.size(1)).scatter_reduce(0, idx, m, reduce='amax', include_self=False)
            return self.upd(torch.cat([x, mean, mx], -1))
    c1, c2 = MeanMaxConv(6, 12), MeanMaxConv(12, 3)
    opt = optim.Adam([*c1.parameters(), *c2.parameters()], lr=1e-2, weight_decay=5e-4)
    def step(x, ei, y):
        opt.zero_grad()
        out = F.log_softmax(c2(F.elu(c1(x, ei)), ei), dim=1)
        loss = F.nll_loss(out[:12], y[:12])
        loss.backward()
        opt.step()
        return loss.detach()
    return step, (torch.randn(20, 6), torch.randint(0, 20, (2, 60)), torch.randint(0, 3, (20,))), all_of(c1, c2)


@program
def hvp_cg():
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    params = list(net.parameters())
    def flat_grad(y, ps, retain_graph=False, create_graph=False):
        if create_graph:
            retain_graph = True
        g = torch.autograd.grad(y, ps, retain_graph=retain_graph, create_graph=create_graph)
        return torch.cat([t.contiguous().view(-1) for t in g])
    def conjugate_gradient(A, b, nsteps=6):
        x = torch.zeros_like(b)
        r = b.clone()
        p = r.clone()
        rdotr = r @ r
        for _ in range(nsteps):
            Ap = A(p)
            alpha = rdotr / (torch.dot(p, Ap) + 1e-8)
            x += alpha * p
            r -= alpha * Ap
            new = torch.dot(r, r)
            p = r + (new / rdotr) * p
            rdotr = new
        return x
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        g = flat_grad(loss, params, create_graph=True)
        def Hvp(v):
            return flat_grad(g @ v, params, retain_graph=True) + 5.0 * v
        d = conjugate_gradient(Hvp, g.detach())
        new = nn.utils.parameters_to_vector(params).detach() - 0.5 * d
        nn.utils.vector_to_parameters(new, params)
        return loss.detach()
    return step, (torch.randn(12, 3), torch.randn(12, 1)), all_of(net)


@program
def alibi():
    class ALiBi(nn.Module):
        def __init__(self, d=16, h=4):
            super().__init__()
            self.h, self.qkv, self.o = h, nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.register_buffer('m', torch.tensor([2 ** (-8 * (i + 1) / h) for i in range(h)])[:, None, None])
        def forward(self, x):
            b, t, d = x.shape
            q, k, v = map(lambda z: z.view(b, t, self.h, -1).permute(0, 2, 1, 3), self.qkv(x).chunk(3, dim=-1))
            pos = torch.arange(t)[None, :] - torch.arange(t)[:, None]
            bias = (self.m * pos.float()).unsqueeze(0)
            mask = torch.tril(torch.ones(t, t)).view(1, 1, t, t)
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1))) + bias
            att = att.masked_fill(mask[:, :, :t, :t] == 0, torch.finfo(att.dtype).min)
            return self.o((att.softmax(-1) @ v).permute(0, 2, 1, 3).reshape(b, t, d))
    net = nn.Sequential(nn.Embedding(20, 16), ALiBi(), nn.RMSNorm(16), nn.Linear(16, 20))
    opt = optim.Adam(net.parameters(), lr=1e-3, eps=1e-9, betas=(0.9, 0.98))
    class NoamOpt:
        def __init__(self, model_size, factor, warmup, optimizer):
            self.optimizer, self._step, self._rate = optimizer, 0, 0
            self.warmup, self.factor, self.model_size = warmup, factor, model_size
        def step(self):
            self._step += 1
            rate = self.rate()
            for p in self.optimizer.param_groups:
                p['lr'] = rate
            self._rate = rate
            self.optimizer.step()
        def rate(self, step=None):
            if step is None:
                step = self._step
            return self.factor * (self.model_size ** (-0.5) * min(step ** (-0.5), step * self.warmup ** (-1.5)))
    noam = NoamOpt(16, 1, 400, opt)
    def step(x):
        logits = net(x[:, :-1])
        loss = F.nll_loss(F.log_softmax(logits, -1).transpose(1, 2), x[:, 1:])
        noam.optimizer.zero_grad()
        loss.backward()
        noam.step()
        return loss.detach()
    return step, (torch.randint(0, 20, (3, 9)),), all_of(net)


@program
def checkpointed_blocks():
    blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8))
                           for _ in range(3))
    head = nn.Linear(8, 2)
    model = nn.ModuleList([blocks, head])
    opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    def step(x, y):
        h = x
        for b in blocks:
            h = h + checkpoint(b, h, use_reentrant=False)
        loss = F.cross_entropy(head(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    return step, (torch.randn(6, 8), torch.randint(0, 2, (6,))), all_of(model)


@program
def neural_cde():
    class CDEFunc(nn.Module):
        def __init__(self, i, h):
            super().__init__()
            self.i, self.h = i, h
            self.l1, self.l2 = nn.Linear(h, 24), nn.Linear(24, i * h)
        def forward(self, z):
            return torch.tanh(self.l2(self.l1(z).relu())).view(z.size(0), self.h, self.i)
    f, init, ro = CDEFunc(3, 5), nn.Linear(3, 5), nn.Linear(5, 1)
    opt = optim.Adam([p for mod in (f, init, ro) for p in mod.parameters()])
    def step(X, y):
        dX = X[:, 1:] - X[:, :-1]
        z = init(X[:, 0])
        for k in range(dX.shape[1]):
            def rhs(z):
                return (f(z) @ dX[:, k].unsqueeze(-1)).squeeze(-1)  # noqa: B023
            k1 = rhs(z)
            k2 = rhs(z + 0.5 * k1)
            k3 = rhs(z + 0.5 * k2)
            k4 = rhs(z + k3)
            z = z + (k1 + 2 * k2 + 2 * k3 + k4) / 6
        loss = F.binary_cross_entropy_with_logits(ro(z).squeeze(-1), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss.detach()
    return step, (torch.randn(8, 7, 3), torch.randint(0, 2, (8,)).float()), all_of(f, init, ro)


@program
def spiking():
    class SurrGradSpike(torch.autograd.Function):
        scale = 10.0
        @staticmethod
        def forward(ctx, input):
            ctx.save_for_backward(input)
            out = torch.zeros_like(input)
            out[input > 0] = 1.0
            return out
        @staticmethod
        def backward(ctx, grad_output):
            input, = ctx.saved_tensors
            grad_input = grad_output.clone()
            return grad_input / (SurrGradSpike.scale * torch.abs(input) + 1.0) ** 2
    spike_fn = SurrGradSpike.apply
    w1 = torch.empty((10, 20), requires_grad=True)
    torch.nn.init.normal_(w1, mean=0.0, std=1.0 / np.sqrt(10))
    w2 = torch.empty((20, 2), requires_grad=True)
    torch.nn.init.normal_(w2, mean=0.0, std=1.0 / np.sqrt(20))
    opt = optim.Adam([w1, w2], lr=2e-3, betas=(0.9, 0.999))
    log_softmax_fn, loss_fn = nn.LogSoftmax(dim=1), nn.NLLLoss()
    def step(inputs, y):
        B, T = inputs.shape[:2]
        h1 = torch.einsum("abc,cd->abd", (inputs, w1))
        syn, mem = torch.zeros((B, 20)), torch.zeros((B, 20))
        spk_rec = []
        for t in range(T):
            mthr = mem - 1.0
            out = spike_fn(mthr)
            rst = out.detach()
            new_syn = 0.9 * syn + h1[:, t]
            new_mem = (0.8 * mem + syn) * (1.0 - rst)
            spk_rec.append(out)
            mem, syn = new_mem, new_syn
        spk_rec = torch.stack(spk_rec, dim=1)
        h2 = torch.einsum("abc,cd->abd", (spk_rec, w2))
        flt, out = torch.zeros((B, 2)), torch.zeros((B, 2))
        rec = [out]
        for t in range(T):
            new_flt = 0.9 * flt + h2[:, t]
            out = 0.8 * out + flt
            flt = new_flt
            rec.append(out)
        m, _ = torch.max(torch.stack(rec, dim=1), 1)
        loss = loss_fn(log_softmax_fn(m), y) + 1e-5 * torch.sum(spk_rec)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    return step, ((torch.rand(8, 12, 10) < 0.5).float() * 2, torch.randint(0, 2, (8,))), [w1, w2]


@program
def moe_dense_mask():
    n, k, d = 4, 2, 8
    w1 = nn.Parameter(torch.randn(n, d, 16) * 0.2)
    w2 = nn.Parameter(torch.randn(n, 16, d) * 0.2)
    gate = nn.Linear(d, n)
    opt = optim.Adamax([w1, w2, *gate.parameters()], lr=1e-2)
    def step(x, y):
        logits = gate(x)
        topv, topi = logits.topk(k, dim=-1)
        mask = torch.zeros_like(logits).scatter(1, topi, 1.0).bool()
        p = logits.masked_fill(~mask, float('-inf')).softmax(-1)
        h = torch.einsum('bd,ndh->nbh', x, w1).relu_()
        o = torch.einsum('nbh,nhd->nbd', h, w2)
        out = (p.t().unsqueeze(-1) * o).sum(0)
        cv = p.sum(0).var() / (p.sum(0).mean() ** 2 + 1e-10)
        loss = (out - y).pow(2).mean() + 1e-2 * cv
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    return step, (torch.randn(12, d), torch.randn(12, d)), all_of(w1, w2, gate)
