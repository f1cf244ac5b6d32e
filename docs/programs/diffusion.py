"""Denoising diffusion of points on a circle."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

T = 50
betas = torch.linspace(1e-4, 0.02, T, dtype=torch.float32)
alphas = 1. - betas
alpha_bar = torch.cumprod(alphas, dim=0)
alpha_bar_before = F.pad(alpha_bar[:-1], (1, 0), value=1.)


def extract(a, t, shape):
    return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(torch.arange(half, device=t.device) * -(math.log(10000) / (half - 1)))
        angles = t[:, None] * freqs[None, :]
        return torch.cat((angles.sin(), angles.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, hidden=32, emb=16):
        super().__init__()
        self.time = nn.Sequential(TimeEmbedding(emb), nn.Linear(emb, hidden), nn.SiLU())
        self.inp, self.mid, self.out = nn.Linear(2, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 2)

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)
        h = h + F.gelu(self.mid(h))
        return self.out(h)


def build():
    return {"model": Denoiser()}


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        t = torch.full((n,), i, dtype=torch.long)
        mean = (x - betas[i] / torch.sqrt(1 - alpha_bar[i]) * model(x, t)) / torch.sqrt(alphas[i])
        variance = (betas[i] * (1. - alpha_bar_before[i]) / (1. - alpha_bar[i])).clip(1e-20)
        x = mean + variance ** 0.5 * torch.randn_like(x) if i > 0 else mean
    return x


def train(modules):
    model, losses = modules["model"], []
    angle = torch.linspace(0, 2 * math.pi, 128)
    data = TensorDataset(torch.stack([torch.cos(angle), torch.sin(angle)], dim=1))
    loader = DataLoader(data, batch_size=32, shuffle=False, drop_last=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(3):
        model.train()
        for step, (x0,) in enumerate(loader):
            noise = torch.randn_like(x0)
            t = torch.randint(0, T, (x0.shape[0],)).long()
            xt = extract(alpha_bar, t, x0.shape).sqrt() * x0 + (1 - extract(alpha_bar, t, x0.shape)).sqrt() * noise
            loss = F.mse_loss(model(xt, t), noise)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.detach().item())
    model.eval()
    points = sample(model, 16)
    return losses + points.numpy().mean(0).tolist()
