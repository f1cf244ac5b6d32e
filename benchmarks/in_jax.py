"""The workloads in JAX: a training step is one jitted function that may overwrite its state.

Images are NHWC, since XLA's convolutions on CPUs are fastest with it. XLA uses all cores.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from .workloads import RESNETS, WORKLOADS, data


class _Parameters:
    """Initial parameters, with PyTorch's distributions."""

    def __init__(self):
        self.rng = np.random.default_rng(1)

    def uniform(self, *shape: int, inputs: int):
        return jnp.asarray(self.rng.uniform(-1, 1, shape) / inputs**0.5, jnp.float32)

    def normal(self, *shape: int):
        return jnp.asarray(0.02 * self.rng.standard_normal(shape), jnp.float32)

    def linear(self, inputs: int, outputs: int):
        return self.uniform(inputs, outputs, inputs=inputs), jnp.zeros(outputs)

    def norm(self, width: int):
        return jnp.ones(width), jnp.zeros(width)

    def conv(self, inputs: int, outputs: int, size: int):
        return self.uniform(size, size, inputs, outputs, inputs=inputs * size * size)


def _linear(p, x):
    return x @ p[0] + p[1]


def _mlp(sizes):
    new = _Parameters()

    def model(parameters, buffers, z):
        for p in parameters[:-1]:
            z = jax.nn.relu(_linear(p, z))
        return _linear(parameters[-1], z), buffers

    return [new.linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False)], (), model


def _resnet_s(sizes):
    new, (d, width, blocks, classes) = _Parameters(), sizes

    def model(parameters, buffers, z):
        first, inner, last = parameters
        z = _linear(first, z)
        for a, b in inner:
            z = z + jax.nn.relu(_linear(b, jax.nn.relu(_linear(a, z))))
        return _linear(last, z), buffers

    inner = [(new.linear(width, width), new.linear(width, width)) for _ in range(blocks)]
    return (new.linear(d, width), inner, new.linear(width, classes)), (), model


def _conv(weight, x, stride=1):
    return jax.lax.conv_general_dilated(x, weight, (stride, stride), "SAME" if stride == 1 else
                                        [(weight.shape[0] // 2,) * 2] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _batch_norm(p, running, x):
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    n = x.size // x.shape[-1]
    moved = 0.9 * running[0] + 0.1 * mean, 0.9 * running[1] + 0.1 * var * n / (n - 1)
    return (x - mean) * (jax.lax.rsqrt(var + 1e-5) * p[0]) + p[1], moved


def _resnet(sizes, blocks):
    new, widths = _Parameters(), [(16, 16), (16, 32), (32, 64)]
    places = [(a if i == 0 else b, b, 2 if i == 0 and a != b else 1) for a, b in widths for i in range(blocks)]

    def unit(a, b, size):
        return new.conv(a, b, size), new.norm(b)

    parameters = (unit(sizes[0], 16, 3), [(unit(a, b, 3), unit(b, b, 3), unit(a, b, 1) if stride > 1 else None)
                                          for a, b, stride in places], new.linear(64, sizes[-1]))
    buffers = ((jnp.zeros(16), jnp.ones(16)), [((jnp.zeros(b), jnp.ones(b)),) * (3 if stride > 1 else 2)
                                               for _, b, stride in places])

    def model(parameters, buffers, x):
        stem, inner, head = parameters
        x, moved = _batch_norm(stem[1], buffers[0], _conv(stem[0], x))
        x, all_moved = jax.nn.relu(x), []
        for (first, second, shortcut), running, (_, _, stride) in zip(inner, buffers[1], places, strict=True):
            y, one = _batch_norm(first[1], running[0], _conv(first[0], x, stride))
            y, two = _batch_norm(second[1], running[1], _conv(second[0], jax.nn.relu(y)))
            if shortcut is not None:
                x, three = _batch_norm(shortcut[1], running[2], _conv(shortcut[0], x, stride))
            x = jax.nn.relu(y + x)
            all_moved.append((one, two) if shortcut is None else (one, two, three))
        return _linear(head, x.mean((1, 2))), (moved, all_moved)

    return parameters, buffers, model


def _layer_norm(p, x):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p[0] + p[1]


def _gpt(sizes):
    new, (length, width, heads, layers, vocabulary) = _Parameters(), sizes

    def block():
        return (new.norm(width), new.linear(width, 3 * width), new.linear(width, width), new.norm(width),
                new.linear(width, 4 * width), new.linear(4 * width, width))

    def model(parameters, buffers, tokens):
        embedding, positions, blocks, norm = parameters
        x = embedding[tokens] + positions[:tokens.shape[1]]
        for norm1, qkv, projection, norm2, up, down in blocks:
            q, k, v = (part.reshape(*x.shape[:2], heads, width // heads)
                       for part in jnp.split(_linear(qkv, _layer_norm(norm1, x)), 3, axis=-1))
            y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
            x = x + _linear(projection, y.reshape(x.shape))
            x = x + _linear(down, jax.nn.gelu(_linear(up, _layer_norm(norm2, x)), approximate=False))
        return (_layer_norm(norm, x) @ embedding.T).reshape(-1, vocabulary), buffers

    return ((new.normal(vocabulary, width), new.normal(length, width), [block() for _ in range(layers)],
             new.norm(width)), (), model)


def workload(name: str) -> Callable[[], float]:
    """A function that does one training step."""
    w = WORKLOADS[name]
    x, y = data(name)
    if name in RESNETS:
        x = x.transpose(0, 2, 3, 1)
        parameters, buffers, model = _resnet(w.sizes, RESNETS[name])
    else:
        parameters, buffers, model = {"gpt": _gpt, "resnet_s": _resnet_s}.get(name, _mlp)(w.sizes)
    x, y = jnp.asarray(x), jnp.asarray(y.reshape(-1) if name == "gpt" else y)

    def loss_function(parameters, buffers):
        scores, buffers = model(parameters, buffers, x)
        if w.sizes[-1] == 1:
            return jnp.mean(jax.nn.softplus(scores) - scores * y), buffers
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], 1)), buffers

    def update(p, g, m, v, t):
        if w.optimizer == "sgd":
            return p - 0.05 * g, m, v
        if w.optimizer == "momentum":
            m = 0.9 * m + g
            return p - 0.01 * m, m, v
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        step = 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return p * (1 - 1e-5) - step, m, v

    def train(parameters, m, v, buffers, t):
        (loss, buffers), gradients = jax.value_and_grad(loss_function, has_aux=True)(parameters, buffers)
        leaves, tree = jax.tree.flatten(parameters)
        new = [update(*arrays, t) for arrays in zip(leaves, *map(jax.tree.leaves, (gradients, m, v)), strict=True)]
        return loss, *(jax.tree.unflatten(tree, part) for part in zip(*new, strict=True)), buffers

    train = jax.jit(train, donate_argnums=(0, 1, 2, 3))
    state = [parameters, *(jax.tree.map(jnp.zeros_like, parameters) for _ in range(2)), jax.tree.map(jnp.copy, buffers)]
    steps = 0.0

    def step() -> float:
        nonlocal state, steps
        steps += 1
        loss, *state = train(*state, steps)
        return float(loss)

    return step
