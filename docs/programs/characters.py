"""An LSTM that learns a sentence letter by letter, with hidden states carried from batch to batch."""

import torch
import torch.nn as nn
from torch.autograd import Variable
from torch.nn.utils import clip_grad_norm_

text = "pack my box with five dozen liquor jugs. " * 6
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
seq_len, batch_size, hidden_size, num_layers = 12, 5, 24, 2


def encode(s):
    ids = torch.zeros(len(s)).long()
    for i in range(len(s)):
        ids[i] = stoi[s[i]]
    return ids


class LetterModel(nn.Module):
    def __init__(self, vocab_size, embed_size, hidden_size, num_layers):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_size)
        self.lstm = nn.LSTM(embed_size, hidden_size, num_layers, batch_first=True)
        self.decoder = nn.Linear(hidden_size, vocab_size)

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.embed(x), hidden)
        out = out.contiguous().view(-1, out.size(2))
        return self.decoder(out), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters()).data
        return (weight.new(num_layers, bsz, hidden_size).zero_(), weight.new(num_layers, bsz, hidden_size).zero_())


def build():
    return {"model": LetterModel(len(chars), 16, hidden_size, num_layers)}


def train(modules):
    model, losses = modules["model"], []
    ids = encode(text)
    ids = ids[:len(ids) // batch_size * batch_size].view(batch_size, -1)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(2):
        hidden = model.init_hidden(batch_size)
        for i in range(0, ids.size(1) - seq_len, seq_len):
            inputs, targets = Variable(ids[:, i:i + seq_len]), Variable(ids[:, i + 1:i + 1 + seq_len])
            hidden = tuple(h.detach() for h in hidden)
            outputs, hidden = model(inputs, hidden)
            loss = criterion(outputs, targets.reshape(-1))
            model.zero_grad()
            loss.backward()
            norm = clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            losses += [loss.item(), float(norm)]
    with torch.no_grad():
        hidden, letter = model.init_hidden(1), ids[0, 0].unsqueeze(0).unsqueeze(1)
        for i in range(10):
            output, hidden = model(letter, hidden)
            top = torch.topk(output.data.view(-1).div(0.8).exp(), 1)[1][0]
            losses.append(float(top))
            letter.fill_(top)
    return losses
