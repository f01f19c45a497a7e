"""The sudden-death solver against plain minimax, and what its proofs promise."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from horizon import NEVER, plain

from agents.search.horizon_table import HIGHEST, LOWEST
from agents.solve.kept_proof import ProofError, load, save
from agents.solve.sudden_death_solver import Proof, SuddenDeathSolver
from agents.tasks import map_here
from castle_env import AgentError, Game, OptionError, Position, Ruleset, load_ruleset
from experiments.report.sudden_death_proof import report, to_dict

Keys = dict[str, Any]
LANES = ["own_axis", "central", "home_edge", "all"]
# Strongholds cannot leave the board: nobody can enter, and both pass until the limit.
CROWDED = ["######"] * 6
LOPSIDED = [".#....", "......", "...#..", "#.....", "......", "....##"]


def plain_value(game: Game, position: Position, claim: int = 0, left: int | None = None) -> int:
    left = game.rules.max_plies - position.ply if left is None else left
    return int(plain(game.table, position, left, claim))


def game_of(**keys: Any) -> Game:
    return Game(Ruleset.from_dict({"name": "cousin", "mode": "sudden_death", **keys}))


def solver_of(game: Game, **options: Any) -> SuddenDeathSolver:
    return SuddenDeathSolver(game, **{"memory_bytes": 1 << 22, **options})


def random_keys(rng: np.random.Generator, most_factions: int, max_plies: int) -> Keys:
    """A sudden-death ruleset: any layout, often lopsided or crowded, any table."""
    grid = rng.random((6, 6)) < rng.choice([0.05, 0.15, 0.5, 0.95])
    grid[rng.integers(6), rng.integers(6)] = True
    if rng.random() < 0.4:
        grid |= grid[::-1] | grid[:, ::-1] | grid.T
    rows = ("captured", "besieging", "contact", "controlled", "survivor")
    points: Keys = {row: int(rng.integers(-3, 4)) for row in rows}
    if rng.random() < 0.3:
        points["squares"] = rng.integers(-9, 10, (6, 6)).tolist()
    return {
        "strongholds": ["".join(".#"[int(mark)] for mark in rank) for rank in grid],
        "factions_per_player": int(rng.integers(1, most_factions + 1)),
        "max_plies": max_plies,
        "entry_lanes": str(rng.choice(LANES)),
        "entry_style": str(rng.choice(["slide", "step"])),
        "steps_must_push": bool(rng.integers(2)),
        "capture_credit": str(rng.choice(["opponent", "enemy_only"])),
        "victory_points": points,
    }


def random_position(game: Game, rng: np.random.Generator, plies: int) -> Position:
    """A position of a random game after at most so many plies, before its end."""
    position = game.initial_state()
    for _ in range(plies):
        after = game.apply(position, int(rng.choice(game.legal_actions(position))))
        if game.is_terminal(after):
            break
        position = after
    return position


@pytest.mark.parametrize("seed", range(80))
def test_values_are_those_of_plain_minimax(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plies = int(rng.integers(0, 30))
    game = game_of(**random_keys(rng, 8 if seed % 2 else 2, plies + 4))
    position = random_position(game, rng, plies)
    left = game.rules.max_plies - position.ply
    if left > 4:
        position = position._replace(ply=position.ply + (left - 3 & ~1))
    proof = solver_of(game).solve(position)
    assert proof.value == plain_value(game, position)
    assert proof.length is not None
    assert proof.length <= game.rules.max_plies - position.ply


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("style", ["slide", "step"])
@pytest.mark.parametrize("must_push", [False, True])
@pytest.mark.parametrize("max_plies", [1, 2, 3, 4])
def test_two_factions_from_the_start(
    lanes: str, style: str, must_push: bool, max_plies: int
) -> None:
    game = game_of(factions_per_player=2, entry_lanes=lanes, entry_style=style,
                   steps_must_push=must_push, max_plies=max_plies)
    start = game.initial_state()
    assert solver_of(game).solve(start).value == plain_value(game, start)


@pytest.mark.parametrize(("keys", "value"), [
    ({"entry_lanes": "home_edge"}, 0), ({"entry_lanes": "home_edge", "max_plies": 7}, 1),
    ({"steps_must_push": True}, 1)])
def test_three_factions_from_the_start(keys: Keys, value: int) -> None:
    game = game_of(**{"factions_per_player": 3, "max_plies": 6, **keys})
    start = game.initial_state()
    assert solver_of(game).solve(start).value == plain_value(game, start) == value


@pytest.mark.parametrize("seed", range(60))
def test_promises_hold_within_their_plies_and_no_sooner(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    game = game_of(**random_keys(rng, 3, 60))
    position = random_position(game, rng, int(rng.integers(6)))
    proof = solver_of(game).solve(position, max_horizon=4)
    for within, bound, claim in ((proof.mover_within, proof.low, -1),
                                 (proof.opponent_within, proof.high, 1)):
        if within is None:
            assert abs(plain_value(game, position, claim, 4)) >= NEVER
            assert bound in (LOWEST, HIGHEST)
        else:
            assert plain_value(game, position, claim, within) == bound
            assert plain_value(game, position, claim, within - 1) != bound


def test_a_value_proven_early_is_that_of_every_later_turn_limit() -> None:
    values: dict[int, int | None] = {}
    for max_plies in (6, 7, 8, 20, 120):
        game = game_of(factions_per_player=3, max_plies=max_plies)
        proof = solver_of(game).solve(game.initial_state())
        assert proof.horizon == 6
        values[max_plies] = proof.value
    assert set(values.values()) == {1}


@pytest.mark.parametrize("keys", [
    {"strongholds": LOPSIDED, "factions_per_player": 3, "max_plies": 9},
    {"factions_per_player": 3, "entry_style": "step", "capture_credit": "enemy_only"},
    {"factions_per_player": 4, "entry_lanes": "home_edge", "max_plies": 11},
    {"factions_per_player": 2, "strongholds": LOPSIDED, "entry_lanes": "all", "max_plies": 6}])
def test_how_the_solver_is_set_up_does_not_matter(keys: Keys) -> None:
    game = game_of(**keys)
    start = game.initial_state()
    solvers = [solver_of(game), solver_of(game, memory_bytes=1),
               solver_of(game, use_symmetries=False), solver_of(game, threads=2)]
    warm = solvers[0].solve(start)
    answers = [warm, *(solver.solve(start) for solver in solvers)]
    assert len({(proof.value, proof.length, proof.horizon) for proof in answers}) == 1
    moves = dict(solvers[0].each_move_value(start))
    assert set(moves) == set(game.legal_actions(start))
    assert max(moves.values()) == warm.value


def test_two_shufflers_are_searched_up_to_the_turn_limit() -> None:
    """Each may enter only behind a token on files b to e, and is paid to keep away from there."""
    points = {"captured": 0, "besieging": 0, "controlled": 0, "squares": [[9, 0, 0, 0, 0, 9]] * 6}
    game = game_of(strongholds=["#.....", *["......"] * 4, ".....#"], factions_per_player=2,
                   entry_lanes="home_edge", victory_points=points, max_plies=40)
    position = game.parse_position("#5/6/A5/5B/6/5# A - 1,1 0,0 28")
    proof = solver_of(game).solve(position)
    assert (proof.value, proof.length, proof.horizon) == (0, 12, 12)
    assert proof.mover_within is None
    assert proof.opponent_within is None
    late = position._replace(ply=34)
    assert solver_of(game).solve(late).value == plain_value(game, late) == 0


def test_passes_lead_to_the_turn_limit() -> None:
    game = game_of(strongholds=CROWDED, factions_per_player=2, max_plies=50)
    proof = solver_of(game).solve(game.initial_state())
    assert (proof.value, proof.length, proof.horizon) == (0, 50, 50)
    assert proof.mover_within is None
    assert proof.opponent_within is None


def test_a_finished_game_has_its_margin() -> None:
    game = game_of(factions_per_player=1)
    entered = game.apply(game.initial_state(), game.legal_actions(game.initial_state())[0])
    points = game.victory_points(entered)
    proof = solver_of(game).solve(entered)
    assert (proof.value, proof.length) == (points[1] - points[0], 0)


def test_other_modes_and_sizes_are_refused() -> None:
    with pytest.raises(AgentError, match="sudden_death"):
        SuddenDeathSolver(Game(load_ruleset("storm")))
    with pytest.raises(AgentError, match="1000"):
        SuddenDeathSolver(game_of(max_plies=1001))
    with pytest.raises(OptionError, match="memory"):
        SuddenDeathSolver(game_of(), memory_bytes=0)
    with pytest.raises(OptionError, match="threads is 65"):
        SuddenDeathSolver(game_of(), threads=65)


def test_report_of_a_solved_and_an_open_game() -> None:
    proofs: list[Proof] = []
    game = game_of(factions_per_player=3)
    proof = SuddenDeathSolver(game, report=proofs.append).solve(game.initial_state())
    assert proofs[-1] == proof
    assert "margin +1 for A, 5 plies" in report(game, game.initial_state(), proof)
    assert to_dict(game, game.initial_state(), proof)["value"] == 1
    opened = SuddenDeathSolver(game).solve(game.initial_state(), max_horizon=5)
    assert "at most" not in report(game, game.initial_state(), opened)
    assert to_dict(game, game.initial_state(), opened)["high"] is None


def test_ctrl_c_leaves_what_is_proven() -> None:
    def interrupt(proof: Proof) -> None:
        if proof.low == 1:
            raise KeyboardInterrupt

    game = game_of(factions_per_player=3)
    solver = SuddenDeathSolver(game, report=interrupt)
    with pytest.raises(KeyboardInterrupt):
        solver.solve(game.initial_state())
    proof = solver.proof
    assert (proof.low, proof.high, proof.mover_within, proof.horizon) == (1, HIGHEST, 5, 5)


def test_every_answer_is_kept_at_once() -> None:
    """A search that is stopped between two questions has proven what the first one told."""
    told: list[Proof] = []
    game = game_of(factions_per_player=5, entry_lanes="all")
    last = solver_of(game, report=told.append).solve(game.initial_state())
    lows = [proof.low for proof in told if proof.mover_within == last.mover_within]
    assert lows == sorted(lows)
    assert len(set(lows)) > 1
    assert all(proof.low <= last.low and proof.high >= last.high for proof in told)


def test_so_many_nodes_end_a_search_and_it_goes_on_from_there() -> None:
    game = game_of(factions_per_player=5)
    start, solver = game.initial_state(), solver_of(game)
    part = solver.solve(start, max_nodes=1_000)
    assert 1_000 <= part.nodes < 1_100
    assert part.value is None
    again = solver_of(game).solve(start, max_nodes=1_000)
    assert (again.low, again.high, again.horizon, again.nodes) == (
        part.low, part.high, part.horizon, part.nodes)
    whole = solver.solve(start, known=part)
    assert (whole.value, whole.length) == (0, 10)
    assert whole.nodes > part.nodes


@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_that_ends_at_the_turn_limit_for_want_of_nodes_has_no_value(threads: int) -> None:
    """Nobody can end this game before the limit, so that all nodes are those of that search."""
    game = game_of(factions_per_player=5, max_plies=6)
    proof = solver_of(game, threads=threads).solve(game.initial_state(), max_nodes=40)
    assert 40 <= proof.nodes < 300
    assert (proof.low, proof.high, proof.value) == (LOWEST, HIGHEST, None)


def test_bounds_of_the_whole_game_in_a_few_plies() -> None:
    """Eight factions each: no promise before the fifteenth ply, when the last can come on."""
    game = Game(load_ruleset("sudden-death"))
    proof = solver_of(game).solve(game.initial_state(), max_horizon=12)
    assert (proof.low, proof.high, proof.value, proof.length) == (LOWEST, HIGHEST, None, None)


def test_first_moves_in_tasks_of_their_own_give_the_same() -> None:
    game = game_of(factions_per_player=5)
    start = game.initial_state()
    proofs = [solver_of(game, map_tasks=map_tasks).solve(start) for map_tasks in (None, map_here)]
    assert len({(proof.low, proof.high, proof.mover_within, proof.opponent_within)
                for proof in proofs}) == 1
    assert all(proof.nodes > 0 for proof in proofs)


def test_a_kept_proof_goes_on_where_it_was(tmp_path: Path) -> None:
    game, path = game_of(factions_per_player=5), tmp_path / "proof.npz"
    start = game.initial_state()
    whole = solver_of(game).solve(start)
    first = solver_of(game)
    first.solve(start, 9)
    save(path, first, start)
    second = solver_of(game)
    known = load(path, second, start)
    assert known == first.proof
    np.testing.assert_array_equal(second.table, first.table)
    proof = second.solve(start, known=known)
    assert (proof.low, proof.high, proof.mover_within, proof.opponent_within, proof.horizon) == (
        whole.low, whole.high, whole.mover_within, whole.opponent_within, whole.horizon)
    assert known.nodes + second.nodes == proof.nodes
    assert second.nodes < whole.nodes


def test_a_kept_proof_is_of_one_question_and_whole(tmp_path: Path) -> None:
    game, path = game_of(factions_per_player=3), tmp_path / "proof.npz"
    start, solver = game.initial_state(), solver_of(game)
    with pytest.raises(ProofError, match="cannot read"):
        load(path, solver, start)
    solver.solve(start)
    save(path, solver, start)
    other = game_of(factions_per_player=4)
    after = game.apply(start, game.legal_actions(start)[0])
    for wrong, position in ((solver_of(other), other.initial_state()), (solver_of(game), after),
                            (solver_of(game, memory_bytes=1 << 20), start)):
        with pytest.raises(ProofError, match="allowed"):
            load(path, wrong, position)
    data = path.read_bytes()
    for damaged in (b"", data[:100], data[:-100], data[:5000] + b"!" + data[5001:]):
        path.write_bytes(damaged)
        with pytest.raises(ProofError, match="damaged"):
            load(path, solver_of(game), start)
