"""The `castle` command: one sub-command for each module that it names."""

import io
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final, NoReturn, TextIO

from experiments.output import OutputError, is_of_output, leave_output, print_on_any_terminal, say

# Sub-command, the module with its options and its `run`, the class of the options, and what the
# page of help says: the first line of that class's docstring. A module is imported only when its
# sub-command is called.
COMMANDS: Final = {
    "rulesets": ("experiments.commands.rulesets", "Rulesets",
                 "List the rulesets that come with the package, and what sets each apart."),
    "perft": ("experiments.commands.perft", "Perft",
              "Count the action sequences of exactly `depth` plies; a forced pass counts as one "
              "ply."),
    "solve": ("experiments.commands.solve", "Solve",
              "Prove what perfect play by both leads to. Ctrl-C prints what is proven so far."),
    "analyse": ("experiments.commands.analyse", "Analyse",
                "Tell the exact value of each move of storm games, or of each move in a position."),
    "train": ("experiments.commands.train", "Train",
              "Train an agent by self-play; Ctrl-C saves and stops, --resume goes on."),
    "ablate": ("experiments.commands.ablate", "Ablate",
               "Train every variant of a study with every seed, and tell what each change is "
               "worth."),
    "export": ("experiments.commands.export", "Export",
               "Write a trained network to a file, with its card beside it, or as ONNX."),
    "evaluate": ("experiments.commands.evaluate", "Evaluate",
                 "Play two agents against each other and report win rates and VP margins for each "
                 "seat."),
    "tournament": ("experiments.commands.tournament", "Tournament",
                   "Play all pairs of agents from both seats; cross-table and Bradley–Terry "
                   "ratings."),
    "regret": ("experiments.commands.regret", "Regret",
               "Measure agents against perfect play in storm: regret per move, optimal moves, lost "
               "wins."),
    "score": ("experiments.commands.score", "ScoreOptions",
              "Score an agent by one fixed protocol: points against a panel and, in storm, "
              "regret."),
    "dataset": ("experiments.commands.dataset", "Dataset",
                "Write positions with mask, value of each move, policy and outcome to a file."),
    "play": ("experiments.commands.play", "Play",
             "Play in the terminal, or with --web in the browser; `help` in the game lists the "
             "commands."),
    "replay": ("experiments.commands.replay", "Replay",
               "Step through a game of a .castle file, or draw it into files."),
    "balance": ("experiments.commands.balance", "Balance",
                "Solve or play every ruleset of a study and report how balanced they are."),
    "demo": ("experiments.commands.demo", "Demo",
             "Train a small agent for each mode by self-play, measure both, and write a report."),
    "bench": ("experiments.commands.bench", "Bench",
              "Measure speed: medians of several runs after a warm-up that is not counted."),
}

SHELLS: Final = ("bash", "zsh", "fish")


def main() -> None:
    """Run a sub-command; bad input ends with one message and exit status 2, Ctrl-C with 130.

    Where the output cannot be written the command ends with status 1; what it has written to files
    stays. It says so, except where nobody reads the output any more, as in `castle --help | head`.
    """
    print_on_any_terminal()
    try:
        _main(sys.argv[1:])
        if sys.stdout is not None:
            sys.stdout.flush()
    except OutputError as error:
        say(str(error))
        _end_without_output(1)
    except BrokenPipeError:
        _end_without_output(1)
    except OSError as error:
        say(f"cannot write the output: {error.strerror or error}")
        _end_without_output(1)
    except KeyboardInterrupt:
        say("stopped")
        _end_without_output(130)


def _main(arguments: list[str]) -> None:
    first = arguments[0] if arguments else ""
    if first in ("-h", "--help"):
        print(_page_of_help())
    elif first == "--completion":
        _print_completion(" ".join(arguments[1:]))
    elif first == "--version":
        print(f"storm-the-castle {version('storm-the-castle')}")
    elif first in COMMANDS:
        _run(first, arguments[1:])
    else:
        given = f"no command {first!r}" if first else "no command is given"
        _fail(f"{given}; allowed: {', '.join(COMMANDS)}; see castle --help")


