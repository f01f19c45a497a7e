"""What the demo promises: told of any results, and broken by each that is too small."""

import json
from pathlib import Path
from typing import Any

import pytest

from castle_env.errors import CastleError
from experiments.commands.demo import PROMISES, Demo, DemoError, run
from experiments.report.gain import gain_markdown, gain_sentence


def evaluation(steps: Any, greedy: Any, regret: Any) -> Any:
    """An evaluation as `experiments.measure.panel` makes them."""
    rows = [{"opponent": name, "win_rate": share, "win_rate_interval": [share, 0.0, 1.0]}
            for name, share in (("random", 0.5), ("greedy", greedy))]
    known = None if regret is None else {"estimate": regret, "low": None, "high": None}
    return {"steps": steps, "rows": rows, "regret": known}


def results(
    greedy: Any = (0.02, 0.5), regret: Any = (3.0, 1.5), random: Any = 0.97, start: Any = 0
) -> Any:
    """Results of one mode as `castle demo` writes them."""
    old, new = regret or (None, None)
    final = [{"rows": [{"opponent": "random", "seat": seat, "win_rate": {"estimate": share}}
                       for seat, share in ((0, 0.0), (None, random))]}]
    return {"evaluations": [evaluation(start, greedy[0], old), evaluation(9000, greedy[1], new)],
            "final": final}


def write_demo(folder: Path, **changes: Any) -> None:
    """The folder of a demo whose storm has these results."""
    for mode in PROMISES:
        given = results(**changes) if mode == "storm" else results(regret=None)
        (folder / mode).mkdir()
        (folder / mode / "results.json").write_text(json.dumps({"results": given}))


def test_a_demo_that_keeps_its_promises_is_told_in_a_sentence_for_each_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_demo(tmp_path)
    run(Demo(check=tmp_path))
    assert capsys.readouterr().out.splitlines() == [
        "storm: 9,000 steps of training brought the network from 50% to 50% of the points against "
        "random, from 2% to 50% of the points against greedy, and its regret from 3.00 to 1.50 VP "
        "per move.",
        "sudden-death: 9,000 steps of training brought the network from 50% to 50% of the points "
        "against random, from 2% to 50% of the points against greedy."]


@pytest.mark.parametrize(("changes", "message"), [
    ({"greedy": (0.4, 0.7)}, r"storm: \+30.0% of the points against greedy; promised: \+35.0%"),
    ({"regret": (1.0, 0.5)}, r"storm: -0.50 VP of regret; promised: -1.00"),
    ({"random": 0.94}, r"storm: 94.0% of the points against random; promised: 95.0%"),
    ({"start": 100}, r"the first evaluation is at step 100; promised: 0"),
])
def test_every_promise_can_be_broken(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    write_demo(tmp_path, **changes)
    with pytest.raises(DemoError, match=message):
        run(Demo(check=tmp_path))


def test_an_untrained_network_keeps_none_of_them(tmp_path: Path) -> None:
    write_demo(tmp_path, greedy=(0.02, 0.02), regret=(3.0, 3.0), random=0.5)
    with pytest.raises(DemoError) as raised:
        run(Demo(check=tmp_path))
    assert str(raised.value).count("promised") == 3


@pytest.mark.parametrize("text", ["", "[]", '{"results": {"final": []}}'])
def test_a_folder_without_results_is_one_message(tmp_path: Path, text: str) -> None:
    with pytest.raises(CastleError, match=r"cannot read .*results\.json"):
        run(Demo(check=tmp_path))
    (tmp_path / "storm").mkdir()
    (tmp_path / "storm" / "results.json").write_text(text)
    with pytest.raises(CastleError, match="holds no results of a demo"):
        run(Demo(check=tmp_path))


def test_the_table_has_both_networks_also_where_an_interval_is_not_known() -> None:
    evaluations = results()["evaluations"]
    shown = gain_markdown(evaluations)
    assert shown.startswith(gain_sentence(evaluations))
    assert "| before training | 50.0% [0.0, 100.0] | 2.0% [0.0, 100.0] | 3.00 |" in shown
    assert "| after 9,000 steps | 50.0% [0.0, 100.0] | 50.0% [0.0, 100.0] | 1.50 |" in shown
