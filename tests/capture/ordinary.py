"""Training programs as ordinary users write them: captured, each must be replayed.

Each function sets up a model and returns its step, the arguments of call `i`, and its weights. `captured` decorates the
functions to capture.
"""

from __future__ import annotations

import math
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

import nn
import nn.functional as F
import optim
from tinygrad_like import Tensor, no_grad

Capture = Callable[[Callable], Any]
Made = tuple[Callable, Callable[[int], tuple], list[Tensor]]
PROGRAMS: dict[str, Callable[[Capture], Made]] = {}


def program(f: Callable[[Capture], Made]) -> Callable[[Capture], Made]:
    PROGRAMS[f.__name__] = f
    return f


def normal(i: int, *shape: int) -> Tensor:
    return Tensor(np.random.default_rng(i).standard_normal(shape).astype(np.float32))


def whole(i: int, most: int, *shape: int) -> Tensor:
    return Tensor(np.random.default_rng(i).integers(0, most, shape))


def update(loss: Tensor, optimizer: Any) -> Tensor:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def supervised(captured: Capture, model: nn.Module, optimizer: Any, batch: Callable[[int], tuple],
               criterion: Callable = F.cross_entropy) -> Made:
    @captured
    def step(x, y):
        return update(criterion(model(x), y), optimizer)

    return step, batch, [*model.state_dict().values()]


@program
def classifier_with_clipping_and_a_schedule(captured):
    model = nn.MLP([6, 16, 4])
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)

    @captured
    def step(x, y):
        loss = F.cross_entropy(model(F.normalize(x, eps=1e-6)), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:
            optim.clip_grad_norm(group["params"], 1.0)
        optimizer.step()
        schedule.step()
        return loss

    return step, lambda i: (normal(i, 8, 6), whole(i, 4, 8)), list(model.parameters())


@program
def cnn_with_batch_norm_and_dropout(captured):
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Dropout(0.2), nn.Linear(64, 3))
    return supervised(captured, model, optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
                      lambda i: (normal(i, 4, 1, 8, 8), whole(i, 3, 4)))


@program
def lstm_with_a_carried_state(captured):
    embedding, lstm, head = nn.Embedding(11, 8), nn.LSTM(8, 12), nn.Linear(12, 11)
    weights = [*embedding.parameters(), *lstm.parameters(), *head.parameters()]
    optimizer = optim.Adam(weights, lr=1e-2)

    @captured
    def step(tokens, targets, h, c):
        out, (h, c) = lstm(embedding(tokens), (h, c))
        loss = F.cross_entropy(head(out).reshape(-1, 11), targets.reshape(-1))
        update(loss, optimizer)
        return loss.detach(), h.detach(), c.detach()

    def arguments(i):
        return whole(i, 11, 5, 3), whole(i + 1, 11, 5, 3), normal(i, 1, 3, 12), normal(i + 1, 1, 3, 12)

    return step, arguments, weights


