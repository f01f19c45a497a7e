"""`castle export`: two small files from a finished run, or a clear error."""

import json

import pytest
from small_runs import config, run

from agents.networks.checkpoint import load_checkpoint
from agents.runs import RunError
from castle_env import Game, OptionError, load_ruleset, make_agent
from experiments.commands.export import Export
from experiments.commands.export import run as export

STORM = Game(load_ruleset("storm"))


@pytest.fixture
def finished(tmp_path):
    folder = tmp_path / "run"
    run(STORM, config(), folder,
        command=f"castle train --mode storm --name mine --runs {tmp_path} --seed 3")
    row = {"agent": f"ppo:{folder}", "opponent": "random", "win_rate": {"estimate": 0.5}}
    (folder / "results.json").write_text(json.dumps({"results": {"final": [{"rows": [row]}]}}))
    return folder


def test_an_exported_agent_is_the_one_of_the_run(finished, tmp_path):
    export(Export(run=finished, out=tmp_path / "mine.pt"))
    shipped, trained = load_checkpoint(tmp_path / "mine.pt", STORM), load_checkpoint(finished)
    assert list(shipped.tensors) == ["policy"]
    for name, weights in trained.tensors["policy"].items():
        assert (shipped.tensors["policy"][name] == weights).all()
    assert make_agent(f"ppo:{tmp_path / 'mine.pt'}", STORM)


def test_the_card_tells_how_it_was_made_and_not_where(finished, tmp_path):
    export(Export(run=finished, out=tmp_path / "mine.pt"))
    card = load_checkpoint(tmp_path / "mine.pt").card
    assert card["command"] == "castle train --mode storm --seed 3"
    assert card["results"] == [{"agent": "mine", "opponent": "random",
                                "win_rate": {"estimate": 0.5}}]
    assert card["steps"] == 512
    assert str(tmp_path) not in (tmp_path / "mine.json").read_text()


def test_a_run_that_has_not_ended_and_a_wrong_name_are_refused(finished, tmp_path):
    with pytest.raises(OptionError, match=r"allowed: a name that ends in \.pt"):
        export(Export(run=finished, out=tmp_path / "mine.zip"))
    (finished / "results.json").unlink()
    with pytest.raises(RunError, match="come to its end"):
        export(Export(run=finished, out=tmp_path / "mine.pt"))
    assert not (tmp_path / "mine.pt").exists()
