"""All moves that were made or looked at in a game: none is lost when another one is tried."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

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
        """The node of a move made here; with `main` it becomes the main one."""
        node = self.child(action) or Node(action)
        if node not in self.children:
            self.children.append(node)
        if main:
            self.children.sort(key=lambda other: other is not node)
        return node

    def main_line(self) -> "Iterator[Node]":
        """The nodes that follow, always the main one."""
        node = self
        while node.children:
            node = node.children[0]
            yield node


# What is said about a move: the position before it and its node.
NoteOf: TypeAlias = Callable[[Position, Node], Note]


def tree_of(record: GameRecord) -> Node:
    """The start of a game, with its moves and variations behind it."""
    root = Node()
    _graft(root, record)
    return root


def _graft(root: Node, line: GameRecord | Variation) -> None:
    """Add the moves of a line and of its variations behind a node."""
    nodes = [root]
    for index, action in enumerate(line.actions):
        nodes.append(nodes[-1].grow(action))
        if nodes[-1].note == NO_NOTE and line.notes:
            nodes[-1].note = line.notes[index]
    for variation in line.variations:
        _graft(nodes[variation.at], variation)


def record_of(
    root: Node, about: GameRecord, note_of: NoteOf = lambda state, node: node.note
) -> GameRecord:
    """The main line with all variations; rules, players and the like are those of `about`."""
    line = _Line(about.game, about.states()[0], root, note_of)
    main = record_game(about.rules, line.actions, about.start)
    return replace(main, players=about.players, seed=about.seed, date=about.date,
                   comment=about.comment, notes=tuple(line.notes),
                   variations=tuple(line.variations),
                   opening_plies=min(about.opening_plies, main.plies))


class _Line:
    """The moves behind a node, always the main one, or from `first` on, and their variations."""

    def __init__(
        self, game: Game, state: Position, before: Node, note_of: NoteOf, first: Node | None = None
    ) -> None:
        self.actions: Final[list[int]] = []
        self.notes: Final[list[Note]] = []
        self.variations: Final[list[Variation]] = []
        node = first
        others = [] if first else before.children[1:]
        if node is None and before.children:
            node = before.children[0]
        while node is not None:
            for other in others:
                line = _Line(game, state, before, note_of, other)
                self.variations.append(Variation(len(self.actions), tuple(line.actions),
                                                 tuple(line.notes), tuple(line.variations)))
            self.actions.append(node.action)
            self.notes.append(note_of(state, node))
            state, others = game.apply(state, node.action), node.children[1:]
            before, node = node, node.children[0] if node.children else None
