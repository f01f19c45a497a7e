"""What TensorBoard shows besides curves, and the names of curves."""

import json
from pathlib import Path

import pytest
from small_runs import config, run
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from agents.networks.checkpoint import load_checkpoint, newest_checkpoint
from agents.training.config import AZConfig, RunConfig
from agents.training.tags import tag
from castle_env import Game, load_ruleset

STORM = Game(load_ruleset("storm"))


def test_names_have_no_white_space() -> None:
    assert tag("games", "ppo:my  runs/a\tb", "first") == "games/ppo:my_runs/a_b/first"


@pytest.mark.parametrize("algorithm", ["ppo", "az"])
def test_tensorboard_has_the_config(tmp_path: Path, algorithm: str) -> None:
    """As text, and as hyperparameters beside the scalars of the evaluations, after a resume too."""
    settings: RunConfig = config() if algorithm == "ppo" else AZConfig(
        steps=512, num_envs=64, plies=8, batch_size=64, window=512, visits=1, considered=1)
    run(STORM, settings, tmp_path)
    checkpoint = load_checkpoint(newest_checkpoint(tmp_path))
    run(STORM, settings, tmp_path, checkpoint=checkpoint, until=1024)
    accumulator = EventAccumulator(str(tmp_path / "tensorboard"))
    accumulator.Reload()
    (text,) = accumulator.Tensors("config/text_summary")
    for name, value in settings.to_dict().items():
        assert f"| {name} | `{json.dumps(value)}` |" in text.tensor_proto.string_val[0].decode()
    plugin = accumulator.SummaryMetadata("_hparams_/session_start_info").plugin_data
    started = HParamsPluginData.FromString(plugin.content).session_start_info.hparams
    assert started["num_envs"].number_value == settings.num_envs
    assert started["algorithm"].string_value == algorithm
    assert started["learning_rate"].number_value == settings.learning_rate
    plugin = accumulator.SummaryMetadata("_hparams_/experiment").plugin_data
    metrics = HParamsPluginData.FromString(plugin.content).experiment.metric_infos
    assert {metric.name.tag for metric in metrics} == {
        "eval/nobody/win_rate", "eval/nobody/margin"}
