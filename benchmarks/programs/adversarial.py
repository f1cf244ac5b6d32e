"""Generators and their critics: DCGAN (Radford et al. 2016), and WGAN with a gradient penalty (Gulrajani et al. 2017).

A step trains the critic, then the generator, and returns the sum of both losses.
"""

import numpy as np

from . import Program, layers, normal


def dcgan_weights(rng):
    made = {"g1": normal(rng, 64, 64, 4, 4, scale=0.05), "g2": normal(rng, 64, 32, 4, 4, scale=0.05),
            "g3": normal(rng, 32, 16, 4, 4, scale=0.05), "g4": normal(rng, 16, 1, 4, 4, scale=0.05),
            "d1": normal(rng, 16, 1, 4, 4, scale=0.05), "d2": normal(rng, 32, 16, 4, 4, scale=0.05),
            "d3": normal(rng, 64, 32, 4, 4, scale=0.05), "d4": normal(rng, 1, 64, 4, 4, scale=0.05)}
    for name, channels in (("g1", 64), ("g2", 32), ("g3", 16), ("d2", 32), ("d3", 64)):
        made |= {f"{name}_gain": np.ones(channels, np.float32), f"{name}_bias": np.zeros(channels, np.float32)}
    return made


def dcgan_inputs(rng):
    images = np.tanh(normal(rng, 32, 1, 32, 32, scale=1))
    return images, normal(rng, 32, 64, 1, 1, scale=1)


def dcgan_ours(w):
    import nn.functional as F
    import optim
    from tinygrad_like import Tensor

    g_optimizer = optim.Adam([p for name, p in w.items() if name[0] == "g"], lr=2e-4, betas=(0.5, 0.999))
    d_optimizer = optim.Adam([p for name, p in w.items() if name[0] == "d"], lr=2e-4, betas=(0.5, 0.999))

    def norm(x, name):
        return F.batch_norm(x, None, None, w[f"{name}_gain"], w[f"{name}_bias"], training=True)

    def generator(z):
        z = norm(F.conv_transpose2d(z, w["g1"]), "g1").relu()
        z = norm(F.conv_transpose2d(z, w["g2"], stride=2, padding=1), "g2").relu()
        z = norm(F.conv_transpose2d(z, w["g3"], stride=2, padding=1), "g3").relu()
        return F.conv_transpose2d(z, w["g4"], stride=2, padding=1).tanh()

    def critic(x):
        x = F.leaky_relu(F.conv2d(x, w["d1"], stride=2, padding=1), 0.2)
        x = F.leaky_relu(norm(F.conv2d(x, w["d2"], stride=2, padding=1), "d2"), 0.2)
        x = F.leaky_relu(norm(F.conv2d(x, w["d3"], stride=2, padding=1), "d3"), 0.2)
        return F.conv2d(x, w["d4"]).reshape(-1)

    def step(images, noise):
        real, fake = Tensor.ones(images.shape[0]), Tensor.zeros(images.shape[0])
        made = generator(noise)
        d_optimizer.zero_grad()
        d_loss = (F.binary_cross_entropy_with_logits(critic(images), real)
                  + F.binary_cross_entropy_with_logits(critic(made.detach()), fake))
        d_loss.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        g_loss = F.binary_cross_entropy_with_logits(critic(made), real)
        g_loss.backward()
        g_optimizer.step()
        return d_loss + g_loss

    return step


def dcgan_torch(w):
    import torch
    import torch.nn.functional as F

    g_optimizer = torch.optim.Adam([p for name, p in w.items() if name[0] == "g"],
                                   lr=2e-4, betas=(0.5, 0.999), fused=True)
    d_optimizer = torch.optim.Adam([p for name, p in w.items() if name[0] == "d"],
                                   lr=2e-4, betas=(0.5, 0.999), fused=True)

    def norm(x, name):
        return F.batch_norm(x, None, None, w[f"{name}_gain"], w[f"{name}_bias"], training=True)

    def generator(z):
        z = norm(F.conv_transpose2d(z, w["g1"]), "g1").relu()
        z = norm(F.conv_transpose2d(z, w["g2"], stride=2, padding=1), "g2").relu()
        z = norm(F.conv_transpose2d(z, w["g3"], stride=2, padding=1), "g3").relu()
        return F.conv_transpose2d(z, w["g4"], stride=2, padding=1).tanh()

    def critic(x):
        x = F.leaky_relu(F.conv2d(x, w["d1"], stride=2, padding=1), 0.2)
        x = F.leaky_relu(norm(F.conv2d(x, w["d2"], stride=2, padding=1), "d2"), 0.2)
        x = F.leaky_relu(norm(F.conv2d(x, w["d3"], stride=2, padding=1), "d3"), 0.2)
        return F.conv2d(x, w["d4"]).reshape(-1)

    def step(images, noise):
        real, fake = torch.ones(images.shape[0]), torch.zeros(images.shape[0])
        made = generator(noise)
        d_optimizer.zero_grad()
        d_loss = (F.binary_cross_entropy_with_logits(critic(images), real)
                  + F.binary_cross_entropy_with_logits(critic(made.detach()), fake))
        d_loss.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        g_loss = F.binary_cross_entropy_with_logits(critic(made), real)
        g_loss.backward()
        g_optimizer.step()
        return d_loss.detach() + g_loss.detach()

    return step