@program
def gru_forecast(captured):
    class Forecast(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.head = nn.GRU(2, 10, batch_first=True), nn.Linear(10, 1)

        def forward(self, x):
            return self.head(self.gru(x)[0][:, -1])

    model = Forecast()
    return supervised(captured, model, optim.Adam(model.parameters(), lr=1e-2),
                      lambda i: (normal(i, 4, 6, 2), normal(i, 4, 1)), F.mse_loss)


class Rotary(nn.Module):
    """A block of a GPT with rotary positions, written out."""

    def __init__(self, width: int, heads: int, length: int):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        half = width // heads // 2
        angles = np.arange(length)[:, None] / 10000 ** (np.arange(half)[None] / half)
        self.cos, self.sin = (Tensor(f(angles).astype(np.float32)) for f in (np.cos, np.sin))

    def turned(self, x):
        a, b = x.chunk(2, -1)
        return Tensor.cat([a * self.cos - b * self.sin, a * self.sin + b * self.cos], axis=-1)

    def forward(self, x):
        n, t, d = x.shape
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (z.reshape(n, t, self.heads, d // self.heads).transpose(1, 2) for z in parts)
        mixed = F.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, t, d))
        return x + self.down(F.silu(self.up(self.norm2(x))))


@program
def gpt_with_rotary_positions(captured):
    model = nn.Sequential(nn.Embedding(13, 16), Rotary(16, 2, 6), Rotary(16, 2, 6), nn.LayerNorm(16), nn.Linear(16, 13))
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-2)
    schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / len(decay)))

    @captured
    def step(tokens, targets):
        loss = F.cross_entropy(model(tokens).reshape(-1, 13), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        norm = optim.clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        return loss, norm

    return step, lambda i: (whole(i, 13, 2, 6), whole(i + 1, 13, 2, 6)), list(model.parameters())


@program
def vision_transformer(captured):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.layer = nn.Conv2d(1, 8, 4, stride=4), nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
            self.place, self.token = nn.Parameter(Tensor.randn(1, 5, 8)), nn.Parameter(Tensor.zeros(1, 1, 8))
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = Tensor.cat([self.token.expand(len(x), -1, -1), x], axis=1) + self.place
            return self.head(self.layer(x)[:, 0])

    model = Net()
    return supervised(captured, model, optim.Adam(model.parameters(), lr=1e-3),
                      lambda i: (normal(i, 3, 1, 8, 8), whole(i, 3, 3)))


@program
def unet_diffusion(captured):
    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.mid = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
            self.up = nn.Conv2d(8, 1, 3, padding=1)
            self.time = nn.Linear(8, 4)

        def forward(self, x, t):
            rates = Tensor(np.exp(-np.arange(4) / 4 * math.log(100.0)).astype(np.float32))
            angles = t.float().unsqueeze(1) * rates
            time = self.time(Tensor.cat([angles.sin(), angles.cos()], axis=1))
            a = F.silu(self.down(x) + time[:, :, None, None])
            b = F.interpolate(F.silu(self.mid(F.avg_pool2d(a, 2))), scale_factor=2)
            return self.up(Tensor.cat([a, b], axis=1))

    model = UNet()
    ema, optimizer = optim.EMA(model, decay=0.9), optim.Adam(model.parameters(), lr=1e-3)
    kept = Tensor(np.cumprod(1 - np.linspace(1e-4, 0.02, 50)).astype(np.float32))

    @captured
    def step(x):
        t = Tensor.randint(len(x), low=0, high=50)
        noise = Tensor.randn(*x.shape)
        a = kept[t][:, None, None, None]
        loss = F.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)
        update(loss, optimizer)
        ema.update()
        return loss

    return step, lambda i: (normal(i, 3, 1, 8, 8),), list(model.parameters())


@program
def ppo_with_an_annealed_rate_and_short_batches(captured):
    actor, critic = nn.MLP([4, 8, 3]), nn.MLP([4, 8, 1])
    weights = [*actor.parameters(), *critic.parameters()]
    optimizer = optim.Adam(weights, lr=1e-2, eps=1e-5)

    @captured
    def step(x, actions, before, advantages, returns):
        logp = F.log_softmax(actor(x), -1)
        ratio = (logp.gather(1, actions[:, None])[:, 0] - before).exp()
        a = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy = -Tensor.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
        entropy = -(logp.exp() * logp).sum(-1).mean()
        loss = policy + 0.5 * F.mse_loss(critic(x)[:, 0], returns) - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        optim.clip_grad_norm(weights, 0.5)
        optimizer.step()
        return loss, entropy

    def arguments(i):
        optimizer.param_groups[0]["lr"] = 1e-2 * (1 - i / 20)
        n = 5 if i % 4 == 3 else 8
        return normal(i, n, 4), whole(i, 3, n), normal(i + 1, n) * 0.1 - 1.1, normal(i + 2, n), normal(i + 3, n)

    return step, arguments, weights


@program
def actor_critic_with_a_soft_target(captured):
    actor, critic, target = nn.MLP([3, 8, 2]), nn.MLP([4, 8, 1]), nn.MLP([4, 8, 1])
    of_actor, of_critic = optim.Adam(actor.parameters(), lr=1e-3), optim.Adam(critic.parameters(), lr=1e-3)

    def drawn(x):
        mean, scale = actor(x).chunk(2, -1)
        u = mean + scale.clamp(-5, 2).exp() * Tensor.randn(*mean.shape)
        return u.tanh()

    @captured
    def step(x, action, reward, after):
        with no_grad():
            wanted = reward + 0.9 * target(Tensor.cat([after, drawn(after)], axis=1))
        value = update(F.mse_loss(critic(Tensor.cat([x, action], axis=1)), wanted), of_critic)
        update(-critic(Tensor.cat([x, drawn(x)], axis=1)).mean(), of_actor)
        with no_grad():
            for p, q in zip(critic.parameters(), target.parameters(), strict=True):
                q.mul_(0.95).add_(p * 0.05)
        return value

    return step, lambda i: (normal(i, 5, 3), normal(i + 1, 5, 1), normal(i + 2, 5, 1), normal(i + 3, 5, 3)), [
        *actor.parameters(), *critic.parameters(), *target.parameters()]


