"""One game played through every kind of environment, each giving the same `Record`."""

from collections import defaultdict
from typing import Any, Literal

import numpy as np
from gymnasium.vector import AutoresetMode
from scripted import Positional, Record

from castle_env import Position, castle_v1
from castle_env.castle_v1 import AGENTS
from castle_env.env import CastleEnv
from castle_env.options import RulesetSource, Seat

NUM_ENVS, GAMES = 10, 100
IGNORED = -7  # given to finished games, whose next step starts a new one


END_KEYS = ("end_reason", "winner", "margin", "victory_points", "points_by_row")


def plain_end(info: dict[str, Any], seat: int) -> dict[str, Any]:
    """What `info` tells about an end, in one form whatever the environment."""
    return {key: np.asarray(info[key]).tolist() for key in END_KEYS} | {
        "position": str(info["position"]), "text": str(info["end_reason_text"]), "seat": int(seat)}


def end_of(info: dict[str, Any], index: int) -> dict[str, Any]:
    """The end of game `index` from the info of a batched or synchronous environment."""
    row = {key: values[index] for key, values in info.items() if not key.startswith("final")}
    return plain_end(row, row["seat"])


# One driver for each kind of environment. Script n is the same game in all of them; the first
# episodes of the batch are scripts 0 to 9, the second ones 10 to 19, and so on.


def play_single(ruleset: RulesetSource, seat: Seat) -> list[Record]:
    records = [Record() for _ in range(GAMES)]
    for first in range(NUM_ENVS):
        env = CastleEnv(ruleset, "positional", seat, text_info=True)
        for script in range(first, GAMES, NUM_ENVS):
            record = records[script]
            observation, info = env.reset()
            terminated = False
            while not terminated:
                record.see(observation, info["action_mask"])
                action = record.choose(script)
                observation, reward, terminated, truncated, info = env.step(action)
                record.moves.append((action, reward, terminated, truncated))
            record.see(observation, info["action_mask"])
            record.end = plain_end(info, info["seat"])
    return records


def play_aec(ruleset: RulesetSource, seat: Literal[0, 1, "alternate"]) -> list[Record]:
    env = castle_v1.env(ruleset=ruleset, text_info=True)
    records = [Record() for _ in range(GAMES)]
    for script, record in enumerate(records):
        player = script // NUM_ENVS % 2 if seat == "alternate" else seat
        env.reset()
        for agent in env.agent_iter():
            if agent == AGENTS[player]:
                play_aec_turn(env, record, script, player)
            elif env.terminations[agent]:
                env.step(None)
            else:
                env.step(Positional(env.unwrapped.game).choose(position_of(env)))
    return records


def play_aec_turn(env: Any, record: Record, script: int, player: int) -> None:
    """The learner reads what `last` says about its previous move, and makes the next one."""
    observation, reward, terminated, truncated, info = env.last()
    if record.moves:
        record.moves[-1] = (record.moves[-1][0], reward, terminated, truncated)
    record.see(observation["observation"], observation["action_mask"])
    if terminated:
        record.end = plain_end(info, player)
        env.step(None)
    else:
        record.moves.append((record.choose(script), 0.0, False, False))
        env.step(record.moves[-1][0])


def play_aec_both_seats(ruleset: RulesetSource) -> list[Record]:
    env = castle_v1.env(ruleset=ruleset, text_info=True)
    records = [Record() for _ in range(GAMES)]
    for script, record in enumerate(records):
        env.reset()
        agent, terminated = AGENTS[0], False
        while not terminated:
            record.see(*env.observe(agent).values())
            action = record.choose(script)
            env.step(action)
            terminated = env.terminations[agent]
            record.moves.append((action, env.rewards[agent], terminated, env.truncations[agent]))
            mover, agent = agent, env.agent_selection
        record.see(*env.observe(agent).values())
        info = env.infos[mover]
        record.end = plain_end(info, AGENTS.index(mover))
    return records


def position_of(env: Any) -> Position:
    position: Position = env.unwrapped.game.parse_position(env.unwrapped.position)
    return position


class VectorDriver:
    """Plays the scripts in a batched or synchronous environment, whatever its autoreset mode."""

    def __init__(self, envs: Any) -> None:
        self.envs, self.mode = envs, envs.metadata["autoreset_mode"]
        self.records: defaultdict[int, Record] = defaultdict(Record)
        self.scripts = np.arange(NUM_ENVS)
        self.waiting = np.zeros(NUM_ENVS, dtype=np.bool_)
        self.see(self.scripts, *envs.reset())

    def see(self, indices: Any, observations: Any, info: dict[str, Any]) -> None:
        for index in indices:
            script = int(self.scripts[index])
            self.records[script].see(observations[index], info["action_mask"][index])

    def step(self) -> tuple[Any, ...]:
        """One step of all games; what the environment gave back."""
        actions = np.full(NUM_ENVS, IGNORED)
        playing = np.flatnonzero(~self.waiting)
        for index in playing:
            script = int(self.scripts[index])
            actions[index] = self.records[script].choose(script)
        result: tuple[Any, ...] = self.envs.step(actions)
        observations, rewards, terminations, truncations, info = result
        for index in playing:
            self.records[int(self.scripts[index])].moves.append((
                int(actions[index]), float(rewards[index]), bool(terminations[index]),
                bool(truncations[index])))
        self.finish(np.flatnonzero(terminations), observations, info)
        going_on = terminations >= 0 if self.mode == AutoresetMode.SAME_STEP else ~terminations
        self.see(np.flatnonzero(going_on), observations, info)
        if self.mode == AutoresetMode.NEXT_STEP:
            self.waiting = terminations
        elif self.mode == AutoresetMode.DISABLED and terminations.any():
            reset = self.envs.reset(options={"reset_mask": terminations.copy()})
            self.see(np.flatnonzero(terminations), *reset)
        return result

    def finish(self, ended: Any, observations: Any, info: dict[str, Any]) -> None:
        """Read what belongs to finished games where the mode puts it, and turn to the next."""
        if self.mode == AutoresetMode.SAME_STEP:
            assert not info["end_reason"].any()
            observations, info = info.get("final_obs"), info.get("final_info", {})
        self.see(ended, observations, info)
        for index in ended:
            self.records[int(self.scripts[index])].end = end_of(info, index)
        self.scripts[ended] += NUM_ENVS

    def play(self) -> list[Record]:
        while self.scripts.min() < GAMES:
            self.step()
        return [self.records[script] for script in range(GAMES)]


def assert_same_games(played: list[Record], expected: list[Record]) -> None:
    for one, other in zip(played, expected, strict=True):
        one.assert_equal(other)
