"""The `castle` command: one sub-command for each module that it names."""

import sys
from importlib import import_module
from typing import Any, Final

import tyro

from castle_env.errors import CastleError

# Sub-command, and the module with its options and its `run`. A module is imported only when its
# sub-command is called, except for the page of help.
COMMANDS: Final = {
    "rulesets": ("experiments.commands.rulesets", "Rulesets"),
    "perft": ("experiments.commands.perft", "Perft"),
    "solve": ("experiments.commands.solve", "Solve"),
    "analyse": ("experiments.commands.analyse", "Analyse"),
    "train": ("experiments.commands.train", "Train"),
    "ablate": ("experiments.commands.ablate", "Ablate"),
    "export": ("experiments.commands.export", "Export"),
    "evaluate": ("experiments.commands.evaluate", "Evaluate"),
    "tournament": ("experiments.commands.tournament", "Tournament"),
    "regret": ("experiments.commands.regret", "Regret"),
    "play": ("experiments.commands.play", "Play"),
    "replay": ("experiments.commands.replay", "Replay"),
    "balance": ("experiments.commands.balance", "Balance"),
    "demo": ("experiments.commands.demo", "Demo"),
    "bench": ("experiments.commands.bench", "Bench"),
}


def main() -> None:
    """Run a sub-command; bad input ends with one message and exit status 2, Ctrl-C with 130."""
    arguments = sys.argv[1:]
    names = arguments[:1] if arguments[:1] and arguments[0] in COMMANDS else list(COMMANDS)
    try:
        options: dict[str, Any] = {name: getattr(import_module(COMMANDS[name][0]),
                                                 COMMANDS[name][1]) for name in names}
        if len(options) == 1:
            chosen = _parse(options[names[0]], names[0], arguments[1:])
        else:
            chosen = tyro.extras.subcommand_cli_from_dict(options, prog="castle")
        sys.modules[type(chosen).__module__].run(chosen)
    except (CastleError, OSError) as error:
        print(f"castle: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("castle: stopped", file=sys.stderr)
        sys.exit(130)


def _parse(options: Any, name: str, arguments: list[str]) -> Any:
    """Options of one sub-command; some have defaults that depend on other arguments."""
    defaults = getattr(options, "defaults", None)
    given = {} if defaults is None else {"default": defaults(arguments)}
    return tyro.cli(options, prog=f"castle {name}", args=arguments, **given)
