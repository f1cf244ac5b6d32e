"""A Wasserstein GAN with gradient penalty that learns eight Gaussians on a circle."""

import numpy as np
import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.optim as optim

DIM, LAMBDA, CRITIC_ITERS, BATCH_SIZE = 32, 0.1, 3, 32


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        main = nn.Sequential(
            nn.Linear(2, DIM),
            nn.ReLU(True),
            nn.Linear(DIM, DIM),
            nn.ReLU(inplace=True),
            nn.Linear(DIM, 2),
        )
        self.main = main

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Linear(2, DIM),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(DIM, DIM),
            nn.LeakyReLU(0.2, True),
            nn.Linear(DIM, 1),
        )

    def forward(self, inputs):
        output = self.main(inputs)
        return output.view(-1)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Linear') != -1:
        nn.init.normal_(m.weight, 0.0, 0.2)
        nn.init.constant_(m.bias, 0)


def inf_train_gen():
    rng = np.random.RandomState(3)
    angles = 2 * np.pi * np.arange(8) / 8
    centers = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    while True:
        dataset = centers[rng.randint(8, size=BATCH_SIZE)] + 0.02 * rng.randn(BATCH_SIZE, 2)
        yield dataset.astype('float32')


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(BATCH_SIZE, 1)
    alpha = alpha.expand(real_data.size())

    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates.requires_grad_(True)

    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                              grad_outputs=torch.ones(disc_interpolates.size()),
                              create_graph=True, retain_graph=True, only_inputs=True)[0]
    gradient_penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA
    return gradient_penalty


def build():
    netG, netD = Generator(), Discriminator()
    netD.apply(weights_init)
    netG.apply(weights_init)
    return {"G": netG, "D": netD}


def train(modules):
    netG, netD = modules["G"], modules["D"]
    optimizerD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
    optimizerG = optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))
    one = torch.tensor(1, dtype=torch.float)
    mone = one * -1
    data = inf_train_gen()
    losses = []
    for iteration in range(5):
        # (1) Update D network
        for p in netD.parameters():  # reset requires_grad
            p.requires_grad = True  # they are set to False below in netG update
        for iter_d in range(CRITIC_ITERS):
            real_data = torch.Tensor(next(data))
            netD.zero_grad()

            # train with real
            D_real = netD(real_data)
            D_real = D_real.mean()
            D_real.backward(mone)

            # train with fake
            noise = torch.randn(BATCH_SIZE, 2)
            with torch.no_grad():
                fake = netG(noise)
            D_fake = netD(fake)
            D_fake = D_fake.mean()
            D_fake.backward(one)

            # train with gradient penalty
            gradient_penalty = calc_gradient_penalty(netD, real_data, fake)
            gradient_penalty.backward()

            D_cost = D_fake - D_real + gradient_penalty
            Wasserstein_D = D_real - D_fake
            optimizerD.step()
            losses += [D_cost.item(), Wasserstein_D.detach().cpu().numpy().item()]

        # (2) Update G network
        for p in netD.parameters():
            p.requires_grad = False  # to avoid computation
        netG.zero_grad()

        noise = torch.randn(BATCH_SIZE, 2)
        fake = netG(noise)
        G = netD(fake)
        G = G.mean()
        G.backward(mone)
        G_cost = -G
        optimizerG.step()
        losses.append(G_cost.cpu().data.item())
    return losses
