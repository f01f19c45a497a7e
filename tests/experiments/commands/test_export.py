"""`castle export`: two small files from a finished run, ONNX, or a clear error."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from scripted import game_of_source, positions_of
from small_runs import config, run
from torch import nn

from agents.networks import load_policy
from agents.networks.checkpoint import load_checkpoint, save_checkpoint
from agents.networks.network import NetworkConfig, build_network
from agents.networks.onnx_file import ONNXError, write_onnx
from agents.networks.policy import Policy
from agents.runs import RunError
from castle_env import Game, OptionError, load_ruleset, make_agent
from castle_env.position import stack
from experiments.commands.export import Export
from experiments.commands.export import run as export

STORM = Game(load_ruleset("storm"))


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    run(STORM, config(), folder,
        command=f"castle train --mode storm --name mine --runs {tmp_path} --seed 3")
    row = {"agent": f"ppo:{folder}", "opponent": "random", "win_rate": {"estimate": 0.5}}
    (folder / "results.json").write_text(json.dumps({"results": {"final": [{"rows": [row]}]}}))
    return folder


def test_an_exported_agent_is_the_one_of_the_run(finished: Path, tmp_path: Path) -> None:
    export(Export(str(finished), out=tmp_path / "mine.pt"))
    shipped, trained = load_checkpoint(tmp_path / "mine.pt", STORM), load_checkpoint(finished)
    assert list(shipped.tensors) == ["policy"]
    for name, weights in trained.tensors["policy"].items():
        assert (shipped.tensors["policy"][name] == weights).all()
    assert make_agent(f"ppo:{tmp_path / 'mine.pt'}", STORM)


def test_the_card_tells_how_it_was_made_and_not_where(finished: Path, tmp_path: Path) -> None:
    export(Export(str(finished), out=tmp_path / "mine.pt"))
    card = load_checkpoint(tmp_path / "mine.pt").card
    assert card["command"] == "castle train --mode storm --seed 3"
    assert card["results"] == [{"agent": "mine", "opponent": "random",
                                "win_rate": {"estimate": 0.5}}]
    assert card["steps"] == 512
    assert [evaluation["steps"] for evaluation in card["evaluations"]] == [0, 512]
    assert str(tmp_path) not in (tmp_path / "mine.json").read_text()


def test_no_network_of_another_ruleset_is_written_over(finished: Path, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.pt", Game(load_ruleset("storm-towers"))
    save_checkpoint(mine, {}, other, {"config": {}, "network": {}, "reward": "margin"})
    before = mine.read_bytes()
    with pytest.raises(RunError, match=r"mine\.pt' exists already"):
        export(Export(str(finished), out=mine))
    assert mine.read_bytes() == before
    mine.with_suffix(".json").unlink()
    with pytest.raises(RunError, match=r"mine\.pt' exists already"):
        export(Export(str(finished), out=mine))
    for _ in range(2):  # one of the same ruleset is replaced
        export(Export(str(finished), out=tmp_path / "again.pt"))


def test_a_run_that_has_not_ended_and_a_wrong_name_are_refused(
    finished: Path, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=r"allowed: a name that ends in \.pt"):
        export(Export(str(finished), out=tmp_path / "mine.zip"))
    (finished / "results.json").unlink()
    with pytest.raises(RunError, match="come to its end"):
        export(Export(str(finished), out=tmp_path / "mine.pt"))
    assert not (tmp_path / "mine.pt").exists()


# ONNX


def saved(path: Path, name: str, kind: str, reward: str = "margin") -> Path:
    """The checkpoint of a network with opinions of its own."""
    game, config = game_of_source(name), NetworkConfig(kind, 4, 2, 8)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        network = build_network(game, config)
        nn.init.normal_(network.get_parameter("policy.weight"))
    save_checkpoint(path, {"policy": network.state_dict()}, game,
                    {"config": {}, "network": config._asdict(), "reward": reward})
    return path


@pytest.mark.parametrize(("name", "kind", "reward"), [
    ("storm", "lanes", "margin"), ("storm", "lines", "margin"), ("storm", "convolution", "outcome"),
    ("sudden-death", "lanes", "outcome"), ("sudden-death", "dense", "margin"),
    ("sudden-death-home", "lanes", "margin")])
def test_onnx_computes_what_pytorch_does(tmp_path: Path, name: str, kind: str, reward: str) -> None:
    """In batches of any size, symmetries and the units of values among it."""
    path, file = saved(tmp_path / "x.pt", name, kind, reward), tmp_path / "x.onnx"
    export(Export(str(path), onnx=file))
    onnx.checker.check_model(str(file))
    session, policy = onnxruntime.InferenceSession(str(file)), load_policy(path)
    assert [given.name for given in session.get_inputs()] == ["observation"]
    assert [given.name for given in session.get_outputs()] == ["logits", "value"]
    states = stack(positions_of(policy.game, 70, 3, 0.2))
    observations, masks = policy.game.encode(states)
    for part in (slice(0, 1), slice(1, 70)):
        logits, values = session.run(None, {"observation": observations[part]})
        expected = policy.logits_and_values(observations[part])[0]
        assert logits == pytest.approx(expected, rel=1e-3, abs=1e-3)
        probabilities, expected_values = policy.evaluate(observations[part], masks[part])
        assert values == pytest.approx(expected_values, rel=1e-3, abs=1e-3)
        legal = np.where(masks[part] == 1, logits, -np.inf)
        best = np.take_along_axis(probabilities, legal.argmax(axis=1)[:, None], axis=1)[:, 0]
        assert best == pytest.approx(probabilities.max(axis=1), rel=1e-2)
    told = session.get_modelmeta().custom_metadata_map
    assert told == {"ruleset": name, "ruleset_digest": policy.game.rules.digest, "reward": reward}


def test_weights_and_onnx_in_one_command(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(Export(str(finished), out=tmp_path / "mine.pt", onnx=tmp_path / "mine.onnx"))
    files = [tmp_path / name for name in ("mine.pt", "mine.json", "mine.onnx")]
    assert capsys.readouterr().out.splitlines() == [
        f"{file}: {file.stat().st_size:,} bytes" for file in files]


class Unlike(nn.Module):
    """Computes something else while it is traced, or cannot be traced at all."""

    def __init__(self, fails: bool) -> None:
        super().__init__()
        self.weight, self.fails = nn.Parameter(torch.ones(1)), fails

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        traced = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
        if traced and self.fails:
            raise RuntimeError("no trace\nof it")
        values = observations.mean((1, 2, 3)) + (self.weight if traced else 2 * self.weight)
        return values[:, None].expand(-1, STORM.num_actions), values


@pytest.mark.parametrize(("fails", "said"), [
    (True, "cannot be written as ONNX: no trace$"), (False, "another logits as ONNX")])
def test_a_network_that_does_not_survive_is_refused(tmp_path: Path, fails: bool, said: str) -> None:
    with pytest.raises(ONNXError, match=said):
        write_onnx(Policy(STORM, Unlike(fails), "margin"), tmp_path / "x.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("options", "said"), [
    ({}, "neither --out nor --onnx"), ({"onnx": Path("x.pt")}, r"onnx is 'x\.pt'; .*\.onnx"),
    ({"onnx": Path("nowhere/x.onnx")}, "cannot write 'nowhere/x.onnx'")])
def test_what_cannot_be_exported(finished: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises((OptionError, RunError), match=said):
        export(Export(str(finished), **options))
