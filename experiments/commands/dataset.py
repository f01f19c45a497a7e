"""`castle dataset`: positions with the values of their moves, for learning from."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Final

import tyro

from agents.locks import locked
from agents.openings import check_opening_plies
from agents.runs import RunError, check_writable, environment_info
from agents.search.alphabeta import MAX_DEPTH
from castle_env import Game, OptionError, Ruleset
from castle_env.game_file import read_games
from castle_env.game_record import GameRecord
from castle_env.ruleset import STORM
from experiments.dataset.files import card_of, check_suffix, save_dataset
from experiments.dataset.making import Question, Valuation, make_dataset, remove_parts
from experiments.measure.match import agent_of
from experiments.options import (
    BackendOptions,
    OptionalFile,
    OptionalNumber,
    OutputOptions,
    RulesetOptions,
    chosen_game,
    command_line,
)
from experiments.output import tell
from experiments.progress import progress_bar

# In default storm every move of a position of this ply or a later one is valued in milliseconds.
FIRST_PLY: Final = 9


@dataclass(frozen=True, kw_only=True)
class Dataset(RulesetOptions, BackendOptions, OutputOptions):
    """Write positions with mask, value of each move, policy and outcome to a file.

    Positions come from games that players play, or from a file of games. Where the command is
    stopped, the same one goes on.
    """

    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """File to write, NAME.npz or NAME.parquet; its card, NAME.json, goes beside it."""
    positions: OptionalNumber = None
    """Different positions; 1,000 when left out, or with --games all that there are."""
    plies: Annotated[
        tuple[int, int] | None, tyro.conf.arg(metavar="FIRST LAST", help_behavior_hint="")] = None
    """First and last ply of the positions; when left out, from 9 on in storm, where exact values of
    earlier positions take seconds each, else all."""
    players: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT...")] = (
        "random", "greedy", "alphabeta:2")
    """Who plays; each of them meets each, from both seats."""
    opening_plies: int = 4
    """Games start after 0 to this many random plies, from which no positions come."""
    per_game: OptionalNumber = None
    """Positions drawn from a game; 1 when left out, or with --games all."""
    games: OptionalFile = None
    """Take finished games from this file instead of playing any."""
    values: Annotated[Valuation | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Values of moves: exact, proven to the end of the game, in storm; search, --depth plies ahead;
    none. When left out, exact in storm, else search."""
    depth: int = 4
    """With --values search: plies to look ahead, the move itself counted."""
    seed: int = 0
    """Seed of games and draws; the dataset depends on nothing else but these options."""


def run(options: Dataset) -> None:
    """Make the dataset, or go on with it, and say what it holds."""
    check_suffix(options.out)
    check_writable(options.out)
    # NAME.npz and NAME.parquet would have one card.
    with locked(card_of(options.out)):
        _make(options)


def _make(options: Dataset) -> None:
    for file in (options.out, card_of(options.out)):
        if os.path.lexists(file):
            raise RunError(f"{str(file)!r} exists already and is left as it is; choose another "
                           "name for the dataset")
    question, backend = question_of(options), options.start()
    positions = (1000 if options.positions is None and options.games is None
                 else options.positions)
    parts = options.out.with_name(options.out.name + ".parts")
    started = perf_counter()
    with progress_bar(str(options.out), positions or len(question.records)) as advance:
        made = make_dataset(question, positions, parts, backend.map, advance)
    about = {**made.card, "command": command_line(), "environment": environment_info()}
    save_dataset(options.out, replace(made, card=about))
    remove_parts(parts)
    tell(f"{options.out}: {len(made):,} positions in {perf_counter() - started:.0f} s")
    options.write_json(about | {"positions": len(made)})


def question_of(options: Dataset) -> Question:
    """What is asked for; raises `OptionError` for what contradicts itself, and what reading does.
    """
    records: tuple[GameRecord, ...] = ()
    if options.games is None:
        game = options.game()
    else:
        records = tuple(read_games(options.games))
        game = _game_of(options, {record.rules for record in records})
    valuation: Valuation = options.values or ("exact" if game.rules.mode == STORM else "search")
    _check(options, game, valuation)
    low = FIRST_PLY if valuation == "exact" else 0
    last = game.rules.max_plies - 1
    return Question(
        game.rules, options.plies or (min(low, last), last), valuation,
        depth=options.depth if valuation == "search" else 0,
        players=() if records else options.players,
        opening_plies=0 if records else options.opening_plies,
        per_game=options.per_game or (None if records else 1), seed=options.seed, records=records)


def _game_of(options: Dataset, rules: set[Ruleset]) -> Game:
    """The game that is told by a file of games, and by --mode and --ruleset where they are given.
    """
    if len(rules) != 1:
        raise OptionError(f"games is {str(options.games)!r}, a file of {len(rules)} rulesets; "
                          "allowed: games of one ruleset")
    (one,) = rules
    game = Game(one)
    if (options.mode or options.ruleset) and chosen_game(
            options.mode, options.ruleset).rules != game.rules:
        raise OptionError(f"games is {str(options.games)!r}, of ruleset {game.rules.name!r}; "
                          "allowed: --mode and --ruleset of these games, or neither")
    return game


def _check(options: Dataset, game: Game, valuation: Valuation) -> None:
    for name in ("positions", "per_game"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise OptionError(f"{name} is {value}; allowed: an integer from 1 on")
    if options.seed < 0:
        raise OptionError(f"seed is {options.seed}; allowed: an integer from 0 on")
    if valuation == "exact" and game.rules.mode != STORM:
        raise OptionError(f"values is 'exact' in mode {game.rules.mode!r}; allowed: search or none")
    if not 1 <= options.depth <= MAX_DEPTH:
        raise OptionError(f"depth is {options.depth}; allowed: an integer from 1 to {MAX_DEPTH}")
    low, high = options.plies or (0, 0)
    if not 0 <= low <= high < game.rules.max_plies:
        raise OptionError(f"plies are {low} {high}; allowed: two integers from 0 to "
                          f"{game.rules.max_plies - 1}, the lesser first")
    check_opening_plies(game, options.opening_plies)
    if not options.players:
        raise OptionError("players are none; allowed: one agent or more")
    for player in () if options.games else options.players:
        agent_of(game.rules, player)
