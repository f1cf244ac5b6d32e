"""A recurrent encoder and decoder with additive attention; outputs are written into one Tensor."""

import math
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim


class Encoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=0)
        self.rnn = nn.GRU(emb, hid, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(hid * 2, hid)

    def forward(self, src):
        out, h = self.rnn(self.embedding(src))
        h = torch.tanh(self.fc(torch.cat((h[-2, :, :], h[-1, :, :]), dim=1)))
        return out, h


class Attention(nn.Module):
    def __init__(self, hid):
        super().__init__()
        self.attn = nn.Linear(hid * 3, hid)
        self.v = nn.Linear(hid, 1, bias=False)

    def forward(self, hidden, enc, mask):
        n = enc.shape[1]
        hidden = hidden.unsqueeze(1).repeat(1, n, 1)
        energy = torch.tanh(self.attn(torch.cat((hidden, enc), dim=2)))
        a = self.v(energy).squeeze(2)
        a = a.masked_fill(mask == 0, -1e10)
        return F.softmax(a, dim=1)


class Decoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.vocab = vocab
        self.attention = Attention(hid)
        self.embedding = nn.Embedding(vocab, emb)
        self.rnn = nn.GRUCell(hid * 2 + emb, hid)
        self.out = nn.Linear(hid * 3 + emb, vocab)

    def forward(self, tok, hidden, enc, mask):
        e = self.embedding(tok)
        a = self.attention(hidden, enc, mask).unsqueeze(1)
        w = torch.bmm(a, enc).squeeze(1)
        hidden = self.rnn(torch.cat((e, w), dim=1), hidden)
        return self.out(torch.cat((hidden, w, e), dim=1)), hidden


class Seq2Seq(nn.Module):
    def __init__(self, vocab=12):
        super().__init__()
        self.encoder, self.decoder = Encoder(vocab, 8, 16), Decoder(vocab, 8, 16)

    def forward(self, src, trg, ratio=0.5):
        bs, n = trg.size()
        outputs = torch.zeros(n, bs, self.decoder.vocab, device=src.device)
        enc, h = self.encoder(src)
        tok = trg[:, 0]
        mask = src != 0
        for t in range(1, n):
            out, h = self.decoder(tok, h, enc, mask)
            outputs[t] = out
            teacher = random.random() < ratio
            top1 = out.argmax(1)
            tok = trg[:, t] if teacher else top1
        return outputs


def build():
    return {"m": Seq2Seq()}


def train(ms):
    random.seed(0)
    model = ms["m"]
    rng = np.random.default_rng(0)
    opt = optim.Adam(model.parameters(), lr=5e-3)
    crit = nn.CrossEntropyLoss(ignore_index=0)
    sched = optim.lr_scheduler.ExponentialLR(opt, gamma=0.9)
    out = []
    for i in range(6):
        src = torch.tensor(rng.integers(1, 12, (8, 7)))
        src[:, 5:] = 0
        trg = src.flip(1)
        opt.zero_grad()
        o = model(src, trg)
        loss = crit(o[1:].view(-1, o.shape[-1]), trg.t()[1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        opt.step()
        sched.step()
        out.append(loss.item())

    out.append(math.exp(loss.item()))
    out.append(sched.get_last_lr()[0])
    return out
