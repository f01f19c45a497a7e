"""PPO in one file, in the manner of CleanRL: the whole algorithm can be read here.

    pip install -e '.[train]'
    python examples/cleanrl_ppo.py --steps 500000
"""

import gymnasium as gym
import torch
import tyro
from torch import Tensor, nn
from torch.distributions import Categorical

from castle_env import Game, PolicyAgent, load_ruleset
from experiments.measure.match import points_against
from experiments.report.tables import percent

NUM_ENVS, ROLLOUT, EPOCHS, MINIBATCH = 64, 16, 4, 256
LEARNING_RATE, GAE_LAMBDA, CLIP, ENTROPY, VALUE = 1e-3, 0.95, 0.2, 0.01, 0.5


class ActorCritic(nn.Module):
    """Observations and masks to distributions of legal actions, and values."""

    def __init__(self, num_actions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(18 * 36, 128), nn.ReLU(),
                                  nn.Linear(128, 128), nn.ReLU())
        self.actor, self.critic = nn.Linear(128, num_actions), nn.Linear(128, 1)

    def forward(self, planes: Tensor, masks: Tensor) -> tuple[Categorical, Tensor]:
        features = self.body(planes)
        logits = self.actor(features).masked_fill(masks == 0, -torch.inf)
        return Categorical(logits=logits), self.critic(features).squeeze(-1)


def advantages_of(rewards: Tensor, values: Tensor, ended: Tensor) -> Tensor:
    """Generalised advantages without discount; rewards, ended: (T, n), values: (T + 1, n)."""
    advantages, later = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        goes_on = 1 - ended[t]
        error = rewards[t] + goes_on * values[t + 1] - values[t]
        advantages[t] = later = error + goes_on * GAE_LAMBDA * later
    return advantages


def main(steps: int = 50_000, games: int = 200, seed: int = 1) -> None:
    """Train against `random` for so many moves of the learner, then play so many games."""
    torch.manual_seed(seed)
    envs = gym.make_vec("castle_env:castle_env/Storm-v1", num_envs=NUM_ENVS,
                        autoreset_mode="SameStep")
    model = ActorCritic(envs.single_action_space.n)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    planes, info = envs.reset(seed=seed)
    for _ in range(0, steps, NUM_ENVS * ROLLOUT):
        rows = []
        for _ in range(ROLLOUT):
            seen, masks = torch.from_numpy(planes), torch.from_numpy(info["action_mask"])
            with torch.no_grad():
                policy, value = model(seen, masks)
            action = policy.sample()
            planes, reward, ended, _, info = envs.step(action.numpy())
            rows.append((seen, masks, action, policy.log_prob(action), value,
                         torch.tensor(reward, dtype=torch.float32), torch.tensor(ended).float()))
        seen, masks, actions, log_probs, values, rewards, ended = map(
            torch.stack, zip(*rows, strict=True))
        with torch.no_grad():
            last = model(torch.from_numpy(planes), torch.from_numpy(info["action_mask"]))[1]
        advantages = advantages_of(rewards, torch.cat([values, last[None]]), ended)
        batch = [part.flatten(0, 1) for part in
                 (seen, masks, actions, log_probs, advantages, advantages + values)]
        for _ in range(EPOCHS):
            for chosen in torch.randperm(NUM_ENVS * ROLLOUT).split(MINIBATCH):
                update(model, optimizer, *(part[chosen] for part in batch))

    game = Game(load_ruleset("storm"))
    learned = PolicyAgent("PPO", game, lambda planes, masks: model(
        torch.from_numpy(planes), torch.from_numpy(masks))[0].probs.argmax(1).numpy())
    points = points_against(game, learned, "random", games)
    print(f"{learned.name} has {percent(points)} of the points against random")


def update(model: ActorCritic, optimizer: torch.optim.Optimizer, seen: Tensor, masks: Tensor,
           actions: Tensor, old: Tensor, advantages: Tensor, returns: Tensor) -> None:
    """One step on a minibatch, with the same masks as in play."""
    policy, values = model(seen, masks)
    ratio = (policy.log_prob(actions) - old).exp()
    scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    gain = torch.min(ratio * scaled, ratio.clamp(1 - CLIP, 1 + CLIP) * scaled).mean()
    loss = -gain + VALUE * (returns - values).square().mean() - ENTROPY * policy.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()


if __name__ == "__main__":
    tyro.cli(main)
