"""The agents that come with the package: small, whole, and as strong as their cards say."""

from importlib import resources

import pytest

from agents.networks.checkpoint import CheckpointError
from agents.networks.shipped import STORM, SUDDEN_DEATH, load_shipped
from castle_env import AgentError, Game, load_ruleset, make_agent
from experiments.measure.match import play_match
from experiments.measure.records import summarise

GAMES = {STORM: Game(load_ruleset("storm")), SUDDEN_DEATH: Game(load_ruleset("sudden-death"))}


@pytest.mark.parametrize("name", GAMES)
def test_files_are_small_and_hold_weights_alone(name):
    """At most 2 MB; `load_shipped` reads without pickles and checks the SHA-256."""
    checkpoint = load_shipped(name)
    assert checkpoint.path.stat().st_size <= 2_000_000
    assert list(checkpoint.tensors) == ["policy"]


@pytest.mark.parametrize("name", GAMES)
def test_cards_say_how_the_agents_were_made(name):
    card = load_shipped(name).card
    assert card["command"].startswith("castle train --preset strong --mode ")
    assert 0 < card["hours"] <= 1
    assert card["ruleset_digest"] == GAMES[name].rules.digest
    assert {row["opponent"] for row in card["results"]} == {
        "random", "greedy", "alphabeta:2", "alphabeta:4"}
    for key in ("config", "seed", "environment", "steps"):
        assert key in card
    assert "/" not in card["command"]


@pytest.mark.parametrize(("opponent", "least"), [("random", 0.98), ("greedy", 0.75),
                                                 ("alphabeta:2", 0.7)])
@pytest.mark.parametrize("name", GAMES)
def test_agents_are_strong_from_both_seats_together(name, opponent, least):
    game = GAMES[name]
    players = make_agent(name, game), make_agent(opponent, game)
    both = summarise(play_match(game, players, 200, 4), name, opponent).rows[-1]
    assert both.win_rate.estimate >= least


@pytest.mark.parametrize("suffix", ["", ":sample", "+search:8"])
@pytest.mark.parametrize("name", GAMES)
def test_names(name, suffix):
    game = GAMES[name]
    agent = make_agent(name + suffix, game)
    assert agent.name == name + suffix
    assert len(play_match(game, (agent, make_agent("random", game)), 4, 2)) == 4


@pytest.mark.parametrize("suffix", [":best", ":sample+search:8", "+search:0", "+search", "+tree:8"])
def test_other_names_are_refused(suffix):
    with pytest.raises(AgentError, match="allowed"):
        make_agent(STORM + suffix, GAMES[STORM])


def test_an_agent_plays_its_own_rules_only():
    with pytest.raises(CheckpointError, match=r"'storm'.*'sudden-death'"):
        make_agent(STORM, GAMES[SUDDEN_DEATH])


def test_every_weight_file_has_an_entry_point_and_a_card():
    files = {file.name for file in (resources.files("agents") / "data").iterdir()}
    assert {name.removesuffix(".pt") for name in files if name.endswith(".pt")} == set(GAMES)
    assert {f"{name}.json" for name in GAMES} <= files
