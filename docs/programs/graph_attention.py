"""A graph convolution and two heads of graph attention label the nodes of a random graph."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Parameter
from torch.optim import Adam


class GraphConv(nn.Module):
    def __init__(self, fin, fout, bias=True):
        super(GraphConv, self).__init__()
        self.weight = Parameter(torch.FloatTensor(fin, fout))
        if bias:
            self.bias = Parameter(torch.FloatTensor(fout))
        else:
            self.register_parameter('bias', None)
        bound = 1. / math.sqrt(fout)
        for p in self.parameters():
            p.data.uniform_(-bound, bound)

    def forward(self, x, adj):
        out = torch.spmm(adj, torch.mm(x, self.weight))
        return out if self.bias is None else out + self.bias

    def extra_repr(self):
        return '{}, {}'.format(*self.weight.shape)


class AttentionHead(nn.Module):
    def __init__(self, fin, fout, slope=0.2):
        super().__init__()
        self.W = nn.Parameter(torch.empty(size=(fin, fout)))
        self.a = nn.Parameter(torch.empty(size=(2 * fout, 1)))
        for p in (self.W, self.a):
            nn.init.xavier_uniform_(p.data, gain=1.414)
        self.leaky = nn.LeakyReLU(slope)

    def forward(self, x, adj):
        h = torch.mm(x, self.W)
        left, right = torch.split(self.a, h.shape[1])
        scores = self.leaky(torch.matmul(h, left) + torch.matmul(h, right).T)
        scores = torch.where(adj > 0, scores, -9e15 * torch.ones_like(scores))
        weights = F.dropout(F.softmax(scores, dim=1), 0.0, training=self.training)
        return F.elu(torch.matmul(weights, h))


class Net(nn.Module):
    def __init__(self, fin, hidden, classes):
        super().__init__()
        self.first = GraphConv(fin, hidden)
        self.heads = [AttentionHead(hidden, 6) for _ in range(2)]
        for i, head in enumerate(self.heads):
            self.add_module('head_{}'.format(i), head)
        self.last = GraphConv(12, classes, bias=False)

    def forward(self, x, adj):
        x = F.relu(self.first(x, adj))
        x = torch.cat([head(x, adj) for head in self.heads], dim=1)
        return F.log_softmax(self.last(x, adj), dim=1)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    return preds.eq(labels).double().sum() / len(labels)


def build():
    return {"model": Net(12, 8, 3)}


def train(modules):
    rng = np.random.RandomState(2)
    labels = torch.LongTensor(np.where(np.eye(3)[rng.randint(0, 3, 30)])[1])
    adj = (rng.rand(30, 30) < 0.1).astype(np.float32)
    adj = np.maximum(adj, adj.T) + np.eye(30, dtype=np.float32)
    adj = torch.FloatTensor(adj / adj.sum(1, keepdims=True))
    features = torch.FloatTensor(rng.rand(30, 12))
    idx_train, idx_val = torch.LongTensor(range(15)), torch.LongTensor(range(15, 30))
    model, losses = modules["model"], []
    optimizer = Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(8):
        model.train()
        optimizer.zero_grad()
        output = model(features, adj)
        loss = F.nll_loss(output[idx_train], labels[idx_train])
        loss.backward()
        optimizer.step()
        model.eval()
        output = model(features, adj)
        losses += [loss.item(), F.nll_loss(output[idx_val], labels[idx_val]).item(),
                   float(accuracy(output[idx_train], labels[idx_train]))]
    return losses