def _run(name: str, arguments: list[str]) -> None:
    from castle_env.errors import CastleError
    from castle_env.imports import explain_import_error

    module, options, _ = COMMANDS[name]
    try:
        chosen = _parse(getattr(import_module(module), options), name, arguments)
        with chosen.output():
            sys.modules[type(chosen).__module__].run(chosen)
    except CastleError as error:
        _fail(str(error))
    except OSError as error:
        if is_of_output(error):
            raise
        _fail(str(error))
    except MemoryError:
        _fail("not enough memory for what these options ask for")
    except ImportError as error:
        explanation = explain_import_error(error, f"'castle {name}'")
        if explanation is None:
            raise
        _fail(explanation)


def _parse(options: Any, name: str, arguments: list[str]) -> Any:
    """Options of one sub-command; some have defaults, and a class, that depend on others."""
    import tyro

    given = options.defaults(arguments) if hasattr(options, "defaults") else None
    default: dict[str, Any] = {} if given is None else {"default": given}
    with _help_in_lines():
        # Options that may be left out show no default; "None" is an ordinary word.
        return tyro.cli(options if given is None else type(given), prog=f"castle {name}",
                        args=arguments, config=(tyro.conf.DisallowNone,), **default)


@contextmanager
def _help_in_lines() -> Iterator[None]:
    """Fold lines of a page of help that are longer than the terminal is wide."""
    page = _Page(sys.stdout or io.StringIO())
    try:
        with redirect_stdout(page):
            yield
    finally:
        width = shutil.get_terminal_size().columns
        for line in page.getvalue().splitlines():
            is_long = len(line) > width and not line.startswith(("│", "╭", "╰"))
            print(textwrap.fill(line, width) if is_long else line)


class _Page(io.StringIO):
    """Text in memory, written as if to another stream: coloured where that is a terminal."""

    def __init__(self, place: TextIO) -> None:
        super().__init__()
        self._place: Final = place

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._place.encoding

    def isatty(self) -> bool:
        return self._place.isatty()


def _print_completion(shell: str) -> None:
    """A script with which a shell completes sub-commands, options and their choices."""
    from tyro.conf import DisallowNone
    from tyro.extras import subcommand_cli_from_dict

    if shell not in SHELLS:
        _fail(f"--completion {shell}; allowed: one of {', '.join(SHELLS)}")
    found = {}
    for name, (module, options, _) in COMMANDS.items():
        with suppress(ImportError):  # of a package that is not installed
            found[name] = getattr(import_module(module), options)
    subcommand_cli_from_dict(found, prog="castle", config=(DisallowNone,),
                             args=["--tyro-write-completion", shell, "-"])


def _page_of_help() -> str:
    """Every sub-command with its line, folded to the width of the terminal."""
    width, indent = shutil.get_terminal_size().columns, max(map(len, COMMANDS)) + 4
    lines = [textwrap.fill(line, width, initial_indent=f"  {name}".ljust(indent),
                           subsequent_indent=" " * indent)
             for name, (_, _, line) in COMMANDS.items()]
    return "\n".join([
        "usage: castle COMMAND [OPTIONS]", "",
        "Train, measure, solve and play Storm the Castle.", "",
        *lines, "",
        "castle COMMAND --help  lists the options of a command",
        "castle --version       tells the version",
        f"castle --completion    with {', '.join(SHELLS)}: prints a script for completion",
    ])


def _fail(message: str) -> NoReturn:
    """End with one message."""
    say(message)
    _end_without_output(2)


def _end_without_output(status: int) -> NoReturn:
    """End; what is still to be written, and cannot be, goes nowhere."""
    leave_output()
    sys.exit(status)
