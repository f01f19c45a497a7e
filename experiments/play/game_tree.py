"""All moves that were made or looked at in a game: nothing is lost when another one is tried."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from castle_env import Game, Position
from castle_env.board import PASS
from castle_env.game_record import NO_NOTE, GameRecord, Note, Variation, record_game


@dataclass(eq=False)
class Node:
    """A move, or the start; of the moves that follow it, the first is the main one."""

    action: int = PASS
    note: Note = NO_NOTE
    children: "list[Node]" = field(default_factory=list)

    def child(self, action: int) -> "Node | None":
        """The node of a move that was made here before."""
        return next((node for node in self.children if node.action == action), None)

    def grow(self, action: int, main: bool = False) -> "Node":
        """The node of a move made here; with `main`, the main one if it is new."""
        known = self.child(action)
        if known is None:
            known = Node(action)
            self.children.insert(0 if main else len(self.children), known)
        return known

    def main_line(self) -> "Iterator[Node]":
        """The nodes that follow, always the main one."""
        node = self
        while node.children:
            node = node.children[0]
            yield node


class GameTree:
    """The moves of a game with all variations, from its start on."""

    def __init__(self, record: GameRecord) -> None:
        self.root: Final = Node()
        _graft(self.root, record)

    def record(self, about: GameRecord, notes: "Notes") -> GameRecord:
        """The main line with all variations; everything else is that of `about`.

        `notes` tells what to say about a move that nothing is said about.
        """
        game, start = about.game, about.states()[0]
        line = _line(game, start, self.root, notes)
        main = record_game(about.rules, line.actions, about.start)
        return replace(about, actions=main.actions, outcome=main.outcome, notes=line.notes,
                       variations=line.variations,
                       opening_plies=min(about.opening_plies, main.plies))


class Notes:
    """What is known of a move beside what was said about it: nothing."""

    def of(self, state: Position, node: Node) -> Note:
        """The note on a move made in a position."""
        return node.note


def _graft(root: Node, line: GameRecord | Variation) -> None:
    """Add the moves of a line and of its variations behind a node."""
    node, before = root, []
    for index, action in enumerate(line.actions):
        before.append(node)
        node = node.grow(action)
        if node.note == NO_NOTE and line.notes:
            node.note = line.notes[index]
    for variation in line.variations:
        _graft(before[variation.at], variation)


def _line(game: Game, start: Position, first: Node, notes: Notes, at: int = 0) -> Variation:
    """The moves behind a node with their variations, always the main one."""
    ...
