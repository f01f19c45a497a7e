"""`castle play`: a game in the terminal or in the browser, against agents or among persons."""

from collections.abc import Iterable
from dataclasses import dataclass
from secrets import randbits
from typing import Literal

from castle_env import Agent, Game, OptionError, Position, make_agent
from castle_env.game_record import GameRecord
from experiments.limits import check_seed
from experiments.options import (
    OptionalAgent,
    OptionalFile,
    OptionalNumber,
    OptionalText,
    OutputOptions,
    RulesetOptions,
)
from experiments.play.dialogue import Dialogue
from experiments.play.game_in_play import HUMAN, GameInPlay, new_game
from experiments.play.games_file import new_games_file, read_game
from experiments.play.seating import players_of, seats_of
from experiments.play.terminal import Terminal


@dataclass(frozen=True, kw_only=True)
class Play(RulesetOptions, OutputOptions):
    """Play in the terminal, or with --web in the browser; `help` in the game lists the commands.

    Lines may be piped in: the end of the input ends the game. One that cannot be understood changes
    nothing; where there was one, the exit status is 2 in the end.
    """

    against: OptionalAgent = None
    """Agent that plays against you, with --seat none the second player; when left out, the trained
    network for these rules that comes with the package, alphabeta:4 where there is none."""
    seat: Literal["0", "1", "both", "none"] = "0"
    """Where you sit: 0, you move first; 1, you move second; both: two persons; none: watch two
    agents."""
    first: OptionalAgent = None
    """With --seat none: agent that moves first; when left out, chosen as for --against."""
    seed: OptionalNumber = None
    """Seed of the agents; drawn anew when left out."""
    start: OptionalText = None
    """Text of the position to begin with; the ruleset's start when left out."""
    load: OptionalFile = None
    """Go on with a game of this .castle file: against its agent, if one played in it that needs no
    files, unless --against or --seat say otherwise. The file itself is left as it is."""
    load_number: int = 1
    """With --load: which game of the file, from 1 on."""
    seconds: float = 2.0
    """Seconds that `hint` and `why` may take."""
    pause: float = 1.0
    """With --seat none in a terminal: seconds between moves."""
    save_games: OptionalFile = None
    """Also write the games to this new file."""
    web: bool = False
    """Play in the browser instead; this program is then the page's server."""
    port: int = 8000
    """With --web: port of the server; 0 takes any that is free."""
    browser: bool = True
    """With --web: open the page."""


def run(options: Play) -> None:
    """Play until the person quits or the input ends; `OptionError` then if lines were wrong."""
    loaded = _loaded(options)
    game = options.game() if loaded is None else loaded.game
    if loaded is None or (options.seat, options.against, options.first) != ("0", None, None):
        players = players_of(game.rules, options.seat, options.against, options.first)
    else:
        players = seats_of(loaded)
    if options.web:
        _serve(options, game, players)
        return
    agents = _agents(game, players)
    live = (GameInPlay(loaded, players) if loaded is not None
            else new_game(game.rules, players, _seed(options), _start(options, game)))
    if not options.seconds > 0 or not 0 <= options.pause <= 60:
        raise OptionError(f"seconds is {options.seconds!r} and pause {options.pause!r}; allowed: "
                          "seconds above 0, and a pause from 0 to 60")
    kept: list[GameRecord] = []
    with new_games_file(options.save_games) as save:
        def keep(games: Iterable[GameRecord]) -> None:
            new = list(games)
            kept.extend(new)
            save(new)

        dialogue = Dialogue(live, agents, Terminal(), keep, options.seconds, options.pause)
        dialogue.run()
    options.write_json({"games": kept})
    dialogue.check_input()


def _loaded(options: Play) -> GameRecord | None:
    """The game to go on with; raises `OptionError` for options that a file tells itself."""
    if options.load is None:
        return None
    told = [name for name in ("ruleset", "mode", "start", "seed")
            if getattr(options, name) is not None]
    if told:
        raise OptionError(f"--load with {', '.join(told)}; allowed: none of them, since a file of "
                          "games tells its own")
    return read_game(options.load, options.load_number)


def _agents(game: Game, players: tuple[str, str]) -> tuple[Agent | None, Agent | None]:
    first, second = (None if name == HUMAN else make_agent(name, game) for name in players)
    return first, second


def _seed(options: Play) -> int:
    if options.seed is not None:
        check_seed(options.seed)
    return randbits(32) if options.seed is None else options.seed


def _start(options: Play, game: Game) -> Position | None:
    return None if options.start is None else game.parse_position(options.start)


def _serve(options: Play, game: Game, players: tuple[str, str]) -> None:
    """Serve the page; raises `OptionError` for options of the terminal."""
    given = [name for name in ("seed", "start", "load", "save_games", "seconds", "pause")
             if getattr(options, name) != getattr(Play, name)]
    given += ["json"] if options.json else []
    if given:
        raise OptionError(f"--web with {', '.join(given)}; allowed: these only in the terminal")
    # The server's packages take their time to load.
    from experiments.web import serve
    from experiments.web.jobs import leave_if_busy

    try:
        serve(game.rules, players, port=options.port, open_browser=options.browser)
    except KeyboardInterrupt:
        leave_if_busy()
        raise