@program
def gan_of_two_captured_steps(captured):
    """The generator's step adds to gradients that the discriminator's has left."""
    g, d = nn.MLP([4, 16, 2]), nn.MLP([2, 16, 1])
    of_g, of_d = optim.RMSprop(g.parameters(), lr=2e-3), optim.RMSprop(d.parameters(), lr=2e-3)

    @captured
    def discriminator(real):
        return update(d(g(Tensor.randn(8, 4)).detach()).mean() - d(real).mean(), of_d)

    @captured
    def generator():
        return update(-d(g(Tensor.randn(8, 4))).mean(), of_g)

    def step(real, both):
        return [discriminator(real), *[generator() for _ in range(both)]]

    return step, lambda i: (normal(i, 8, 2), i > 2), [*g.parameters(), *d.parameters()]


@program
def kalman_filter(captured):
    move, noise, seen = (nn.Parameter(t) for t in (Tensor.eye(2) * 0.9, Tensor.zeros(2), Tensor.zeros(1)))
    optimizer = optim.Adam([move, noise, seen], lr=1e-2)
    look = Tensor([[1.0, 0.0]])

    @captured
    def step(observed):
        x, cov, loss = Tensor.zeros(2, 1), Tensor.eye(2), 0.0
        for z in observed:
            x, cov = move @ x, move @ cov @ move.T + noise.exp().diag()
            s = look @ cov @ look.T + seen.exp()
            residual = z - look @ x
            gain = cov @ look.T / s
            x, cov = x + gain @ residual, (Tensor.eye(2) - gain @ look) @ cov
            loss = loss + 0.5 * (s.log() + residual**2 / s).sum()
        return update(loss, optimizer)

    return step, lambda i: (normal(i, 4, 1, 1),), [move, noise, seen]


@program
def tcn(captured):
    class Block(nn.Module):
        def __init__(self, before, after, dilation):
            super().__init__()
            self.pad, self.conv = 2 * dilation, nn.Conv1d(before, after, 3, dilation=dilation)
            self.skip = nn.Conv1d(before, after, 1) if before != after else nn.Identity()

        def forward(self, x):
            return F.relu(self.conv(F.pad(x, (self.pad, 0)))) + self.skip(x)

    model = nn.Sequential(Block(2, 4, 1), Block(4, 4, 2), Block(4, 4, 4), nn.Conv1d(4, 1, 1))
    return supervised(captured, model, optim.Adam(model.parameters(), lr=1e-2),
                      lambda i: (normal(i, 3, 2, 12), normal(i, 3, 1, 12)), F.mse_loss)


@program
def ema_of_the_weights_and_a_captured_evaluation(captured):
    model = nn.MLP([4, 8, 3])
    optimizer, ema = optim.SGD(model.parameters(), lr=0.1), optim.EMA(model, decay=0.9)

    @captured
    def train(x, y):
        update(F.cross_entropy(model(x), y), optimizer)
        ema.update()

    @captured
    def evaluate(x, y):
        with no_grad():
            return (model(x).argmax(-1) == y).float().mean()

    def step(x, y):
        train(x, y)
        return evaluate(x, y)

    return step, lambda i: (normal(i, 6, 4), whole(i, 3, 6)), list(model.parameters())


@program
def accumulation_over_parts_of_a_batch(captured):
    model = nn.MLP([4, 8, 3])
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)

    @captured
    def step(x, y):
        optimizer.zero_grad()
        total = 0.0
        for a, b in zip(x.chunk(4), y.chunk(4), strict=True):
            loss = F.cross_entropy(model(a), b) / 4
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        return total

    return step, lambda i: (normal(i, 8, 4), whole(i, 3, 8)), list(model.parameters())


@program
def accumulation_over_calls(captured):
    model = nn.MLP([4, 8, 3])
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @captured
    def step(x, y, last):
        loss = F.cross_entropy(model(x), y) / 2
        loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return step, lambda i: (normal(i, 6, 4), whole(i, 3, 6), i % 2 == 1), list(model.parameters())


@program
def vae(captured):
    encoder, decoder = nn.MLP([6, 8, 4]), nn.MLP([2, 8, 6])
    weights = [*encoder.parameters(), *decoder.parameters()]
    optimizer = optim.Adam(weights, lr=1e-2)

    @captured
    def step(x):
        mean, logvar = encoder(x).chunk(2, -1)
        z = mean + (0.5 * logvar).exp() * Tensor.randn(*mean.shape)
        kl = -0.5 * (1 + logvar - mean.square() - logvar.exp()).sum(1).mean()
        error = F.binary_cross_entropy_with_logits(decoder(z), x.sigmoid(), reduction="sum") / len(x)
        update(error + kl, optimizer)
        return error, kl

    return step, lambda i: (normal(i, 5, 6),), weights


