"""Deep Q-learning with replay and a slowly following target net, on a cart without a pole."""

import math
import random
from collections import deque, namedtuple

import numpy as np
import torch
from torch import nn, optim

Step = namedtuple('Step', ('state', 'action', 'next_state', 'reward'))


class Memory(object):
    def __init__(self, capacity):
        self.steps = deque([], maxlen=capacity)

    def push(self, *args):
        self.steps.append(Step(*args))

    def sample(self, n):
        return random.sample(self.steps, n)

    def __len__(self):
        return len(self.steps)


class Cart:
    def reset(self):
        self.x, self.v, self.t = 0.0, 0.0, 0
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, a):
        self.v += 0.1 * (a - 1) - 0.02 * self.x
        self.x += self.v
        self.t += 1
        return np.array([self.x, self.v], dtype=np.float32), -abs(self.x - 1), abs(self.x) > 2 or self.t > 30


def q_net():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))


def build():
    return {"policy": q_net()}


def train(modules):
    random.seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    policy, target = modules["policy"].to(device), q_net().to(device)
    target.load_state_dict(policy.state_dict())
    optimizer = optim.AdamW(policy.parameters(), lr=1e-3, amsgrad=True)
    criterion = nn.SmoothL1Loss()
    memory, env, losses, count = Memory(1000), Cart(), [], 0

    for episode in range(4):
        state = torch.tensor(env.reset(), dtype=torch.float32, device=device).unsqueeze(0)
        done = False
        while not done:
            eps = 0.05 + 0.85 * math.exp(-count / 100)
            count += 1
            if random.random() > eps:
                with torch.no_grad():
                    action = policy(state).max(1).indices.view(1, 1)
            else:
                action = torch.tensor([[random.randrange(3)]], device=device, dtype=torch.long)
            observation, reward, done = env.step(action.item())
            reward = torch.tensor([reward], device=device, dtype=torch.float32)
            following = None if done else torch.tensor(observation, dtype=torch.float32, device=device).unsqueeze(0)
            memory.push(state, action, following, reward)
            state = following
            if len(memory) >= 32:
                batch = Step(*zip(*memory.sample(32)))
                going = torch.tensor([s is not None for s in batch.next_state], device=device, dtype=torch.bool)
                next_states = torch.cat([s for s in batch.next_state if s is not None])
                q = policy(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
                next_q = torch.zeros(32, device=device)
                with torch.no_grad():
                    next_q[going] = target(next_states).max(1).values
                loss = criterion(q, (torch.cat(batch.reward) + 0.99 * next_q).unsqueeze(1))
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_value_(policy.parameters(), 100)
                optimizer.step()
                losses.append(loss.item())
            slow, fast = target.state_dict(), policy.state_dict()
            for key in fast:
                slow[key] = fast[key] * 0.005 + slow[key] * 0.995
            target.load_state_dict(slow)
    return losses
