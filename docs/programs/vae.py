"""A variational autoencoder on small synthetic images."""

import numpy as np
import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(1)
device = torch.device("cpu")


def images(n=64):
    rng = np.random.RandomState(0)
    x = np.zeros((n, 1, 8, 8), dtype=np.float32)
    for i in range(n):
        r, c = rng.randint(0, 5, size=2)
        x[i, 0, r:r + 3, c:c + 3] = 1.0
    return torch.from_numpy(x)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()

        self.fc1 = nn.Linear(64, 40)
        self.fc21 = nn.Linear(40, 4)
        self.fc22 = nn.Linear(40, 4)
        self.fc3 = nn.Linear(4, 40)
        self.fc4 = nn.Linear(40, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5*logvar)
        eps = torch.randn_like(std)
        return mu + eps*std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


# Reconstruction + KL divergence losses summed over all elements and batch
def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction='sum')
    # 0.5 * sum(1 + log(sigma^2) - mu^2 - sigma^2)
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def build():
    return {"model": VAE().to(device)}


def train(modules):
    model = modules["model"]
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    data = images()
    losses = []
    for epoch in range(1, 4):
        model.train()
        train_loss = 0
        for batch_idx, batch in enumerate(torch.split(data, 16)):
            batch = batch.to(device)
            optimizer.zero_grad()
            recon_batch, mu, logvar = model(batch)
            loss = loss_function(recon_batch, batch, mu, logvar)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
            losses.append(loss.item() / len(batch))
        model.eval()
        test_loss = 0
        with torch.no_grad():
            for i, batch in enumerate(torch.chunk(data, 2, dim=0)):
                batch = batch.to(device)
                recon_batch, mu, logvar = model(batch)
                test_loss += loss_function(recon_batch, batch, mu, logvar).item()
                if i == 0:
                    n = min(batch.size(0), 8)
                    comparison = torch.cat([batch[:n], recon_batch.view(-1, 1, 8, 8)[:n]])
                    losses.append(comparison.cpu().mean().item())
        test_loss /= len(data)
        losses.append(test_loss)
        with torch.no_grad():
            sample = torch.randn(8, 4).to(device)
            sample = model.decode(sample).cpu()
            losses.append(sample.view(8, 1, 8, 8).std().item())
    return losses
