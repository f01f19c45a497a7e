"""Plays an agent of this code against the same agent as it was at an earlier commit.

    python .ci/against_commit.py COMMIT [--agent alphabeta:50ms] [--mode sudden-death]
                                        [--openings 500] [--plies 4] [--seed 0]

Each opening of random plies is played from both seats. The earlier code runs in a process of its
own, from a temporary folder, with the packages that are installed here; while one side thinks the
other one waits, so that both see the same machine. Repeated games count once. The share of the
points (a draw is half of one) has the interval of `castle evaluate`.
"""

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Answers each line, a position, with an action.
SERVER = """
import sys
import numpy as np
from castle_env import Game, load_ruleset, make_agent
from castle_env.position import stack
game = Game(load_ruleset(sys.argv[2]))
agent, rng = make_agent(sys.argv[1], game), np.random.default_rng(int(sys.argv[3]))
for line in sys.stdin:
    states = stack([game.parse_position(line.strip())])
    print(game.format_action(int(agent.select_actions(states, rng)[0])), flush=True)
"""


def server(folder: Path, agent: str, mode: str, seed: int) -> subprocess.Popen[str]:
    """A process that plays with the code in a folder."""
    return subprocess.Popen([sys.executable, "-c", SERVER, agent, mode, str(seed)], text=True,
                            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env=os.environ | {"PYTHONPATH": str(folder)})


def ask(process: subprocess.Popen[str], position: str) -> str:
    """The action that a process chooses."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(position + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--agent", default="alphabeta:50ms")
    parser.add_argument("--mode", default="sudden-death")
    parser.add_argument("--openings", type=int, default=500)
    parser.add_argument("--plies", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "-C", ROOT, "archive", options.commit], check=True,
                                stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        sides = [server(path, options.agent, options.mode, options.seed)
                 for path in (ROOT, Path(folder))]
        try:
            play(options, sides)
        finally:
            for side in sides:
                side.kill()
                side.wait()


def play(options: argparse.Namespace, sides: list[subprocess.Popen[str]]) -> None:
    """Play all games, and print what came out, now and then and at the end."""
    import numpy as np

    from castle_env import Game, load_ruleset
    from experiments.measure.intervals import rate_interval

    game = Game(load_ruleset(options.mode))
    for side in sides:  # compile
        ask(side, game.format_position(game.initial_state()))
    rng, seen = np.random.default_rng(options.seed), set[tuple[object, ...]]()
    counts = np.zeros((2, 3), dtype=np.int64)
    for opening in range(1, options.openings + 1):
        start = game.initial_state()
        for _ in range(options.plies):
            start = game.apply(start, int(rng.choice(game.legal_actions(start))))
        for seat in (0, 1):
            position, actions = start, []
            while not game.is_terminal(position):
                side = sides[(position.ply & 1) != seat]
                actions.append(ask(side, game.format_position(position)))
                position = game.apply(position, game.parse_action(actions[-1]))
            points = game.victory_points(position)
            margin = points[seat] - points[1 - seat]
            if (played := (seat, start, *actions)) not in seen:
                seen.add(played)
                counts[seat, 1 - (margin > 0) + (margin < 0)] += 1
        if opening % 25 == 0 or opening == options.openings:
            share = rate_interval(*counts)
            print(f"{counts.sum()} distinct games: {share.estimate:.1%} of the points "
                  f"[{share.low:.1%}, {share.high:.1%}]; won, drawn, lost as first player "
                  f"{counts[0].tolist()}, as second {counts[1].tolist()}", flush=True)


if __name__ == "__main__":
    main()