@program
def word2vec_with_negative_samples(captured):
    inside, outside = nn.Embedding(20, 6), nn.Embedding(20, 6)
    weights = [inside.weight, outside.weight]
    optimizer = optim.Adam(weights, lr=1e-2)

    @captured
    def step(center, context, negative):
        v = inside(center)
        good = F.logsigmoid((v * outside(context)).sum(-1))
        bad = F.logsigmoid(-(outside(negative) @ v[:, :, None])[:, :, 0]).sum(-1)
        return update(-(good + bad).mean(), optimizer)

    return step, lambda i: (whole(i, 20, 6), whole(i + 1, 20, 6), whole(i + 2, 20, 6, 3)), weights


@program
def distillation(captured):
    teacher, student = nn.MLP([4, 16, 3]).eval(), nn.MLP([4, 8, 3])
    for p in teacher.parameters():
        p.requires_grad = False
    optimizer = optim.Adam(student.parameters(), lr=1e-2)

    @captured
    def step(x, y):
        with no_grad():
            wanted = (teacher(x) / 2.0).softmax(-1)
        out = student(x)
        soft = F.kl_div((out / 2.0).log_softmax(-1), wanted, reduction="batchmean") * 4.0
        return update(0.5 * soft + 0.5 * F.cross_entropy(out, y), optimizer)

    return step, lambda i: (normal(i, 6, 4), whole(i, 3, 6)), list(student.parameters())


@program
def matrix_factorization(captured):
    users, items, bias = nn.Embedding(9, 4), nn.Embedding(7, 4), nn.Embedding(9, 1)
    weights = [users.weight, items.weight, bias.weight]
    optimizer = optim.Adagrad(weights, lr=0.1)

    @captured
    def step(u, v, rating):
        guess = (users(u) * items(v)).sum(-1) + bias(u)[:, 0]
        return update(F.mse_loss(guess, rating) + 1e-3 * users(u).square().sum(), optimizer)

    return step, lambda i: (whole(i, 9, 8), whole(i, 7, 8), normal(i, 8)), weights


@program
def seq2seq_with_attention_and_padding(captured):
    embedding, encoder, decoder = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True), nn.GRUCell(16, 8)
    head = nn.Linear(8, 12)
    weights = [p for m in (embedding, encoder, decoder, head) for p in m.parameters()]
    optimizer = optim.Adam(weights, lr=1e-2)

    @captured
    def step(source, target):
        states, h = encoder(embedding(source))
        h, mask, loss = h[0], source == 0, 0.0
        for k in range(target.shape[1] - 1):
            scores = (states @ h[:, :, None])[:, :, 0].masked_fill(mask, -1e9)
            context = (scores.softmax(-1)[:, :, None] * states).sum(1)
            h = decoder(Tensor.cat([embedding(target[:, k]), context], axis=1), h)
            loss = loss + F.cross_entropy(head(h), target[:, k + 1])
        return update(loss / (target.shape[1] - 1), optimizer)

    return step, lambda i: (whole(i, 12, 3, 5), whole(i + 1, 12, 3, 4)), weights


@program
def parameters_as_a_vector(captured):
    layer = nn.Linear(3, 2)

    @captured
    def step(x):
        loss = layer(x).square().sum() / x.data.size(0)
        gradient = Tensor.cat([g.reshape(-1) for g in loss.gradient(*layer.parameters())])
        vector = nn.utils.parameters_to_vector(layer.parameters())
        nn.utils.vector_to_parameters(vector - 0.1 * gradient, layer.parameters())
        return loss.detach()

    return step, lambda i: (normal(i, 4, 3),), [*layer.parameters()]


@program
def a_trainer_whose_method_is_captured(captured):
    class Trainer:
        def __init__(self):
            self.model = nn.MLP([4, 8, 3])
            self.optimizer = optim.Adam(self.model.parameters(), lr=1e-2)
            self.args = Namespace(smoothing=0.1, clip=1.0, kind=IntEnum("Kind", "A B").B, weights=Counter(a=2))

        @captured
        def step(self, batch):
            loss = F.cross_entropy(self.model(batch["x"]), batch["y"], label_smoothing=self.args.smoothing)
            self.optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm(self.model.parameters(), self.args.clip * self.args.kind * self.args.weights["a"])
            self.optimizer.step()
            return {"loss": loss.detach()}

    trainers = [Trainer() for _ in range(5)]
    return lambda batch: [trainer.step(batch) for trainer in trainers], lambda i: (
        {"x": normal(i, 6, 4), "y": whole(i, 3, 6)},), [p for trainer in trainers for p in trainer.model.parameters()]
