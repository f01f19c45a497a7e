"""The other moves that were made along a line, as the page gets them."""

from itertools import islice, pairwise
from typing import Any, Final

from castle_env.board import ACTION_NAMES
from experiments.play.game_in_play import GameInPlay
from experiments.play.game_tree import Node

_SHOWN_MOVES: Final = 6


def is_main_line(live: GameInPlay) -> bool:
    """Whether the line is the one that a file's result is about."""
    return all(node.children[0] is following for node, following in pairwise(live.nodes))


def variations_json(live: GameInPlay) -> dict[int, list[dict[str, Any]]]:
    """By the number of moves before them: moves that were made in place of the line's next one."""
    following = [*live.nodes[1:], None]
    others = ([other for other in node.children if other is not after]
              for node, after in zip(live.nodes, following, strict=True))
    return {at: [_variation(live.nodes[at], node) for node in nodes]
            for at, nodes in enumerate(others) if nodes}


def _variation(before: Node, node: Node) -> dict[str, Any]:
    """A move, those that follow it, and whether it belongs to the main line from here on."""
    names = [ACTION_NAMES[one.action] for one in islice(node.main_line(), _SHOWN_MOVES + 1)]
    return {
        "action": node.action,
        "name": ACTION_NAMES[node.action],
        "following": names[:_SHOWN_MOVES],
        "goes_on": len(names) > _SHOWN_MOVES,
        "comment": node.note.comment,
        "main": before.children[0] is node,
    }
