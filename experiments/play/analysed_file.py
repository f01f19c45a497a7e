"""Files of storm games, to whose moves their exact values and turning points are added."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from agents.runs import check_writable, write_text_atomic
from agents.solve.perfect_play import PerfectPlay
from castle_env import AgentError, OptionError
from castle_env.game_file import GameFileError, format_game, read_games
from castle_env.game_record import GameRecord, Note
from castle_env.ruleset import STORM
from experiments.measure.judged_moves import JudgedMove, judge_game
from experiments.output import results_before_output, tell
from experiments.report.judged_moves import print_moves, totals

# What an analysis adds to a comment, so that another one can take it away again.
_MARK: Final = re.compile(r" ?\[(?:win|draw|loss) to (?:win|draw|loss); best: [A-Za-z0-9 ]*\]$")


def analyse_file(
    path: Path, mode: str | None, ruleset: str | None, out: Path | None
) -> list[dict[str, Any]]:
    """Print the values of all games, write the games with them to `out`, and return the values.

    Whatever is known when the command is stopped is written, the other games as they were. Raises
    `GameFileError`, `OptionError`, also for a mode or a ruleset, and `AgentError` before anything
    is computed.
    """
    out = out or path.with_suffix(f".analysed{path.suffix}")
    check_writable(out)
    if ruleset or mode:
        raise OptionError(f"{'ruleset' if ruleset else 'mode'} is {ruleset or mode!r}; allowed: "
                          "none, since a file of games tells its own")
    games = read_storm_games(path)
    results: list[dict[str, Any]] = []
    done: list[GameRecord] = []
    with results_before_output(out):
        try:
            for saved, values in _analysed(games):
                done.append(annotated(saved, values))
                results.append({"ruleset": saved.rules.to_dict(),
                                "moves": [asdict(value) for value in values]})
        finally:
            if done:
                write_text_atomic(out, "\n".join(map(format_game, done + games[len(done):])))
                tell(f"written: {out}")
    return results


def read_storm_games(path: Path) -> list[GameRecord]:
    """All games of a file; raises `AgentError` for one that the solver does not reach."""
    games = list(read_games(path))
    if not games:
        raise GameFileError(f"{str(path)!r} holds no games")
    for number, saved in enumerate(games, 1):
        if saved.rules.mode != STORM:
            raise AgentError(f"game {number} of {str(path)!r} is one of {saved.rules.mode}; "
                             "allowed: storm, whose values the solver can prove")
    return games


def _analysed(games: Sequence[GameRecord]) -> Iterator[tuple[GameRecord, list[JudgedMove]]]:
    """Each game with its values, which are printed as they come."""
    play: PerfectPlay | None = None
    for number, saved in enumerate(games, 1):
        # Games of one ruleset share what has been proven.
        if play is None or play.game.rules != saved.rules:
            play = PerfectPlay(saved.game)
        tell(f"game {number} of {len(games)}: {saved.players[0]!r} against {saved.players[1]!r}")
        values = print_moves(judge_game(play, saved.actions, saved.start))
        tell(f"{totals(values)}\n")
        yield saved, values


def annotated(saved: GameRecord, values: Sequence[JudgedMove]) -> GameRecord:
    """The game with a value at each move and the turning points marked in the comments.

    What an earlier analysis has marked is replaced; all other comments stay.
    """
    return replace(saved, notes=tuple(_annotated(saved.note(index), value)
                                      for index, value in enumerate(values)))


def _annotated(note: Note, value: JudgedMove) -> Note:
    comment = _MARK.sub("", note.comment)
    if value.mark:
        comment = f"{comment} [{value.mark}; best: {' '.join(value.best_moves)}]".lstrip()
    return Note(float(value.value if value.player == "A" else -value.value), comment)
