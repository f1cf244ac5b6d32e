"""An actor-critic that balances a pole, with the cart-pole equations in NumPy."""

from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

SavedAction = namedtuple('SavedAction', ['log_prob', 'value'])
eps = np.finfo(np.float32).eps.item()


class CartPole:
    def reset(self):
        self.rng = np.random.RandomState(7)
        self.state = self.rng.uniform(-0.05, 0.05, size=4)
        return self.state.astype(np.float32)

    def step(self, action):
        x, x_dot, theta, theta_dot = self.state
        force = 10.0 if action == 1 else -10.0
        temp = (force + 0.05 * theta_dot ** 2 * np.sin(theta)) / 1.1
        theta_acc = (9.8 * np.sin(theta) - np.cos(theta) * temp) / (0.5 * (4 / 3 - 0.1 * np.cos(theta) ** 2 / 1.1))
        x_acc = temp - 0.05 * theta_acc * np.cos(theta) / 1.1
        self.state = self.state + 0.02 * np.array([x_dot, x_acc, theta_dot, theta_acc])
        done = bool(abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21)
        return self.state.astype(np.float32), 1.0, done


class Policy(nn.Module):
    """
    implements both actor and critic in one model
    """
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 32)
        # actor's layer
        self.action_head = nn.Linear(32, 2)
        # critic's layer
        self.value_head = nn.Linear(32, 1)
        # action & reward buffer
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        action_prob = F.softmax(self.action_head(x), dim=-1)
        state_values = self.value_head(x)
        return action_prob, state_values


def select_action(model, state):
    state = torch.from_numpy(state).float()
    probs, state_value = model(state)
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item(), m.entropy()


def finish_episode(model, optimizer, entropies, gamma=0.99):
    R = 0
    saved_actions = model.saved_actions
    policy_losses = []  # list to save actor (policy) loss
    value_losses = []  # list to save critic (value) loss
    returns = []  # list to save the true values
    for r in model.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)

    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)

    for (log_prob, value), R in zip(saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))

    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss -= 0.01 * torch.stack(entropies).mean()
    loss.backward()
    optimizer.step()

    del model.rewards[:]
    del model.saved_actions[:]
    return loss.item()


def build():
    return {"model": Policy()}


def train(modules):
    model = modules["model"]
    optimizer = optim.RMSprop(model.parameters(), lr=3e-3)
    env, losses = CartPole(), []
    running_reward = 10
    for i_episode in range(6):
        state = env.reset()
        ep_reward, entropies = 0, []
        for t in range(1, 60):
            action, entropy = select_action(model, state)
            entropies.append(entropy)
            state, reward, done = env.step(action)
            model.rewards.append(reward)
            ep_reward += reward
            if done:
                break
        running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
        losses.append(finish_episode(model, optimizer, entropies))
        losses.append(running_reward)
    return losses
