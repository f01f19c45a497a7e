"""Code of pages and notebooks with as little work as shows that it runs."""

import re

SHORTENED = (
    (r"\.learn\([\d_]+\)", ".learn(256)"),
    (r"--steps \d+", "--steps 128 --num-envs 16 --n-steps 8 --batch-size 64 --hidden 8 "
     "--regret-positions 0"),
    (r"PPOConfig\(steps=[\d_]+\)", "PPOConfig(steps=128, num_envs=16, n_steps=8, batch_size=64)"),
    (r"\bsteps=60_000", "steps=2_048"), (r"_every=[\d_]+", "_every=1_024"),
    (r"num_envs=\d{3,}", "num_envs=32"), (r"ACTIONS = 16, 40", "ACTIONS = 16, 3"),
    (r"games( ?=? ?)\d+", r"games\g<1>4"), (r"depth 3", "depth 2"),
    (r"values = \[0, 1, 2, 3\]", "values = [0, 3]"))


def shortened(code: str) -> str:
    """The code with short training, few games and small batches."""
    for pattern, short in SHORTENED:
        code = re.sub(pattern, short, code)
    return code
