"""The other half of the ordinary programs: two networks, gradients of gradients, weights that are averaged."""

from __future__ import annotations

import math

import nn
import nn.functional as F
import optim
from tinygrad_like import Tensor, autograd, no_grad

from .ordinary import normal, program, update, whole


@program
def gan_with_two_steps(captured):
    generator, critic = nn.MLP([3, 8, 2]), nn.MLP([2, 8, 1])
    of_g, of_d = (optim.Adam(m.parameters(), lr=1e-3, betas=(0.5, 0.999)) for m in (generator, critic))
    criterion = nn.BCEWithLogitsLoss()

    @captured
    def critics(real):
        fake = generator(Tensor.randn(len(real), 3)).detach()
        ones, zeros = Tensor.ones(len(real), 1), Tensor.zeros(len(real), 1)
        return update(criterion(critic(real), ones) + criterion(critic(fake), zeros), of_d)

    @captured
    def generators(n):
        return update(criterion(critic(generator(Tensor.randn(n, 3))), Tensor.ones(n, 1)), of_g)

    def step(real):
        return critics(real), generators(len(real))

    return step, lambda i: (normal(i, 5, 2),), [*generator.parameters(), *critic.parameters()]


@program
def wgan_with_a_gradient_penalty(captured):
    critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = optim.RMSprop(critic.parameters(), lr=1e-3)

    @captured
    def step(real, fake):
        mix = Tensor.rand(len(real), 1)
        between = (real * mix + fake * (1 - mix)).requires_grad_()
        (slope,) = autograd.grad(critic(between).sum(), [between], create_graph=True)
        penalty = ((slope.square().sum(1) + 1e-12).sqrt() - 1).square().mean()
        return update(critic(fake).mean() - critic(real).mean() + 10 * penalty, optimizer)

    return step, lambda i: (normal(i, 5, 2), normal(i + 1, 5, 2)), list(critic.parameters())


@program
def maml(captured):
    model = nn.MLP([1, 8, 1])
    optimizer = optim.Adam(model.parameters(), lr=1e-2)

    @captured
    def step(xs, ys, x2, y2):
        total = 0.0
        for k in range(2):
            weights = dict(model.named_parameters())
            inner = F.mse_loss(nn.functional_call(model, weights, xs[k]), ys[k])
            slopes = autograd.grad(inner, list(weights.values()), create_graph=True)
            fast = {n: w - 0.1 * g for (n, w), g in zip(weights.items(), slopes, strict=True)}
            total = total + F.mse_loss(nn.functional_call(model, fast, x2[k]), y2[k])
        return update(total / 2, optimizer)

    return step, lambda i: tuple(normal(i + k, 2, 4, 1) for k in range(4)), list(model.parameters())


@program
def pinn(captured):
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)

    @captured
    def step(t, x):
        t, x = t.detach().requires_grad_(), x.detach().requires_grad_()
        u = model(Tensor.cat([t, x], axis=1))
        u_t, u_x = autograd.grad(u.sum(), [t, x], create_graph=True)
        (u_xx,) = autograd.grad(u_x.sum(), [x], create_graph=True)
        return update((u_t + u * u_x - 0.01 / math.pi * u_xx).square().mean(), optimizer)

    return step, lambda i: (normal(i, 6, 1), normal(i + 1, 6, 1)), list(model.parameters())


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
def normalizing_flow(captured):
    nets = nn.ModuleList([nn.MLP([1, 8, 2]) for _ in range(3)])
    optimizer = optim.Adam(nets.parameters(), lr=1e-2)

    @captured
    def step(x):
        a, b, volume = x[:, :1], x[:, 1:], 0.0
        for net in nets:
            s, t = net(a).chunk(2, -1)
            s = s.tanh()
            a, b, volume = b * s.exp() + t, a, volume + s.sum(1)
        z = Tensor.cat([a, b], axis=1)
        return update((0.5 * z.square().sum(1) + math.log(2 * math.pi) - volume).mean(), optimizer)

    return step, lambda i: (normal(i, 6, 2),), list(nets.parameters())


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
def contrastive_pairs(captured):
    model = nn.MLP([4, 8, 5])
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @captured
    def step(x):
        a, b = (F.normalize(model(x + Tensor.randn(*x.shape) * 0.1), dim=1) for _ in range(2))
        z = Tensor.cat([a, b])
        similar = (z @ z.T / 0.5).masked_fill(Tensor.eye(len(z)).bool(), -1e9)
        n = len(x)
        wanted = Tensor.cat([Tensor.arange(n) + n, Tensor.arange(n)])
        return update(F.cross_entropy(similar, wanted), optimizer)

    return step, lambda i: (normal(i, 4, 4),), list(model.parameters())


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
def neural_ode_by_runge_kutta(captured):
    f = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = optim.Adam(f.parameters(), lr=1e-2)

    @captured
    def step(x, targets):
        dt, path = 0.1, []
        for _ in range(3):
            k1 = f(x)
            k2 = f(x + dt / 2 * k1)
            k3 = f(x + dt / 2 * k2)
            k4 = f(x + dt * k3)
            x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(x)
        return update(F.l1_loss(Tensor.stack(path), targets), optimizer)

    return step, lambda i: (normal(i, 4, 2), normal(i + 1, 3, 4, 2)), list(f.parameters())


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
def a_trainer_whose_method_is_captured(captured):
    class Trainer:
        def __init__(self):
            self.model = nn.MLP([4, 8, 3])
            self.optimizer = optim.Adam(self.model.parameters(), lr=1e-2)
            self.settings = {"smoothing": 0.1, "clip": 1.0}

        @captured
        def step(self, batch):
            loss = F.cross_entropy(self.model(batch["x"]), batch["y"], label_smoothing=self.settings["smoothing"])
            self.optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm(self.model.parameters(), self.settings["clip"])
            self.optimizer.step()
            return {"loss": loss.detach()}

    trainer = Trainer()
    return trainer.step, lambda i: ({"x": normal(i, 6, 4), "y": whole(i, 3, 6)},), list(trainer.model.parameters())
