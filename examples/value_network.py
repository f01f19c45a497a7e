"""A value network learned from exact values: python examples/value_network.py storm.npz

`castle dataset storm.npz --positions 20000` makes the positions.
"""

import sys

import torch
from torch import nn

from experiments.dataset import load_dataset

torch.manual_seed(0)
data = load_dataset(sys.argv[1]).tensors()
observations, margins = data["observations"], data["best_values"].float()
network = nn.Sequential(nn.Flatten(), nn.Linear(18 * 36, 256), nn.ReLU(),
                        nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1), nn.Flatten(0))
optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.1)
unseen = len(margins) // 10  # the first tenth is for judging
for _ in range(20):
    for rows in (torch.randperm(len(margins) - unseen) + unseen).split(128):
        loss = nn.functional.mse_loss(network(observations[rows]), margins[rows] / 4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    error = (4 * network(observations[:unseen]) - margins[:unseen]).abs().mean()
guess = (margins[unseen:].median() - margins[:unseen]).abs().mean()
print(f"mean error on unseen positions: {error:.2f} VP; of one guess for all: {guess:.2f} VP")