def wgan_weights(rng):
    made = layers(rng, "g_", 32, 128, 128, 64) | layers(rng, "d_", 64, 128, 128, 1)
    del made["d_b3"]  # it has no effect: the loss is a difference of the critic's outputs
    return made


def wgan_inputs(rng):
    """Examples, noise, and for each example the point between it and a generated one where the slope is penalized."""
    return np.sin(normal(rng, 64, 64, scale=3)), normal(rng, 64, 32, scale=1), rng.random((64, 1), np.float32)


def wgan_ours(w):
    import nn.functional as F
    import optim

    g_optimizer = optim.Adam([p for name, p in w.items() if name[0] == "g"], lr=1e-4, betas=(0.5, 0.9))
    d_optimizer = optim.Adam([p for name, p in w.items() if name[0] == "d"], lr=1e-4, betas=(0.5, 0.9))

    def generator(z):
        z = (z @ w["g_w1"] + w["g_b1"]).relu()
        z = (z @ w["g_w2"] + w["g_b2"]).relu()
        return (z @ w["g_w3"] + w["g_b3"]).tanh()

    def critic(x):
        x = F.leaky_relu(x @ w["d_w1"] + w["d_b1"], 0.2)
        x = F.leaky_relu(x @ w["d_w2"] + w["d_b2"], 0.2)
        return x @ w["d_w3"]

    def step(x, noise, share):
        made = generator(noise).detach()
        between = (share * x + (1 - share) * made).requires_grad_()
        slope, = critic(between).sum().gradient(between, create_graph=True)
        penalty = ((slope.norm(axis=1) - 1) ** 2).mean()
        d_loss = critic(made).mean() - critic(x).mean() + 10 * penalty
        d_optimizer.zero_grad()
        d_loss.backward()
        d_optimizer.step()
        g_loss = -critic(generator(noise)).mean()
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
        return d_loss + g_loss

    return step


def wgan_torch(w):
    import torch
    import torch.nn.functional as F

    g_optimizer = torch.optim.Adam([p for name, p in w.items() if name[0] == "g"],
                                   lr=1e-4, betas=(0.5, 0.9), fused=True)
    d_optimizer = torch.optim.Adam([p for name, p in w.items() if name[0] == "d"],
                                   lr=1e-4, betas=(0.5, 0.9), fused=True)

    def generator(z):
        z = (z @ w["g_w1"] + w["g_b1"]).relu()
        z = (z @ w["g_w2"] + w["g_b2"]).relu()
        return (z @ w["g_w3"] + w["g_b3"]).tanh()

    def critic(x):
        x = F.leaky_relu(x @ w["d_w1"] + w["d_b1"], 0.2)
        x = F.leaky_relu(x @ w["d_w2"] + w["d_b2"], 0.2)
        return x @ w["d_w3"]

    def step(x, noise, share):
        made = generator(noise).detach()
        between = (share * x + (1 - share) * made).requires_grad_()
        slope, = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
        d_loss = critic(made).mean() - critic(x).mean() + 10 * penalty
        d_optimizer.zero_grad()
        d_loss.backward()
        d_optimizer.step()
        g_loss = -critic(generator(noise)).mean()
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
        return d_loss.detach() + g_loss.detach()

    return step


PROGRAMS = {
    "dcgan": Program("DCGAN of 1x32x32, channels 64, 32, 16, batch 32, both steps, Adam",
                     dcgan_weights, dcgan_inputs, dcgan_ours, dcgan_torch),
    "wgan_gp": Program("WGAN-GP, MLPs 32-128-128-64 and 64-128-128-1, batch 64, both steps, Adam",
                       wgan_weights, wgan_inputs, wgan_ours, wgan_torch),
}
