"""The other half of the ordinary programs: two networks, accumulated gradients, averaged weights."""

from __future__ import annotations

import nn
import nn.functional as F
import optim
from tinygrad_like import Tensor, no_grad

from .ordinary import normal, program, update, whole


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
